// The options of a conversion and what the core makes of them: a plan, questions, or an error. Every
// change asks for a new plan; the newest answer counts.
import { useCallback, useRef, useState } from 'react';
import type { OnProgress } from '../../engine/client';
import { type CoreError, toCoreError } from '../../engine/errors';
import type { DecisionsNeeded, Planned, Progress } from '../../engine/protocol';
import type { ConvertOptions, Decision, PlanReport, PreviewReport, Recipe } from '../../engine/report';

export interface Choices {
  /** nothing is chosen for the user */
  to: ConvertOptions['to'] | null;
  others: ConvertOptions['others'];
  recipe: Recipe;
  /** files of the output; nothing: one */
  shards: ConvertOptions['shards'];
  /** subject of a decision -> choice */
  answers: Readonly<Record<string, string>>;
}

export type PlanState =
  | { phase: 'none' }
  | { phase: 'checking'; progress: Progress | null }
  | { phase: 'planned'; plan: PlanReport; options: ConvertOptions }
  | { phase: 'undecided' }
  | { phase: 'failed'; error: CoreError };

/** Who plans: the engine, for a checkpoint or for a pipeline. */
export interface Planner {
  plan: (options: ConvertOptions, onProgress: OnProgress) => Promise<Planned | DecisionsNeeded>;
  cancel: () => Promise<void>;
  /** nothing: where an answer cannot be tried out */
  preview?: (options: ConvertOptions, tensor: string, code: string) => Promise<PreviewReport>;
}

export interface PlanControls {
  choices: Choices;
  /** every decision met so far that matters for the chosen target, answered or not */
  decisions: readonly Decision[];
  state: PlanState;
  change: (change: Partial<Choices>) => void;
  /** what the weights would be under each answer to one of the decisions, given the other answers */
  preview: ((decision: Decision, tensor: string) => Promise<PreviewReport>) | null;
  /** the state once no newer answer is on its way */
  settled: () => Promise<PlanState>;
}

/** `client` must stay the same object from one rendering to the next. */
export function usePlan(client: Planner, known: readonly Decision[]): PlanControls {
  const [choices, setChoices] = useState<Choices>({
    to: null,
    others: 'keep',
    recipe: 'f32-mul-rne',
    shards: undefined,
    answers: {},
  });
  const [state, setState] = useState<PlanState>({ phase: 'none' });
  const [asked, setAsked] = useState<readonly Decision[]>([]);
  const newest = useRef<Promise<PlanState>>(Promise.resolve({ phase: 'none' }));
  const busy = useRef(false);

  const change = useCallback(
    (changed: Partial<Choices>) => {
      const next = { ...choices, ...changed };
      // what fp16 asks (overflow) is no question for bf16
      const kept = changed.to === undefined || changed.to === choices.to ? asked : [];
      setChoices(next);
      setAsked(kept);
      const options = optionsOf(next, concerning(next.to, [...known, ...kept]));
      if (options === null) return;
      if (busy.current) void client.cancel().catch(() => {});
      const show = (shown: PlanState): void => {
        if (newest.current === answer) setState(shown);
      };
      const answer: Promise<PlanState> = ask(client, options, show).then(({ state: shown, decisions }) => {
        if (newest.current === answer) {
          busy.current = false;
          setAsked(merged(kept, decisions, known));
          setState(shown);
        }
        return shown;
      });
      newest.current = answer;
      busy.current = true;
      show({ phase: 'checking', progress: null });
    },
    [client, known, choices, asked],
  );

  const settled = useCallback(async (): Promise<PlanState> => {
    for (;;) {
      const waitingFor = newest.current;
      const found = await waitingFor;
      if (waitingFor === newest.current) return found;
    }
  }, []);

  const decisions = concerning(choices.to, [...known, ...asked]);
  const tryOut = async (decision: Decision, tensor: string): Promise<PreviewReport> => {
    const others = decisions.filter(({ subject }) => subject !== decision.subject);
    const options = optionsOf({ ...choices, to: choices.to ?? 'bf16' }, others);
    if (options === null || client.preview === undefined) throw new Error('a target is always given here');
    await newest.current;
    return client.preview(options, tensor, decision.code);
  };

  const preview = client.preview === undefined ? null : tryOut;
  return { choices, decisions, state, change, preview, settled };
}

/** Where nothing is converted, only a missing shard is a question. */
function concerning(to: Choices['to'], decisions: readonly Decision[]): readonly Decision[] {
  return to === 'stored' ? decisions.filter(({ code }) => code === 'shard_missing') : decisions;
}

function optionsOf(
  { to, others, recipe, shards, answers }: Choices,
  decisions: readonly Decision[],
): ConvertOptions | null {
  if (to === null) return null;
  const assume: Record<string, string> = {};
  for (const { subject } of decisions) {
    const answer = answers[subject];
    if (answer !== undefined) assume[subject] = answer;
  }
  return { to, others, recipe, assume, ...(shards === undefined ? {} : { shards }) };
}

async function ask(
  client: Planner,
  options: ConvertOptions,
  show: (state: PlanState) => void,
): Promise<{ state: PlanState; decisions: readonly Decision[] }> {
  try {
    const reply = await client.plan(options, (progress) => show({ phase: 'checking', progress }));
    if (reply.kind === 'decisions') return { state: { phase: 'undecided' }, decisions: reply.decisions };
    return { state: { phase: 'planned', plan: reply.plan, options }, decisions: [] };
  } catch (thrown) {
    return { state: { phase: 'failed', error: toCoreError(thrown) }, decisions: [] };
  }
}

/** Answered questions stay in sight, so that an answer can be changed. */
function merged(kept: readonly Decision[], open: readonly Decision[], known: readonly Decision[]): readonly Decision[] {
  const subjects = new Set([...kept, ...known].map((decision) => decision.subject));
  return [...kept, ...open.filter((decision) => !subjects.has(decision.subject))];
}
