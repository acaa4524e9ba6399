// Keeps reads in flight while the core computes: the window that the core wants and the one after it.
import { CoreError } from './errors';
import type { ReadWindow } from './heap';
import type { ByteSource } from './source';

/** Two reads queued measured best: a third adds memory and no speed. */
export const READ_AHEAD_DEPTH = 2;
/** While the core looks at a file on a server here and there, each read waits for the network: near ones are joined. */
export const REMOTE_LOOK_DEPTH = 32;

export interface ReadBytes {
  source: ByteSource;
  bytes: Uint8Array;
}

export class ReadAhead {
  readonly #nextWindow: () => ReadWindow | null;
  readonly #sourceOf: (index: number) => ByteSource;
  readonly #depth: number;
  readonly #queue: Promise<ReadBytes>[] = [];

  constructor(
    nextWindow: () => ReadWindow | null,
    sourceOf: (index: number) => ByteSource,
    depth: number = READ_AHEAD_DEPTH,
  ) {
    this.#depth = depth;
    this.#nextWindow = nextWindow;
    this.#sourceOf = sourceOf;
  }

  /** The bytes of the window whose turn it is. */
  async take(): Promise<ReadBytes> {
    this.#fill();
    const reading = this.#queue.shift();
    if (reading === undefined) throw new CoreError('wrong_state', '', 'the core wants input but names no window');
    return reading;
  }

  /** After a failure: nothing may still be reading when the sources are closed. */
  async drain(): Promise<void> {
    for (const reading of this.#queue.splice(0)) {
      await reading.then(({ source, bytes }) => source.release(bytes)).catch(() => {});
    }
  }

  #fill(): void {
    // Half of them at once, so that what lies close together can be asked for together.
    if (this.#queue.length > this.#depth / 2) return;
    while (this.#queue.length < this.#depth) {
      const window = this.#nextWindow();
      if (window === null) return;
      const reading = this.#read(window);
      // Its turn to be awaited comes later; a failure until then must not count as unhandled.
      reading.catch(() => {});
      this.#queue.push(reading);
    }
  }

  async #read({ source: index, begin, end }: ReadWindow): Promise<ReadBytes> {
    const source = this.#sourceOf(index);
    return { source, bytes: await source.read(begin, end) };
  }
}
