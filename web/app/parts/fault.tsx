import type { ReactNode } from 'react';
import type { ErrorObject } from '../../engine/errors';
import { WORDS } from '../words';
import { Name } from './text';

/** An error or issue in words; the code and the particulars in small print. */
export function Fault({ issue }: { issue: ErrorObject }): ReactNode {
  return (
    <div className="fault">
      <p>{WORDS[issue.code]}</p>
      <FaultDetail issue={issue} />
    </div>
  );
}

export function FaultDetail({ issue }: { issue: ErrorObject }): ReactNode {
  return (
    <p className="fault-detail">
      {issue.where !== '' && (
        <>
          <Name text={issue.where} />
          {': '}
        </>
      )}
      <Name text={issue.message} /> <code>{issue.code}</code>
    </p>
  );
}
