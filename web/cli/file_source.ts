// A file on disk. Positional reads into buffers that are used again and again: the memory of a
// conversion must not depend on the size of the file.
import type { FileHandle } from 'node:fs/promises';
import { open, realpath } from 'node:fs/promises';
import { CoreError } from '../engine/errors';
import { type ByteSource, checkLength, checkRange } from '../engine/source';

const BUFFER_BYTES = 1024 * 1024;
const FREE_BUFFERS_MAX = 4;

export class FileSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #free: ArrayBuffer[] = [];

  private constructor(name: string, path: string, file: FileHandle, size: number) {
    this.name = name;
    this.#path = path;
    this.#file = file;
    this.size = size;
  }

  static async open(name: string, path: string): Promise<FileSource> {
    try {
      const file = await open(path, 'r');
      return new FileSource(name, path, file, (await file.stat()).size);
    } catch (thrown) {
      throw readError(path, thrown);
    }
  }

  async read(begin: number, end: number): Promise<Uint8Array> {
    checkRange(this.name, begin, end, this.size);
    const bytes = new Uint8Array(this.#buffer(end - begin), 0, end - begin);
    let gotBytes = 0;
    while (gotBytes < bytes.length) {
      const got = await this.#readSome(bytes, gotBytes, begin + gotBytes);
      if (got === 0) break;
      gotBytes += got;
    }
    checkLength(this.#path, begin, end, gotBytes);
    return bytes;
  }

  release(bytes: Uint8Array): void {
    if (bytes.buffer instanceof ArrayBuffer && this.#free.length < FREE_BUFFERS_MAX) this.#free.push(bytes.buffer);
  }

  async fingerprint(): Promise<string> {
    const { size, mtimeNs, ino } = await this.#file.stat({ bigint: true });
    return `${size} ${mtimeNs} ${ino}`;
  }

  async identity(): Promise<string> {
    const { size, mtimeNs, ino } = await this.#file.stat({ bigint: true });
    return `${await realpath(this.#path)} ${size} ${mtimeNs} ${ino}`;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  async #readSome(bytes: Uint8Array, offset: number, position: number): Promise<number> {
    try {
      return (await this.#file.read(bytes, offset, bytes.length - offset, position)).bytesRead;
    } catch (thrown) {
      throw readError(this.#path, thrown);
    }
  }

  #buffer(lengthBytes: number): ArrayBuffer {
    const found = this.#free.findIndex((buffer) => buffer.byteLength >= lengthBytes);
    const [buffer] = found < 0 ? [] : this.#free.splice(found, 1);
    return buffer ?? new ArrayBuffer(Math.max(lengthBytes, BUFFER_BYTES));
  }
}

export function readError(path: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const code = (thrown as { code?: unknown } | null)?.code;
  if (code === 'ENOENT' || code === 'ENOTDIR') return new CoreError('not_found', path, 'there is no such file');
  return new CoreError('read_failed', path, thrown instanceof Error ? thrown.message : String(thrown));
}
