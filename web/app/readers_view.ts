// The order and the one sentence of "who reads this file correctly".
import type { ModelKind } from '../engine/ram_report';
import type { ReaderRow } from '../engine/readers';

export interface OrderedReaders {
  /** right first, then wrong, each in the order of the table */
  known: ReaderRow[];
  unknown: ReaderRow[];
  /** programs for another kind of model */
  others: ReaderRow[];
}

const FOREIGN: Partial<Record<ModelKind, ReaderRow['models']>> = {
  diffusion_model: 'language',
  vae: 'language',
  language_model: 'image',
};

export function orderReaders(readers: readonly ReaderRow[], kind: ModelKind): OrderedReaders {
  const isForeign = (row: ReaderRow): boolean => row.models === FOREIGN[kind];
  const by = (answer: ReaderRow['answer']): ReaderRow[] =>
    readers.filter((row) => row.answer === answer && !isForeign(row));
  return {
    known: [...by('reads_right'), ...by('reads_wrong')],
    unknown: by('unknown'),
    others: readers.filter((row) => isForeign(row) && row.answer !== 'unknown'),
  };
}

export function readersSummary(known: readonly ReaderRow[]): string {
  const titles = (answer: ReaderRow['answer']): string[] => [
    ...new Set(known.filter((row) => row.answer === answer).map(({ title }) => title)),
  ];
  const right = titles('reads_right');
  const wrong = titles('reads_wrong');
  const both = right.filter((title) => wrong.includes(title));
  const only = (list: string[]): string[] => list.filter((title) => !both.includes(title));
  const parts = [
    sentence('Right', only(right)),
    sentence('Depends on the version', both),
    sentence('Wrong', only(wrong)),
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'Of no program that we know of is it known.' : parts.join(' ');
}

function sentence(word: string, titles: readonly string[]): string {
  return titles.length === 0 ? '' : `${word}: ${titles.join('; ')}.`;
}

/** The readers of the same program and version as rows of the RAM model's loader table. */
export const READER_OF_LOADER: Readonly<Record<string, string>> = {
  invokeai_float32: 'invokeai',
  invokeai_bf16: 'invokeai',
  invokeai_in_place: 'invokeai',
  comfyui_legacy: 'comfyui_2025',
  comfyui_comfy_quant: 'comfyui',
  comfyui_no_mmap: 'comfyui',
  diffusers: 'diffusers',
  transformers: 'transformers',
  transformers_dequantize: 'transformers_dequantize',
  vllm: 'vllm',
  stable_diffusion_cpp: 'sdcpp',
};

/** Whether the program behind a row of the loader table is known to read any of these checkpoints wrong. */
export function readsWrong(loader: string, checkpoints: readonly (readonly ReaderRow[])[]): boolean {
  const id = READER_OF_LOADER[loader];
  return checkpoints.some((readers) => readers.some((row) => row.reader === id && row.answer === 'reads_wrong'));
}
