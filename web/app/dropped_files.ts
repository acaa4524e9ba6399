// What a person dropped or chose, as files for the engine: a folder counts for the checkpoints in it.
import { isSideFile } from '../engine/side_files';

const FOLDER_DEPTH_MAX = 3;
const FOLDER_FILES_MAX = 2000;

export interface Chosen {
  /** checkpoints first, then what rides along */
  files: File[];
  /** names of files that are neither */
  ignored: string[];
}

/** Sorts files into what the engine takes. A lone file is never ignored: it is named for what it is. */
export function arrange(given: readonly File[]): Chosen {
  const checkpoints = given.filter((file) => isCheckpoint(file.name)).sort((a, b) => a.name.localeCompare(b.name));
  const side = given.filter((file) => isSideFile(file.name));
  const rest = given.filter((file) => !isCheckpoint(file.name) && !isSideFile(file.name));
  if (checkpoints.length > 0) return { files: [...checkpoints, ...side], ignored: rest.map((file) => file.name) };
  return { files: [...rest.slice(0, 1), ...side], ignored: rest.slice(1).map((file) => file.name) };
}

function isCheckpoint(name: string): boolean {
  return /\.safetensors$/i.test(name);
}

/** Must be called in the drop event itself: afterwards the entries are gone. */
export async function filesOfDrop(transfer: DataTransfer): Promise<File[]> {
  const entries = [...transfer.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null));
  if (!entries.some((entry) => entry?.isDirectory)) return [...transfer.files];
  const found: File[] = [];
  for (const entry of entries) if (entry) await collect(entry, FOLDER_DEPTH_MAX, found);
  return found;
}

async function collect(entry: FileSystemEntry, depth: number, into: File[]): Promise<void> {
  if (into.length >= FOLDER_FILES_MAX) return;
  if (isFileEntry(entry)) into.push(await new Promise<File>((resolve, reject) => entry.file(resolve, reject)));
  else if (isFolderEntry(entry) && depth > 0) {
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
