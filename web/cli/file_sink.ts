// Writes beside the target under another name, straight from the wasm heap, and renames when all is
// well: what has the target's name is whole, on disk and verified.
import { closeSync, fdatasync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CoreError } from '../engine/errors';
import { type ByteSink, checkWritten, type Resumable, writeError } from '../engine/sink';
import type { ByteSource } from '../engine/source';
import { checkRoom } from './disk_room';
import { FileSource } from './file_source';
import { Partial } from './partial';

const dataSync = promisify(fdatasync);

/**
 * Linux gives one big piece of memory to a big write to ext4 (6.18: from 1 MiB on), and a virtual machine may have to fetch it
 * from its host first: writing 2 GiB took 0.7 s in pieces up to 512 KiB, 5 to 8 s in pieces of 2 MiB (docs/performance.md).
 */
const WRITE_BYTES_MAX = 256 * 1024;

export class FileSink implements ByteSink, Resumable {
  readonly keepsCancelled = true;
  readonly #target: string;
  readonly #partial: Partial;
  readonly #goesOn: boolean;
  #file: number | null = null;
  #sizeBytes = 0;
  #position = 0;
  #flushing: Promise<void> = Promise.resolve();
  #suspended = false;

  private constructor(target: string, partial: Partial, goesOn: boolean) {
    this.#target = target;
    this.#partial = partial;
    this.#goesOn = goesOn;
  }

  /** Looks at the target before any work is done; writes nothing yet. `goesOn`: with what an ended process left. */
  static async at(output: string, inputs: readonly string[], goesOn = false): Promise<FileSink> {
    const target = await resolveTarget(output);
    const existing = await stat(target).catch(() => null);
    if (existing !== null && !existing.isFile()) {
      throw new CoreError('write_failed', output, 'the output exists and is not a file');
    }
    for (const input of existing === null ? [] : inputs) {
      const { dev, ino } = await stat(input);
      if (dev === existing?.dev && ino === existing.ino) {
        throw new CoreError('output_exists', output, `the output is the input ${input}; choose another name`);
      }
    }
    return new FileSink(target, Partial.beside(target), goesOn);
  }

  /** A file of a folder that is itself not finished. */
  static inside(path: string): FileSink {
    return new FileSink(path, Partial.inside(path), false);
  }

  get resumable(): Resumable {
    return this;
  }

  /** Where an unfinished output was left for later. */
  get kept(): string | null {
    return this.#suspended ? this.#partial.path : null;
  }

  async open(sizeBytes: number): Promise<void> {
    this.#sizeBytes = sizeBytes;
    this.#position = 0;
    await checkRoom(this.#target, sizeBytes);
    try {
      await this.#partial.claim((path) => {
        this.#file = openSync(path, 'wx');
      });
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
  }

  async readJournal(): Promise<string | null> {
    return this.#goesOn ? this.#partial.readLeft() : null;
  }

  async reopen(sizeBytes: number, keptBytes: number): Promise<void> {
    this.#sizeBytes = sizeBytes;
    this.#position = keptBytes;
    await checkRoom(this.#target, sizeBytes - keptBytes);
    try {
      await this.#partial.takeOver();
      this.#file = openSync(this.#partial.path, 'r+');
      if (fstatSync(this.#file).size < keptBytes) {
        throw new CoreError('resume_refused', this.#partial.path, `it has not the ${keptBytes} bytes that it should`);
      }
      ftruncateSync(this.#file, keptBytes);
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
  }

  async written(): Promise<ByteSource> {
    return this.readBack();
  }

  write(bytes: Uint8Array): void {
    const file = this.#opened();
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(file, bytes, done, Math.min(WRITE_BYTES_MAX, bytes.length - done), this.#position + done);
      }
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#position += bytes.length;
  }

  flush(): Promise<void> {
    this.#flushing = dataSync(this.#opened());
    return this.#flushing;
  }

  note(line: string): Promise<void> {
    return this.#partial.note(line);
  }

  async close(): Promise<void> {
    const file = this.#opened();
    try {
      fsyncSync(file);
      checkWritten(this.#target, this.#sizeBytes, fstatSync(file).size);
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
  }

  async readBack(): Promise<ByteSource> {
    return FileSource.open(basename(this.#target), this.#partial.path);
  }

  async commit(): Promise<void> {
    this.#opened();
    await this.#closeFile();
    try {
      await this.#partial.finish();
    } catch (thrown) {
      await this.#partial.remove();
      throw writeError(this.#target, thrown);
    }
  }

  async suspend(): Promise<void> {
    this.#suspended = true;
    await this.#closeFile();
  }

  async abort(): Promise<void> {
    if (this.#file === null) return;
    await this.#closeFile();
    await this.#partial.remove();
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    await this.#flushing.catch(() => {});
    if (file !== null) closeSync(file);
  }

  #opened(): number {
    if (this.#file === null) throw new CoreError('wrong_state', this.#target, 'the output is not open');
    return this.#file;
  }
}

/** A link is written through, not replaced; a folder that is not there is said before the work, not after. */
async function resolveTarget(output: string): Promise<string> {
  const existing = await realpath(output).catch(() => null);
  if (existing !== null) return existing;
  try {
    return join(await realpath(dirname(output)), basename(output));
  } catch {
    throw new CoreError('not_found', dirname(output), 'there is no such folder to write to');
  }
}
