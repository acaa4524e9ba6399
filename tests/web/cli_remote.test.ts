// The command line on a server: hf:// and https addresses, a token, a conversion whose source never lands on disk.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { makeBig } from '../../scripts/make_big.mjs';
import type { Receipt, Report } from '../../web/engine/report';
import { bytesContent, startHub, type TestHub } from '../support/hub_server.mjs';
import { fp8Weight, safetensors, scalar } from './checkpoints';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));
const CASES = fileURLToPath(new URL('../cases/', import.meta.url));
const MODEL = safetensors({ 'a.weight': fp8Weight(16, 32), 'a.weight_scale': scalar(0.37) });

vi.setConfig({ testTimeout: 60_000 });

let hub: TestHub;
let folder = '';

beforeAll(async () => {
  hub = await startHub();
  folder = mkdtempSync(join(tmpdir(), 'weighbridge-remote-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await hub.close();
});
beforeEach(() => hub.forget());
afterEach(() => {
  hub.faults = [];
});

interface Run {
  code: number | null;
  out: string;
  err: string;
}

/** Not spawnSync: the server runs in this very process. */
function run(args: string[], env: Record<string, string> = {}): Promise<Run> {
  const child = spawn('node', [CLI, ...args], { env: { ...process.env, HF_ENDPOINT: hub.url, HF_TOKEN: '', ...env } });
  let out = '';
  let err = '';
  child.stdout.on('data', (text: Buffer) => {
    out += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    err += text.toString();
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

function big(name: string, mib: number): { path: string; bytes: Buffer } {
  const path = join(folder, name);
  makeBig(path, { gib: mib / 1024 });
  return { path, bytes: readFileSync(path) };
}

test('inspect and ram of a repo say what they cost', async () => {
  hub.addRepo('o/model', { 'model.safetensors': MODEL });
  const { code, out, err } = await run(['inspect', 'hf://o/model']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('a.weight');
  // commit, listing, the file
  expect(out).toMatch(/read +3 requests, /);
  const json = await run(['ram', '--json', 'hf://o/model@main/model.safetensors']);
  expect((JSON.parse(json.out) as Report).traffic).toMatchObject({ requests: 3, retries: 0 });
  const url = await run(['inspect', '--json', hub.place('/m.safetensors', MODEL)]);
  expect((JSON.parse(url.out) as Report).traffic).toMatchObject({ requests: 4 });
});

test('--endpoint stands above HF_ENDPOINT; --token-file above HF_TOKEN; the token goes to the endpoint only', async () => {
  hub.addRepo('o/gated', { 'model.safetensors': MODEL }, { gated: 'manual', token: 'hf_file' });
  const refused = await run(['inspect', 'hf://o/gated']);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(`${hub.url}/o/gated`);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'hf_file\n');
  const args = ['inspect', '--endpoint', hub.url, '--token-file', tokenFile, 'hf://o/gated'];
  const { code, out, err } = await run(args, { HF_ENDPOINT: 'http://127.0.0.1:9', HF_TOKEN: 'hf_env' });
  expect([code, err]).toEqual([0, '']);
  expect(out + err).not.toContain('hf_file');
  expect(hub.log.filter(({ origin }) => origin === 'cdn').every(({ authorization }) => authorization === null)).toBe(
    true,
  );
  expect((await run(['inspect', 'hf://o/gated'], { HF_TOKEN: 'hf_env' })).err).toContain('access_denied');
  expect((await run(['inspect', '--endpoint', 'ftp://x', 'hf://o/gated'])).err).toContain('bad_address');
});

test('a repo with a choice says what there is; --file takes one', async () => {
  hub.addRepo('o/two', { 'a.safetensors': MODEL, 'b.safetensors': MODEL });
  const asked = await run(['inspect', 'hf://o/two']);
  expect(asked.code).toBe(1);
  expect(asked.err).toContain('choice_needed');
  expect(asked.err).toContain('b.safetensors');
  expect((await run(['inspect', '--file', 'b.safetensors', 'hf://o/two'])).code).toBe(0);
});

test('remote to local through five broken connections: the same bytes, nothing read twice, the hash checked', async () => {
  const { path, bytes } = big('big.safetensors', 96);
  hub.addRepo('o/big', { 'model.safetensors': bytes });
  const local = join(folder, 'local.safetensors');
  const remote = join(folder, 'remote.safetensors');
  expect((await run(['convert', '--to', 'bf16', '-o', local, path])).code).toBe(0);
  for (const afterBytes of [5e6, 1e6, 3e6, 70_000, 2e6]) hub.fault({ kind: 'drop', afterBytes, skip: 1 });
  const { code, out, err } = await run(['convert', '--to', 'bf16', '--json', '-o', remote, 'hf://o/big']);
  expect([code, err]).toEqual([0, '']);
  expect(readFileSync(remote).equals(readFileSync(local))).toBe(true);
  const receipt = JSON.parse(out) as Receipt;
  expect(receipt.source_checks).toEqual([
    { name: 'model.safetensors', sha256: bytesContent(bytes).sha256, says: 'checked: what the Hub states' },
  ]);
  expect(receipt.traffic?.retries).toBe(5);
  // what was on its way when a connection broke; everything else came once
  const twice = hub.counts('model.safetensors').cdnBytes - bytes.length;
  expect(twice).toBeGreaterThanOrEqual(0);
  expect(twice).toBeLessThan(5 * 1.5e6);
  expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
});

test('what the Hub states is not what comes: no file is left', async () => {
  const { bytes } = big('flip.safetensors', 64);
  const { sha256 } = bytesContent(bytes);
  const flipped = Buffer.from(bytes);
  flipped[flipped.length - 5] = (flipped[flipped.length - 5] ?? 0) ^ 1;
  hub.addRepo('o/flip', { 'model.safetensors': { ...bytesContent(flipped), sha256 } });
  const output = join(folder, 'flip-out.safetensors');
  const { code, err } = await run(['convert', '--to', 'bf16', '-o', output, 'hf://o/flip']);
  expect(code).toBe(1);
  expect(err).toContain('hash_mismatch');
  expect(readdirSync(folder).filter((name) => name.startsWith('flip-out'))).toEqual([]);
});

test('a file that changes during the conversion ends it', async () => {
  const { bytes } = big('change.safetensors', 64);
  hub.addRepo('o/change', { 'model.safetensors': bytes });
  hub.fault({ kind: 'etag', etag: 'new', skip: 3 });
  const output = join(folder, 'change-out.safetensors');
  const { code, err } = await run(['convert', '--to', 'bf16', '-o', output, 'hf://o/change']);
  expect(code).toBe(1);
  expect(err).toContain('source_changed');
  expect(readdirSync(folder).filter((name) => name.startsWith('change-out'))).toEqual([]);
});

test('B01 and B06 from a repo into a folder: the index and the config are right, nothing lands beside', async () => {
  for (const name of ['B01', 'B06']) {
    const files = readdirSync(join(CASES, name)).map((file) => [file, readFileSync(join(CASES, name, file))] as const);
    hub.addRepo(`cases/${name}`, Object.fromEntries(files));
    const [there, here] = [join(folder, `${name}-remote`), join(folder, `${name}-local`)];
    expect((await run(['convert', '--to', 'bf16', '-o', `${there}/`, `hf://cases/${name}`])).err).toBe('');
    expect((await run(['convert', '--to', 'bf16', '-o', `${here}/`, join(CASES, name)])).err).toBe('');
    expect(readdirSync(there)).toEqual(readdirSync(here));
    for (const file of readdirSync(here)) {
      expect(readFileSync(join(there, file)).equals(readFileSync(join(here, file))), file).toBe(true);
    }
  }
});
