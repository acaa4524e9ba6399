// How much memory a checkpoint, or a whole pipeline, takes: on this machine, by each way of loading it.
import { type ReactNode, useId, useMemo, useState } from 'react';
import type { EngineClient } from '../../engine/client';
import { CoreError } from '../../engine/errors';
import type { ComponentReport } from '../../engine/pipeline_sum';
import type { Arrangement, HeldAs, LoaderTimeline, RamFacts, RamRequest } from '../../engine/ram_report';
import { useMachine } from '../hooks/use_machine';
import { useRam } from '../hooks/use_ram';
import { toMachine } from '../machine';
import { arrangementsOf, groupLoaders } from '../memory_view';
import { ARRANGEMENT_WORDS, HELD_AS_WORDS } from '../memory_words';
import { Fault } from '../parts/fault';
import { Section } from '../parts/section';
import { readsWrong } from '../readers_view';
import { ContextField, KvLines } from './memory_context';
import { MemoryAnswer, MemoryHelp } from './memory_help';
import { MemoryLoaders } from './memory_loaders';
import { MemoryMachine } from './memory_machine';
import { MemoryTables } from './memory_tables';

export interface WeighedComponent {
  title: string;
  facts: RamFacts;
}

interface MemoryPanelProps {
  client: EngineClient;
  /** one checkpoint, or the components of a pipeline */
  reports: readonly ComponentReport[];
}

export function MemoryPanel({ client, reports }: MemoryPanelProps): ReactNode {
  const components = useMemo(() => reports.map(({ title, report }) => ({ title, facts: report.ram.facts })), [reports]);
  const stages = reports.length === 1 ? (reports[0]?.report.ram.load_stages ?? null) : null;
  const machine = useMachine();
  const { form, loader: used } = machine;
  const [heldAs, setHeldAs] = useState<HeldAs>('as_stored');
  const [context, setContext] = useState<number | null>(null);
  const [arrangement, setArrangement] = useState<Arrangement>('offload');
  const isWrong = useMemo(() => {
    const readers = reports.map(({ report }) => report.readers);
    return (loader: string) => readsWrong(loader, readers);
  }, [reports]);
  const request = useMemo<RamRequest>(
    () => ({
      components,
      machine: form && toMachine(form),
      held_as: heldAs,
      ...(context === null ? {} : { context_tokens: context }),
    }),
    [components, form, heldAs, context],
  );
  const reply = useRam(client, request);
  // what would help the one that is used: a question of its own, since the other answers about all of them
  const aboutUsed = useMemo<RamRequest | null>(
    () => (used === '' ? null : { ...request, loader: used }),
    [request, used],
  );
  const usedReply = useRam(client, aboutUsed);

  if (reply instanceof CoreError) {
    return (
      <Section title="Memory">
        <Fault issue={reply} />
      </Section>
    );
  }
  const arrangements = reply ? arrangementsOf(reply.loaders) : [];
  const shown = arrangements.includes(arrangement) ? arrangement : (arrangements[0] ?? null);
  const grouped = reply && groupLoaders(reply.loaders, shown, isWrong);
  const help = usedReply && !(usedReply instanceof CoreError) ? usedReply.help : reply?.help;
  const isLanguage = components.some(({ facts }) => facts.kind === 'language_model');
  return (
    <Section title="Memory" says="Does it fit your machine, and what would help? Kept in this browser, sent nowhere.">
      {grouped ? (
        <MemoryAnswer rows={grouped.rows} used={used} isWrong={isWrong} />
      ) : (
        <p className="memory-answer soft">Weighing…</p>
      )}
      <MemoryMachine machine={machine} />
      <div className="machine">
        {reply && <UsedField loaders={reply.loaders} used={used} onChange={machine.use} disabled={form === null} />}
        <HeldAsField heldAs={heldAs} onChange={setHeldAs} />
        {isLanguage && <ContextField components={components} tokens={context} onChange={setContext} />}
        {arrangements.length > 1 && shown && (
          <ArrangementField choices={arrangements} value={shown} onChange={setArrangement} />
        )}
      </div>
      {grouped && reply && (
        <>
          {help && <MemoryHelp help={help} loaders={[...grouped.rows, ...grouped.tensors]} isWrong={isWrong} />}
          {reply.kv_cache && <KvLines cache={reply.kv_cache} />}
          <MemoryLoaders grouped={grouped} form={form} used={used} isWrong={isWrong} />
          <MemoryTables perDtype={reply.per_dtype} stages={stages} mark={form && form.ram * 2 ** 30} />
        </>
      )}
      <p className="soft">
        Weights{context === null ? ' only' : ' and KV cache'}, computed from models of each program that were measured
        where they could be run; what a program takes beside them comes on top. GB is 1,000,000,000 bytes, GiB is
        1,073,741,824: a PC with 32 GB has 32 GiB. Converting here takes about 100 MB, whatever the size of the file.
      </p>
    </Section>
  );
}

interface UsedFieldProps {
  loaders: readonly LoaderTimeline[];
  used: string;
  onChange: (loader: string) => void;
  disabled: boolean;
}

function UsedField({ loaders, used, onChange, disabled }: UsedFieldProps): ReactNode {
  const id = useId();
  const rows = new Map(
    loaders.filter((row) => row.applies && row.purpose === 'program').map((row) => [row.loader, row.title]),
  );
  return (
    <div className="machine-field">
      <label htmlFor={id}>I load it with</label>
      <select
        id={id}
        className="select"
        data-testid="machine-loader"
        value={rows.has(used) ? used : ''}
        disabled={disabled}
        onChange={({ target }) => onChange(target.value)}
      >
        <option value="">anything</option>
        {[...rows].map(([loader, title]) => (
          <option key={loader} value={loader}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

function HeldAsField({ heldAs, onChange }: { heldAs: HeldAs; onChange: (heldAs: HeldAs) => void }): ReactNode {
  const id = useId();
  const choices = Object.keys(HELD_AS_WORDS) as HeldAs[];
  return (
    <div className="machine-field">
      <label htmlFor={id}>Held as</label>
      <select
        id={id}
        className="select"
        data-testid="machine-held-as"
        value={heldAs}
        onChange={({ target }) => onChange(choices.find((each) => each === target.value) ?? 'as_stored')}
      >
        {choices.map((each) => (
          <option key={each} value={each}>
            {each === 'as_stored' ? 'what the program chooses' : HELD_AS_WORDS[each]}
          </option>
        ))}
      </select>
    </div>
  );
}

interface ArrangementFieldProps {
  choices: readonly Arrangement[];
  value: Arrangement;
  onChange: (value: Arrangement) => void;
}

function ArrangementField({ choices, value, onChange }: ArrangementFieldProps): ReactNode {
  const id = useId();
  return (
    <div className="machine-field">
      <label htmlFor={id}>Components</label>
      <select
        id={id}
        className="select"
        data-testid="machine-arrangement"
        value={value}
        onChange={({ target }) => onChange(choices.find((each) => each === target.value) ?? value)}
      >
        {choices.map((each) => (
          <option key={each} value={each}>
            {ARRANGEMENT_WORDS[each].title}: {ARRANGEMENT_WORDS[each].says}
          </option>
        ))}
      </select>
    </div>
  );
}
