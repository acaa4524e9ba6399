import { describe, expect, test } from 'vitest';
import { ALL_PAIRS, filterPairs, filterTensors, groupIssues, issuesOf } from '../../web/app/filter';
import type { CoreIssue, PairRow, PairState, TensorRow } from '../../web/engine/report';

function pair(weight: string, state: PairState, codes: CoreIssue['code'][] = []): PairRow {
  return {
    weight,
    scheme: 'fp8_scaled',
    dtype: 'F8_E4M3',
    shape: [2, 2],
    parameters: 4,
    bytes: 4,
    granularity: 'per_tensor',
    group: [2, 2],
    scales: [{ name: `${weight}_scale`, dtype: 'F32', shape: [], source: 0, value: 0.5 }],
    formula: '',
    evidence: [],
    state,
    issues: codes.map((code) => ({ code, where: weight, message: '' })),
  };
}

const PAIRS = [
  pair('blocks.0.wq.weight', 'ok'),
  pair('blocks.1.wq.weight', 'undecided', ['scale_zero']),
  pair('blocks.1.WK.weight', 'refused', ['scale_nan', 'scale_nan', 'scale_zero']),
];

const names = (pairs: readonly PairRow[]): string[] => pairs.map((row) => row.weight);

describe('pairs', () => {
  test('no filter gives the very same rows, so that nothing is drawn again', () => {
    expect(filterPairs(PAIRS, ALL_PAIRS)).toBe(PAIRS);
    expect(filterPairs(PAIRS, { ...ALL_PAIRS, text: '  ' })).toBe(PAIRS);
  });

  test('by state, by issue, by words in any order and case', () => {
    expect(names(filterPairs(PAIRS, { ...ALL_PAIRS, state: 'refused' }))).toEqual(['blocks.1.WK.weight']);
    expect(filterPairs(PAIRS, { ...ALL_PAIRS, issue: 'scale_zero' })).toHaveLength(2);
    expect(names(filterPairs(PAIRS, { ...ALL_PAIRS, text: 'wk BLOCKS.1' }))).toEqual(['blocks.1.WK.weight']);
    expect(filterPairs(PAIRS, { ...ALL_PAIRS, text: 'wq_scale' })).toHaveLength(0);
    expect(filterPairs(PAIRS, { ...ALL_PAIRS, text: 'weight_scale e4m3' })).toHaveLength(3);
  });

  test('all filters at once', () => {
    expect(filterPairs(PAIRS, { state: 'undecided', issue: 'scale_zero', text: 'wq' })).toHaveLength(1);
    expect(filterPairs(PAIRS, { state: 'ok', issue: 'scale_zero', text: '' })).toHaveLength(0);
  });

  test('are counted by state, and by issue once per pair', () => {
    expect(issuesOf(PAIRS)).toEqual([
      { code: 'scale_zero', pairs: 2 },
      { code: 'scale_nan', pairs: 1 },
    ]);
  });
});

test('issues of one code stand together, in the order of their first', () => {
  const issue = (code: CoreIssue['code'], where: string): CoreIssue => ({ code, where, message: '' });
  const groups = groupIssues([issue('scale_nan', 'a'), issue('scale_zero', 'b'), issue('scale_nan', 'c')]);
  expect(groups.map(({ code, issues }) => [code, issues.map(({ where }) => where)])).toEqual([
    ['scale_nan', ['a', 'c']],
    ['scale_zero', ['b']],
  ]);
});

test('tensors by dtype and words', () => {
  const row = (name: string, dtype: string, role: TensorRow['role']): TensorRow => ({
    name,
    dtype,
    kind: 'other',
    shape: [],
    source: 0,
    begin: 0,
    end: 0,
    elements: 1,
    role,
    pair: -1,
    missing_bytes: 0,
  });
  const rows = [row('a.weight', 'BF16', 'parameter'), row('a.scale', 'F32', 'scale'), row('b', 'F32', 'parameter')];
  expect(filterTensors(rows, 'all', '')).toBe(rows);
  expect(filterTensors(rows, 'F32', '')).toHaveLength(2);
  expect(filterTensors(rows, 'F32', 'scale')).toHaveLength(1);
  expect(filterTensors(rows, 'all', 'bf16 weight')).toHaveLength(1);
});
