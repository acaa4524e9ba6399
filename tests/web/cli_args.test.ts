import { expect, test } from 'vitest';
import { parseCommand } from '../../web/cli/args';
import { UsageError } from '../../web/cli/usage_error';

const BF16 = { to: 'bf16', others: 'keep', assume: {} };

test.each([
  [['inspect', 'a'], { kind: 'inspect', paths: ['a'], json: false, allTensors: false, allPairs: false }],
  [['inspect', '--json', 'a'], { kind: 'inspect', paths: ['a'], json: true, allTensors: false, allPairs: false }],
  [
    ['inspect', 'a', '--tensors', '--pairs'],
    { kind: 'inspect', paths: ['a'], json: false, allTensors: true, allPairs: true },
  ],
  [['ram', '--json', 'a'], { kind: 'ram', paths: ['a'], json: true, wish: { held_as: 'as_stored', loader: 'all' } }],
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
    wish: { held_as: 'as_stored', loader: 'all' },
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
  ...['32gb', 'GB', '-1GB', '32 GB', '0GB', '32Gb', '1e3GB'].map((size) => [['ram', 'a', `--ram=${size}`]]),
  [['ram', 'a', '--free', '1GB']],
  [['ram', 'a', '--ram', '1GB', '--free', '1GiB']],
  [['ram', 'a', '--ram', '1GB', '--kind', 'mac']],
  [['ram', 'a', '--dtype', 'int4']],
  ...['0', '-1', '4k', '1.5'].map((count) => [['ram', 'a', `--context=${count}`]]),
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

test('a machine, a dtype and a context', () => {
  const argv = ['ram', 'a', '--ram', '32GB', '--free', '22.5GiB', '--swap', '8GiB', '--vram', '0', '--kind', 'windows'];
  expect(parseCommand([...argv, '--loader', 'vllm', '--dtype', 'fp16', '--context', '4096'])).toMatchObject({
    wish: {
      machine: { kind: 'windows', ram_bytes: 32e9, free_bytes: 22.5 * 2 ** 30, swap_bytes: 2 ** 33, vram_bytes: 0 },
      loader: 'vllm',
      held_as: 'f16',
      context_tokens: 4096,
    },
  });
});

test('a mirror and a token in a file', () => {
  const words = ['inspect', 'hf://o/r', '--endpoint', 'https://mirror.test', '--token-file', 't'];
  expect(parseCommand(words)).toMatchObject({
    paths: ['hf://o/r'],
    remote: { endpoint: 'https://mirror.test', tokenFile: 't' },
  });
});
