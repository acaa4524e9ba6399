// Which rows a table shows. Pure; every word of the search must occur somewhere in the row.
import type { ErrorCode } from '../engine/errors';
import type { CoreIssue, PairRow, PairState, TensorRow } from '../engine/report';

export interface PairFilter {
  state: PairState | 'all';
  /** only pairs with this issue */
  issue: ErrorCode | 'all';
  text: string;
}

export const ALL_PAIRS: PairFilter = { state: 'all', issue: 'all', text: '' };

export function filterPairs(pairs: readonly PairRow[], filter: PairFilter): readonly PairRow[] {
  const words = wordsOf(filter.text);
  if (filter.state === 'all' && filter.issue === 'all' && words.length === 0) return pairs;
  return pairs.filter(
    (pair) =>
      (filter.state === 'all' || pair.state === filter.state) &&
      (filter.issue === 'all' || pair.issues.some((issue) => issue.code === filter.issue)) &&
      matches(words, [
        pair.weight,
        pair.scheme,
        pair.dtype,
        pair.granularity,
        ...pair.scales.map((scale) => scale.name),
      ]),
  );
}

export function filterTensors(tensors: readonly TensorRow[], dtype: string, text: string): readonly TensorRow[] {
  const words = wordsOf(text);
  if (dtype === 'all' && words.length === 0) return tensors;
  return tensors.filter(
    (tensor) => (dtype === 'all' || tensor.dtype === dtype) && matches(words, [tensor.name, tensor.dtype, tensor.role]),
  );
}

/** The issues that occur among the pairs, most frequent first. */
export function issuesOf(pairs: readonly PairRow[]): { code: ErrorCode; pairs: number }[] {
  const counts = new Map<ErrorCode, number>();
  for (const pair of pairs) {
    for (const code of new Set(pair.issues.map((issue) => issue.code))) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts].map(([code, pairs]) => ({ code, pairs })).sort((a, b) => b.pairs - a.pairs);
}

export interface IssueGroup {
  code: ErrorCode;
  issues: CoreIssue[];
}

/** Equal codes together, in the order in which they first occur. */
export function groupIssues(issues: readonly CoreIssue[]): IssueGroup[] {
  const groups = new Map<ErrorCode, IssueGroup>();
  for (const issue of issues) {
    const group = groups.get(issue.code);
    if (group) group.issues.push(issue);
    else groups.set(issue.code, { code: issue.code, issues: [issue] });
  }
  return [...groups.values()];
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

function matches(words: readonly string[], texts: readonly string[]): boolean {
  if (words.length === 0) return true;
  const all = texts.join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}
