// For those who want to see all of it: metadata and every tensor.
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react';
import type { DtypeRow, Report, TensorRow } from '../../engine/report';
import { formatBytes, formatCount } from '../../engine/units';
import { filterTensors } from '../filter';
import { float, plural, shape, visibleLines } from '../format';
import type { OpenCheckpoint } from '../hooks/use_checkpoint';
import { prettyJson } from '../json_text';
import { Chips } from '../parts/chips';
import { Fact, Facts } from '../parts/facts';
import { Fold } from '../parts/fold';
import { SearchBox } from '../parts/search_box';
import { Section } from '../parts/section';
import { LongName, Name, Size } from '../parts/text';
import { type Column, VirtualGrid } from '../parts/virtual_grid';

const VALUE_CHARACTERS_MAX = 100_000;
const NAMES_SHOWN = 20;

export function DetailsPanel({ checkpoint }: { checkpoint: OpenCheckpoint }): ReactNode {
  const { report, tensors, rows } = checkpoint;
  return (
    <Section title="Details">
      <Fold title={`Metadata, ${plural(report.metadata.length, 'entry', 'entries')}`}>
        <Metadata metadata={report.metadata} />
      </Fold>
      <Fold title={`All tensors, ${formatCount(report.tensor_count)}`}>
        {rows !== 'all' && <p className="soft">Reading the list of tensors…</p>}
        <Tensors tensors={tensors} dtypes={report.dtypes} sources={report.sources.length} />
      </Fold>
      {report.dropped.length > 0 && (
        <Fold title="Left out by a conversion">
          <Dropped dropped={report.dropped} />
        </Fold>
      )}
    </Section>
  );
}

function Metadata({ metadata }: { metadata: Report['metadata'] }): ReactNode {
  if (metadata.length === 0) return <p className="soft">The file has no metadata.</p>;
  return (
    <dl className="metadata">
      {metadata.map(({ key, value }) => (
        <div key={key}>
          <dt>
            <Name text={key} />
          </dt>
          <dd>
            <MetadataValue value={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function MetadataValue({ value }: { value: string }): ReactNode {
  const text = visibleLines(
    value.length > VALUE_CHARACTERS_MAX ? value.slice(0, VALUE_CHARACTERS_MAX) : prettyJson(value),
  );
  return (
    <>
      {/* a long value scrolls, also by keyboard */}
      <pre tabIndex={text.length > 600 ? 0 : undefined}>{text}</pre>
      {value.length > VALUE_CHARACTERS_MAX && (
        <p className="soft">
          The first {formatCount(VALUE_CHARACTERS_MAX)} of {formatCount(value.length)} characters.
        </p>
      )}
    </>
  );
}

const COLUMNS: readonly Column<TensorRow>[] = [
  {
    id: 'name',
    title: 'Name',
    width: 'minmax(16rem, 3fr)',
    header: true,
    cell: (tensor) => <LongName text={tensor.name} />,
  },
  { id: 'dtype', title: 'Dtype', width: '7rem', cell: (tensor) => tensor.dtype },
  { id: 'shape', title: 'Shape', width: 'minmax(8rem, 1fr)', cell: (tensor) => shape(tensor.shape) },
  { id: 'role', title: 'Role', width: '8.5rem', cell: (tensor) => tensor.role.replaceAll('_', ' ') },
  { id: 'bytes', title: 'Size', width: '6.5rem', numeric: true, cell: (tensor) => <TensorSize tensor={tensor} /> },
  { id: 'begin', title: 'Begins at byte', width: '9rem', numeric: true, cell: (tensor) => formatCount(tensor.begin) },
  {
    id: 'values',
    title: 'Values',
    width: 'minmax(7rem, 1fr)',
    cell: (tensor) => tensor.values?.map((value) => float(value)).join(', '),
  },
];

const SOURCE_COLUMN: Column<TensorRow> = {
  id: 'source',
  title: 'File',
  width: '3.5rem',
  numeric: true,
  cell: (tensor) => tensor.source + 1,
};

interface TensorsProps {
  tensors: readonly TensorRow[];
  dtypes: readonly DtypeRow[];
  sources: number;
}

function Tensors({ tensors, dtypes, sources }: TensorsProps): ReactNode {
  const [text, setText] = useState('');
  const [dtype, setDtype] = useState('all');
  const wanted = useDeferredValue(text);
  const shown = useMemo(() => filterTensors(tensors, dtype, wanted), [tensors, dtype, wanted]);
  const columns = sources > 1 ? [...COLUMNS, SOURCE_COLUMN] : COLUMNS;
  return (
    <>
      <div className="toolbar">
        <Chips
          label="Tensors by dtype"
          chips={[
            { id: 'all', label: 'all', count: tensors.length },
            ...dtypes.map((row) => ({ id: row.dtype, label: row.dtype, count: row.tensors })),
          ]}
          value={dtype}
          onChange={setDtype}
        />
        <SearchBox label="Search tensors" value={text} onChange={setText} />
        <p className="soft toolbar-count" role="status">
          {formatCount(shown.length)} of {plural(tensors.length, 'tensor')}
        </p>
      </div>
      <VirtualGrid
        label="All tensors"
        className="tensors-grid"
        testId="tensors-table"
        rowTestId="tensor-row"
        rows={shown}
        columns={columns}
        rowClass={(tensor) => (tensor.missing_bytes > 0 ? 'row-refused' : '')}
      />
    </>
  );
}

function TensorSize({ tensor }: { tensor: TensorRow }): ReactNode {
  if (tensor.missing_bytes > 0) return <span className="none">lacks {formatBytes(tensor.missing_bytes)}</span>;
  return <Size bytes={tensor.end - tensor.begin} />;
}

function Dropped({ dropped }: { dropped: Report['dropped'] }): ReactNode {
  return (
    <Facts>
      {dropped.map(({ group, count: tensors, names }) => (
        <Fact key={group} name={group}>
          {plural(tensors, 'tensor')}: <Name text={names.slice(0, NAMES_SHOWN).join(', ')} />
          {names.length > NAMES_SHOWN && ' …'}
        </Fact>
      ))}
    </Facts>
  );
}
