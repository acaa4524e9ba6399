import { expect, test } from 'vitest';
import { formatBinary, formatDecimal, formatFileGb, formatMemoryGb, formatSize } from '../../web/engine/units';

test('the load stages of a 12.2e9 parameter file read 12, 49 and 25 GB', () => {
  expect(formatFileGb(12.2e9)).toBe('12 GB');
  expect(formatMemoryGb(4 * 12.2e9)).toBe('49 GB');
  expect(formatMemoryGb(2 * 12.2e9)).toBe('25 GB');
});

test('memory is rounded up, but not for a few megabytes', () => {
  expect(formatMemoryGb(24.05e9)).toBe('24 GB');
  expect(formatMemoryGb(24.2e9)).toBe('25 GB');
  expect(formatMemoryGb(0.53e9)).toBe('530 MB');
});

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.00 kB (1,000 bytes)'],
  [528867, '529 kB (516 KiB)'],
  [12.2e9, '12.2 GB (11.4 GiB)'],
  [1.5e12, '1.50 TB (1.36 TiB)'],
])('%d', (bytes, text) => {
  expect(formatSize(bytes)).toBe(text);
});

test('a value on the edge of a unit keeps three figures', () => {
  expect(formatDecimal(9_996_000_000)).toBe('10.0 GB');
  expect(formatDecimal(99_960_000_000)).toBe('100 GB');
  expect(formatDecimal(999_999_999)).toBe('1.00 GB');
  expect(formatBinary(2 ** 30)).toBe('1.00 GiB');
});
