// The rules of reading over HTTP in stock Chromium: the engine's own source (web/engine/http_source.ts) in a page, against
// a server that behaves as the Hub does and goes wrong on demand. tests/web/http_source.test.ts has the same in Node.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { build } from 'vite';
import { serve } from '../../scripts/serve.mjs';
import { bytesContent, startHub } from '../support/hub_server.mjs';
import { CHROMIUM, FLAGS, ROOT, scratchFolder } from './browser.mjs';

const MIB = 1 << 20;
const HEAD_BYTES = 96 * 1024;
const SIZE = 20 * MIB + 123;
const CONTENT = bytesContent(numbers(SIZE));

/** Different everywhere; the page makes the same. The first 8 bytes say: a header of 2. */
function numbers(lengthBytes) {
  const words = new Uint32Array(Math.ceil(lengthBytes / 4));
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 2654435761);
  new DataView(words.buffer).setBigUint64(0, 2n, true);
  return new Uint8Array(words.buffer, 0, lengthBytes);
}

describe('reading over HTTP in Chromium', { timeout: 5 * 60_000 }, () => {
  const folder = scratchFolder();
  let hub;
  let site;
  let browser;
  let page;

  before(async () => {
    hub = await startHub();
    hub.addRepo('o/r', { 'model.safetensors': CONTENT });
    const outDir = mkdtempSync(join(folder.path, 'page-'));
    await build({
      root: ROOT,
      logLevel: 'error',
      configFile: false,
      publicDir: false,
      build: {
        outDir,
        minify: false,
        lib: { entry: join(ROOT, 'tests/e2e/http_entry.ts'), formats: ['es'], fileName: 'http' },
      },
    });
    writeFileSync(join(outDir, 'index.html'), '<!doctype html><title>rules</title>');
    site = await serve(outDir);
    const userDataDir = mkdtempSync(join(folder.path, 'profile-'));
    browser = await puppeteer.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS, userDataDir });
    page = await browser.newPage();
    await page.goto(site.url);
    await page.evaluate(async () => {
      window.http = await import('./http.js');
      window.expected = (at) => {
        if (at < 8) return at === 0 ? 2 : 0;
        return (Math.imul((at >>> 2) + 1, 2654435761) >>> (8 * (at & 3))) & 0xff;
      };
    });
  });
  beforeEach(() => {
    hub.forget();
    hub.faults = [];
  });
  afterEach(() => {
    hub.faults = [];
  });
  after(async () => {
    await browser?.close();
    await site?.close();
    await hub?.close();
    folder.clean();
  });

  /**
   * In the page: opens the file and reads windows [begin, end) one after the other. Gives the code of what went wrong, or
   * whether every byte is right; the pauses that were asked for; the traffic.
   */
  async function read(windows, { url = `${hub.url}/o/r/resolve/main/model.safetensors`, ...options } = {}) {
    return page.evaluate(
      async (given) => {
        const { HttpClient, HttpSource } = window.http;
        const pauses = [];
        const sleep = async (ms) => void pauses.push(ms);
        const client = new HttpClient({ hubOrigin: given.hubOrigin, stallMs: 5000, ...given.options, sleep });
        try {
          const source = await HttpSource.open(client, { name: 'model.safetensors', url: given.url });
          let same = true;
          for (const [begin, end] of given.windows) {
            const bytes = await source.read(begin, end);
            for (let i = 0; i < bytes.length; i += 997) same &&= bytes[i] === window.expected(begin + i);
            source.release(bytes);
          }
          await source.close();
          return { code: 'ok', same, size: source.size, pauses, traffic: client.traffic, most: client.gate.most };
        } catch (error) {
          return { code: error.code ?? String(error), message: error.message, pauses, traffic: client.traffic };
        }
      },
      { windows, url, options, hubOrigin: hub.url },
    );
  }

  const ALL = Array.from({ length: 21 }, (_, i) => [i * MIB, Math.min(SIZE, (i + 1) * MIB)]);

  test('one request opens, three read it all, every byte once, no preflight', async () => {
    assert.deepEqual((await read([])).traffic, { requests: 1, bytes: HEAD_BYTES, retries: 0 });
    assert.deepEqual([hub.counts().resolve, hub.counts().cdn, hub.counts().cdnBytes], [1, 1, HEAD_BYTES]);
    hub.forget();
    const got = await read(ALL);
    assert.deepEqual([got.code, got.same, got.size], ['ok', true, SIZE]);
    const { resolve, cdn, cdnBytes, preflights } = hub.counts();
    assert.deepEqual([resolve, cdn, cdnBytes, preflights], [1, 3, SIZE, 0]);
  });

  for (const [kind, code] of [
    ['ok200', 'range_unsupported'],
    ['wrong_range', 'range_unsupported'],
  ]) {
    test(`${kind} is ${code}`, async () => {
      hub.fault({ kind });
      assert.equal((await read([[0, 100]])).code, code);
      assert.ok(hub.counts().cdnBytes < SIZE / 2, `${hub.counts().cdnBytes} bytes were sent`);
    });
  }

  // What Chromium makes of a gzip that it did not ask for is its own affair: an error, or the bytes unpacked.
  for (const kind of ['gzip', 'gzip200']) {
    test(`${kind}: refused, or every byte right`, async () => {
      hub.fault({ kind, skip: 1 });
      const got = await read([[MIB, 2 * MIB]]);
      assert.ok(got.code === 'range_unsupported' || got.same, JSON.stringify(got));
    });
  }

  test('a changed ETag and a changed size are source_changed', async () => {
    hub.fault({ kind: 'etag', etag: 'another', skip: 1 });
    assert.equal((await read([[MIB, 2 * MIB]])).code, 'source_changed');
    hub.fault({ kind: 'total', size: SIZE + 1, skip: 1 });
    assert.equal((await read([[MIB, 2 * MIB]])).code, 'source_changed');
  });

  test('an expired URL is asked for anew', async () => {
    for (const status of [401, 403, 410]) {
      hub.forget();
      hub.fault({ kind: 'status', status, skip: 1 });
      const got = await read([[MIB, 2 * MIB]]);
      assert.deepEqual([got.code, got.same, hub.counts().resolve], ['ok', true, 2]);
    }
  });

  test('dropped, short, reset and stalled answers go on with the byte that is missing', async () => {
    hub.fault({ kind: 'drop', afterBytes: 3 * MIB, skip: 1 });
    hub.fault({ kind: 'short', afterBytes: 1000 });
    hub.fault({ kind: 'reset' });
    hub.fault({ kind: 'stall', afterBytes: 700_000 });
    const got = await read(ALL, { stallMs: 400 });
    assert.deepEqual([got.code, got.same], ['ok', true], got.message);
    // Chromium itself asks again where a connection that it had used before is reset
    assert.ok(got.traffic.retries >= 3);
    const twice = hub.counts().cdnBytes - SIZE;
    assert.ok(twice >= 0 && twice < 8 * MIB, `${twice} bytes came twice`);
  });

  test('a slow answer is waited for; a server that stays broken is given up', async () => {
    hub.fault({ kind: 'slow', bytesPerMs: 2000, skip: 1 });
    assert.equal((await read([[MIB, 2 * MIB]], { stallMs: 1000 })).code, 'ok');
    hub.fault({ kind: 'drop', afterBytes: 0, skip: 1, times: 99 });
    assert.equal((await read([[MIB, 2 * MIB]])).code, 'connection_lost');
    hub.faults = [];
    hub.fault({ kind: 'status', status: 503, times: 99 });
    assert.equal((await read([])).code, 'server_failed');
  });

  test('429: pages cannot see Retry-After, so the pause grows by itself', async () => {
    const headers = { 'Retry-After': '7', RateLimit: '"resolvers";r=0;t=55' };
    hub.fault({ at: 'hub', kind: 'status', status: 429, headers, times: 3 });
    const { code, pauses } = await read([]);
    assert.equal(code, 'ok');
    assert.equal(pauses.length, 3);
    pauses.forEach((ms, i) => {
      assert.ok(ms >= 250 * 2 ** i && ms <= 500 * 2 ** i, `pause ${i}: ${ms} ms`);
    });
  });

  test('401, 403 with the licence page; a token goes to the Hub only and costs a preflight there', async () => {
    hub.addRepo('o/gated', { 'model.safetensors': CONTENT }, { gated: 'auto', token: 'hf_right' });
    const url = `${hub.url}/o/gated/resolve/main/model.safetensors`;
    assert.equal((await read([], { url })).code, 'login_required');
    assert.equal((await read([], { url, token: 'hf_wrong' })).code, 'access_denied');
    hub.forget();
    const got = await read([[MIB, 2 * MIB]], { url, token: 'hf_right' });
    assert.deepEqual([got.code, got.same], ['ok', true]);
    assert.ok(hub.log.filter(({ origin }) => origin === 'cdn').every(({ authorization }) => authorization === null));
    assert.equal(
      hub.log.find(({ origin, method }) => origin === 'hub' && method === 'GET').authorization,
      'Bearer hf_right',
    );
    assert.equal(hub.counts().preflights, 1);
  });

  test('no CORS at the first server, and at the one that it redirects to; offline', async () => {
    const closed = hub.place('/closed.safetensors', CONTENT, { cors: false });
    assert.equal((await read([], { url: closed })).code, 'cors_blocked');
    hub.fault({ kind: 'no_cors', times: 99 });
    assert.equal((await read([])).code, 'cors_blocked');
    hub.faults = [];
    assert.equal((await read([], { url: 'http://127.0.0.1:9/x.safetensors' })).code, 'offline');
    const cdp = await page.createCDPSession();
    await cdp.send('Network.enable');
    await cdp.send('Network.emulateNetworkConditions', {
      offline: true,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
    assert.equal((await read([])).code, 'offline');
    await cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
    await cdp.detach();
  });
});
