import type { CSSProperties, ReactNode } from 'react';
import type { Mark, Segment } from '../memory_view';

interface StackedBarProps {
  segments: readonly Segment[];
  marks: readonly Mark[];
  max: number;
  /** of several bars the one that counts */
  strong?: boolean;
}

/** Lengths to compare at a glance. The numbers stand beside it or in a table, so a screen reader skips this. */
export function StackedBar({ segments, marks, max, strong = false }: StackedBarProps): ReactNode {
  const share = (part: number): string => `${Math.min(100, (part / max) * 100)}%`;
  return (
    <span className={strong ? 'stack stack-strong' : 'stack'} aria-hidden="true">
      {segments.map(({ kind, bytes }) => (
        <span key={kind} className={`stack-part term-${kind}`} style={{ '--share': share(bytes) } as CSSProperties} />
      ))}
      {marks
        .filter(({ bytes }) => bytes <= max)
        .map(({ name, bytes }) => (
          <span key={name} className={`stack-mark mark-${name}`} style={{ '--at': share(bytes) } as CSSProperties} />
        ))}
    </span>
  );
}
