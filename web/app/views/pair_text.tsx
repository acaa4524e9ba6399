// How the parts of a pair read, in the table and in its details.
import type { ReactNode } from 'react';
import type { Granularity, PairRow, PairState, ScaleRow } from '../../engine/report';
import { float, shape } from '../format';

export const STATE_NAMES: Record<PairState, string> = {
  ok: 'ok',
  noted: 'noted',
  undecided: 'undecided',
  refused: 'refused',
};

const STATE_MARKS: Record<PairState, string> = { ok: '✓', noted: 'i', undecided: '?', refused: '!' };

const GRANULARITY_NAMES: Record<Granularity, string> = {
  per_tensor: 'per tensor',
  per_part: 'per part',
  per_expert: 'per expert',
  per_row: 'per row',
  per_column: 'per column',
  group: 'group',
  block: 'block',
  none: 'none',
  unknown: 'unknown',
};

export function State({ state }: { state: PairState }): ReactNode {
  return (
    <span className={`state state-${state}`}>
      <span className="state-mark" aria-hidden="true">
        {STATE_MARKS[state]}
      </span>
      {STATE_NAMES[state]}
    </span>
  );
}

export function granularity({ granularity: kind, group: [rows, columns] }: PairRow): string {
  const name = GRANULARITY_NAMES[kind];
  return (kind === 'block' || kind === 'group') && rows > 0 ? `${name} ${rows} × ${columns}` : name;
}

/** The value, or its range, or why there is none to show. */
export function scaleValue(scale: ScaleRow, rangeDigits = 7): string {
  const { value, min, max } = scale;
  if (value !== undefined) return float(value);
  if (min !== undefined && max !== undefined) {
    if (min === max) return `all ${float(min)}`;
    return `${float(min, rangeDigits)} … ${float(max, rangeDigits)}`;
  }
  return scale.shape.includes(0) ? 'no values' : `${shape(scale.shape)} not read`;
}

export function evidenceLine(pair: PairRow): string {
  return pair.evidence.map((evidence) => evidence.source).join(', ');
}
