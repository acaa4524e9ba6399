// What inspecting a huge repo costs: 163 shards, 91,000 tensors (DeepSeek-V3's shape) over a round trip of 50 ms, against
// the same requests with nothing parsed. Three runs of each, the middle one counts. Prints a table; exits 1 when a limit
// is broken.    make bench-remote
import { fork, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { addToBench } from './bench_json.mjs';

const LATENCY_MS = 50;
const RUNS = 3;
const IN_FLIGHT = 8;
const FIRST_READ_BYTES = 96 * 1024;
const REPO = 'deepseek-ai/DeepSeek-V3';
const LIMITS = { requestsAShard: 1.1, time: 1.5, bytes: 1.1 };

const server = fork(fileURLToPath(new URL('remote_server.mjs', import.meta.url)), [String(LATENCY_MS)]);
const ask = (word) =>
  new Promise((resolve) => {
    server.once('message', resolve);
    if (word) server.send(word);
  });
const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const { url, headerBytes, tensors } = await ask();

/** The engine in a process of its own: what a user waits for, without the start of Node and the core. */
async function inspect() {
  await ask('forget');
  const child = spawn(process.execPath, [fileURLToPath(new URL('remote_inspect.mjs', import.meta.url)), url, REPO], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.on('data', (text) => {
    out += text;
  });
  const code = await new Promise((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`the inspection failed with ${code}`);
  return { ...JSON.parse(out), ...(await ask('counts')) };
}

/** The same requests, their answers thrown away: commit, listing, index, config, then the head of every shard. */
async function justFetch() {
  const begun = performance.now();
  const get = async (path, headers = {}) => (await fetch(url + path, { headers })).arrayBuffer();
  const { sha } = JSON.parse(Buffer.from(await get(`/api/models/${REPO}`)).toString());
  const listed = Buffer.from(await get(`/api/models/${REPO}/tree/${sha}?recursive=true&expand=false`));
  const files = JSON.parse(listed.toString()).map(({ path }) => path);
  const at = (path) => `/${REPO}/resolve/${sha}/${path}`;
  await get(at('model.safetensors.index.json'));
  await get(at('config.json'));
  const shards = files.filter((path) => path.endsWith('.safetensors'));
  const next = async () => {
    for (let path = shards.pop(); path; path = shards.pop()) {
      await get(at(path), { Range: `bytes=0-${FIRST_READ_BYTES - 1}` });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, next));
  return performance.now() - begun;
}

const inspections = [];
const fetches = [];
for (let run = 0; run < RUNS; run++) {
  inspections.push(await inspect());
  fetches.push(await justFetch());
}
server.kill();

const [{ report, shards, counts }] = inspections;
const shardCount = report.sources;
const [time, bare] = [middle(inspections.map(({ ms }) => ms)), middle(fetches)];
const allowedBytes = headerBytes + 100_000 * shardCount;
const requestsAShard = shards.cdn / shardCount;
const rows = [
  ['shards', shardCount],
  ['tensors', report.tensors],
  ['verdict', report.verdict],
  ['requests for shards', `${shards.cdn}, ${requestsAShard.toFixed(3)} a shard (at most ${LIMITS.requestsAShard})`],
  ['requests in all', `${report.traffic.requests}; the server saw ${counts.hub} on the Hub and ${counts.cdn} on the CDN`],
  ['bytes of shards', `${shards.cdnBytes}; headers + 100 kB a shard: ${allowedBytes}, so ${(shards.cdnBytes / allowedBytes).toFixed(3)} of it (at most ${LIMITS.bytes})`],
  ['time to the report', `${time.toFixed(0)} ms (${inspections.map(({ ms }) => ms.toFixed(0)).join(', ')})`],
  ['the requests alone', `${bare.toFixed(0)} ms (${fetches.map((ms) => ms.toFixed(0)).join(', ')})`],
  ['ratio', `${(time / bare).toFixed(2)} (at most ${LIMITS.time})`],
];
for (const [name, value] of rows) console.log(`${name.padEnd(22)} ${value}`);
const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n');
addToBench('remote', { inspections, fetches }, table);
const broken = [
  report.tensors !== tensors && `${report.tensors} tensors were read of ${tensors}`,
  requestsAShard > LIMITS.requestsAShard && 'too many requests',
  time / bare > LIMITS.time && 'too slow',
  shards.cdnBytes / allowedBytes > LIMITS.bytes && 'too many bytes',
].filter(Boolean);
if (broken.length > 0) {
  console.error(`remote bench: ${broken.join(', ')}`);
  process.exit(1);
}
