// What the bytes are made of: one bar by bytes, and the same in words and numbers.
import type { CSSProperties, ReactNode } from 'react';
import type { Report } from '../../engine/report';
import { formatDecimal } from '../../engine/units';
import { plural } from '../format';
import { KIND_NAMES, type KindShare, sharesOf } from '../kinds';
import { Section } from '../parts/section';

export function Precision({ report }: { report: Report }): ReactNode {
  const shares = sharesOf(report.dtypes);
  const total = shares.reduce((sum, share) => sum + share.bytes, 0);
  if (shares.length === 0) return null;
  return (
    <Section title="Precision" says="by bytes">
      <div className="precision-bar" aria-hidden="true">
        {shares
          .filter((share) => share.bytes > 0)
          .map((share) => (
            <span
              key={share.kind}
              className={`precision-part kind-${share.kind}`}
              style={{ '--share': share.bytes } as CSSProperties}
            >
              {share.bytes / total > 0.12 && KIND_NAMES[share.kind]}
            </span>
          ))}
      </div>
      <ul className="legend">
        {shares.map((share) => (
          <Legend key={share.kind} share={share} total={total} />
        ))}
      </ul>
    </Section>
  );
}

function Legend({ share, total }: { share: KindShare; total: number }): ReactNode {
  const part = total > 0 ? (share.bytes / total) * 100 : 0;
  return (
    <li>
      <span className={`swatch kind-${share.kind}`} aria-hidden="true" />
      <span>
        <strong>{KIND_NAMES[share.kind]}</strong> {part >= 0.05 || part === 0 ? part.toFixed(1) : '< 0.1'}%,{' '}
        {formatDecimal(share.bytes)}
        <span className="soft legend-dtypes">
          {share.dtypes.map((row) => `${row.dtype} ${plural(row.tensors, 'tensor')}`).join(', ')}
        </span>
      </span>
    </li>
  );
}
