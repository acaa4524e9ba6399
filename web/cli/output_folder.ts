// A folder on disk as the place of an output: filled beside its place under another name, renamed when all is
// whole. What has the folder's name is finished.
import { mkdir, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '../engine/errors';
import type { ResumableFolder } from '../engine/set_sink';
import { type ByteSink, type Resumable, writeError } from '../engine/sink';
import type { ByteSource } from '../engine/source';
import { checkRoom } from './disk_room';
import { FileSink } from './file_sink';
import { FileSource } from './file_source';
import { Partial } from './partial';

export class DiskFolder implements ResumableFolder {
  readonly keepsCancelled = true;
  readonly #target: string;
  readonly #partial: Partial;
  readonly #goesOn: boolean;
  #made = false;
  #suspended = false;

  private constructor(target: string, goesOn: boolean) {
    this.#target = target;
    this.#partial = Partial.beside(target);
    this.#goesOn = goesOn;
  }

  /** `goesOn`: with what an ended process left. */
  static async at(output: string, goesOn = false): Promise<DiskFolder> {
    return new DiskFolder(await DiskFolder.placeAt(output), goesOn);
  }

  /** The real path. Looks before any work is done: a folder with something in it is never written into. */
  private static async placeAt(output: string): Promise<string> {
    const existing = await stat(output).catch(() => null);
    if (existing !== null && !existing.isDirectory()) {
      throw new CoreError('output_exists', output, 'a folder is to be written here, and there is a file of that name');
    }
    if (existing !== null && (await readdir(output)).length > 0) {
      throw new CoreError('output_exists', output, 'the folder is not empty; name a new one or an empty one');
    }
    if (existing !== null) return realpath(output);
    const plain = output.replace(/[/\\]+$/, '');
    const parent = await realpath(dirname(plain)).catch(() => {
      throw new CoreError('not_found', dirname(plain), 'there is no such folder to write to');
    });
    return join(parent, basename(plain));
  }

  async open(sizeBytes: number): Promise<void> {
    await this.checkRoom(sizeBytes);
    try {
      await this.#partial.claim((path) => mkdir(path));
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#made = true;
  }

  async readJournal(): Promise<string | null> {
    return this.#goesOn ? this.#partial.readLeft() : null;
  }

  async reopen(sizeBytes: number, names: readonly string[]): Promise<void> {
    await this.checkRoom(sizeBytes);
    try {
      await this.#partial.takeOver();
      for (const entry of await readdir(this.#partial.path)) {
        if (!names.includes(entry)) await rm(join(this.#partial.path, entry), { recursive: true });
      }
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#made = true;
  }

  note(line: string): Promise<void> {
    return this.#partial.note(line);
  }

  suspend(): void {
    this.#suspended = true;
  }

  /** Where an unfinished output was left for later. */
  get kept(): string | null {
    return this.#suspended ? this.#partial.path : null;
  }

  checkRoom(sizeBytes: number): Promise<void> {
    return checkRoom(this.#target, sizeBytes);
  }

  async sink(name: string): Promise<ByteSink & Resumable> {
    await mkdir(dirname(join(this.#partial.path, name)), { recursive: true });
    return FileSink.inside(join(this.#partial.path, name));
  }

  source(name: string): Promise<ByteSource> {
    return FileSource.open(name, join(this.#partial.path, name));
  }

  addFile(name: string, bytes: Uint8Array): Promise<void> {
    return writeSmallFile(join(this.#partial.path, name), bytes);
  }

  async commit(): Promise<void> {
    try {
      await this.#partial.finish();
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#made = false;
  }

  async abort(): Promise<void> {
    if (!this.#made) return;
    this.#made = false;
    await this.#partial.remove();
  }
}

export async function writeSmallFile(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes, { flag: 'wx', flush: true });
  } catch (thrown) {
    throw writeError(path, thrown);
  }
}
