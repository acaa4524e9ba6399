// How far the processes of a browser grow while 1 GiB and 12 GiB (Firefox: 4) of fp8 (sparse: no disk) are converted by private
// files: no more than 150 MB, and no more for the big one than for the small one. Writes twice the bytes to disk.
//
//   node tests/bench/browser_memory.mjs [--gib 12] [ENGINE...]       ENGINE: chromium, firefox
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBig } from '../../scripts/make_big.mjs';
import { ROOT, scratchFolder, watchMemory } from '../e2e/browser.mjs';
import { openEngine } from '../e2e/engines.mjs';
import { addToBench } from './bench_json.mjs';

/** Twice that is what Firefox grants without asking. */
const GIB_MAX = { chromium: Number.POSITIVE_INFINITY, firefox: 4 };
const GROWTH_MIB_MAX = 150;
const DIFFERENCE_MIB_MAX = 32;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { gib: { type: 'string', default: '12' } },
});
const folder = scratchFolder();

async function growthOf(engine, gib) {
  const opened = await openEngine(engine, folder.path, join(ROOT, 'build/bench-page'));
  try {
    const convert = async (size) => {
      const path = join(folder.path, `${size}.safetensors`);
      makeBig(path, { gib: size, sparse: true });
      await opened.chooseFile(path);
      return opened.evaluate(async () => {
        while (window.bench === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
        await window.bench.open();
        return (await window.bench.convert('opfs', true)).bytes;
      });
    };
    await convert(0.1); // everything warm once
    const memory = watchMemory(opened.pid);
    const bytes = await convert(gib);
    return { engine, version: opened.version, gib, output_bytes: bytes, growth_mib: memory.growthMiB() };
  } finally {
    await opened.close();
  }
}

try {
  const rows = [];
  for (const engine of positionals.length > 0 ? positionals : ['chromium', 'firefox']) {
    const bigGib = Math.min(Number(values.gib), GIB_MAX[engine]);
    const [small, big] = [await growthOf(engine, 1), await growthOf(engine, bigGib)];
    rows.push(small, big);
    for (const { growth_mib } of [small, big]) assert.ok(growth_mib < GROWTH_MIB_MAX, `${growth_mib} MiB`);
    const more = big.growth_mib - small.growth_mib;
    assert.ok(more < DIFFERENCE_MIB_MAX, `${more} MiB more for the big file`);
  }
  const lines = rows.map(({ version, gib, growth_mib }) => `| ${version} | ${gib} GiB | ${growth_mib.toFixed(0)} MiB |`);
  const table = ['| opfs | input | growth |', '|---|---|---|', ...lines].join('\n');
  console.log(table);
  addToBench('browser memory', { rows }, table);
} finally {
  folder.clean();
}
