// `weighbridge inspect`: what is in the checkpoint.
import { toCoreError } from '../engine/errors';
import type { Core } from '../engine/heap';
import { Checkpoint } from '../engine/pipeline';
import type { PairRow, Report } from '../engine/report';
import { formatBytes, formatCount, formatExactSize, formatSize } from '../engine/units';
import { openInput } from './input';
import { decisionList, issueLine, issueList } from './issues_text';
import { printReportJson } from './json_report';
import { pages } from './pages';
import type { Print } from './print';
import { type Column, facts, percent, plain, plural, shapeText, shorten, table } from './text';

const PAIRS_SHOWN = 20;
const METADATA_VALUE_MAX = 80;

export interface InspectOptions {
  json: boolean;
  allTensors: boolean;
  allPairs: boolean;
}

export async function inspect(core: Core, path: string, options: InspectOptions, print: Print): Promise<number> {
  const checkpoint = await Checkpoint.open(core, await openInput(path));
  try {
    const report = checkpoint.report();
    if (options.json) await printReportJson(checkpoint, report, print);
    else await printReport(checkpoint, report, options, print);
    return report.error === undefined ? 0 : 1;
  } catch (thrown) {
    throw toCoreError(thrown);
  } finally {
    await checkpoint.close();
  }
}

async function printReport(
  checkpoint: Checkpoint,
  report: Report,
  { allTensors, allPairs }: InspectOptions,
  print: Print,
): Promise<void> {
  await print(`${headline(report)}\n\n${numbers(report)}\n\n`);
  if (report.dtypes.length > 0) await print(`Bytes by dtype\n${dtypeTable(report)}\n\n`);
  if (report.schemes.length > 0) await print(`Quantization\n${schemeTable(report)}\n\n`);
  if (report.pair_counts.weights + report.pair_counts.scales > 0) await printPairs(checkpoint, report, allPairs, print);
  await print(issueSections(report));
  if (report.config.length > 0) await print(`Side files\n${configFacts(report)}\n\n`);
  if (report.metadata.length > 0) await print(`Metadata\n${metadataFacts(report)}\n\n`);
  if (allTensors) await printTensors(checkpoint, print);
}

function headline(report: Report): string {
  const names = report.sources.map(({ name }) => plain(name)).join(', ');
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
  ]);
}

const RIGHT = 'right';

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
