// The first thing said about an opened file: sound, n problems, or refused and why.
import type { ReactNode } from 'react';
import { type ErrorCode, type ErrorObject, SERVER_CODES } from '../../engine/errors';
import type { Report } from '../../engine/report';
import { groupIssues, type IssueGroup } from '../filter';
import { plural } from '../format';
import { Fault, FaultDetail } from '../parts/fault';
import { Fold } from '../parts/fold';
import { Prose } from '../parts/text';
import { WORDS } from '../words';

const LISTED_MAX = 100;

export function Verdict({ report }: { report: Report }): ReactNode {
  const { verdict, problems, warnings, error } = report;
  return (
    <section className={`verdict verdict-${verdict}`} aria-label="Verdict">
      <div data-testid="verdict" className="verdict-words" role="status">
        <h1>{headline(report)}</h1>
        {error ? (
          <Fault issue={error} />
        ) : (
          <p>
            <Prose text={report.verdict_text} />
          </p>
        )}
      </div>
      {groupIssues(problems.filter((problem) => !isSame(problem, error))).map((group) => (
        <IssueList key={group.code} group={group} open />
      ))}
      {warnings.length > 0 && (
        <Fold title={plural(warnings.length, 'note')}>
          {groupIssues(warnings).map((group) => (
            <IssueList key={group.code} group={group} />
          ))}
        </Fold>
      )}
    </section>
  );
}

/** A file that could not even be looked at. */
export function Failure({ names, error }: { names: string[]; error: ErrorObject }): ReactNode {
  return (
    <section className="verdict verdict-refused" aria-label="Verdict">
      <div data-testid="verdict" className="verdict-words" role="alert">
        <h1>{failureHeadline(error.code)}</h1>
        <Fault issue={error} />
        {names.length > 0 && <p className="fault-detail">{names.join(', ')}</p>}
      </div>
    </section>
  );
}

function failureHeadline(code: ErrorCode): string {
  if (code === 'core_crash') return 'Something broke';
  const isServers = code === 'not_found' || (SERVER_CODES as readonly ErrorCode[]).includes(code);
  return isServers ? 'Not read' : 'Refused';
}

function headline({ verdict, problems }: Report): string {
  if (verdict === 'sound') return 'Sound';
  if (verdict === 'refused') return 'Refused';
  return plural(Math.max(1, problems.length), 'problem');
}

function isSame(a: ErrorObject, b: ErrorObject | undefined): boolean {
  return b !== undefined && a.code === b.code && a.where === b.where;
}

function IssueList({ group, open = false }: { group: IssueGroup; open?: boolean }): ReactNode {
  const { code, issues } = group;
  const rest = issues.length - LISTED_MAX;
  const list = issues.slice(0, LISTED_MAX).map((issue, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
    <FaultDetail key={i} issue={issue} />
  ));
  return (
    <div className="issue-group">
      <p>
        {issues.length > 1 && <strong>{issues.length} × </strong>}
        {WORDS[code]}
      </p>
      {issues.length > 3 ? (
        <Fold title={plural(issues.length, 'place')} level={4} open={open && issues.length <= 8}>
          {list}
          {rest > 0 && <p className="soft">and {plural(rest, 'more', 'more')}</p>}
        </Fold>
      ) : (
        list
      )}
    </div>
  );
}
