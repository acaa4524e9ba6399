// Where bytes come from. A source owns the memory of what it read: whoever is done with a read gives
// it back by `release`, so that converting 12 GB leaves no 12 GB of garbage.
import { CoreError } from './errors';

export interface ByteSource {
  readonly name: string;
  readonly size: number;
  /** Exactly the bytes [begin, end), or a CoreError. Reads may overlap in time. */
  read(begin: number, end: number): Promise<Uint8Array>;
  /** The same bytes as a blob that nobody has read yet; only where there is one. */
  slice?(begin: number, end: number): Blob;
  /** The bytes of an earlier read are no longer looked at; their memory may be reused or freed. */
  release(bytes: Uint8Array): void;
  /** Equal at two moments unless the file changed in between, as far as this environment can tell. */
  fingerprint(): Promise<string>;
  /** Names the file and its state to a later run too, without any secret; null: this file cannot be told from a changed one. */
  identity?(): Promise<string | null>;
  close(): Promise<void>;
  /** Far away: many small reads at once cost less than one after the other. */
  readonly isRemote?: boolean;
  /** Reads under way end with `cancelled`; later ones work. For sources whose reads may take long. */
  interrupt?(): void;
  /** A conversion begins: what `check` needs may be looked at from now on. */
  beginCheck?(): void;
  /** Whether what was read since beginCheck is what somebody stated about the file. Errc: hash_mismatch. */
  check?(): Promise<SourceCheck>;
}

export interface SourceCheck {
  name: string;
  /** null: not checked, `says` says why */
  sha256: string | null;
  says: string;
}

/** A read that came back short means that the file is no longer the one whose size was taken. */
export function checkLength(name: string, begin: number, end: number, gotBytes: number): void {
  if (gotBytes === end - begin) return;
  throw new CoreError(
    'source_changed',
    name,
    `a read of ${end - begin} bytes at offset ${begin} gave ${gotBytes}: the file changed since it was opened`,
  );
}

export function checkRange(name: string, begin: number, end: number, size: number): void {
  if (Number.isSafeInteger(begin) && Number.isSafeInteger(end) && begin >= 0 && begin <= end && end <= size) return;
  throw new CoreError('read_failed', name, `a read of bytes ${begin} to ${end} of a file of ${size} bytes`);
}

export class MemorySource implements ByteSource {
  readonly name: string;
  readonly #bytes: Uint8Array;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  async read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    return this.#bytes.subarray(begin, end);
  }

  release(): void {}

  async fingerprint(): Promise<string> {
    return String(this.size);
  }

  async close(): Promise<void> {}
}

/** Another source, counted: for tests, and for anyone who wants to know what a job costs. */
export class CountingSource implements ByteSource {
  reads = 0;
  bytes = 0;
  /** reads whose bytes were not given back yet */
  outstanding = 0;
  mostOutstanding = 0;
  readonly #inner: ByteSource;

  constructor(inner: ByteSource) {
    this.#inner = inner;
  }

  get name(): string {
    return this.#inner.name;
  }

  get size(): number {
    return this.#inner.size;
  }

  read(begin: number, end: number): Promise<Uint8Array> {
    this.reads += 1;
    this.bytes += end - begin;
    this.outstanding += 1;
    this.mostOutstanding = Math.max(this.mostOutstanding, this.outstanding);
    return this.#inner.read(begin, end);
  }

  release(bytes: Uint8Array): void {
    this.outstanding -= 1;
    this.#inner.release(bytes);
  }

  fingerprint(): Promise<string> {
    return this.#inner.fingerprint();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
