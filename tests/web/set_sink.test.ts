import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DiskFolder } from '../../web/cli/output_folder';
import { SetSink } from '../../web/engine/set_sink';
import { patternBytes } from './fake_core';

const content = patternBytes(10_000);
const FILES = [
  { name: 'a', bytes: 1 },
  { name: 'b', bytes: 6000 },
  { name: 'c', bytes: 3999 },
];

let root = '';
let out = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'weighbridge-set-'));
  out = join(root, 'out');
});
afterEach(() => rmSync(root, { recursive: true }));

async function filled(chunkBytes: number): Promise<SetSink> {
  const sink = new SetSink(await DiskFolder.at(out));
  await sink.open(content.length, FILES);
  const heap = new Uint8Array(chunkBytes);
  for (let at = 0; at < content.length; at += chunkBytes) {
    const chunk = content.subarray(at, at + chunkBytes);
    heap.set(chunk);
    const writing = sink.write(heap.subarray(0, chunk.length));
    if (writing) await writing;
    heap.fill(0xee);
  }
  return sink;
}

test.each([1, 7, 4096, 10_000])('the stream is cut at the borders, in chunks of %i', async (chunkBytes) => {
  const sink = await filled(chunkBytes);
  await sink.close();
  await sink.addFile('deep/config.json', new Uint8Array([1]));
  expect(existsSync(out)).toBe(false);
  await sink.commit();
  expect(readdirSync(root)).toEqual(['out']);
  expect(readdirSync(out).sort()).toEqual(['a', 'b', 'c', 'deep']);
  expect(Buffer.concat(FILES.map(({ name }) => readFileSync(join(out, name)))).equals(content)).toBe(true);
});

test('it is read back as one, across the borders, with reads that overlap in time', async () => {
  const sink = await filled(4096);
  await sink.close();
  const source = await sink.readBack();
  expect(source.size).toBe(content.length);
  const ranges: [number, number][] = [
    [0, 10],
    [5990, 6010],
    [0, 10_000],
    [9999, 10_000],
    [1, 1],
  ];
  const parts = await Promise.all(ranges.map(([begin, end]) => source.read(begin, end)));
  for (const [at, [begin, end]] of ranges.entries()) expect(parts[at]).toEqual(content.slice(begin, end));
  await source.close();
  await sink.abort();
  expect(readdirSync(root)).toEqual([]);
});

test('a file that changed its size after it was written is found', async () => {
  const sink = await filled(4096);
  await sink.close();
  const [partial = ''] = readdirSync(root);
  writeFileSync(join(root, partial, 'b'), 'short');
  const source = await sink.readBack();
  await expect(source.read(0, 10)).rejects.toMatchObject({ code: 'verify_failed', where: 'b' });
  await source.close();
  await sink.abort();
});

test('too few and too many bytes are no finished output', async () => {
  const few = new SetSink(await DiskFolder.at(out));
  await few.open(content.length, FILES);
  await few.write(content.subarray(0, 100));
  await expect(few.close()).rejects.toMatchObject({ code: 'verify_failed' });
  await few.abort();
  const many = await filled(4096);
  await expect(many.write(content)).rejects.toMatchObject({ code: 'verify_failed' });
  await many.abort();
  await many.abort();
  expect(readdirSync(root)).toEqual([]);
});

test('an empty folder is filled; one with something in it, a file, and a place that is not there are refused', async () => {
  mkdirSync(out);
  const sink = await filled(4096);
  await sink.close();
  await sink.commit();
  expect(readdirSync(out)).toHaveLength(3);
  await expect(DiskFolder.at(out)).rejects.toMatchObject({ code: 'output_exists' });
  await expect(DiskFolder.at(join(out, 'a'))).rejects.toMatchObject({ code: 'output_exists' });
  await expect(DiskFolder.at(join(root, 'no', 'out'))).rejects.toMatchObject({ code: 'not_found' });
});

test('a small file never replaces one that was written', async () => {
  const sink = await filled(4096);
  await sink.close();
  await expect(sink.addFile('a', new Uint8Array())).rejects.toMatchObject({ code: 'write_failed' });
  await sink.abort();
});
