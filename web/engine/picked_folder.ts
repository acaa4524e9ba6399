// A new folder inside one that the user chose (Chromium). A browser cannot rename a folder, so an unfinished one
// is told by a note in it and by what is missing: the index and the config are written last.
import { BlobSource } from './blob_source';
import { CoreError } from './errors';
import { PickerSink } from './picker_sink';
import type { OutputFolder } from './set_sink';
import { type ByteSink, writeError } from './sink';
import type { ByteSource } from './source';

export const UNFINISHED_NAME = 'UNFINISHED.txt';
const UNFINISHED_WORDS =
  'Weighbridge is still writing this folder, or was stopped while it did. Its files are not a whole model.\n';

export class PickedFolder implements OutputFolder {
  readonly #parent: FileSystemDirectoryHandle;
  readonly #name: string;
  #folder: FileSystemDirectoryHandle | null = null;

  constructor(parent: FileSystemDirectoryHandle, name: string) {
    this.#parent = parent;
    this.#name = name;
  }

  /** Room cannot be asked for here: the write that finds none says so. */
  async open(): Promise<void> {
    try {
      const folder = await this.#parent.getDirectoryHandle(this.#name, { create: true });
      for await (const entry of folder.keys()) {
        throw new CoreError('output_exists', this.#name, `the folder is there and not empty: it holds ${entry}`);
      }
      this.#folder = folder;
      await this.addFile(UNFINISHED_NAME, new TextEncoder().encode(UNFINISHED_WORDS));
    } catch (thrown) {
      throw writeError(this.#name, thrown);
    }
  }

  async sink(name: string): Promise<ByteSink> {
    return new PickerSink(await this.#handle(name));
  }

  async source(name: string): Promise<ByteSource> {
    return BlobSource.open(name, await (await this.#handle(name)).getFile());
  }

  async addFile(name: string, bytes: Uint8Array): Promise<void> {
    try {
      const stream = await (await this.#handle(name)).createWritable();
      await stream.write(new Uint8Array(bytes));
      await stream.close();
    } catch (thrown) {
      throw writeError(name, thrown);
    }
  }

  async commit(): Promise<void> {
    try {
      await this.#opened().removeEntry(UNFINISHED_NAME);
    } catch (thrown) {
      throw writeError(this.#name, thrown);
    }
    this.#folder = null;
  }

  async abort(): Promise<void> {
    if (this.#folder === null) return;
    this.#folder = null;
    await this.#parent.removeEntry(this.#name, { recursive: true }).catch(() => {});
  }

  /** `name` may hold folders. */
  async #handle(name: string): Promise<FileSystemFileHandle> {
    const parts = name.split('/');
    const last = parts.pop() ?? '';
    try {
      let folder = this.#opened();
      for (const part of parts) folder = await folder.getDirectoryHandle(part, { create: true });
      return await folder.getFileHandle(last, { create: true });
    } catch (thrown) {
      throw writeError(name, thrown);
    }
  }

  #opened(): FileSystemDirectoryHandle {
    if (this.#folder === null) throw new CoreError('wrong_state', this.#name, 'the output is not open');
    return this.#folder;
  }
}
