// Conversions that are killed and gone on with: the same bytes in the end, and nothing is read again that was done.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { makeBig } from '../../scripts/make_big.mjs';
import { readJournal } from '../../web/engine/journal';
import type { Receipt } from '../../web/engine/report';
import { bytesContent, startHub, type TestHub } from '../support/hub_server.mjs';
import { fp8Weight, safetensors, scalar } from './checkpoints';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));
const INPUT_MIB = 96;

vi.setConfig({ testTimeout: 120_000 });

let hub: TestHub;
let folder = '';
let input = '';
/** what an uninterrupted run writes */
let want: Buffer;

beforeAll(async () => {
  hub = await startHub();
  folder = mkdtempSync(join(tmpdir(), 'weighbridge-resume-'));
  input = join(folder, 'in.safetensors');
  makeBig(input, { gib: INPUT_MIB / 1024 });
  utimesSync(input, 1e9, 1e9);
  const whole = join(folder, 'want.safetensors');
  const { code } = await run(['convert', '--to', 'bf16', '-o', whole, input]);
  expect(code).toBe(0);
  want = readFileSync(whole);
  rmSync(whole);
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await hub.close();
});
afterEach(() => {
  hub.faults = [];
  for (const name of readdirSync(folder)) if (name.startsWith('out')) rmSync(join(folder, name), { recursive: true });
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

function begin(args: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn('node', [CLI, ...args], { env: { ...process.env, HF_ENDPOINT: hub.url, HF_TOKEN: '' } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (text: Buffer) => {
    out += text;
  });
  child.stderr.on('data', (text: Buffer) => {
    err += text;
  });
  return { child, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err }))) };
}

const run = (args: string[]): Promise<Ended> => begin(args).ended;
const soon = (ms = 5): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The unfinished output beside `output`, as far as it is noted. */
function noted(output: string): { path: string; bytes: number } | null {
  const name = readdirSync(folder).find((each) => each.startsWith(output) && each.endsWith('.partial.journal'));
  if (name === undefined) return null;
  const left = readJournal(readFileSync(join(folder, name), 'utf8'));
  return { path: join(folder, name.replace('.journal', '')), bytes: left?.mark.bytes ?? 0 };
}

function bytesIn(output: string): number {
  const name = readdirSync(folder).find((each) => each.startsWith(output) && each.endsWith('.partial'));
  const stats = name === undefined ? null : statSync(join(folder, name));
  if (stats?.isDirectory()) {
    const inside = readdirSync(join(folder, name ?? ''));
    return inside.reduce((sum, file) => sum + statSync(join(folder, name ?? '', file)).size, 0);
  }
  return stats?.size ?? 0;
}

/**
 * Kills a conversion when it has noted more than before and written about so much. It is put to sleep on the way, which
 * makes a fast one slow enough to note something.
 */
async function killAt(args: string[], output: string, writtenBytes: number, signal: NodeJS.Signals = 'SIGKILL') {
  const { child, ended } = begin(args);
  const before = noted(output)?.bytes ?? 0;
  while (child.exitCode === null && bytesIn(output) < writtenBytes) await soon();
  child.kill('SIGSTOP');
  await soon(1100);
  child.kill('SIGCONT');
  while (child.exitCode === null && (noted(output)?.bytes ?? 0) <= before) await soon(1);
  child.kill(signal);
  const { err, out } = await ended;
  const left = noted(output);
  expect(left, `it ended before it was killed: ${out}${err}`).not.toBeNull();
  expect(left?.bytes).toBeGreaterThan(before);
  return { left: left ?? { path: '', bytes: 0 }, err };
}

test('a local conversion killed at several points', async () => {
  const output = join(folder, 'out.safetensors');
  const args = ['convert', '--json', '--to', 'bf16', '-o', output, input];
  let keptBytes = 0;
  // one output goes on three times, and is killed again further on
  for (const share of [0.1 + Math.random() / 10, 0.3 + Math.random() / 10, 0.5 + Math.random() / 10]) {
    const { left } = await killAt([...args, '--resume'], 'out.safetensors', share * want.length);
    keptBytes = left.bytes;
    expect(readdirSync(folder)).not.toContain('out.safetensors');
  }
  const { code, out, err } = await run([...args, '--resume']);
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out) as Receipt).toMatchObject({ resumed_bytes: keptBytes, verified: true });
  expect(readFileSync(output).equals(want)).toBe(true);
  expect(readdirSync(folder).sort()).toEqual(['in.safetensors', 'out.safetensors']);
});

test('a conversion from a server reads nothing again that was done', async () => {
  const bytes = readFileSync(input);
  hub.addRepo('o/big', { 'model.safetensors': bytesContent(bytes) });
  expect((await run(['convert', '--to', 'bf16', '-o', join(folder, 'out-whole.safetensors'), 'hf://o/big'])).code).toBe(
    0,
  );
  const wholeBytes = hub.counts('/repos/').bytes;
  hub.fault({ kind: 'slow', path: '/repos/', times: 1000, bytesPerMs: 40_000 });
  const args = ['convert', '--json', '--to', 'bf16', '-o', join(folder, 'out.safetensors'), 'hf://o/big'];
  for (const share of [0.2 + Math.random() / 5, 0.5 + Math.random() / 5]) {
    await killAt([...args, '--resume'], 'out.safetensors', share * want.length);
  }
  hub.faults = [];
  const keptBytes = noted('out.safetensors')?.bytes ?? 0;
  hub.forget();
  const { code, out } = await run([...args, '--resume']);
  expect(code).toBe(0);
  const receipt = JSON.parse(out) as Receipt;
  expect(receipt.resumed_bytes).toBe(keptBytes);
  expect(receipt.source_checks?.[0]?.says).toContain('gone on with');
  expect(readFileSync(join(folder, 'out.safetensors')).equals(want)).toBe(true);
  // a byte of fp8 for every two that stand there already was not read; what it costs beside them is the same
  expect(hub.counts('/repos/').bytes).toBeLessThan(wholeBytes - keptBytes / 2 + 4e6);
});

test('a set goes on in the middle of a file', async () => {
  const shards = join(folder, 'shards');
  rmSync(shards, { recursive: true, force: true });
  expect((await run(['convert', '--to', 'stored', '--shard-size', '20MB', '-o', shards, input])).code).toBe(0);
  const whole = join(folder, 'out-whole');
  expect((await run(['convert', '--to', 'bf16', '-o', whole, shards])).code).toBe(0);
  const output = join(folder, 'outset');
  const args = ['convert', '--json', '--to', 'bf16', '-o', output, shards];
  for (const share of [0.3, 0.6]) await killAt([...args, '--resume'], 'outset', share * want.length);
  const { code, out, err } = await run([...args, '--resume']);
  expect([code, err]).toEqual([0, '']);
  expect((JSON.parse(out) as Receipt).resumed_bytes).toBeGreaterThan(want.length / 4);
  expect(readdirSync(output).sort()).toEqual(readdirSync(whole).sort());
  for (const name of readdirSync(whole)) {
    expect(readFileSync(join(output, name)).equals(readFileSync(join(whole, name))), name).toBe(true);
  }
  rmSync(shards, { recursive: true });
});

test('files that are only joined go on at any byte', async () => {
  const shards = join(folder, 'shards');
  expect((await run(['convert', '--to', 'stored', '--shard-size', '20MB', '-o', shards, input])).code).toBe(0);
  const args = ['convert', '--json', '--to', 'stored', '-o', join(folder, 'out.safetensors'), shards];
  await killAt(args, 'out.safetensors', 20e6);
  const { code, out, err } = await run([...args, '--resume']);
  expect([code, err]).toEqual([0, '']);
  expect(JSON.parse(out) as Receipt).toMatchObject({ copies_only: true, verified: true });
  expect((JSON.parse(out) as Receipt).resumed_bytes).toBeGreaterThan(20e6);
  const again = await run(['verify', '--from', shards, '--to', 'stored', join(folder, 'out.safetensors')]);
  expect(again.code).toBe(0);
  rmSync(shards, { recursive: true });
});

test('an interrupted run says how to go on, and what does not fit is refused', async () => {
  const output = join(folder, 'out.safetensors');
  const args = ['convert', '--json', '-o', output, '--resume'];
  const { left, err } = await killAt([...args, '--to', 'bf16', input], 'out.safetensors', want.length / 3, 'SIGINT');
  expect(err).toContain(left.path);
  expect(err).toContain('--resume');
  const refusal = async (more: string[]): Promise<string> => {
    const { code, out } = await run([...args, ...more]);
    expect(code).toBe(1);
    return (JSON.parse(out) as { error: { code: string; message: string } }).error.message;
  };

  expect(await refusal(['--to', 'bf16', '--others', 'cast', input])).toContain('"others":"keep"');
  utimesSync(input, 1e9, 1e9 + 1);
  expect(await refusal(['--to', 'bf16', input])).toContain('changed');
  utimesSync(input, 1e9, 1e9);
  // a config that was not there before may mean other scales
  writeFileSync(join(folder, 'config.json'), '{}');
  expect(await refusal(['--to', 'bf16', input])).toContain('plans');
  rmSync(join(folder, 'config.json'));

  const bytes = readFileSync(left.path);
  bytes.writeUInt8((bytes.readUInt8(left.bytes - 1) + 1) % 256, left.bytes - 1);
  writeFileSync(left.path, bytes);
  expect(await refusal(['--to', 'bf16', input])).toContain('not those');
  // nothing was thrown away by any of them, and a new beginning does not care
  expect(noted('out.safetensors')?.bytes).toBe(left.bytes);
  const { code } = await run(['convert', '--to', 'bf16', '-o', output, input]);
  expect(code).toBe(0);
  expect(readFileSync(output).equals(want)).toBe(true);
});

test('a file that changed on its server is not gone on with', async () => {
  const url = hub.place('/big.safetensors', bytesContent(readFileSync(input)));
  hub.fault({ kind: 'slow', path: '/big', times: 1000, bytesPerMs: 40_000 });
  const args = ['convert', '--json', '--to', 'bf16', '-o', join(folder, 'out.safetensors'), '--resume', url];
  await killAt(args, 'out.safetensors', want.length / 3);
  hub.faults = [];
  hub.fault({ kind: 'etag', path: '/big', times: 1000, etag: 'another' });
  const { code, out } = await run(args);
  expect(code).toBe(1);
  expect((JSON.parse(out) as { error: { code: string } }).error.code).toBe('resume_refused');
});

test('with nothing to go on with it begins at the beginning', async () => {
  const small = join(folder, 'in', 'small.safetensors');
  mkdirSync(join(folder, 'in'), { recursive: true });
  writeFileSync(small, safetensors({ 'a.weight': fp8Weight(16, 32), 'a.weight_scale': scalar(0.37) }));
  const { code, out } = await run(['convert', '--json', '--resume', '--to', 'bf16', '-o', join(folder, 'out'), small]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).not.toHaveProperty('resumed_bytes');
  rmSync(join(folder, 'in'), { recursive: true });
});
