// The machine that the user described; kept from one visit to the next in this browser alone.
import { useCallback, useState } from 'react';
import { changed, type MachineForm, type Remembered, recall, remember } from '../machine';

export interface MachineControls {
  /** null until the user says something: then nothing is judged */
  form: MachineForm | null;
  loader: string;
  set: (form: MachineForm | null) => void;
  change: (change: Partial<MachineForm>) => void;
  use: (loader: string) => void;
}

interface State {
  form: MachineForm | null;
  loader: string;
}

export function useMachine(): MachineControls {
  const [state, setState] = useState<State>(() => recall() ?? { form: null, loader: '' });

  const update = useCallback((next: (before: State) => State) => {
    setState((before) => {
      const after = next(before);
      const { form, loader } = after;
      remember(form && ({ form, loader } satisfies Remembered));
      return after;
    });
  }, []);

  const set = useCallback((form: MachineForm | null) => update((before) => ({ ...before, form })), [update]);
  const change = useCallback(
    (part: Partial<MachineForm>) =>
      update((before) => (before.form ? { ...before, form: changed(before.form, part) } : before)),
    [update],
  );
  const use = useCallback((loader: string) => update((before) => ({ ...before, loader })), [update]);
  return { ...state, set, change, use };
}
