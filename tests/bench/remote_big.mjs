// A remote file converted to local bf16 while the server drops the connection five times: the output is that of the local
// file, byte for byte, and nothing comes twice but what was on its way when a connection broke.
//
//   node tests/bench/remote_big.mjs [--gib 4] [--sparse]      make remote-big
//
// Needs disk for the file (unless --sparse) and twice as much for the output, in TMPDIR.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeBig } from '../../scripts/make_big.mjs';
import { fileContent, startHub } from '../support/hub_server.mjs';

const CLI = fileURLToPath(new URL('../../web/cli/weighbridge.mjs', import.meta.url));
const DROPS = 5;
/** Sent into sockets and pipes, not yet received, when a connection breaks. */
const IN_TRANSIT_BYTES_MAX = 8e6;

const words = process.argv.slice(2);
const gib = words.includes('--gib') ? Number(words[words.indexOf('--gib') + 1]) : 4;
const folder = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), 'weighbridge-remote-big-'));

function cli(args, env = {}) {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, ...env } });
  let out = '';
  let err = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  child.stderr.on('data', (text) => {
    err += text;
  });
  return new Promise((resolve, reject) => {
    child.on('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`exit ${code}: ${err}${out}`))));
  });
}

async function sha256Of(path) {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 22 })) hash.update(piece);
  return hash.digest('hex');
}

async function main() {
  const source = join(folder, 'model.safetensors');
  const output = join(folder, 'out.safetensors');
  const { size_bytes: size } = makeBig(source, { gib, sparse: words.includes('--sparse') });
  const sha256 = await sha256Of(source);
  const hub = await startHub();
  try {
    hub.addRepo('owner/big', { 'model.safetensors': fileContent(source, sha256) });
    // Five of the long transfers (64 MiB each, after the first few), spread over the file, each somewhere in its middle.
    const apart = Math.floor((size / 2 ** 26 - 10) / DROPS);
    if (apart < 1) throw new Error('the file is too small for five long transfers: --gib 1 or more');
    for (let i = 0; i < DROPS; i++) {
      hub.fault({ kind: 'drop', afterBytes: 1_000_000 + i * 7_654_321, skip: i === 0 ? 5 : apart - 1 });
    }
    const begun = performance.now();
    const options = ['--to', 'bf16', '--json', '-o', output, 'hf://owner/big'];
    const receipt = JSON.parse(await cli(['convert', ...options], { HF_ENDPOINT: hub.url, HF_TOKEN: '' }));
    const seconds = (performance.now() - begun) / 1000;
    const { cdn, cdnBytes } = hub.counts('model.safetensors');
    const twice = cdnBytes - size;
    await cli(['verify', '--from', source, '--to', 'bf16', output]);
    const [check] = receipt.source_checks;
    const rows = [
      ['source', `${size} bytes`],
      ['output', `${receipt.output_bytes} bytes, the same as from the local file (weighbridge verify)`],
      ['connections dropped', `${DROPS}, repetitions counted: ${receipt.traffic.retries}`],
      ['requests for the file', cdn],
      ['bytes sent', `${cdnBytes}, of them ${twice} twice (${((100 * twice) / size).toFixed(3)} %)`],
      ['SHA-256', `${check.says} (${check.sha256})`],
      ['time', `${seconds.toFixed(1)} s with reading the output back`],
    ];
    for (const [name, value] of rows) console.log(`${name.padEnd(22)} ${value}`);
    const wrong = [
      receipt.traffic.retries !== DROPS && `${receipt.traffic.retries} repetitions for ${DROPS} dropped connections`,
      twice > DROPS * IN_TRANSIT_BYTES_MAX && `${twice} bytes came twice`,
      check.sha256 !== sha256 && 'the hash was not checked',
    ].filter(Boolean);
    if (wrong.length > 0) throw new Error(wrong.join(', '));
  } finally {
    await hub.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(`remote big: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
