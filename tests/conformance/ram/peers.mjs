// What other tools say about the same checkpoints, as a table for docs/ram.md.
//
//   peers.mjs HF_MEM_PYTHON ACCELERATE_PYTHON [--write FILE]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sparseContent, startHub } from '../../support/hub_server.mjs';
import { RAM_FIXTURES, ramFixture, writeRamFixture } from '../../support/ram_fixtures.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const CLI = fileURLToPath(new URL('../../../web/cli/weighbridge.mjs', import.meta.url));
const [hfMemPython, acceleratePython, , file] = process.argv.slice(2); // --write stands before the file
const folder = mkdtempSync(join(tmpdir(), 'weighbridge-peers-'));
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

async function json(command, args) {
  const { out, err } = await run(command, args);
  try {
    return JSON.parse(out);
  } catch {
    throw new Error(`${command} ${args.join(' ')}: ${err.trim().split('\n').at(-1)}`);
  }
}

async function ours(path) {
  const { ram, data_bytes, parameters, memory } = await json('node', [CLI, 'ram', '--json', '--context', '8192', path]);
  const bf16 = ram.per_dtype.find(({ dtype }) => dtype === 'bf16').bytes;
  const peak = Math.max(...memory.loaders.flatMap((row) => (row.applies && row.purpose === 'program' ? [row.peak_bytes] : [])));
  return { stored: data_bytes, parameters, bf16, peak, kv: memory.kv_cache?.known ? memory.kv_cache.bytes : null };
}

/** Its rule, from its README and source: the header's elements are the parameters, and the file is what is stored. */
function weightless(name) {
  const elements = RAM_FIXTURES[name].tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  return { stored: ramFixture(name).size, bf16: 2 * elements };
}

async function hfMem(repo) {
  const script = join(HERE, '../remote/hf_mem_at.py');
  return json(hfMemPython, [script, hub.url, repo]);
}

const gb = (bytes) => (bytes === null || bytes === undefined ? '–' : (bytes / 1e9).toFixed(3));
const rows = [];
for (const name of Object.keys(RAM_FIXTURES)) {
  const { config } = RAM_FIXTURES[name];
  const { header, size } = ramFixture(name);
  const files = { 'model.safetensors': sparseContent(header, size) };
  if (config) files['config.json'] = Buffer.from(JSON.stringify(config));
  hub.addRepo(`shapes/${name}`, files);
  const path = writeRamFixture(name, join(folder, name));
  const own = await ours(path);
  const estimated = config ? await json(acceleratePython, [join(HERE, 'accelerate_at.py'), join(path, 'config.json')]) : null;
  const rule = weightless(name);
  const theirs = await hfMem(`shapes/${name}`);
  rows.push([name, gb(own.stored), gb(theirs.memory), gb(rule.stored), gb(own.bf16), gb(rule.bf16), gb(estimated?.float16), gb(own.peak)]);
}
await hub.close();
rmSync(folder, { recursive: true });

const head = ['fixture', 'ours, stored', 'hf-mem', 'weightless, stored', 'ours, bf16', 'weightless, bf16', 'accelerate, fp16'];
const lines = [[...head, 'ours, highest peak'], ['---', ...head.map(() => '---:')], ...rows];
const table = lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
console.log(table);
if (file) {
  const text = readFileSync(file, 'utf8');
  const [before, rest] = text.split('<!-- peers -->\n');
  writeFileSync(file, `${before}<!-- peers -->\n${table}\n${rest.slice(rest.indexOf('<!-- /peers -->'))}`);
}
