// A folder on disk as a tree of files.
import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '../engine/errors';
import type { FileTree } from '../engine/file_tree';
import { baseName, type LayoutFile } from '../engine/layouts';
import type { ByteSource } from '../engine/source';
import { FileSource, readError } from './file_source';

const FOLDER_DEPTH_MAX = 4;
const FOLDER_FILES_MAX = 20_000;

export class FolderTree implements FileTree {
  readonly files: LayoutFile[] = [];

  readonly root: string;
  readonly #wanted: (name: string) => boolean;

  private constructor(root: string, wanted: (name: string) => boolean) {
    this.root = root;
    this.#wanted = wanted;
  }

  /** The folder and those in it. */
  static async of(root: string): Promise<FolderTree> {
    const tree = new FolderTree(root, () => true);
    await tree.#collect('', FOLDER_DEPTH_MAX);
    return tree;
  }

  /** Only the folder itself, and of its files only these: a checkpoint may lie among a million others. */
  static async flat(root: string, wanted: (name: string) => boolean): Promise<FolderTree> {
    const tree = new FolderTree(root, wanted);
    await tree.#collect('', 0);
    return tree;
  }

  pathOf(file: LayoutFile): string {
    return join(this.root, file.path);
  }

  async read(file: LayoutFile): Promise<Uint8Array> {
    try {
      return await readFile(this.pathOf(file));
    } catch (thrown) {
      throw readError(this.pathOf(file), thrown);
    }
  }

  open(file: LayoutFile): Promise<ByteSource> {
    return FileSource.open(baseName(file.path), this.pathOf(file));
  }

  /** Folders that begin with a dot (.git, .cache) hold no model of their own. */
  async #collect(folder: string, depth: number): Promise<void> {
    for (const entry of await entriesOf(join(this.root, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      const found = entry.isSymbolicLink() ? await stat(join(this.root, path)).catch(() => null) : entry;
      if (found?.isDirectory() && depth > 0 && !entry.name.startsWith('.')) await this.#collect(path, depth - 1);
      if (!found?.isFile() || !this.#wanted(entry.name)) continue;
      if (this.files.length === FOLDER_FILES_MAX) {
        throw new CoreError('read_failed', this.root, `the folder holds more than ${FOLDER_FILES_MAX} files`);
      }
      this.files.push({ path, size: await sizeOf(join(this.root, path)) });
    }
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (thrown) {
    throw readError(path, thrown);
  }
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (thrown) {
    throw readError(folder, thrown);
  }
}
