// The options of `ram` that describe a machine and what is wanted of it, as part of a RamRequest.
import type { HeldAs, Machine, MachineKind, RamRequest } from '../engine/ram_report';
import { UsageError } from './usage_error';

export type MemoryWish = Omit<RamRequest, 'components'>;

export interface MemoryWords {
  ram?: string | undefined;
  free?: string | undefined;
  swap?: string | undefined;
  vram?: string | undefined;
  kind?: string | undefined;
  loader?: string | undefined;
  dtype?: string | undefined;
  context?: string | undefined;
}

export const MEMORY_OPTIONS = ['ram', 'free', 'swap', 'vram', 'kind', 'loader', 'dtype', 'context'] as const;

const KINDS: readonly MachineKind[] = ['linux', 'windows', 'unified', 'container'];
const DTYPES: Record<string, HeldAs> = {
  as_stored: 'as_stored',
  bf16: 'bf16',
  f16: 'f16',
  fp16: 'f16',
  f32: 'f32',
  float32: 'f32',
  fp8: 'fp8',
};
const UNITS: Record<string, number> = {
  '': 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

export function memoryWish(words: MemoryWords): MemoryWish {
  const wish: MemoryWish = { held_as: heldAs(words.dtype), loader: words.loader ?? 'all' };
  if (words.context !== undefined) wish.context_tokens = tokens(words.context);
  const machine = machineOf(words);
  return machine === null ? wish : { ...wish, machine };
}

function machineOf({ ram, free, swap, vram, kind }: MemoryWords): Machine | null {
  if (ram === undefined) {
    if ([free, swap, vram, kind].some((word) => word !== undefined))
      throw new UsageError('--free, --swap, --vram and --kind describe a machine, which needs --ram');
    return null;
  }
  const machine: Machine = { kind: machineKind(kind), ram_bytes: size('--ram', ram) };
  if (machine.ram_bytes === 0) throw new UsageError('--ram is more than nothing');
  if (free !== undefined) machine.free_bytes = size('--free', free);
  if ((machine.free_bytes ?? 0) > machine.ram_bytes) throw new UsageError('--free is more than --ram');
  if (swap !== undefined) machine.swap_bytes = size('--swap', swap);
  if (vram !== undefined) machine.vram_bytes = size('--vram', vram);
  return machine;
}

function machineKind(word: string | undefined): MachineKind {
  const kind = KINDS.find((each) => each === (word ?? 'linux'));
  if (kind === undefined) throw new UsageError(`--kind is ${KINDS.join(', ')}, not ${word}`);
  return kind;
}

function heldAs(word: string | undefined): HeldAs {
  const dtype = Object.entries(DTYPES).find(([name]) => name === (word ?? 'as_stored'))?.[1];
  if (dtype === undefined) throw new UsageError(`--dtype is as_stored, bf16, fp16, float32 or fp8, not ${word}`);
  return dtype;
}

function tokens(word: string): number {
  const count = Number(word);
  if (/^\d+$/.test(word) && count > 0 && Number.isSafeInteger(count)) return count;
  throw new UsageError(`--context wants a number of tokens, not ${word}`);
}

/** GB is 10^9 and GiB is 2^30, and nothing else is either: "32gb" would leave it open which is meant. */
function size(option: string, words: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(words) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name === unit)?.[1];
  const bytes = Math.round(Number(amount) * (factor ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new UsageError(`${option} wants a size such as 32GB (10^9) or 32GiB (2^30), not ${words}`);
}
