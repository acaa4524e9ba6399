// Several checkpoints in what was given: each with its size, and the person chooses. Also the way back from one
// to the others, and what was not read at all.
import { type ReactNode, useId, useState } from 'react';
import { Button, Checkbox, CheckboxGroup } from 'react-aria-components';
import { type Choice, type ChoiceKind, IGNORED_REASONS, type Ignored, type Layout } from '../../engine/layouts';
import { formatDecimal } from '../../engine/units';
import { plural } from '../format';
import { Fold } from '../parts/fold';
import { Name } from '../parts/text';

const KINDS: Record<ChoiceKind, string> = { pipeline: 'pipeline', set: 'sharded set', file: 'single file' };
const IGNORED_MAX = 100;

interface ChooserProps {
  layout: Layout;
  onPick: (choice: Choice) => void;
  /** several of one folder, as one checkpoint */
  onPickTogether: (choices: readonly Choice[]) => void;
}

export function Chooser({ layout, onPick, onPickTogether }: ChooserProps): ReactNode {
  const title = useId();
  const { choices, ignored } = layout;
  return (
    <section className="chooser" aria-labelledby={title} data-testid="chooser">
      <h1 id={title}>{choices.length === 0 ? 'No checkpoint among these files' : 'Which one?'}</h1>
      {choices.length > 0 && <p>{plural(choices.length, 'checkpoint')} in what you gave. Each is opened by itself.</p>}
      <ChoiceList choices={choices} onPick={onPick} />
      {foldersOfSeveral(choices).map((inside) => (
        <Together key={inside[0]?.folder} choices={inside} onPick={onPickTogether} />
      ))}
      <IgnoredFiles ignored={ignored} open={choices.length === 0} />
    </section>
  );
}

/** Checkpoints that share a folder, and so may be parts of one. */
function foldersOfSeveral(choices: readonly Choice[]): Choice[][] {
  const folders = new Map<string, Choice[]>();
  for (const choice of choices) {
    if (choice.kind === 'pipeline') continue;
    folders.set(choice.folder, [...(folders.get(choice.folder) ?? []), choice]);
  }
  return [...folders.values()].filter((inside) => inside.length > 1);
}

interface TogetherProps {
  choices: readonly Choice[];
  onPick: (choices: readonly Choice[]) => void;
}

/** Names alone cannot tell that files are parts of one checkpoint; a person can. */
function Together({ choices, onPick }: TogetherProps): ReactNode {
  const [ids, setIds] = useState<readonly string[]>([]);
  const chosen = choices.filter(({ id }) => ids.includes(id));
  const bytes = chosen.reduce((sum, choice) => sum + choice.bytes, 0);
  return (
    <div data-testid="together">
      <Fold title="Some of these are parts of one checkpoint" level={3}>
        <CheckboxGroup aria-label="Parts of one checkpoint" value={[...ids]} onChange={setIds} className="choices-list">
          {choices.map(({ id, title }) => (
            <Checkbox key={id} value={id} className="choice" data-testid="part">
              <span className="choice-mark choice-mark-square" aria-hidden="true" />
              <Name text={title} />
            </Checkbox>
          ))}
        </CheckboxGroup>
        <Button
          className="button"
          isDisabled={chosen.length < 2}
          onPress={() => onPick(chosen)}
          data-testid="open-together"
        >
          {chosen.length < 2 ? 'Open as one' : `Open ${chosen.length} as one, ${formatDecimal(bytes)}`}
        </Button>
      </Fold>
    </div>
  );
}

function ChoiceList({ choices, onPick }: { choices: readonly Choice[]; onPick: (choice: Choice) => void }): ReactNode {
  return (
    <ul className="choice-rows">
      {choices.map((choice) => (
        <li key={choice.id}>
          <Button className="choice-row" onPress={() => onPick(choice)} data-testid="choice-row">
            <span className="choice-row-name">
              <Name text={choice.title} />
            </span>
            <span className="choice-row-size">{formatDecimal(choice.bytes)}</span>
            <span className="soft">{describe(choice)}</span>
          </Button>
          {choice.components.length > 0 && (
            <Fold title={`Open one of ${plural(choice.components.length, 'component')}`} level={3}>
              <ChoiceList choices={choice.components} onPick={onPick} />
            </Fold>
          )}
        </li>
      ))}
    </ul>
  );
}

function describe({ kind, files, missing, variant }: Choice): string {
  const parts = [KINDS[kind]];
  if (kind === 'pipeline') parts.push(plural(files.length, 'file'));
  if (variant !== '') parts.push(`${variant} variant`);
  if (missing.length > 0) parts.push(`${plural(missing.length, 'file')} missing`);
  return parts.join(', ');
}

/** The way from one checkpoint to the others that were given with it. */
export function OtherChoices({ layout, onBack }: { layout: Layout; onBack: () => void }): ReactNode {
  const count = layout.choices.length + layout.choices.reduce((sum, { components }) => sum + components.length, 0);
  if (count < 2) return null;
  return (
    <Button className="link" onPress={onBack} data-testid="other-choices">
      All {plural(count, 'checkpoint')} given here
    </Button>
  );
}

export function IgnoredFiles({ ignored, open = false }: { ignored: readonly Ignored[]; open?: boolean }): ReactNode {
  if (ignored.length === 0) return null;
  return (
    <div data-testid="ignored">
      <Fold title={`Not read: ${plural(ignored.length, 'file')}`} open={open}>
        <ul className="plain-list">
          {ignored.slice(0, IGNORED_MAX).map(({ path, reason }) => (
            <li key={`${path} ${reason}`}>
              <Name text={path} /> <span className="soft">{IGNORED_REASONS[reason]}</span>
            </li>
          ))}
          {ignored.length > IGNORED_MAX && (
            <li className="soft">and {plural(ignored.length - IGNORED_MAX, 'more', 'more')}</li>
          )}
        </ul>
      </Fold>
    </div>
  );
}
