// What the core's words about memory mean, for a person at home.
import type {
  Arrangement,
  Fit,
  HeldAs,
  MachineKind,
  MemoryVerdict,
  StageName,
  TermKind,
  TermName,
} from '../engine/ram_report';
import { formatBinary } from '../engine/units';

export const HELD_AS_WORDS: Record<HeldAs, string> = {
  as_stored: 'as stored',
  bf16: 'bf16',
  f16: 'fp16',
  f32: 'float32',
  fp8: 'fp8',
};

export const KIND_WORDS: Record<MachineKind, string> = {
  windows: 'Windows PC',
  linux: 'Linux PC',
  unified: 'Mac, or other shared memory',
  container: 'Container or WSL',
};

export const FIT_WORDS: Record<Fit, string> = {
  fits: 'fits',
  fits_if_closed: 'fits if other programs are closed',
  will_swap: 'will swap: very slow',
  will_be_killed: 'does not fit',
};

/** Beside the word and the colour. */
export const FIT_MARKS: Record<Fit, string> = { fits: '✓', fits_if_closed: '◐', will_swap: '!', will_be_killed: '✕' };

/** Best first. */
export const FITS: readonly Fit[] = ['fits', 'fits_if_closed', 'will_swap', 'will_be_killed'];

export const TERM_KIND_WORDS: Record<TermKind, { title: string; says: string }> = {
  file_pages: { title: 'file pages', says: 'the system can drop them and read them again' },
  anonymous: { title: 'memory', says: 'must be there' },
  transient: { title: 'for a moment', says: 'beside everything else' },
  device: { title: 'graphics card', says: 'on its own memory' },
};

export const TERM_WORDS: Record<TermName, string> = {
  file: 'the file',
  one_shard: 'one shard of the file',
  mapped_weights: 'weights, straight from the file',
  file_buffer: 'the whole file, read into memory',
  weights: 'weights',
  float32_weights: 'weights in float32',
  widened_weights: 'widened weights',
  one_tensor: 'one tensor being worked on',
  one_layer: 'one layer being widened',
  device_weights: 'weights on the graphics card',
  kv_cache: 'KV cache of the context',
  core_heap: 'this program',
  windows: 'pieces being read and written',
  other_components: 'the other components',
  other_components_mapped: 'the other components, straight from their files',
  other_components_on_device: 'the other components on the graphics card',
};

export const STAGE_WORDS: Record<StageName, string> = {
  map: 'file opened',
  read: 'file read',
  parse: 'tensors taken out',
  copy: 'copied',
  dequantize: 'dequantized',
  cast: 'cast',
  load_shards: 'loading shard by shard',
  resident: 'loaded',
  on_device: 'moved to the graphics card',
  in_use: 'in use',
  convert: 'converting',
  done: 'done',
};

export const ARRANGEMENT_WORDS: Record<Arrangement, { title: string; says: string }> = {
  together: { title: 'All at once', says: 'everything in memory, and on the graphics card' },
  offload: { title: 'Offloaded', says: 'all in memory, one at a time on the graphics card' },
  in_turn: { title: 'One after the other', says: 'each is loaded, used and freed' },
};

const POOL_WORDS: Record<MemoryVerdict['pool'], string> = {
  ram: 'memory',
  commit: 'memory and page file together',
  vram: 'graphics memory',
};

export function fitWords({ fit, pool }: MemoryVerdict): string {
  if (pool === 'vram' && fit === 'will_swap') return 'more than the graphics card has: very slow';
  if (pool === 'vram' && fit === 'will_be_killed') return 'does not fit on the graphics card';
  return FIT_WORDS[fit];
}

/** "Needs 36.8 GiB of memory; 32.0 GiB is there. Most of it: weights in float32 (dequantized)." */
export function decidedBy({ fit, pool, need_bytes, have_bytes, term, stage_name }: MemoryVerdict): string {
  const when: Partial<Record<Fit, string>> = {
    fits_if_closed: ' once other programs are closed',
    will_be_killed: pool === 'ram' ? ', swap included' : '',
  };
  const there = `${formatBinary(have_bytes)} is there${when[fit] ?? ''}`;
  const most = `Most of it: ${TERM_WORDS[term]} (${STAGE_WORDS[stage_name]}).`;
  return `Needs ${formatBinary(need_bytes)} of ${POOL_WORDS[pool]}; ${there}. ${most}`;
}
