// Converted files that still lie in the browser's private storage: made, exported, deleted here. A
// file that another tab is writing is known by the lock that tab holds.
import { listOpfs, openOpfs, removeOpfs } from '../engine/opfs';

export interface WorkingCopy {
  name: string;
  size_bytes: number;
  finished: boolean;
  /** unfinished, and it can go on */
  resumable: boolean;
  /** a conversion in this or another tab is writing it */
  busy: boolean;
}

const LOCK = 'weighbridge/';

export async function listWorkingCopies(): Promise<WorkingCopy[]> {
  try {
    const [entries, locked] = await Promise.all([listOpfs(), lockedNames()]);
    return entries.map((entry) => ({ ...entry, busy: locked.has(entry.name) }));
  } catch {
    // no private files here: then none were left
    return [];
  }
}

export const openWorkingCopy = openOpfs;
export const removeWorkingCopy = removeOpfs;

/** A name that no other working copy has, so that a download that still runs keeps its bytes. */
export function freeName(wanted: string, taken: readonly string[]): string {
  const dot = wanted.lastIndexOf('.');
  let name = wanted;
  for (let n = 2; taken.includes(name); n += 1) name = `${wanted.slice(0, dot)} (${n})${wanted.slice(dot)}`;
  return name;
}

/** Runs `job` while every tab can see that `name` is in use. */
export async function whileLocked<T>(name: string, job: () => Promise<T>): Promise<T> {
  if (!('locks' in navigator)) return job();
  return navigator.locks.request(LOCK + name, job);
}

async function lockedNames(): Promise<Set<string>> {
  if (!('locks' in navigator)) return new Set();
  const { held = [] } = await navigator.locks.query();
  return new Set(held.flatMap(({ name = '' }) => (name.startsWith(LOCK) ? [name.slice(LOCK.length)] : [])));
}
