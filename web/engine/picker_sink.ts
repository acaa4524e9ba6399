// A file the user chose in the save dialog (Chromium). The browser writes beside the target and puts
// it in place on close, which rereads the whole file: about 4 s per GB without any progress.
import { BlobSource } from './blob_source';
import { CoreError } from './errors';
import { type ByteSink, checkWritten, writeError } from './sink';
import type { ByteSource } from './source';

/** Every write is a message to the browser process, so output is gathered into few large ones. */
const BATCH_BYTES = 8 * 1024 * 1024;

/** `mode` keeps a second tab from writing the same file; engines without it ignore it. */
type WritableOptions = FileSystemCreateWritableOptions & { mode?: 'exclusive' | 'siloed' };
type RemovableHandle = FileSystemFileHandle & { remove?: () => Promise<void> };

export class PickerSink implements ByteSink {
  readonly #handle: RemovableHandle;
  #stream: FileSystemWritableFileStream | null = null;
  #closed = false;
  #sizeBytes = 0;
  /** two buffers take turns: one is filled while the other is being written */
  #filling: Uint8Array<ArrayBuffer> = new Uint8Array();
  #filledBytes = 0;
  #spare: Uint8Array<ArrayBuffer> = new Uint8Array();
  #writing: Promise<void> = Promise.resolve();

  constructor(handle: FileSystemFileHandle) {
    this.#handle = handle;
  }

  async open(sizeBytes: number): Promise<void> {
    this.#sizeBytes = sizeBytes;
    const options: WritableOptions = { keepExistingData: false, mode: 'exclusive' };
    try {
      this.#stream = await this.#handle.createWritable(options);
    } catch (thrown) {
      throw writeError(this.#handle.name, thrown);
    }
    const batchBytes = Math.min(BATCH_BYTES, Math.max(sizeBytes, 1));
    this.#filling = new Uint8Array(batchBytes);
    this.#spare = new Uint8Array(batchBytes);
  }

  /** Copies before it returns; a promise only when a batch is full and its forerunner still under way. */
  write(bytes: Uint8Array): void | Promise<void> {
    const taken = this.#take(bytes);
    if (this.#filledBytes < this.#filling.length) return;
    // The view dies when this returns, and what does not fit has no buffer yet.
    const rest = bytes.slice(taken);
    return this.#flush().then(() => (rest.length > 0 ? this.write(rest) : undefined));
  }

  /** The browser copies from file to file; nothing of it comes into this process. */
  async append(piece: Blob): Promise<void> {
    await this.#flush();
    await this.#writing;
    try {
      await this.#stream?.write(piece);
    } catch (thrown) {
      throw writeError(this.#handle.name, thrown);
    }
  }

  async close(): Promise<void> {
    await this.#flush();
    await this.#writing;
    try {
      await this.#stream?.close();
    } catch (thrown) {
      throw writeError(this.#handle.name, thrown);
    }
    this.#closed = true;
    checkWritten(this.#handle.name, this.#sizeBytes, (await this.#handle.getFile()).size);
  }

  async readBack(): Promise<ByteSource> {
    return BlobSource.open(this.#handle.name, await this.#handle.getFile());
  }

  async commit(): Promise<void> {}

  async abort(): Promise<void> {
    const stream = this.#stream;
    this.#stream = null;
    if (stream === null) return;
    await this.#writing.catch(() => {});
    await (this.#closed ? this.#empty() : stream.abort()).catch(() => {});
    await this.#removeIfEmpty().catch(() => {});
  }

  #take(bytes: Uint8Array): number {
    const taken = Math.min(bytes.length, this.#filling.length - this.#filledBytes);
    this.#filling.set(bytes.subarray(0, taken), this.#filledBytes);
    this.#filledBytes += taken;
    return taken;
  }

  /** Waits for the batch before, sends this one and does not wait for it. */
  async #flush(): Promise<void> {
    await this.#writing;
    const stream = this.#stream;
    if (stream === null) throw new CoreError('wrong_state', this.#handle.name, 'the output is not open');
    if (this.#filledBytes === 0) return;
    const batch = this.#filling.subarray(0, this.#filledBytes);
    this.#filling = this.#spare;
    this.#spare = new Uint8Array(batch.buffer);
    this.#filledBytes = 0;
    this.#writing = stream.write(batch).catch((thrown: unknown) => {
      throw writeError(this.#handle.name, thrown);
    });
    // It is awaited before the next batch; until then a failure must not count as unhandled.
    this.#writing.catch(() => {});
  }

  /** The file was already put in place when verifying it failed: what is wrong must not look finished. */
  async #empty(): Promise<void> {
    await (await this.#handle.createWritable({ keepExistingData: false })).close();
  }

  /** The dialog itself made an empty file; one with bytes is the user's older one, untouched so far. */
  async #removeIfEmpty(): Promise<void> {
    if ((await this.#handle.getFile()).size === 0) await this.#handle.remove?.();
  }
}
