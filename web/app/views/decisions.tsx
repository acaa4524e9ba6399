// What only a person can decide. Nothing is preselected: a wrong guess would write a wrong model.
import type { ReactNode } from 'react';
import type { Decision, PreviewReport } from '../../engine/report';
import { plural } from '../format';
import { Choices } from '../parts/choices';
import { Fold } from '../parts/fold';
import { Name, Prose } from '../parts/text';
import { Previews } from './previews';

const NAMED = 3;

interface DecisionsProps {
  decisions: readonly Decision[];
  answers: Readonly<Record<string, string>>;
  onAnswer: (subject: string, choice: string) => void;
  preview: ((decision: Decision, tensor: string) => Promise<PreviewReport>) | null;
}

/** Its answers make no difference that a preview of bf16 could show. */
const WITHOUT_PREVIEW: readonly string[] = ['f16_overflow', 'scale_orphan', 'shard_missing'];

export function Decisions({ decisions, answers, onAnswer, preview }: DecisionsProps): ReactNode {
  if (decisions.length === 0) return null;
  return (
    <div className="decisions">
      {decisions.map((decision) => (
        <Choices
          key={decision.subject}
          testId="decision"
          label={
            <>
              <Prose text={decision.question} /> <code className="code">{decision.code}</code>
            </>
          }
          value={answers[decision.subject] ?? null}
          onChange={(choice) => onAnswer(decision.subject, choice)}
          choices={decision.choices.map(({ choice, meaning }) => ({
            value: choice,
            title: choice.replaceAll('_', ' '),
            says: <Prose text={meaning} />,
            testId: 'decision-choice',
          }))}
        >
          <Tensors decision={decision} />
          {preview !== null && !WITHOUT_PREVIEW.includes(decision.code) && (
            <Previews tensors={decision.tensors} load={(tensor) => preview(decision, tensor)} />
          )}
        </Choices>
      ))}
    </div>
  );
}

function Tensors({ decision }: { decision: Decision }): ReactNode {
  const { tensors, count } = decision;
  const list = (
    <ul className="plain-list">
      {tensors.map((name) => (
        <li key={name}>
          <Name text={name} />
        </li>
      ))}
      {count > tensors.length && <li className="soft">and {plural(count - tensors.length, 'more', 'more')}</li>}
    </ul>
  );
  if (count <= NAMED) return list;
  return (
    <Fold title={`Concerns ${plural(count, 'tensor')}`} level={4}>
      {list}
    </Fold>
  );
}
