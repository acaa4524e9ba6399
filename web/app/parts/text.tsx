// Text that comes from a file, and sizes in both units. Nothing here is ever markup.
import type { ReactNode } from 'react';
import { binarySize, decimalSize, exactBytes, visible } from '../format';

/** A name from a file: its direction cannot leak out, nothing in it is hidden. */
export function Name({ text }: { text: string }): ReactNode {
  return <bdi className="name">{visible(text)}</bdi>;
}

/** A long dotted name that loses its middle, not its telling end, where room is short. */
export function LongName({ text }: { text: string }): ReactNode {
  const shown = visible(text);
  const cut = tailBegin(shown);
  return (
    <bdi className="long-name" title={shown}>
      <span className="long-name-head">{shown.slice(0, cut)}</span>
      <span className="long-name-tail">{shown.slice(cut)}</span>
    </bdi>
  );
}

/** The last two dotted parts, if they are short enough to be kept whole. */
function tailBegin(text: string): number {
  const last = text.lastIndexOf('.');
  const before = last > 0 ? text.lastIndexOf('.', last - 1) : -1;
  const cut = before >= 0 && text.length - before <= 24 ? before : last;
  return cut >= 0 && text.length - cut <= 24 ? cut : text.length;
}

/** "12.2 GB" with the binary size and the exact count after it. */
export function Size({ bytes }: { bytes: number }): ReactNode {
  return <span title={`${exactBytes(bytes)} = ${binarySize(bytes)}`}>{decimalSize(bytes)}</span>;
}
