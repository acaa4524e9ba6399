// Makes one scaled-fp8 checkpoint of about a given size, for tests of memory and speed.
//
//   node scripts/make_big.mjs OUT --gib 1 [--sparse] [--lost-scale]
//
// Linear layers of [4096, 4096] fp8 with one float32 .weight_scale each, a BF16 norm beside each and a BF16 embedding.
// Random content by default (the same every time); --sparse leaves the weights as holes: no disk, all zeros.
// --lost-scale leaves one scale out.
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bf16Bytes, f32Bytes, generator, layOut, normal } from './lib/checkpoint.mjs';

const SIDE = 4096;
const PIECE_BYTES = 8 << 20;
const EMBEDDING_ROWS = 1024;

/** Bytes that repeat nowhere a misplaced chunk could hide: each piece starts elsewhere in the pool. */
function makePool() {
  const next = generator(7);
  const pool = Buffer.alloc(2 * PIECE_BYTES);
  for (let i = 0; i < PIECE_BYTES; i++) {
    const code = Math.floor(next() * 256);
    pool[i] = (code & 0x7f) === 0x7f ? code - 1 : code; // no NaN codes
  }
  pool.copy(pool, PIECE_BYTES, 0, PIECE_BYTES);
  return pool;
}

export function makeBig(path, { gib, sparse = false, lostScale = false }) {
  const layers = Math.max(2, Math.round((gib * 2 ** 30 - EMBEDDING_ROWS * SIDE * 2) / (SIDE * SIDE)));
  const next = generator(11);
  const rows = [
    {
      name: 'embed.weight',
      dtype: 'BF16',
      shape: [EMBEDDING_ROWS, SIDE],
      bytes: EMBEDDING_ROWS * SIDE * 2,
      data: bf16Bytes(Array.from({ length: EMBEDDING_ROWS * SIDE }, () => next() - 0.5)),
    },
  ];
  for (let i = 0; i < layers; i++) {
    const layer = `blocks.${i}.linear`;
    rows.push({ name: `${layer}.weight`, dtype: 'F8_E4M3', shape: [SIDE, SIDE], bytes: SIDE * SIDE });
    const scale = f32Bytes([Math.abs(normal(next)) * 1e-3 + 1e-5]);
    if (!(lostScale && i === 1))
      rows.push({ name: `${layer}.weight_scale`, dtype: 'F32', shape: [], bytes: 4, data: scale });
    const norm = bf16Bytes(Array.from({ length: SIDE }, () => 1 + next() / 16));
    rows.push({ name: `blocks.${i}.norm.weight`, dtype: 'BF16', shape: [SIDE], bytes: SIDE * 2, data: norm });
  }
  const plan = layOut(rows, { format: 'pt', made_by: 'make_big' });
  const pool = makePool();
  const file = openSync(path, 'w');
  ftruncateSync(file, plan.size);
  writeSync(file, plan.header, 0, plan.header.length, 0);
  let start = 0;
  for (const row of plan.rows) {
    if (row.data) writeSync(file, row.data, 0, row.data.length, row.begin);
    for (let at = row.begin; !row.data && !sparse && at < row.end; at += PIECE_BYTES) {
      start = (start + 1_000_003) % PIECE_BYTES;
      writeSync(file, pool, start, Math.min(PIECE_BYTES, row.end - at), at);
    }
  }
  closeSync(file);
  return { size_bytes: plan.size, layers };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2);
  const gib = Number(given[given.indexOf('--gib') + 1]);
  if (!given[0] || given[0].startsWith('--') || !(gib > 0)) {
    console.error('usage: node scripts/make_big.mjs OUT --gib N [--sparse] [--lost-scale]');
    process.exit(2);
  }
  const made = makeBig(given[0], {
    gib,
    sparse: given.includes('--sparse'),
    lostScale: given.includes('--lost-scale'),
  });
  console.log(`${given[0]}: ${made.size_bytes} bytes, ${made.layers} quantized weights`);
}
