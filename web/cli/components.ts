// The components of a pipeline, opened one after the other: their names repeat, so none shares a session.
import type { Core } from '../engine/heap';
import { Checkpoint } from '../engine/pipeline';
import type { ComponentReport } from '../engine/pipeline_sum';
import type { FoundInput } from './input';

export async function componentReports(core: Core, { parts }: FoundInput): Promise<ComponentReport[]> {
  const reports: ComponentReport[] = [];
  for (const { choice, open } of parts) {
    const checkpoint = await Checkpoint.open(core, await open());
    try {
      reports.push({ id: choice.id, title: choice.title, report: checkpoint.report() });
    } finally {
      await checkpoint.close();
    }
  }
  return reports;
}
