import type { ReactNode } from 'react';
import { Label, Radio, RadioGroup } from 'react-aria-components';

export interface Choice<T extends string> {
  value: T;
  title: ReactNode;
  says?: ReactNode;
  testId?: string;
}

interface ChoicesProps<T extends string> {
  label: ReactNode;
  choices: readonly Choice<T>[];
  value: T | null;
  onChange: (value: T) => void;
  testId?: string;
  /** shown between the label and the choices */
  children?: ReactNode;
}

/** A question with all its answers in sight. */
export function Choices<T extends string>(props: ChoicesProps<T>): ReactNode {
  const { label, choices, value, onChange, testId, children } = props;
  const choose = (chosen: string): void => {
    const found = choices.find((choice) => choice.value === chosen);
    if (found) onChange(found.value);
  };
  return (
    <RadioGroup className="choices" value={value} onChange={choose} data-testid={testId}>
      <Label className="choices-label">{label}</Label>
      {children}
      <div className="choices-list">
        {choices.map((choice) => (
          <Radio key={choice.value} value={choice.value} className="choice" data-testid={choice.testId}>
            <span className="choice-mark" aria-hidden="true" />
            <span className="choice-text">
              <span className="choice-title">{choice.title}</span>
              {choice.says !== undefined && <span className="choice-says">{choice.says}</span>}
            </span>
          </Radio>
        ))}
      </div>
    </RadioGroup>
  );
}
