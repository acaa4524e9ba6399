// Reading over HTTP against a server that behaves as the Hub does (tests/support/hub_server.mjs): real requests, real
// redirects, real faults; every test counts what it cost.
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { CoreError } from '../../web/engine/errors';
import { HttpClient, type HttpOptions } from '../../web/engine/http_client';
import type { FileAddress } from '../../web/engine/http_file';
import { IN_FLIGHT_MAX } from '../../web/engine/http_gate';
import { scriptSha256 } from '../../web/engine/http_hash';
import { HEAD_BYTES, HttpSource } from '../../web/engine/http_source';
import { bytesContent, startHub, type TestHub } from '../support/hub_server.mjs';

// a machine that also compiles
vi.setConfig({ testTimeout: 30_000 });

const MIB = 1024 * 1024;
const REPO = 'owner/repo';
const PATH = 'model.safetensors';

let hub: TestHub;
const pauses: number[] = [];

beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub.close());
beforeEach(() => {
  hub.forget();
  pauses.length = 0;
});
afterEach(() => {
  hub.faults = [];
});

/** Different everywhere, so that no byte can be mistaken for another. The first 8 say: a header of 2 bytes. */
function numbers(lengthBytes: number, headerBytes = 2): Uint8Array {
  const words = new Uint32Array(Math.ceil(lengthBytes / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 2654435761);
  const bytes = new Uint8Array(words.buffer, 0, lengthBytes);
  new DataView(words.buffer).setBigUint64(0, BigInt(headerBytes), true);
  return bytes;
}

const FILE = numbers(20 * MIB + 123);

function client(options: HttpOptions = {}): HttpClient {
  const sleep = async (ms: number): Promise<void> => {
    pauses.push(ms);
  };
  return new HttpClient({ hubOrigin: hub.url, sleep, stallMs: 10_000, ...options });
}

function address(bytes: Uint8Array = FILE, more: Partial<FileAddress> = {}): FileAddress {
  hub.addRepo(REPO, { [PATH]: bytes });
  return { name: PATH, url: `${hub.url}/${REPO}/resolve/main/${PATH}`, page: `${hub.url}/${REPO}`, ...more };
}

async function caught(run: Promise<unknown>): Promise<CoreError> {
  const thrown = await run.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof CoreError)) throw new Error(`a CoreError was expected, not ${thrown}`);
  return thrown;
}

/** All of it in windows of 1 MiB, two at a time, as the pipeline reads. */
async function readAll(source: HttpSource, begin = 0): Promise<Uint8Array> {
  const all = new Uint8Array(source.size);
  let ahead: Promise<Uint8Array> | null = null;
  for (let at = begin; at < source.size; at += MIB) {
    const now: Promise<Uint8Array> = ahead ?? source.read(at, Math.min(source.size, at + MIB));
    const next = at + MIB;
    ahead = next < source.size ? source.read(next, Math.min(source.size, next + MIB)) : null;
    const bytes = await now;
    all.set(bytes, at);
    source.release(bytes);
  }
  return all;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

test('one request opens a file: its size, and the first bytes at no further cost', async () => {
  const http = client();
  const source = await HttpSource.open(http, address());
  expect(source.size).toBe(FILE.length);
  expect(same(await source.read(0, HEAD_BYTES), FILE.subarray(0, HEAD_BYTES))).toBe(true);
  expect(same(await source.read(5000, 6000), FILE.subarray(5000, 6000))).toBe(true);
  expect(hub.counts()).toMatchObject({ resolve: 1, cdn: 1, cdnBytes: HEAD_BYTES, preflights: 0 });
  expect(http.traffic).toEqual({ requests: 1, bytes: HEAD_BYTES, retries: 0 });
});

test('the rest of a long header is one more request, straight from where the first led to', async () => {
  const bytes = numbers(12 * MIB, 9 * MIB);
  const source = await HttpSource.open(client(), address(bytes));
  const end = 8 + 9 * MIB;
  for (let at = HEAD_BYTES; at < end; at += MIB) {
    const until = Math.min(end, at + MIB);
    expect(same(await source.read(at, until), bytes.subarray(at, until))).toBe(true);
  }
  expect(hub.counts()).toMatchObject({ resolve: 1, cdn: 2, cdnBytes: end });
});

test('a whole file: few requests, every byte once', async () => {
  const source = await HttpSource.open(client(), address());
  expect(same(await readAll(source), FILE)).toBe(true);
  await source.close();
  // 96 kB, then 8 MiB, then 16 MiB (to the end of the file)
  expect(hub.counts()).toMatchObject({ resolve: 1, cdn: 3, cdnBytes: FILE.length });
});

test('small windows share blocks', async () => {
  const source = await HttpSource.open(client(), address());
  const reads = Array.from({ length: 100 }, (_, i) => 5 * MIB + i * 2000);
  const got = await Promise.all(reads.map((at) => source.read(at, at + 1000)));
  expect(got.every((bytes, i) => same(bytes, FILE.subarray(reads[i], (reads[i] ?? 0) + 1000)))).toBe(true);
  expect(hub.counts().cdn).toBe(2);
  // across the border of two blocks, which are one request
  const border = 6 * MIB;
  expect(same(await source.read(border - 10, border + 10), FILE.subarray(border - 10, border + 10))).toBe(true);
  expect(hub.counts().cdn).toBe(3);
});

test.each([0, 1, 7, 8, 9])('a file of %i bytes', async (lengthBytes) => {
  const bytes = FILE.subarray(0, lengthBytes);
  const source = await HttpSource.open(client(), address(bytes));
  expect(source.size).toBe(lengthBytes);
  expect(same(await source.read(0, lengthBytes), bytes)).toBe(true);
  expect(hub.counts().cdn).toBe(1);
});

test('a 200 is not read: no file is fetched that nobody asked for', async () => {
  hub.fault({ kind: 'ok200' });
  const error = await caught(HttpSource.open(client(), address()));
  expect(error).toMatchObject({ code: 'range_unsupported', where: PATH });
  expect(error.message).toContain('200');
  await new Promise((resolve) => setTimeout(resolve, 50));
  // what the sockets held when it was stopped
  expect(hub.counts().cdnBytes).toBeLessThan(FILE.length / 2);
});

test.each(['wrong_range', 'gzip', 'gzip200'] as const)('%s is refused', async (kind) => {
  hub.fault({ kind });
  expect(await caught(HttpSource.open(client(), address()))).toMatchObject({ code: 'range_unsupported' });
});

test('a file that changes between two requests is refused', async () => {
  const source = await HttpSource.open(client(), address());
  hub.fault({ kind: 'etag', etag: 'another' });
  expect(await caught(source.read(MIB, 2 * MIB))).toMatchObject({ code: 'source_changed' });
  hub.fault({ kind: 'total', size: FILE.length + 1 });
  expect(await caught(source.read(4 * MIB, 4 * MIB + 100))).toMatchObject({ code: 'source_changed' });
  // it was the file that the listing spoke of in the first place
  const listed = address(FILE, { sizeBytes: FILE.length - 1 });
  const early = await HttpSource.open(client(), listed);
  expect(await caught(early.read(0, 10))).toMatchObject({ code: 'source_changed' });
});

test('a signed URL that expired is asked for anew, in the middle of a file too', async () => {
  const source = await HttpSource.open(client(), address());
  const first = await source.read(HEAD_BYTES, HEAD_BYTES + MIB);
  expect(same(first, FILE.subarray(HEAD_BYTES, HEAD_BYTES + MIB))).toBe(true);
  hub.expireUrls();
  expect(same(await source.read(15 * MIB, 16 * MIB), FILE.subarray(15 * MIB, 16 * MIB))).toBe(true);
  const statuses = hub.log.filter(({ origin }) => origin === 'cdn').map(({ status }) => status);
  expect(statuses).toEqual([206, 206, 403, 206]);
  expect(hub.counts().resolve).toBe(2);
});

test('a refusal that a new URL does not mend is an error, not a loop', async () => {
  const source = await HttpSource.open(client(), address());
  hub.fault({ kind: 'status', status: 403, times: 99 });
  expect(await caught(source.read(MIB, 2 * MIB))).toMatchObject({ code: 'access_denied' });
  expect(hub.counts().cdn).toBe(3);
});

test('a dropped connection goes on with the byte that is missing', async () => {
  const http = client();
  const source = await HttpSource.open(http, address());
  for (const afterBytes of [3 * MIB, 100_000, 0]) hub.fault({ kind: 'drop', afterBytes });
  expect(same(await readAll(source), FILE)).toBe(true);
  const { cdn, cdnBytes } = hub.counts();
  expect(cdn).toBe(3 + 3);
  // what was in flight when the connection broke, at most
  expect(cdnBytes - FILE.length).toBeLessThan(1.5 * MIB);
  expect(http.traffic.retries).toBe(3);
});

test('an answer that just ends early, and a connection that is reset, are asked for again', async () => {
  const source = await HttpSource.open(client(), address());
  hub.fault({ kind: 'short', afterBytes: 1000 });
  hub.fault({ kind: 'reset' });
  expect(same(await source.read(MIB, 2 * MIB), FILE.subarray(MIB, 2 * MIB))).toBe(true);
});

test('a connection that breaks at the same place again and again is given up', async () => {
  const source = await HttpSource.open(client(), address());
  hub.fault({ kind: 'drop', afterBytes: 0, times: 99 });
  expect(await caught(source.read(MIB, 2 * MIB))).toMatchObject({ code: 'connection_lost' });
  expect(hub.counts().cdn).toBe(1 + 6);
  expect(pauses.length).toBe(4);
});

test('a stalled answer times out and is asked for again from there', async () => {
  const source = await HttpSource.open(client({ stallMs: 200 }), address());
  hub.fault({ kind: 'stall', afterBytes: 500_000 });
  hub.fault({ kind: 'silence' });
  expect(same(await source.read(MIB, 2 * MIB), FILE.subarray(MIB, 2 * MIB))).toBe(true);
  const ranges = hub.log.filter(({ origin }) => origin === 'cdn').map(({ range }) => range);
  // the second and third ask for the same, half a megabyte further on
  expect(ranges.slice(2)).toHaveLength(2);
  expect(ranges[2]).toBe(ranges[3]);
  expect(ranges[2]).toMatch(new RegExp(`^bytes=${MIB + 500_000}-`));
});

test('a slow answer is waited for as long as it moves', async () => {
  const source = await HttpSource.open(client({ stallMs: 400 }), address());
  hub.fault({ kind: 'slow', bytesPerMs: 1000 });
  const begun = performance.now();
  expect(same(await source.read(MIB, 2 * MIB), FILE.subarray(MIB, 2 * MIB))).toBe(true);
  expect(performance.now() - begun).toBeGreaterThan(500);
  expect(hub.counts().cdn).toBe(2);
});

test('429 waits as long as the server says, by either header', async () => {
  hub.fault({ at: 'hub', kind: 'status', status: 429, headers: { 'Retry-After': '7' } });
  hub.fault({ at: 'hub', kind: 'status', status: 429, headers: { RateLimit: '"resolvers";r=0;t=55' } });
  hub.fault({ at: 'hub', kind: 'status', status: 429 });
  const source = await HttpSource.open(client(), address());
  expect(source.size).toBe(FILE.length);
  expect(pauses.slice(0, 2)).toEqual([7000, 55_000]);
  expect(pauses[2]).toBeGreaterThanOrEqual(1000);
  expect(pauses[2]).toBeLessThanOrEqual(2000);
});

test('429 for longer than anybody waits is an error at once', async () => {
  hub.fault({ at: 'hub', kind: 'status', status: 429, headers: { 'Retry-After': '3600' } });
  const error = await caught(HttpSource.open(client(), address()));
  expect(error).toMatchObject({ code: 'rate_limited' });
  expect(error.message).toContain('3600 s');
  expect(pauses).toEqual([]);
});

test('a server error that stays is an error after six tries', async () => {
  hub.fault({ kind: 'status', status: 503, times: 99 });
  expect(await caught(HttpSource.open(client(), address()))).toMatchObject({ code: 'server_failed' });
  expect(hub.counts().cdn).toBe(6);
});

test('a missing file is missing, a dead server is offline', async () => {
  const missing = { name: 'x', url: `${hub.url}/${REPO}/resolve/main/none.safetensors` };
  expect(await caught(HttpSource.open(client(), missing))).toMatchObject({ code: 'not_found' });
  const dead = { name: 'x', url: 'http://127.0.0.1:9/x.safetensors' };
  const error = await caught(HttpSource.open(client(), dead));
  expect(error).toMatchObject({ code: 'offline' });
  expect(error.message).toContain('127.0.0.1:9');
});

test('a gated repo without a token, with a wrong one, with the right one; the token goes to the Hub only', async () => {
  const at = address();
  hub.addRepo(REPO, { [PATH]: FILE }, { gated: 'auto', token: 'hf_right' });
  const without = await caught(HttpSource.open(client(), at));
  expect(without).toMatchObject({ code: 'login_required' });
  expect(without.message).toContain(`${hub.url}/${REPO}`);
  expect(await caught(HttpSource.open(client({ token: 'hf_wrong' }), at))).toMatchObject({ code: 'access_denied' });
  hub.forget();
  const source = await HttpSource.open(client({ token: 'hf_right' }), at);
  await source.read(MIB, 2 * MIB);
  hub.expireUrls();
  await source.read(10 * MIB, 11 * MIB);
  const seen = (origin: string) => hub.log.filter((row) => row.origin === origin).map((row) => row.authorization);
  expect(seen('hub')).toEqual(['Bearer hf_right', 'Bearer hf_right']);
  expect(seen('cdn').every((value) => value === null)).toBe(true);
  // another server never sees it
  const elsewhere = await HttpSource.open(client({ token: 'hf_right' }), {
    name: 'x',
    url: hub.place('/x.safetensors', FILE),
  });
  expect(elsewhere.size).toBe(FILE.length);
  expect(hub.log.at(-1)?.authorization).toBe(null);
});

test('at most eight in flight, however many sources are open', async () => {
  const http = client();
  hub.latencyMs = 20;
  try {
    const content = bytesContent(FILE.subarray(0, 4 * MIB));
    const files = Object.fromEntries(Array.from({ length: 24 }, (_, i) => [`${i}.safetensors`, content]));
    hub.addRepo(REPO, files);
    const sources = await Promise.all(
      Object.keys(files).map((name) => HttpSource.open(http, { name, url: `${hub.url}/${REPO}/resolve/main/${name}` })),
    );
    // every source has a stream that stands idle after its first window; all of them go on afterwards
    for (const at of [MIB, 2 * MIB]) await Promise.all(sources.map((source) => source.read(at, at + MIB)));
    // counted where requests are made: a server learns late that one of them was given up
    expect(http.gate.most).toBe(IN_FLIGHT_MAX);
    expect(hub.mostInFlight).toBeGreaterThan(4);
  } finally {
    hub.latencyMs = 0;
  }
});

test('an interrupted read is cancelled, and the next one works', async () => {
  const source = await HttpSource.open(client(), address());
  source.beginConversion(true);
  hub.fault({ kind: 'stall', afterBytes: 1000 });
  const reading = caught(source.read(MIB, 2 * MIB));
  const waiting = caught(source.read(2 * MIB, 3 * MIB));
  await new Promise((resolve) => setTimeout(resolve, 100));
  source.interrupt();
  expect(await reading).toMatchObject({ code: 'cancelled' });
  expect(await waiting).toMatchObject({ code: 'cancelled' });
  expect(hub.counts().cdn).toBe(2);
  expect(same(await source.read(MIB, 2 * MIB), FILE.subarray(MIB, 2 * MIB))).toBe(true);
});

test('the SHA-256 of a file read in order, with a gap that is filled early, and with one too large', async () => {
  const sha256 = createHash('sha256').update(FILE).digest('hex');
  const open = async (stated: string | null): Promise<HttpSource> => {
    const source = await HttpSource.open(client(), address(FILE, { sha256: stated }), { makeSha256: scriptSha256 });
    source.beginConversion(true);
    return source;
  };
  const inOrder = await open(sha256);
  await readAll(inOrder);
  expect(await inOrder.check()).toMatchObject({ sha256 });

  // The end first: what lies before it is read at once, kept, and not fetched a second time.
  hub.forget();
  const jumping = await open(sha256);
  await jumping.read(12 * MIB, 13 * MIB);
  expect(same(await jumping.read(2 * MIB, 3 * MIB), FILE.subarray(2 * MIB, 3 * MIB))).toBe(true);
  await readAll(jumping, 13 * MIB);
  expect(await jumping.check()).toMatchObject({ sha256 });
  expect(hub.counts().cdnBytes).toBe(FILE.length);

  // A look before the conversion fills no gap and breaks nothing.
  hub.forget();
  const looked = await HttpSource.open(client(), address(FILE, { sha256 }), { makeSha256: scriptSha256 });
  await looked.read(12 * MIB, 13 * MIB);
  expect(hub.counts().cdnBytes).toBeLessThan(10 * MIB);
  looked.beginConversion(true);
  await readAll(looked);
  expect(await looked.check()).toMatchObject({ sha256 });

  const wrong = await open('0'.repeat(64));
  await readAll(wrong);
  expect(await caught(wrong.check())).toMatchObject({ code: 'hash_mismatch' });

  expect(await (await open(null)).check()).toMatchObject({ sha256: null });
});

test('a redirect to an unencrypted host is refused, and not tried again', async () => {
  let asked = 0;
  const fetch = async (): Promise<Response> => {
    asked += 1;
    const response = new Response('x', { status: 206 });
    Object.defineProperty(response, 'url', { value: 'http://cdn.example.org/file' });
    return response;
  };
  const http = client({ fetch });
  const error = await caught(http.get('file', 'https://example.org/file', { begin: 0, end: 1 }));
  expect(error).toMatchObject({ code: 'bad_answer' });
  expect(error.message).toContain('cdn.example.org');
  expect([asked, http.traffic.retries]).toEqual([1, 0]);
});
