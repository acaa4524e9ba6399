import type { ReactNode } from 'react';
import type { ErrorObject } from '../../engine/errors';
import { WORDS } from '../words';
import { Name, Prose } from './text';

/** An error or issue in words; the code and the particulars in small print. */
export function Fault({ issue }: { issue: ErrorObject }): ReactNode {
  return (
    <div className="fault" data-code={issue.code}>
      <p>{WORDS[issue.code]}</p>
      <FaultDetail issue={issue} />
    </div>
  );
}

export function FaultDetail({ issue }: { issue: ErrorObject }): ReactNode {
  return (
    <p className="fault-detail">
      {needsWhere(issue) && (
        <>
          <Name text={issue.where} />
          {': '}
        </>
      )}
      <Prose text={issue.message} /> <code className="code">{issue.code}</code>
    </p>
  );
}

/** Most messages name the tensor themselves. */
function needsWhere({ where, message }: ErrorObject): boolean {
  return where !== '' && !message.includes(where);
}
