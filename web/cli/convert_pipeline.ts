// A pipeline converted: each component into its folder, one after the other, with everything small around them;
// all of it under another name until the last component is whole.
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Core } from '../engine/heap';
import type { ConvertOptions, Receipt } from '../engine/report';
import { SetSink } from '../engine/set_sink';
import { writeError } from '../engine/sink';
import { type Outcome, runConversion } from './conversion';
import type { FoundInput } from './input';
import { DiskFolder, writeSmallFile } from './output_folder';

export interface ComponentOutcome {
  id: string;
  outcome: Outcome;
}

interface PipelineOptions {
  output: string;
  options: ConvertOptions;
  progress: boolean;
  verify: boolean;
}

/** Stops at the first component that does not convert; then nothing is left. */
export async function convertComponents(
  core: Core,
  { choice, parts, readCompanion }: FoundInput,
  { output, options, progress, verify }: PipelineOptions,
): Promise<ComponentOutcome[]> {
  const target = await DiskFolder.placeAt(output);
  const partial = `${target}.${process.pid}.partial`;
  const outcomes: ComponentOutcome[] = [];
  const inRoot = (path: string): string => (choice.folder === '' ? path : path.slice(choice.folder.length + 1));
  try {
    await mkdir(partial);
    for (const part of parts) {
      const sink = new SetSink(await DiskFolder.at(join(partial, inRoot(part.choice.folder))));
      const settings = { options: { ...options, shards: options.shards ?? ('same' as const) }, progress };
      const outcome = await runConversion(core, await part.open(), async () => sink, settings, verify);
      outcomes.push({ id: part.choice.id, outcome });
      if (outcome.reply.kind !== 'converted') break;
    }
    const folders = new Set(parts.map((part) => part.choice.folder));
    if (outcomes.every(({ outcome }) => outcome.reply.kind === 'converted')) {
      for (const file of choice.companions) {
        if (folders.has(dirname(file.path))) continue; // carried along by its component
        await writeSmallFile(join(partial, inRoot(file.path)), await readCompanion(file));
      }
      await rename(partial, target);
    }
    return outcomes;
  } catch (thrown) {
    throw writeError(output, thrown);
  } finally {
    await rm(partial, { recursive: true, force: true }).catch(() => {});
  }
}

/** What all components' receipts say together. */
export function receiptsOf(outcomes: readonly ComponentOutcome[]): { id: string; receipt: Receipt }[] {
  return outcomes.flatMap(({ id, outcome }) =>
    outcome.reply.kind === 'converted' ? [{ id, receipt: outcome.reply.receipt }] : [],
  );
}
