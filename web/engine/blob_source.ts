// A File the user chose, read in the browser. Windows that follow each other are read from one ranged
// stream by a BYOB reader: against slice().arrayBuffer() that is 2-3 times less CPU and a tenth of the
// memory (reference/io-measurements.md). Lone small windows, and engines without BYOB blobs (WebKit),
// use slices.
import { CoreError } from './errors';
import { type ByteSource, checkLength, checkRange } from './source';

/** Below this a lone window is not worth a stream of its own, and must not end the one that runs. */
const STREAM_WINDOW_BYTES_MIN = 512 * 1024;
/** A stream covers this much at most: an engine that buffers ahead without bound then has a bound. */
const STREAM_BYTES_MAX = 64 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const FREE_BUFFERS_MAX = 4;
const SAMPLE_BYTES = 4096;

export class BlobSource implements ByteSource {
  readonly name: string;
  readonly #blob: Blob;
  readonly #streams: boolean;
  readonly #free: ArrayBuffer[] = [];
  #stream: BlobStream | null = null;

  private constructor(name: string, blob: Blob, streams: boolean) {
    this.name = name;
    this.#blob = blob;
    this.#streams = streams;
  }

  static async open(name: string, blob: Blob): Promise<BlobSource> {
    streamsWork ??= testStreams();
    return new BlobSource(name, blob, await streamsWork);
  }

  get size(): number {
    return this.#blob.size;
  }

  /** Nothing is awaited before the stream's read is queued, so two windows may be asked for at once. */
  async read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    try {
      const stream = this.#streamFor(begin, end);
      const bytes = stream ? await stream.read(this.#buffer(end - begin), end - begin) : await this.#slice(begin, end);
      checkLength(this.name, begin, end, bytes.length);
      return bytes;
    } catch (thrown) {
      throw readError(this.name, thrown);
    }
  }

  release(bytes: Uint8Array): void {
    const buffer = bytes.buffer;
    if (!(buffer instanceof ArrayBuffer)) return;
    if (this.#streams && buffer.byteLength >= BUFFER_BYTES && this.#free.length < FREE_BUFFERS_MAX) {
      this.#free.push(buffer);
    } else {
      freeAtOnce(buffer);
    }
  }

  /** A File never tells that the file behind it changed (Firefox reads on), so look at some of its bytes. */
  async fingerprint(): Promise<string> {
    const middle = Math.floor(this.size / 2);
    const begins = [0, middle, Math.max(0, this.size - SAMPLE_BYTES)];
    const samples = begins.map((begin) => this.#sample(begin));
    return (await Promise.all(samples)).join();
  }

  async close(): Promise<void> {
    await this.#stream?.cancel();
    this.#stream = null;
    this.#free.length = 0;
  }

  async #sample(begin: number): Promise<string> {
    const end = Math.min(begin + SAMPLE_BYTES, this.size);
    try {
      const bytes = await this.#slice(begin, end);
      checkLength(this.name, begin, end, bytes.length);
      return String.fromCharCode(...bytes);
    } catch (thrown) {
      throw readError(this.name, thrown);
    }
  }

  /** The stream that goes on at `begin`, a new one, or null when a slice is better. */
  #streamFor(begin: number, end: number): BlobStream | null {
    if (!this.#streams || begin === end) return null;
    if (this.#stream?.position === begin && end <= this.#stream.end) return this.#stream;
    if (end - begin < STREAM_WINDOW_BYTES_MIN) return null;
    void this.#stream?.cancel();
    this.#stream = new BlobStream(this.#blob, begin, Math.min(this.size, begin + STREAM_BYTES_MAX));
    return this.#stream;
  }

  async #slice(begin: number, end: number): Promise<Uint8Array> {
    return new Uint8Array(await this.#blob.slice(begin, end).arrayBuffer());
  }

  #buffer(lengthBytes: number): ArrayBuffer {
    const found = this.#free.findIndex((buffer) => buffer.byteLength >= lengthBytes);
    const [buffer] = found < 0 ? [] : this.#free.splice(found, 1);
    return buffer ?? new ArrayBuffer(Math.max(lengthBytes, BUFFER_BYTES));
  }
}

/** One range of a blob, read in order. Buffers are handed to the reader and come back with the bytes. */
class BlobStream {
  position: number;
  readonly end: number;
  readonly #reader: ReadableStreamBYOBReader;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blob: Blob, begin: number, end: number) {
    this.position = begin;
    this.end = end;
    this.#reader = blob.slice(begin, end).stream().getReader({ mode: 'byob' });
  }

  async read(buffer: ArrayBuffer, lengthBytes: number): Promise<Uint8Array> {
    this.position += lengthBytes;
    const reading = this.#reader.read(new Uint8Array(buffer, 0, lengthBytes), { min: lengthBytes });
    this.#last = reading.catch(() => {});
    const { value } = await reading;
    return value ?? new Uint8Array();
  }

  /** Cancelling settles queued reads without their bytes, so those are awaited first. */
  async cancel(): Promise<void> {
    await this.#last;
    await this.#reader.cancel().catch(() => {});
  }
}

let streamsWork: Promise<boolean> | null = null;

/** Do blobs stream into our own buffers, and does a read fill the whole view? */
async function testStreams(): Promise<boolean> {
  try {
    const reader = new Blob([new Uint8Array(3)]).stream().getReader({ mode: 'byob' });
    await reader.cancel();
    return await readsFillTheView();
  } catch {
    return false;
  }
}

/** An engine that does not know `min` ignores it and returns after the first chunk. */
async function readsFillTheView(): Promise<boolean> {
  const source: UnderlyingByteSource = {
    type: 'bytes',
    pull: (controller) => controller.enqueue(new Uint8Array(1)),
  };
  const reader = new ReadableStream(source, { highWaterMark: 0 }).getReader({ mode: 'byob' });
  const { value } = await reader.read(new Uint8Array(2), { min: 2 });
  await reader.cancel();
  return value?.length === 2;
}

/** WebKit lets dead ArrayBuffers pile up to a gigabyte; a detached one costs nothing. */
function freeAtOnce(buffer: ArrayBuffer & { transfer?: (newLength: number) => ArrayBuffer }): void {
  if (buffer.byteLength > 0) buffer.transfer?.(0);
}

function readError(name: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const reason = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const gone = thrown instanceof DOMException && ['NotReadableError', 'NotFoundError'].includes(thrown.name);
  if (!gone) return new CoreError('read_failed', name, reason);
  return new CoreError(
    'read_failed',
    name,
    `the browser can no longer read the file: it was changed, moved or its disk is gone (${reason})`,
  );
}
