// Who reads this file correctly: a row per program and range of versions, from the core's table of sourced rules.
import { type ReactNode, useMemo } from 'react';
import type { ModelKind } from '../../engine/ram_report';
import {
  judgedWeights,
  OUTCOME_WORDS,
  type ReadAnswer,
  type ReaderFinding,
  type ReaderRow,
  worstFinding,
} from '../../engine/readers';
import { formatCount } from '../../engine/units';
import { plural } from '../format';
import { Fold } from '../parts/fold';
import { Section } from '../parts/section';
import { SourceLink } from '../parts/source_link';
import { Name } from '../parts/text';
import { orderReaders, readersSummary } from '../readers_view';

const ANSWERS: Record<ReadAnswer, { word: string; mark: string }> = {
  reads_right: { word: 'right', mark: '✓' },
  reads_wrong: { word: 'wrong', mark: '✕' },
  unknown: { word: 'not known', mark: '?' },
};

const MODELS_WORDS: Record<ReaderRow['models'], string> = {
  image: 'image models',
  language: 'language models',
  any: 'any model',
};

interface ReadersPanelProps {
  readers: readonly ReaderRow[];
  kind: ModelKind;
}

export function ReadersPanel({ readers, kind }: ReadersPanelProps): ReactNode {
  const { known, unknown, others } = useMemo(() => orderReaders(readers, kind), [readers, kind]);
  return (
    <Section title="Readers" says="Who turns these weights into the right numbers?">
      <p data-testid="readers-summary">{readersSummary(known)}</p>
      {known.length > 0 && <ReadersTable rows={known} />}
      {others.length > 0 && (
        <Fold title={`Programs for ${MODELS_WORDS[others[0]?.models ?? 'any']}: ${others.length}`}>
          <ReadersTable rows={others} />
        </Fold>
      )}
      {unknown.length > 0 && (
        <Fold title={`Not known of ${plural(unknown.length, 'other')}`}>
          <ul className="plain-list">
            {unknown.map((row) => (
              <UnknownLine key={row.reader} row={row} />
            ))}
          </ul>
          <p className="soft">No source that we read says how they treat this file; that is not a verdict.</p>
        </Fold>
      )}
      <p className="soft">
        About the numbers only: whether a program knows this kind of model is another question. Every answer names the
        version that was read and where.
      </p>
    </Section>
  );
}

function ReadersTable({ rows }: { rows: readonly ReaderRow[] }): ReactNode {
  return (
    <table className="readers-table">
      <caption className="unseen">Programs, and how they read this file</caption>
      <thead>
        <tr>
          <th scope="col">Program</th>
          <th scope="col">Reads it</th>
          <th scope="col">What happens</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <ReaderLine key={row.reader} row={row} />
        ))}
      </tbody>
    </table>
  );
}

function ReaderLine({ row }: { row: ReaderRow }): ReactNode {
  const { word, mark } = ANSWERS[row.answer];
  const all = judgedWeights(row);
  return (
    <tr data-testid="reader" data-reader={row.reader} data-answer={row.answer}>
      <th scope="row">
        {row.title} <span className="soft">{row.versions}</span>
        <span className="reader-models soft">{MODELS_WORDS[row.models]}</span>
      </th>
      <td>
        <span className={`reads reads-${row.answer}`}>
          <span aria-hidden="true">{mark}</span> {word}
        </span>
      </td>
      <td>
        {row.findings.map((finding) => (
          <FindingText key={`${finding.rule ?? ''} ${finding.scheme}`} finding={finding} all={all} />
        ))}
      </td>
    </tr>
  );
}

function FindingText({ finding, all }: { finding: ReaderFinding; all: number }): ReactNode {
  const { outcome, weights, says, because, source, example } = finding;
  const share = weights === all ? '' : `${formatCount(weights)} of ${formatCount(all)} weights: `;
  return (
    <div className="finding">
      <p>
        {share}
        {outcome !== 'correct' && outcome !== 'unknown' && <strong>{sentenceCase(OUTCOME_WORDS[outcome])}. </strong>}
        {says ?? 'Nothing is known about these.'}
      </p>
      {source && (
        <Fold title="Why, and the source">
          <p className="finding-why">
            Because: {because}; for example <Name text={example} />.
          </p>
          <p className="finding-why">
            Source: <SourceLink url={source.url} text={source.place} />, <span className="soft">{source.url}</span>
          </p>
        </Fold>
      )}
    </div>
  );
}

function sentenceCase(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function UnknownLine({ row }: { row: ReaderRow }): ReactNode {
  const { says, source } = worstFinding(row);
  return (
    <li>
      {row.title} <span className="soft">{row.versions}</span>
      {says !== undefined && <>: {says} </>}
      {source && <SourceLink url={source.url} text={source.place} />}
    </li>
  );
}
