// A pipeline on disk: its components are converted into one folder.
import type { Core } from '../engine/heap';
import { type ComponentOutcome, convertComponents, SharedAnswers } from '../engine/pipeline_convert';
import type { ConvertOptions, Report } from '../engine/report';
import { type Outcome, runConversion } from './conversion';
import type { FoundInput } from './input';
import { DiskFolder } from './output_folder';

interface PipelineOptions {
  output: string;
  options: ConvertOptions;
  progress: boolean;
  verify: boolean;
}

export interface PipelineOutcome {
  components: ComponentOutcome<Outcome['reply']>[];
  /** of the last one that was opened */
  report: Report | null;
}

/** Stops at the first component that does not convert; then nothing is left. */
export async function convertPipeline(
  core: Core,
  { choice, parts, readCompanion }: FoundInput,
  { output, options, progress, verify }: PipelineOptions,
): Promise<PipelineOutcome> {
  const answers = new SharedAnswers(options);
  const inputs = new Map(parts.map((part) => [part.choice.id, part]));
  let report: Report | null = null;
  const components = await convertComponents(
    choice,
    await DiskFolder.at(output),
    readCompanion,
    async ({ id }, sink) => {
      const input = await inputs.get(id)?.open();
      if (input === undefined) throw new Error(`no component ${id}`);
      const settings = { options: answers, progress };
      const outcome = await runConversion(core, input, async () => sink, settings, verify);
      report = outcome.report;
      return outcome.reply;
    },
    answers,
  );
  return { components, report };
}
