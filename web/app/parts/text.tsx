// Text that comes from a file, and sizes in both units. Nothing here is ever markup.
import type { ReactNode } from 'react';
import { formatBinary, formatBytes, formatDecimal } from '../../engine/units';
import { visible } from '../format';

/** A name from a file: its direction cannot leak out, nothing in it is hidden. */
export function Name({ text }: { text: string }): ReactNode {
  return <bdi className="name">{visible(text)}</bdi>;
}

/** A sentence of the core: what it puts in backquotes are names, and set as such. */
export function Prose({ text }: { text: string }): ReactNode {
  const parts = visible(text).split('`');
  return (
    <bdi className="name">
      {parts.map((part, i) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence keep their places
        i % 2 === 1 && i < parts.length - 1 ? <code key={i}>{part}</code> : part,
      )}
    </bdi>
  );
}

/** A long dotted name that loses its beginning where room is short: its end tells it from its neighbours. */
export function LongName({ text }: { text: string }): ReactNode {
  const shown = visible(text);
  return (
    <span className="long-name" title={shown}>
      <bdi dir="ltr">{shown}</bdi>
    </span>
  );
}

/** "12.2 GB" with the binary size and the exact count after it. */
export function Size({ bytes }: { bytes: number }): ReactNode {
  return <span title={`${formatBytes(bytes)} = ${formatBinary(bytes)}`}>{formatDecimal(bytes)}</span>;
}
