// The yardstick of a conversion: the same bytes in, as many bytes out, by the same calls to the browser, and nothing
// between them. Written against the browser and not against web/engine, but for the download, which is our protocol.
import { DownloadSink } from '../../../web/engine/download_sink';
import type { SinkRequest } from '../../../web/engine/protocol';

export interface PumpRequest {
  file: File;
  sink: SinkRequest;
  outputBytes: number;
  read: keyof typeof READERS;
  readBytes: number;
  writeBytes: number;
}

const STREAM_BYTES = 64 * 1024 * 1024;

interface Out {
  write(bytes: Uint8Array<ArrayBuffer>): void | Promise<void>;
  close(): Promise<void>;
}

declare const FileReaderSync: new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer };

self.onmessage = ({ data }: MessageEvent<PumpRequest>) => {
  pump(data).then(self.postMessage, (thrown: unknown) => self.postMessage(String(thrown)));
};

async function pump({ file, sink, outputBytes, read, readBytes, writeBytes }: PumpRequest): Promise<number> {
  const begun = performance.now();
  const out = await openOut(sink, outputBytes);
  const bytes = new Uint8Array(writeBytes).fill(0x3f);
  let [gotBytes, writtenBytes] = [0, 0];
  const writeUpTo = async (until: number): Promise<void> => {
    while (writtenBytes < until) {
      const writing = out.write(bytes.subarray(0, Math.min(writeBytes, outputBytes - writtenBytes)));
      if (writing) await writing;
      writtenBytes += writeBytes;
    }
  };
  for await (const length of READERS[read](file, readBytes)) {
    gotBytes += length;
    await writeUpTo(Math.floor((gotBytes / file.size) * outputBytes) - writeBytes);
  }
  await writeUpTo(outputBytes);
  await out.close();
  return performance.now() - begun;
}

const READERS = {
  /** two reads queued; a stream of 64 MiB after the other, which measured faster than one of the whole file */
  async *byob(file: File, readBytes: number): AsyncGenerator<number> {
    for (let begin = 0; begin < file.size; begin += STREAM_BYTES) {
      const piece = file.slice(begin, begin + STREAM_BYTES);
      const reader = piece.stream().getReader({ mode: 'byob' });
      const read = (buffer: ArrayBuffer, at: number) => {
        const length = Math.min(readBytes, piece.size - at);
        return length > 0 ? reader.read(new Uint8Array(buffer, 0, length), { min: length }) : null;
      };
      const queue = [read(new ArrayBuffer(readBytes), 0), read(new ArrayBuffer(readBytes), readBytes)];
      for (let at = 2 * readBytes; ; at += readBytes) {
        const value = (await queue.shift())?.value;
        if (!value) break;
        queue.push(read(value.buffer, at));
        yield value.length;
      }
    }
  },
  async *whole(file: File, readBytes: number): AsyncGenerator<number> {
    const reader = file.stream().getReader({ mode: 'byob' });
    let buffer = new ArrayBuffer(readBytes);
    for (let at = 0; at < file.size; at += readBytes) {
      const length = Math.min(readBytes, file.size - at);
      const { value } = await reader.read(new Uint8Array(buffer, 0, length), { min: length });
      if (!value) return;
      buffer = value.buffer;
      yield value.length;
    }
  },
  async *slices(file: File, readBytes: number): AsyncGenerator<number> {
    const read = (at: number) => (at < file.size ? file.slice(at, at + readBytes).arrayBuffer() : null);
    const queue = [read(0), read(readBytes)];
    for (let at = 2 * readBytes; ; at += readBytes) {
      const buffer = await queue.shift();
      if (!buffer) return;
      queue.push(read(at));
      const { byteLength } = buffer;
      (buffer as { transfer?: (length: number) => void }).transfer?.(0);
      yield byteLength;
    }
  },
  async *sync(file: File, readBytes: number): AsyncGenerator<number> {
    const reader = new FileReaderSync();
    for (let at = 0; at < file.size; at += readBytes) {
      yield reader.readAsArrayBuffer(file.slice(at, at + readBytes)).byteLength;
    }
  },
};

async function openOut(sink: SinkRequest, outputBytes: number): Promise<Out> {
  if (sink.kind === 'opfs') {
    const root = await navigator.storage.getDirectory();
    const access = await (await root.getFileHandle(sink.name, { create: true })).createSyncAccessHandle();
    access.truncate(outputBytes);
    let at = 0;
    return {
      write(bytes) {
        at += access.write(bytes, { at });
      },
      async close() {
        access.flush();
        access.close();
      },
    };
  }
  if (sink.kind === 'picker') {
    const stream = await sink.handle.createWritable();
    // two writes on their way
    let before: Promise<void> = Promise.resolve();
    return {
      async write(bytes) {
        await before;
        before = stream.write(bytes);
      },
      async close() {
        await before;
        await stream.close();
      },
    };
  }
  if (sink.kind !== 'download') throw new Error(`no pump for ${sink.kind}`);
  const download = new DownloadSink(sink.name, sink.page);
  await download.open(outputBytes);
  return {
    write: (bytes) => download.write(bytes),
    async close() {
      await download.close();
      await download.commit();
    },
  };
}
