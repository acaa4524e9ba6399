// Whose memory it is: a preset, then every number by itself.
import { type ReactNode, useId } from 'react';
import { Button } from 'react-aria-components';
import type { MachineKind } from '../../engine/ram_report';
import type { MachineControls } from '../hooks/use_machine';
import { LIMITS, type MachineForm, PRESETS, presetOf } from '../machine';
import { KIND_WORDS } from '../memory_words';

export function MemoryMachine({ machine }: { machine: MachineControls }): ReactNode {
  const { form, set, change } = machine;
  const id = useId();
  return (
    <div className="machine" data-testid="machine">
      <div className="machine-field">
        <label htmlFor={id}>Your machine</label>
        <select
          id={id}
          className="select"
          data-testid="machine-preset"
          value={form === null ? '' : (presetOf(form)?.id ?? 'own')}
          onChange={({ target }) => {
            const preset = PRESETS.find((each) => each.id === target.value);
            if (target.value === '') set(null);
            else if (preset) set(preset.form);
          }}
        >
          <option value="">not said</option>
          {PRESETS.map(({ id: preset, title }) => (
            <option key={preset} value={preset}>
              {title}
            </option>
          ))}
          {form !== null && presetOf(form) === null && <option value="own">as set here</option>}
        </select>
      </div>
      {form !== null && (
        <>
          <KindField kind={form.kind} onChange={(kind) => change({ kind })} />
          <Amount name="Memory" testId="machine-ram" value={form.ram} max={256} onChange={(ram) => change({ ram })} />
          <Amount
            name="Free now"
            testId="machine-free"
            value={form.free}
            max={form.ram}
            onChange={(free) => change({ free })}
          />
          <Amount
            name={form.kind === 'windows' ? 'Page file' : 'Swap'}
            testId="machine-swap"
            value={form.swap}
            onChange={(swap) => change({ swap })}
          />
          {form.kind !== 'unified' && (
            <Amount
              name="Graphics card"
              testId="machine-vram"
              value={form.vram ?? 0}
              onChange={(vram) => change({ vram })}
            />
          )}
          <Button className="link machine-forget" onPress={() => set(null)}>
            Forget it
          </Button>
        </>
      )}
    </div>
  );
}

function KindField({ kind, onChange }: { kind: MachineKind; onChange: (kind: MachineKind) => void }): ReactNode {
  const id = useId();
  return (
    <div className="machine-field">
      <label htmlFor={id}>Kind</label>
      <select
        id={id}
        className="select"
        data-testid="machine-kind"
        value={kind}
        onChange={({ target }) => {
          const kinds = Object.keys(KIND_WORDS) as MachineKind[];
          const chosen = kinds.find((each) => each === target.value);
          if (chosen) onChange(chosen);
        }}
      >
        {Object.entries(KIND_WORDS).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

interface AmountProps {
  name: string;
  testId: string;
  value: MachineForm['ram'];
  onChange: (value: number) => void;
  /** of a slider beside the number; without one there is only the number */
  max?: number;
}

function Amount({ name, testId, value, onChange, max }: AmountProps): ReactNode {
  const id = useId();
  const take = (given: number): void => {
    if (given >= 0 && given <= LIMITS.ramMax && (testId !== 'machine-ram' || given >= LIMITS.ramMin)) onChange(given);
  };
  return (
    <div className="machine-field">
      <label htmlFor={id}>{name}</label>
      <span className="machine-amount">
        <input
          id={id}
          type="number"
          inputMode="decimal"
          min="0"
          max={LIMITS.ramMax}
          step="any"
          data-testid={testId}
          value={value}
          onChange={({ target }) => take(target.valueAsNumber)}
        />
        GiB
      </span>
      {max !== undefined && (
        <input
          type="range"
          aria-label={`${name}, in GiB`}
          min={testId === 'machine-ram' ? 4 : 0}
          max={Math.max(max, value)}
          step={testId === 'machine-ram' ? 4 : 0.5}
          value={value}
          onChange={({ target }) => take(target.valueAsNumber)}
        />
      )}
    </div>
  );
}
