import type { ReactNode } from 'react';
import { Button } from 'react-aria-components';
import type { CoreError } from '../../engine/errors';
import { type ConvertOptions, RECIPES, type Target } from '../../engine/report';
import { formatDecimal } from '../../engine/units';
import { percent } from '../format';
import type { PlanControls } from '../hooks/use_plan';
import { Choices } from '../parts/choices';
import { Fault } from '../parts/fault';
import { Fold } from '../parts/fold';
import type { SinkKind, SinkOffer } from '../sinks';
import { RECIPE_SAYS } from '../words';
import { Decisions } from './decisions';
import { PlanSummary } from './plan_summary';

type Cut = NonNullable<ConvertOptions['shards']>;

interface ConvertFormProps {
  planning: PlanControls;
  /** of the last attempt */
  error: CoreError | null;
  /** null: not known yet */
  offers: SinkOffer[] | null;
  sink: SinkOffer | null;
  onSink: (kind: SinkKind) => void;
  /** how a folder's files are cut; null where one file is written */
  cut: Cut | null;
  onCut: (cut: Cut) => void;
  inputFiles: number;
  name: string;
  onStart: () => void;
  /** why there is no way to write it */
  noSink?: string;
}

export function ConvertForm(props: ConvertFormProps): ReactNode {
  const { planning, error, offers, sink, onSink, cut, onCut, inputFiles, name, onStart } = props;
  const { noSink = 'This browser offers no way to write a file of this size.' } = props;
  const { choices, decisions, state, change } = planning;
  const open = decisions.filter((decision) => choices.answers[decision.subject] === undefined).length;
  const blocked = choices.to === null || open > 0 || state.phase === 'failed' || sink === null;

  return (
    <div className="convert-form">
      {error && (
        <div role="alert" className="fault-box">
          <Fault issue={error} />
        </div>
      )}
      <div className="convert-options">
        <TargetChoice planning={planning} />
        {choices.to !== 'stored' && <OthersChoice planning={planning} />}
      </div>
      {choices.to !== 'stored' && <RecipeChoice planning={planning} />}
      <Decisions
        decisions={decisions}
        answers={choices.answers}
        preview={planning.preview}
        onAnswer={(subject, choice) => change({ answers: { ...choices.answers, [subject]: choice } })}
      />
      {choices.to !== null && offers !== null && (
        <SinkChoice offers={offers} sink={sink} onSink={onSink} none={noSink} />
      )}
      {choices.to !== null && cut !== null && <CutChoice cut={cut} onCut={onCut} inputFiles={inputFiles} />}
      <div role="status">
        {state.phase === 'checking' && <p className="soft">{checkingLine(state.progress)}</p>}
        {state.phase === 'planned' && <PlanSummary plan={state.plan} sink={sink} />}
        {state.phase === 'failed' && <Fault issue={state.error} />}
      </div>
      <div className="convert-start">
        <Button
          className="button button-main"
          isDisabled={blocked}
          onPress={onStart}
          data-testid="convert-button"
          aria-describedby="convert-why"
        >
          {choices.to === null ? 'Convert' : `Convert: write ${name}`}
        </Button>
        <p id="convert-why" className="soft">
          {whyNot(choices.to, open, sink === null ? noSink : '')}
        </p>
      </div>
    </div>
  );
}

function whyNot(to: Target | null, open: number, noSink: string): string {
  if (to === null) return 'Choose bf16 or fp16 first.';
  if (open > 0) return open === 1 ? 'Answer the question above first.' : `Answer the ${open} questions above first.`;
  return noSink;
}

function checkingLine(progress: { done_bytes: number; total_bytes: number } | null): string {
  if (progress === null || progress.total_bytes === 0) return 'Working out what will be written…';
  const { done_bytes, total_bytes } = progress;
  return `Looking for values that do not fit: ${percent(done_bytes, total_bytes)}% of ${formatDecimal(total_bytes)}`;
}

function TargetChoice({ planning }: { planning: PlanControls }): ReactNode {
  return (
    <Choices
      label="Write the quantized weights as"
      value={planning.choices.to}
      onChange={(to) => planning.change({ to })}
      choices={[
        {
          value: 'bf16',
          title: 'bf16',
          says: 'The range of float32. What most models are trained and run in.',
          testId: 'target-bf16',
        },
        {
          value: 'f16',
          title: 'fp16',
          says: 'Finer, but nothing above 65,504. For hardware and programs without bf16.',
          testId: 'target-f16',
        },
        {
          value: 'stored',
          title: 'as they are',
          says: 'Converts nothing: files are only joined into one, or cut into several.',
          testId: 'target-stored',
        },
      ]}
    />
  );
}

function OthersChoice({ planning }: { planning: PlanControls }): ReactNode {
  return (
    <Choices
      label="The other floats (norms, biases, …)"
      value={planning.choices.others}
      onChange={(others) => planning.change({ others })}
      choices={[
        { value: 'keep', title: 'keep as they are' },
        { value: 'cast', title: 'cast too', says: 'To the same type. Loses precision where they are float32.' },
      ]}
    />
  );
}

/** Folded away: nearly everybody wants the first, and the second only to match a loader bit by bit. */
function RecipeChoice({ planning }: { planning: PlanControls }): ReactNode {
  return (
    <Fold title={`Arithmetic: ${planning.choices.recipe}`} level={4}>
      <Choices
        label="How a code and its scale are multiplied"
        value={planning.choices.recipe}
        onChange={(recipe) => planning.change({ recipe })}
        choices={RECIPES.map((value) => ({
          value,
          title: value,
          says: RECIPE_SAYS[value],
          testId: `recipe-${value}`,
        }))}
      />
    </Fold>
  );
}

/** The sizes that hubs and file systems ask for. */
const SHARD_SIZES = [5e9, 2e9] as const;

function CutChoice({
  cut,
  onCut,
  inputFiles,
}: Pick<ConvertFormProps, 'onCut' | 'inputFiles'> & { cut: Cut }): ReactNode {
  const sizes = SHARD_SIZES.map((size) => ({
    value: String(size),
    title: `files of ${formatDecimal(size)} at most`,
    testId: `cut-${size}`,
  }));
  return (
    <Choices
      label="Cut into"
      value={String(cut)}
      onChange={(chosen) => onCut(chosen === 'same' ? 'same' : Number(chosen))}
      choices={[
        { value: 'same', title: inputFiles === 1 ? 'one file' : 'the same files as now', testId: 'cut-same' },
        ...sizes,
      ]}
    />
  );
}

interface SinkChoiceProps {
  offers: SinkOffer[];
  sink: SinkOffer | null;
  onSink: (kind: SinkKind) => void;
  /** said where there is no offer */
  none: string;
}

function SinkChoice({ offers, sink, onSink, none }: SinkChoiceProps): ReactNode {
  if (offers.length === 0) return <p className="none">{none}</p>;
  return (
    <Choices
      label="Where it goes"
      value={sink?.kind ?? null}
      onChange={onSink}
      choices={offers.map((offer) => ({
        value: offer.kind,
        title: `${offer.title}, needs ${formatDecimal(offer.disk_bytes)} of disk`,
        says: offer.says,
        testId: `sink-${offer.kind}`,
      }))}
    />
  );
}
