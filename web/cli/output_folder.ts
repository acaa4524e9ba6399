// A folder on disk as the place of an output: filled beside its place under another name, renamed when all is
// whole. What has the folder's name is finished.
import { mkdir, readdir, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '../engine/errors';
import type { OutputFolder } from '../engine/set_sink';
import { type ByteSink, writeError } from '../engine/sink';
import type { ByteSource } from '../engine/source';
import { checkRoom } from './disk_room';
import { FileSink } from './file_sink';
import { FileSource } from './file_source';

export class DiskFolder implements OutputFolder {
  readonly #target: string;
  readonly #partial: string;
  #made = false;

  private constructor(target: string) {
    this.#target = target;
    this.#partial = `${target}.${process.pid}.partial`;
  }

  static async at(output: string): Promise<DiskFolder> {
    return new DiskFolder(await DiskFolder.placeAt(output));
  }

  /** The real path. Looks before any work is done: a folder with something in it is never written into. */
  static async placeAt(output: string): Promise<string> {
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
    await checkRoom(this.#target, sizeBytes);
    try {
      await mkdir(this.#partial);
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#made = true;
  }

  sink(name: string): Promise<ByteSink> {
    return FileSink.at(join(this.#partial, name), []);
  }

  source(name: string): Promise<ByteSource> {
    return FileSource.open(name, join(this.#partial, name));
  }

  addFile(name: string, bytes: Uint8Array): Promise<void> {
    return writeSmallFile(join(this.#partial, name), bytes);
  }

  /** rename replaces an empty folder, and nothing else. */
  async commit(): Promise<void> {
    try {
      await rename(this.#partial, this.#target);
    } catch (thrown) {
      throw writeError(this.#target, thrown);
    }
    this.#made = false;
  }

  async abort(): Promise<void> {
    if (!this.#made) return;
    this.#made = false;
    await rm(this.#partial, { recursive: true, force: true }).catch(() => {});
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
