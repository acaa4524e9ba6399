import type { ReactNode } from 'react';
import type { PlanReport } from '../../engine/report';
import { formatBinary, formatBytes, formatCount, formatDecimal } from '../../engine/units';
import { Fact, Facts } from '../parts/facts';
import { Prose } from '../parts/text';
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
        <Fact name="New file">
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
      {plan.notes.map((note) => (
        <p key={note} className="soft">
          <Prose text={note} />
        </p>
      ))}
    </div>
  );
}
