// The one action: what to write, what has to be decided first, where it goes, and then the doing.
import { type ReactNode, useEffect, useState } from 'react';
import type { Unfinished } from '../../engine/protocol';
import type { ConvertOptions } from '../../engine/report';
import { outputFolderName, outputName } from '../file_name';
import type { OpenCheckpoint } from '../hooks/use_checkpoint';
import { type ConversionControls, convertCheckpoint, targetName, useConversion } from '../hooks/use_conversion';
import { useJobGuard } from '../hooks/use_job_guard';
import { type PlanControls, usePlan } from '../hooks/use_plan';
import { useUnfinished } from '../hooks/use_unfinished';
import { Section } from '../parts/section';
import { targetOf } from '../pickers';
import { type Capabilities, capabilities, NOTHING, type SinkKind, sinkOffers } from '../sinks';
import { ConvertForm } from './convert_form';
import { ConvertProgress } from './convert_progress';
import { ReceiptView } from './receipt_view';
import { UnfinishedView } from './unfinished_view';

interface ConvertPanelProps {
  checkpoint: OpenCheckpoint;
  onBusy: (busy: boolean) => void;
  /** working copies were made or deleted */
  onCopies: () => void;
}

export function ConvertPanel({ checkpoint, onBusy, onCopies }: ConvertPanelProps): ReactNode {
  const { client, report } = checkpoint;
  const planning = usePlan(client, report.decisions);
  const conversion = useConversion(client, convertCheckpoint, targetName);
  const { state } = conversion;
  const isIdle = state.phase === 'idle' || state.phase === 'failed';
  const { unfinished, discard } = useUnfinished(client, isIdle, onCopies);
  const goOn = ({ name, options }: Unfinished): void =>
    void conversion.run(options, { kind: 'opfs', name, goesOn: true }).catch(conversion.fail);

  useJobGuard(state, onBusy);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every change of phase may leave or take a copy
  useEffect(onCopies, [state.phase, onCopies]);

  return (
    <Section title="Convert" says="Wider numbers do not bring back what quantizing lost.">
      {state.phase === 'running' && <ConvertProgress state={state} onCancel={conversion.cancel} />}
      {state.phase === 'done' && (
        <ReceiptView
          receipt={state.receipt}
          saved={state.saved}
          client={client}
          onAgain={conversion.reset}
          onCopies={onCopies}
        />
      )}
      {isIdle && (
        <>
          <UnfinishedView unfinished={unfinished} onContinue={goOn} onDiscard={discard} />
          <Form checkpoint={checkpoint} planning={planning} conversion={conversion} />
        </>
      )}
    </Section>
  );
}

interface FormProps {
  checkpoint: OpenCheckpoint;
  planning: PlanControls;
  conversion: ConversionControls;
}

function Form({ checkpoint, planning, conversion }: FormProps): ReactNode {
  const { client, report, choice } = checkpoint;
  const [able, setAble] = useState<Capabilities | null>(null);
  const [wanted, setWanted] = useState<SinkKind | null>(null);
  const [cut, setCut] = useState<NonNullable<ConvertOptions['shards']>>('same');
  const { to } = planning.choices;
  const outputBytes = planning.state.phase === 'planned' ? planning.state.plan.output_bytes : report.bf16_data_bytes;
  useEffect(() => {
    let current = true;
    const found = (able: Capabilities): void => {
      if (current) setAble(able);
    };
    capabilities(client, outputBytes).then(found, () => found(NOTHING));
    return () => {
      current = false;
    };
  }, [client, outputBytes]);
  const isSet = choice.kind === 'set';
  const offers = able === null ? null : sinkOffers(able, outputBytes, isSet);
  const sink = offers?.find((offer) => offer.kind === wanted) ?? offers?.[0] ?? null;
  const inFolder = sink?.kind === 'directory';
  const first = report.sources[0]?.name ?? '';
  const name = to === null ? '' : inFolder ? outputFolderName(choice.folder, first, to) : outputName(first, to);

  // Only a folder takes several files; every change of it needs another plan.
  const shards = inFolder ? cut : undefined;
  const { change } = planning;
  useEffect(() => {
    if (planning.choices.shards !== shards) change({ shards });
  }, [shards, planning.choices.shards, change]);

  // The picker comes first: it must open in the press itself, before anything is waited for.
  const start = async (): Promise<void> => {
    if (sink === null) return;
    const target = await targetOf(sink.kind, name);
    if (target === null) return;
    const settled = await planning.settled();
    if (settled.phase === 'planned') await conversion.run(settled.options, target);
  };

  return (
    <ConvertForm
      planning={planning}
      error={conversion.state.phase === 'failed' ? conversion.state.error : null}
      offers={offers}
      sink={sink}
      onSink={setWanted}
      cut={inFolder ? cut : null}
      onCut={setCut}
      inputFiles={report.sources.length}
      name={name}
      onStart={() => void start().catch(conversion.fail)}
    />
  );
}
