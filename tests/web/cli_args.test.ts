import { expect, test } from 'vitest';
import { parseCommand, UsageError } from '../../web/cli/args';

const BF16 = { to: 'bf16', others: 'keep', assume: {} };

test.each([
  [['inspect', 'a'], { kind: 'inspect', path: 'a', json: false, allTensors: false, allPairs: false }],
  [['inspect', '--json', 'a'], { kind: 'inspect', path: 'a', json: true, allTensors: false, allPairs: false }],
  [
    ['inspect', 'a', '--tensors', '--pairs'],
    { kind: 'inspect', path: 'a', json: false, allTensors: true, allPairs: true },
  ],
  [['ram', '--json', 'a'], { kind: 'ram', path: 'a', json: true }],
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
    path: 'in',
    output: 'out',
    json: true,
    progress: true,
    verify: false,
    options: { to: 'f16', others: 'cast', assume: { scale_missing: 'unscaled', 'a=b.weight': 'divide' } },
  });
});

test('convert with as little as possible verifies and keeps the other tensors', () => {
  expect(parseCommand(['convert', '--to=bf16', '--output=out', 'in'])).toEqual({
    kind: 'convert',
    path: 'in',
    output: 'out',
    json: false,
    progress: false,
    verify: true,
    options: BF16,
  });
});

test('verify', () => {
  expect(parseCommand(['verify', '--from', 'in', '--to', 'bf16', 'out'])).toEqual({
    kind: 'verify',
    path: 'out',
    source: 'in',
    json: false,
    progress: false,
    options: BF16,
  });
});

test.each([
  [[]],
  [['weigh', 'a']],
  [['inspect']],
  [['inspect', '']],
  [['inspect', 'a', 'b']],
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
  [['verify', '--to', 'bf16', 'out']],
])('%j is wrong usage', (argv) => {
  expect(() => parseCommand(argv)).toThrow(UsageError);
});
