// A conversion that ends with its tab or its browser, gone on with at the next visit: the same bytes in the end.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { makeBig } from '../../scripts/make_big.mjs';
import { bytesContent, startHub } from '../support/hub_server.mjs';
import {
  byId,
  chooseFiles,
  cli,
  downloaded,
  firstDifference,
  openPage,
  press,
  privateFiles,
  scratchFolder,
  textOf,
} from './browser.mjs';

const SHOTS = process.env.E2E_SHOTS;
const INPUT_MIB = 384;

describe('conversions that are interrupted, in Chromium', { timeout: 10 * 60_000 }, () => {
  const folder = scratchFolder();
  const source = join(folder.path, 'big.safetensors');
  const wanted = join(folder.path, 'wanted.safetensors');
  let hub;
  let session;
  /** of the browser that is closed and opened again */
  let visit;

  before(async () => {
    makeBig(source, { gib: INPUT_MIB / 1024 });
    cli('convert', '--to', 'bf16', '-o', wanted, source);
    hub = await startHub();
    hub.addRepo('owner/model', { 'model.safetensors': bytesContent(readFileSync(source)) });
  });
  afterEach(async () => {
    hub.faults = [];
    await session?.close();
    session = null;
    visit = undefined;
  });
  after(async () => {
    await hub.close();
    folder.clean();
  });

  async function servedBesideMirror(page) {
    await page.evaluateOnNewDocument((endpoint) => {
      const add = () =>
        document.head.append(
          Object.assign(document.createElement('meta'), { name: 'hub-endpoint', content: endpoint }),
        );
      document.addEventListener('readystatechange', add, { once: true });
    }, hub.url);
  }

  async function open(viewport) {
    visit ??= { profile: mkdtempSync(join(folder.path, 'profile-')), port: 0 };
    session = await openPage(folder.path, viewport, { allow: [hub.url, hub.cdnUrl], ...visit });
    visit.port = Number(new URL(session.url).port);
    await servedBesideMirror(session.page);
    await session.page.reload();
    return session.page;
  }

  /**
   * Lines of the journal beside the unfinished working copy. A file that grew since getFile() cannot be read any more
   * (NotReadableError): the next snapshot can.
   */
  const journal = (page) =>
    page.evaluate(async () => {
      for await (const [name, handle] of (await navigator.storage.getDirectory()).entries()) {
        while (name.endsWith('.journal')) {
          try {
            return (await (await handle.getFile()).text()).split('\n').filter(Boolean);
          } catch (error) {
            if (error.name !== 'NotReadableError') throw error;
          }
        }
      }
      return [];
    });

  async function convertUntilNoted(page, marks = 1) {
    await press(page, 'target-bf16');
    await press(page, 'sink-opfs');
    await press(page, 'convert-button');
    for (let lines = []; lines.length <= marks; lines = await journal(page)) {
      assert.equal(await page.$(byId('receipt')), null, 'it was done before it could be interrupted');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function finish(page) {
    await press(page, 'continue-button');
    await page.waitForSelector(byId('receipt'), { visible: true, timeout: 180_000 });
    assert.match(await textOf(page, 'receipt'), /read back and verified.*were there already, and were checked/);
    const output = await downloaded(session.downloads, 1);
    assert.equal(firstDifference(output, wanted), -1);
    assert.deepEqual(
      (await privateFiles(page)).map(({ name }) => name.replace(/^.*\./, '')),
      ['safetensors'],
    );
    assert.deepEqual(session.faults, []);
  }

  async function shot(name) {
    if (!SHOTS) return;
    mkdirSync(SHOTS, { recursive: true });
    for (const [width, height] of [
      [1280, 900],
      [360, 740],
    ]) {
      await session.page.setViewport({ width, height });
      for (const value of ['light', 'dark']) {
        await session.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
        await session.page.screenshot({ path: join(SHOTS, `${name}-${width}-${value}.png`), fullPage: true });
      }
    }
    await session.page.setViewport({ width: 1280, height: 900 });
  }

  test('the browser is killed; the same file is chosen again', async () => {
    let page = await open();
    await chooseFiles(page, source);
    await convertUntilNoted(page);
    const browser = session.browser.process();
    const ended = new Promise((resolve) => browser.once('exit', resolve));
    browser.kill('SIGKILL');
    await ended;
    await session.close();

    page = await open();
    assert.match(await textOf(page, 'working-copies'), /unfinished: open its model again to continue/);
    await shot('unfinished-intro');
    await chooseFiles(page, source);
    assert.match(await textOf(page, 'unfinished'), /bf16, [\d.]+ MB of [\d.]+ MB written/);
    await shot('unfinished');
    await finish(page);
  });

  test('the tab is closed; the same commit of the repo is opened again, and only the rest is fetched', async () => {
    hub.fault({ kind: 'slow', path: '/repos/', times: 10_000, bytesPerMs: 60_000 });
    let page = await open();
    await (await page.waitForSelector(byId('address'))).type('owner/model');
    await press(page, 'address-go');
    await convertUntilNoted(page, 2);
    const mark = JSON.parse((await journal(page)).at(-1));
    await page.close({ runBeforeUnload: false });
    hub.faults = [];
    hub.forget();

    page = await session.browser.newPage();
    await servedBesideMirror(page);
    await page.goto(new URL('?model=owner/model', session.url).href);
    session.page = page;
    await textOf(page, 'unfinished');
    await finish(page);
    const { bytes } = hub.counts('/repos/');
    const left = INPUT_MIB * 2 ** 20 - mark.bytes / 2;
    assert.ok(bytes < left + 24e6, `${bytes} bytes were fetched where about ${left} were left`);
  });

  test('another file of that name is offered nothing; discarded is gone', async () => {
    let page = await open();
    await chooseFiles(page, source);
    await convertUntilNoted(page);
    await page.close({ runBeforeUnload: false });
    page = await session.browser.newPage();
    await page.goto(session.url);
    const other = join(mkdtempSync(join(folder.path, 'other-')), 'big.safetensors');
    makeBig(other, { gib: INPUT_MIB / 1024, sparse: true });
    await chooseFiles(page, other);
    await page.waitForSelector(byId('target-bf16'), { visible: true, timeout: 20_000 });
    assert.equal(await page.$(byId('unfinished')), null);
    await chooseFiles(page, source);
    await textOf(page, 'unfinished');
    await press(page, 'discard-button');
    await page.waitForFunction((selector) => document.querySelector(selector) === null, {}, byId('unfinished'));
    assert.deepEqual(await privateFiles(page), []);
    assert.deepEqual(session.faults, []);
  });
});
