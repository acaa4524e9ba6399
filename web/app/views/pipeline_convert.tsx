// All components of a pipeline into one folder: the form of a single conversion, with the sum of the components' plans.
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { Button } from 'react-aria-components';
import type { EngineClient } from '../../engine/client';
import type { Choice } from '../../engine/layouts';
import type { ComponentReceipt } from '../../engine/pipeline_convert';
import { type ComponentReport, sumOf } from '../../engine/pipeline_sum';
import type { Progress } from '../../engine/protocol';
import type { ConvertOptions, Decision } from '../../engine/report';
import { formatDecimal } from '../../engine/units';
import { outputFolderName } from '../file_name';
import type { OpenPipeline } from '../hooks/use_checkpoint';
import { type FolderTarget, type Saved, useConversion } from '../hooks/use_conversion';
import { useJobGuard } from '../hooks/use_job_guard';
import { type Planner, usePlan } from '../hooks/use_plan';
import { Fold } from '../parts/fold';
import { Section } from '../parts/section';
import { Name } from '../parts/text';
import { folderTarget } from '../pickers';
import { type Capabilities, capabilities, NOTHING, pipelineOffers } from '../sinks';
import { ConvertForm } from './convert_form';
import { ConvertProgress } from './convert_progress';
import { ReceiptFacts } from './receipt_view';

interface PipelineConvertProps {
  pipeline: OpenPipeline;
  /** of the repo, where it is one */
  repo: string | null;
  onBusy: (busy: boolean) => void;
}

interface PipelineTarget extends FolderTarget {
  choice: string;
}

const nameOf = ({ name }: PipelineTarget): string => name;

export function PipelineConvert({ pipeline, repo, onBusy }: PipelineConvertProps): ReactNode {
  const { client, choice, components } = pipeline;
  const planner = useMemo(() => plannerOf(client, choice.id), [client, choice.id]);
  const known = useMemo(() => decisionsOf(components), [components]);
  const planning = usePlan(planner, known);
  const conversion = useConversion(client, convertPipeline, nameOf);
  const { state } = conversion;
  useJobGuard(state, onBusy);

  const sum = sumOf(components);
  const able = useCapabilities(client, sum.bf16_data_bytes);
  const { to } = planning.choices;
  const outputBytes = planning.state.phase === 'planned' ? planning.state.plan.output_bytes : sum.bf16_data_bytes;
  const offers = able === null ? null : pipelineOffers(able, outputBytes);
  const sink = offers?.[0] ?? null;
  const name = to === null ? '' : outputFolderName(choice.folder, repo?.split('/').at(-1) ?? 'pipeline', to);

  const start = async (): Promise<void> => {
    const target = await folderTarget(name);
    if (target === null) return;
    const settled = await planning.settled();
    if (settled.phase === 'planned') await conversion.run(settled.options, { ...target, choice: choice.id });
  };

  return (
    <Section title="Convert all" says="Every component, into one folder.">
      {state.phase === 'running' && (
        <>
          <ConvertProgress
            state={state}
            component={folderName(choice, state.progress?.component)}
            onCancel={conversion.cancel}
          />
          <ComponentStates pipeline={choice} components={components} progress={state.progress} />
        </>
      )}
      {state.phase === 'done' && (
        <Receipts pipeline={choice} receipts={state.receipt} saved={state.saved} onAgain={conversion.reset} />
      )}
      {(state.phase === 'idle' || state.phase === 'failed') && (
        <ConvertForm
          planning={planning}
          error={state.phase === 'failed' ? state.error : null}
          offers={offers}
          sink={sink}
          onSink={() => {}}
          cut={null}
          onCut={() => {}}
          inputFiles={sum.files}
          name={name}
          onStart={() => void start().catch(conversion.fail)}
          noSink="This browser cannot write a folder. Open the components one by one and convert each."
        />
      )}
    </Section>
  );
}

function plannerOf(client: EngineClient, choice: string): Planner {
  return {
    plan: (options, onProgress) => client.planPipeline(choice, options, onProgress),
    cancel: () => client.cancel(),
  };
}

/** What is undecided for several components is asked once. */
function decisionsOf(components: readonly ComponentReport[]): readonly Decision[] {
  const all = components.flatMap(({ report }) => report.decisions);
  return all.filter(({ subject }, at) => all.findIndex((each) => each.subject === subject) === at);
}

async function convertPipeline(
  client: EngineClient,
  options: ConvertOptions,
  { choice, ...target }: PipelineTarget,
  onProgress: (progress: Progress) => void,
): Promise<{ receipt: ComponentReceipt[]; saved: Saved }> {
  const receipt = await client.convertPipeline(choice, options, target, { verify: true, onProgress });
  return { receipt, saved: { kind: 'placed', name: `${target.handle.name}/${target.name}` } };
}

function useCapabilities(client: EngineClient, outputBytes: number): Capabilities | null {
  const [able, setAble] = useState<Capabilities | null>(null);
  useEffect(() => {
    capabilities(client, outputBytes).then(setAble, () => setAble(NOTHING));
  }, [client, outputBytes]);
  return able;
}

/** The name of a component is that of its folder. */
function folderName({ components }: Choice, id: string | undefined): string | undefined {
  return components
    .find((component) => component.id === id)
    ?.folder.split('/')
    .at(-1);
}

interface ComponentStatesProps {
  pipeline: Choice;
  components: readonly ComponentReport[];
  progress: Progress | null;
}

/** They are converted in this order. */
function ComponentStates({ pipeline, components, progress }: ComponentStatesProps): ReactNode {
  const at = components.findIndex(({ id }) => id === progress?.component);
  const stateOf = (index: number): string => (index < at ? 'written' : index === at ? 'at work' : 'to come');
  return (
    <ul className="plain-list" data-testid="component-states">
      {components.map(({ id, report }, index) => (
        <li key={id}>
          <Name text={folderName(pipeline, id) ?? id} />{' '}
          <span className="soft">
            {formatDecimal(report.file_bytes)}, {stateOf(index)}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface ReceiptsProps {
  pipeline: Choice;
  receipts: readonly ComponentReceipt[];
  saved: Saved;
  onAgain: () => void;
}

function Receipts({ pipeline, receipts, saved, onAgain }: ReceiptsProps): ReactNode {
  const bytes = receipts.reduce((sum, { receipt }) => sum + receipt.output_bytes, 0);
  return (
    <div className="receipt" data-testid="receipt">
      <h3>Done: {formatDecimal(bytes)}, read back and verified</h3>
      <p>
        Written to <Name text={saved.name} />, where you chose.
      </p>
      {receipts.map(({ id, receipt }) => (
        <Fold key={id} title={`${folderName(pipeline, id) ?? id}, ${formatDecimal(receipt.output_bytes)}`} level={4}>
          <ReceiptFacts receipt={receipt} />
        </Fold>
      ))}
      <Button className="button" onPress={onAgain}>
        Convert again
      </Button>
    </div>
  );
}
