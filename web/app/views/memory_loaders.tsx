// One row per way of loading: does it fit, and what it holds stage by stage.
import { Fragment, type ReactNode } from 'react';
import type { LoaderApplies, LoaderRefuses, MemoryStage } from '../../engine/ram_report';
import { formatBinary, formatBytes } from '../../engine/units';
import { plural } from '../format';
import type { MachineForm } from '../machine';
import { type Grouped, marksOf, rowKey, scaleOf, segmentsOf } from '../memory_view';
import { decidedBy, FIT_MARKS, fitWords, STAGE_WORDS, TERM_KIND_WORDS, TERM_WORDS } from '../memory_words';
import { Fold } from '../parts/fold';
import { SourceLink } from '../parts/source_link';
import { StackedBar } from '../parts/stacked_bar';

interface MemoryLoadersProps {
  grouped: Grouped;
  form: MachineForm | null;
  /** id of the row that the user says is theirs */
  used: string;
  isWrong: (loader: string) => boolean;
}

export function MemoryLoaders({ grouped, form, used, isWrong }: MemoryLoadersProps): ReactNode {
  const { rows, tensors, conversions, refused } = grouped;
  const max = scaleOf([...rows, ...tensors, ...conversions], form);
  const lists = [
    { title: 'Ways of loading it', rows },
    { title: 'As tensors, in a program of your own', rows: tensors },
    { title: 'Converting it first', rows: conversions },
  ];
  return (
    <>
      <Legend form={form} />
      {lists
        .filter((list) => list.rows.length > 0)
        .map((list) => (
          <Fragment key={list.title}>
            <h3>{list.title}</h3>
            <ul className="loaders" data-testid="loaders">
              {list.rows.map((row) => (
                <LoaderItem
                  key={rowKey(row)}
                  row={row}
                  form={form}
                  max={max}
                  isUsed={row.loader === used}
                  isWrong={isWrong(row.loader)}
                />
              ))}
            </ul>
          </Fragment>
        ))}
      {refused.length > 0 && <Refused rows={refused} />}
    </>
  );
}

function Legend({ form }: { form: MachineForm | null }): ReactNode {
  const kinds = Object.entries(TERM_KIND_WORDS).filter(([kind]) => kind !== 'device' || form?.vram !== 0);
  return (
    <ul className="stack-legend" aria-label="What the bars mean">
      {kinds.map(([kind, { title, says }]) => (
        <li key={kind}>
          <span className={`stack-swatch term-${kind}`} aria-hidden="true" />
          {title}: <span className="soft">{says}</span>
        </li>
      ))}
      {form !== null && (
        <li>
          <span className="stack-swatch swatch-line" aria-hidden="true" />
          lines: <span className="soft">free now, and all you have</span>
        </li>
      )}
    </ul>
  );
}

interface LoaderItemProps {
  row: LoaderApplies;
  form: MachineForm | null;
  max: number;
  isUsed: boolean;
  isWrong: boolean;
}

function LoaderItem({ row, form, max, isUsed, isWrong }: LoaderItemProps): ReactNode {
  const { verdict, stages, firm_peak_bytes, peak_bytes, device_peak_bytes } = row;
  const kind = form?.kind ?? null;
  const device = stages.find((stage) => stage.device_bytes === device_peak_bytes);
  return (
    <li className={isUsed ? 'loader loader-used' : 'loader'} data-testid="loader" data-loader={row.loader}>
      <div className="loader-head">
        <span className="loader-title">{row.title}</span>
        <span className="loader-marks">
          {isWrong && <WrongBadge />}
          {verdict && <FitBadge verdict={verdict} />}
        </span>
      </div>
      <div className="loader-body">
        <div className="loader-bars">
          {stages.map((stage, at) => (
            <StackedBar
              // biome-ignore lint/suspicious/noArrayIndexKey: the stages of a row never change places
              key={at}
              segments={segmentsOf(stage, 'ram', kind)}
              marks={marksOf(form, 'ram')}
              max={max}
              strong={at === row.peak_stage}
            />
          ))}
          {device && device_peak_bytes > 0 && kind !== 'unified' && (
            <StackedBar segments={segmentsOf(device, 'device', kind)} marks={marksOf(form, 'device')} max={max} />
          )}
        </div>
        <p className="loader-need">
          <Need firm={firm_peak_bytes} peak={peak_bytes} />
          {device_peak_bytes > 0 && kind !== 'unified' && <>; graphics card {formatBinary(device_peak_bytes)}</>}
        </p>
      </div>
      {verdict && verdict.fit !== 'fits' && <p className="loader-why">{decidedBy(verdict)}</p>}
      <Fold title="Stage by stage" level={4}>
        <StageTable row={row} />
        <p className="soft">
          Read from {row.version} {row.url === '' ? row.source : <SourceLink url={row.url} text={row.source} />}
        </p>
      </Fold>
    </li>
  );
}

function Need({ firm, peak }: { firm: number; peak: number }): ReactNode {
  if (firm === 0) {
    return (
      <>
        <strong title={formatBytes(peak)}>{formatBinary(peak)}</strong> of file pages only
      </>
    );
  }
  return (
    <>
      <strong title={formatBytes(firm)}>{formatBinary(firm)}</strong> must be there
      {peak > firm && <>, {formatBinary(peak)} with file pages</>}
    </>
  );
}

/** The section "Readers" says why. */
export function WrongBadge(): ReactNode {
  return (
    <span className="fit fit-will_be_killed" data-testid="reads-wrong">
      <span aria-hidden="true">✕</span> reads this file wrong
    </span>
  );
}

export function FitBadge({ verdict }: { verdict: NonNullable<LoaderApplies['verdict']> }): ReactNode {
  return (
    <span className={`fit fit-${verdict.fit}`} data-testid="fit" data-fit={verdict.fit}>
      <span aria-hidden="true">{FIT_MARKS[verdict.fit]}</span> {fitWords(verdict)}
    </span>
  );
}

function StageTable({ row }: { row: LoaderApplies }): ReactNode {
  return (
    <table className="stage-table">
      <caption className="unseen">{row.title}, stage by stage</caption>
      <thead>
        <tr>
          <th scope="col">Stage</th>
          <th scope="col">Held then</th>
          <th scope="col" className="numeric">
            In memory
          </th>
          <th scope="col" className="numeric">
            Graphics card
          </th>
        </tr>
      </thead>
      <tbody>
        {row.stages.map((stage, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the stages of a row never change places
          <tr key={at}>
            <th scope="row">
              {STAGE_WORDS[stage.stage]}
              {stage.component !== undefined && <span className="soft"> {stage.component}</span>}
            </th>
            <td>
              <StageTerms stage={stage} />
            </td>
            <td className="numeric" title={formatBytes(stage.total_bytes)}>
              {formatBinary(stage.total_bytes)}
            </td>
            <td className="numeric">{stage.device_bytes > 0 ? formatBinary(stage.device_bytes) : '–'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function StageTerms({ stage }: { stage: MemoryStage }): ReactNode {
  return (
    <ul className="plain-list">
      {stage.terms.map(({ name, kind, place, bytes }) => (
        <li key={`${name} ${kind} ${place}`}>
          <span className={`stack-swatch term-${kind}`} aria-hidden="true" /> {TERM_WORDS[name]}{' '}
          <span className="soft">
            {formatBinary(bytes)}, {TERM_KIND_WORDS[kind].title}
            {kind === 'transient' && place === 'device' && ' on the graphics card'}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Refused({ rows }: { rows: readonly LoaderRefuses[] }): ReactNode {
  return (
    <Fold title={`${plural(rows.length, 'way')} that ${rows.length === 1 ? 'does' : 'do'} not apply to this file`}>
      <ul className="plain-list">
        {rows.map((row) => (
          <li key={rowKey(row)}>
            {row.title}: <span className="soft">{row.reason}</span>
          </li>
        ))}
      </ul>
    </Fold>
  );
}
