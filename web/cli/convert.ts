// `weighbridge convert` and `weighbridge verify`: the same conversion, into a file or against one.
import { basename } from 'node:path';
import { CoreError, type ErrorCode } from '../engine/errors';
import type { Core } from '../engine/heap';
import { Checkpoint, type ConvertReply, type JobHooks } from '../engine/pipeline';
import type { ConvertOptions, Decision, Receipt, Report } from '../engine/report';
import type { ByteSink } from '../engine/sink';
import { formatBytes, formatCount, formatExactSize } from '../engine/units';
import type { ConvertCommand, VerifyCommand } from './args';
import { CompareSink } from './compare_sink';
import { FileSink } from './file_sink';
import { FileSource } from './file_source';
import { type OpenedInput, openInput } from './input';
import { decisionList, issueLine, issueList } from './issues_text';
import { type Print, printError } from './print';
import { ProgressLine } from './progress_line';
import { facts, plain } from './text';

const DONE = 0;
const REFUSED = 1;
const DECISION_NEEDED = 3;

/** What came of it, with the report for the warnings that belong to it. */
interface Outcome {
  reply: ConvertReply | { kind: 'refused'; error: CoreError };
  report: Report;
}

export async function convert(core: Core, command: ConvertCommand, print: Print): Promise<number> {
  const input = await openInput(command.path);
  const makeSink = (): Promise<ByteSink> => FileSink.at(command.output, input.paths);
  const outcome = await runConversion(core, input, makeSink, command, command.verify);
  return printOutcome(outcome, command.json, print, (receipt) => receiptText(command.output, receipt));
}

export async function verify(core: Core, command: VerifyCommand, print: Print): Promise<number> {
  const output = await FileSource.open(basename(command.path), command.path);
  try {
    const input = await openInput(command.source);
    const { reply, report } = await runConversion(core, input, async () => new CompareSink(output), command, false);
    if (reply.kind === 'converted') reply.receipt.verified = true;
    const text = `${plain(command.path)} is exactly what converting ${plain(command.source)} gives: `;
    return await printOutcome({ reply, report }, command.json, print, ({ output_bytes }) => {
      return `${text}${formatBytes(output_bytes)}\n`;
    });
  } finally {
    await output.close();
  }
}

async function runConversion(
  core: Core,
  input: OpenedInput,
  makeSink: () => Promise<ByteSink>,
  { options, progress }: { options: ConvertOptions; progress: boolean },
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
    const reply = await checkpoint.convert(options, await makeSink(), verifyOutput, hooks);
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
  'core_crash',
  'wrong_state',
];

function isRefusal(thrown: unknown): thrown is CoreError {
  return thrown instanceof CoreError && !ENVIRONMENT_CODES.includes(thrown.code);
}

async function printOutcome(
  { reply, report }: Outcome,
  json: boolean,
  print: Print,
  doneText: (receipt: Receipt) => string,
): Promise<number> {
  const { warnings, problems } = report;
  switch (reply.kind) {
    case 'converted':
      await print(json ? jsonLine({ ...reply.receipt, warnings }) : doneText(reply.receipt));
      return DONE;
    case 'decisions':
      await print(json ? jsonLine({ decisions: reply.decisions, warnings }) : decisionsText(reply.decisions));
      return DECISION_NEEDED;
    case 'refused':
      if (json) await print(jsonLine({ error: reply.error.toObject(), problems, warnings }));
      printError(`${issueList('Problems', problems)}weighbridge: ${issueLine(reply.error.toObject())}`);
      return REFUSED;
  }
}

function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

function decisionsText(decisions: readonly Decision[]): string {
  const count = decisions.length === 1 ? 'A decision is' : `${decisions.length} decisions are`;
  return `${count} needed; nothing was written.\n\n${decisionList(decisions)}`;
}

function receiptText(path: string, receipt: Receipt): string {
  const { output_bytes, dequantized, cast, copied, dropped } = receipt;
  const rows: [string, string][] = [
    ['size', formatExactSize(output_bytes)],
    ['dtype', receipt.to === 'f16' ? 'fp16' : 'bf16'],
    ['tensors', `${count(dequantized)} dequantized, ${count(cast)} cast, ${count(copied)} copied as they were`],
    ['left out', `${count(dropped)} scales, markers and the like`],
    ['recipe', `${receipt.recipe}, version ${receipt.version}`],
    ['xxh64', receipt.output_xxh64],
    ['verified', receipt.verified ? 'yes, read back and compared' : 'no'],
  ];
  if (receipt.to === 'f16') {
    rows.push(['became Inf', `${count(receipt.f16_overflow)} values`]);
    rows.push(['became zero', `${count(receipt.f16_underflow)} values`]);
  }
  for (const { subject, choice, tensors } of receipt.assumed) {
    rows.push(['assumed', `${subject}=${choice} for ${count(tensors)} tensors`]);
  }
  for (const { name, count: values } of receipt.nan_tensors) rows.push(['NaN in', `${name}: ${count(values)} values`]);
  for (const note of receipt.notes) rows.push(['note', note]);
  return `Wrote ${plain(path)}\n${facts(rows)}\n`;
}

function count(value: number): string {
  return formatCount(value);
}
