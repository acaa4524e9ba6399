// One range of a blob, read in order by a BYOB reader; and the test whether this engine can do that.

export class BlobStream {
  /** where the next read begins */
  position: number;
  readonly end: number;
  readonly #reader: ReadableStreamBYOBReader;
  #last: Promise<unknown> = Promise.resolve();

  constructor(blob: Blob, begin: number, end: number) {
    this.position = begin;
    this.end = end;
    this.#reader = blob.slice(begin, end).stream().getReader({ mode: 'byob' });
  }

  /** The buffer is handed to the reader and comes back as the bytes' buffer. Several reads may be queued. */
  async read(buffer: ArrayBuffer, lengthBytes: number): Promise<Uint8Array> {
    this.position += lengthBytes;
    const reading = this.#reader.read(new Uint8Array(buffer, 0, lengthBytes), { min: lengthBytes });
    this.#last = reading.catch(() => {});
    const { value } = await reading;
    return value ?? new Uint8Array();
  }

  /** Cancelling settles queued reads without their bytes, so those are awaited first. */
  async cancel(): Promise<void> {
    await this.#last;
    await this.#reader.cancel().catch(() => {});
  }
}

let streamsWork: Promise<boolean> | null = null;

/**
 * Do blobs stream into our own buffers, and does a read fill the whole view? WebKit says no to the first. Gecko can,
 * but moves 64 KiB at a time and only while this thread is idle: its slices are read beside our computing, and a
 * conversion takes half the time (docs/performance.md). No call shows that, so a global that only Gecko has does.
 */
export function blobsStream(): Promise<boolean> {
  streamsWork ??= 'InternalError' in globalThis ? Promise.resolve(false) : testStreams();
  return streamsWork;
}

async function testStreams(): Promise<boolean> {
  try {
    const reader = new Blob([new Uint8Array(3)]).stream().getReader({ mode: 'byob' });
    await reader.cancel();
    return await readsFillTheView();
  } catch {
    return false;
  }
}

/** An engine that does not know `min` ignores it and returns after the first chunk. */
async function readsFillTheView(): Promise<boolean> {
  const source: UnderlyingByteSource = {
    type: 'bytes',
    pull: (controller) => controller.enqueue(new Uint8Array(1)),
  };
  const reader = new ReadableStream(source, { highWaterMark: 0 }).getReader({ mode: 'byob' });
  const { value } = await reader.read(new Uint8Array(2), { min: 2 });
  await reader.cancel();
  return value?.length === 2;
}
