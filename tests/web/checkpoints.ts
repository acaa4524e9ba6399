// Small checkpoints for tests, written by the plainest possible code.

export interface TestTensor {
  dtype: string;
  shape: number[];
  bytes: Uint8Array;
}

/** Lays the tensors out in the order given. */
export function safetensors(
  tensors: Record<string, TestTensor>,
  metadata?: Record<string, string>,
): Uint8Array<ArrayBuffer> {
  const entries: Record<string, unknown> = metadata ? { __metadata__: metadata } : {};
  let end = 0;
  for (const [name, { dtype, shape, bytes }] of Object.entries(tensors)) {
    entries[name] = { dtype, shape, data_offsets: [end, end + bytes.length] };
    end += bytes.length;
  }
  const text = new TextEncoder().encode(JSON.stringify(entries));
  const padded = Math.ceil(text.length / 8) * 8;
  const file = new Uint8Array(8 + padded + end).fill(0x20, 8, 8 + padded);
  new DataView(file.buffer).setBigUint64(0, BigInt(padded), true);
  file.set(text, 8);
  let at = 8 + padded;
  for (const { bytes } of Object.values(tensors)) {
    file.set(bytes, at);
    at += bytes.length;
  }
  return file;
}

export function f32(...values: number[]): Uint8Array {
  return new Uint8Array(new Float32Array(values).buffer);
}

/** [rows, columns] codes that all differ from NaN, in a pattern. */
export function fp8Weight(rows: number, columns: number): TestTensor {
  const bytes = new Uint8Array(rows * columns);
  for (let at = 0; at < bytes.length; at++) bytes[at] = ((at * 37) % 0x7f) | (at % 3 === 0 ? 0x80 : 0);
  return { dtype: 'F8_E4M3', shape: [rows, columns], bytes };
}

export function scalar(value: number): TestTensor {
  return { dtype: 'F32', shape: [], bytes: f32(value) };
}

/** The value of an E4M3 code, from the definition: 1 sign, 4 exponent (bias 7), 3 mantissa bits, no infinity. */
export function fp8Value(code: number): number {
  const sign = code & 0x80 ? -1 : 1;
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  if (exponent === 15 && mantissa === 7) return Number.NaN;
  return exponent === 0 ? (sign * mantissa) / 512 : sign * (1 + mantissa / 8) * 2 ** (exponent - 7);
}

/** float32 multiply, then one rounding to nearest even. */
export function bf16Product(code: number, scale: number): number {
  const product = Math.fround(fp8Value(code) * Math.fround(scale));
  const bits = new Uint32Array(new Float32Array([product]).buffer)[0] ?? 0;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

export function bf16Weight(weight: TestTensor, scale: number): Uint8Array {
  const products = Array.from({ length: 256 }, (_, code) => bf16Product(code, scale));
  const written = new Uint16Array(weight.bytes.length);
  for (let at = 0; at < written.length; at++) written[at] = products[weight.bytes[at] ?? 0] ?? 0;
  return new Uint8Array(written.buffer);
}

/** name -> tensor of a file as written. */
export function parseSafetensors(file: Uint8Array): {
  tensors: Map<string, TestTensor>;
  metadata: Record<string, string>;
} {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const headerEnd = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, headerEnd))) as Record<string, unknown>;
  const tensors = new Map<string, TestTensor>();
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__') continue;
    const { dtype, shape, data_offsets } = entry as { dtype: string; shape: number[]; data_offsets: [number, number] };
    const [begin, end] = data_offsets;
    tensors.set(name, { dtype, shape, bytes: file.subarray(headerEnd + begin, headerEnd + end) });
  }
  return { tensors, metadata: (header.__metadata__ ?? {}) as Record<string, string> };
}
