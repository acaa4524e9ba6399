import { describe, expect, test } from 'vitest';
import { duration, float, percent, shape, shortBeside, spokenCount, visible, visibleLines } from '../../web/app/format';

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
