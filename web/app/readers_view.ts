// The order and the one sentence of "who reads this file correctly".
import type { ReaderRow } from '../engine/readers';

/** Right first, then wrong, each in the order of the table; what nothing is known of apart. */
export function orderReaders(readers: readonly ReaderRow[]): { known: ReaderRow[]; unknown: ReaderRow[] } {
  const by = (answer: ReaderRow['answer']): ReaderRow[] => readers.filter((row) => row.answer === answer);
  return { known: [...by('reads_right'), ...by('reads_wrong')], unknown: by('unknown') };
}

export function readersSummary(readers: readonly ReaderRow[]): string {
  const titles = (answer: ReaderRow['answer']): string[] => [
    ...new Set(readers.filter((row) => row.answer === answer).map(({ title }) => title)),
  ];
  const right = titles('reads_right');
  const wrong = titles('reads_wrong');
  const both = right.filter((title) => wrong.includes(title));
  const only = (list: string[]): string[] => list.filter((title) => !both.includes(title));
  const parts = [
    sentence('Right', only(right)),
    sentence('Depends on the version', both),
    sentence('Wrong', only(wrong)),
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'Of no program that we know of is it known.' : parts.join(' ');
}

function sentence(word: string, titles: readonly string[]): string {
  return titles.length === 0 ? '' : `${word}: ${titles.join(', ')}.`;
}
