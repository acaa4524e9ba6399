// The command line's conversion of 1 GiB of fp8 to bf16 against `cat in in > out` of the same file: as many bytes in, as
// many out, nothing computed. Both in turns, everything in the page cache, the file on disk flushed between runs. Prints a
// table and adds it to build/bench.json.    node tests/bench/cli_bench.mjs [--gib 1] [--pairs 5]     (an idle machine)
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBig } from '../../scripts/make_big.mjs';
import { CLI, scratchFolder } from '../e2e/browser.mjs';
import { addToBench } from './bench_json.mjs';

const GOAL = 1.3;
const { values } = parseArgs({
  options: { gib: { type: 'string', default: '1' }, pairs: { type: 'string', default: '5' } },
});

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Seconds of one process, from nothing dirty. */
function seconds(command, ...args) {
  spawnSync('sync');
  const begun = performance.now();
  const run = spawnSync(command, args, { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr);
  return (performance.now() - begun) / 1000;
}

const folder = scratchFolder();
try {
  const source = join(folder.path, 'in.safetensors');
  makeBig(source, { gib: Number(values.gib) });
  const out = join(folder.path, 'out.safetensors');
  const clean = () => {
    for (const name of readdirSync(folder.path)) if (name !== 'in.safetensors') rmSync(join(folder.path, name));
  };
  const ways = {
    'cat in in > out': () => seconds('bash', '-c', 'cat "$0" "$0" > "$1"', source, out),
    'the same, and sync out': () => seconds('bash', '-c', 'cat "$0" "$0" > "$1" && sync "$1"', source, out),
    // on disk when it ends, as the line above and not the first
    'convert --no-verify': () => seconds(process.execPath, CLI, 'convert', '--to', 'bf16', '--no-verify', source, '-o', out),
    'convert, read back and compared': () => seconds(process.execPath, CLI, 'convert', '--to', 'bf16', source, '-o', out),
  };
  const times = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (const run of Object.values(ways)) {
    run(); // warm
    clean();
  }
  for (let pair = 0; pair < Number(values.pairs); pair++) {
    for (const [way, run] of Object.entries(ways)) {
      times[way].push(run());
      clean();
    }
  }
  const yardstick = median(times['cat in in > out']);
  const table = [
    `${statSync(source).size} bytes in.`,
    '',
    '| | median | min | max | of cat | goal |',
    '|---|---|---|---|---|---|',
    ...Object.entries(times).map(([way, all], index) => {
      const ratio = median(all) / yardstick;
      const goal = index === 2 ? `${GOAL} ${ratio <= GOAL ? 'met' : '**missed**'}` : '';
      const [middle, min, max] = [median(all), Math.min(...all), Math.max(...all)].map((each) => each.toFixed(2));
      return `| ${way} | ${middle} s | ${min} | ${max} | ${ratio.toFixed(2)} | ${goal} |`;
    }),
  ].join('\n');
  addToBench('command line', { gib: Number(values.gib), node: process.version, times }, table);
  console.log(table);
} finally {
  folder.clean();
}
