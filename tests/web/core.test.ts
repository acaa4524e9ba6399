// The engine with the real core, in this process: what a conversion costs in memory and in reads.
import { beforeAll, expect, test, vi } from 'vitest';
import { loadCore } from '../../web/cli/core_loader';
import type { Core } from '../../web/engine/heap';
import { Checkpoint } from '../../web/engine/pipeline';
import type { ConvertOptions } from '../../web/engine/report';
import { MemorySink } from '../../web/engine/sink';
import { CountingSource, MemorySource } from '../../web/engine/source';
import { bf16Weight, fp8Weight, parseSafetensors, safetensors, scalar, type TestTensor } from './checkpoints';

const MIB = 1024 * 1024;
const OPTIONS: ConvertOptions = { to: 'bf16', others: 'keep', assume: {} };
let core: Core;

vi.setConfig({ testTimeout: 30_000 });

beforeAll(async () => {
  core = await loadCore(new URL('../../build/wasm-release/', import.meta.url));
}, 20_000);

async function convert(file: Uint8Array, options = OPTIONS) {
  const source = new CountingSource(new MemorySource('model.safetensors', file));
  const checkpoint = await Checkpoint.open(core, { sources: [source], sideFiles: [] });
  const inspectReads = source.reads;
  const sink = new MemorySink();
  const reply = await checkpoint.convert(options, sink, true);
  await checkpoint.close();
  const output = new Uint8Array(await sink.blob().arrayBuffer());
  return { source, inspectReads, reply, output };
}

test('the heap is as large after a conversion as before, and under 64 MiB', async () => {
  const small = safetensors({ 'a.weight': fp8Weight(64, 64), 'a.weight_scale': scalar(2) });
  await convert(small);
  const before = core.heapBytes;
  const weight = fp8Weight(4096, 2048);
  const { output } = await convert(safetensors({ 'a.weight': weight, 'a.weight_scale': scalar(0.011) }));
  expect(core.heapBytes).toBe(before);
  expect(core.heapBytes).toBeLessThanOrEqual(64 * MIB);
  const written = parseSafetensors(output).tensors.get('a.weight')?.bytes ?? new Uint8Array();
  expect(Buffer.compare(written, bf16Weight(weight, 0.011))).toBe(0);
});

test('transposing a weight of more than one tile stays under 64 MiB, and gives the memory back', async () => {
  const [inputs, outputs, groups] = [8192, 3208, 64];
  const words = (rows: number, columns: number): TestTensor => ({
    dtype: 'I32',
    shape: [rows, columns],
    bytes: new Uint8Array(rows * columns * 4).fill(0x21),
  });
  const scales = new Uint8Array(new Uint16Array(groups * outputs).fill(0x3c00).buffer); // 1.0
  const file = safetensors({
    'a.qweight': words(inputs, outputs / 8),
    'a.qzeros': words(groups, outputs / 8),
    'a.scales': { dtype: 'F16', shape: [groups, outputs], bytes: scales },
  });
  const first = await convert(file);
  const before = core.heapBytes;
  await convert(file);
  expect(core.heapBytes).toBe(before);
  expect(core.heapBytes).toBeLessThanOrEqual(64 * MIB);
  const written = parseSafetensors(first.output).tensors.get('a.weight');
  expect(written?.shape).toEqual([outputs, inputs]);
  expect(written?.bytes.every((byte) => byte === 0)).toBe(true); // every code is its zero point
});

test('many conversions leave the heap where it was', async () => {
  const file = safetensors({ 'a.weight': fp8Weight(512, 512), 'a.weight_scale': scalar(2) });
  await convert(file);
  const before = core.heapBytes;
  for (let round = 0; round < 20; round++) await convert(file);
  expect(core.heapBytes).toBe(before);
});

test('a thousand tiny tensors do not cost a thousand reads', async () => {
  const tensors: Record<string, TestTensor> = {};
  for (let at = 0; at < 1000; at++) {
    tensors[`layers.${at}.weight`] = fp8Weight(8, 8);
    tensors[`layers.${at}.weight_scale`] = scalar((at + 1) / 1000);
  }
  const { source, inspectReads, output } = await convert(safetensors(tensors));
  expect(parseSafetensors(output).tensors.size).toBe(1000);
  expect(inspectReads).toBeLessThanOrEqual(6);
  expect(source.reads).toBeLessThanOrEqual(20);
  expect(source.outstanding).toBe(0);
});

test('a header of 10 MB: 150,000 tensors in few reads, and at most five times its size more of the heap', async () => {
  const tensors: Record<string, TestTensor> = {};
  for (let at = 0; at < 75_000; at++) {
    tensors[`model.layers.${at}.mlp.down_proj.weight`] = fp8Weight(1, 8);
    tensors[`model.layers.${at}.mlp.down_proj.weight_scale`] = scalar((at + 1) / 75_000);
  }
  const file = safetensors(tensors);
  const headerBytes = Number(new DataView(file.buffer).getBigUint64(0, true));
  expect(headerBytes).toBeGreaterThan(8e6);
  // a core of its own: this heap would hide what others grow by
  const own = await loadCore(new URL('../../build/wasm-release/', import.meta.url));
  const source = new CountingSource(new MemorySource('model.safetensors', file));
  const checkpoint = await Checkpoint.open(own, { sources: [source], sideFiles: [] });
  const sink = new MemorySink();
  await checkpoint.convert(OPTIONS, sink, true);
  await checkpoint.close();
  const output = parseSafetensors(new Uint8Array(await sink.blob().arrayBuffer()));
  expect(output.tensors.size).toBe(75_000);
  expect(own.heapBytes).toBeLessThanOrEqual(64 * MIB + 5 * headerBytes);
  expect(source.reads).toBeLessThanOrEqual(100);
});

test('inspecting reads headers and small tensors only', async () => {
  const file = safetensors({ 'a.weight': fp8Weight(4096, 4096), 'a.weight_scale': scalar(0.5) });
  const source = new CountingSource(new MemorySource('model.safetensors', file));
  const checkpoint = await Checkpoint.open(core, { sources: [source], sideFiles: [] });
  expect(source.bytes).toBeLessThan(MIB);
  expect(checkpoint.report().verdict).toBe('sound');
  await checkpoint.close();
});

test('a second conversion of the same checkpoint, with other options, starts from the same state', async () => {
  const file = safetensors({ 'a.weight': fp8Weight(128, 128), 'a.weight_scale': scalar(0.5) });
  const checkpoint = await Checkpoint.open(core, { sources: [new MemorySource('m', file)], sideFiles: [] });
  const outputs: Uint8Array[] = [];
  for (const to of ['bf16', 'f16', 'bf16'] as const) {
    const sink = new MemorySink();
    await checkpoint.convert({ ...OPTIONS, to }, sink, true);
    outputs.push(new Uint8Array(await sink.blob().arrayBuffer()));
  }
  await checkpoint.close();
  const [first, second, third] = outputs.map((bytes) => Buffer.from(bytes).toString('latin1'));
  expect(third).toBe(first);
  expect(second).not.toBe(first);
});

test('a cancelled conversion can be started again', async () => {
  const file = safetensors({ 'a.weight': fp8Weight(2048, 2048), 'a.weight_scale': scalar(0.5) });
  const checkpoint = await Checkpoint.open(core, { sources: [new MemorySource('m', file)], sideFiles: [] });
  const stop = new AbortController();
  const onProgress = ({ phase }: { phase: string }): void => {
    if (phase === 'convert') stop.abort();
  };
  const cancelled = checkpoint.convert(OPTIONS, new MemorySink(), true, { signal: stop.signal, onProgress });
  await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' });
  const reply = await checkpoint.convert(OPTIONS, new MemorySink(), true);
  expect(reply).toMatchObject({ kind: 'converted', receipt: { verified: true } });
  await checkpoint.close();
});
