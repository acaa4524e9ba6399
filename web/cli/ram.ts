// `weighbridge ram`: how much memory each way of loading the checkpoint takes.
import type { Core } from '../engine/heap';
import { type ComponentReport, type PipelineSum, sumOf } from '../engine/pipeline_sum';
import type { LoaderTimeline, RamReport, Report } from '../engine/report';
import { formatBinary, formatCount, formatFileGb, formatMemoryGb } from '../engine/units';
import type { InputWords } from './args';
import { componentReports } from './components';
import { findInput } from './input';
import { issueLine } from './issues_text';
import type { Print } from './print';
import { type Column, plain, table, trafficFacts } from './text';

interface RamOptions extends InputWords {
  json: boolean;
}

export async function ram(core: Core, options: RamOptions, print: Print): Promise<number> {
  const found = await findInput(core, options.paths, options.file, options.remote);
  const components = await componentReports(core, found);
  const refused = components.some(({ report }) => report.error !== undefined);
  const [only] = components;
  if (found.choice.kind !== 'pipeline' && only) {
    await print(options.json ? ramJson(only.report) : ramText(only.report));
  } else {
    const sum = sumOf(components);
    await print(options.json ? pipelineJson(components, sum) : pipelineText(components, sum));
  }
  return refused ? 1 : 0;
}

function pipelineJson(components: readonly ComponentReport[], sum: PipelineSum): string {
  return `${JSON.stringify({ format: 'weighbridge.pipeline', components, sum })}\n`;
}

/** Each component as it is alone, and all of them in memory at once. */
function pipelineText(components: readonly ComponentReport[], { ram: sum }: PipelineSum): string {
  const columns: Column[] = [{ title: 'component' }, ...AMOUNTS];
  const rowsOf = (dtype: RamReport['per_dtype'][number]['dtype']): string[][] =>
    [...components.map(({ id, report }) => [id, report.ram.per_dtype] as const), ['sum', sum.per_dtype] as const].map(
      ([name, rows]) => [name, ...amounts(rows.find((row) => row.dtype === dtype)?.bytes ?? 0)],
    );
  const sections = [
    `Weights in memory as stored\n${table(columns, rowsOf('as_stored'))}\n`,
    `Weights in memory as bf16\n${table(columns, rowsOf('bf16'))}\n`,
  ];
  if (sum.loaders.length > 0)
    sections.push(`Loaders, all components together, loaded one after the other\n${loaderTable(sum.loaders)}\n`);
  for (const { id, report } of components) {
    if (report.error !== undefined) sections.push(`${id}\nREFUSED: ${issueLine(report.error)}\n`);
  }
  return [...sections, FOOTNOTE].join('\n');
}

/** The report as inspect gives it, without the rows of tensors and pairs. */
function ramJson({ error, ...rest }: Report): string {
  return `${JSON.stringify(error === undefined ? rest : { error, ...rest })}\n`;
}

function ramText(report: Report): string {
  const [first, ...others] = report.sources.map(({ name }) => plain(name));
  const names = others.length > 2 ? `${first} and ${others.length} more` : [first, ...others].join(', ');
  if (report.error !== undefined && report.error.code !== 'shard_missing')
    return `${names}\nREFUSED: ${issueLine(report.error)}\n`;
  const { per_dtype, load_stages, loaders } = report.ram;
  const sections = [
    `${[names, ...trafficFacts(report.traffic).map((row) => row.join(': '))].join('\n')}\n`,
    `Weights in memory, by the dtype they are held in\n${perDtypeTable(per_dtype)}\n`,
    `While loading: dequantizing through float32 against straight to bf16\n${stageTable(load_stages)}\n`,
  ];
  if (loaders.length > 0) sections.push(`Loaders\n${loaderTable(loaders)}\n`);
  if (report.error !== undefined) sections.push(`REFUSED: ${issueLine(report.error)}\n`);
  return [...sections, FOOTNOTE].join('\n');
}

const FOOTNOTE =
  'GB is 10^9 bytes, GiB is 2^30. The size of the file is rounded, memory that must be there is rounded up.\n';

const AMOUNTS: Column[] = [
  { title: 'rounded', align: 'right' },
  { title: 'binary', align: 'right' },
  { title: 'exact bytes', align: 'right' },
];

function amounts(bytes: number, inGb = formatMemoryGb): [string, string, string] {
  return [inGb(bytes), formatBinary(bytes), formatCount(bytes)];
}

function perDtypeTable(rows: RamReport['per_dtype']): string {
  const names = { as_stored: 'as stored', bf16: 'bf16', f16: 'fp16', f32: 'float32' };
  return table(
    [{ title: 'held as' }, ...AMOUNTS],
    rows.map(({ dtype, bytes }) => [
      names[dtype],
      ...amounts(bytes, dtype === 'as_stored' ? formatFileGb : formatMemoryGb),
    ]),
  );
}

function stageTable(stages: RamReport['load_stages']): string {
  return table(
    [{ title: 'stage' }, ...AMOUNTS],
    [
      ['file read', ...amounts(stages.file_read_bytes, formatFileGb)],
      ['dequantized to float32', ...amounts(stages.dequantized_f32_bytes)],
      ['dequantized straight to bf16', ...amounts(stages.dequantized_bf16_bytes)],
      ['peak through float32', ...amounts(stages.peak_f32_bytes)],
      ['peak straight to bf16', ...amounts(stages.peak_bf16_bytes)],
    ],
  );
}

function loaderTable(loaders: readonly Pick<LoaderTimeline, 'title' | 'peak_bytes' | 'steady_bytes'>[]): string {
  const columns: Column[] = [
    { title: 'loader' },
    { title: 'peak', align: 'right' },
    { title: 'peak bytes', align: 'right' },
    { title: 'then', align: 'right' },
    { title: 'then bytes', align: 'right' },
  ];
  const rows = loaders.map(({ title, peak_bytes, steady_bytes }) => [
    title,
    formatMemoryGb(peak_bytes),
    formatCount(peak_bytes),
    formatMemoryGb(steady_bytes),
    formatCount(steady_bytes),
  ]);
  return table(columns, rows);
}
