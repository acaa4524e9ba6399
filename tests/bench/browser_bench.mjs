// How long a conversion takes in each browser against a pump of the same bytes (browser/pump.ts), by each way that the
// browser has to write. Prints a Markdown table and adds it to build/bench.json.
//
//   node tests/bench/browser_bench.mjs [--gib 1] [--pairs 5] [--way WAY] [--write KIB] [ENGINE...]
//
// ENGINE: chromium, firefox, webkit. WAY: opfs, picker, download. --write: the pump's writes, to find its fastest.
import { closeSync, openSync, readdirSync, readSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBig } from '../../scripts/make_big.mjs';
import { ROOT, scratchFolder } from '../e2e/browser.mjs';
import { openEngine } from '../e2e/engines.mjs';
import { addToBench } from './bench_json.mjs';

const MIB = 2 ** 20;

/** The ways of each engine, and the pump that measured fastest for it. */
const WAYS = [
  { engine: 'chromium', way: 'opfs', read: 'whole', readBytes: MIB, writeBytes: MIB / 2 },
  { engine: 'chromium', way: 'picker', read: 'whole', readBytes: MIB, writeBytes: 8 * MIB },
  { engine: 'chromium', way: 'download', read: 'whole', readBytes: MIB, writeBytes: MIB },
  { engine: 'firefox', way: 'opfs', read: 'slices', readBytes: 4 * MIB, writeBytes: 4 * MIB },
  { engine: 'firefox', way: 'download', read: 'slices', readBytes: 4 * MIB, writeBytes: MIB },
  { engine: 'webkit', way: 'download', read: 'slices', readBytes: 4 * MIB, writeBytes: MIB },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    gib: { type: 'string', default: '1' },
    pairs: { type: 'string', default: '5' },
    way: { type: 'string' },
    write: { type: 'string' },
  },
});

function readThrough(path) {
  const [file, buffer] = [openSync(path, 'r'), Buffer.alloc(8 * MIB)];
  while (readSync(file, buffer) > 0);
  closeSync(file);
}

export const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
};

async function measure({ engine, way, ...settings }, source, folder, pairs) {
  const opened = await openEngine(engine, folder, join(ROOT, 'build/bench-page'));
  try {
    await opened.chooseFile(source);
    await opened.evaluate(async () => {
      while (window.bench === undefined) await new Promise((resolve) => setTimeout(resolve, 50));
      return window.bench.open();
    });
    const convert = () => opened.evaluate((by) => window.bench.convert(by, false), way);
    const clean = () => {
      for (const name of readdirSync(opened.downloads)) rmSync(join(opened.downloads, name));
    };
    const pump = (outputBytes) =>
      opened.evaluate((by, given) => window.bench.pump(by, given), way, { outputBytes, ...settings });
    const { bytes } = await convert(); // everything warm once
    clean();
    const [converts, pumps] = [[], []];
    for (let pair = 0; pair < pairs; pair++) {
      converts.push((await convert()).ms);
      clean();
      pumps.push(await pump(bytes));
      clean();
    }
    const ratio = median(converts) / median(pumps);
    return { engine, way, version: opened.version, output_bytes: bytes, convert_ms: converts, pump_ms: pumps, ratio };
  } finally {
    await opened.close();
  }
}

const seconds = (numbers) =>
  [median(numbers), Math.min(...numbers), Math.max(...numbers)].map((ms) => (ms / 1000).toFixed(2)).join(' | ');

const folder = scratchFolder();
try {
  const source = join(folder.path, 'big.safetensors');
  const gib = Number(values.gib);
  makeBig(source, { gib });
  readThrough(source);
  const rows = [];
  const isWanted = ({ engine, way }) =>
    (positionals.length === 0 || positionals.includes(engine)) && (values.way ?? way) === way;
  for (const way of WAYS.filter(isWanted)) {
    const writeBytes = values.write === undefined ? way.writeBytes : Number(values.write) * 1024;
    rows.push(await measure({ ...way, writeBytes }, source, folder.path, Number(values.pairs)));
  }
  const lines = rows.map(
    ({ version, way, convert_ms, pump_ms, ratio }) =>
      `| ${version} | ${way} | ${seconds(convert_ms)} | ${seconds(pump_ms)} | ${ratio.toFixed(2)} |`,
  );
  const table = [
    `| ${gib} GiB of fp8 to bf16 | way | convert: s | min | max | pump: s | min | max | ratio |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
  console.log(table);
  addToBench('browsers', { gib, machine: cpus()[0]?.model ?? '', cores: cpus().length, rows }, table);
} finally {
  folder.clean();
}
