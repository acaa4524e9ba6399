// A sink that writes nothing: it compares what a conversion would write with a file that is there.
import { CoreError } from '../engine/errors';
import type { ByteSink } from '../engine/sink';
import { type ByteSource, MemorySource } from '../engine/source';

export class CompareSink implements ByteSink {
  readonly #file: ByteSource;
  #position = 0;

  constructor(file: ByteSource) {
    this.#file = file;
  }

  async open(sizeBytes: number): Promise<void> {
    if (sizeBytes === this.#file.size) return;
    throw this.#differs(`it has ${this.#file.size} bytes where the conversion has ${sizeBytes}`);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const begin = this.#position;
    this.#position += bytes.length;
    // The view dies only with the core's next call, which waits for this promise.
    const found = await this.#file.read(begin, this.#position);
    const same = Buffer.compare(found, bytes) === 0;
    const at = same ? -1 : begin + found.findIndex((byte, index) => byte !== bytes[index]);
    this.#file.release(found);
    if (!same) throw this.#differs(`the first byte that differs is at offset ${at}`);
  }

  async close(): Promise<void> {}

  async readBack(): Promise<ByteSource> {
    return new MemorySource(this.#file.name, new Uint8Array());
  }

  async commit(): Promise<void> {}

  async abort(): Promise<void> {}

  #differs(message: string): CoreError {
    return new CoreError('verify_failed', this.#file.name, `the file is not what a conversion writes: ${message}`);
  }
}
