// The page in Firefox and WebKitGTK: the same file in, the same bytes out, by the ways that each engine has. And the
// ways that only a service worker opens: downloads that are fed, and the page without a network.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { makeBig } from '../../scripts/make_big.mjs';
import { cli, downloaded, firstDifference, privateFiles, ROOT, scratchFolder } from './browser.mjs';
import { openEngine } from './engines.mjs';

const GIB = 0.25;
const MINUTES = 60_000;
const EXAMPLE = join(ROOT, 'build/examples/krea-2.safetensors');

const folder = scratchFolder();
const source = join(folder.path, 'big.safetensors');
const wanted = join(folder.path, 'wanted.safetensors');
let size;
let engine;

before(() => {
  makeBig(source, { gib: GIB });
  cli('convert', '--to', 'bf16', '-o', wanted, source);
  size = readFileSync(wanted).length;
});
after(async () => {
  await engine?.close();
  folder.clean();
});

async function open(name) {
  await engine?.close();
  engine = undefined;
  engine = await openEngine(name, folder.path);
  return engine;
}

async function start(file, sink) {
  // the first visit: nothing is offered that needs a service worker before there is one
  await engine.evaluate(() => navigator.serviceWorker.ready.then(() => true));
  await engine.chooseFile(file);
  await engine.textOf('verdict');
  await engine.press('target-bf16');
  await engine.textOf(`sink-${sink}`);
  await engine.press(`sink-${sink}`);
  await engine.press('convert-button');
}

async function assertSaved() {
  const file = await downloaded(engine.downloads, size);
  assert.equal(firstDifference(file, wanted), -1, 'the same bytes as by the command line');
  return file;
}

async function assertChecked(file) {
  assert.match(await engine.textOf('receipt'), /not verified/);
  await engine.choose('[data-testid="saved-input"]', file);
  await engine.waitFor('[data-testid="receipt"] [data-testid="verified"]', MINUTES);
}

describe('Firefox', { timeout: 4 * MINUTES }, () => {
  test('by private files', async () => {
    await open('firefox');
    await start(source, 'opfs');
    assert.match(await engine.textOf('receipt', 2 * MINUTES), /read back and verified/);
    await assertSaved();
    await engine.press('delete-copy');
    await engine.waitFor('[data-testid="copy-deleted"]');
    assert.deepEqual(await privateFiles(engine.page), []);
  });

  test('by a download that is fed', async () => {
    await open('firefox');
    await start(source, 'download');
    await engine.textOf('receipt', 2 * MINUTES);
    await assertChecked(await assertSaved());
  });
});

describe('WebKitGTK', { timeout: 4 * MINUTES }, () => {
  test('a big file by a download that is fed', async () => {
    await open('webkit');
    await start(source, 'download');
    await engine.textOf('receipt', 2 * MINUTES);
    await assertChecked(await assertSaved());
  });

  test('a small file in memory', async () => {
    const other = join(folder.path, 'example.safetensors');
    cli('convert', '--to', 'bf16', '-o', other, EXAMPLE);
    await open('webkit');
    await start(EXAMPLE, 'memory');
    assert.match(await engine.textOf('receipt'), /read back and verified/);
    const file = await downloaded(engine.downloads, readFileSync(other).length);
    assert.equal(firstDifference(file, other), -1);
  });
});

describe('the service worker in Chromium', { timeout: 4 * MINUTES }, () => {
  /** Without its picker Chromium offers what Firefox does. */
  async function openWithoutPicker() {
    await open('chromium');
    await engine.page.evaluateOnNewDocument(() => Reflect.deleteProperty(window, 'showSaveFilePicker'));
    await engine.reload();
  }
  const finished = () => readdirSync(engine.downloads).filter((name) => !name.endsWith('.crdownload'));

  test('feeds a download', async () => {
    await openWithoutPicker();
    await start(source, 'download');
    await engine.textOf('receipt', 2 * MINUTES);
    await assertChecked(await assertSaved());
  });

  test('a saved file that is not the one is refused', async () => {
    await openWithoutPicker();
    await start(EXAMPLE, 'download');
    await engine.textOf('receipt');
    await engine.choose('[data-testid="saved-input"]', EXAMPLE);
    await engine.waitFor('[data-testid="receipt"] [data-code="verify_failed"]');
  });

  test('ended in the middle: the page says that the download is not whole', async () => {
    await openWithoutPicker();
    await start(source, 'download');
    await engine.waitFor('[data-testid="progress"][data-phase="convert"]');
    const cdp = await engine.page.createCDPSession();
    await cdp.send('ServiceWorker.enable');
    await cdp.send('ServiceWorker.stopAllWorkers');
    await engine.waitFor('[data-code="download_lost"]', MINUTES);
    assert.deepEqual(finished(), []);
  });

  test('cancelled: the download fails', async () => {
    await openWithoutPicker();
    await start(source, 'download');
    await engine.waitFor('[data-testid="progress"][data-phase="convert"]');
    await engine.press('cancel-button');
    await engine.waitFor('[data-code="cancelled"]');
    assert.deepEqual(finished(), []);
  });

  test('without a network the page opens, weighs and converts', async () => {
    await open('chromium');
    await engine.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await engine.stopServing();
    await engine.reload();
    await start(EXAMPLE, 'opfs');
    assert.match(await engine.textOf('receipt'), /read back and verified/);
  });
});
