// `weighbridge inspect`: what is in the checkpoint.
import { toCoreError } from '../engine/errors';
import type { Core } from '../engine/heap';
import { IGNORED_REASONS, type Ignored, type IgnoredReason } from '../engine/layouts';
import { Checkpoint } from '../engine/pipeline';
import { type ComponentReport, type PipelineSum, sumOf } from '../engine/pipeline_sum';
import type { NameList, PairRow, Report, SetReport } from '../engine/report';
import { formatBytes, formatCount, formatExactSize, formatSize } from '../engine/units';
import type { InputWords } from './args';
import { componentReports } from './components';
import { type FoundInput, findInput } from './input';
import { decisionList, issueLine, issueList } from './issues_text';
import { printReportJson } from './json_report';
import { pages } from './pages';
import type { Print } from './print';
import { readersText } from './readers_text';
import { type Column, facts, percent, plain, plural, shapeText, shorten, table, trafficFacts } from './text';

const PAIRS_SHOWN = 20;
const METADATA_VALUE_MAX = 80;
const SOURCES_SHOWN = 4;
const IGNORED_SHOWN = 6;

export interface InspectOptions extends InputWords {
  json: boolean;
  allTensors: boolean;
  allPairs: boolean;
}

export async function inspect(core: Core, options: InspectOptions, print: Print): Promise<number> {
  const found = await findInput(core, options.paths, options.file, options.remote);
  if (found.choice.kind === 'pipeline') return inspectPipeline(core, found, options.json, print);
  let refused = false;
  for (const part of found.parts) {
    const checkpoint = await Checkpoint.open(core, await part.open());
    try {
      const report = checkpoint.report();
      if (options.json) await printReportJson(checkpoint, report, print);
      else await printReport(checkpoint, report, options, print);
      refused ||= report.error !== undefined;
    } catch (thrown) {
      throw toCoreError(thrown);
    } finally {
      await checkpoint.close();
    }
  }
  if (!options.json) await print(ignoredText(found.ignored));
  return refused ? 1 : 0;
}

/** Each component on a line of its own, and the sum; one component in full is had by --file. */
async function inspectPipeline(core: Core, found: FoundInput, json: boolean, print: Print): Promise<number> {
  const components = await componentReports(core, found);
  const sum = sumOf(components);
  if (json) await print(`${JSON.stringify({ format: 'weighbridge.pipeline', components, sum })}\n`);
  else
    await print(`${plain(found.choice.title)}\n\n${componentTable(components, sum)}\n${componentIssues(components)}`);
  const cost = trafficFacts(components.at(-1)?.report.traffic);
  if (!json && cost.length > 0) await print(`\n${facts(cost)}\n`);
  if (!json) await print(ignoredText(found.ignored));
  return components.some(({ report }) => report.error !== undefined) ? 1 : 0;
}

function componentTable(components: readonly ComponentReport[], sum: PipelineSum): string {
  const columns: Column[] = [
    { title: 'component' },
    { title: 'verdict' },
    { title: 'parameters', align: RIGHT },
    { title: 'tensors', align: RIGHT },
    { title: 'files', align: RIGHT },
    { title: 'bytes', align: RIGHT },
    { title: 'as bf16', align: RIGHT },
  ];
  const rows = components.map(({ id, report }) => [
    id,
    report.verdict,
    formatCount(report.parameters),
    formatCount(report.tensor_count),
    formatCount(report.sources.length),
    formatCount(report.file_bytes),
    formatCount(report.bf16_data_bytes),
  ]);
  const { parameters, tensor_count, files, file_bytes, bf16_data_bytes } = sum;
  rows.push(['sum', '', ...[parameters, tensor_count, files, file_bytes, bf16_data_bytes].map(formatCount)]);
  return table(columns, rows);
}

function componentIssues(components: readonly ComponentReport[]): string {
  const lists = components.map(({ id, report }) => {
    const issues = [...(report.error ? [report.error] : []), ...report.problems, ...report.warnings];
    return issueList(id, issues);
  });
  return lists
    .filter((list) => list !== '')
    .map((list) => `\n${list}`)
    .join('');
}

/** Files of the folder that were not read, by reason. */
function ignoredText(ignored: readonly Ignored[]): string {
  const reasons = new Map<string, string[]>();
  for (const { path, reason } of ignored) reasons.set(reason, [...(reasons.get(reason) ?? []), path]);
  const rows = [...reasons].map(([reason, paths]): [string, string] => {
    const more = paths.length > IGNORED_SHOWN ? ` and ${formatCount(paths.length - IGNORED_SHOWN)} more` : '';
    return [IGNORED_REASONS[reason as IgnoredReason], paths.slice(0, IGNORED_SHOWN).join(', ') + more];
  });
  return rows.length === 0 ? '' : `Not read\n${facts(rows)}\n`;
}

async function printReport(
  checkpoint: Checkpoint,
  report: Report,
  { allTensors, allPairs }: InspectOptions,
  print: Print,
): Promise<void> {
  await print(`${headline(report)}\n\n${numbers(report)}\n\n`);
  if (report.set) await print(`Set\n${setFacts(report.set)}\n\n`);
  if (report.dtypes.length > 0) await print(`Bytes by dtype\n${dtypeTable(report)}\n\n`);
  if (report.schemes.length > 0) await print(`Quantization\n${schemeTable(report)}\n\n`);
  if (report.pair_counts.weights + report.pair_counts.scales > 0) await printPairs(checkpoint, report, allPairs, print);
  await print(issueSections(report));
  if (report.pair_counts.weights > 0) await print(`${readersText(report.readers)}\n`);
  if (report.config.length > 0) await print(`Side files\n${configFacts(report)}\n\n`);
  if (report.metadata.length > 0) await print(`Metadata\n${metadataFacts(report)}\n\n`);
  if (allTensors) await printTensors(checkpoint, print);
}

function headline(report: Report): string {
  const first = report.sources.slice(0, SOURCES_SHOWN).map(({ name }) => plain(name));
  const more = report.sources.length - first.length;
  const names = first.join(', ') + (more > 0 ? ` and ${formatCount(more)} more` : '');
  const verdict = `${names}  ${formatSize(report.file_bytes)}\n${report.verdict.toUpperCase()}: ${plain(report.verdict_text)}`;
  return report.error === undefined ? verdict : `${verdict}\n  ${issueLine(report.error)}`;
}

function numbers(report: Report): string {
  return facts([
    ['parameters', formatCount(report.parameters)],
    ['stored elements', formatCount(report.stored_elements)],
    ['tensors', formatCount(report.tensor_count)],
    ['header', formatBytes(report.header_bytes)],
    ['tensor data', formatExactSize(report.data_bytes)],
    ['as bf16', formatExactSize(report.bf16_data_bytes)],
    ...trafficFacts(report.traffic),
  ]);
}

const RIGHT = 'right';

function setFacts({ index, whole, shards, opened, tensors, missing_shards, ...lists }: SetReport): string {
  const rows: [string, string][] = [
    ['index', `${index}, ${formatCount(tensors)} tensors`],
    ['shards', `${formatCount(opened)} of ${formatCount(shards)} opened`],
  ];
  for (const { name, tensors: lost } of whole ? missing_shards : [])
    rows.push(['missing', `${name}: ${nameList(lost)}`]);
  if (lists.extra_shards.count > 0) rows.push(['not in index', nameList(lists.extra_shards)]);
  if (lists.phantom_tensors.count > 0) rows.push(['in no file', nameList(lists.phantom_tensors)]);
  if (lists.unlisted_tensors.count > 0) rows.push(['not listed', nameList(lists.unlisted_tensors)]);
  if (lists.wrong_shard.count > 0) rows.push(['elsewhere', nameList(lists.wrong_shard)]);
  return facts(rows);
}

function nameList({ count, names }: NameList): string {
  const shown = names.slice(0, 3).join(', ');
  return `${plural(count, 'name')}${shown === '' ? '' : ` (${shown}${count > 3 ? ', ...' : ''})`}`;
}

function dtypeTable({ dtypes, data_bytes }: Report): string {
  const columns: Column[] = [
    { title: 'dtype' },
    { title: 'tensors', align: RIGHT },
    { title: 'elements', align: RIGHT },
    { title: 'bytes', align: RIGHT },
    { title: 'share', align: RIGHT },
  ];
  const rows = dtypes.map(({ dtype, tensors, elements, bytes }) => [
    dtype,
    formatCount(tensors),
    formatCount(elements),
    formatCount(bytes),
    percent(bytes, data_bytes),
  ]);
  return table(columns, rows);
}

function schemeTable({ schemes }: Report): string {
  const columns: Column[] = [
    { title: 'scheme' },
    { title: 'weights', align: RIGHT },
    { title: 'parameters', align: RIGHT },
    { title: 'bytes', align: RIGHT },
    { title: 'converts' },
    { title: 'formula' },
  ];
  const rows = schemes.map(({ scheme, weights, parameters, bytes, supported, formula }) => [
    scheme,
    formatCount(weights),
    formatCount(parameters),
    formatCount(bytes),
    supported ? 'yes' : 'no',
    formula,
  ]);
  return table(columns, rows);
}

/** The ones that need a look first; all of them when asked. */
async function printPairs(checkpoint: Checkpoint, report: Report, all: boolean, print: Print): Promise<void> {
  const { weights, scales, ok, noted, undecided, refused } = report.pair_counts;
  await print(
    `Pairs: ${plural(weights, 'weight')}, ${plural(scales, 'scale')}; ` +
      `${formatCount(ok)} ok, ${formatCount(noted)} noted, ${formatCount(undecided)} undecided, ${formatCount(refused)} refused\n`,
  );
  const fetchPage = (first: number, count: number): PairRow[] => checkpoint.pairs(first, count);
  if (all) {
    for (const page of pages(fetchPage)) await print(`${pairTable(page)}\n`);
    await print('\n');
    return;
  }
  const shown = firstPairs(pages(fetchPage));
  if (shown.length === 0) return print('\n');
  const more = weights - shown.length;
  await print(`${pairTable(shown)}\n${more > 0 ? `  and ${formatCount(more)} more: --pairs lists all\n` : ''}\n`);
}

function firstPairs(pagesOfPairs: Iterable<PairRow[]>): PairRow[] {
  const first: PairRow[] = [];
  const striking: PairRow[] = [];
  for (const page of pagesOfPairs) {
    for (const pair of page) {
      const list = pair.state === 'ok' ? first : striking;
      if (list.length < PAIRS_SHOWN) list.push(pair);
    }
  }
  return [...striking, ...first].slice(0, PAIRS_SHOWN);
}

function pairTable(pairs: readonly PairRow[]): string {
  const columns: Column[] = [
    { title: 'weight' },
    { title: 'dtype' },
    { title: 'shape' },
    { title: 'scale' },
    { title: 'granularity' },
    { title: 'value', align: RIGHT },
    { title: 'state' },
  ];
  const rows = pairs.map((pair) => [
    pair.weight,
    pair.dtype,
    shapeText(pair.shape),
    pair.scales.map(({ name, dtype, shape }) => `${lastPart(name)} ${dtype} ${shapeText(shape)}`).join(', ') || '-',
    pair.granularity,
    pair.scales.map(scaleValue).join(', ') || '-',
    [pair.state, ...pair.issues.map(({ code }) => code)].join(' '),
  ]);
  return table(columns, rows);
}

function scaleValue({ value, min, max }: PairRow['scales'][number]): string {
  if (value !== undefined) return shortNumber(value);
  return min === undefined || max === undefined ? '-' : `${shortNumber(min)}..${shortNumber(max)}`;
}

function shortNumber(value: number | string): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : value;
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function issueSections(report: Report): string {
  const sections = [issueList('Problems', report.problems), issueList('Warnings', report.warnings)];
  if (report.decisions.length > 0)
    sections.push(`Decisions that a conversion needs\n${decisionList(report.decisions)}`);
  const written = sections.filter((section) => section !== '');
  return written.length === 0 ? '' : `${written.join('\n')}\n`;
}

function configFacts({ config }: Report): string {
  return facts(config.map(({ name, says }) => [name, says]));
}

function metadataFacts({ metadata }: Report): string {
  return facts(metadata.map(({ key, value }) => [plain(shorten(key, 40)), shorten(value, METADATA_VALUE_MAX)]));
}

async function printTensors(checkpoint: Checkpoint, print: Print): Promise<void> {
  const columns: Column[] = [
    { title: 'tensor' },
    { title: 'dtype' },
    { title: 'shape' },
    { title: 'begin', align: RIGHT },
    { title: 'bytes', align: RIGHT },
    { title: 'role' },
  ];
  await print('Tensors\n');
  for (const page of pages((first, count) => checkpoint.tensors(first, count))) {
    const rows = page.map(({ name, dtype, shape, begin, end, role }) => [
      name,
      dtype,
      shapeText(shape),
      formatCount(begin),
      formatCount(end - begin),
      role,
    ]);
    await print(`${table(columns, rows)}\n`);
  }
}
