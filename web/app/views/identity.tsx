// Which file this is, and its four numbers.
import type { ReactNode } from 'react';
import type { Layout } from '../../engine/layouts';
import type { Report, SetReport } from '../../engine/report';
import { formatBinary, formatBytes, formatCount, formatDecimal } from '../../engine/units';
import { plural, spokenCount } from '../format';
import type { Place } from '../hooks/use_checkpoint';
import { Fold } from '../parts/fold';
import { Name, Prose } from '../parts/text';
import { IgnoredFiles, OtherChoices } from './chooser';
import { PlaceLine } from './place_line';

interface IdentityProps {
  report: Report;
  place: Place | null;
  layout: Layout;
  onBack: () => void;
}

export function Identity({ report, place, layout, onBack }: IdentityProps): ReactNode {
  const { sources, config, set } = report;
  const [only] = sources;
  return (
    <div className="identity">
      {sources.length === 1 && only ? (
        <p className="identity-name">
          <Name text={only.name} />
        </p>
      ) : (
        <Fold title={`${plural(sources.length, 'file')}, ${formatDecimal(report.file_bytes)}`}>
          <ul className="plain-list">
            {sources.map((source) => (
              <li key={source.name}>
                <Name text={source.name} />{' '}
                <span className="soft">
                  {formatDecimal(source.size_bytes)}, {plural(source.tensors, 'tensor')}
                </span>
              </li>
            ))}
          </ul>
        </Fold>
      )}
      {place && <PlaceLine place={place} traffic={report.traffic} />}
      {config.map(({ name, says }) => (
        <p key={name} className="soft">
          <Name text={name} />: <Prose text={says} />
        </p>
      ))}
      {set && <SetLine set={set} />}
      <OtherChoices layout={layout} onBack={onBack} />
      <IgnoredFiles ignored={layout.ignored} />
    </div>
  );
}

/** What the index promises; what is wrong about it stands among the verdict's notes. */
function SetLine({ set }: { set: SetReport }): ReactNode {
  const { index, opened, shards, tensors, missing_shards } = set;
  return (
    <>
      <p className="soft" data-testid="set">
        <Name text={index} />: {formatCount(opened)} of {plural(shards, 'shard')} open, {plural(tensors, 'tensor')}{' '}
        listed
      </p>
      {missing_shards.length > 0 && (
        <Fold title={`Not here: ${plural(missing_shards.length, 'shard')}`}>
          <ul className="plain-list">
            {missing_shards.map(({ name, tensors: lost }) => (
              <li key={name}>
                <Name text={name} /> <span className="soft">{plural(lost.count, 'tensor')} only there</span>
              </li>
            ))}
          </ul>
        </Fold>
      )}
    </>
  );
}

export function FourNumbers({ report }: { report: Report }): ReactNode {
  return (
    <dl className="numbers">
      <NumberBox
        testId="parameters"
        name="Logical parameters"
        value={formatCount(report.parameters)}
        says={report.parameters >= 1e6 ? spokenCount(report.parameters) : 'scales and markers not counted'}
      />
      <NumberBox
        testId="tensor-count"
        name="Tensors"
        value={formatCount(report.tensor_count)}
        says={`${spokenCount(report.stored_elements)} stored elements`}
      />
      <SizeBox testId="file-size" name="Size on disk" bytes={report.file_bytes} />
      <SizeBox testId="bf16-size" name="Size as bf16" bytes={report.bf16_data_bytes} />
    </dl>
  );
}

interface NumberBoxProps {
  testId: string;
  name: string;
  value: string;
  says: string;
}

function NumberBox({ testId, name, value, says }: NumberBoxProps): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className="number" data-testid={testId}>
          {value}
        </span>
        <span className="soft">{says}</span>
      </dd>
    </div>
  );
}

function SizeBox({ testId, name, bytes }: { testId: string; name: string; bytes: number }): ReactNode {
  const small = bytes < 1000;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <span className="number" data-testid={testId} data-bytes={bytes}>
          {formatDecimal(bytes)}
        </span>
        {!small && (
          <span className="soft">
            {formatBinary(bytes)} <span className="dot">·</span> {formatBytes(bytes)}
          </span>
        )}
      </dd>
    </div>
  );
}
