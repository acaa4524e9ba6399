// A File the user chose, read in the browser. Windows that follow each other are read from one ranged
// stream by a BYOB reader: against slice().arrayBuffer() that is 2-3 times less CPU and a tenth of the
// memory (docs/architecture.md). Engines without such streams read slices; lone small windows do everywhere.
import { BlobSlices, freeAtOnce } from './blob_slices';
import { BlobStream, blobsStream } from './blob_stream';
import { CoreError } from './errors';
import { type ByteSource, checkLength, checkRange } from './source';

/** Below this a lone window is not worth a stream or a large slice, and must not end the one that runs. */
const SEQUENTIAL_WINDOW_BYTES_MIN = 512 * 1024;
/** A stream covers this much at most: an engine that buffers ahead without bound then has a bound. */
const STREAM_BYTES_MAX = 64 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;
const FREE_BUFFERS_MAX = 4;
const SAMPLE_BYTES = 4096;

export class BlobSource implements ByteSource {
  readonly name: string;
  readonly #blob: Blob;
  readonly #slices: BlobSlices | null;
  readonly #free: ArrayBuffer[] = [];
  #stream: BlobStream | null = null;
  /** where the windows read so far in order end */
  #position = -1;

  private constructor(name: string, blob: Blob, streams: boolean) {
    this.name = name;
    this.#blob = blob;
    this.#slices = streams ? null : new BlobSlices(name, blob);
  }

  static async open(name: string, blob: Blob): Promise<BlobSource> {
    return new BlobSource(name, blob, await blobsStream());
  }

  get size(): number {
    return this.#blob.size;
  }

  /** Nothing is awaited before the read is queued, so that two windows may be asked for at once. */
  async read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    try {
      const bytes = await this.#start(begin, end);
      checkLength(this.name, begin, end, bytes.length);
      return bytes;
    } catch (thrown) {
      throw readError(this.name, thrown);
    }
  }

  slice(begin: number, end: number): Blob {
    checkRange(this.name, begin, end, this.size);
    return this.#blob.slice(begin, end);
  }

  release(bytes: Uint8Array): void {
    const buffer = bytes.buffer;
    if (!(buffer instanceof ArrayBuffer)) return;
    const reusable = buffer.byteLength >= BUFFER_BYTES && this.#free.length < FREE_BUFFERS_MAX;
    if (reusable) this.#free.push(buffer);
    else freeAtOnce(buffer);
  }

  /** A File never tells that the file behind it changed (Firefox reads on), so look at some of its bytes. */
  async fingerprint(): Promise<string> {
    const middle = Math.floor(this.size / 2);
    const begins = [0, middle, Math.max(0, this.size - SAMPLE_BYTES)];
    const samples = begins.map((begin) => this.#sample(begin));
    return (await Promise.all(samples)).join();
  }

  /** A page learns no more about a file: not even where it lies. */
  async identity(): Promise<string | null> {
    const blob = this.#blob;
    return blob instanceof File ? `${blob.name} ${blob.size} ${blob.lastModified}` : null;
  }

  async close(): Promise<void> {
    await this.#stream?.cancel();
    this.#stream = null;
    this.#slices?.close();
    this.#free.length = 0;
  }

  #start(begin: number, end: number): Promise<Uint8Array> {
    const goesOn = begin === this.#position && begin < end;
    if (!goesOn && end - begin < SEQUENTIAL_WINDOW_BYTES_MIN) return this.#slice(begin, end);
    this.#position = end;
    if (this.#slices) return this.#slices.read(this.#buffer(end - begin), begin, end);
    return this.#streamAt(begin, end).read(this.#buffer(end - begin), end - begin);
  }

  /** The stream that goes on at `begin`, or a new one. */
  #streamAt(begin: number, end: number): BlobStream {
    const running = this.#stream;
    if (running?.position === begin && end <= running.end) return running;
    void running?.cancel();
    this.#stream = new BlobStream(this.#blob, begin, Math.max(end, Math.min(this.size, begin + STREAM_BYTES_MAX)));
    return this.#stream;
  }

  async #slice(begin: number, end: number): Promise<Uint8Array> {
    return new Uint8Array(await this.#blob.slice(begin, end).arrayBuffer());
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

  #buffer(lengthBytes: number): ArrayBuffer {
    const found = this.#free.findIndex((buffer) => buffer.byteLength >= lengthBytes);
    const [buffer] = found < 0 ? [] : this.#free.splice(found, 1);
    return buffer ?? new ArrayBuffer(Math.max(lengthBytes, BUFFER_BYTES));
  }
}

/** A slice fails with NotReadableError or NotFoundError, a stream in Chromium with "network error": one cause. */
function readError(name: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const reason = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  const meaning = 'the browser can no longer read the file: it was changed, moved or its disk is gone';
  return new CoreError('read_failed', name, `${meaning} (${reason})`);
}
