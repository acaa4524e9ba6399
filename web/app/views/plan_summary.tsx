import type { ReactNode } from 'react';
import type { PlanReport } from '../../engine/report';
import { formatBinary, formatBytes, formatCount, formatDecimal } from '../../engine/units';
import { plural } from '../format';
import { Fact, Facts } from '../parts/facts';
import { Fold } from '../parts/fold';
import { Name, Prose } from '../parts/text';
import type { SinkOffer } from '../sinks';

/** What the next press will do, in numbers that are exact before the first byte is written. */
export function PlanSummary({ plan, sink }: { plan: PlanReport; sink: SinkOffer | null }): ReactNode {
  const parts = [
    `${formatCount(plan.dequantized)} dequantized`,
    `${formatCount(plan.cast)} cast`,
    `${formatCount(plan.copied)} copied unchanged`,
    `${formatCount(plan.dropped)} left out`,
  ];
  return (
    <div className="plan" data-testid="plan">
      <Facts>
        <Fact name={plan.files.length === 1 ? 'New file' : `${plan.files.length} new files`}>
          <span data-testid="output-size" data-bytes={plan.output_bytes}>
            {formatDecimal(plan.output_bytes)}
          </span>{' '}
          <span className="soft">
            {plan.output_bytes >= 1024 && `${formatBinary(plan.output_bytes)}, exactly `}
            {formatBytes(plan.output_bytes)}
          </span>
        </Fact>
        <Fact name="Tensors">
          {formatCount(plan.tensors)}: {parts.join(', ')}
        </Fact>
        <Fact name="Disk needed">{sink === null ? '–' : formatDecimal(sink.disk_bytes)}</Fact>
        <Fact name="Memory needed">about 100 MB</Fact>
      </Facts>
      <OutputFiles plan={plan} inFolder={sink?.kind === 'directory'} />
      {plan.notes.map((note) => (
        <p key={note} className="soft">
          <Prose text={note} />
        </p>
      ))}
    </div>
  );
}

/** Every file before the first byte is written. */
function OutputFiles({ plan, inFolder }: { plan: PlanReport; inFolder: boolean }): ReactNode {
  if (!inFolder) return null;
  const { files, index } = plan;
  return (
    <div data-testid="plan-files">
      <Fold title={`${plural(files.length, 'file')}${index === '' ? '' : ' and the index'}`} level={4}>
        <ul className="plain-list">
          {files.map(({ name, bytes }) => (
            <li key={name}>
              <Name text={name} /> <span className="soft">{formatBytes(bytes)}</span>
            </li>
          ))}
          {index !== '' && (
            <li>
              <Name text={index} />
            </li>
          )}
        </ul>
        <p className="soft">
          Small files of the input (tokenizer and the like) come along; config.json loses what describes the old
          quantization.
        </p>
      </Fold>
    </div>
  );
}
