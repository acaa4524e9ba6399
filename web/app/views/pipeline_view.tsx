// A pipeline: each component weighed by itself, and all of them together.
import { type ReactNode, useCallback, useState } from 'react';
import { Button } from 'react-aria-components';
import type { Choice } from '../../engine/layouts';
import { type ComponentReport, sumOf } from '../../engine/pipeline_sum';
import { formatBytes, formatCount, formatDecimal, formatMemoryGb } from '../../engine/units';
import type { OpenPipeline } from '../hooks/use_checkpoint';
import { Fault } from '../parts/fault';
import { Section } from '../parts/section';
import { Name } from '../parts/text';
import { IgnoredFiles, OtherChoices } from './chooser';
import { PipelineConvert } from './pipeline_convert';

interface PipelineViewProps {
  pipeline: OpenPipeline;
  /** of the repo, where it is one */
  repo: string | null;
  onBusy: (busy: boolean) => void;
  onPick: (choice: Choice) => void;
  onBack: () => void;
}

export function PipelineView({ pipeline, repo, onBusy, onPick, onBack }: PipelineViewProps): ReactNode {
  const { choice, components, layout } = pipeline;
  const sum = sumOf(components);
  const [busy, setBusy] = useState(false);
  const hearBusy = useCallback(
    (isBusy: boolean) => {
      setBusy(isBusy);
      onBusy(isBusy);
    },
    [onBusy],
  );
  const refused = components.filter(({ report }) => report.error !== undefined);
  return (
    <div className="pipeline" data-testid="pipeline">
      <section className={`verdict verdict-${worst(components)}`} aria-label="Verdict">
        <div className="verdict-words" role="status" data-testid="verdict">
          <h1>{choice.title}</h1>
          {refused.length === 0 && (
            <p>Each component is a checkpoint of its own. Open one to see inside, or convert all of them below.</p>
          )}
          {refused.map(({ id, report }) => report.error && <Fault key={id} issue={report.error} />)}
        </div>
      </section>
      <div className="identity">
        {!busy && <OtherChoices layout={layout} onBack={onBack} />}
        <IgnoredFiles ignored={layout.ignored} />
      </div>
      <Section title="Components" says={`${formatCount(sum.parameters)} parameters in ${formatCount(sum.files)} files`}>
        <div className="table-scroll">
          <table className="sum-table">
            <thead>
              <tr>
                <th scope="col">Component</th>
                <th scope="col" className="wide-only">
                  Verdict
                </th>
                <th scope="col" className="wide-only">
                  Parameters
                </th>
                <th scope="col">On disk</th>
                <th scope="col">As bf16</th>
                <th scope="col">
                  <span className="unseen">Open</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {components.map((component) => (
                <ComponentRow
                  key={component.id}
                  component={component}
                  choice={choice.components.find(({ id }) => id === component.id)}
                  onPick={busy ? null : onPick}
                />
              ))}
            </tbody>
            <tfoot>
              <tr data-testid="pipeline-sum">
                <th scope="row">Sum</th>
                <td className="wide-only" />
                <td className="wide-only">{formatCount(sum.parameters)}</td>
                <Bytes bytes={sum.file_bytes} />
                <Bytes bytes={sum.bf16_data_bytes} />
                <td />
              </tr>
            </tfoot>
          </table>
        </div>
      </Section>
      <Section title="Memory" says="All components in memory at once, loaded one after the other.">
        <div className="table-scroll">
          <table className="sum-table">
            <thead>
              <tr>
                <th scope="col">Way of loading</th>
                <th scope="col">Peak</th>
                <th scope="col">Then</th>
              </tr>
            </thead>
            <tbody>
              {sum.ram.loaders.map(({ loader, title, peak_bytes, steady_bytes }) => (
                <tr key={loader}>
                  <th scope="row">{title}</th>
                  <td title={formatBytes(peak_bytes)}>{formatMemoryGb(peak_bytes)}</td>
                  <td title={formatBytes(steady_bytes)}>{formatMemoryGb(steady_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Section>
      {refused.length === 0 && <PipelineConvert pipeline={pipeline} repo={repo} onBusy={hearBusy} />}
    </div>
  );
}

interface ComponentRowProps {
  component: ComponentReport;
  choice: Choice | undefined;
  /** null: not while a conversion runs */
  onPick: ((choice: Choice) => void) | null;
}

function ComponentRow({ component, choice, onPick }: ComponentRowProps): ReactNode {
  const { id, report } = component;
  return (
    <tr data-testid="component-row">
      <th scope="row">
        <Name text={choice?.folder.split('/').at(-1) ?? id} /> <span className="soft wide-only">{component.title}</span>
      </th>
      <td className="wide-only">{report.verdict}</td>
      <td className="wide-only">{formatCount(report.parameters)}</td>
      <Bytes bytes={report.file_bytes} />
      <Bytes bytes={report.bf16_data_bytes} />
      <td>
        {choice && (
          <Button
            className="button button-small"
            isDisabled={onPick === null}
            onPress={() => onPick?.(choice)}
            aria-label={`Open ${choice.title}`}
          >
            Open
          </Button>
        )}
      </td>
    </tr>
  );
}

function Bytes({ bytes }: { bytes: number }): ReactNode {
  return <td title={formatBytes(bytes)}>{formatDecimal(bytes)}</td>;
}

function worst(components: readonly ComponentReport[]): string {
  const verdicts = components.map(({ report }) => report.verdict);
  return verdicts.includes('refused') ? 'refused' : verdicts.includes('problems') ? 'problems' : 'sound';
}
