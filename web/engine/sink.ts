// Where a converted file goes. The order of calls is open, write..., close, (readBack), commit; after
// an abort at any point nothing is left that looks like a finished file.
import { CoreError } from './errors';
import { type ByteSource, MemorySource } from './source';

/** One file of an output, as the plan states it. */
export interface OutputFile {
  name: string;
  bytes: number;
}

/** What a sink can do whose unfinished output outlives the job, so that a later one goes on with it. */
export interface Resumable {
  /** a stop by the user leaves the output for later, as a broken connection does */
  readonly keepsCancelled: boolean;
  /** The journal beside an unfinished output; null: there is none, or nobody asked to go on. Errc: resume_refused. */
  readJournal(): Promise<string | null>;
  /** Instead of open: of what is there the first `keptBytes` stay. */
  reopen(sizeBytes: number, keptBytes: number, files?: readonly OutputFile[]): Promise<void>;
  /** What is there so far, to be read back before more is appended. */
  written(): Promise<ByteSource>;
  /** Everything written before the call is safe when this settles; more may be written meanwhile. */
  flush(): void | Promise<void>;
  /** Appends a line to the journal. */
  note(line: string): void | Promise<void>;
  /** Instead of abort: what was written stays, with its journal. Never throws. */
  suspend(): Promise<void>;
}

export interface ByteSink {
  readonly resumable?: Resumable | undefined;
  /**
   * Claims the room for the whole output before the first byte: no_space, no_sink, output_exists. `files` say where
   * in the stream a new file begins; a sink of one file has no use for them.
   */
  open(sizeBytes: number, files?: readonly OutputFile[]): Promise<void>;
  /**
   * Appends. `bytes` is a view on the wasm heap that dies when this returns: a sink that is not done by
   * then has copied, and returns a promise that settles when it has room for more.
   */
  write(bytes: Uint8Array): void | Promise<void>;
  /** Appends a piece of a file without anybody here reading it; only where the platform can. */
  append?(piece: Blob): Promise<void>;
  /** Every byte is with the system; the file has not its final name yet where that can be avoided. */
  close(): Promise<void>;
  /** What was written, for verifying. Only after close, and only where this process may read it. */
  readBack?(): Promise<ByteSource>;
  /** Lets the file look finished. */
  commit(): Promise<void>;
  /** Removes what was written. May be called at any time, also twice; never throws. */
  abort(): Promise<void>;
}

/** Error names that mean a full disk or quota: the specified one, Firefox's own, and Node's. */
const NO_SPACE_NAMES = ['QuotaExceededError', 'NS_ERROR_FILE_NO_DEVICE_SPACE', 'ENOSPC', 'EDQUOT', 'EFBIG'];

/** Any thrown value of a write as the error to show. */
export function writeError(where: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  if (!(thrown instanceof Error)) return new CoreError('write_failed', where, String(thrown));
  const code = (thrown as { code?: unknown }).code;
  const full = NO_SPACE_NAMES.some((name) => name === thrown.name || name === code || thrown.message.includes(name));
  return new CoreError(full ? 'no_space' : 'write_failed', where, `${thrown.name}: ${thrown.message}`);
}

/** A short write throws nothing in some engines; it only returns another number. */
export function checkWritten(where: string, wantedBytes: number, writtenBytes: number): void {
  if (writtenBytes === wantedBytes) return;
  throw new CoreError('no_space', where, `a write of ${wantedBytes} bytes wrote ${writtenBytes}: the disk is full`);
}

export const MEMORY_SINK_BYTES_MAX = 256 * 1024 * 1024;

/** Small outputs only: the whole file in one buffer. */
export class MemorySink implements ByteSink {
  #bytes: Uint8Array<ArrayBuffer> | null = null;
  #position = 0;

  async open(sizeBytes: number): Promise<void> {
    if (sizeBytes > MEMORY_SINK_BYTES_MAX) {
      throw new CoreError(
        'no_sink',
        '',
        `${sizeBytes} bytes are too many to hold in memory (${MEMORY_SINK_BYTES_MAX})`,
      );
    }
    this.#position = 0;
    this.#bytes = new Uint8Array(sizeBytes);
  }

  write(bytes: Uint8Array): void {
    const room = (this.#bytes?.length ?? 0) - this.#position;
    if (this.#bytes === null || bytes.length > room) {
      throw new CoreError('write_failed', '', `a write of ${bytes.length} bytes where ${room} are left`);
    }
    this.#bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  async close(): Promise<void> {}

  async readBack(): Promise<ByteSource> {
    return new MemorySource('output', this.#written());
  }

  async commit(): Promise<void> {}

  async abort(): Promise<void> {
    this.#bytes = null;
    this.#position = 0;
  }

  blob(): Blob {
    return new Blob([this.#written()]);
  }

  #written(): Uint8Array<ArrayBuffer> {
    return this.#bytes?.subarray(0, this.#position) ?? new Uint8Array();
  }
}
