// A preview's histogram in few columns: the powers of two that matter, the rest gathered at the small end.
import type { PreviewChoice } from './report';

export interface Column {
  /** magnitudes from 2^exponent up to the next column */
  exponent: number;
  count: number;
}

/**
 * The same columns for all answers, so that they can be compared at a glance: from the smallest power of two of any
 * answer to the largest, at most `columns`. What is smaller still is counted in the first column.
 */
export function histogramColumns(choices: readonly PreviewChoice[], columns = 24): Column[][] {
  const top = Math.max(...choices.map((each) => each.first_exponent + each.histogram.length - 1));
  const used = Math.min(...choices.map(({ first_exponent }) => first_exponent));
  const lowest = Math.max(top - columns + 1, used);
  return choices.map(({ first_exponent, histogram }) => {
    const counts = Array.from({ length: top - lowest + 1 }, (_, index) => ({ exponent: lowest + index, count: 0 }));
    for (const [index, count] of histogram.entries()) {
      const column = counts[Math.max(0, first_exponent + index - lowest)];
      if (column) column.count += count;
    }
    return counts;
  });
}
