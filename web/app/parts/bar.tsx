import type { CSSProperties, ReactNode } from 'react';

interface BarProps {
  value: number;
  max: number;
  /** a second, lighter part up to here: a peak */
  peak?: number;
  /** where a line stands: the memory of this machine */
  mark?: number | null;
}

/** A length to compare at a glance; the number stands beside it, so a screen reader skips this. */
export function Bar({ value, max, peak = value, mark = null }: BarProps): ReactNode {
  const share = (part: number): string => `${max > 0 ? Math.min(100, (part / max) * 100) : 0}%`;
  const style = { '--value': share(value), '--peak': share(peak), '--mark': share(mark ?? 0) } as CSSProperties;
  return (
    <span className="bar" style={style} aria-hidden="true">
      <span className="bar-peak" />
      <span className="bar-value" />
      {mark !== null && mark <= max && <span className="bar-mark" />}
    </span>
  );
}
