// What the scripts and tests know about .safetensors files and fp8. It shares nothing with the core, so that it can
// judge it: plain, slow, readable.

// Ascending; the reference writer writes in descending order, then by name.
const WRITE_ORDER = [
  ...['BOOL', 'F4', 'F6_E2M3', 'F6_E3M2', 'U8', 'I8', 'F8_E5M2', 'F8_E4M3', 'F8_E8M0', 'F8_E4M3FNUZ', 'F8_E5M2FNUZ'],
  ...['I16', 'U16', 'F16', 'BF16', 'I32', 'U32', 'F32', 'C64', 'F64', 'I64', 'U64'],
];

/** Same numbers on every machine (a 32-bit mulberry generator): next() is in [0, 1). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** About normal: twelve uniform numbers, which no math library rounds differently. */
export function normal(next) {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += next();
  return sum;
}

/** The value of each of the 256 e4m3 codes (the "fn" kind: no infinity, NaN at 0x7F and 0xFF). */
export const F8_E4M3 = Float32Array.from({ length: 256 }, (_, code) => {
  if ((code & 0x7f) === 0x7f) return Number.NaN;
  const exponent = (code & 0x7f) >> 3;
  const magnitude = exponent === 0 ? (code & 7) * 2 ** -9 : (8 + (code & 7)) * 2 ** (exponent - 10);
  return code & 0x80 ? -magnitude : magnitude;
});

const positiveE4m3 = [...F8_E4M3.slice(0, 0x7f)];

/** Nearest e4m3 code, ties to the even code, beyond 448 the largest. */
export function e4m3FromNumber(value) {
  const magnitude = Math.abs(value);
  let low = 0;
  let high = 0x7e;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (positiveE4m3[middle] <= magnitude) low = middle;
    else high = middle;
  }
  const below = magnitude - positiveE4m3[low];
  const above = positiveE4m3[high] - magnitude;
  const code = above < below || (above === below && high % 2 === 0) ? high : low;
  return (value < 0 || Object.is(value, -0) ? 0x80 : 0) | code;
}

const bits = new DataView(new ArrayBuffer(4));

/** Round a float32 to bf16, ties to even; every NaN is 0x7FC0. */
export function bf16FromF32(value) {
  bits.setFloat32(0, value);
  const word = bits.getUint32(0);
  if (Number.isNaN(value)) return 0x7fc0;
  return ((word + 0x7fff + ((word >>> 16) & 1)) / 0x10000) & 0xffff;
}

/** Float32 product, one rounding: what the converter must write for one code and its scale. */
export function bf16FromE4m3(code, scale) {
  return bf16FromF32(Math.fround(F8_E4M3[code] * Math.fround(scale)));
}

export function bf16Bytes(values) {
  const out = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => {
    out.writeUInt16LE(bf16FromF32(Math.fround(value)), i * 2);
  });
  return out;
}

export function f32Bytes(values) {
  const out = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => {
    out.writeFloatLE(value, i * 4);
  });
  return out;
}

/**
 * Lays tensors out as the reference writer does. rows: [{name, dtype, shape, bytes}] (bytes: a count).
 * Returns {header: Buffer (length field included), rows: [... + begin, end absolute], size}.
 */
export function layOut(rows, metadata) {
  const ordered = [...rows].sort(
    (a, b) => WRITE_ORDER.indexOf(b.dtype) - WRITE_ORDER.indexOf(a.dtype) || (a.name < b.name ? -1 : 1),
  );
  const entries = metadata ? { __metadata__: metadata } : {};
  let position = 0;
  const placed = ordered.map((row) => {
    const begin = position;
    position += row.bytes;
    entries[row.name] = { dtype: row.dtype, shape: row.shape, data_offsets: [begin, position] };
    return { ...row, begin, end: position };
  });
  const text = Buffer.from(JSON.stringify(entries));
  const padded = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const header = Buffer.concat([length, padded]);
  return {
    header,
    rows: placed.map((row) => ({ ...row, begin: row.begin + header.length, end: row.end + header.length })),
    size: header.length + position,
  };
}

/** The whole file of small tensors: rows [{name, dtype, shape, data: Buffer}]. */
export function checkpointBytes(rows, metadata) {
  const plan = layOut(
    rows.map((row) => ({ ...row, bytes: row.data.length })),
    metadata,
  );
  return Buffer.concat([plan.header, ...plan.rows.map((row) => row.data)]);
}

/** {rows: [{name, dtype, shape, begin, end}], metadata} of an open file (node:fs/promises FileHandle). */
export async function readHeader(file) {
  const length = Buffer.alloc(8);
  await file.read(length, 0, 8, 0);
  const text = Buffer.alloc(Number(length.readBigUInt64LE()));
  await file.read(text, 0, text.length, 8);
  const { __metadata__: metadata, ...entries } = JSON.parse(text.toString());
  const rows = Object.entries(entries).map(([name, entry]) => ({
    name,
    dtype: entry.dtype,
    shape: entry.shape,
    begin: 8 + text.length + entry.data_offsets[0],
    end: 8 + text.length + entry.data_offsets[1],
  }));
  return { rows, metadata };
}
