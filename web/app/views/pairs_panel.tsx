// Every quantized weight with what scales it: counts, filters, the table, the details of one pair.
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import type { PairCounts, PairRow, PairState, SchemeRow } from '../../engine/report';
import { formatCount, formatDecimal } from '../../engine/units';
import { ALL_PAIRS, filterPairs, issuesOf, type PairFilter } from '../filter';
import { plural } from '../format';
import type { OpenCheckpoint } from '../hooks/use_checkpoint';
import { Chips } from '../parts/chips';
import { Fault } from '../parts/fault';
import { SearchBox } from '../parts/search_box';
import { Section } from '../parts/section';
import { PairDetails } from './pair_details';
import { PairsTable } from './pairs_table';

const STATES: readonly PairState[] = ['ok', 'noted', 'undecided', 'refused'];

export function PairsPanel({ checkpoint }: { checkpoint: OpenCheckpoint }): ReactNode {
  const { report, pairs, rows } = checkpoint;
  const { weights, scales, undecided, refused } = report.pair_counts;
  if (weights === 0 && pairs.length === 0 && rows !== 'none') {
    return <Section title="Pairs" says="Nothing in this file is quantized." />;
  }
  const open =
    undecided + refused > 0 ? `${formatCount(undecided)} undecided, ${formatCount(refused)} refused` : '0 undecided';
  return (
    <Section title="Pairs" says={`${plural(weights, 'quantized weight')}, ${plural(scales, 'scale')}, ${open}`}>
      <Schemes schemes={report.schemes} />
      {typeof rows === 'object' && <Fault issue={rows} />}
      {rows === 'none' ? (
        <p className="soft">Reading the list of pairs…</p>
      ) : (
        <PairsBrowser pairs={pairs} counts={report.pair_counts} isReading={rows === 'some'} />
      )}
    </Section>
  );
}

function Schemes({ schemes }: { schemes: SchemeRow[] }): ReactNode {
  return (
    <ul className="plain-list schemes">
      {schemes.map((scheme) => (
        <li key={scheme.scheme}>
          <strong>{scheme.title}</strong>{' '}
          <span className="soft">
            {plural(scheme.weights, 'weight')}, {formatDecimal(scheme.bytes)}
            {!scheme.supported && ', recognised but not converted'}
          </span>
          {scheme.formula !== '' && <code className="formula">{scheme.formula}</code>}
        </li>
      ))}
    </ul>
  );
}

interface PairsBrowserProps {
  pairs: readonly PairRow[];
  /** of all pairs, also those that are still being read */
  counts: PairCounts;
  /** the others are on their way */
  isReading: boolean;
}

function PairsBrowser({ pairs, counts, isReading }: PairsBrowserProps): ReactNode {
  const [filter, setFilter] = useState<PairFilter>(ALL_PAIRS);
  const [opened, setOpened] = useState<PairRow | null>(null);
  const wanted = useDeferredValue(filter);
  const shown = useMemo(() => filterPairs(pairs, wanted), [pairs, wanted]);
  const all = counts.ok + counts.noted + counts.undecided + counts.refused;
  const issues = useMemo(() => (isReading ? [] : issuesOf(pairs)), [pairs, isReading]);

  return (
    <>
      <div className="toolbar">
        <Chips
          label="Pairs by state"
          chips={[
            { id: 'all', label: 'all', count: all },
            ...STATES.filter((state) => counts[state] > 0).map((id) => ({ id, label: id, count: counts[id] })),
          ]}
          value={filter.state}
          onChange={(state) => setFilter({ ...filter, state })}
        />
        {issues.length > 0 && (
          <Chips
            label="Pairs by issue"
            chips={[
              { id: 'all', label: 'any issue or none', count: pairs.length },
              ...issues.map(({ code, pairs: count }) => ({ id: code, label: code.replaceAll('_', ' '), count })),
            ]}
            value={filter.issue}
            onChange={(issue) => setFilter({ ...filter, issue })}
          />
        )}
        <SearchBox label="Search pairs" value={filter.text} onChange={(text) => setFilter({ ...filter, text })} />
        <p className="soft toolbar-count" role="status">
          {shown.length === all ? plural(all, 'pair') : `${formatCount(shown.length)} of ${plural(all, 'pair')}`}
          {isReading && ', the others are being read…'}
        </p>
      </div>
      <PairsTable pairs={shown} opened={opened} onOpen={setOpened} />
      {opened && <PairDetails pair={opened} onClose={() => setOpened(null)} />}
    </>
  );
}
