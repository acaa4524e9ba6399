// From what stands on the command line to the sources and side files of a checkpoint.
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { CoreError } from '../engine/errors';
import { choose, inputOf, layOutTree, strayNotes, together } from '../engine/file_tree';
import type { Core } from '../engine/heap';
import { looksRemote } from '../engine/hub_address';
import { type Choice, type Ignored, isCheckpoint, isIndex, type LayoutFile } from '../engine/layouts';
import type { CheckpointInput } from '../engine/pipeline';
import { isSideFile } from '../engine/side_files';
import type { RemoteWords } from './args';
import { readError } from './file_source';
import { FolderTree } from './folder_tree';
import { findOnServer } from './remote_input';

export interface OpenedInput extends CheckpointInput {
  /** of the sources */
  paths: string[];
}

/** What is to be opened: one thing, or the components of a pipeline one by one. */
export interface FoundInput {
  choice: Choice;
  ignored: Ignored[];
  parts: { choice: Choice; open: () => Promise<OpenedInput> }[];
  /** small files that a conversion into a folder carries along */
  readCompanion: (file: LayoutFile) => Promise<Uint8Array>;
}

/** `paths`: a file, an index, a folder, or several files that belong together. `name`: which of several choices. */
export async function findInput(
  core: Core,
  paths: readonly string[],
  name?: string,
  remote?: RemoteWords,
): Promise<FoundInput> {
  const [path = '', ...more] = paths;
  if (looksRemote(path)) return findOnServer(core, paths, name, remote);
  if (more.length > 0) return findTogether(core, paths, name);
  const found = await statOf(path);
  if (found === null) throw new CoreError('not_found', path, 'there is no such file');
  if (found.isFile()) return isIndex(path) ? findByIndex(core, path) : findFile(core, path);
  if (found.isDirectory()) return findInFolder(core, path, name);
  throw new CoreError('read_failed', path, 'this is neither a file nor a folder');
}

/** The single checkpoint at a path; for callers that know nothing of pipelines. */
export async function openInput(core: Core, path: string): Promise<OpenedInput> {
  const { parts } = await findInput(core, [path]);
  const [only, second] = parts;
  if (!only || second) throw new CoreError('choice_needed', path, 'this is a pipeline; name one of its components');
  return only.open();
}

async function findInFolder(core: Core, path: string, name: string | undefined): Promise<FoundInput> {
  const tree = await FolderTree.of(path);
  const layout = await layOutTree(core, tree);
  const choice = choose(layout, path, name);
  const notes = choice.id === layout.preferred ? strayNotes(layout) : [];
  return found(tree, choice, layout.ignored, notes);
}

async function findByIndex(core: Core, path: string): Promise<FoundInput> {
  const tree = await FolderTree.flat(dirname(path), () => true);
  const layout = await layOutTree(core, tree);
  return found(tree, choose(layout, path, basename(path)), layout.ignored, strayNotes(layout));
}

/** One file as it is, whatever stands beside it; the index that names it tells where its neighbours are. */
async function findFile(core: Core, path: string): Promise<FoundInput> {
  return alone(core, dirname(path), [basename(path)]);
}

/** Files given by hand belong together, because somebody says so. */
async function findTogether(core: Core, paths: readonly string[], name: string | undefined): Promise<FoundInput> {
  if (name !== undefined)
    throw new CoreError('invalid_option', name, '--file chooses in one folder, not among several paths');
  const folders = new Set(paths.map((path) => dirname(resolve(path))));
  for (const path of paths) {
    const found = await statOf(path);
    if (found === null) throw new CoreError('not_found', path, 'there is no such file');
    if (!found.isFile()) throw new CoreError('read_failed', path, 'of several paths each must be a file');
  }
  const [folder = '', second] = folders;
  if (second !== undefined) {
    throw new CoreError('read_failed', second, `the files of one set stand in one folder, not also in ${folder}`);
  }
  const names = paths.map((path) => basename(path)).filter((each) => !isIndex(each) && !isSideFile(each));
  return alone(core, folder, names);
}

async function alone(core: Core, folder: string, names: string[]): Promise<FoundInput> {
  const wanted = new Set(names);
  const matters = (name: string): boolean =>
    wanted.has(name) || isSideFile(name) || isIndex(name) || isCheckpoint(name);
  const tree = await FolderTree.flat(folder, matters);
  const files = tree.files.filter(({ path }) => wanted.has(path));
  if (files.length === 0) throw new CoreError('not_found', names[0] ?? '', 'there is no such file');
  return found(tree, together(files, tree.files, await layOutTree(core, tree)), [], []);
}

function found(tree: FolderTree, choice: Choice, ignored: Ignored[], notes: CheckpointInput['notes']): FoundInput {
  const parts = choice.kind === 'pipeline' ? choice.components : [choice];
  return {
    choice,
    ignored,
    parts: parts.map((part) => ({
      choice: part,
      open: async () => ({
        ...(await inputOf(tree, part, notes)),
        paths: part.files.map((file) => tree.pathOf(file)),
      }),
    })),
    readCompanion: (file) => tree.read(file),
  };
}

async function statOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (thrown) {
    const error = readError(path, thrown);
    if (error.code === 'not_found') return null;
    throw error;
  }
}
