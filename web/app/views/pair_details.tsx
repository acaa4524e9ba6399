import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import type { PairRow } from '../../engine/report';
import { formatBytes, formatCount } from '../../engine/units';
import { shape } from '../format';
import { Fact, Facts } from '../parts/facts';
import { Fault } from '../parts/fault';
import { Name, Prose } from '../parts/text';
import { granularity, State, scaleValue } from './pair_text';

interface PairDetailsProps {
  pair: PairRow;
  onClose: () => void;
}

export function PairDetails({ pair, onClose }: PairDetailsProps): ReactNode {
  return (
    <section className="details" aria-label={`Details of ${pair.weight}`} data-testid="pair-details">
      <header className="details-head">
        <h3>
          <Name text={pair.weight} />
        </h3>
        <Button className="button button-small" onPress={onClose}>
          Close
        </Button>
      </header>
      {pair.issues.map((issue) => (
        <Fault key={issue.code + issue.where} issue={issue} />
      ))}
      <Facts>
        <Fact name="State">
          <State state={pair.state} />
        </Fact>
        <Fact name="Weight">
          {pair.dtype} {shape(pair.shape)}, {formatCount(pair.parameters)} parameters, {formatBytes(pair.bytes)}
        </Fact>
        <Fact name="Scheme">
          {pair.scheme}, {granularity(pair)}
        </Fact>
        <Fact name="Formula">
          <code>{pair.formula === '' ? 'none' : pair.formula}</code>
        </Fact>
        <Fact name="Scales">
          {pair.scales.length === 0 && 'none'}
          {pair.scales.map((scale) => (
            <p key={scale.name}>
              <Name text={scale.name} />: {scale.dtype} {shape(scale.shape)} = {scaleValue(scale)}
            </p>
          ))}
        </Fact>
        <Fact name="Evidence">
          {pair.evidence.length === 0 && 'none'}
          {pair.evidence.map(({ source, says }) => (
            <p key={source + says}>
              <strong>{source}</strong>: <Prose text={says} />
            </p>
          ))}
        </Fact>
      </Facts>
    </section>
  );
}
