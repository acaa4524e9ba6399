// The one action: what to write, what has to be decided first, where it goes, and then the doing.
import { type ReactNode, useEffect, useState } from 'react';
import type { ConvertOptions } from '../../engine/report';
import { outputFolderName, outputName } from '../file_name';
import { percent } from '../format';
import type { OpenCheckpoint } from '../hooks/use_checkpoint';
import { type ConversionControls, type ConversionState, type Target, useConversion } from '../hooks/use_conversion';
import { useJobGuard } from '../hooks/use_job_guard';
import { type PlanControls, usePlan } from '../hooks/use_plan';
import { Section } from '../parts/section';
import { type Capabilities, capabilities, NOTHING, type SinkKind, sinkOffers } from '../sinks';
import { ConvertForm } from './convert_form';
import { ConvertProgress } from './convert_progress';
import { ReceiptView } from './receipt_view';

interface ConvertPanelProps {
  checkpoint: OpenCheckpoint;
  onBusy: (busy: boolean) => void;
  /** working copies were made or deleted */
  onCopies: () => void;
}

export function ConvertPanel({ checkpoint, onBusy, onCopies }: ConvertPanelProps): ReactNode {
  const { client, report } = checkpoint;
  const planning = usePlan(client, report.decisions);
  const conversion = useConversion(client);
  const { state } = conversion;
  const running = state.phase === 'running';

  useJobGuard(running, percentOf(state));
  useEffect(() => {
    onBusy(running);
    return () => onBusy(false);
  }, [running, onBusy]);
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
      {(state.phase === 'idle' || state.phase === 'failed') && (
        <Form checkpoint={checkpoint} planning={planning} conversion={conversion} />
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

/** Null when the user thought better of it. */
async function targetOf(kind: SinkKind, name: string): Promise<Target | null> {
  if (kind !== 'picker' && kind !== 'directory') return { kind, name };
  try {
    if (kind === 'directory') {
      const folder = await window.showDirectoryPicker?.({ id: 'weighbridge', mode: 'readwrite' });
      return folder ? { kind, handle: folder, name } : null;
    }
    const handle = await window.showSaveFilePicker?.({
      suggestedName: name,
      types: [{ description: 'safetensors checkpoint', accept: { 'application/octet-stream': ['.safetensors'] } }],
    });
    return handle ? { kind, handle } : null;
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') return null;
    throw thrown;
  }
}

function percentOf(state: ConversionState): number | null {
  if (state.phase !== 'running') return null;
  const { progress } = state;
  return progress === null ? 0 : percent(progress.done_bytes, progress.total_bytes);
}
