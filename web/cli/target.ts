// Where a conversion writes: one file, or a folder; and what `verify` compares with.
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CoreError } from '../engine/errors';
import { isCheckpoint } from '../engine/layouts';
import type { ConvertOptions } from '../engine/report';
import { type OutputFolder, SetSink } from '../engine/set_sink';
import type { ByteSink } from '../engine/sink';
import { type ByteSource, MemorySource } from '../engine/source';
import { CompareSink } from './compare_sink';
import { FileSink } from './file_sink';
import { FileSource } from './file_source';
import { DiskFolder } from './output_folder';

export interface Target {
  sink: ByteSink;
  /** with the files that the output is to have */
  options: ConvertOptions;
  /** where an unfinished output was left for later; null: nothing was */
  kept: () => string | null;
}

/**
 * OUT.safetensors is one file. A folder is written for a set, for shards of a size, and where OUT is a folder;
 * it gets the files of the input unless a size was asked for.
 */
export async function targetOf(
  output: string,
  options: ConvertOptions,
  isSet: boolean,
  inputs: readonly string[],
  goesOn: boolean,
): Promise<Target> {
  const there = await stat(output).catch(() => null);
  const isFolder = there?.isDirectory() === true || /[/\\]$/.test(output);
  const wantsSeveral = isSet || options.shards !== undefined;
  if (isFolder || (there === null && wantsSeveral && !isCheckpoint(output))) {
    const folder = await DiskFolder.at(output, goesOn);
    return { sink: new SetSink(folder), options: inFiles(options), kept: () => folder.kept };
  }
  refuseShards(output, options);
  const sink = await FileSink.at(output, inputs, goesOn);
  return { sink, options, kept: () => sink.kept };
}

/** The same against an output that is there; close the source when all is done. */
export async function comparisonWith(
  output: string,
  options: ConvertOptions,
): Promise<Omit<Target, 'kept'> & { close: () => Promise<void> }> {
  const there = await stat(output).catch(() => null);
  if (there?.isDirectory()) {
    return { sink: new SetSink(new ComparedFolder(output)), options: inFiles(options), close: async () => {} };
  }
  refuseShards(output, options);
  const file = await FileSource.open(basename(output), output);
  return { sink: new CompareSink(file), options, close: () => file.close() };
}

function inFiles(options: ConvertOptions): ConvertOptions {
  return options.shards === undefined ? { ...options, shards: 'same' } : options;
}

function refuseShards(output: string, options: ConvertOptions): void {
  if (options.shards === undefined) return;
  throw new CoreError('invalid_option', '--shard-size', `${output} is one file; name a folder for several`);
}

/** Writes nothing: every file is compared with the one of its name. */
class ComparedFolder implements OutputFolder {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async open(): Promise<void> {}

  async sink(name: string): Promise<ByteSink> {
    const file = await FileSource.open(name, join(this.#root, name));
    return new ClosingCompareSink(file);
  }

  async source(name: string): Promise<ByteSource> {
    return new MemorySource(name, new Uint8Array());
  }

  async addFile(name: string, bytes: Uint8Array): Promise<void> {
    const file = await FileSource.open(name, join(this.#root, name));
    const sink = new ClosingCompareSink(file);
    try {
      await sink.open(bytes.length);
      if (bytes.length > 0) await sink.write(bytes);
    } finally {
      await sink.abort();
    }
  }

  async commit(): Promise<void> {}

  async abort(): Promise<void> {}
}

class ClosingCompareSink extends CompareSink {
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    super(source);
    this.#source = source;
  }

  override async commit(): Promise<void> {
    await this.#source.close();
  }

  override async abort(): Promise<void> {
    await this.#source.close().catch(() => {});
  }
}
