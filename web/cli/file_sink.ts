// Writes beside the target under another name, straight from the wasm heap, and renames when all is
// well: what has the target's name is whole, on disk and verified.
import { closeSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '../engine/errors';
import { type ByteSink, checkWritten, writeError } from '../engine/sink';
import type { ByteSource } from '../engine/source';
import { checkRoom } from './disk_room';
import { FileSource } from './file_source';

export class FileSink implements ByteSink {
  readonly #target: string;
  readonly #partial: string;
  #file: number | null = null;
  #sizeBytes = 0;

  private constructor(target: string) {
    this.#target = target;
    this.#partial = `${target}.${process.pid}.partial`;
  }

  /** Looks at the target before any work is done; writes nothing yet. */
  static async at(output: string, inputs: readonly string[]): Promise<FileSink> {
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
    return new FileSink(target);
  }

  async open(sizeBytes: number): Promise<void> {
    this.#sizeBytes = sizeBytes;
    await checkRoom(this.#target, sizeBytes);
    try {
      this.#file = openSync(this.#partial, 'wx');
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
  }

  write(bytes: Uint8Array): void {
    const file = this.#opened();
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done);
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
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
    return FileSource.open(basename(this.#target), this.#partial);
  }

  async commit(): Promise<void> {
    closeSync(this.#opened());
    this.#file = null;
    try {
      await rename(this.#partial, this.#target);
    } catch (thrown) {
      await unlink(this.#partial).catch(() => {});
      throw writeError(this.#target, thrown);
    }
  }

  async abort(): Promise<void> {
    if (this.#file === null) return;
    closeSync(this.#file);
    this.#file = null;
    await unlink(this.#partial).catch(() => {});
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
