// The browser's own dialogs for where to write. They must open in the press itself, before anything is waited for.
import type { FolderTarget, Target } from './hooks/use_conversion';
import type { SinkKind } from './sinks';

/** Null when the user thought better of it. */
export async function targetOf(kind: SinkKind, name: string): Promise<Target | null> {
  if (kind === 'directory') return folderTarget(name);
  if (kind !== 'picker') return { kind, name };
  const handle = await unlessAborted(async () =>
    window.showSaveFilePicker?.({
      suggestedName: name,
      types: [{ description: 'safetensors checkpoint', accept: { 'application/octet-stream': ['.safetensors'] } }],
    }),
  );
  return handle ? { kind, handle } : null;
}

/** A new folder `name` in the one that is chosen. */
export async function folderTarget(name: string): Promise<FolderTarget | null> {
  const handle = await unlessAborted(async () =>
    window.showDirectoryPicker?.({ id: 'weighbridge', mode: 'readwrite' }),
  );
  return handle ? { kind: 'directory', handle, name } : null;
}

async function unlessAborted<T>(dialog: () => Promise<T>): Promise<T | null> {
  try {
    return await dialog();
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') return null;
    throw thrown;
  }
}
