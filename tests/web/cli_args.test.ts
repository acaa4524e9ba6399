import { expect, test } from 'vitest';
import { parseCommand, UsageError } from '../../web/cli/args';

const BF16 = { to: 'bf16', others: 'keep', assume: {} };

test.each([
  [['inspect', 'a'], { kind: 'inspect', paths: ['a'], json: false, allTensors: false, allPairs: false }],
  [['inspect', '--json', 'a'], { kind: 'inspect', paths: ['a'], json: true, allTensors: false, allPairs: false }],
  [
    ['inspect', 'a', '--tensors', '--pairs'],
    { kind: 'inspect', paths: ['a'], json: false, allTensors: true, allPairs: true },
  ],
  [['ram', '--json', 'a'], { kind: 'ram', paths: ['a'], json: true }],
  [['--help'], { kind: 'help' }],
  [['convert', '--help'], { kind: 'help' }],
  [['--version'], { kind: 'version' }],
])('%j', (argv, command) => {
  expect(parseCommand(argv)).toEqual(command);
});

test('convert with everything', () => {
  const argv = ['convert', '--to', 'f16', '-o', 'out', 'in', '--others', 'cast', '--no-verify', '--progress', '--json'];
  expect(parseCommand([...argv, '--assume', 'scale_missing=unscaled', '--assume', 'a=b.weight=divide'])).toEqual({
    kind: 'convert',
    paths: ['in'],
    output: 'out',
    json: true,
    progress: true,
    verify: false,
    resume: false,
    options: { to: 'f16', others: 'cast', assume: { scale_missing: 'unscaled', 'a=b.weight': 'divide' } },
  });
});

test('convert with as little as possible verifies and keeps the other tensors', () => {
  expect(parseCommand(['convert', '--to=bf16', '--output=out', 'in'])).toEqual({
    kind: 'convert',
    paths: ['in'],
    output: 'out',
    json: false,
    progress: false,
    verify: true,
    resume: false,
    options: BF16,
  });
});

test('convert goes on when asked to', () => {
  expect(parseCommand(['convert', '--resume', '--to=bf16', '-o', 'out', 'in'])).toMatchObject({ resume: true });
});

test('verify', () => {
  expect(parseCommand(['verify', '--from', 'in', '--to', 'bf16', 'out'])).toEqual({
    kind: 'verify',
    paths: ['in'],
    output: 'out',
    json: false,
    progress: false,
    options: BF16,
  });
});

test('several paths, one of several checkpoints, shards of a size', () => {
  const none = { file: undefined, json: false, allTensors: false, allPairs: false };
  expect(parseCommand(['inspect', 'a', 'b'])).toEqual({ kind: 'inspect', paths: ['a', 'b'], ...none });
  expect(parseCommand(['ram', 'in', '--file', 'vae'])).toEqual({
    kind: 'ram',
    paths: ['in'],
    file: 'vae',
    json: false,
  });
  expect(parseCommand(['convert', '--to', 'bf16', '-o', 'out', 'in', '--shard-size', '5GB'])).toMatchObject({
    options: { ...BF16, shards: 5e9 },
  });
});

test.each([
  ['1', 1],
  ['4.5 GiB', 4.5 * 2 ** 30],
  ['500mb', 5e8],
  ['1.9', 1],
])('--shard-size %s is %i bytes', (words, bytes) => {
  const argv = ['convert', '--to', 'bf16', '-o', 'out', 'in', '--shard-size', words];
  expect(parseCommand(argv)).toMatchObject({ options: { shards: bytes } });
});

test.each([
  [[]],
  [['weigh', 'a']],
  [['inspect']],
  [['inspect', '']],
  [['inspect', '--jsno', 'a']],
  [['inspect', '--json=yes', 'a']],
  [['ram']],
  [['ram', '--tensors', 'a']],
  [['convert', '-o', 'out', 'in']],
  [['convert', '--to', 'bf16', 'in']],
  [['convert', '--to', 'bf16', '-o', 'out']],
  [['convert', '--to', 'f32', '-o', 'out', 'in']],
  [['convert', '--to', 'bf16', '-o', 'out', 'in', '--others', 'drop']],
  [['convert', '--to', 'bf16', '-o', 'out', 'in', '--assume', 'x']],
  [['convert', '--to', 'bf16', '-o', 'out', 'in', '--assume', '=x']],
  [['convert', '--to', 'bf16', '-o', 'out', 'in', '--assume', 'x=']],
  ...['0', 'GB', '5 apples', '-1GB', '0.5', '1e300'].map((size) => [
    ['convert', '--to', 'bf16', '-o', 'out', 'in', `--shard-size=${size}`],
  ]),
  [['verify', '--to', 'bf16', 'out']],
])('%j is wrong usage', (argv) => {
  expect(() => parseCommand(argv)).toThrow(UsageError);
});

test('a mirror and a token in a file', () => {
  const words = ['inspect', 'hf://o/r', '--endpoint', 'https://mirror.test', '--token-file', 't'];
  expect(parseCommand(words)).toMatchObject({
    paths: ['hf://o/r'],
    remote: { endpoint: 'https://mirror.test', tokenFile: 't' },
  });
});
