// A repo in stock Chromium: what the page fetches, what it shows, what it costs; a conversion whose source never lands
// on disk. The server behaves as the Hub does (tests/support/hub_server.mjs).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { checkpointBytes, f32Bytes } from '../../scripts/lib/checkpoint.mjs';
import { makeBig } from '../../scripts/make_big.mjs';
import { bytesContent, startHub } from '../support/hub_server.mjs';
import { byId, downloaded, openPage, press, ROOT, scratchFolder, textOf } from './browser.mjs';

const CLI = join(ROOT, 'web/cli/weighbridge.mjs');
const SHOTS = process.env.E2E_SHOTS;
const HEAD_BYTES = 96 * 1024;
const MODEL = checkpointBytes([
  { name: 'a.weight', dtype: 'F8_E4M3', shape: [16, 32], data: Buffer.alloc(512, 0x38) },
  { name: 'a.weight_scale', dtype: 'F32', shape: [], data: f32Bytes([0.5]) },
]);

describe('a repo in Chromium', { timeout: 10 * 60_000 }, () => {
  const folder = scratchFolder();
  let hub;
  let session;

  before(async () => {
    hub = await startHub({ pageSize: 3 });
    const { path, bytes } = big('model.safetensors', 96);
    hub.addRepo('owner/model', { 'model.safetensors': bytes, 'config.json': Buffer.from('{"a":1}') });
    hub.local = path;
    hub.addRepo('owner/variants', {
      'transformer/model_fp8.safetensors': MODEL,
      'transformer/model_bf16.safetensors': MODEL,
      'model.ckpt': Buffer.from('x'),
      'README.md': Buffer.from('# words'),
    });
    hub.addRepo('owner/gated', { 'model.safetensors': MODEL }, { gated: 'auto', token: 'hf_right' });
  });
  beforeEach(() => hub.forget());
  afterEach(async () => {
    hub.faults = [];
    await session?.close();
    session = null;
  });
  after(async () => {
    await hub.close();
    folder.clean();
  });

  function big(name, mib) {
    const path = join(folder.path, name);
    makeBig(path, { gib: mib / 1024 });
    return { path, bytes: readFileSync(path) };
  }

  /** The page, told where its Hub is as one who serves it beside a mirror would. */
  async function start(search = '', viewport) {
    session = await openPage(folder.path, viewport, { allow: [hub.url, hub.cdnUrl] });
    await session.page.evaluateOnNewDocument((endpoint) => {
      const add = () => {
        const meta = document.createElement('meta');
        meta.name = 'hub-endpoint';
        meta.content = endpoint;
        document.head.append(meta);
      };
      document.addEventListener('readystatechange', add, { once: true });
    }, hub.url);
    await session.page.goto(new URL(search, session.url).href);
    return session;
  }

  async function look(address) {
    await (await session.page.waitForSelector(byId('address'))).type(address);
    await press(session.page, 'address-go');
  }

  async function shot(name) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    await session.page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
  }

  test('one box opens a repo: four requests, 96 kB of the file, and they are shown', async () => {
    const { page, faults } = await start();
    await shot('intro');
    await look('owner/model');
    assert.match(await textOf(page, 'verdict'), /Sound/);
    assert.match(await textOf(page, 'place'), /owner\/model at commit [0-9a-f]{10}/);
    const cost = await page.$eval(byId('traffic'), (line) => ({ ...line.dataset }));
    // commit, listing, config, head of the file
    assert.equal(cost.requests, '4');
    const counts = hub.counts();
    assert.deepEqual([counts.cdn, counts.preflights], [1, 0]);
    assert.equal(counts.cdnBytes, HEAD_BYTES);
    assert.equal(Number(cost.bytes), counts.bytes);
    assert.match(page.url(), /\?model=owner\/model&rev=[0-9a-f]{40}&file=model\.safetensors$/);
    await shot('open-1280');
    await page.setViewport({ width: 360, height: 780 });
    await shot('open-360');
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    await shot('open-360-dark');
    await page.setViewport({ width: 1280, height: 900 });
    await shot('open-1280-dark');
    assert.deepEqual(faults, []);
  });

  test('a link opens the commit, the file and the view it names', async () => {
    const sha = hub.repos.get('owner/variants').sha;
    const search = `?model=owner/variants&rev=${sha}&file=transformer/model_fp8.safetensors&view=pairs`;
    const { page, faults } = await start(search);
    assert.match(await textOf(page, 'verdict'), /Sound/);
    assert.match(await textOf(page, 'place'), /owner\/variants/);
    assert.equal(decodeURIComponent(new URL(page.url()).search), search);
    assert.ok(hub.log.filter(({ path }) => path.includes('/resolve/')).every(({ path }) => path.includes(sha)));
    await page.waitForFunction(() => window.scrollY > 0 || document.body.scrollHeight <= window.innerHeight);
    assert.deepEqual(faults, []);
  });

  test('a repo with variants is a question, with sizes', async () => {
    const { page, faults } = await start();
    await look(`${hub.url}/owner/variants/tree/main`);
    const words = await textOf(page, 'chooser');
    assert.match(words, /model_fp8\.safetensors/);
    assert.match(words, /model_bf16\.safetensors/);
    await shot('chooser');
    const rows = await page.$$(byId('choice-row'));
    await rows[1].click();
    assert.match(await textOf(page, 'verdict'), /Sound/);
    assert.match(page.url(), /file=transformer\/model_fp8\.safetensors/);
    assert.deepEqual(faults, []);
  });

  test('a gated repo: the licence page is named, a token opens it and goes nowhere else', async () => {
    const { page } = await start();
    await look('owner/gated');
    const refused = await textOf(page, 'verdict');
    assert.match(refused, /login_required/);
    assert.ok(refused.includes(`${hub.url}/owner/gated`), refused);
    await shot('gated');
    await (await page.waitForSelector(byId('token'), { visible: true })).type('hf_right');
    await press(page, 'address-go');
    await page.waitForSelector(byId('place'), { visible: true });
    assert.match(await textOf(page, 'verdict'), /Sound/);
    const sent = hub.log.filter(({ authorization }) => authorization !== null);
    assert.ok(sent.length > 0 && sent.every(({ origin }) => origin === 'hub'));
    assert.ok(hub.counts().preflights > 0);
    assert.ok(!page.url().includes('hf_right'));
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    );
    assert.equal(kept, '[{},{},""]');
  });

  test('a site without CORS is told from a dead one', async () => {
    const { page } = await start();
    await look(hub.place('/closed/model.safetensors', MODEL, { cors: false }));
    assert.match(await textOf(page, 'verdict'), /cors_blocked/);
    await page.goto(session.url);
    await look('http://127.0.0.1:9/model.safetensors');
    assert.match(await textOf(page, 'verdict'), /offline/);
  });

  test('remote to bf16 through five broken connections and an expired URL: the same file, its hash checked', async () => {
    const { page, faults, downloads } = await start();
    await look('owner/model');
    assert.match(await textOf(page, 'verdict'), /Sound/);
    hub.forget();
    for (const afterBytes of [5e6, 1e6, 3e6, 70_000, 2e6]) hub.fault({ kind: 'drop', afterBytes });
    hub.expireUrls();
    await press(page, 'target-bf16');
    await press(page, 'convert-button');
    await page.waitForSelector(byId('receipt'), { visible: true, timeout: 120_000 });
    const bytes = readFileSync(hub.local);
    assert.equal(await textOf(page, 'source-sha256'), bytesContent(bytes).sha256);
    await shot('receipt');
    const expected = join(folder.path, 'expected.safetensors');
    const run = spawnSync(process.execPath, [CLI, 'convert', '--to', 'bf16', '-o', expected, hub.local]);
    assert.equal(run.status, 0, String(run.stderr));
    const want = readFileSync(expected);
    assert.ok(readFileSync(await downloaded(downloads, want.length)).equals(want));
    const twice = hub.counts('model.safetensors').cdnBytes + HEAD_BYTES - bytes.length;
    assert.ok(twice >= 0 && twice < 5 * 4e6, `${twice} bytes came twice`);
    // a broken transfer is what the console may speak of; nothing else
    assert.deepEqual(
      faults.filter((fault) => !/net::ERR|status of 403/.test(fault)),
      [],
    );
  });

  test('cancel is heard while a server stalls', async () => {
    const { page } = await start();
    await look('owner/model');
    assert.match(await textOf(page, 'verdict'), /Sound/);
    hub.fault({ kind: 'stall', afterBytes: 10_000, times: 9 });
    await press(page, 'target-bf16');
    await press(page, 'convert-button');
    await press(page, 'cancel-button');
    await page.waitForFunction(() => document.body.textContent.includes('cancelled'), { timeout: 10_000 });
  });
});
