// A set of files by name, wherever they are: a folder on disk, what was dropped, a repo. From it the layout,
// and from a choice of the layout the input of a checkpoint.

import { CoreError } from './errors';
import type { Core } from './heap';
import type { Traffic } from './http_client';
import {
  baseName,
  type Choice,
  findChoice,
  folderOf,
  IGNORED_REASONS,
  isIndex,
  type Layout,
  type LayoutFile,
  layOut,
} from './layouts';
import type { CheckpointInput } from './pipeline';
import { componentsNamed } from './pipeline_layouts';
import type { CoreIssue } from './report';
import { checkIndexSize, checkSideFileSize, INDEX_BYTES_MAX, isSideFile, SIDE_FILE_BYTES_MAX } from './side_files';
import type { ByteSource } from './source';

export interface FileTree {
  readonly files: readonly LayoutFile[];
  /** A small file, whole. */
  read(file: LayoutFile): Promise<Uint8Array>;
  open(file: LayoutFile): Promise<ByteSource>;
  /** what reading costs where it costs requests; one object that grows */
  traffic?(): Traffic;
}

/** The layout by what the indexes and model_index.json files really say, not by names alone. */
export async function layOutTree(core: Core, tree: FileTree): Promise<Layout> {
  const indexed = new Map<string, string[]>();
  const components = new Map<string, string[]>();
  for (const file of tree.files) {
    const name = baseName(file.path);
    if (isIndex(name) && file.size <= INDEX_BYTES_MAX) {
      const names = core.indexedFiles(name, await tree.read(file));
      if (names.length > 0) indexed.set(file.path, names);
    } else if (name === 'model_index.json' && file.size <= SIDE_FILE_BYTES_MAX) {
      components.set(file.path, componentsNamed(new TextDecoder().decode(await tree.read(file))));
    }
  }
  return layOut(tree.files, { indexed, components });
}

/** The choice of that name; without a name the one that needs no asking. Errc: choice_needed, not_found. */
export function choose(layout: Layout, where: string, name?: string): Choice {
  const { choices, preferred } = layout;
  const chosen =
    name === undefined
      ? choices.find(({ id }) => id === preferred)
      : (findChoice(layout, name) ?? shardAlone(layout, name));
  if (chosen) return chosen;
  const offers = choices.flatMap((choice) => [choice, ...choice.components]).map(({ id }) => id);
  if (name !== undefined) {
    throw new CoreError('not_found', name, `there is nothing of that name to open; there is: ${listed(offers)}`);
  }
  if (choices.length === 0) throw new CoreError('not_found', where, nothingFound(layout));
  throw new CoreError(
    'choice_needed',
    where,
    `${choices.length} checkpoints are here; name one of them: ${listed(offers)}`,
  );
}

/** One file of a set by its path; the index that names it tells where its neighbours are. */
function shardAlone({ choices }: Layout, path: string): Choice | null {
  const all = choices.flatMap((choice) => [...choice.components, choice]);
  const set = all.find(({ files }) => files.some((file) => file.path === path));
  const file = set?.files.find((each) => each.path === path);
  if (!set || !file) return null;
  const nothing = { variant: '', missing: [], companions: [], components: [] };
  return { ...set, ...nothing, id: path, title: path, kind: 'file', files: [file], bytes: file.size, partOfSet: true };
}

/**
 * Files of one folder that a person says are one checkpoint; the index that names them still tells where their
 * neighbours are. `beside`: what stands in their folder. Errc: not_found.
 */
export function together(files: readonly LayoutFile[], beside: readonly LayoutFile[], { choices }: Layout): Choice {
  const [first] = files;
  if (first === undefined) throw new CoreError('not_found', '', 'no file was chosen');
  const wanted = new Set(files.map(({ path }) => path));
  const set = choices.find(({ index, files: shards }) => index !== null && shards.some(({ path }) => wanted.has(path)));
  const isWhole = set?.files.every(({ path }) => wanted.has(path)) && set.missing.length === 0;
  return {
    id: first.path,
    title: files.length > 1 ? `${files.length} files together` : first.path,
    kind: files.length > 1 ? 'set' : 'file',
    folder: folderOf(first.path),
    variant: '',
    files: [...files],
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    index: set?.index ?? null,
    missing: [],
    sideFiles: beside.filter(({ path }) => isSideFile(baseName(path))),
    companions: [],
    components: [],
    partOfSet: !isWhole,
  };
}

/** What one choice (not a pipeline: its components one by one) is opened from. */
export async function inputOf(tree: FileTree, choice: Choice, notes: CoreIssue[] = []): Promise<CheckpointInput> {
  const { index, sideFiles } = choice;
  for (const { path, size } of sideFiles) checkSideFileSize(path, size);
  if (index !== null) checkIndexSize(index.path, index.size);
  const beside = index === null ? sideFiles : [...sideFiles, index];
  const read = await Promise.all(
    beside.map(async (file) => ({ name: baseName(file.path), bytes: await tree.read(file) })),
  );
  const sources = await openAll(tree, choice.files);
  const companions = choice.companions.map((file) => ({
    name: choice.folder === '' ? file.path : file.path.slice(choice.folder.length + 1),
    read: () => tree.read(file),
  }));
  return {
    sources,
    sideFiles: read,
    companions,
    notes,
    partOfSet: choice.partOfSet === true,
    traffic: () => tree.traffic?.() ?? null,
  };
}

/** All at once: where opening is a request, a hundred of them must not wait for each other. */
async function openAll(tree: FileTree, files: readonly LayoutFile[]): Promise<ByteSource[]> {
  const opened = await Promise.allSettled(files.map((file) => tree.open(file)));
  const sources = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failed = opened.find((result) => result.status === 'rejected');
  if (failed === undefined) return sources;
  for (const source of sources) await source.close();
  throw failed.reason;
}

/** Strays beside a set, as warnings of its report; what has nothing to do with checkpoints is none. */
export function strayNotes({ ignored }: Layout): CoreIssue[] {
  const strays = ignored.filter(({ reason }) => reason === 'beside_set');
  return strays.map(({ path }) => ({
    code: 'beside_set',
    where: path,
    message: IGNORED_REASONS.beside_set,
  }));
}

function nothingFound({ ignored }: Layout): string {
  const [first] = ignored;
  if (!first) return 'there is no file';
  const why = `${first.path}: ${IGNORED_REASONS[first.reason]}`;
  return `none of the files is a checkpoint (${why}${ignored.length > 1 ? `, and ${ignored.length - 1} more` : ''})`;
}

const OFFERS_MAX = 40;

function listed(names: readonly string[]): string {
  const more = names.length - OFFERS_MAX;
  return names.slice(0, OFFERS_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
