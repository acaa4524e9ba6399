// Joining and cutting without computing, with the real core: the bytes of tensors never reach its heap.
import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { loadCore } from '../../web/cli/core_loader';
import { CoreError } from '../../web/engine/errors';
import { type Core, Session } from '../../web/engine/heap';
import { Checkpoint } from '../../web/engine/pipeline';
import type { ConvertOptions } from '../../web/engine/report';
import { type OutputFolder, SetSink } from '../../web/engine/set_sink';
import { type ByteSink, MemorySink } from '../../web/engine/sink';
import { type ByteSource, CountingSource, MemorySource } from '../../web/engine/source';
import { safetensors, type TestTensor } from './checkpoints';
import { patternBytes } from './fake_core';

const STORED: ConvertOptions = { to: 'stored', others: 'keep', assume: {} };
const MIB = 1024 * 1024;

let core: Core;
beforeAll(async () => {
  core = await loadCore(new URL('../../build/wasm-release/', import.meta.url));
});
afterEach(() => vi.restoreAllMocks());

const tensor = (bytes: number): TestTensor => ({ dtype: 'U8', shape: [bytes], bytes: patternBytes(bytes) });
const FILES: Record<string, Uint8Array> = {
  'm-00001-of-00002.safetensors': safetensors({ big: tensor(5 * MIB + 3), a: tensor(10), none: tensor(0) }, { x: 'y' }),
  'm-00002-of-00002.safetensors': safetensors({ b: tensor(4096), c: tensor(3 * MIB) }),
};

/** An expect() on megabytes takes minutes. */
function same(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

/** Folders in memory; `damage` changes what is read back. */
class MemoryFolder implements OutputFolder {
  readonly files = new Map<string, Uint8Array>();
  state: 'open' | 'committed' | 'aborted' = 'open';
  constructor(readonly damage: (name: string, bytes: Uint8Array) => void = () => {}) {}
  async open(): Promise<void> {}
  async sink(name: string): Promise<ByteSink> {
    const sink = new MemorySink();
    const commit = sink.commit.bind(sink);
    sink.commit = async () => {
      this.files.set(name, new Uint8Array(await sink.blob().arrayBuffer()));
      await commit();
    };
    return sink;
  }
  async source(name: string): Promise<ByteSource> {
    const bytes = Uint8Array.from(this.files.get(name) ?? []);
    this.damage(name, bytes);
    return new MemorySource(name, bytes);
  }
  async addFile(name: string, bytes: Uint8Array): Promise<void> {
    this.files.set(name, bytes);
  }
  async commit(): Promise<void> {
    this.state = 'committed';
  }
  async abort(): Promise<void> {
    this.state = 'aborted';
  }
}

async function opened(files: Record<string, Uint8Array>) {
  const sources = Object.entries(files).map(([name, bytes]) => new CountingSource(new MemorySource(name, bytes)));
  const checkpoint = await Checkpoint.open(core, { sources, sideFiles: [] });
  return { checkpoint, sources };
}

function heapIsOutOfBounds(): void {
  vi.spyOn(Session.prototype, 'feed').mockImplementation(() => {
    throw new CoreError('wrong_state', '', 'bytes went into the heap');
  });
}

async function convert(files: Record<string, Uint8Array>, options: ConvertOptions, folder: MemoryFolder) {
  const { checkpoint, sources } = await opened(files);
  heapIsOutOfBounds();
  try {
    const reply = await checkpoint.convert(options, new SetSink(folder), true);
    if (reply.kind !== 'converted') throw new Error('nothing was to be decided');
    return { receipt: reply.receipt, sources };
  } finally {
    vi.restoreAllMocks();
    await checkpoint.close();
  }
}

test('two files joined and cut again: the same bytes in the end, none of them through the heap', async () => {
  const joined = new MemoryFolder();
  const { receipt, sources } = await convert(FILES, STORED, joined);
  expect([...joined.files.keys()]).toEqual(['m.safetensors']);
  expect(receipt).toMatchObject({ to: 'stored', copies_only: true, copied: 5, verified: true, output_xxh64: '' });
  expect(sources.map(({ outstanding }) => outstanding)).toEqual([0, 0]);
  expect(joined.state).toBe('committed');

  const cut = new MemoryFolder();
  await convert(
    { 'm.safetensors': joined.files.get('m.safetensors') ?? new Uint8Array() },
    { ...STORED, shards: 4 * MIB },
    cut,
  );
  expect([...cut.files.keys()]).toEqual([
    'm-00001-of-00003.safetensors',
    'm-00002-of-00003.safetensors',
    'm-00003-of-00003.safetensors',
    'm.safetensors.index.json',
  ]);
  const again = new MemoryFolder();
  cut.files.delete('m.safetensors.index.json');
  await convert(Object.fromEntries(cut.files), STORED, again);
  expect(same(again.files.get('m.safetensors'), joined.files.get('m.safetensors'))).toBe(true);
});

test('the core writes the same file when it does the copying', async () => {
  const folder = new MemoryFolder();
  await convert(FILES, STORED, folder);
  const remote = Object.entries(FILES).map(([name, bytes]) =>
    Object.assign(new MemorySource(name, bytes), { isRemote: true }),
  );
  const slow = await Checkpoint.open(core, { sources: remote, sideFiles: [] });
  const sink = new MemorySink();
  const reply = await slow.convert(STORED, sink, true);
  expect(reply).toMatchObject({ kind: 'converted', receipt: { verified: true } });
  if (reply.kind === 'converted') expect(reply.receipt.output_xxh64).toMatch(/^[0-9a-f]{16}$/);
  expect(same(new Uint8Array(await sink.blob().arrayBuffer()), folder.files.get('m.safetensors'))).toBe(true);
  await slow.close();
});

test.each([
  ['in a header', 9],
  ['in a tensor', 5 * MIB],
  ['in the last byte', -1],
])('a byte that changed %s is found when the output is read back', async (_, at) => {
  const folder = new MemoryFolder((_name, bytes) => {
    const where = at < 0 ? bytes.length + at : at;
    bytes[where] = (bytes[where] ?? 0) ^ 1;
  });
  await expect(convert(FILES, STORED, folder)).rejects.toMatchObject({ code: 'verify_failed' });
  expect(folder.state).toBe('aborted');
});

test('cancelling stops between two windows and leaves nothing', async () => {
  const { checkpoint } = await opened(FILES);
  const folder = new MemoryFolder();
  const stop = new AbortController();
  const onProgress = ({ phase }: { phase: string }): void => {
    if (phase === 'convert') stop.abort();
  };
  const converting = checkpoint.convert(STORED, new SetSink(folder), true, { signal: stop.signal, onProgress });
  await expect(converting).rejects.toMatchObject({ code: 'cancelled' });
  expect(folder.state).toBe('aborted');
  await checkpoint.close();
});

test('slices go from file to file where both sides can', async () => {
  const pieces: number[] = [];
  const sink = new MemorySink();
  const appending: ByteSink = Object.assign(sink, {
    append: async (piece: Blob) => {
      pieces.push(piece.size);
      await sink.write(new Uint8Array(await piece.arrayBuffer()));
    },
  });
  const sources = Object.entries(FILES).map(([name, bytes]) =>
    Object.assign(new MemorySource(name, bytes), {
      slice: (begin: number, end: number) => new Blob([bytes.slice(begin, end)]),
    }),
  );
  const checkpoint = await Checkpoint.open(core, { sources, sideFiles: [] });
  heapIsOutOfBounds();
  await checkpoint.convert(STORED, appending, false);
  const folder = new MemoryFolder();
  vi.restoreAllMocks();
  await convert(FILES, STORED, folder);
  expect(same(new Uint8Array(await sink.blob().arrayBuffer()), folder.files.get('m.safetensors'))).toBe(true);
  expect(pieces.reduce((sum, size) => sum + size, 0)).toBe(8 * MIB + 3 + 10 + 4096);
  await checkpoint.close();
});
