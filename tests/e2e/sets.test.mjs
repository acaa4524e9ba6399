// Folders, sets and pipelines in stock Chromium: dropped, chosen, told apart, and written as a folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bf16Bytes, checkpointBytes, f32Bytes } from '../../scripts/lib/checkpoint.mjs';
import {
  byId,
  chooseFiles,
  downloaded,
  openPage,
  press,
  privateFiles,
  ROOT,
  scratchFolder,
  textOf,
} from './browser.mjs';

const CLI = join(ROOT, 'web/cli/weighbridge.mjs');

function fp8(name, rows, cols) {
  const data = Buffer.alloc(rows * cols);
  for (let i = 0; i < data.length; i++) data[i] = (i * 37) % 0x7f;
  return { name, dtype: 'F8_E4M3', shape: [rows, cols], data };
}

const scale = (name, value) => ({ name, dtype: 'F32', shape: [1], data: f32Bytes([value]) });
const norm = (name) => ({ name, dtype: 'BF16', shape: [4], data: bf16Bytes([1, 2, 3, 4]) });

function put(root, files) {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
}

/** Two shards whose pair lies across them, and what belongs beside them. */
function setFiles() {
  const shards = [
    [fp8('a.weight', 64, 64), norm('a.norm')],
    [fp8('b.weight', 32, 32), scale('b.weight_scale', 0.5), scale('a.weight_scale', 0.37)],
  ];
  const weight_map = {};
  const files = {};
  shards.forEach((tensors, i) => {
    const name = `model-0000${i + 1}-of-00002.safetensors`;
    files[name] = checkpointBytes(tensors, { format: 'pt' });
    for (const tensor of tensors) weight_map[tensor.name] = name;
  });
  files['model.safetensors.index.json'] = JSON.stringify({
    metadata: { total_size: 64 * 64 + 8 + 32 * 32 + 8 },
    weight_map,
  });
  files['config.json'] = '{"model_type": "t", "quantization_config": {"quant_method": "fp8"}}';
  files['tokenizer.json'] = '{}';
  return files;
}

/** Drops paths on the page the way a person does: the browser itself makes the entries. */
async function dropPaths(page, ...paths) {
  const session = await page.createCDPSession();
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) {
    await session.send('Input.dispatchDragEvent', { type, x: 300, y: 300, data });
  }
  await session.detach();
}

/** The folder picker hands out a folder of the page's private files: a real handle, without the dialog. */
async function pickPrivateFolder(page) {
  await page.evaluate(() => {
    window.showDirectoryPicker = async () => {
      const root = await navigator.storage.getDirectory();
      return root.getDirectoryHandle('chosen', { create: true });
    };
  });
}

const privateBytes = (page, path) =>
  page.evaluate(async (where) => {
    const parts = where.split('/');
    let folder = await navigator.storage.getDirectory();
    for (const part of parts.slice(0, -1)) folder = await folder.getDirectoryHandle(part);
    const file = await (await folder.getFileHandle(parts.at(-1))).getFile();
    return [...new Uint8Array(await file.arrayBuffer())];
  }, path);

const SHOTS = process.env.E2E_SHOTS;

/** Wide and narrow, light and dark, when somebody wants to look at them (E2E_SHOTS=folder). */
async function shots(page, name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  const viewport = page.viewport();
  for (const width of [1280, 360]) {
    await page.setViewport({ width, height: 900 });
    for (const value of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
      await page.screenshot({ path: join(SHOTS, `${name}-${width}-${value}.png`), fullPage: true });
    }
  }
  await page.setViewport(viewport);
}

/** A set, dropped and written into a folder as one file. */
async function dropAndWriteOneFile(page, set, target) {
  await dropPaths(page, set);
  await textOf(page, 'verdict');
  await pickPrivateFolder(page);
  await press(page, target);
  await press(page, 'sink-directory');
  await press(page, 'cut-5000000000');
  await page.waitForFunction(
    (selector) => document.querySelector(selector)?.textContent.startsWith('1 file'),
    {},
    byId('plan-files'),
  );
  await press(page, 'convert-button');
  await page.waitForSelector(byId('receipt'), { visible: true, timeout: 60_000 });
}

describe('sets in Chromium', { timeout: 300_000 }, () => {
  const folder = scratchFolder();
  const set = join(folder.path, 'tiny');
  let session;

  before(() => put(set, setFiles()));
  after(async () => {
    await session?.close();
    folder.clean();
  });

  async function fresh(viewport) {
    await session?.close();
    session = undefined;
    session = await openPage(folder.path, viewport);
    return session;
  }

  test('a dropped folder opens as its set; strays are told with a reason', async () => {
    const mixed = join(folder.path, 'mixed');
    put(mixed, {
      ...setFiles(),
      'consolidated.safetensors': checkpointBytes([norm('a.norm')]),
      'weights.gguf': 'GGUF',
    });
    const { page, faults } = await fresh();
    await dropPaths(page, mixed);
    assert.match(await textOf(page, 'verdict'), /Sound/);
    assert.match(await textOf(page, 'set'), /2 of 2 shards open, 5 tensors listed/);
    const ignored = await textOf(page, 'ignored');
    assert.match(ignored, /Not read: 2 files/);
    await (await page.$(`${byId('ignored')} button`)).click();
    const opened = await textOf(page, 'ignored');
    assert.match(opened, /consolidated\.safetensors not part of the set that the index describes/);
    assert.match(opened, /weights\.gguf another format than safetensors/);
    assert.deepEqual(faults, []);
  });

  test('a set becomes a folder: the same files as the command line writes, nothing unfinished left', async () => {
    const { page, faults } = await fresh();
    await dropPaths(page, set);
    await textOf(page, 'verdict');
    await pickPrivateFolder(page);
    await press(page, 'target-bf16');
    await press(page, 'sink-directory');
    assert.match(await textOf(page, 'plan-files'), /2 files and the index/);
    await press(page, 'convert-button');
    await page.waitForSelector(byId('receipt'), { visible: true, timeout: 60_000 });
    const other = join(folder.path, 'by-cli');
    const run = spawnSync(process.execPath, [CLI, 'convert', '--to', 'bf16', '-o', other, set], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    const names = readdirSync(other).sort();
    assert.deepEqual(
      (await privateFiles(page)).map(({ name }) => name).sort(),
      names.map((name) => `chosen/tiny-bf16/${name}`),
    );
    for (const name of names) {
      const bytes = await privateBytes(page, `chosen/tiny-bf16/${name}`);
      assert.ok(Buffer.from(bytes).equals(readFileSync(join(other, name))), name);
    }
    assert.match(await textOf(page, 'receipt'), /quantization_config removed/);
    // a second time the folder is there, and not empty
    await (await page.waitForSelector('::-p-text(Convert again)')).click();
    await press(page, 'convert-button');
    await page.waitForSelector('[role="alert"] ::-p-text(output_exists)', { timeout: 20_000 });
    assert.equal((await privateFiles(page)).length, names.length);
    assert.deepEqual(faults, []);
  });

  test('cut anew by size, and a set to one file', async () => {
    const { page, downloads, faults } = await fresh();
    await dropAndWriteOneFile(page, set, 'target-bf16');
    assert.deepEqual((await privateFiles(page)).map(({ name }) => name).sort(), [
      'chosen/tiny-bf16/config.json',
      'chosen/tiny-bf16/model.safetensors',
      'chosen/tiny-bf16/tokenizer.json',
    ]);
    await (await page.waitForSelector('::-p-text(Convert again)')).click();
    await press(page, 'sink-opfs');
    await press(page, 'convert-button');
    await page.waitForSelector(byId('receipt'), { visible: true, timeout: 60_000 });
    const one = readFileSync(await downloaded(downloads, 1));
    const other = join(folder.path, 'one.safetensors');
    spawnSync(process.execPath, [CLI, 'convert', '--to', 'bf16', '-o', other, set]);
    assert.ok(one.equals(readFileSync(other)));
    assert.match(await textOf(page, 'receipt'), /config\.json still describes the quantization/);
    assert.deepEqual(faults, []);
  });

  test('as they are: joined into one file in a folder, slices of the files, scales and config untouched', async () => {
    const { page, faults } = await fresh();
    await dropAndWriteOneFile(page, set, 'target-stored');
    assert.match(await textOf(page, 'receipt'), /as they were, read back and verified/);
    const other = join(folder.path, 'joined.safetensors');
    const run = spawnSync(process.execPath, [CLI, 'convert', '--to', 'stored', '-o', other, set], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    const bytes = await privateBytes(page, 'chosen/tiny-copy/model.safetensors');
    assert.ok(Buffer.from(bytes).equals(readFileSync(other)));
    const config = await privateBytes(page, 'chosen/tiny-copy/config.json');
    assert.equal(Buffer.from(config).toString(), setFiles()['config.json']);
    assert.deepEqual(faults, []);
  });

  test('a missing shard: shown, refused, and converted in part only when asked', async () => {
    const part = join(folder.path, 'part');
    const { 'model-00002-of-00002.safetensors': _gone, ...files } = setFiles();
    put(part, files);
    const { page, faults } = await fresh();
    await dropPaths(page, part);
    assert.match(await textOf(page, 'verdict'), /model-00002-of-00002\.safetensors/);
    await press(page, 'target-bf16');
    await page.waitForSelector(byId('decision'), { visible: true });
    for (const decision of await page.$$(byId('decision'))) await (await decision.$(byId('decision-choice'))).click();
    await page.waitForSelector(byId('plan'), { visible: true, timeout: 20_000 });
    assert.deepEqual(faults, []);
  });

  test('variants side by side: the person chooses, and can go back', async () => {
    const variants = join(folder.path, 'variants');
    put(variants, {
      'x_bf16.safetensors': checkpointBytes([norm('n')]),
      'x_fp8.safetensors': checkpointBytes([fp8('w', 8, 8)]),
    });
    const { page, faults } = await fresh();
    const input = await page.waitForSelector(byId('folder-input'));
    await input.uploadFile(variants);
    assert.match(await textOf(page, 'chooser'), /Which one\?.*x_bf16\.safetensors.*x_fp8\.safetensors/);
    const rows = await page.$$(byId('choice-row'));
    assert.equal(rows.length, 2);
    await rows[1].click();
    await textOf(page, 'verdict');
    await press(page, 'other-choices');
    await (await page.waitForSelector(byId('choice-row'))).click();
    assert.match(await textOf(page, 'verdict'), /Sound/);
    assert.deepEqual(faults, []);
  });

  test('a pipeline: each component, the sum, one of them opened; narrow too', async () => {
    const pipeline = join(folder.path, 'pipeline');
    const inside = Object.fromEntries(
      Object.entries(setFiles()).map(([name, content]) => [`transformer/${name}`, content]),
    );
    put(pipeline, {
      ...inside,
      'model_index.json': '{}',
      'vae/diffusion_pytorch_model.safetensors': checkpointBytes([norm('n')]),
    });
    const { page, faults } = await fresh({ width: 360, height: 740 });
    await dropPaths(page, pipeline);
    await textOf(page, 'pipeline');
    assert.equal((await page.$$(byId('component-row'))).length, 2);
    assert.match(await textOf(page, 'pipeline-sum'), /Sum(?:5,128)?5\.63 kB/);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(over <= 0, `${over} px wider than the window`);
    await (await page.$(`${byId('component-row')} button`)).click();
    assert.match(await textOf(page, 'set'), /2 of 2 shards/);
    await press(page, 'other-choices');
    await textOf(page, 'chooser');
    assert.deepEqual(faults, []);
  });

  test('loose files without an index: opened as one when the person says so', async () => {
    const loose = join(folder.path, 'loose');
    put(loose, {
      'a.safetensors': checkpointBytes([fp8('a.weight', 16, 16)]),
      'b.safetensors': checkpointBytes([scale('a.weight_scale', 0.5), norm('b.norm')]),
      'c.safetensors': checkpointBytes([norm('b.norm')]),
      'config.json': '{"model_type": "t"}',
    });
    const { page, faults } = await fresh({ width: 360, height: 740 });
    await chooseFiles(
      page,
      ...['a.safetensors', 'b.safetensors', 'c.safetensors', 'config.json'].map((name) => join(loose, name)),
    );
    await textOf(page, 'chooser');
    const openTogether = async (...indexes) => {
      await (await page.waitForSelector(`${byId('together')} button`)).click();
      await page.waitForSelector(byId('part'), { visible: true });
      const parts = await page.$$(byId('part'));
      for (const index of indexes) await parts[index].click();
      await shots(page, 'together');
      await press(page, 'open-together');
    };
    await openTogether(0, 1);
    assert.match(await textOf(page, 'verdict'), /Sound.*1 quantized weight/);
    // names that collide are refused
    await press(page, 'other-choices');
    await openTogether(1, 2);
    assert.match(await textOf(page, 'verdict'), /b\.norm stands in b\.safetensors and c\.safetensors.*duplicate_tensor/);
    assert.deepEqual(faults, []);
  });

  /** A pipeline whose components are a set and a file, with what stands around them. */
  function putPipeline(name, vae = checkpointBytes([norm('n')])) {
    const inside = Object.entries(setFiles()).map(([file, content]) => [`transformer/${file}`, content]);
    put(join(folder.path, name), {
      ...Object.fromEntries(inside),
      'model_index.json': '{"_class_name": "P", "transformer": ["d", "T"], "vae": ["d", "V"]}',
      'scheduler/scheduler_config.json': '{"a": 1}',
      'vae/config.json': '{"b": 2}',
      'vae/diffusion_pytorch_model.safetensors': vae,
    });
    return join(folder.path, name);
  }

  test('a whole pipeline in one go: the files that the command line writes', async () => {
    const pipeline = putPipeline('pipe');
    const { page, faults } = await fresh();
    await dropPaths(page, pipeline);
    await textOf(page, 'pipeline');
    await pickPrivateFolder(page);
    await press(page, 'target-bf16');
    assert.match(await textOf(page, 'plan-files'), /3 files/);
    await shots(page, 'pipeline-plan');
    await press(page, 'convert-button');
    await page.waitForSelector(byId('receipt'), { visible: true, timeout: 60_000 });
    await shots(page, 'pipeline-receipt');
    const other = join(folder.path, 'pipe-by-cli');
    const run = spawnSync(process.execPath, [CLI, 'convert', '--to', 'bf16', '-o', other, pipeline], {
      encoding: 'utf8',
    });
    assert.equal(run.status, 0, run.stderr);
    const names = readdirSync(other, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(other.length + 1))
      .sort();
    assert.ok(names.includes('scheduler/scheduler_config.json') && names.includes('vae/config.json'), `${names}`);
    assert.deepEqual(
      (await privateFiles(page)).map(({ name }) => name).sort(),
      names.map((name) => `chosen/pipe-bf16/${name}`),
    );
    for (const name of names) {
      const bytes = await privateBytes(page, `chosen/pipe-bf16/${name}`);
      assert.ok(Buffer.from(bytes).equals(readFileSync(join(other, name))), name);
    }
    assert.deepEqual(faults, []);
  });

  test('a pipeline that is cancelled leaves nothing, whatever was whole already', async () => {
    const side = 16_384;
    const big = { name: 'big.weight', dtype: 'F8_E4M3', shape: [side, side], data: Buffer.alloc(side * side, 0x38) };
    const pipeline = putPipeline('slow', checkpointBytes([big, scale('big.weight_scale', 0.5)]));
    const { page, faults } = await fresh({ width: 360, height: 740 });
    await dropPaths(page, pipeline);
    await textOf(page, 'pipeline');
    await pickPrivateFolder(page);
    await press(page, 'target-bf16');
    await textOf(page, 'plan');
    await press(page, 'convert-button');
    await page.waitForFunction(
      (selector) => /vae .*at work/.test(document.querySelector(selector)?.textContent ?? ''),
      { polling: 20 },
      byId('component-states'),
    );
    await shots(page, 'pipeline-running');
    await press(page, 'cancel-button');
    await page.waitForSelector('[role="alert"] ::-p-text(cancelled)', { timeout: 20_000 });
    assert.deepEqual(await privateFiles(page), []);
    assert.deepEqual(faults, []);
  });

  test('files without a checkpoint are named, each with why', async () => {
    const { page, faults } = await fresh();
    const none = join(folder.path, 'none');
    put(none, { 'a.bin': 'x', 'b.gguf': 'y' });
    await dropPaths(page, none);
    assert.match(await textOf(page, 'chooser'), /No checkpoint among these files.*a\.bin another format/);
    assert.deepEqual(faults, []);
  });
});
