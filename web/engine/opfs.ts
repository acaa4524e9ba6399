// The origin's private files as the page and the sink agree on them: `name` is finished exactly when
// no `name.partial` stands beside it. Works in the page and in the worker.

export const OPFS_PARTIAL_SUFFIX = '.partial';
/** Beside an unfinished file that can be gone on with. */
export const OPFS_JOURNAL_SUFFIX = '.journal';

/** `move` renames; every engine that has sync handles has it, but no standard does. */
export type OpfsHandle = FileSystemFileHandle & { move?: (name: string) => Promise<void> };
export type MovableHandle = FileSystemFileHandle & { move: (name: string) => Promise<void> };

export function isMovable(handle: OpfsHandle): handle is MovableHandle {
  return typeof handle.move === 'function';
}

/** A finished file, for the export; its bytes stay on disk. */
export async function openOpfs(name: string): Promise<File> {
  const root = await navigator.storage.getDirectory();
  return (await root.getFileHandle(name)).getFile();
}

/** Removes the file and what is left of an unfinished one. Missing ones are no error. */
export async function removeOpfs(name: string): Promise<void> {
  const root = await navigator.storage.getDirectory();
  for (const entry of [name, name + OPFS_PARTIAL_SUFFIX, name + OPFS_JOURNAL_SUFFIX]) {
    await root.removeEntry(entry).catch((thrown: unknown) => {
      if (!(thrown instanceof DOMException && thrown.name === 'NotFoundError')) throw thrown;
    });
  }
}

/** Of an unfinished file; null: none was kept. */
export async function readOpfsJournal(name: string): Promise<string | null> {
  const root = await navigator.storage.getDirectory();
  try {
    return await (await (await root.getFileHandle(name + OPFS_JOURNAL_SUFFIX)).getFile()).text();
  } catch {
    return null;
  }
}

export interface OpfsEntry {
  name: string;
  size_bytes: number;
  finished: boolean;
  /** unfinished, with a journal of how far it came */
  resumable: boolean;
}

/** What earlier conversions left in this browser, so that it can be offered for download or removal. */
export async function listOpfs(): Promise<OpfsEntry[]> {
  const root = await navigator.storage.getDirectory();
  const sizes = new Map<string, number>();
  for await (const handle of root.values()) {
    if (handle instanceof FileSystemFileHandle) sizes.set(handle.name, (await handle.getFile()).size);
  }
  const files = [...sizes.keys()].filter((name) => !name.endsWith(OPFS_JOURNAL_SUFFIX));
  const entries = files.map((file) => {
    const isPartial = file.endsWith(OPFS_PARTIAL_SUFFIX);
    const name = isPartial ? file.slice(0, -OPFS_PARTIAL_SUFFIX.length) : file;
    const finished = !isPartial && !sizes.has(name + OPFS_PARTIAL_SUFFIX);
    const resumable = !finished && (sizes.get(name + OPFS_JOURNAL_SUFFIX) ?? 0) > 0;
    return { name, size_bytes: sizes.get(file) ?? 0, finished, resumable };
  });
  return entries.sort((a, b) => a.name.localeCompare(b.name));
}
