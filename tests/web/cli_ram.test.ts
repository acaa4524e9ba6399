// `ram` on checkpoints of the shapes of well-known models (headers only), with the real core. Needs `make build`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { LoaderApplies, RamReply } from '../../web/engine/ram_report';
import type { Report } from '../../web/engine/report';
import { formatFileGb, formatMemoryGb } from '../../web/engine/units';
import { type RamFixtureName, writeRamFixture } from '../support/ram_fixtures.mjs';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));

vi.setConfig({ testTimeout: 60_000 });

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weighbridge-ram-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function ram(name: RamFixtureName, ...words: string[]): { code: number | null; out: string; err: string } {
  const path = writeRamFixture(name, join(folder, name));
  const { status, stdout, stderr } = spawnSync('node', [CLI, 'ram', path, ...words], { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

function weigh(name: RamFixtureName, ...words: string[]): Report & { memory: RamReply } {
  const { code, out, err } = ram(name, '--json', ...words);
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Report & { memory: RamReply };
}

function row({ memory }: { memory: RamReply }, loader: string): LoaderApplies {
  const found = memory.loaders.find((each) => each.loader === loader);
  if (found?.applies !== true) throw new Error(`${loader} does not apply: ${found?.reason}`);
  return found;
}

function term({ stages }: LoaderApplies, stage: string, name: string): number | undefined {
  return stages.find((each) => each.stage === stage)?.terms.find((each) => each.name === name)?.bytes;
}

test('Krea-2: the file, float32 and bf16 are 12, 49 and 25 GB, and the source still stands beside them', () => {
  const report = weigh('krea2');
  expect(report.ram.facts).toMatchObject({ kind: 'diffusion_model', family: 'krea2' });
  const { file_read_bytes, dequantized_f32_bytes, dequantized_bf16_bytes, ...peaks } = report.ram.load_stages;
  expect(formatFileGb(file_read_bytes)).toBe('12 GB');
  expect(formatMemoryGb(dequantized_f32_bytes)).toBe('49 GB');
  expect(formatMemoryGb(dequantized_bf16_bytes)).toBe('25 GB');
  expect(formatMemoryGb(peaks.peak_f32_bytes)).toBe('61 GB');
  expect(formatMemoryGb(peaks.peak_bf16_bytes)).toBe('37 GB');
  // The largest weight has 6144 x 16384 elements; before the fix it stands there once more as float32.
  const largest = 6144 * 16384;
  // Of the file only the quantized weights and their scales were read by then.
  const unread = report.ram.facts.sums.others_bytes ?? 0;
  expect(row(report, 'invokeai_float32').peak_bytes).toBe(peaks.peak_f32_bytes - unread + 4 * largest);
  expect(row(report, 'invokeai_bf16').peak_bytes).toBeGreaterThan(peaks.peak_bf16_bytes);
  expect(report.memory.loaders.find(({ loader }) => loader === 'vllm')).toMatchObject({ applies: false });
});

test('FLUX.2 9B is 36 GB in float32 and 17 GiB in bf16', () => {
  const report = weigh('flux2');
  const { dequantized_f32_bytes, dequantized_bf16_bytes } = report.ram.load_stages;
  expect(Math.round(dequantized_f32_bytes / 1e9)).toBe(36);
  expect(Math.round(dequantized_bf16_bytes / 2 ** 30)).toBe(17);
  expect(row(report, 'invokeai_in_place').steady_bytes).toBe(dequantized_bf16_bytes);
  expect(report.memory.loaders.find(({ loader }) => loader === 'invokeai_bf16')).toMatchObject({
    applies: false,
    reason: 'it is the loader of another family (krea2 z_image); this is flux2',
  });
});

test('Qwen-Image 20B is 80 GB in float32 and a Qwen3-VL encoder 8.9 against 4.4 GB', () => {
  const image = weigh('qwen_image', '--dtype', 'float32');
  expect(image.ram.load_stages.dequantized_f32_bytes / 1e9).toBeCloseTo(81.6, 1);
  expect(row(image, 'invokeai_in_place').steady_bytes).toBe(
    image.ram.per_dtype.find(({ dtype }) => dtype === 'f32')?.bytes,
  );
  const encoder = weigh('qwen3_vl');
  expect(encoder.ram.load_stages.dequantized_bf16_bytes / 1e9).toBeCloseTo(8.9, 1);
  expect(encoder.ram.load_stages.file_read_bytes / 1e9).toBeCloseTo(4.4, 1);
});

test('a machine decides, and what decides is said', () => {
  const machine = ['--ram', '32GB', '--free', '22GB', '--swap', '8GB', '--vram', '16GB'];
  const report = weigh('krea2', ...machine);
  expect(row(report, 'invokeai_float32').verdict).toMatchObject({
    fit: 'will_be_killed',
    pool: 'ram',
    stage_name: 'dequantize',
    term: 'float32_weights',
    have_bytes: 40e9,
  });
  expect(row(report, 'invokeai_bf16').verdict?.fit).toBe('fits_if_closed');
  expect(row(report, 'comfyui_comfy_quant').verdict?.fit).toBe('fits');
  expect(report.memory.help?.loader).toBe('invokeai_float32');
  expect(report.memory.help?.rows[0]?.verdict?.fit).toBe('fits');
  // The mapping counts on Windows: 2F of commit against what is free.
  const windows = row(weigh('krea2', '--ram', '32GB', '--free', '22GB', '--kind', 'windows'), 'comfyui_legacy');
  expect(windows.verdict).toMatchObject({ fit: 'fits_if_closed', pool: 'commit', need_bytes: 2 * report.data_bytes });
  const { code, out } = ram('krea2', ...machine, '--loader', 'invokeai_float32');
  expect(code).toBe(0);
  expect(out).toMatch(/invokeai_float32 .*will be killed: 49 GB of 40 GB RAM \(dequantize, float32_weights\)/);
  expect(out).toMatch(/dequantize \(peak\) +file +file_pages +12,155,093,/);
  expect(out).toMatch(/convert to bf16 first/);
});

test('a language model: weights and the cache are lines of their own', () => {
  const report = weigh('llama', '--context', '8192');
  expect(report.memory.kv_cache).toMatchObject({ known: true, bytes: 2 ** 30 });
  expect(term(row(report, 'vllm'), 'in_use', 'kv_cache')).toBe(2 ** 30);
  expect(term(row(report, 'vllm'), 'in_use', 'device_weights')).toBe(report.data_bytes);
  expect(row(weigh('llama', '--ram', '64GB', '--vram', '0'), 'transformers').device_peak_bytes).toBe(0);
  const { out } = ram('llama', '--context', '8192');
  expect(out).toContain('32 layers x 8192 tokens x 2 (keys and values) x 8 heads x 128 x 2 bytes');
  expect(ram('qwen3_vl', '--context', '8192').out).toContain('unknown: there is no config.json');
});

test('a loader that does not exist is refused by its name', () => {
  const { code, err } = ram('llama', '--loader', 'nobody');
  expect([code, err]).toEqual([1, expect.stringContaining('there is no loader `nobody`')]);
});
