// What a receipt says of its sources, short enough to read: a set has a hundred of them.
import type { SourceCheck } from './source';

const ROWS_MAX = 3;

/** A line for each source, or one for each thing that is said of many. */
export function summedChecks(checks: readonly SourceCheck[]): SourceCheck[] {
  if (checks.length <= ROWS_MAX) return [...checks];
  const alike = new Map<string, number>();
  for (const { says } of checks) alike.set(says, (alike.get(says) ?? 0) + 1);
  return [...alike].map(([says, count]) => ({ name: `${count} of ${checks.length} files`, sha256: null, says }));
}
