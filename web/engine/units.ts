// How numbers are written, on the page and in the terminal: GB is 1e9 and GiB is 2^30, always labelled.

const DECIMAL: readonly [string, number][] = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
];
const BINARY: readonly [string, number][] = [
  ['TiB', 2 ** 40],
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];

export function formatCount(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function formatBytes(bytes: number): string {
  return `${formatCount(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`;
}

export function formatDecimal(bytes: number): string {
  return inUnits(bytes, DECIMAL);
}

export function formatBinary(bytes: number): string {
  return inUnits(bytes, BINARY);
}

/** "12.2 GB (11.4 GiB)"; below 1 kB there is only one way to say it. */
export function formatSize(bytes: number): string {
  return bytes < 1000 ? formatBytes(bytes) : `${formatDecimal(bytes)} (${formatBinary(bytes)})`;
}

/** "12,200,000,000 bytes, 12.2 GB (11.4 GiB)" */
export function formatExactSize(bytes: number): string {
  return bytes < 1000 ? formatBytes(bytes) : `${formatBytes(bytes)}, ${formatSize(bytes)}`;
}

/** A file's size in whole GB, to the nearest; small ones keep a decimal. */
export function formatFileGb(bytes: number): string {
  return bytes < 9.95e9 ? formatDecimal(bytes) : `${Math.round(bytes / 1e9)} GB`;
}

/**
 * Memory that must be there, in whole GB: rounded up, because 24 GB do not hold 24.4. The last 0.1 GB
 * is forgiven, or a few scales beside 24 GB of weights would read 25.
 */
export function formatMemoryGb(bytes: number): string {
  return bytes < 9.95e9 ? formatDecimal(bytes) : `${Math.ceil(bytes / 1e9 - 0.1)} GB`;
}

/** Three figures. A value that would round up to the next unit is written in that one. */
function inUnits(bytes: number, units: readonly [string, number][]): string {
  for (const [unit, size] of units) {
    const value = bytes / size;
    if (value < 0.9995) continue;
    return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
  }
  return formatBytes(bytes);
}
