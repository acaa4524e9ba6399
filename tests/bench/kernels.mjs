// `make bench`: the kernels as wasm in Node, into build/bench.json and build/bench.md. Arguments: parts of kernel names.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { addToBench } from './bench_json.mjs';

const BENCH = fileURLToPath(new URL('../../build/wasm-release/wb_kernels_bench.cjs', import.meta.url));
const run = spawnSync(process.execPath, [BENCH, '--json', ...process.argv.slice(2)], {
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
  stdio: ['ignore', 'pipe', 'inherit'],
});
if (run.status !== 0) throw new Error(`the benchmark ended with ${run.status ?? run.signal}`);

const rows = JSON.parse(run.stdout);
const goalOf = ({ goal, stream_ratio_to_memcpy: ratio }) =>
  goal === 0 ? '' : `${goal.toFixed(2)} ${ratio >= goal ? 'met' : '**missed**'}`;
const table = [
  '| kernel | shape | 64 KiB: GB/s | of a widening copy | 64 MiB: GB/s | of memcpy of the output | goal |',
  '|---|---|---|---|---|---|---|',
  ...rows.map((row) =>
    [
      '',
      row.kernel,
      row.shape,
      row.cache_gb_s.toFixed(1),
      row.cache_ratio_to_widening.toFixed(2),
      row.stream_gb_s.toFixed(1),
      row.stream_ratio_to_memcpy.toFixed(2),
      goalOf(row),
      '',
    ]
      .join(' | ')
      .trim(),
  ),
].join('\n');
addToBench('kernels', { node: process.version, rows }, table);
console.log(table);
