// From a PATH to the sources and side files of a checkpoint.
import type { Stats } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '../engine/errors';
import type { CheckpointInput } from '../engine/pipeline';
import { checkSideFileSize, SIDE_FILE_NAMES } from '../engine/side_files';
import { FileSource, readError } from './file_source';

export interface OpenedInput extends CheckpointInput {
  paths: string[];
}

export async function openInput(path: string): Promise<OpenedInput> {
  const file = await findCheckpoint(path);
  const sideFiles = await readSideFiles(dirname(file));
  return { sources: [await FileSource.open(basename(file), file)], sideFiles, paths: [file] };
}

async function findCheckpoint(path: string): Promise<string> {
  const found = await statOf(path);
  if (found === null) throw new CoreError('not_found', path, 'there is no such file');
  if (found.isFile()) return path;
  if (!found.isDirectory()) throw new CoreError('read_failed', path, 'this is neither a file nor a folder');
  const names = (await readdir(path)).filter((name) => name.endsWith('.safetensors')).sort();
  const [only, second] = names;
  if (only === undefined) throw new CoreError('not_found', path, 'the folder holds no .safetensors file');
  if (second !== undefined) {
    throw new CoreError('not_found', path, `the folder holds ${names.length} .safetensors files; name one of them`);
  }
  return join(path, only);
}

async function readSideFiles(folder: string): Promise<CheckpointInput['sideFiles']> {
  const sideFiles: CheckpointInput['sideFiles'] = [];
  for (const name of SIDE_FILE_NAMES) {
    const path = join(folder, name);
    const found = await statOf(path);
    if (!found?.isFile()) continue;
    checkSideFileSize(path, found.size);
    sideFiles.push({ name, bytes: await readFile(path) });
  }
  return sideFiles;
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
