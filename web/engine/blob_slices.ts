// A blob read in slices, for engines without byte streams. Windows are served from slices of 4 MiB,
// since every slice costs milliseconds; the one after is asked for ahead; and a slice is freed the moment
// nobody needs it: WebKit lets dead ArrayBuffers pile up to a gigabyte.
import { checkLength } from './source';

const SLICE_BYTES = 4 * 1024 * 1024;
/** Windows in flight touch two at most (they follow each other, a border between); the third is read ahead. */
const SLICES_MAX = 3;

export class BlobSlices {
  readonly #name: string;
  readonly #blob: Blob;
  readonly #slices = new Map<number, Slice>();
  /** where the last window ended: only what goes on there is worth reading ahead */
  #position = -1;

  constructor(name: string, blob: Blob) {
    this.#name = name;
    this.#blob = blob;
  }

  async read(buffer: ArrayBuffer, begin: number, end: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(buffer, 0, end - begin);
    const copies: Promise<void>[] = [];
    for (let at = begin; at < end; ) {
      const slice = this.#sliceAt(at);
      const until = Math.min(end, slice.end);
      copies.push(slice.copy(at, until, bytes.subarray(at - begin, until - begin)));
      at = until;
    }
    const next = Math.ceil(end / SLICE_BYTES) * SLICE_BYTES;
    if (begin === this.#position && next < this.#blob.size) this.#sliceAt(next);
    this.#position = end;
    await Promise.all(copies);
    return bytes;
  }

  close(): void {
    for (const slice of this.#slices.values()) slice.retire();
    this.#slices.clear();
  }

  #sliceAt(position: number): Slice {
    const index = Math.floor(position / SLICE_BYTES);
    const known = this.#slices.get(index);
    if (known !== undefined) return known;
    for (const [oldIndex, old] of this.#slices) {
      if (this.#slices.size < SLICES_MAX) break;
      old.retire();
      this.#slices.delete(oldIndex);
    }
    const begin = index * SLICE_BYTES;
    const slice = new Slice(this.#name, this.#blob, begin, Math.min(this.#blob.size, begin + SLICE_BYTES));
    this.#slices.set(index, slice);
    return slice;
  }
}

class Slice {
  readonly end: number;
  readonly #begin: number;
  readonly #bytes: Promise<ArrayBuffer>;
  #users = 0;
  #retired = false;

  constructor(name: string, blob: Blob, begin: number, end: number) {
    this.#begin = begin;
    this.end = end;
    this.#bytes = blob
      .slice(begin, end)
      .arrayBuffer()
      .then((buffer) => {
        checkLength(name, begin, end, buffer.byteLength);
        return buffer;
      });
    this.#bytes.catch(() => {});
  }

  async copy(begin: number, end: number, into: Uint8Array): Promise<void> {
    this.#users += 1;
    try {
      into.set(new Uint8Array(await this.#bytes, begin - this.#begin, end - begin));
    } finally {
      this.#users -= 1;
      this.#freeIfUnused();
    }
  }

  /** No new copies; freed when the last one is done. */
  retire(): void {
    this.#retired = true;
    this.#freeIfUnused();
  }

  #freeIfUnused(): void {
    if (this.#retired && this.#users === 0) void this.#bytes.then(freeAtOnce, () => {});
  }
}

/** A detached buffer costs nothing, whenever the collector comes. */
export function freeAtOnce(buffer: ArrayBuffer & { transfer?: (newLength: number) => ArrayBuffer }): void {
  if (buffer.byteLength > 0) buffer.transfer?.(0);
}
