// The same repos read by @huggingface/hub and by hf-mem from the test server: do their counts agree with ours?
//
//   tests/conformance/remote/run.sh       installs both into build/peers and runs this
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { deepseekSet } from '../../support/deepseek_set.mjs';
import { startHub } from '../../support/hub_server.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PEERS = process.env.PEERS ?? join(ROOT, 'build/peers');
const { parseSafetensorsMetadata } = await import(
  pathToFileURL(createRequire(join(PEERS, 'package.json')).resolve('@huggingface/hub')).href
);
const hub = await startHub();

function run(command, args) {
  const child = spawn(command, args, { env: { ...process.env, HF_ENDPOINT: hub.url, HF_TOKEN: '' } });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  return new Promise((resolve) => child.on('close', () => resolve({ out, err })));
}

function fromFolder(path) {
  return Object.fromEntries(readdirSync(path).map((file) => [file, readFileSync(join(path, file))]));
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

async function ours(repo) {
  const { out } = await run(process.execPath, [join(ROOT, 'web/cli/weighbridge.mjs'), 'inspect', '--json', `hf://${repo}`]);
  const { tensor_count, stored_elements, parameters, data_bytes, dtypes, traffic } = JSON.parse(out);
  const byDtype = Object.fromEntries(dtypes.map(({ dtype, elements }) => [dtype, elements]));
  return { tensors: tensor_count, elements: stored_elements, parameters, bytes: data_bytes, byDtype, requests: traffic.requests };
}

async function hubJs(repo) {
  try {
    const parsed = await parseSafetensorsMetadata({ repo, hubUrl: hub.url, computeParametersCount: true });
    const headers = parsed.sharded ? Object.values(parsed.headers) : [parsed.header];
    const entries = headers.flatMap((header) => Object.entries(header).filter(([name]) => name !== '__metadata__'));
    const elements = entries.reduce((total, [, { shape }]) => total + shape.reduce((a, b) => a * b, 1), 0);
    return { tensors: entries.length, elements, parameters: sum(parsed.parameterCount), byDtype: parsed.parameterCount };
  } catch (error) {
    return { error: error.message };
  }
}

async function hfMem(repo) {
  const { out, err } = await run(join(PEERS, 'venv/bin/python'), [
    fileURLToPath(new URL('hf_mem_at.py', import.meta.url)),
    hub.url,
    repo,
  ]);
  try {
    return JSON.parse(out);
  } catch {
    return { error: err.trim().split('\n').at(-1) };
  }
}

const cases = join(ROOT, 'tests/cases');
hub.addRepo('cases/B01', fromFolder(join(cases, 'B01')));
hub.addRepo('cases/B03', fromFolder(join(cases, 'B03')));
hub.addRepo('cases/B05', fromFolder(join(cases, 'B05')));
hub.addRepo('cases/C02', fromFolder(join(cases, 'C02')));
const set = deepseekSet();
hub.addRepo('deepseek-ai/DeepSeek-V3', set.files);

for (const repo of hub.repos.keys()) {
  console.log(repo);
  for (const [name, read] of Object.entries({ weighbridge: ours, '@huggingface/hub': hubJs, 'hf-mem': hfMem })) {
    hub.forget();
    const found = await read(repo);
    const { hub: onHub, cdn, bytes } = hub.counts();
    console.log(`  ${name.padEnd(18)} ${JSON.stringify(found)}  [server: ${onHub} + ${cdn} requests, ${bytes} bytes]`);
  }
}
await hub.close();
