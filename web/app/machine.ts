// The machine whose memory is compared: presets, the numbers a person typed, and remembering them in this browser.
import type { Machine, MachineKind } from '../engine/ram_report';

const GIB = 2 ** 30;

/** What the fields show. Memory is sold as GB and counted as GiB: a 32 GB PC has 32 GiB. */
export interface MachineForm {
  kind: MachineKind;
  ram: number;
  free: number;
  swap: number;
  /** null: a machine whose graphics card nobody spoke of */
  vram: number | null;
}

export interface Preset {
  id: string;
  title: string;
  form: MachineForm;
}

function pc(ram: number, free: number, kind: 'windows' | 'linux', vram: number): Preset {
  const system = kind === 'windows' ? 'Windows' : 'Linux';
  const swap = kind === 'windows' ? 8 : 4;
  return { id: `${kind}-${ram}`, title: `${system} PC, ${ram} GB`, form: { kind, ram, free, swap, vram } };
}

function mac(ram: number, free: number): Preset {
  return {
    id: `mac-${ram}`,
    title: `Mac, ${ram} GB shared`,
    form: { kind: 'unified', ram, free, swap: 8, vram: null },
  };
}

/** Free memory is what is left beside a browser and a desktop; the fields are there to correct it. */
export const PRESETS: readonly Preset[] = [
  pc(16, 9, 'windows', 8),
  pc(32, 22, 'windows', 16),
  pc(64, 52, 'windows', 24),
  pc(16, 11, 'linux', 8),
  pc(32, 26, 'linux', 16),
  pc(64, 57, 'linux', 24),
  mac(16, 10),
  mac(36, 27),
  mac(64, 53),
  {
    id: 'container-16',
    title: 'Container or WSL, 16 GB',
    form: { kind: 'container', ram: 16, free: 15, swap: 0, vram: 16 },
  },
];

export const LIMITS = { ramMin: 1, ramMax: 4096 } as const;

export function presetOf(form: MachineForm): Preset | null {
  return PRESETS.find((preset) => sameForm(preset.form, form)) ?? null;
}

function sameForm(a: MachineForm, b: MachineForm): boolean {
  return a.kind === b.kind && a.ram === b.ram && a.free === b.free && a.swap === b.swap && a.vram === b.vram;
}

/** A change of one field; free memory never exceeds what there is, and keeps its share when that changes. */
export function changed(form: MachineForm, change: Partial<MachineForm>): MachineForm {
  const next = { ...form, ...change };
  if (change.ram !== undefined && change.free === undefined) {
    next.free = Math.round((form.free / Math.max(1, form.ram)) * next.ram * 2) / 2;
  }
  if (next.kind === 'unified') next.vram = null;
  else if (form.kind === 'unified' && change.vram === undefined) next.vram = 0;
  return { ...next, free: Math.min(next.free, next.ram) };
}

export function toMachine(form: MachineForm): Machine {
  const bytes = (gib: number): number => Math.round(gib * GIB);
  return {
    kind: form.kind,
    ram_bytes: bytes(form.ram),
    free_bytes: bytes(form.free),
    swap_bytes: bytes(form.swap),
    ...(form.vram === null ? {} : { vram_bytes: bytes(form.vram) }),
  };
}

// ---- remembered in this browser, sent nowhere

const KEY = 'weighbridge.machine';

export interface Remembered {
  form: MachineForm;
  /** id of the loader that the user said they use; "" for all of them */
  loader: string;
}

/** Null when nothing was kept, when it cannot be read, and when storage is refused. */
export function recall(storage: () => Storage = () => window.localStorage): Remembered | null {
  try {
    return parseRemembered(JSON.parse(storage().getItem(KEY) ?? 'null'));
  } catch {
    return null;
  }
}

/** Storage may be refused or full; then the page works without. */
export function remember(kept: Remembered | null, storage: () => Storage = () => window.localStorage): void {
  try {
    if (kept === null) storage().removeItem(KEY);
    else storage().setItem(KEY, JSON.stringify(kept));
  } catch {
    // nothing depends on it
  }
}

const KINDS: readonly unknown[] = ['linux', 'windows', 'unified', 'container'] satisfies MachineKind[];

function parseRemembered(value: unknown): Remembered | null {
  if (!isRecord(value) || !isRecord(value.form)) return null;
  const { kind, ram, free, swap, vram } = value.form;
  const isAmount = (amount: unknown): amount is number =>
    typeof amount === 'number' && amount >= 0 && amount <= LIMITS.ramMax;
  if (!KINDS.includes(kind) || !isAmount(ram) || !isAmount(free) || !isAmount(swap)) return null;
  if (ram < LIMITS.ramMin || free > ram || (vram !== null && !isAmount(vram))) return null;
  const loader = typeof value.loader === 'string' ? value.loader : '';
  return { form: { kind: kind as MachineKind, ram, free, swap, vram }, loader };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
