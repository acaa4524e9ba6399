// "How much RAM will it take?" on the page, in stock Chromium: machines, verdicts, what is remembered, who reads the
// file correctly; with the keyboard, at 360 px, and checked by axe in both colour schemes.
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { bf16Bytes, checkpointBytes, f32Bytes } from '../../scripts/lib/checkpoint.mjs';
import { byId, bytesOf, chooseFiles, openPage, ROOT, scratchFolder, textOf } from './browser.mjs';

const EXAMPLE = join(ROOT, 'build/examples/krea-2.safetensors');
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A Krea-2 of 12.2e9 weights whose file is a hole behind its header: 224 layers, one scale each, no markers. */
function writeKrea2(path) {
  const layers = 224;
  const shape = [8866, 6144];
  const header = { __metadata__: { format: 'pt' } };
  let at = 0;
  const add = (name, dtype, dimensions, bytes) => {
    header[name] = { dtype, shape: dimensions, data_offsets: [at, at + bytes] };
    at += bytes;
  };
  const scales = Buffer.alloc(4 * layers);
  for (let i = 0; i < layers; i++) {
    add(`blocks.${i}.attn.wq.weight_scale`, 'F32', [], 4);
    scales.writeFloatLE(0.001, 4 * i);
  }
  add('txtfusion.projector.weight', 'BF16', [64], 128);
  for (let i = 0; i < layers; i++) add(`blocks.${i}.attn.wq.weight`, 'F8_E4M3', shape, shape[0] * shape[1]);
  const text = JSON.stringify(header);
  const padded = Buffer.from(text + ' '.repeat((8 - (text.length % 8)) % 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const file = openSync(path, 'w');
  writeSync(file, Buffer.concat([length, padded, scales]));
  ftruncateSync(file, 8 + padded.length + at);
  closeSync(file);
}

describe('memory and readers', () => {
  let folder;
  let krea2;
  let opened;
  const fresh = async (viewport) => {
    opened = await openPage(folder.path, viewport);
    return opened;
  };

  before(() => {
    folder = scratchFolder();
    krea2 = join(folder.path, 'krea2_fp8_scaled.safetensors');
    writeKrea2(krea2);
  });
  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });
  after(() => folder.clean());

  const fits = (page) =>
    page.$$eval(byId('loader'), (rows) =>
      Object.fromEntries(
        rows.map((row) => [row.dataset.loader, row.querySelector('[data-testid="fit"]')?.dataset.fit ?? 'not judged']),
      ),
    );
  const choose = async (page, preset) => {
    await page.waitForSelector(byId('loader'));
    await page.select(byId('machine-preset'), preset);
    await page.waitForSelector(byId('fit'));
  };

  test('a 12 GB file on a 32 GB PC: what fits, what does not, and why; remembered over a reload', async () => {
    const { page, faults } = await fresh();
    await chooseFiles(page, krea2);
    assert.match(await textOf(page, 'memory-answer'), /Choose your machine/);
    assert.deepEqual(new Set(Object.values(await fits(page))), new Set(['not judged']));

    await choose(page, 'windows-32');
    const verdicts = await fits(page);
    assert.equal(
      verdicts.invokeai_float32,
      'will_be_killed',
      '49 GB of float32 do not fit 32 GiB and a page file of 8',
    );
    assert.equal(verdicts.invokeai_bf16, 'fits_if_closed');
    assert.equal(verdicts.weighbridge, 'fits');
    assert.match(await textOf(page, 'memory-answer'), /InvokeAI after the float32 fix/);
    assert.ok(
      (await page.$$(byId('reads-wrong'))).length > 0,
      'ComfyUI finds no marker in this file, and its rows say so',
    );
    assert.match(await textOf(page, 'memory-help'), /InvokeAI after the float32 fix.*22\.\d GiB less/);
    assert.equal(await bytesOf(page, 'stage-f32'), 48_807_542_912);

    await page.select(byId('machine-loader'), 'invokeai_float32');
    await page.waitForFunction(() =>
      /Needs 45\.\d GiB/.test(document.querySelector('[data-testid="memory-answer"]').textContent),
    );
    assert.match(await textOf(page, 'memory-answer'), /float32/);

    await page.reload();
    await chooseFiles(page, krea2);
    await page.waitForSelector(byId('fit'));
    assert.equal(await page.$eval(byId('machine-preset'), (field) => field.value), 'windows-32');
    assert.equal(await page.$eval(byId('machine-loader'), (field) => field.value), 'invokeai_float32');
    assert.deepEqual(await fits(page), verdicts);
    assert.deepEqual(faults, []);
  });

  test('every number can be set by itself, with the keyboard; a Mac shares its memory; forgetting forgets', async () => {
    const { page, faults } = await fresh();
    await chooseFiles(page, EXAMPLE);
    await choose(page, 'linux-32');
    await page.focus(byId('machine-ram'));
    await page.keyboard.down('Control');
    await page.keyboard.press('a');
    await page.keyboard.up('Control');
    await page.keyboard.type('64');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight');
    assert.equal(await page.$eval(byId('machine-ram'), (field) => field.value), '68');
    assert.equal(await page.$eval(byId('machine-preset'), (field) => field.value), 'own');
    await page.select(byId('machine-kind'), 'unified');
    await page.waitForFunction((selector) => document.querySelector(selector) === null, {}, byId('machine-vram'));
    await page.$eval('.machine-forget', (button) => button.click());
    await page.waitForFunction((selector) => document.querySelector(selector) === null, {}, byId('machine-ram'));
    assert.equal(await page.evaluate(() => localStorage.length), 0);
    assert.deepEqual(faults, []);
  });

  test('works where storage is refused', async () => {
    const { page, faults, url } = await fresh();
    await page.evaluateOnNewDocument(() => {
      Object.defineProperty(window, 'localStorage', {
        get: () => {
          throw new DOMException('denied', 'SecurityError');
        },
      });
    });
    await page.goto(url);
    await chooseFiles(page, EXAMPLE);
    await choose(page, 'windows-16');
    assert.equal((await fits(page)).weighbridge, 'fits');
    assert.deepEqual(faults, []);
  });

  test('readers: right, wrong and what happens, with evidence and source; links leave only when followed', async () => {
    const { page, faults } = await fresh();
    await chooseFiles(page, krea2);
    assert.match(await textOf(page, 'readers-summary'), /Right: InvokeAI\..*Wrong: ComfyUI;/);
    const rows = await page.$$eval(byId('reader'), (all) =>
      Object.fromEntries(all.map((row) => [row.dataset.reader, [row.dataset.answer, row.textContent]])),
    );
    assert.equal(rows.invokeai[0], 'reads_right');
    assert.equal(rows.comfyui[0], 'reads_wrong');
    assert.match(rows.comfyui[1], /Scale ignored: noise.*without a marker/s);
    assert.match(rows.comfyui[1], /blocks\.0\.attn\.wq\.weight/, 'an example is named');
    const links = await page.$$eval(`${byId('reader')} a`, (all) => all.map(({ href, rel }) => [href, rel]));
    assert.ok(links.length > 0 && links.every(([href, rel]) => href.startsWith('https://') && rel === 'noreferrer'));
    assert.deepEqual(faults, []);
  });

  test('a language model: the KV cache of a context stands apart, with its formula', async () => {
    const { page, faults } = await fresh();
    const root = join(folder.path, 'llm');
    mkdirSync(root);
    const weight = (name) => ({ name, dtype: 'BF16', shape: [4], data: bf16Bytes([1, 2, 3, 4]) });
    const model = join(root, 'model.safetensors');
    const config = join(root, 'config.json');
    writeFileSync(
      model,
      checkpointBytes([weight('model.layers.0.self_attn.q_proj.weight'), weight('lm_head.weight')], { format: 'pt' }),
    );
    // DeepSeek-V3's numbers
    writeFileSync(
      config,
      JSON.stringify({
        architectures: ['DeepseekV3ForCausalLM'],
        num_hidden_layers: 61,
        num_attention_heads: 128,
        num_key_value_heads: 128,
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        hidden_size: 7168,
        max_position_embeddings: 163_840,
      }),
    );
    await chooseFiles(page, model, config);
    await page.waitForSelector(byId('machine-context'));
    await page.type(byId('machine-context'), '163840');
    const at = `${byId('kv-cache')}[data-bytes="11513364480"]`;
    await page.waitForSelector(at, { timeout: 20_000 });
    assert.match(await textOf(page, 'kv-cache'), /10\.7 GiB.*61 layers of latent attention/);
    assert.deepEqual(faults, []);
  });

  test('a pipeline: the sum, offloaded, and one component after the other', async () => {
    const { page, faults } = await fresh();
    const fp8 = (name, rows) => [
      { name: `${name}.weight`, dtype: 'F8_E4M3', shape: [rows, 64], data: Buffer.alloc(rows * 64, 0x38) },
      { name: `${name}.weight_scale`, dtype: 'F32', shape: [1], data: f32Bytes([0.5]) },
    ];
    const root = join(folder.path, 'pipe');
    for (const [part, name, rows] of [
      ['transformer', 'transformer_blocks.0.attn', 512],
      ['vae', 'decoder.conv_in', 64],
    ]) {
      mkdirSync(join(root, part), { recursive: true });
      writeFileSync(
        join(root, part, 'diffusion_pytorch_model.safetensors'),
        checkpointBytes(fp8(name, rows), { format: 'pt' }),
      );
      writeFileSync(join(root, part, 'config.json'), '{}');
    }
    writeFileSync(join(root, 'model_index.json'), '{"_class_name":"P","transformer":["d","T"],"vae":["d","A"]}');
    const input = await page.waitForSelector(byId('folder-input'));
    await input.uploadFile(root);
    await page.waitForSelector(byId('machine-arrangement'), { timeout: 20_000 });
    const choices = await page.$$eval(`${byId('machine-arrangement')} option`, (all) => all.map(({ value }) => value));
    assert.deepEqual(choices.sort(), ['in_turn', 'offload', 'together']);
    const needs = async (arrangement) => {
      await page.select(byId('machine-arrangement'), arrangement);
      return page.$$eval(byId('loader'), (rows) => rows.map(({ textContent }) => textContent).join('\n'));
    };
    assert.notEqual(await needs('in_turn'), await needs('together'));
    assert.deepEqual(faults, []);
  });

  for (const scheme of ['light', 'dark']) {
    for (const width of [1280, 360]) {
      test(`axe finds nothing in these sections, and nothing sticks out: ${scheme}, ${width} px`, async () => {
        const { page, faults } = await fresh({ width, height: 900 });
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
        await chooseFiles(page, krea2);
        await choose(page, 'windows-32');
        for (const fold of await page.$$('[data-view="memory"] .fold-button, [data-view="readers"] .fold-button')) {
          await fold.evaluate((button) => button.click());
        }
        const session = await page.createCDPSession();
        await session.send('Page.setBypassCSP', { enabled: true });
        await page.evaluate(AXE);
        const violations = await page.evaluate(async () => {
          const result = await window.axe.run({ include: [['[data-view="memory"]'], ['[data-view="readers"]']] });
          return result.violations.map(
            ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
          );
        });
        assert.deepEqual(violations, []);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
        assert.deepEqual(faults, []);
      });
    }
  }
});
