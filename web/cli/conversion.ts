// One conversion run to its end: interrupts, progress on standard error, and what came of it.
import { CoreError, type ErrorCode, SERVER_CODES } from '../engine/errors';
import type { Core } from '../engine/heap';
import { Checkpoint, type ConvertReply, type JobHooks } from '../engine/pipeline';
import { SharedAnswers } from '../engine/pipeline_convert';
import type { ConvertOptions, Report } from '../engine/report';
import type { ByteSink } from '../engine/sink';
import type { OpenedInput } from './input';
import { ProgressLine } from './progress_line';

/** What came of it, with the report for the warnings that belong to it. */
export interface Outcome {
  reply: ConvertReply | { kind: 'refused'; error: CoreError };
  report: Report;
}

export async function runConversion(
  core: Core,
  input: OpenedInput,
  makeSink: () => Promise<ByteSink>,
  { options, progress }: { options: ConvertOptions | SharedAnswers; progress: boolean },
  verifyOutput: boolean,
): Promise<Outcome> {
  const line = ProgressLine.wanted(progress);
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort();
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const hooks: JobHooks = { signal: stop.signal, onProgress: line ? (now) => line.show(now) : undefined };
  let checkpoint: Checkpoint | null = null;
  try {
    checkpoint = await Checkpoint.open(core, input, hooks);
    const own = options instanceof SharedAnswers ? await options.optionsFor(checkpoint, hooks) : options;
    const reply = await checkpoint.convert(own, await makeSink(), verifyOutput, hooks);
    return { reply, report: checkpoint.report() };
  } catch (thrown) {
    if (checkpoint === null || !isRefusal(thrown)) throw thrown;
    return { reply: { kind: 'refused', error: thrown }, report: checkpoint.report() };
  } finally {
    line?.clear();
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
    await checkpoint?.close();
  }
}

/** Failures that say nothing about the checkpoint itself: what was found in it would only distract. */
const ENVIRONMENT_CODES: readonly ErrorCode[] = [
  'no_space',
  'write_failed',
  'read_failed',
  'output_exists',
  'not_found',
  'cancelled',
  'source_changed',
  'resume_refused',
  'core_crash',
  'wrong_state',
  ...SERVER_CODES,
];

function isRefusal(thrown: unknown): thrown is CoreError {
  return thrown instanceof CoreError && !ENVIRONMENT_CODES.includes(thrown.code);
}
