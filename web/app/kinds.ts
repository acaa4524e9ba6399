// The kinds of numbers, in the order of every bar. Each has one colour everywhere (styles/base.css,
// --kind-*) and always its name beside it.
import type { DtypeKind, DtypeRow } from '../engine/report';

export const KIND_NAMES: Record<DtypeKind, string> = {
  fp4: '4-bit float',
  fp6: '6-bit float',
  fp8: '8-bit float',
  int8: '8-bit integer',
  half: '16-bit float',
  f32: '32-bit float',
  other: 'other',
};

export const KIND_ORDER = Object.keys(KIND_NAMES) as DtypeKind[];

export interface KindShare {
  kind: DtypeKind;
  bytes: number;
  dtypes: DtypeRow[];
}

export function sharesOf(dtypes: readonly DtypeRow[]): KindShare[] {
  return KIND_ORDER.flatMap((kind) => {
    const rows = dtypes.filter((row) => row.kind === kind).sort((a, b) => b.bytes - a.bytes);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    return rows.length > 0 ? [{ kind, bytes, dtypes: rows }] : [];
  });
}
