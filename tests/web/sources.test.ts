import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { FileSource } from '../../web/cli/file_source';
import { BlobSource } from '../../web/engine/blob_source';
import { type ByteSource, CountingSource, MemorySource } from '../../web/engine/source';
import { patternBytes } from './fake_core';

const MIB = 1024 * 1024;
const content = patternBytes(5 * MIB + 123);
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weighbridge-sources-'));
  writeFileSync(join(folder, 'input'), content);
});

afterAll(() => rmSync(folder, { recursive: true }));

const kinds: [string, () => Promise<ByteSource>][] = [
  ['memory', async () => new MemorySource('input', content)],
  ['blob', () => BlobSource.open('input', new Blob([content]))],
  ['file', () => FileSource.open('input', join(folder, 'input'))],
];

async function expectRead(source: ByteSource, begin: number, end: number): Promise<void> {
  const bytes = await source.read(begin, end);
  expect(Buffer.compare(bytes, content.subarray(begin, end))).toBe(0);
  source.release(bytes);
}

describe.each(kinds)('a source in a %s', (_, open) => {
  test('reads what is asked for: in order, out of order, short, empty', async () => {
    const source = await open();
    expect(source.size).toBe(content.length);
    for (let at = 0; at + MIB <= content.length; at += MIB) await expectRead(source, at, at + MIB);
    await expectRead(source, 5 * MIB, content.length);
    await expectRead(source, 7, 7);
    await expectRead(source, content.length, content.length);
    await expectRead(source, 3 * MIB + 1, 4 * MIB + 2);
    await expectRead(source, 8, 9);
    await expectRead(source, 4 * MIB + 2, 5 * MIB);
    await expectRead(source, 0, content.length);
    await source.close();
  });

  test('keeps two reads apart that are under way at once', async () => {
    const source = await open();
    for (let round = 0; round < 3; round++) {
      const first = source.read(0, MIB);
      const second = source.read(MIB, 2 * MIB);
      const third = source.read(4 * MIB, 5 * MIB);
      const [a, b, c] = await Promise.all([first, second, third]);
      expect(Buffer.compare(a, content.subarray(0, MIB))).toBe(0);
      expect(Buffer.compare(b, content.subarray(MIB, 2 * MIB))).toBe(0);
      expect(Buffer.compare(c, content.subarray(4 * MIB, 5 * MIB))).toBe(0);
      for (const bytes of [a, b, c]) source.release(bytes);
    }
    await source.close();
  });

  test('refuses a range outside the file', async () => {
    const source = await open();
    for (const [begin, end] of [
      [-1, 1],
      [2, 1],
      [0, content.length + 1],
      [0.5, 1],
    ] as const) {
      await expect(source.read(begin, end)).rejects.toMatchObject({ code: 'read_failed' });
    }
    await source.close();
  });

  test('has the same fingerprint twice', async () => {
    const source = await open();
    expect(await source.fingerprint()).toBe(await source.fingerprint());
    await source.close();
  });
});

describe('a blob', () => {
  test('is read in one stream where windows follow each other, small lone windows do not end it', async () => {
    const blob = new Blob([content]);
    const slices = vi.spyOn(blob, 'slice');
    const source = await BlobSource.open('input', blob);
    await expectRead(source, 0, MIB);
    await expectRead(source, 5 * MIB, 5 * MIB + 10);
    await expectRead(source, MIB, 2 * MIB);
    await expectRead(source, 2 * MIB, 2 * MIB + 5);
    await expectRead(source, 2 * MIB + 5, 4 * MIB);
    expect(slices).toHaveBeenCalledTimes(2);
    await source.close();
  });

  test('is read in slices of 4 MiB where the engine has no byte streams', async () => {
    vi.resetModules();
    const stream = vi.spyOn(Blob.prototype, 'stream').mockImplementation(() => {
      throw new TypeError('no byte streams here');
    });
    const { BlobSource: Fresh } = await import('../../web/engine/blob_source');
    const blob = new Blob([content]);
    const slices = vi.spyOn(blob, 'slice');
    const source = await Fresh.open('input', blob);
    stream.mockRestore();
    await expectRead(source, 5 * MIB, 5 * MIB + 10);
    expect(slices).toHaveBeenCalledTimes(1);
    await expectRead(source, 0, MIB);
    expect(slices).toHaveBeenCalledTimes(2);
    await expectRead(source, MIB, 2 * MIB);
    expect(slices, 'the next one is asked for ahead where windows follow each other').toHaveBeenCalledTimes(3);
    expect(slices).toHaveBeenLastCalledWith(4 * MIB, Math.min(content.length, 8 * MIB));
    slices.mockClear();
    for (let at = 5; at + MIB <= content.length; at += MIB) await expectRead(source, at, at + MIB);
    const two = await Promise.all([source.read(0, MIB), source.read(MIB, 2 * MIB)]);
    expect(Buffer.compare(two[0], content.subarray(0, MIB))).toBe(0);
    expect(Buffer.compare(two[1], content.subarray(MIB, 2 * MIB))).toBe(0);
    await source.close();
  });

  test('is read in slices in Gecko, whose streams stand still while the core computes', async () => {
    vi.resetModules();
    vi.stubGlobal('InternalError', Error);
    const { blobsStream } = await import('../../web/engine/blob_stream');
    expect(await blobsStream()).toBe(false);
    vi.unstubAllGlobals();
  });

  test('that became unreadable is said to be so', async () => {
    const blob = new Blob([content]);
    const source = await BlobSource.open('input', blob);
    vi.spyOn(blob, 'slice').mockImplementation(() => {
      throw new DOMException('gone', 'NotReadableError');
    });
    await expect(source.read(0, 10)).rejects.toMatchObject({ code: 'read_failed', where: 'input' });
    await expect(source.read(0, MIB)).rejects.toMatchObject({ code: 'read_failed', where: 'input' });
  });

  test('that got shorter is a changed source', async () => {
    const blob = new Blob([content]);
    const source = await BlobSource.open('input', blob);
    vi.spyOn(blob, 'slice').mockImplementation(() => new Blob([content.subarray(0, 5)]));
    await expect(source.read(0, 10)).rejects.toMatchObject({ code: 'source_changed' });
    await expect(source.read(0, MIB)).rejects.toMatchObject({ code: 'source_changed' });
  });
});

describe('a file', () => {
  test('that is cut while it is open is a changed source', async () => {
    const path = join(folder, 'cut');
    writeFileSync(path, content);
    const source = await FileSource.open('cut', path);
    truncateSync(path, 100);
    await expect(source.read(0, MIB)).rejects.toMatchObject({ code: 'source_changed' });
    await source.close();
  });

  test('that grows has another fingerprint', async () => {
    const path = join(folder, 'grows');
    writeFileSync(path, 'abc');
    const source = await FileSource.open('grows', path);
    const before = await source.fingerprint();
    appendFileSync(path, 'd');
    expect(await source.fingerprint()).not.toBe(before);
    await source.close();
  });

  test('that is not there is not found', async () => {
    await expect(FileSource.open('no', join(folder, 'no'))).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is read into buffers that are used again', async () => {
    const source = await FileSource.open('input', join(folder, 'input'));
    const buffers = new Set<ArrayBufferLike>();
    for (let at = 0; at < 5; at++) {
      const bytes = await source.read(at * MIB, (at + 1) * MIB);
      buffers.add(bytes.buffer);
      source.release(bytes);
    }
    expect(buffers.size).toBe(1);
    await source.close();
  });
});

test('a counting source counts', async () => {
  const source = new CountingSource(new MemorySource('input', content));
  const [a, b] = await Promise.all([source.read(0, 10), source.read(10, 30)]);
  expect([source.reads, source.bytes, source.outstanding, source.mostOutstanding]).toEqual([2, 30, 2, 2]);
  source.release(a);
  source.release(b);
  expect(source.outstanding).toBe(0);
});
