// Plain text for a terminal: tables in ASCII, and names from untrusted files made harmless.

import type { Traffic } from '../engine/http_client';
import { formatCount, formatExactSize } from '../engine/units';

/** Control characters in a tensor name could move the cursor or recolour the terminal. */
export function plain(text: string): string {
  return [...text].map((char) => (isControl(char) ? `\\u{${char.codePointAt(0)?.toString(16)}}` : char)).join('');
}

function isControl(char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  // C0, DEL, C1, and the marks that reverse the direction of text
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) || isIsolate(code);
}

function isIsolate(code: number): boolean {
  return code >= 0x2066 && code <= 0x2069;
}

export function shorten(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 3)}...`;
}

export interface Column {
  title: string;
  align?: 'left' | 'right';
}

/** A cell beyond this sticks out instead of widening every row. */
const WIDTH_MAX = 72;

/** Columns two spaces apart, indented by two; no trailing spaces. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(plain))];
  const widths = columns.map((_, at) => Math.min(WIDTH_MAX, Math.max(...cells.map((row) => row[at]?.length ?? 0))));
  const lines = cells.map((row) => {
    const padded = row.map((cell, at) => {
      const width = widths[at] ?? 0;
      return columns[at]?.align === 'right' ? cell.padStart(width) : cell.padEnd(width);
    });
    return `  ${padded.join('  ')}`.trimEnd();
  });
  return lines.filter((line) => line !== '').join('\n');
}

/** "name   value" lines without titles. */
export function facts(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${plain(value)}`).join('\n');
}

export function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`;
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}

export function plural(count: number, one: string): string {
  return `${formatCount(count)} ${count === 1 ? one : `${one}s`}`;
}

/** What reading from a server has cost; nothing for local files. */
export function trafficFacts(traffic: Traffic | undefined): [string, string][] {
  if (traffic === undefined) return [];
  const again = traffic.retries > 0 ? `, ${formatCount(traffic.retries)} of them repeated` : '';
  return [['read', `${plural(traffic.requests, 'request')}${again}, ${formatExactSize(traffic.bytes)}`]];
}
