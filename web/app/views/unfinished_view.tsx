// A conversion of the open checkpoint that was interrupted: go on with it, or throw it away.
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import type { Unfinished } from '../../engine/protocol';
import { TARGET_NAMES } from '../../engine/report';
import { formatDecimal } from '../../engine/units';
import { Name } from '../parts/text';

interface UnfinishedViewProps {
  unfinished: readonly Unfinished[];
  onContinue: (copy: Unfinished) => void;
  onDiscard: (copy: Unfinished) => void;
}

export function UnfinishedView({ unfinished, onContinue, onDiscard }: UnfinishedViewProps): ReactNode {
  if (unfinished.length === 0) return null;
  return (
    <div className="unfinished" data-testid="unfinished">
      <p>A conversion of this was interrupted. It can go on after the last tensor that was written.</p>
      <ul className="plain-list">
        {unfinished.map((copy) => (
          <li key={copy.name}>
            <span>
              <Name text={copy.name} />{' '}
              <span className="soft">
                {TARGET_NAMES[copy.options.to]}, {formatDecimal(copy.written_bytes)} of{' '}
                {formatDecimal(copy.output_bytes)} written
              </span>
            </span>
            <span className="copies-actions">
              <Button
                className="button button-small"
                aria-label={`Continue ${copy.name}`}
                onPress={() => onContinue(copy)}
                data-testid="continue-button"
              >
                Continue
              </Button>
              <Button
                className="button button-small"
                aria-label={`Discard ${copy.name}`}
                onPress={() => onDiscard(copy)}
                data-testid="discard-button"
              >
                Discard
              </Button>
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
