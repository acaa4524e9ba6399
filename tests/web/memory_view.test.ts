// What the memory section shows: bars, their scale, the order of the rows and the words of a verdict.
import { describe, expect, test } from 'vitest';
import type { MachineForm } from '../../web/app/machine';
import {
  arrangementsOf,
  countFits,
  groupLoaders,
  marksOf,
  scaleOf,
  segmentsOf,
  sumOfSegments,
} from '../../web/app/memory_view';
import { decidedBy, fitWords } from '../../web/app/memory_words';
import type { Fit, LoaderApplies, LoaderTimeline, MemoryStage, MemoryVerdict } from '../../web/engine/ram_report';

const GIB = 2 ** 30;
const PC: MachineForm = { kind: 'windows', ram: 32, free: 22, swap: 8, vram: 16 };

const STAGE: MemoryStage = {
  stage: 'dequantize',
  total_bytes: 17,
  firm_bytes: 12,
  device_bytes: 7,
  terms: [
    { name: 'file', kind: 'file_pages', place: 'ram', bytes: 5 },
    { name: 'weights', kind: 'anonymous', place: 'ram', bytes: 8 },
    { name: 'kv_cache', kind: 'anonymous', place: 'ram', bytes: 3 },
    { name: 'one_tensor', kind: 'transient', place: 'ram', bytes: 1 },
    { name: 'device_weights', kind: 'device', place: 'device', bytes: 6 },
    { name: 'one_layer', kind: 'transient', place: 'device', bytes: 1 },
  ],
};

function verdict(fit: Fit, change: Partial<MemoryVerdict> = {}): MemoryVerdict {
  return {
    fit,
    pool: 'ram',
    stage: 0,
    stage_name: 'dequantize',
    term: 'float32_weights',
    need_bytes: 46 * GIB,
    have_bytes: 40 * GIB,
    dropped_bytes: 0,
    ...change,
  };
}

function row(loader: string, firm: number, change: Partial<LoaderApplies> = {}): LoaderApplies {
  return {
    loader,
    title: loader,
    version: '1',
    source: 'x.py',
    url: '',
    purpose: 'program',
    applies: true,
    stages: [STAGE],
    peak_stage: 0,
    peak_bytes: firm,
    firm_peak_bytes: firm,
    device_peak_bytes: 0,
    steady_bytes: firm,
    ...change,
  };
}

const never = (): boolean => false;
const names = (rows: readonly LoaderTimeline[]): string[] => rows.map(({ loader }) => loader);

describe('bars', () => {
  test('terms of one kind are one piece; what must be there comes first', () => {
    expect(segmentsOf(STAGE, 'ram', 'linux')).toEqual([
      { kind: 'anonymous', bytes: 11 },
      { kind: 'transient', bytes: 1 },
      { kind: 'file_pages', bytes: 5 },
    ]);
    expect(sumOfSegments(segmentsOf(STAGE, 'ram', null))).toBe(STAGE.total_bytes);
    expect(sumOfSegments(segmentsOf(STAGE, 'device', null))).toBe(STAGE.device_bytes);
  });

  test('on shared memory both places are one', () => {
    expect(sumOfSegments(segmentsOf(STAGE, 'ram', 'unified'))).toBe(STAGE.total_bytes + STAGE.device_bytes);
  });

  test('lines stand where the machine ends', () => {
    expect(marksOf(PC, 'ram')).toEqual([
      { name: 'free', bytes: 22 * GIB },
      { name: 'ram', bytes: 32 * GIB },
    ]);
    expect(marksOf(PC, 'device')).toEqual([{ name: 'vram', bytes: 16 * GIB }]);
    expect(marksOf({ ...PC, vram: 0 }, 'device')).toEqual([]);
    expect(marksOf(null, 'ram')).toEqual([]);
  });

  test('the scale holds the longest bar, and free memory where that does not dwarf it', () => {
    const of = (bytes: number): LoaderApplies =>
      row('a', bytes, {
        stages: [{ ...STAGE, device_bytes: 0, terms: [{ name: 'weights', kind: 'anonymous', place: 'ram', bytes }] }],
      });
    expect(scaleOf([of(40 * GIB)], PC)).toBe(40 * GIB);
    expect(scaleOf([of(20 * GIB)], PC)).toBeGreaterThan(22 * GIB);
    expect(scaleOf([of(GIB)], PC)).toBe(GIB);
    expect(scaleOf([], PC)).toBe(1);
  });
});

describe('rows', () => {
  test('the best fit first, then the least memory; what only converts or cannot load stands apart', () => {
    const rows: LoaderTimeline[] = [
      row('big', 30, { verdict: verdict('will_swap') }),
      row('small', 10, { verdict: verdict('fits') }),
      row('smaller', 5, { verdict: verdict('fits') }),
      row('dict', 1, { purpose: 'tensors' }),
      row('convert', 1, { purpose: 'conversion' }),
      {
        loader: 'no',
        title: 'no',
        version: '',
        source: '',
        url: '',
        purpose: 'program',
        applies: false,
        reason: 'why',
      },
    ];
    const grouped = groupLoaders(rows, null, never);
    expect(names(grouped.rows)).toEqual(['smaller', 'small', 'big']);
    expect(names(grouped.tensors)).toEqual(['dict']);
    expect(names(grouped.conversions)).toEqual(['convert']);
    expect(names(grouped.refused)).toEqual(['no']);
    expect(countFits(grouped.rows)).toEqual([
      { fit: 'fits', count: 2 },
      { fit: 'will_swap', count: 1 },
    ]);
  });

  test('a program that reads the file wrong comes last, however little it takes', () => {
    const rows = [row('noise', 1, { verdict: verdict('fits') }), row('good', 9, { verdict: verdict('will_swap') })];
    expect(names(groupLoaders(rows, null, (loader) => loader === 'noise').rows)).toEqual(['good', 'noise']);
  });

  test('a pipeline shows one arrangement at a time', () => {
    const rows = [row('a', 3, { arrangement: 'together' }), row('a', 2, { arrangement: 'in_turn' })];
    expect(arrangementsOf(rows)).toEqual(['together', 'in_turn']);
    expect(groupLoaders(rows, 'in_turn', never).rows.map(({ firm_peak_bytes }) => firm_peak_bytes)).toEqual([2]);
    expect(arrangementsOf([row('a', 1)])).toEqual([]);
  });
});

describe('words', () => {
  test('a verdict names both numbers and the term that decides', () => {
    expect(decidedBy(verdict('will_be_killed'))).toBe(
      'Needs 46.0 GiB of memory; 40.0 GiB is there, swap included. Most of it: weights in float32 (dequantized).',
    );
    expect(decidedBy(verdict('fits_if_closed', { have_bytes: 48 * GIB }))).toContain(
      '48.0 GiB is there once other programs are closed',
    );
    expect(decidedBy(verdict('will_swap', { pool: 'vram' }))).toContain('of graphics memory');
  });

  test('a graphics card is called by its name', () => {
    expect(fitWords(verdict('will_be_killed', { pool: 'vram' }))).toBe('does not fit on the graphics card');
    expect(fitWords(verdict('will_be_killed'))).toBe('does not fit');
  });
});
