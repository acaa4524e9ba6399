import { describe, expect, test } from 'vitest';
import {
  binarySize,
  decimalSize,
  duration,
  exactBytes,
  float,
  percent,
  roundSize,
  shape,
  shortBeside,
  spokenCount,
  visible,
  visibleLines,
} from '../../web/app/format';

describe('sizes', () => {
  test('whole gigabytes, as the table of the InvokeAI fix gives them', () => {
    expect([12.3e9, 49.2e9, 24.6e9].map(roundSize)).toEqual(['12 GB', '49 GB', '25 GB']);
  });

  test.each([
    [0, '0 bytes', '0 bytes'],
    [1, '1 byte', '1 byte'],
    [999, '999 bytes', '999 bytes'],
    [1000, '1.00 kB', '1000 bytes'],
    [1024, '1.02 kB', '1.00 KiB'],
    [999_499, '999 kB', '976 KiB'],
    [999_500, '1.00 MB', '976 KiB'],
    [12_200_000_000, '12.2 GB', '11.4 GiB'],
    [2 ** 53 - 1, '9.01 PB', '8.00 PiB'],
  ])('%d bytes are %s and %s', (bytes, decimal, binary) => {
    expect(decimalSize(bytes)).toBe(decimal);
    expect(binarySize(bytes).replace(',', '')).toBe(binary);
  });

  test('exact bytes are grouped', () => expect(exactBytes(12_200_000_000)).toBe('12,200,000,000 bytes'));

  test('one decimal below ten, none above, and the carry between', () => {
    expect(roundSize(4_949_999_999)).toBe('4.9 GB');
    expect(roundSize(9_960_000_000)).toBe('10.0 GB');
    expect(roundSize(10_500_000_000)).toMatch(/^1[01] GB$/);
    expect(roundSize(999_600_000)).toBe('1.0 GB');
  });
});

describe('other numbers', () => {
  test.each([
    [999, '999'],
    [1500, '1.5 thousand'],
    [12_200_000_000, '12.2 billion'],
    [671_000_000_000, '671 billion'],
  ])('%d is %s', (value, text) => expect(spokenCount(value)).toBe(text));

  test.each([
    [0, 0, 0],
    [1, 3, 33],
    [999, 1000, 99],
    [1000, 1000, 100],
    [1001, 1000, 100],
  ])('%d of %d is %d percent: a hundred only when all is done', (done, total, whole) =>
    expect(percent(done, total)).toBe(whole),
  );

  test.each([
    [0.2, '1 s'],
    [59.4, '59 s'],
    [95, '2 min'],
    [3660, '1 h 1 min'],
  ])('%d seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text));

  test('floats keep what a float32 can tell, and the three that are no numbers', () => {
    expect(float(0.0123456789)).toBe('0.01234568');
    expect(float(1)).toBe('1');
    expect(float(1.1754943508222875e-38)).toBe('1.175494e-38');
    expect(float('NaN')).toBe('NaN');
    expect(float('Infinity')).toBe('∞');
    expect(float('-Infinity')).toBe('−∞');
  });

  test('shapes, of a scalar too', () => {
    expect(shape([])).toBe('[]');
    expect(shape([4096, 128])).toBe('[4096, 128]');
  });
});

describe('names from strangers', () => {
  test('what hides becomes visible', () => {
    expect(visible('a\u0000b\nc')).toBe('a␀b␊c');
    expect(visible('safe\u202egnp.exe')).toBe('safe⟨U+202E⟩gnp.exe');
    expect(visible('\u200b\ufeff')).toBe('⟨U+200B⟩⟨U+FEFF⟩');
    expect(visible('blöcke.0.重み')).toBe('blöcke.0.重み');
  });

  test('lines stay lines where they may', () => expect(visibleLines('a\n\u202eb')).toBe('a\n⟨U+202E⟩b'));

  test('a scale is shown by what tells it from its weight', () => {
    expect(shortBeside('blocks.0.wq.weight_scale', 'blocks.0.wq.weight')).toBe('weight_scale');
    expect(shortBeside('blocks.0.wq.scale_weight', 'blocks.0.wq.weight')).toBe('scale_weight');
    expect(shortBeside('blocks.1.wq.scale', 'blocks.0.wq.weight')).toBe('blocks.1.wq.scale');
    expect(shortBeside('T_scale', 'T')).toBe('T_scale');
  });
});
