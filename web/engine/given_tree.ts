// The files a user chose or dropped, as a tree.
import { BlobSource } from './blob_source';
import { CoreError } from './errors';
import type { FileTree } from './file_tree';
import { baseName, type LayoutFile } from './layouts';
import type { GivenFile } from './protocol';
import type { ByteSource } from './source';

export class GivenTree implements FileTree {
  readonly files: readonly LayoutFile[];
  readonly #given: ReadonlyMap<string, File>;

  constructor(given: readonly GivenFile[]) {
    this.files = given.map(({ path, file }) => ({ path, size: file.size }));
    // The first of a path stays, as in a layout.
    this.#given = new Map([...given].reverse().map(({ path, file }) => [path, file]));
  }

  async read({ path }: LayoutFile): Promise<Uint8Array> {
    try {
      return new Uint8Array(await this.#file(path).arrayBuffer());
    } catch (thrown) {
      if (thrown instanceof CoreError) throw thrown;
      throw new CoreError('read_failed', path, thrown instanceof Error ? thrown.message : String(thrown));
    }
  }

  open({ path }: LayoutFile): Promise<ByteSource> {
    return BlobSource.open(baseName(path), this.#file(path));
  }

  #file(path: string): File {
    const file = this.#given.get(path);
    if (file === undefined) throw new CoreError('not_found', path, 'this file was not given');
    return file;
  }
}
