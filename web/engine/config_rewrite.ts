// What becomes of the small files beside a checkpoint when it is written anew: a config that still
// described the old quantization would make the result unusable (case B06).
import { addMember, editJson } from './json_edit';
import { baseName } from './layouts';
import type { PlanReport } from './report';

/** Keys that describe how weights are packed, wherever in a config they stand. */
const QUANTIZATION_KEYS = ['quantization_config', 'quantization', 'compression_config', 'expert_dtype'];
/** Files that say nothing but how the input was quantized. */
const QUANTIZATION_FILES = ['hf_quant_config.json', 'quantize_config.json', 'quant_config.json'];
const CONFIG_FILES = ['config.json', 'params.json'];

export interface WrittenAs {
  /** null: the file is left out */
  text: string | null;
  /** what was changed, for the receipt; empty when the file stays as it is */
  changes: string[];
}

type Plan = Pick<PlanReport, 'to' | 'dequantized' | 'cast' | 'kept_quantized'>;

export function isConfig(path: string): boolean {
  const name = baseName(path);
  return CONFIG_FILES.includes(name) || QUANTIZATION_FILES.includes(name);
}

/** Where weights stay quantized, what describes them stays too. */
export function rewriteConfig(path: string, text: string, { to, dequantized, cast, kept_quantized }: Plan): WrittenAs {
  const name = baseName(path);
  if (to === 'stored' || kept_quantized > 0 || !isConfig(path)) return { text, changes: [] };
  if (QUANTIZATION_FILES.includes(name)) return { text: null, changes: ['left out: it describes the quantization'] };
  const dtype = to === 'f16' ? 'float16' : 'bfloat16';
  const converted = dequantized + cast > 0;
  const replace = converted ? { torch_dtype: dtype, dtype } : {};
  const edited = editJson(text, { remove: QUANTIZATION_KEYS, replace });
  if (edited === null) return { text, changes: [] };
  const changes = edited.removed.map((key) => `${key} removed`);
  changes.push(...edited.replaced.map((key) => `${key} set to ${dtype}`));
  // Only a language model's config states a dtype; one without it would be loaded as float32.
  const statesNone = converted && /"model_type"/.test(edited.text) && !/"(torch_)?dtype"/.test(edited.text);
  if (!statesNone) return { text: edited.text, changes };
  return { text: addMember(edited.text, 'torch_dtype', dtype), changes: [...changes, `torch_dtype added: ${dtype}`] };
}

/** The same for bytes; null: the file is left out. Other files come back as they are. */
export function rewrittenFile(
  path: string,
  bytes: Uint8Array,
  plan: Plan,
): { bytes: Uint8Array | null; changes: string[] } {
  if (!isConfig(path)) return { bytes, changes: [] };
  const { text, changes } = rewriteConfig(path, new TextDecoder().decode(bytes), plan);
  if (text === null) return { bytes: null, changes };
  return changes.length === 0 ? { bytes, changes } : { bytes: new TextEncoder().encode(text), changes };
}

/** A single file is written without its config: what a person has to change by hand, in words. */
export function staleConfigs(sideFiles: readonly { name: string; bytes: Uint8Array }[], plan: Plan): string[] {
  const stale = sideFiles.filter(({ name, bytes }) => rewrittenFile(name, bytes, plan).changes.some(isRemoval));
  return stale.map(
    ({ name }) => `${name} still describes the quantization: take that part out before this file is used with it`,
  );
}

function isRemoval(change: string): boolean {
  return change.endsWith('removed') || change.startsWith('left out');
}
