// The answer in two seconds: does it fit, and what would help.
import type { ReactNode } from 'react';
import type { HelpRow, LoaderApplies, MemoryVerdict, RamReply } from '../../engine/ram_report';
import { formatBinary } from '../../engine/units';
import { plural } from '../format';
import { countFits } from '../memory_view';
import { ARRANGEMENT_WORDS, decidedBy, FIT_MARKS, FIT_WORDS, fitWords, HELD_AS_WORDS } from '../memory_words';
import { FitBadge, WrongBadge } from './memory_loaders';

const SHOWN_MAX = 4;

interface MemoryAnswerProps {
  /** sorted, the best first */
  rows: readonly LoaderApplies[];
  used: string;
  isWrong: (loader: string) => boolean;
}

export function MemoryAnswer({ rows, used, isWrong }: MemoryAnswerProps): ReactNode {
  const usable = rows.filter(({ loader }) => !isWrong(loader));
  const mine = rows.find(({ loader }) => loader === used);
  const [best] = usable;
  if (mine?.verdict) {
    return (
      <p className={`memory-answer fit-${mine.verdict.fit}`} role="status" data-testid="memory-answer">
        <Headline verdict={mine.verdict}>
          {mine.title}: {fitWords(mine.verdict)}
        </Headline>{' '}
        {decidedBy(mine.verdict)} {isWrong(used) && <WrongBadge />}
      </p>
    );
  }
  if (best === undefined) {
    return (
      <p className="memory-answer fit-will_be_killed" role="status" data-testid="memory-answer">
        {rows.length === 0
          ? 'No program in our table loads this file as it is.'
          : 'Every program in our table that loads this file reads it wrong.'}{' '}
        Converting it first would help.
      </p>
    );
  }
  if (best.verdict === undefined) {
    return (
      <p className="memory-answer" role="status" data-testid="memory-answer">
        Choose your machine to see what fits. Of {plural(usable.length, 'way')} of loading it, {best.title} needs the
        least: {formatBinary(best.firm_peak_bytes > 0 ? best.firm_peak_bytes : best.peak_bytes)}.
      </p>
    );
  }
  const { fit } = best.verdict;
  return (
    <p className={`memory-answer fit-${fit}`} role="status" data-testid="memory-answer">
      <Headline verdict={best.verdict}>
        {fit === 'fits' ? 'Yes, it fits' : `At best: ${fitWords(best.verdict)}`}, with {best.title}
      </Headline>{' '}
      {plural(usable.length, 'way')} of loading it:{' '}
      {countFits(usable)
        .map((row) => `${row.count} × ${FIT_WORDS[row.fit]}`)
        .join(', ')}
      .{usable.length < rows.length && ` ${plural(rows.length - usable.length, 'other')} would read this file wrong.`}
    </p>
  );
}

function Headline({ verdict, children }: { verdict: MemoryVerdict; children: ReactNode }): ReactNode {
  return (
    <strong>
      <span aria-hidden="true">{FIT_MARKS[verdict.fit]} </span>
      {children}.
    </strong>
  );
}

interface MemoryHelpProps {
  help: NonNullable<RamReply['help']>;
  loaders: readonly LoaderApplies[];
  isWrong: (loader: string) => boolean;
}

export function MemoryHelp({ help, loaders, isWrong }: MemoryHelpProps): ReactNode {
  const helped = loaders.find(({ loader }) => loader === help.loader);
  // noise that takes less memory is no help: it comes last
  const wrong = (row: HelpRow): number => Number(row.action === 'other_loader' && isWrong(row.loader));
  const rows = help.rows.toSorted((a, b) => wrong(a) - wrong(b));
  if (rows.length === 0) return null;
  return (
    <div className="memory-help" data-testid="memory-help">
      <h3>What would help{helped && <span className="soft"> instead of {helped.title}</span>}</h3>
      <ul className="help-list">
        {rows.slice(0, SHOWN_MAX).map((row) => (
          <li key={`${row.action} ${row.loader} ${row.held_as} ${row.arrangement ?? ''}`}>
            {helpWords(row)}{' '}
            <span className="soft">{row.need_bytes > 0 ? formatBinary(row.need_bytes) : 'file pages only'}, </span>
            <strong>{formatBinary(row.saves_bytes)} less</strong> {row.verdict && <FitBadge verdict={row.verdict} />}{' '}
            {row.action === 'other_loader' && isWrong(row.loader) && <WrongBadge />}
          </li>
        ))}
      </ul>
    </div>
  );
}

function helpWords({ action, title, held_as, arrangement }: HelpRow): string {
  switch (action) {
    case 'other_loader':
      return `Load it with ${title}`;
    case 'convert_first':
      return `Convert it to ${HELD_AS_WORDS[held_as]} first, here; then ${title}`;
    case 'hold_as':
      return `Hold it as ${HELD_AS_WORDS[held_as]}: ${title}`;
    case 'arrange':
      return `${arrangement ? ARRANGEMENT_WORDS[arrangement].title : 'Another order'}: ${title}`;
  }
}
