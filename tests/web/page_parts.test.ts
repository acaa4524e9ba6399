import { describe, expect, test } from 'vitest';
import { givenFiles } from '../../web/app/dropped_files';
import { prettyJson } from '../../web/app/json_text';
import { sharesOf } from '../../web/app/kinds';
import { PaceMeter } from '../../web/app/rate';
import { type Capabilities, NOTHING, sinkOffers } from '../../web/app/sinks';

describe('metadata that is JSON', () => {
  test('is laid out', () => {
    expect(prettyJson('{"a":[1,{"b":"x"}],"c":{}, "d":[ ]}')).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": "x"\n    }\n  ],\n  "c": {},\n  "d": []\n}',
    );
  });

  test('keeps every digit, repeated keys and brackets inside strings', () => {
    expect(prettyJson('{"n":12345678901234567890,"n":1.0}')).toBe('{\n  "n": 12345678901234567890,\n  "n": 1.0\n}');
    expect(prettyJson('["{,}:\\"]"]')).toBe('[\n  "{,}:\\"]"\n]');
  });

  test('and what is not stays as it is', () => {
    for (const text of ['pt', '12', '{broken', '', '"quoted"', 'a {b}']) expect(prettyJson(text)).toBe(text);
  });
});

test('files of a picker are known by name, those of a chosen folder by their place in it', () => {
  const loose = new File([], 'a.safetensors');
  const inside = Object.defineProperty(new File([], 'b.safetensors'), 'webkitRelativePath', {
    value: 'm/unet/b.safetensors',
  });
  expect(givenFiles([loose, inside]).map(({ path }) => path)).toEqual(['a.safetensors', 'm/unet/b.safetensors']);
});

describe('ways to write', () => {
  const chromium = { opfs: true, picker: true, directory: true, download: true };
  const kinds = (able: Partial<Capabilities>, bytes: number, isSet = false): string[] =>
    sinkOffers({ ...NOTHING, ...able }, bytes, isSet).map((offer) => offer.kind);

  test('private files first, the picker beside them, memory only where nothing else is and the file is small', () => {
    expect(kinds({ opfs: true, picker: true }, 25e9)).toEqual(['opfs', 'picker']);
    expect(kinds({ opfs: true }, 1)).toEqual(['opfs']);
    expect(kinds({ picker: true }, 1)).toEqual(['picker', 'memory']);
    expect(kinds({}, 256 * 2 ** 20)).toEqual(['memory']);
    expect(kinds({}, 256 * 2 ** 20 + 1)).toEqual([]);
  });

  test('a download fed from here where there is no picker, and where private files have no room', () => {
    expect(kinds({ opfs: true, download: true }, 25e9)).toEqual(['opfs', 'download']);
    expect(kinds({ download: true }, 25e9)).toEqual(['download']);
    expect(kinds({ download: true }, 1)).toEqual(['memory', 'download']);
    expect(kinds({ picker: true, download: true }, 25e9)).toEqual(['picker']);
  });

  test('a set stays one where a folder can be written; a single file may go into one', () => {
    expect(kinds(chromium, 1, true)).toEqual(['directory', 'opfs', 'picker']);
    expect(kinds(chromium, 1, false)).toEqual(['opfs', 'picker', 'directory']);
    expect(kinds({ ...chromium, directory: false }, 1, true)).toEqual(['opfs', 'picker']);
  });

  test('a working copy and its download need the room twice', () => {
    expect(sinkOffers({ ...chromium, directory: false }, 25e9).map((offer) => offer.disk_bytes)).toEqual([50e9, 25e9]);
  });
});

describe('pace', () => {
  const at = (bytes: number, phase: 'convert' | 'verify' = 'convert') =>
    ({ phase, done_bytes: bytes, total_bytes: 1000 }) as const;

  test('nothing is claimed in the first two seconds', () => {
    const meter = new PaceMeter();
    expect(meter.add(at(0), 0).seconds_left).toBeNull();
    expect(meter.add(at(100), 1999).seconds_left).toBeNull();
    expect(meter.add(at(200), 2000)).toEqual({ bytes_per_second: 100, seconds_left: 8 });
  });

  test('only the last half minute counts, and every phase starts anew', () => {
    const meter = new PaceMeter();
    meter.add(at(0), 0);
    meter.add(at(900), 10_000);
    expect(meter.add(at(930), 40_000).bytes_per_second).toBe(1);
    expect(meter.add(at(10, 'verify'), 50_000).bytes_per_second).toBeNull();
  });

  test('a total that is not known gives a rate and no end', () => {
    const meter = new PaceMeter();
    meter.add({ phase: 'convert', done_bytes: 0, total_bytes: 0 }, 0);
    expect(meter.add({ phase: 'convert', done_bytes: 500, total_bytes: 0 }, 5000)).toEqual({
      bytes_per_second: 100,
      seconds_left: null,
    });
  });
});

test('bytes per kind add up, in the order of every bar', () => {
  const row = (dtype: string, kind: 'half' | 'fp8' | 'f32', bytes: number) => ({
    dtype,
    kind,
    tensors: 1,
    elements: bytes,
    bytes,
  });
  const shares = sharesOf([row('BF16', 'half', 10), row('F8_E4M3', 'fp8', 100), row('F16', 'half', 5)]);
  expect(shares.map((share) => [share.kind, share.bytes])).toEqual([
    ['fp8', 100],
    ['half', 15],
  ]);
  expect(shares[1]?.dtypes.map((dtype) => dtype.dtype)).toEqual(['BF16', 'F16']);
});
