import type { ReactNode } from 'react';
import { type Key, ToggleButton, ToggleButtonGroup } from 'react-aria-components';
import { formatCount } from '../../engine/units';

export interface Chip<T extends string> {
  id: T;
  label: string;
  count: number;
}

interface ChipsProps<T extends string> {
  label: string;
  chips: readonly Chip<T>[];
  value: T;
  onChange: (value: T) => void;
}

/** One of several filters, each with the number of rows it leaves. */
export function Chips<T extends string>({ label, chips, value, onChange }: ChipsProps<T>): ReactNode {
  const choose = (keys: Set<Key>): void => {
    const chosen = chips.find((chip) => keys.has(chip.id));
    if (chosen) onChange(chosen.id);
  };
  return (
    <ToggleButtonGroup
      aria-label={label}
      className="chips"
      selectionMode="single"
      disallowEmptySelection
      selectedKeys={[value]}
      onSelectionChange={choose}
    >
      {chips.map((chip) => (
        <ToggleButton key={chip.id} id={chip.id} className="chip" data-chip={chip.id}>
          {chip.label} <span className="chip-count">{formatCount(chip.count)}</span>
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}
