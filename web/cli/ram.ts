// `weighbridge ram`: how much memory each way of loading the checkpoint takes.
import type { Core } from '../engine/heap';
import { Checkpoint } from '../engine/pipeline';
import type { LoaderTimeline, RamReport, Report } from '../engine/report';
import { formatBinary, formatCount, formatFileGb, formatMemoryGb } from '../engine/units';
import { openInput } from './input';
import { issueLine } from './issues_text';
import type { Print } from './print';
import { type Column, plain, table } from './text';

export async function ram(core: Core, path: string, json: boolean, print: Print): Promise<number> {
  const checkpoint = await Checkpoint.open(core, await openInput(path));
  try {
    const report = checkpoint.report();
    await print(json ? ramJson(report) : ramText(report));
    return report.error === undefined ? 0 : 1;
  } finally {
    await checkpoint.close();
  }
}

/** The report as inspect gives it, without the rows of tensors and pairs. */
function ramJson({ error, ...rest }: Report): string {
  return `${JSON.stringify(error === undefined ? rest : { error, ...rest })}\n`;
}

function ramText(report: Report): string {
  const names = report.sources.map(({ name }) => plain(name)).join(', ');
  if (report.error !== undefined) return `${names}\nREFUSED: ${issueLine(report.error)}\n`;
  const { per_dtype, load_stages, loaders } = report.ram;
  const sections = [
    `${names}\n`,
    `Weights in memory, by the dtype they are held in\n${perDtypeTable(per_dtype)}\n`,
    `While loading: dequantizing through float32 against straight to bf16\n${stageTable(load_stages)}\n`,
  ];
  if (loaders.length > 0) sections.push(`Loaders\n${loaderTable(loaders)}\n`);
  sections.push(
    'GB is 10^9 bytes, GiB is 2^30. The size of the file is rounded, memory that must be there is rounded up.\n',
  );
  return sections.join('\n');
}

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

function loaderTable(loaders: readonly LoaderTimeline[]): string {
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
