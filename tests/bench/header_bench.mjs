// What a header of 300,000 tensors costs: the core's own parse (wasm in Node), `inspect --json` against Python's
// json.loads, and the page in Chromium against the JSON.parse of Chromium. Seven runs each, the middle one counts.
// Prints a table and adds it to build/bench.json.    make bench-header   (an idle machine)
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { f32Bytes, generator, layOut } from '../../scripts/lib/checkpoint.mjs';
import { byId, CLI, chooseFiles, openPage, ROOT, scratchFolder } from '../e2e/browser.mjs';
import { addToBench } from './bench_json.mjs';

const LAYERS = 61;
const EXPERTS = 820;
const RUNS = 7;
const GOALS = { parseMBs: 100, cli: 2, page: 4 };

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** 150,060 fp8 weights, a scale beside each: names of a big mixture of experts. Only the scales are on disk. */
function makeLongHeader(path) {
  const rows = [];
  for (let layer = 0; layer < LAYERS; layer++) {
    for (let expert = 0; expert < EXPERTS; expert++) {
      for (const part of ['gate_proj', 'up_proj', 'down_proj']) {
        const name = `model.layers.${layer}.mlp.experts.${expert}.${part}.weight`;
        rows.push({ name, dtype: 'F8_E4M3', shape: [256, 128], bytes: 256 * 128 });
        rows.push({ name: `${name}_scale`, dtype: 'F32', shape: [], bytes: 4 });
      }
    }
  }
  const { header, size } = layOut(rows, { format: 'pt' });
  const next = generator(5);
  const scales = f32Bytes(Array.from({ length: rows.length / 2 }, () => 1e-4 + next() / 1e3)); // F32 stands first
  const file = openSync(path, 'w');
  ftruncateSync(file, size);
  writeSync(file, header);
  writeSync(file, scales);
  closeSync(file);
  return { tensors: rows.length, headerBytes: header.length - 8 };
}

function parse(path) {
  const run = spawnSync(process.execPath, [join(ROOT, 'build/wasm-release/wb_header_bench.cjs'), path], {
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout);
}

/** Seconds of a whole process: wall and user. */
function timed(command, ...args) {
  const times = spawnSync('bash', ['-c', 'TIMEFORMAT="%R %U"; time "$@" > /dev/null', '-', command, ...args], {
    encoding: 'utf8',
  });
  const [wall, user] = times.stderr.trim().split('\n').at(-1).split(' ').map(Number);
  if (times.status !== 0 || Number.isNaN(wall)) throw new Error(times.stderr);
  return { wall, user };
}

const LOADS = [
  'import json, struct, sys, time',
  'file = open(sys.argv[1], "rb")',
  'text = file.read(struct.unpack("<Q", file.read(8))[0])',
  'begun = time.perf_counter()',
  'json.loads(text)',
  'print(time.perf_counter() - begun)',
].join('\n');

function loads(path) {
  const run = spawnSync('python3', ['-c', LOADS, path], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(run.stderr);
  return Number(run.stdout);
}

/** In a page: milliseconds of JSON.parse of the header, then from the file's choice to the table. */
async function visit(folder, path) {
  const opened = await openPage(folder);
  try {
    const { page } = opened;
    await page.waitForSelector(byId('file-input'));
    // the yardstick first, while nothing else runs, by an input of its own
    await page.evaluate(() => {
      document.body.append(Object.assign(document.createElement('input'), { type: 'file', id: 'yardstick' }));
    });
    await (await page.$('#yardstick')).uploadFile(path);
    const jsonMs = await page.evaluate(async () => {
      const input = document.querySelector('#yardstick');
      const file = input.files[0];
      input.remove();
      const length = new DataView(await file.slice(0, 8).arrayBuffer()).getUint32(0, true);
      const text = await file.slice(8, 8 + length).text();
      const begun = performance.now();
      JSON.parse(text);
      return performance.now() - begun;
    });
    const table = page.evaluate(
      (row, input) =>
        new Promise((resolve) => {
          let begun = 0;
          document.querySelector(input).addEventListener('change', () => (begun = performance.now()), { capture: true });
          const seen = () =>
            document.querySelector(row) ? requestAnimationFrame(() => resolve(performance.now() - begun)) : undefined;
          new MutationObserver(seen).observe(document, { childList: true, subtree: true });
        }),
      byId('pair-row'),
      byId('file-input'),
    );
    await chooseFiles(page, path);
    return { tableMs: await table, json: jsonMs };
  } finally {
    await opened.close();
  }
}

const folder = scratchFolder();
try {
  const path = join(folder.path, 'long.safetensors');
  const { tensors, headerBytes } = makeLongHeader(path);
  const core = parse(path);
  const mbs = headerBytes / 1e3 / core.parse_ms;
  const inspects = Array.from({ length: RUNS }, () => timed(process.execPath, CLI, 'inspect', '--json', path));
  const python = Array.from({ length: RUNS }, () => loads(path));
  const [wall, user, json] = [
    middle(inspects.map((each) => each.wall)),
    middle(inspects.map((each) => each.user)),
    middle(python),
  ];
  const visits = [];
  for (let run = 0; run < RUNS; run++) visits.push(await visit(folder.path, path));
  const [table, pageJson] = [middle(visits.map((each) => each.tableMs)), middle(visits.map((each) => each.json))];
  const verdict = (isMet) => (isMet ? 'met' : '**missed**');
  const text = [
    `${tensors} tensors, ${headerBytes} bytes of header.`,
    '',
    '| what | measured | yardstick | ratio | goal |',
    '|---|---|---|---|---|',
    `| the core's parse | ${core.parse_ms} ms, ${mbs.toFixed(0)} MB/s; layout ${core.layout_ms} ms more | | | 100 MB/s ${verdict(mbs >= GOALS.parseMBs)} |`,
    `| \`inspect --json\` | ${wall.toFixed(2)} s (user ${user.toFixed(2)} s) | json.loads ${json.toFixed(2)} s | ${(wall / json).toFixed(2)} | 2 ${verdict(wall / json <= GOALS.cli)} |`,
    `| the page, file chosen to table | ${table.toFixed(0)} ms (${visits.map(({ tableMs }) => tableMs.toFixed(0)).join(', ')}) | JSON.parse ${pageJson.toFixed(0)} ms (${visits.map((each) => each.json.toFixed(0)).join(', ')}) | ${(table / pageJson).toFixed(2)} | 4 ${verdict(table / pageJson <= GOALS.page)} |`,
  ].join('\n');
  addToBench('header', { tensors, headerBytes, core, inspects, python, visits }, text);
  console.log(text);
} finally {
  folder.clean();
}
