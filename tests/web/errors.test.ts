import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CoreCrash, CoreError, ERROR_CODES, isErrorCode, toCoreError } from '../../web/engine/errors';

test('the codes are those of src/base/errc.inc, in the same order', () => {
  const list = readFileSync(new URL('../../src/base/errc.inc', import.meta.url), 'utf8');
  const codes = [...list.matchAll(/^WB_ERRC\(([a-z0-9_]+),/gm)].map((match) => match[1]);
  expect(codes.length).toBeGreaterThan(50);
  expect([...ERROR_CODES]).toEqual(codes);
});

test('an error survives the way through a message', () => {
  const error = new CoreError('scale_nan', 'a.weight', 'the scale is not a number');
  const arrived = CoreError.from(structuredClone(error.toObject()));
  expect(arrived).toBeInstanceOf(CoreError);
  expect(arrived.toObject()).toEqual(error.toObject());
});

test('what nobody foresaw is a crash with its words kept', () => {
  const crash = toCoreError(new WebAssembly.RuntimeError('unreachable'));
  expect(crash).toBeInstanceOf(CoreCrash);
  expect(crash.code).toBe('core_crash');
  expect(crash.message).toContain('unreachable');
  expect(toCoreError(5)).toBeInstanceOf(CoreCrash);
});

test('a word that is no code is told apart', () => {
  expect(isErrorCode('scale_nan')).toBe(true);
  expect(isErrorCode('scale_fine')).toBe(false);
});
