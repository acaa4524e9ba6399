// What a person dropped or chose, with where each file stood. Which of them belong together is the engine's to say.
import type { GivenFile } from '../engine/protocol';

const FOLDER_DEPTH_MAX = 5;
const FOLDER_FILES_MAX = 20_000;

/** Files of a picker; those of a chosen folder know their place in it. */
export function givenFiles(files: readonly File[]): GivenFile[] {
  return files.map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/** Must be called in the drop event itself: afterwards the entries are gone. */
export async function filesOfDrop(transfer: DataTransfer): Promise<GivenFile[]> {
  const entries = [...transfer.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null));
  if (!entries.some((entry) => entry?.isDirectory)) return givenFiles([...transfer.files]);
  const found: GivenFile[] = [];
  for (const entry of entries) if (entry) await collect(entry, FOLDER_DEPTH_MAX, found);
  return found;
}

/** Folders that begin with a dot (.git, .cache) hold no model of their own. */
async function collect(entry: FileSystemEntry, depth: number, into: GivenFile[]): Promise<void> {
  if (into.length >= FOLDER_FILES_MAX) return;
  if (isFileEntry(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject));
    into.push({ path: entry.fullPath.replace(/^\//, ''), file });
  } else if (isFolderEntry(entry) && depth > 0 && !entry.name.startsWith('.')) {
    for (const child of await childrenOf(entry)) await collect(child, depth - 1, into);
  }
}

/** A reader gives its entries in batches, and an empty batch at the end. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return all;
    all.push(...batch);
  }
}

function isFileEntry(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

function isFolderEntry(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}
