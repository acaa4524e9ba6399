// A preview's histogram in few columns: the powers of two that matter, the rest gathered at the small end.
import type { PreviewChoice } from './report';

export interface Column {
  /** magnitudes from 2^exponent up to the next column */
  exponent: number;
  count: number;
}

/**
 * The same columns for all answers, so that they can be compared at a glance: the largest power of two of any answer,
 * and `columns - 1` below it. What is smaller still is counted in the first column.
 */
export function histogramColumns(choices: readonly PreviewChoice[], columns = 24): Column[][] {
  const top = Math.max(...choices.map((each) => each.first_exponent + each.histogram.length - 1));
  const lowest = top - columns + 1;
  return choices.map(({ first_exponent, histogram }) => {
    const counts = Array.from({ length: columns }, (_, index) => ({ exponent: lowest + index, count: 0 }));
    for (const [index, count] of histogram.entries()) {
      const column = counts[Math.max(0, first_exponent + index - lowest)];
      if (column) column.count += count;
    }
    return counts;
  });
}
