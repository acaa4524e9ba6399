// `weighbridge convert` and `weighbridge verify`: the same conversion, into files or against them.
import { CoreError, toCoreError } from '../engine/errors';
import type { Core } from '../engine/heap';
import { receiptsOf } from '../engine/pipeline_convert';
import { type Decision, type Receipt, TARGET_NAMES } from '../engine/report';
import { summedChecks } from '../engine/source_checks';
import { formatBytes, formatCount, formatExactSize } from '../engine/units';
import type { ConvertCommand, VerifyCommand } from './args';
import { type Outcome, runConversion } from './conversion';
import { convertPipeline } from './convert_pipeline';
import { type FoundInput, findInput, type OpenedInput } from './input';
import { decisionList, issueLine, issueList } from './issues_text';
import { type Print, printError } from './print';
import { comparisonWith, type Target, targetOf } from './target';
import { facts, plain, trafficFacts } from './text';

const DONE = 0;
const REFUSED = 1;
const DECISION_NEEDED = 3;

export async function convert(core: Core, command: ConvertCommand, print: Print): Promise<number> {
  const found = await findInput(core, command.paths, command.file, command.remote);
  if (found.choice.kind === 'pipeline') return convertWholePipeline(core, found, command, print);
  const input = await onlyPart(found, command.paths).open();
  const isSet = found.choice.kind === 'set';
  const target = await closingOnFailure(input, () =>
    targetOf(command.output, command.options, isSet, input.paths, command.resume),
  );
  const outcome = await run(core, input, target, command, command.verify).catch((thrown: unknown) => {
    sayWhatIsKept(target, thrown);
    throw thrown;
  });
  return printOutcome(outcome, command.json, print, (receipt) => receiptText(command.output, receipt));
}

export async function verify(core: Core, command: VerifyCommand, print: Print): Promise<number> {
  const target = await comparisonWith(command.output, command.options);
  try {
    const input = await onlyPart(
      await findInput(core, command.paths, command.file, command.remote),
      command.paths,
    ).open();
    const { reply, report } = await run(core, input, target, command, false);
    if (reply.kind === 'converted') reply.receipt.verified = true;
    const text = `${plain(command.output)} is exactly what converting ${command.paths.map(plain).join(', ')} gives: `;
    return await printOutcome({ reply, report }, command.json, print, ({ output_bytes }) => {
      return `${text}${formatBytes(output_bytes)}\n`;
    });
  } finally {
    await target.close();
  }
}

function sayWhatIsKept({ kept }: Target, thrown: unknown): void {
  const path = kept();
  if (path === null || toCoreError(thrown).code === 'resume_refused') return;
  printError(
    `weighbridge: what was written is kept in ${plain(path)}.\n` +
      'The same command with --resume goes on from there; delete it, and the .journal beside it, if you do not want that.\n',
  );
}

function run(
  core: Core,
  input: OpenedInput,
  { sink, options }: Pick<Target, 'sink' | 'options'>,
  { progress }: { progress: boolean },
  verifyOutput: boolean,
): Promise<Outcome> {
  return runConversion(core, input, async () => sink, { options, progress }, verifyOutput);
}

/** The first component that does not convert is the outcome of all. */
async function convertWholePipeline(
  core: Core,
  found: FoundInput,
  command: ConvertCommand,
  print: Print,
): Promise<number> {
  if (command.resume) {
    throw new CoreError('resume_refused', command.output, 'a pipeline is converted from the beginning');
  }
  const { components, report } = await convertPipeline(core, found, command);
  const last = components.at(-1);
  if (last !== undefined && report !== null && last.reply.kind !== 'converted') {
    if (!command.json) printError(`${last.id}:`);
    return printOutcome({ reply: last.reply, report }, command.json, print, () => '');
  }
  const receipts = receiptsOf(components);
  if (command.json) await print(jsonLine({ components: receipts }));
  else for (const { id, receipt } of receipts) await print(receiptText(`${command.output}: ${id}`, receipt));
  return DONE;
}

async function closingOnFailure<T>(input: OpenedInput, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    for (const source of input.sources) await source.close();
    throw thrown;
  }
}

function onlyPart({ parts }: FoundInput, paths: readonly string[]): FoundInput['parts'][number] {
  const [only, second] = parts;
  if (only && !second) return only;
  const ids = parts.map(({ choice }) => choice.id).join(', ');
  throw new CoreError('choice_needed', paths[0] ?? '', `this is a pipeline; name one of its components: ${ids}`);
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
  const { output_bytes, dequantized, cast, copied, dropped, files } = receipt;
  const rows: [string, string][] = [
    ['size', formatExactSize(output_bytes)],
    ...(receipt.beside ? [['files', filesText(files)] as [string, string]] : []),
    ['dtype', TARGET_NAMES[receipt.to]],
    ['tensors', `${count(dequantized)} dequantized, ${count(cast)} cast, ${count(copied)} copied as they were`],
    ['left out', `${count(dropped)} scales, markers and the like`],
    ['recipe', `${receipt.recipe}, version ${receipt.version}`],
    ...(receipt.output_xxh64 === '' ? [] : [['xxh64', receipt.output_xxh64] as [string, string]]),
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
  for (const { name, changes } of receipt.beside ?? []) {
    if (changes.length > 0) rows.push(['changed', `${name}: ${changes.join(', ')}`]);
  }
  const alike = (receipt.beside ?? []).filter(({ changes }) => changes.length === 0);
  if (alike.length > 0) rows.push(['carried along', alike.map(({ name }) => name).join(', ')]);
  for (const { name, sha256, says } of summedChecks(receipt.source_checks ?? [])) {
    rows.push(['source', `${name}: SHA-256 ${says}${sha256 === null ? '' : ` (${sha256})`}`]);
  }
  if (receipt.resumed_bytes !== undefined) {
    rows.push(['resumed', `${formatBytes(receipt.resumed_bytes)} were there already, and were checked`]);
  }
  rows.push(...trafficFacts(receipt.traffic));
  for (const note of receipt.notes) rows.push(['note', note]);
  return `Wrote ${plain(path)}\n${facts(rows)}\n`;
}

function filesText(files: Receipt['files']): string {
  const [first, ...others] = files;
  const last = others.at(-1);
  if (!first || !last) return `${first?.name ?? 'none'}`;
  return `${count(files.length)}, ${first.name} to ${last.name}`;
}

function count(value: number): string {
  return formatCount(value);
}
