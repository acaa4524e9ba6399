import type { ReactNode } from 'react';
import type { PairRow } from '../../engine/report';
import { shape, shortBeside, visible } from '../format';
import { LongName } from '../parts/text';
import { type Column, VirtualGrid } from '../parts/virtual_grid';
import { evidenceLine, granularity, State, scaleValue } from './pair_text';

const RANGE_DIGITS = 3;

const COLUMNS: readonly Column<PairRow>[] = [
  { id: 'state', title: 'State', width: '7.25rem', cell: (pair) => <State state={pair.state} /> },
  {
    id: 'weight',
    title: 'Weight',
    width: 'minmax(15rem, 2.4fr)',
    header: true,
    cell: (pair) => <LongName text={pair.weight} />,
  },
  { id: 'scheme', title: 'Scheme', width: 'minmax(7.25rem, 0.6fr)', cell: (pair) => pair.scheme },
  { id: 'shape', title: 'Shape', width: '7.5rem', cell: (pair) => shape(pair.shape) },
  { id: 'dtype', title: 'Dtype', width: '6rem', cell: (pair) => pair.dtype },
  { id: 'granularity', title: 'Granularity', width: '8.25rem', cell: granularity },
  { id: 'scales', title: 'Scale', width: 'minmax(8.75rem, 0.8fr)', cell: (pair) => <ScaleNames pair={pair} /> },
  {
    id: 'value',
    title: 'Scale value',
    width: 'minmax(9.5rem, 0.7fr)',
    cell: (pair) => pair.scales.map((scale) => scaleValue(scale, RANGE_DIGITS)).join('; ') || '–',
  },
  { id: 'formula', title: 'Formula', width: 'minmax(13rem, 1.2fr)', cell: (pair) => <code>{pair.formula}</code> },
  { id: 'evidence', title: 'Evidence', width: 'minmax(9rem, 0.7fr)', cell: evidenceLine },
];

interface PairsTableProps {
  pairs: readonly PairRow[];
  opened: PairRow | null;
  onOpen: (pair: PairRow | null) => void;
}

export function PairsTable({ pairs, opened, onOpen }: PairsTableProps): ReactNode {
  return (
    <VirtualGrid
      label="Quantized weights and their scales. Enter shows the details of a row below the table."
      className="pairs-grid"
      testId="pairs-table"
      rowTestId="pair-row"
      rows={pairs}
      columns={COLUMNS}
      opened={opened}
      onOpen={onOpen}
      rowClass={(pair) => `row-${pair.state}`}
    />
  );
}

function ScaleNames({ pair }: { pair: PairRow }): ReactNode {
  if (pair.scales.length === 0) return <span className="none">no scale</span>;
  return (
    <bdi title={pair.scales.map((scale) => visible(scale.name)).join('\n')}>
      {pair.scales.map((scale) => visible(shortBeside(scale.name, pair.weight))).join(', ')}
    </bdi>
  );
}
