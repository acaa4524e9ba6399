// The command line as users start it, with the real core, on small real files. Needs `make build`.
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Receipt, Report } from '../../web/engine/report';
import { bf16Weight, fp8Weight, parseSafetensors, safetensors, scalar, type TestTensor } from './checkpoints';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));
const WEIGHT = fp8Weight(16, 32);
const NORM: TestTensor = { dtype: 'BF16', shape: [4], bytes: new Uint8Array([0, 0x3f, 0x80, 0x3f, 0, 0x40, 1, 2]) };
const SOUND = safetensors(
  { 'a.norm': NORM, 'a.weight': WEIGHT, 'a.weight_scale': scalar(0.37) },
  { format: 'pt', title: 'a \u001b[31mred\u001b[0m title' },
);

vi.setConfig({ testTimeout: 30_000 });

let root = '';
let folder = '';
let input = '';
let output = '';

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'weighbridge-cli-'));
});
afterAll(() => rmSync(root, { recursive: true }));
beforeEach(() => {
  folder = mkdtempSync(join(root, 'case-'));
  mkdirSync(join(folder, 'in'));
  input = join(folder, 'in', 'model.safetensors');
  output = join(folder, 'out.safetensors');
  writeFileSync(input, SOUND);
});

function run(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync('node', [CLI, ...args], { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

function convertTo(to: string, ...more: string[]) {
  return run('convert', '--to', to, '-o', output, input, ...more);
}

test('inspect --json is the whole report with its tensors and pairs', () => {
  const { code, out, err } = run('inspect', '--json', input);
  expect([code, err]).toEqual([0, '']);
  const report = JSON.parse(out) as Report;
  expect(report).toMatchObject({ format: 'weighbridge.report', verdict: 'sound', tensor_count: 3, parameters: 516 });
  expect(report.tensors?.map(({ name }) => name).sort()).toEqual(['a.norm', 'a.weight', 'a.weight_scale']);
  expect(report.pairs).toHaveLength(1);
  expect(report.pairs?.[0]).toMatchObject({ weight: 'a.weight', granularity: 'per_tensor', state: 'ok' });
  expect(report.pairs?.[0]?.scales[0]?.value).toBeCloseTo(0.37, 6);
  expect(Array.isArray(report.warnings)).toBe(true);
});

test('inspect for people names the pairs and keeps escape sequences away from the terminal', () => {
  const { code, out } = run('inspect', input, '--tensors', '--pairs');
  expect(code).toBe(0);
  expect(out).toContain('a.weight_scale');
  expect(out).toContain('F8_E4M3');
  expect(out).toContain('red');
  expect(out).not.toContain('\u001b');
});

test('ram for people and for programs', () => {
  const { code, out } = run('ram', input);
  expect(code).toBe(0);
  expect(out).toContain('dequantized straight to bf16');
  const json = run('ram', '--json', input);
  const { ram } = JSON.parse(json.out) as Report;
  expect(ram.load_stages.file_read_bytes).toBeGreaterThan(0);
  expect(ram.per_dtype.map(({ dtype }) => dtype)).toEqual(['as_stored', 'bf16', 'f16', 'f32', 'fp8']);
});

test('convert writes the right bytes, and nothing else', () => {
  const { code, out, err } = convertTo('bf16', '--json');
  expect([code, err]).toEqual([0, '']);
  const receipt = JSON.parse(out) as Receipt;
  expect(receipt).toMatchObject({ recipe: 'f32-mul-rne', to: 'bf16', verified: true, dequantized: 1, copied: 1 });
  const file = readFileSync(output);
  expect(file.length).toBe(receipt.output_bytes);
  const { tensors, metadata } = parseSafetensors(file);
  expect([...tensors.keys()].sort()).toEqual(['a.norm', 'a.weight']);
  expect(tensors.get('a.weight')).toMatchObject({ dtype: 'BF16', shape: [16, 32] });
  expect(Buffer.compare(tensors.get('a.weight')?.bytes ?? new Uint8Array(), bf16Weight(WEIGHT, 0.37))).toBe(0);
  expect(Buffer.compare(tensors.get('a.norm')?.bytes ?? new Uint8Array(), NORM.bytes)).toBe(0);
  expect(metadata.format).toBe('pt');
  expect(readdirSync(folder).sort()).toEqual(['in', 'out.safetensors']);
});

test('convert for people says what it did; --no-verify is said too', () => {
  expect(convertTo('bf16').out).toContain('read back and compared');
  const { code, out } = convertTo('bf16', '--no-verify');
  expect(code).toBe(0);
  expect(out).toMatch(/verified +no/);
});

test('fp16 too', () => {
  const { code, out } = convertTo('f16', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ to: 'f16', f16_overflow: 0 });
});

test('verify recomputes: the same file passes, one changed bit does not', () => {
  convertTo('bf16');
  expect(run('verify', '--from', input, '--to', 'bf16', output).code).toBe(0);
  const file = readFileSync(output);
  file[file.length - 1] = (file.at(-1) ?? 0) ^ 1;
  writeFileSync(output, file);
  const { code, out } = run('verify', '--from', input, '--to', 'bf16', '--json', output);
  expect(code).toBe(1);
  const { error } = JSON.parse(out) as Report;
  expect(error?.code).toBe('verify_failed');
  expect(error?.message).toContain(`offset ${file.length - 1}`);
});

test('a folder stands for its only checkpoint, and side files beside it are read', () => {
  writeFileSync(
    join(folder, 'in', 'config.json'),
    JSON.stringify({ model_type: 'test', quantization_config: { quant_method: 'fp8' } }),
  );
  const { code, out } = run('inspect', '--json', join(folder, 'in'));
  expect(code).toBe(0);
  expect((JSON.parse(out) as Report).config.map(({ name }) => name)).toEqual(['config.json']);
  writeFileSync(join(folder, 'in', 'other.safetensors'), SOUND);
  expect(run('inspect', join(folder, 'in')).code).toBe(1);
  expect(run('inspect', join(folder, 'in')).err).toContain('model.safetensors, other.safetensors [choice_needed]');
  expect(run('inspect', '--file', 'other.safetensors', join(folder, 'in')).code).toBe(0);
});

test('a refused file is still shown, with the refusal first, and converts to nothing', () => {
  writeFileSync(input, SOUND.subarray(0, SOUND.length - 3));
  const { code, out } = run('inspect', '--json', input);
  expect(code).toBe(1);
  expect(out.startsWith('{"error":{"code":"truncated_data"')).toBe(true);
  const report = JSON.parse(out) as Report;
  expect(report.verdict).toBe('refused');
  expect(report.tensors).toHaveLength(3);
  const converted = convertTo('bf16', '--json');
  expect(converted.code).toBe(1);
  expect(JSON.parse(converted.out)).toMatchObject({ error: { code: 'truncated_data' } });
  expect(readdirSync(folder)).toEqual(['in']);
});

test('an empty file is refused by name', () => {
  writeFileSync(input, '');
  expect(run('inspect', '--json', input)).toMatchObject({ code: 1 });
  expect(run('inspect', input).out + run('inspect', input).err).toContain('empty_file');
  expect(run('ram', input).code).toBe(1);
});

test('a file that is not there, an output that is the input, a folder to write to that is not there', () => {
  expect(run('inspect', '--json', join(folder, 'no'))).toMatchObject({ code: 1 });
  expect(run('inspect', join(folder, 'no')).err).toContain('not_found');
  const onto = run('convert', '--to', 'bf16', '-o', input, input);
  expect([onto.code, onto.err.includes('output_exists')]).toEqual([1, true]);
  expect(Buffer.compare(readFileSync(input), SOUND)).toBe(0);
  expect(run('convert', '--to', 'bf16', '-o', join(folder, 'no', 'out'), input).code).toBe(1);
});

test.each([[[]], [['inspect']], [['inspect', '--wrong', 'x']], [['convert', 'x']], [['convert', '--to', 'bf16', 'x']]])(
  'wrong usage %j exits 2 and explains',
  (args) => {
    const { code, out, err } = run(...args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('usage:');
  },
);

test('a lost scale needs a decision: nothing is written, tensors and choices are named, and answering works', () => {
  const tensors = { 'a.weight': WEIGHT, 'a.weight_scale': scalar(0.37), 'b.weight': fp8Weight(8, 8) };
  writeFileSync(input, safetensors(tensors));
  const { code, out } = convertTo('bf16', '--json');
  expect(code).toBe(3);
  const { decisions } = JSON.parse(out) as Pick<Report, 'decisions'>;
  expect(decisions[0]?.tensors).toEqual(['b.weight']);
  expect(readdirSync(folder)).toEqual(['in']);
  const words = convertTo('bf16').out;
  expect(words).toContain('b.weight');
  for (const { choice } of decisions[0]?.choices ?? []) {
    const answer = `${decisions[0]?.subject}=${choice}`;
    expect(words).toContain(`--assume ${answer}`);
    const answered = convertTo('bf16', '--json', '--assume', answer);
    expect([0, 1]).toContain(answered.code);
  }
});

test('an interrupted conversion exits 130 and leaves nothing', async () => {
  const elements = 2 ** 31;
  const header = { 'a.weight': { dtype: 'F8_E4M3', shape: [elements / 1024, 1024], data_offsets: [0, elements] } };
  const text = JSON.stringify({
    ...header,
    'a.weight_scale': { dtype: 'F32', shape: [], data_offsets: [elements, elements + 4] },
  });
  const start = Buffer.alloc(8 + Math.ceil(text.length / 8) * 8, ' ');
  start.writeBigUInt64LE(BigInt(start.length - 8));
  start.write(text, 8);
  const file = openSync(input, 'w');
  writeSync(file, start, 0, start.length, 0);
  writeSync(file, new Uint8Array(new Float32Array([1]).buffer), 0, 4, start.length + elements);
  const child = spawn('node', [CLI, 'convert', '--to', 'bf16', '-o', output, '--progress', input]);
  const started = new Promise<void>((resolve) => {
    child.stderr.on('data', (text: Buffer) => text.includes('converting') && resolve());
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  await started;
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(readdirSync(folder)).toEqual(['in']);
  expect(existsSync(output)).toBe(false);
});

test('a reader that goes away early is no failure', () => {
  const { status, stderr } = spawnSync(
    'bash',
    ['-c', `set -o pipefail; node ${CLI} inspect --json ${input} | head -c 1`],
    {
      encoding: 'utf8',
    },
  );
  expect(stderr).toBe('');
  expect(status).toBe(0);
});
