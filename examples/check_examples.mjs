// Converts every example with the command line and compares the result with an expectation computed here, slowly and
// without the core. Run by `make test-examples`.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bf16FromE4m3, checkpointBytes, readHeader } from '../scripts/lib/checkpoint.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'web/cli/weighbridge.mjs');
const folder = join(root, 'build/examples');
const SCALE_NAMES = ['weight_scale', 'scale_weight', 'weight_scale_inv'];
const DROPPED = /\.(weight_scale|scale_weight|weight_scale_inv|comfy_quant|scale_input|input_scale)$|^scaled_fp8$/;
const BLOCK = 128;

async function tensorsOf(path) {
  const file = await open(path);
  try {
    const { rows, metadata } = await readHeader(file);
    for (const row of rows) {
      row.data = Buffer.alloc(row.end - row.begin);
      if (row.data.length) await file.read(row.data, 0, row.data.length, row.begin);
    }
    return { rows, metadata };
  } finally {
    await file.close();
  }
}

/** The file a converter must write: every fp8 code times its scale, once rounded; scales and markers gone. */
async function expected(path) {
  const { rows, metadata } = await tensorsOf(path);
  const byName = new Map(rows.map((row) => [row.name, row]));
  const out = [];
  for (const row of rows) {
    if (DROPPED.test(row.name)) continue;
    if (row.dtype !== 'F8_E4M3') {
      out.push(row);
      continue;
    }
    const stem = row.name.slice(0, -'weight'.length);
    const scale = SCALE_NAMES.map((name) => byName.get(stem + name)).find(Boolean);
    const columns = row.shape[1];
    const gridColumns = Math.ceil(columns / BLOCK);
    const data = Buffer.alloc(row.data.length * 2);
    row.data.forEach((code, i) => {
      const block = Math.floor(Math.floor(i / columns) / BLOCK) * gridColumns + Math.floor((i % columns) / BLOCK);
      const value = scale.data.readFloatLE(scale.data.length === 4 ? 0 : block * 4);
      data.writeUInt16LE(bf16FromE4m3(code, value), i * 2);
    });
    out.push({ name: row.name, dtype: 'BF16', shape: row.shape, data });
  }
  const { _quantization_metadata, ...kept } = metadata ?? {};
  const sorted = Object.fromEntries(Object.entries({ format: 'pt', ...kept }).sort(([a], [b]) => (a < b ? -1 : 1)));
  return checkpointBytes(out, sorted);
}

let passed = 0;
let failed = 0;
function verdict(name, fault) {
  if (fault) failed++;
  else passed++;
  console.log(fault ? `FAIL    ${name}: ${fault}` : `ok      ${name}`);
}

const scratch = mkdtempSync(join(tmpdir(), 'weighbridge-examples-'));
try {
  for (const { file } of JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'))) {
    const source = join(folder, file);
    const out = join(scratch, `${file.replaceAll('/', '_')}`);
    const run = spawnSync(process.execPath, [cli, 'convert', '--to', 'bf16', '-o', out, source], { encoding: 'utf8' });
    if (file.startsWith('lost-scale')) {
      const said = run.stdout + run.stderr;
      const fault =
        run.status !== 3
          ? `exit ${run.status}, not 3`
          : !said.includes('blocks.1.attn.wv.weight')
            ? 'the weight is not named'
            : existsSync(out)
              ? 'a file was written'
              : '';
      verdict(`${file} asks for a decision`, fault);
      continue;
    }
    if (run.status !== 0) {
      verdict(file, `exit ${run.status}: ${run.stderr.trim()}`);
      continue;
    }
    verdict(
      `${file} is what it must be, byte for byte`,
      readFileSync(out).equals(await expected(source)) ? '' : 'other bytes',
    );
    const report = JSON.parse(execFileSync(process.execPath, [cli, 'inspect', '--json', source], { encoding: 'utf8' }));
    const weights = report.pairs.filter((pair) => pair.state === 'ok' || pair.state === 'noted').length;
    const fp8 = (await tensorsOf(source)).rows.filter((row) => row.dtype === 'F8_E4M3' && row.data.length).length;
    verdict(`${file} pairs all of its ${fp8} weights`, weights === fp8 ? '' : `${weights} paired`);
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`examples: ${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
