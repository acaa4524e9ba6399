// "Who reads this file correctly", one line per program.
import {
  ANSWER_WORDS,
  judgedWeights,
  OUTCOME_WORDS,
  type ReadAnswer,
  type ReaderRow,
  worstFinding,
} from '../engine/readers';
import { formatCount } from '../engine/units';
import { plain, table } from './text';

const ORDER: readonly ReadAnswer[] = ['reads_right', 'reads_wrong', 'unknown'];

/** Right first, then wrong; what nothing is known of shares a line. `weighbridge inspect --json` has the sources. */
export function readersText(readers: readonly ReaderRow[]): string {
  const rows = ORDER.slice(0, 2).flatMap((answer) =>
    readers
      .filter((reader) => reader.answer === answer)
      .map((reader) => [ANSWER_WORDS[answer], plain(`${reader.title}, ${reader.versions}`), outcomeText(reader)]),
  );
  const unknown = readers.filter(({ answer }) => answer === 'unknown').map(({ title }) => title);
  const known = rows.length === 0 ? '' : `${table([{ title: 'reads' }, { title: 'program' }, { title: '' }], rows)}\n`;
  const rest = unknown.length === 0 ? '' : `not known: ${plain([...new Set(unknown)].join(', '))}\n`;
  return `Who reads this file correctly\n${known}${rest}`;
}

function outcomeText(reader: ReaderRow): string {
  const { outcome, weights } = worstFinding(reader);
  if (outcome === 'correct') return '';
  const all = judgedWeights(reader);
  return weights === all
    ? OUTCOME_WORDS[outcome]
    : `${OUTCOME_WORDS[outcome]}, ${formatCount(weights)} of ${formatCount(all)} weights`;
}
