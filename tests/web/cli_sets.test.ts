// Sharded sets, variants and pipelines through the command line, with the real core. Needs `make build`.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Receipt, Report } from '../../web/engine/report';
import { bf16Weight, fp8Weight, parseSafetensors, safetensors, scalar, type TestTensor } from './checkpoints';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));
const NORM: TestTensor = { dtype: 'BF16', shape: [4], bytes: new Uint8Array([0, 0x3f, 0x80, 0x3f, 0, 0x40, 1, 2]) };
const A = fp8Weight(16, 32);
const B = fp8Weight(8, 8);

vi.setConfig({ testTimeout: 60_000 });

let root = '';
let folder = '';
let input = '';
let output = '';

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'weighbridge-sets-'));
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  input = join(folder, 'in');
  output = join(folder, 'out');
  mkdirSync(input);
});

function run(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync('node', [CLI, ...args], { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

function put(name: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(input, name)), { recursive: true });
  writeFileSync(join(input, name), content);
}

/** a in the first shard with its scale in the third, which therefore goes; b in the second. */
function putSet(prefix = ''): void {
  const shards: Record<string, TestTensor>[] = [
    { 'a.weight': A, 'a.norm': NORM },
    { 'b.weight': B, 'b.weight_scale': scalar(0.5) },
    { 'a.weight_scale': scalar(0.37) },
  ];
  const weight_map: Record<string, string> = {};
  for (const [at, tensors] of shards.entries()) {
    const name = `model-0000${at + 1}-of-00003.safetensors`;
    put(prefix + name, safetensors(tensors, { format: 'pt' }));
    for (const tensor of Object.keys(tensors)) weight_map[tensor] = name;
  }
  put(`${prefix}model.safetensors.index.json`, JSON.stringify({ metadata: { total_size: 592 }, weight_map }));
  put(`${prefix}config.json`, '{"model_type": "t", "rope_theta": 1.0, "quantization_config": {"quant_method": "fp8"}}');
}

function tensorsOf(path: string): Record<string, TestTensor> {
  const inside = path.endsWith('.safetensors')
    ? ['']
    : readdirSync(path).filter((name) => name.endsWith('.safetensors'));
  const all = inside.flatMap((name) => [...parseSafetensors(readFileSync(join(path, name))).tensors]);
  return Object.fromEntries(all.map(([name, row]) => [name, { ...row, bytes: Uint8Array.from(row.bytes) }]));
}

const WANTED = {
  'a.norm': NORM,
  'a.weight': { dtype: 'BF16', shape: [16, 32], bytes: bf16Weight(A, 0.37) },
  'b.weight': { dtype: 'BF16', shape: [8, 8], bytes: bf16Weight(B, 0.5) },
};

const convert = (...args: string[]) => run('convert', '--to', 'bf16', '-o', output, ...args);

test('a set is inspected whole, by its folder or its index', () => {
  putSet();
  for (const path of [input, join(input, 'model.safetensors.index.json')]) {
    const { code, out } = run('inspect', '--json', path);
    const report = JSON.parse(out) as Report;
    expect(code).toBe(0);
    expect(report).toMatchObject({ verdict: 'sound', parameters: 580, warnings: [], set: { shards: 3, opened: 3 } });
  }
  expect(run('inspect', input).out).toContain('shards  3 of 3 opened');
  expect(run('ram', input).out).toContain('model-00001-of-00003.safetensors, model-00002-of-00003.safetensors');
});

test('sharded to sharded: same borders, an empty shard dropped, index and config true, the rest carried along', () => {
  putSet();
  put('tokenizer.json', '{"t": 1}');
  put('hf_quant_config.json', '{"quantization": {"quant_algo": "FP8"}}');
  put('notes.bin', 'x');
  const { code, out, err } = convert('--json', input);
  expect([code, err]).toEqual([0, '']);
  expect(readdirSync(folder).sort()).toEqual(['in', 'out']);
  expect(readdirSync(output).sort()).toEqual([
    'config.json',
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
    'tokenizer.json',
  ]);
  expect(tensorsOf(output)).toEqual(WANTED);
  expect(JSON.parse(readFileSync(join(output, 'model.safetensors.index.json'), 'utf8'))).toEqual({
    metadata: { total_size: 1024 + 128 + 8 },
    weight_map: {
      'a.norm': 'model-00001-of-00002.safetensors',
      'a.weight': 'model-00001-of-00002.safetensors',
      'b.weight': 'model-00002-of-00002.safetensors',
    },
  });
  expect(readFileSync(join(output, 'config.json'), 'utf8')).toBe(
    '{"model_type": "t", "rope_theta": 1.0, "torch_dtype": "bfloat16"}',
  );
  const receipt = JSON.parse(out) as Receipt;
  expect(receipt.files.map(({ name, bytes }) => [name, readFileSync(join(output, name)).length === bytes])).toEqual([
    ['model-00001-of-00002.safetensors', true],
    ['model-00002-of-00002.safetensors', true],
  ]);
  expect(receipt.verified).toBe(true);
  expect(receipt.beside?.find(({ name }) => name === 'config.json')?.changes).toEqual([
    'quantization_config removed',
    'torch_dtype added: bfloat16',
  ]);
  expect(run('inspect', output).code).toBe(0);
  expect(run('verify', '--from', input, '--to', 'bf16', output).code).toBe(0);
  writeFileSync(join(output, 'config.json'), '{}');
  expect(run('verify', '--from', input, '--to', 'bf16', output).err).toContain('config.json');
});

test('sharded to one file, and the note about the config that stays behind', () => {
  putSet();
  output = join(folder, 'out.safetensors');
  const { code, out } = convert(input);
  expect(code).toBe(0);
  expect(out).toContain('config.json still describes the quantization');
  expect(tensorsOf(output)).toEqual(WANTED);
  expect(run('verify', '--from', input, '--to', 'bf16', output).code).toBe(0);
});

test('one file to shards of a size, which tensors are never cut for', () => {
  put(
    'krea.safetensors',
    safetensors({
      'a.weight': A,
      'a.weight_scale': scalar(0.37),
      'a.norm': NORM,
      'b.weight': B,
      'b.weight_scale': scalar(0.5),
    }),
  );
  expect(convert('--shard-size', '140', join(input, 'krea.safetensors')).code).toBe(0);
  expect(readdirSync(output).sort()).toEqual([
    'krea-00001-of-00002.safetensors',
    'krea-00002-of-00002.safetensors',
    'krea.safetensors.index.json',
  ]);
  expect(tensorsOf(output)).toEqual(WANTED);
  rmSync(output, { recursive: true });
  expect(convert('--shard-size', '1GB', join(input, 'krea.safetensors')).code).toBe(0);
  expect(readdirSync(output)).toEqual(['krea.safetensors']);
  output = join(folder, 'one.safetensors');
  expect(convert('--shard-size', '1GB', join(input, 'krea.safetensors')).err).toContain('invalid_option');
});

test('one shard alone names the file that holds its scale, and is not cast raw', () => {
  putSet();
  output = join(folder, 'one.safetensors');
  const { code, out } = convert(join(input, 'model-00001-of-00003.safetensors'));
  expect(code).toBe(3);
  expect(out).toContain('`a.weight_scale` is in model-00003-of-00003.safetensors, which is not open');
  expect(existsSync(output)).toBe(false);
});

test('several files given by hand are one checkpoint', () => {
  putSet();
  const [one, , three] = [1, 2, 3].map((number) => join(input, `model-0000${number}-of-00003.safetensors`));
  const { code, out } = run('inspect', '--json', one ?? '', three ?? '');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ pair_counts: { ok: 1 }, set: { whole: false, opened: 2 } });
  expect(run('inspect', one ?? '', join(folder, 'none')).err).toContain('not_found');
  expect(run('inspect', input, one ?? '').code).toBe(1);
});

test('a missing shard: refused by name, unless a part is wanted', () => {
  putSet();
  rmSync(join(input, 'model-00002-of-00003.safetensors'));
  const refused = convert(input);
  expect([refused.code, readdirSync(folder)]).toEqual([1, ['in']]);
  expect(refused.err).toContain('model-00002-of-00003.safetensors');
  const partial = convert('--json', '--assume', 'shard_missing=partial', input);
  expect(partial.code).toBe(0);
  expect((JSON.parse(partial.out) as Receipt).assumed).toEqual([
    { subject: 'shard_missing', choice: 'partial', tensors: 2 },
  ]);
  expect(readdirSync(output).sort()).toEqual([
    'config.json',
    'model-00001-of-00001.safetensors',
    'model.safetensors.index.json',
  ]);
});

test('an output folder that is not empty is refused before any work', () => {
  putSet();
  mkdirSync(output);
  writeFileSync(join(output, 'mine'), '');
  expect(convert(input).err).toContain('output_exists');
  expect(readdirSync(output)).toEqual(['mine']);
});

test('an interrupted run leaves nothing that looks finished', async () => {
  putSet();
  cpSync(input, join(folder, 'big'), { recursive: true });
  const side = 16384;
  const big = safetensors({
    'big.weight': { dtype: 'F8_E4M3', shape: [side, side], bytes: new Uint8Array(side * side).fill(0x38) },
    'big.weight_scale': scalar(1),
  });
  writeFileSync(join(folder, 'big', 'model-00003-of-00003.safetensors'), big);
  const index = {
    weight_map: {
      'a.weight': 'model-00001-of-00003.safetensors',
      'b.weight': 'model-00002-of-00003.safetensors',
      'big.weight': 'model-00003-of-00003.safetensors',
    },
  };
  writeFileSync(join(folder, 'big', 'model.safetensors.index.json'), JSON.stringify(index));
  const stop = async (signal: NodeJS.Signals): Promise<string[]> => {
    const child = spawn('node', [
      CLI,
      'convert',
      '--to',
      'bf16',
      '--assume',
      'scale_missing=raw',
      '-o',
      output,
      join(folder, 'big'),
    ]);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    const begun = (): boolean =>
      readdirSync(folder).some(
        (name) => name.endsWith('.partial') && readdirSync(join(folder, name)).some((file) => file.includes('00003')),
      );
    while (child.exitCode === null && !begun()) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill(signal);
    await ended;
    return readdirSync(folder).filter((name) => name !== 'in' && name !== 'big');
  };
  // What is left may be gone on with, but must not have the output's name.
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const left = await stop(signal);
    expect(left.filter((name) => !/^out\.\d+\.partial(\.journal)?$/.test(name))).toEqual([]);
  }
});

test('variants side by side are named with an error until one is chosen', () => {
  putSet('fp8/');
  put('bf16/model.safetensors', safetensors({ 'a.norm': NORM }));
  const asked = run('inspect', input);
  expect(asked.code).toBe(1);
  expect(asked.err).toContain('fp8/model.safetensors.index.json, bf16/model.safetensors [choice_needed]');
  expect(run('inspect', '--file', 'bf16', input).out).toContain('nothing is quantized');
  expect(run('inspect', '--file', 'fp8', input).out).toContain('2 quantized weights');
  expect(run('inspect', '--file', 'fp4', input).err).toContain('not_found');
});

test('a stray copy beside a set is named and not read', () => {
  putSet();
  put('consolidated.safetensors', safetensors({ 'a.norm': NORM }));
  const { code, out } = run('inspect', '--json', input);
  expect(code).toBe(0);
  expect((JSON.parse(out) as Report).warnings).toEqual([
    { code: 'beside_set', where: 'consolidated.safetensors', message: 'not part of the set that the index describes' },
  ]);
  expect(run('inspect', '--file', 'consolidated.safetensors', input).code).toBe(0);
});

test('a pipeline: each component, the sum, and all of it converted', () => {
  put(
    'model_index.json',
    '{"_class_name":"P","transformer":["diffusers","T"],"vae":["diffusers","V"],"tokenizer":["transformers","K"]}',
  );
  putSet('transformer/');
  put('vae/diffusion_pytorch_model.safetensors', safetensors({ 'a.norm': NORM }));
  put('tokenizer/vocab.json', '{}');
  const inspected = JSON.parse(run('inspect', '--json', input).out);
  expect(inspected.sum).toMatchObject({ parameters: 584, tensor_count: 6, files: 4 });
  expect(inspected.components.map(({ id }: { id: string }) => id)).toEqual([
    'transformer/model.safetensors.index.json',
    'vae/diffusion_pytorch_model.safetensors',
  ]);
  const total = (of: (report: Report) => number): number =>
    inspected.components.reduce((sum: number, { report }: { report: Report }) => sum + of(report), 0);
  for (const [at, { bytes }] of inspected.sum.ram.per_dtype.entries())
    expect(bytes).toBe(total(({ ram }) => ram.per_dtype[at]?.bytes ?? 0));
  expect(run('inspect', input).out).toMatch(/sum +584/);
  expect(run('ram', input).out).toContain('All components in memory at once');
  expect(run('inspect', '--file', 'vae', input).code).toBe(0);

  const { code, err } = convert(input);
  expect([code, err]).toEqual([0, '']);
  expect(readdirSync(folder).sort()).toEqual(['in', 'out']);
  expect(readdirSync(output).sort()).toEqual(['model_index.json', 'tokenizer', 'transformer', 'vae']);
  expect(readdirSync(join(output, 'transformer')).sort()).toEqual([
    'config.json',
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
  ]);
  expect(tensorsOf(join(output, 'transformer'))).toEqual(WANTED);
  expect(readdirSync(join(output, 'vae'))).toEqual(['diffusion_pytorch_model.safetensors']);

  rmSync(output, { recursive: true });
  put('vae/diffusion_pytorch_model.safetensors', 'no checkpoint at all, only words');
  expect(convert(input).code).toBe(1);
  expect(readdirSync(folder)).toEqual(['in']);
});

test('an answer goes to the components that ask, and must be asked for by one', () => {
  put('model_index.json', '{}');
  put('vae/diffusion_pytorch_model.safetensors', safetensors({ 'a.norm': NORM }));
  const weights = { 'a.weight': fp8Weight(8, 16), 'a.weight_scale': scalar(2), 'b.weight': fp8Weight(8, 16) };
  put('transformer/model.safetensors', safetensors(weights));
  expect(convert(input).code).toBe(3);
  expect(readdirSync(folder)).toEqual(['in']);
  expect(convert(input, '--assume', 'scale_missing=raw', '--assume', 'a.norm=raw').err).toContain('unknown_assumption');
  expect(readdirSync(folder)).toEqual(['in']);
  const { code, err } = convert(input, '--assume', 'scale_missing=raw');
  expect([code, err]).toEqual([0, '']);
  expect(tensorsOf(join(output, 'transformer', 'model.safetensors'))).toHaveProperty(['b.weight']);
});

test('as stored: a set joined to one file and cut again, scales and all, its config untouched', () => {
  putSet();
  const config = readFileSync(join(input, 'config.json'), 'utf8');
  const one = join(folder, 'one.safetensors');
  expect(run('convert', '--to', 'stored', '-o', one, input).out).toContain('as stored');
  expect(Object.keys(tensorsOf(one))).toEqual(['a.weight_scale', 'b.weight_scale', 'a.norm', 'a.weight', 'b.weight']);
  expect(run('verify', '--from', input, '--to', 'stored', one).code).toBe(0);
  const { code, err } = run('convert', '--to', 'stored', '-o', output, input);
  expect([code, err]).toEqual([0, '']);
  expect(readFileSync(join(output, 'config.json'), 'utf8')).toBe(config);
  expect(tensorsOf(output)).toEqual(tensorsOf(one));
  expect(readdirSync(output).filter((name) => name.endsWith('.safetensors'))).toHaveLength(3);
});
