// Numbers and names as text; sizes are in engine/units.ts, which the terminal uses too.
import type { JsonFloat } from '../engine/report';
import { formatCount } from '../engine/units';

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** "12.2 billion"; the exact number stands beside it. */
export function spokenCount(value: number): string {
  const steps: [number, string][] = [
    [1e12, 'trillion'],
    [1e9, 'billion'],
    [1e6, 'million'],
    [1e3, 'thousand'],
  ];
  for (const [step, word] of steps) {
    const digits = value / step >= 100 ? 0 : 1;
    if (value >= step) return `${(value / step).toFixed(digits)} ${word}`;
  }
  return formatCount(value);
}

export function percent(done: number, total: number): number {
  if (total <= 0) return 0;
  return Math.min(100, Math.floor((done / total) * 100));
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function shape(dimensions: readonly number[]): string {
  return `[${dimensions.join(', ')}]`;
}

/** Seven digits tell every float32 of ordinary size apart well enough to read; fewer do for a range. */
export function float(value: JsonFloat, digits = 7): string {
  if (typeof value === 'string') return value === 'Infinity' ? '∞' : value === '-Infinity' ? '−∞' : value;
  return String(Number(value.toPrecision(digits)));
}

/** Text from a file with nothing hidden in it: control, zero-width and direction characters show. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    const point = character.codePointAt(0) ?? 0;
    if (point < 0x20) return String.fromCodePoint(0x2400 + point);
    return `⟨U+${point.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** The same for a text of several lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The end of `name` that tells it from `beside`: its last part where both share what is before. */
export function shortBeside(name: string, beside: string): string {
  const cut = beside.lastIndexOf('.') + 1;
  return cut > 0 && name.startsWith(beside.slice(0, cut)) ? name.slice(cut) : name;
}
