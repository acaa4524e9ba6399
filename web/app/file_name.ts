// The name offered for a converted file. Names come from strangers: nothing in one may steer a path,
// hide its ending or be refused by Windows.
import type { Target } from '../engine/report';

const STEM_CHARACTERS_MAX = 120;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/i;
// what paths and shells read meaning into, and what nobody can see
const UNSAFE = /[\\/:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const SHARD = /-\d{5,6}-of-\d{5,6}$/;

const ENDINGS: Record<Target, string> = { bf16: '-bf16', f16: '-fp16', stored: '-copy' };

/** `model.safetensors` to bf16 becomes `model-bf16.safetensors`. */
export function outputName(inputName: string, to: Target): string {
  const stem = inputName.replace(/\.safetensors$/i, '').replace(SHARD, '');
  return `${safeStem(stem)}${ENDINGS[to]}.safetensors`;
}

/** The folder for a converted set: `DeepSeek-V3` or, without a folder, `model` becomes `DeepSeek-V3-bf16`. */
export function outputFolderName(folder: string, inputName: string, to: Target): string {
  const last = folder.slice(folder.lastIndexOf('/') + 1);
  return outputName(last === '' ? inputName : last, to).replace(/\.safetensors$/, '');
}

function safeStem(stem: string): string {
  const clean = Array.from(stem.normalize('NFC').replace(UNSAFE, '_')).slice(0, STEM_CHARACTERS_MAX).join('');
  const trimmed = clean.replace(/^[. ]+|[. ]+$/g, '');
  if (trimmed === '' || /^_+$/.test(trimmed)) return 'model';
  return RESERVED.test(trimmed) ? `${trimmed}_` : trimmed;
}
