// The rules of reading over HTTP, one by one, without a network.
import { expect, test } from 'vitest';
import { statusError } from '../../web/engine/http_failures';
import { Gate } from '../../web/engine/http_gate';
import { OrderedHash, scriptSha256 } from '../../web/engine/http_hash';
import {
  checkPartial,
  checkSame,
  isEmptyFile,
  parseContentRange,
  rangeHeader,
  strongEtag,
} from '../../web/engine/http_range';
import { isExpired, isPassing, rateLimitMs, retryAfterMs, retryDelayMs } from '../../web/engine/http_retry';
import { summedChecks } from '../../web/engine/source_checks';

function answer(status: number, headers: Record<string, string>) {
  return { status, headers: new Headers(headers) };
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (thrown) {
    return (thrown as { code: string }).code;
  }
  return 'nothing';
}

test('a range has a start and an inclusive end', () => {
  expect(rangeHeader(0, 1)).toBe('bytes=0-0');
  expect(rangeHeader(2 ** 32, 2 ** 32 + 10)).toBe('bytes=4294967296-4294967305');
});

test.each([
  ['bytes 0-99/1000', { begin: 0, end: 100, total: 1000 }],
  ['bytes 999-999/1000', { begin: 999, end: 1000, total: 1000 }],
  ['bytes 5000000000-5000000009/12000000000', { begin: 5e9, end: 5e9 + 10, total: 12e9 }],
  ['bytes 0-99/*', null],
  ['bytes */1000', null],
  ['bytes 0-1000/1000', null],
  ['bytes 9-8/1000', null],
  ['bytes=0-99/1000', null],
  ['bytes 0-0/99999999999999999999', null],
  ['', null],
  [null, null],
])('Content-Range %j', (text, extent) => {
  expect(parseContentRange(text)).toEqual(extent);
});

test('a 206 must hold exactly what was asked for', () => {
  const good = answer(206, { 'content-range': 'bytes 10-19/100', etag: '"a"' });
  expect(checkPartial('f', good, 10, 20)).toEqual({ etag: '"a"', total: 100 });
  // up to the end of the file, where that comes first
  expect(checkPartial('f', answer(206, { 'content-range': 'bytes 90-99/100' }), 90, 200)).toEqual({
    etag: null,
    total: 100,
  });
  for (const range of ['bytes 11-20/100', 'bytes 10-18/100', 'bytes 10-20/100', 'bytes 0-99/100', 'bytes 10-19/*']) {
    expect(codeOf(() => checkPartial('f', answer(206, { 'content-range': range }), 10, 20))).toBe('range_unsupported');
  }
  expect(codeOf(() => checkPartial('f', answer(206, {}), 10, 20))).toBe('range_unsupported');
  expect(codeOf(() => checkPartial('f', answer(200, { 'content-range': 'bytes 10-19/100' }), 10, 20))).toBe(
    'range_unsupported',
  );
  const zipped = answer(206, { 'content-range': 'bytes 10-19/100', 'content-encoding': 'gzip' });
  expect(codeOf(() => checkPartial('f', zipped, 10, 20))).toBe('range_unsupported');
  expect(codeOf(() => checkPartial('f', answer(416, { 'content-range': 'bytes */5' }), 10, 20))).toBe('source_changed');
});

test('another size or another ETag is another file; an ETag that is not there proves nothing', () => {
  const known = { etag: '"a"', total: 100 };
  expect(codeOf(() => checkSame('f', known, { etag: '"a"', total: 100 }))).toBe('nothing');
  expect(codeOf(() => checkSame('f', known, { etag: null, total: 100 }))).toBe('nothing');
  expect(codeOf(() => checkSame('f', { etag: null, total: 100 }, known))).toBe('nothing');
  expect(codeOf(() => checkSame('f', known, { etag: '"b"', total: 100 }))).toBe('source_changed');
  expect(codeOf(() => checkSame('f', known, { etag: '"a"', total: 101 }))).toBe('source_changed');
  expect(strongEtag('W/"a"')).toBe(null);
});

test('an empty file answers 416 with a total of 0', () => {
  expect(isEmptyFile(answer(416, { 'content-range': 'bytes */0' }))).toBe(true);
  expect(isEmptyFile(answer(416, { 'content-range': 'bytes */10' }))).toBe(false);
  expect(isEmptyFile(answer(206, { 'content-range': 'bytes */0' }))).toBe(false);
});

test('what passes by itself, and what a new signed URL mends', () => {
  expect([408, 429, 500, 502, 503, 504].every(isPassing)).toBe(true);
  expect([200, 206, 400, 401, 403, 404, 410, 416, 501].some(isPassing)).toBe(false);
  expect([401, 403, 410].every(isExpired)).toBe(true);
  expect([200, 206, 404, 429, 500].some(isExpired)).toBe(false);
});

test('Retry-After in seconds and as a date', () => {
  const now = Date.parse('Wed, 02 Dec 2026 10:00:00 GMT');
  expect(retryAfterMs('7', now)).toBe(7000);
  expect(retryAfterMs('Wed, 02 Dec 2026 10:00:30 GMT', now)).toBe(30_000);
  expect(retryAfterMs('Wed, 02 Dec 2026 09:00:00 GMT', now)).toBe(0);
  expect(retryAfterMs('soon', now)).toBe(null);
  expect(retryAfterMs(null, now)).toBe(null);
});

test('RateLimit as the Hub writes it', () => {
  expect(rateLimitMs('"resolvers";r=0;t=55')).toBe(55_000);
  expect(rateLimitMs('limit=100, remaining=0, reset=9')).toBe(9000);
  expect(rateLimitMs('"resolvers";r=17;t=55')).toBe(null);
  expect(rateLimitMs(null)).toBe(null);
});

test('without a word of the server the pause doubles, up to a minute, never less than half', () => {
  const pause = (attempt: number, random: number) => retryDelayMs(new Headers(), attempt, 0, () => random);
  expect([pause(0, 1), pause(1, 1), pause(2, 1), pause(20, 1)]).toEqual([500, 1000, 2000, 60_000]);
  expect(pause(3, 0)).toBe(2000);
  expect(retryDelayMs(new Headers({ 'retry-after': '3' }), 0)).toBe(3000);
  expect(retryDelayMs(new Headers({ ratelimit: '"api";r=0;t=2' }), 0)).toBe(2000);
});

test('statuses in words: where to go, and whether the token or the licence is missing', () => {
  const page = 'https://hub.test/o/r';
  const gated = { 'x-error-code': 'GatedRepo' };
  expect(statusError('f', answer(401, gated), page, false)).toMatchObject({ code: 'login_required' });
  expect(statusError('f', answer(401, gated), page, false).message).toContain(page);
  expect(statusError('f', answer(403, gated), page, true)).toMatchObject({ code: 'access_denied' });
  expect(statusError('f', answer(403, gated), page, true).message).toMatch(/licence.*hub\.test/);
  expect(statusError('f', answer(401, {}), null, true).message).toContain('token is not valid');
  expect(statusError('f', answer(401, {}), null, false).message).toContain('private');
  expect(statusError('f', answer(404, { 'x-error-code': 'RevisionNotFound' }), null, false).message).toContain(
    'revision',
  );
  expect(statusError('f', answer(400, {}), null, false).code).toBe('server_failed');
});

test('eight at once; an idle one makes room, and only then', async () => {
  const gate = new Gate(2);
  await gate.enter();
  await gate.enter();
  const order: string[] = [];
  const third = gate.enter().then(() => order.push('third'));
  await Promise.resolve();
  expect(order).toEqual([]);
  gate.park(() => {
    order.push('idle gave up');
    gate.leave();
  });
  await third;
  expect(order).toEqual(['idle gave up', 'third']);
  // nobody waits: nobody gives up
  let gaveUp = 0;
  const giveUp = (): void => {
    gaveUp += 1;
    gate.leave();
  };
  gate.park(giveUp);
  expect(gaveUp).toBe(0);
  gate.unpark(giveUp);
  const fourth = gate.enter();
  await Promise.resolve();
  expect(gaveUp).toBe(0);
  gate.leave();
  await fourth;
});

test('SHA-256 of overlapping pieces, and none of pieces with a hole', () => {
  const bytes = new TextEncoder().encode('abc');
  const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  const hash = new OrderedHash(scriptSha256());
  hash.add(0, bytes.subarray(0, 2));
  hash.add(0, bytes.subarray(0, 1));
  hash.add(1, bytes.subarray(1));
  expect([hash.position, hash.broken, hash.digest()]).toEqual([3, false, abc]);
  const holed = new OrderedHash(scriptSha256());
  holed.add(1, bytes.subarray(1));
  expect([holed.position, holed.broken]).toEqual([0, true]);
});

test('many sources of a set are summed up by what is said of them', () => {
  const checked = (name: string) => ({ name, sha256: 'ab', says: 'checked: what the Hub states' });
  expect(summedChecks([checked('a'), checked('b')])).toEqual([checked('a'), checked('b')]);
  const odd = { name: 'e', sha256: null, says: 'not checked: the server states no SHA-256' };
  expect(summedChecks([...['a', 'b', 'c', 'd'].map(checked), odd])).toEqual([
    { name: '4 of 5 files', sha256: null, says: 'checked: what the Hub states' },
    { name: '1 of 5 files', sha256: null, says: 'not checked: the server states no SHA-256' },
  ]);
});
