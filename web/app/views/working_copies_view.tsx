// Converted files that earlier visits left in the browser's storage. Nothing is deleted unasked.
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import { formatDecimal } from '../../engine/units';
import { Name } from '../parts/text';
import type { WorkingCopy } from '../working_copies';

interface WorkingCopiesViewProps {
  copies: readonly WorkingCopy[];
  onSave: (copy: WorkingCopy) => void;
  onRemove: (copy: WorkingCopy) => void;
}

export function WorkingCopiesView({ copies, onSave, onRemove }: WorkingCopiesViewProps): ReactNode {
  const idle = copies.filter((copy) => !copy.busy);
  if (idle.length === 0) return null;
  const total = idle.reduce((sum, copy) => sum + copy.size_bytes, 0);
  return (
    <section className="copies" aria-labelledby="copies-title" data-testid="working-copies">
      <h2 id="copies-title">Working copies in this browser, {formatDecimal(total)}</h2>
      <ul className="plain-list">
        {idle.map((copy) => (
          <li key={copy.name}>
            <span>
              <Name text={copy.name} />{' '}
              <span className="soft">
                {formatDecimal(copy.size_bytes)}
                {!copy.finished && (copy.resumable ? ', unfinished: open its model again to continue' : ', unfinished')}
              </span>
            </span>
            <span className="copies-actions">
              {copy.finished && (
                <Button className="button button-small" aria-label={`Save ${copy.name}`} onPress={() => onSave(copy)}>
                  Save
                </Button>
              )}
              <Button className="button button-small" aria-label={`Delete ${copy.name}`} onPress={() => onRemove(copy)}>
                Delete
              </Button>
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
