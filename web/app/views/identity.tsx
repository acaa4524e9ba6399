// Which file this is, and its four numbers.
import type { ReactNode } from 'react';
import type { Report } from '../../engine/report';
import { formatBinary, formatBytes, formatCount, formatDecimal } from '../../engine/units';
import { plural, spokenCount } from '../format';
import { Fold } from '../parts/fold';
import { Name, Prose } from '../parts/text';

export function Identity({ report, ignored }: { report: Report; ignored: string[] }): ReactNode {
  const { sources, config } = report;
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
      {config.map(({ name, says }) => (
        <p key={name} className="soft">
          <Name text={name} />: <Prose text={says} />
        </p>
      ))}
      {ignored.length > 0 && <p className="soft">Not read: {ignored.join(', ')}</p>}
    </div>
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
