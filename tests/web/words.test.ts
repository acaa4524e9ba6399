import { expect, test } from 'vitest';
import { WORDS } from '../../web/app/words';
import { ERROR_CODES } from '../../web/engine/errors';

test('every code has a sentence, and no sentence lacks its code', () => {
  expect(Object.keys(WORDS).sort()).toEqual([...ERROR_CODES].sort());
});

test.each(ERROR_CODES)('%s is said in words, not in code', (code) => {
  const words = WORDS[code];
  expect(words).toMatch(/^[A-Z].{20,}\.$/);
  expect(words).not.toMatch(/_|undefined|offset|uint|NaN/);
});

test('no two codes say the same', () => {
  expect(new Set(Object.values(WORDS)).size).toBe(ERROR_CODES.length);
});
