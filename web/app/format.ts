// Numbers and names as text. Decimal units (GB = 1e9) and binary units (GiB = 2^30) are never mixed.
import type { JsonFloat } from '../engine/report';

const DECIMAL = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const BINARY = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

const grouped = new Intl.NumberFormat('en-US');

export function count(value: number): string {
  return grouped.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function exactBytes(bytes: number): string {
  return plural(bytes, 'byte');
}

/** Three significant digits: "12.2 GB", "986 MB", "554 bytes". */
export function decimalSize(bytes: number): string {
  return scaled(bytes, 1000, DECIMAL, (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2));
}

export function binarySize(bytes: number): string {
  return scaled(bytes, 1024, BINARY, (value) => (value >= 100 ? 0 : value >= 10 ? 1 : 2));
}

/** As people say it: "12 GB", "49 GB", and one decimal below ten. */
export function roundSize(bytes: number): string {
  return scaled(bytes, 1000, DECIMAL, (value) => (value >= 10 ? 0 : 1));
}

function scaled(bytes: number, base: number, units: readonly string[], digitsOf: (value: number) => number): string {
  if (bytes < base) return exactBytes(bytes);
  let value = bytes;
  let unit = 0;
  // rounding may carry into the next unit: 999,999 bytes are 1.00 MB, not 1000 kB
  while (unit < units.length - 1 && Number(value.toFixed(digitsOf(value))) >= base) {
    value /= base;
    unit += 1;
  }
  return `${value.toFixed(digitsOf(value))} ${units[unit]}`;
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
  return count(value);
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
