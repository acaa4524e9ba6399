// A file on a server, read by range. The first request brings the size and, for most files, the whole header; a longer
// header costs one more. After that: windows that follow each other come from one long answer, small ones from blocks
// that are kept, so that neither 4,000 windows nor 300 norms are requests of their own.
import { CoreError } from './errors';
import type { HttpClient } from './http_client';
import { type FileAddress, RemoteFile } from './http_file';
import { OrderedHash, type Sha256 } from './http_hash';
import { RangeStream } from './http_stream';
import { type ByteSource, checkRange, type SourceCheck } from './source';

/** The same as the core's kFirstReadBytes (src/session/inspect_job.h): its first window is this. */
export const HEAD_BYTES = 96 * 1024;
/** A lone window below this must not end the stream that runs. */
const SMALL_BYTES_MAX = 512 * 1024;
const BLOCK_BYTES = 256 * 1024;
const BLOCKS_MAX = 32;
/** A stream's first request; each one after it may be twice as long, so that a jump wastes no more than it gained. */
const RUN_BYTES_FIRST = 8 * 1024 * 1024;
const RUN_BYTES_MAX = 64 * 1024 * 1024;
/** What may be read early and kept, so that a hash has no hole. */
const GAP_BYTES_MAX = 64 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const FREE_BUFFERS_MAX = 4;

export interface HttpSourceOptions {
  makeSha256?: (() => Sha256) | undefined;
}

interface Kept {
  begin: number;
  bytes: Uint8Array;
}

export class HttpSource implements ByteSource {
  readonly isRemote = true;
  readonly #file: RemoteFile;
  /** empty until `#arrival` is over */
  #head: Uint8Array = new Uint8Array(0);
  /** null once the head is here */
  #arrival: Promise<void> | null;
  readonly #newHash: () => OrderedHash | null;
  #hash: OrderedHash | null = null;
  /** since beginCheck */
  #isChecking = false;
  readonly #blocks = new Map<number, Promise<Uint8Array>>();
  readonly #free: ArrayBuffer[] = [];
  /** read early for the hash, and needed later */
  #kept: Kept | null = null;
  #stream: RangeStream | null = null;
  #runBytes = RUN_BYTES_FIRST;
  /** where the windows given out so far by streams end */
  #position = -1;
  /** a read that still waits for its turn must know that it is not wanted any more */
  #interrupts = 0;
  /** reads from streams, one after the other */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(file: RemoteFile, newHash: () => OrderedHash | null) {
    this.#file = file;
    this.#newHash = newHash;
    this.#arrival = readHead(file).then((head) => {
      this.#head = head;
      this.#arrival = null;
    });
    // whoever reads first is told
    this.#arrival.catch(() => {});
  }

  /**
   * One request: the first HEAD_BYTES, and with them size and ETag. Where a listing has told the size, nothing waits for
   * the answer here: a hundred headers arrive while the first ones are parsed.
   */
  static async open(
    client: HttpClient,
    address: FileAddress,
    { makeSha256 }: HttpSourceOptions = {},
  ): Promise<HttpSource> {
    const file = new RemoteFile(client, address);
    const newHash = (): OrderedHash | null => (address.sha256 && makeSha256 ? new OrderedHash(makeSha256()) : null);
    const source = new HttpSource(file, newHash);
    if (address.sizeBytes === undefined) await source.#arrival;
    return source;
  }

  get name(): string {
    return this.#file.name;
  }

  get size(): number {
    return this.#file.address.sizeBytes ?? this.#file.identity.total;
  }

  async read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    if (this.#arrival !== null) await this.#arrival;
    const bytes = new Uint8Array(this.#buffer(end - begin), 0, end - begin);
    await this.#fill(bytes, begin, end);
    return bytes;
  }

  release(bytes: Uint8Array): void {
    const { buffer } = bytes;
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < BUFFER_BYTES) return;
    if (this.#free.length < FREE_BUFFERS_MAX) this.#free.push(buffer);
  }

  /** Every single answer is held against the first one (size and ETag), so there is nothing left to ask. */
  async fingerprint(): Promise<string> {
    return String(this.size);
  }

  /** Without the query, which may be a signature: ETag and size tell states and files apart. */
  async identity(): Promise<string | null> {
    if (this.#arrival !== null) await this.#arrival;
    const { etag, total } = this.#file.identity;
    const { origin, pathname } = new URL(this.#file.address.url);
    return etag === null ? null : `${origin}${pathname} ${total} ${etag}`;
  }

  interrupt(): void {
    this.#interrupts += 1;
    this.#file.client.interrupt();
    this.#hash = null;
  }

  /** Only a conversion reads it all; a look here and there must not make holes in a hash, nor fetch what fills them. */
  beginCheck(): void {
    this.#isChecking = true;
    this.#hash = this.#newHash();
    this.#hash?.add(0, this.#head);
  }

  /** The hash that the Hub states against that of what was read; what a conversion left unread is read for it. */
  async check(): Promise<SourceCheck> {
    const { sha256 } = this.#file.address;
    const hash = this.#hash;
    if (!sha256) return { name: this.name, sha256: null, says: 'not checked: the server states no SHA-256' };
    if (!this.#isChecking) {
      return { name: this.name, sha256: null, says: 'not checked: an interrupted conversion was gone on with' };
    }
    if (hash === null) return { name: this.name, sha256: null, says: 'not checked: no SHA-256 at hand' };
    const restBytes = this.size - hash.position;
    if (hash.broken || restBytes > GAP_BYTES_MAX) {
      const says = 'not checked: a SHA-256 needs every byte in order, and this conversion reads the file in another';
      return { name: this.name, sha256: null, says };
    }
    await this.#readForHash(this.size);
    const got = hash.digest();
    this.#hash = null;
    this.#kept = null;
    if (got === sha256.toLowerCase()) return { name: this.name, sha256: got, says: 'checked: what the Hub states' };
    throw new CoreError('hash_mismatch', this.name, `SHA-256 of what was read is ${got}, the Hub states ${sha256}`);
  }

  async close(): Promise<void> {
    // the head is not wanted any more, and neither are those of the sources beside this one
    if (this.#arrival !== null) this.#file.client.interrupt();
    this.#stream?.close();
    this.#stream = null;
    this.#kept = null;
    this.#blocks.clear();
    this.#free.length = 0;
  }

  /** Nothing is awaited before the place in the stream is taken, so that two windows may be asked for at once. */
  #fill(bytes: Uint8Array, begin: number, end: number): Promise<void> {
    if (begin === end) return Promise.resolve();
    if (end <= this.#head.length) return Promise.resolve(bytes.set(this.#head.subarray(begin, end)));
    const kept = this.#kept;
    if (kept !== null && begin >= kept.begin && end <= kept.begin + kept.bytes.length) {
      return Promise.resolve(bytes.set(kept.bytes.subarray(begin - kept.begin, end - kept.begin)));
    }
    const inHeader = begin < this.#headerEnd;
    if (begin !== this.#position && !inHeader && end - begin < SMALL_BYTES_MAX) return this.#fromBlocks(bytes, begin);
    this.#position = end;
    const interrupts = this.#interrupts;
    const reading = this.#turn.then(() => {
      if (interrupts !== this.#interrupts) throw new CoreError('cancelled', this.name, 'stopped by the user');
      return this.#fromStream(bytes, begin, end);
    });
    this.#turn = reading.catch(() => {});
    return reading;
  }

  async #fromStream(bytes: Uint8Array, begin: number, end: number): Promise<void> {
    let at = begin;
    // the head is here already, wherever a window reaches over its end
    if (at < this.#head.length) {
      bytes.set(this.#head.subarray(at, Math.min(end, this.#head.length)));
      at = Math.min(end, this.#head.length);
    }
    while (at < end) {
      const stream = await this.#streamAt(at, end);
      const until = Math.min(end, stream.end);
      const part = bytes.subarray(at - begin, until - begin);
      await stream.read(part);
      this.#hash?.add(at, part);
      at = until;
    }
  }

  /** The stream that goes on at `at`, or a new one. */
  async #streamAt(at: number, end: number): Promise<RangeStream> {
    const running = this.#stream;
    const goesOn = running?.position === at;
    if (running !== null && goesOn && at < running.end) return running;
    running?.close();
    this.#stream = null;
    if (at >= this.#headerEnd) await this.#readForHash(at);
    this.#runBytes = goesOn ? Math.min(RUN_BYTES_MAX, 2 * this.#runBytes) : RUN_BYTES_FIRST;
    // The rest of a long header is one request, whatever its length.
    const until = at < this.#headerEnd ? Math.max(end, this.#headerEnd) : Math.max(end, at + this.#runBytes);
    this.#stream = new RangeStream(this.#file, at, Math.min(this.size, until));
    return this.#stream;
  }

  /** Small windows, from aligned blocks. A block that is on its way is not asked for twice. */
  async #fromBlocks(bytes: Uint8Array, begin: number): Promise<void> {
    const end = begin + bytes.length;
    const parts: Promise<void>[] = [];
    for (let at = begin; at < end; ) {
      const index = Math.floor(at / BLOCK_BYTES);
      const until = Math.min(end, (index + 1) * BLOCK_BYTES);
      const [from, to] = [at, until];
      parts.push(
        this.#block(index).then((block) => {
          const offset = from - index * BLOCK_BYTES;
          bytes.set(block.subarray(offset, offset + to - from), from - begin);
        }),
      );
      at = until;
    }
    await Promise.all(parts);
  }

  #block(index: number): Promise<Uint8Array> {
    const known = this.#blocks.get(index);
    if (known) {
      this.#blocks.delete(index);
      this.#blocks.set(index, known);
      return known;
    }
    const begin = index * BLOCK_BYTES;
    const reading = this.#readRange(begin, Math.min(this.size, begin + BLOCK_BYTES));
    this.#blocks.set(index, reading);
    // a failed block is no block
    reading.catch(() => this.#blocks.delete(index));
    const [oldest] = this.#blocks.keys();
    if (this.#blocks.size > BLOCKS_MAX && oldest !== undefined) this.#blocks.delete(oldest);
    return reading;
  }

  /** What lies between the last hashed byte and `until` comes now, not later, if it is little. */
  async #readForHash(until: number): Promise<void> {
    const hash = this.#hash;
    if (hash === null || hash.broken) return;
    const begin = hash.position;
    if (begin >= until || until - begin > GAP_BYTES_MAX) return;
    const bytes = await this.#readRange(begin, until);
    hash.add(begin, bytes);
    this.#kept = { begin, bytes };
  }

  async #readRange(begin: number, end: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(end - begin);
    const inHead = Math.max(0, Math.min(end, this.#head.length) - begin);
    bytes.set(this.#head.subarray(begin, begin + inHead));
    if (inHead === bytes.length) return bytes;
    const stream = new RangeStream(this.#file, begin + inHead, end);
    try {
      await stream.read(bytes.subarray(inHead));
    } finally {
      stream.close();
    }
    return bytes;
  }

  /** Where the data begin; a length field that makes no sense is for the core to refuse. */
  get #headerEnd(): number {
    if (this.#head.length < 8) return 0;
    const lengthBytes = new DataView(this.#head.buffer, this.#head.byteOffset, 8).getBigUint64(0, true);
    return lengthBytes > BigInt(this.size) ? 0 : 8 + Number(lengthBytes);
  }

  #buffer(lengthBytes: number): ArrayBuffer {
    const found = this.#free.findIndex((buffer) => buffer.byteLength >= lengthBytes);
    const [buffer] = found < 0 ? [] : this.#free.splice(found, 1);
    return buffer ?? new ArrayBuffer(lengthBytes > SMALL_BYTES_MAX ? Math.max(lengthBytes, BUFFER_BYTES) : lengthBytes);
  }
}

/** The size is not known yet, so this cannot be a stream: the answer itself says how long it is. */
async function readHead(file: RemoteFile): Promise<Uint8Array> {
  const { sizeBytes } = file.address;
  const wanted = sizeBytes === undefined ? HEAD_BYTES : Math.min(HEAD_BYTES, Math.max(1, sizeBytes));
  const exchange = await file.open(0, wanted);
  const lengthBytes = Math.min(wanted, file.identity.total);
  const head = new Uint8Array(lengthBytes);
  let at = 0;
  try {
    for (let piece = await exchange?.read(); piece; piece = await exchange?.read()) {
      if (at + piece.length > lengthBytes) {
        throw new CoreError('range_unsupported', file.name, 'the server sent more bytes than it was asked for');
      }
      head.set(piece, at);
      at += piece.length;
    }
  } catch (thrown) {
    exchange?.cancel();
    if (thrown instanceof CoreError && thrown.code !== 'timed_out') throw thrown;
  }
  // What is missing comes as everything else does, with all the patience of a stream.
  if (at < lengthBytes) await new RangeStream(file, at, lengthBytes).read(head.subarray(at));
  return head;
}
