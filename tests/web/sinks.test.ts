import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FileSink } from '../../web/cli/file_sink';
import { OpfsSink } from '../../web/engine/opfs_sink';
import { PickerSink } from '../../web/engine/picker_sink';
import { type ByteSink, MEMORY_SINK_BYTES_MAX, MemorySink } from '../../web/engine/sink';
import { patternBytes } from './fake_core';
import { fakeDisk, installOpfs } from './fake_opfs';

const content = patternBytes(300_000);

/** Writes through one view that is overwritten after every write, like the core's output. */
async function writeAll(sink: ByteSink, chunkBytes = 64 * 1024): Promise<void> {
  const heap = new Uint8Array(chunkBytes);
  for (let at = 0; at < content.length; at += chunkBytes) {
    const chunk = content.subarray(at, at + chunkBytes);
    heap.set(chunk);
    const writing = sink.write(heap.subarray(0, chunk.length));
    heap.fill(0xee);
    await writing;
  }
}

async function readBack(sink: ByteSink): Promise<Uint8Array> {
  const source = await sink.readBack?.();
  if (!source) throw new Error('this sink cannot be read back');
  const bytes = Uint8Array.from(await source.read(0, source.size));
  await source.close();
  return bytes;
}

describe('a file sink', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'weighbridge-sinks-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('writes beside the target and renames at the end', async () => {
    const target = join(folder, 'out.safetensors');
    const sink = await FileSink.at(target, []);
    await sink.open(content.length);
    await writeAll(sink);
    await sink.close();
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(folder)).toHaveLength(1);
    expect(Buffer.compare(await readBack(sink), content)).toBe(0);
    await sink.commit();
    expect(readdirSync(folder)).toEqual(['out.safetensors']);
    expect(Buffer.compare(readFileSync(target), content)).toBe(0);
  });

  test('leaves nothing behind when aborted, and the older file as it was', async () => {
    const target = join(folder, 'out.safetensors');
    writeFileSync(target, 'older');
    const sink = await FileSink.at(target, []);
    await sink.open(content.length);
    await writeAll(sink);
    await sink.abort();
    await sink.abort();
    expect(readdirSync(folder)).toEqual(['out.safetensors']);
    expect(readFileSync(target, 'utf8')).toBe('older');
  });

  test('finds that bytes are missing before it gives the file its name', async () => {
    const sink = await FileSink.at(join(folder, 'out'), []);
    await sink.open(content.length + 1);
    await writeAll(sink);
    await expect(sink.close()).rejects.toMatchObject({ code: 'no_space' });
    await sink.abort();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('refuses to write over an input, however it is spelled', async () => {
    const input = join(folder, 'in.safetensors');
    writeFileSync(input, 'input');
    linkSync(input, join(folder, 'hard'));
    symlinkSync('in.safetensors', join(folder, 'soft'));
    for (const name of ['in.safetensors', './in.safetensors', 'hard', 'soft']) {
      await expect(FileSink.at(join(folder, name), [input])).rejects.toMatchObject({ code: 'output_exists' });
    }
  });

  test('refuses a folder, a device and a folder that is not there', async () => {
    mkdirSync(join(folder, 'sub'));
    await expect(FileSink.at(join(folder, 'sub'), [])).rejects.toMatchObject({ code: 'write_failed' });
    await expect(FileSink.at('/dev/null', [])).rejects.toMatchObject({ code: 'write_failed' });
    await expect(FileSink.at(join(folder, 'no', 'out'), [])).rejects.toMatchObject({ code: 'not_found' });
  });

  test('refuses what the disk cannot hold, before it writes', async () => {
    const sink = await FileSink.at(join(folder, 'out'), []);
    await expect(sink.open(2 ** 52)).rejects.toMatchObject({ code: 'no_space' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('an OPFS sink', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test.each([true, false])('lets only a finished file look finished (files can be renamed: %s)', async (movable) => {
    const disk = fakeDisk({ movable });
    installOpfs(disk);
    const sink = new OpfsSink('out');
    await sink.open(content.length);
    await writeAll(sink);
    await sink.close();
    expect(disk.files.has('out.partial')).toBe(true);
    expect(Buffer.compare(await readBack(sink), content)).toBe(0);
    await sink.commit();
    expect([...disk.files.keys()]).toEqual(['out']);
    expect(Buffer.compare(disk.files.get('out') ?? new Uint8Array(), content)).toBe(0);
    expect(disk.open.size).toBe(0);
  });

  test.each([true, false])('leaves nothing behind when aborted (files can be renamed: %s)', async (movable) => {
    const disk = fakeDisk({ movable });
    installOpfs(disk);
    const sink = new OpfsSink('out');
    await sink.open(content.length);
    await writeAll(sink);
    await sink.abort();
    await sink.abort();
    expect(disk.files.size).toBe(0);
    expect(disk.open.size).toBe(0);
  });

  test('writes over what an earlier conversion left', async () => {
    const disk = fakeDisk();
    disk.files.set('out', new Uint8Array(9));
    disk.files.set('out.partial', new Uint8Array(9));
    installOpfs(disk);
    const sink = new OpfsSink('out');
    await sink.open(content.length);
    await writeAll(sink);
    await sink.close();
    await sink.commit();
    expect([...disk.files.keys()]).toEqual(['out']);
  });

  test.each(['quota', 'firefox'] as const)('finds a full disk before it writes (%s)', async (full) => {
    const disk = fakeDisk({ roomBytes: 1000, full });
    installOpfs(disk);
    const sink = new OpfsSink('out');
    await expect(sink.open(content.length)).rejects.toMatchObject({ code: 'no_space' });
    await sink.abort();
    expect(disk.files.size).toBe(0);
  });

  test('believes no write that came back short', async () => {
    const disk = fakeDisk({ roomBytes: 1000, full: 'short write' });
    installOpfs(disk);
    const sink = new OpfsSink('out');
    await sink.open(content.length);
    await expect(writeAll(sink)).rejects.toMatchObject({ code: 'no_space' });
  });

  test('says so where there are no private files', async () => {
    vi.stubGlobal('navigator', {
      storage: { getDirectory: () => Promise.reject(new DOMException('no', 'SecurityError')) },
    });
    await expect(new OpfsSink('out').open(10)).rejects.toMatchObject({ code: 'no_sink' });
  });

  test('says so when another tab writes the file', async () => {
    const disk = fakeDisk();
    installOpfs(disk);
    disk.files.set('out.partial', new Uint8Array());
    disk.open.add('out.partial');
    await expect(new OpfsSink('out').open(10)).rejects.toMatchObject({ code: 'write_failed' });
  });
});

describe('a picker sink', () => {
  class FakePicked {
    readonly name = 'picked';
    bytes: Uint8Array<ArrayBuffer> = new Uint8Array();
    removed = false;
    inFlight = 0;
    mostInFlight = 0;
    writes = 0;
    failWrites = false;

    async createWritable() {
      let swap = new Uint8Array();
      return {
        write: async (bytes: Uint8Array) => {
          this.writes += 1;
          this.inFlight += 1;
          this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
          await new Promise((resolve) => setTimeout(resolve, 1));
          this.inFlight -= 1;
          if (this.failWrites) throw new DOMException('full', 'QuotaExceededError');
          const longer = new Uint8Array(swap.length + bytes.length);
          longer.set(swap);
          longer.set(bytes, swap.length);
          swap = longer;
        },
        close: async () => {
          this.bytes = swap;
        },
        abort: async () => {},
      };
    }

    async getFile(): Promise<File> {
      return new File([this.bytes], 'picked');
    }

    async remove(): Promise<void> {
      this.removed = true;
    }

    get handle(): FileSystemFileHandle {
      return this as unknown as FileSystemFileHandle;
    }
  }

  /** Batches are large in real use; more chunks than one batch holds need more bytes than are worth a test. */
  test('copies before it returns and writes in few large pieces', async () => {
    const picked = new FakePicked();
    const sink = new PickerSink(picked.handle);
    await sink.open(content.length);
    await writeAll(sink, 7000);
    await sink.close();
    expect(Buffer.compare(picked.bytes, content)).toBe(0);
    expect(picked.writes).toBe(1);
    expect(Buffer.compare(await readBack(sink), content)).toBe(0);
    await sink.commit();
    expect(picked.removed).toBe(false);
  });

  test('keeps the order over many batches with one write in flight', async () => {
    const picked = new FakePicked();
    const sink = new PickerSink(picked.handle);
    const chunk = patternBytes(3 * 1024 * 1024 + 5);
    await sink.open(chunk.length * 9);
    for (let at = 0; at < 9; at++) {
      const heap = Uint8Array.from(chunk);
      heap[0] = at;
      const writing = sink.write(heap);
      heap.fill(0xee);
      await writing;
    }
    await sink.close();
    for (let at = 0; at < 9; at++) {
      const expected = Uint8Array.from(chunk);
      expected[0] = at;
      expect(Buffer.compare(picked.bytes.subarray(at * chunk.length, (at + 1) * chunk.length), expected)).toBe(0);
    }
    expect(picked.writes).toBe(4);
    expect(picked.mostInFlight).toBe(1);
  });

  test('reports a full disk, and removes the empty file that the dialog made', async () => {
    const picked = new FakePicked();
    picked.failWrites = true;
    const sink = new PickerSink(picked.handle);
    await sink.open(content.length);
    await writeAll(sink);
    await expect(sink.close()).rejects.toMatchObject({ code: 'no_space' });
    await sink.abort();
    expect(picked.removed).toBe(true);
  });

  test('leaves an older file as it was', async () => {
    const picked = new FakePicked();
    picked.bytes = new Uint8Array(5);
    const sink = new PickerSink(picked.handle);
    await sink.open(content.length);
    await writeAll(sink);
    await sink.abort();
    expect(picked.removed).toBe(false);
    expect(picked.bytes.length).toBe(5);
  });

  test('takes back a file that was put in place and then failed its verification', async () => {
    const picked = new FakePicked();
    const sink = new PickerSink(picked.handle);
    await sink.open(content.length);
    await writeAll(sink);
    await sink.close();
    await sink.abort();
    expect(picked.bytes.length).toBe(0);
    expect(picked.removed).toBe(true);
  });
});

describe('a memory sink', () => {
  test('gives the bytes back as a blob', async () => {
    const sink = new MemorySink();
    await sink.open(content.length);
    await writeAll(sink);
    await sink.close();
    expect(Buffer.compare(await readBack(sink), content)).toBe(0);
    await sink.commit();
    expect(Buffer.compare(new Uint8Array(await sink.blob().arrayBuffer()), content)).toBe(0);
  });

  test('is for small outputs', async () => {
    await expect(new MemorySink().open(MEMORY_SINK_BYTES_MAX + 1)).rejects.toMatchObject({ code: 'no_sink' });
    await new MemorySink().open(MEMORY_SINK_BYTES_MAX);
  });

  test('takes no more than was announced', async () => {
    const sink = new MemorySink();
    await sink.open(3);
    expect(() => sink.write(new Uint8Array(4))).toThrow('3 are left');
  });
});
