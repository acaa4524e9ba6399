// Output in several files of one folder: the stream of a conversion cut at the files' borders, each piece into
// a sink of its own. The folder is only there, or only looks finished, when everything in it is whole.
import { CoreError } from './errors';
import type { ByteSink, OutputFile, Resumable } from './sink';
import { type ByteSource, checkRange } from './source';

/** A folder to be filled. After abort nothing is left in it that looks finished. */
export interface OutputFolder {
  /** Claims the room: no_space, output_exists. */
  open(sizeBytes: number, names: readonly string[]): Promise<void>;
  /** `name` may stand in a folder of its own. */
  sink(name: string): Promise<ByteSink>;
  /** Where the system can say. Errc: no_space. */
  checkRoom?(sizeBytes: number): Promise<void>;
  /** A file that `sink` wrote, to be read back. */
  source(name: string): Promise<ByteSource>;
  /** A small file, whole; `name` may stand in a folder of its own. */
  addFile(name: string, bytes: Uint8Array): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

/** A folder that can be left unfinished, and found again by a later run. */
export interface ResumableFolder extends OutputFolder {
  readonly keepsCancelled: boolean;
  sink(name: string): Promise<ByteSink & Resumable>;
  /** The journal of the unfinished one; null: there is none, or nobody asked. Errc: resume_refused. */
  readJournal(): Promise<string | null>;
  /** Instead of open: nothing but the files of these names stays. `sizeBytes`: what is still to come. */
  reopen(sizeBytes: number, names: readonly string[]): Promise<void>;
  note(line: string): Promise<void>;
  /** Instead of abort. */
  suspend(): void;
}

const APPEND_BYTES = 4 * 1024 * 1024;

export class SetSink implements ByteSink {
  readonly resumable: Resumable | undefined;
  readonly #folder: OutputFolder;
  #files: readonly OutputFile[] = [];
  #next = 0;
  #sink: ByteSink | null = null;
  /** bytes of the file at hand that are still to come */
  #leftBytes = 0;

  constructor(folder: OutputFolder) {
    this.#folder = folder;
    this.resumable = isResumable(folder) ? new ResumableSet(this, folder) : undefined;
  }

  async open(sizeBytes: number, files: readonly OutputFile[] = []): Promise<void> {
    this.#files = files;
    await this.#folder.open(
      sizeBytes,
      files.map(({ name }) => name),
    );
  }

  /** The file that `keptBytes` end in goes on; those before it are finished. */
  async reopen(
    folder: ResumableFolder,
    sizeBytes: number,
    keptBytes: number,
    files: readonly OutputFile[],
  ): Promise<void> {
    this.#files = files;
    const kept = filesUpTo(files, keptBytes);
    await folder.reopen(
      sizeBytes - keptBytes,
      kept.map(({ name }) => name),
    );
    const last = kept.at(-1);
    const file = files[kept.length - 1];
    if (last === undefined || file === undefined) return;
    const sink = await folder.sink(last.name);
    await sink.reopen(file.bytes, last.bytes);
    this.#sink = sink;
    this.#next = kept.length;
    this.#leftBytes = file.bytes - last.bytes;
  }

  /** Files that are finished are with the system already. */
  flush(): void | Promise<void> {
    return this.#sink?.resumable?.flush();
  }

  async suspend(): Promise<void> {
    await this.#sink?.resumable?.suspend();
    this.#sink = null;
  }

  /** Only at a border between two files does anything have to be awaited before the bytes are taken. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#sink === null || bytes.length > this.#leftBytes) return this.#writeAcross(bytes);
    this.#leftBytes -= bytes.length;
    return this.#sink.write(bytes);
  }

  /** A piece never reaches over a border: every file begins with its header. */
  async append(piece: Blob): Promise<void> {
    const sink = this.#sink;
    if (sink === null || piece.size > this.#leftBytes)
      throw new CoreError('verify_failed', '', 'a piece of the output reaches over the end of its file');
    this.#leftBytes -= piece.size;
    if (sink.append) return sink.append(piece);
    for (let at = 0; at < piece.size; at += APPEND_BYTES) {
      const bytes = new Uint8Array(await piece.slice(at, at + APPEND_BYTES).arrayBuffer());
      await sink.write(bytes);
    }
  }

  async close(): Promise<void> {
    await this.#finishFile();
    if (this.#next < this.#files.length)
      throw new CoreError('verify_failed', '', 'the output ended before its last file');
  }

  async readBack(): Promise<ByteSource> {
    return new JoinedSource(this.#files, (name) => this.#folder.source(name));
  }

  /** Only between close and commit. */
  addFile(name: string, bytes: Uint8Array): Promise<void> {
    return this.#folder.addFile(name, bytes);
  }

  commit(): Promise<void> {
    return this.#folder.commit();
  }

  async abort(): Promise<void> {
    await this.#sink?.abort();
    this.#sink = null;
    await this.#folder.abort();
  }

  /** The caller awaits this before the view dies. */
  async #writeAcross(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.#leftBytes === 0) await this.#beginFile();
      const until = Math.min(bytes.length, at + this.#leftBytes);
      this.#leftBytes -= until - at;
      const writing = this.#sink?.write(bytes.subarray(at, until));
      if (writing) await writing;
      at = until;
    }
  }

  async #beginFile(): Promise<void> {
    await this.#finishFile();
    const file = this.#files[this.#next];
    if (file === undefined) throw new CoreError('verify_failed', '', 'the output goes on after its last file');
    this.#next += 1;
    this.#sink = await this.#folder.sink(file.name);
    await this.#sink.open(file.bytes);
    this.#leftBytes = file.bytes;
  }

  /** Named at once, so that no more than one file is open: the folder as a whole is not finished yet. */
  async #finishFile(): Promise<void> {
    const sink = this.#sink;
    if (sink === null) return;
    if (this.#leftBytes > 0) throw new CoreError('verify_failed', '', 'a file of the output is not full');
    await sink.close();
    await sink.commit();
    this.#sink = null;
  }
}

/** SetSink on a folder that can be found again. */
class ResumableSet implements Resumable {
  readonly #set: SetSink;
  readonly #folder: ResumableFolder;
  #kept: readonly OutputFile[] = [];

  constructor(set: SetSink, folder: ResumableFolder) {
    this.#set = set;
    this.#folder = folder;
  }

  get keepsCancelled(): boolean {
    return this.#folder.keepsCancelled;
  }

  readJournal(): Promise<string | null> {
    return this.#folder.readJournal();
  }

  async reopen(sizeBytes: number, keptBytes: number, files: readonly OutputFile[] = []): Promise<void> {
    await this.#set.reopen(this.#folder, sizeBytes, keptBytes, files);
    this.#kept = filesUpTo(files, keptBytes);
  }

  async written(): Promise<ByteSource> {
    return new JoinedSource(this.#kept, (name) => this.#folder.source(name));
  }

  flush(): void | Promise<void> {
    return this.#set.flush();
  }

  note(line: string): Promise<void> {
    return this.#folder.note(line);
  }

  async suspend(): Promise<void> {
    await this.#set.suspend();
    this.#folder.suspend();
  }
}

function isResumable(folder: OutputFolder): folder is ResumableFolder {
  return 'reopen' in folder;
}

/** The files that the first `keptBytes` of the output stand in, the last one as far as it goes. */
function filesUpTo(files: readonly OutputFile[], keptBytes: number): OutputFile[] {
  const kept: OutputFile[] = [];
  let leftBytes = keptBytes;
  for (const { name, bytes } of files) {
    if (leftBytes === 0) break;
    kept.push({ name, bytes: Math.min(bytes, leftBytes) });
    leftBytes -= Math.min(bytes, leftBytes);
  }
  return kept;
}

/** Several files read as one, the next one opened when it is reached. */
class JoinedSource implements ByteSource {
  readonly name = 'output';
  readonly size: number;
  readonly #files: readonly OutputFile[];
  readonly #open: (name: string) => Promise<ByteSource>;
  #current: { name: string; source: ByteSource } | null = null;
  /** reads may overlap in time; the files are opened one after the other */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(files: readonly OutputFile[], open: (name: string) => Promise<ByteSource>) {
    this.#files = files;
    this.#open = open;
    this.size = files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  read(begin: number, end: number): Promise<Uint8Array> {
    const reading = this.#turn.then(() => this.#read(begin, end));
    this.#turn = reading.catch(() => {});
    return reading;
  }

  release(): void {}

  async fingerprint(): Promise<string> {
    return String(this.size);
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#current?.source.close();
    this.#current = null;
  }

  async #read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    const all = new Uint8Array(end - begin);
    let fileBegin = 0;
    for (const { name, bytes } of this.#files) {
      const from = Math.max(begin, fileBegin);
      const to = Math.min(end, fileBegin + bytes);
      if (from < to) {
        const source = await this.#sourceOf(name, bytes);
        const part = await source.read(from - fileBegin, to - fileBegin);
        all.set(part, from - begin);
        source.release(part);
      }
      fileBegin += bytes;
    }
    return all;
  }

  async #sourceOf(name: string, sizeBytes: number): Promise<ByteSource> {
    if (this.#current?.name === name) return this.#current.source;
    await this.#current?.source.close();
    this.#current = null;
    const source = await this.#open(name);
    this.#current = { name, source };
    if (source.size === sizeBytes) return source;
    throw new CoreError('verify_failed', name, `the file has ${source.size} bytes where ${sizeBytes} were written`);
  }
}
