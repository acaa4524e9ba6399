// "Who reads this file correctly": the order, the sentence, the words, and the tie to the rows of the RAM model.
import { describe, expect, test } from 'vitest';
import { orderReaders, READER_OF_LOADER, readersSummary, readsWrong } from '../../web/app/readers_view';
import { loadCore } from '../../web/cli/core_loader';
import { readersText } from '../../web/cli/readers_text';
import { Checkpoint } from '../../web/engine/pipeline';
import {
  judgedWeights,
  type ReadAnswer,
  type ReaderRow,
  type ReadOutcome,
  worstFinding,
} from '../../web/engine/readers';
import { MemorySource } from '../../web/engine/source';
import { fp8Weight, safetensors, scalar } from './checkpoints';

function row(reader: string, answer: ReadAnswer, change: Partial<ReaderRow> = {}): ReaderRow {
  const outcome: ReadOutcome =
    answer === 'reads_right' ? 'correct' : answer === 'unknown' ? 'unknown' : 'scale_ignored';
  return {
    reader,
    title: reader,
    versions: 'v1',
    models: 'image',
    answer,
    findings: [{ answer, outcome, weights: 3, scheme: 'fp8_scaled', example: 'a.weight' }],
    ...change,
  };
}

const names = (rows: readonly ReaderRow[]): string[] => rows.map(({ reader }) => reader);

describe('order', () => {
  const rows = [
    row('old', 'reads_wrong'),
    row('dark', 'unknown'),
    row('new', 'reads_right'),
    row('talker', 'reads_wrong', { models: 'language' }),
    row('mute', 'unknown', { models: 'language' }),
  ];

  test('right before wrong; unknown apart; programs for other models apart', () => {
    const { known, unknown, others } = orderReaders(rows, 'diffusion_model');
    expect(names(known)).toEqual(['new', 'old']);
    expect(names(unknown)).toEqual(['dark']);
    expect(names(others)).toEqual(['talker']);
  });

  test('a language model turns that round, and of an unknown kind all count', () => {
    expect(names(orderReaders(rows, 'language_model').known)).toEqual(['talker']);
    expect(names(orderReaders(rows, 'unknown').known)).toEqual(['new', 'old', 'talker']);
  });
});

test('one sentence says who is right, who is wrong, and who depends on the version', () => {
  const rows = [
    row('a', 'reads_right', { title: 'Both' }),
    row('b', 'reads_wrong', { title: 'Both' }),
    row('c', 'reads_right', { title: 'Good' }),
    row('d', 'reads_wrong', { title: 'Bad' }),
  ];
  expect(readersSummary(rows)).toBe('Right: Good. Depends on the version: Both. Wrong: Bad.');
  expect(readersSummary([])).toBe('Of no program that we know of is it known.');
});

test('a row of the RAM model is wrong where any checkpoint of the pipeline is read wrong', () => {
  const good = [row('comfyui', 'reads_right')];
  const bad = [row('comfyui', 'reads_wrong')];
  expect(readsWrong('comfyui_comfy_quant', [good])).toBe(false);
  expect(readsWrong('comfyui_comfy_quant', [good, bad])).toBe(true);
  expect(readsWrong('comfyui_comfy_quant', [[row('comfyui', 'unknown')]])).toBe(false);
  expect(readsWrong('weighbridge', [bad])).toBe(false);
});

test('the terminal says how many weights an answer concerns', () => {
  const mixed = row('mixed', 'reads_wrong', {
    findings: [
      { answer: 'reads_wrong', outcome: 'scale_ignored', weights: 2, scheme: 'fp8_scaled', example: 'a' },
      { answer: 'reads_right', outcome: 'correct', weights: 5, scheme: 'int8', example: 'b' },
    ],
  });
  expect(judgedWeights(mixed)).toBe(7);
  expect(worstFinding(mixed).weights).toBe(2);
  const text = readersText([mixed, row('good', 'reads_right'), row('dark', 'unknown')]);
  expect(text).toContain('Who reads this file correctly');
  expect(text).toMatch(/right\s+good, v1\n/);
  expect(text).toMatch(/wrong\s+mixed, v1\s+scale ignored: noise, 2 of 7 weights/);
  expect(text).toContain('not known: dark');
});

test("the loaders and the readers that belong together are rows of the core's tables", async () => {
  const core = await loadCore(new URL('../../build/wasm-release/', import.meta.url));
  const file = safetensors({ 'a.weight': fp8Weight(16, 16), 'a.weight_scale': scalar(2) });
  const checkpoint = await Checkpoint.open(core, { sources: [new MemorySource('m', file)], sideFiles: [] });
  const { ram, readers } = checkpoint.report();
  await checkpoint.close();
  const loaders = ram.loaders.map(({ loader }) => loader);
  const known = readers.map(({ reader }) => reader);
  expect(loaders.length).toBeGreaterThan(10);
  expect(known.length).toBeGreaterThan(10);
  expect(Object.keys(READER_OF_LOADER).filter((loader) => !loaders.includes(loader))).toEqual([]);
  expect(Object.values(READER_OF_LOADER).filter((reader) => !known.includes(reader))).toEqual([]);
});
