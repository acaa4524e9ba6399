// What `ram` says in words and tables.
import type {
  Arrangement,
  DtypeBytes,
  Fit,
  HeldAs,
  HelpRow,
  KvCache,
  LoaderApplies,
  LoaderTimeline,
  LoadStages,
  MemoryVerdict,
  RamReply,
} from '../engine/ram_report';
import { formatBinary, formatCount, formatFileGb, formatMemoryGb } from '../engine/units';
import { type Column, plain, table } from './text';

const DTYPES: Record<HeldAs, string> = {
  as_stored: 'as stored',
  bf16: 'bf16',
  f16: 'fp16',
  f32: 'float32',
  fp8: 'fp8',
};
const FITS: Record<Fit, string> = {
  fits: 'fits',
  fits_if_closed: 'fits if other programs are closed',
  will_swap: 'will swap',
  will_be_killed: 'will be killed',
};
const POOLS: Record<MemoryVerdict['pool'], string> = { ram: 'RAM', commit: 'commit charge', vram: 'VRAM' };
const ARRANGEMENTS: Record<Arrangement, string> = {
  together: 'All components in memory at once',
  offload: 'All in RAM, one at a time on the graphics card',
  in_turn: 'Loaded, used and freed one after the other',
};

const AMOUNTS: Column[] = [
  { title: 'rounded', align: 'right' },
  { title: 'binary', align: 'right' },
  { title: 'exact bytes', align: 'right' },
];

function amounts(bytes: number, inGb = formatMemoryGb): [string, string, string] {
  return [inGb(bytes), formatBinary(bytes), formatCount(bytes)];
}

export function dtypeTable(rows: readonly DtypeBytes[]): string {
  return table(
    [{ title: 'held as' }, ...AMOUNTS],
    rows.map(({ dtype, bytes }) => [
      DTYPES[dtype],
      ...amounts(bytes, dtype === 'as_stored' ? formatFileGb : formatMemoryGb),
    ]),
  );
}

export function stageTable(stages: LoadStages): string {
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

/** Loaders, the KV cache and what would help, each a section. */
export function memoryText(memory: RamReply): string[] {
  const sections = groups(memory.loaders).map(([title, rows]) => `${title}\n${loaderTable(rows)}\n`);
  const applying = memory.loaders.filter((row) => row.applies);
  const named = new Set(memory.loaders.map(({ loader }) => loader));
  if (named.size === 1) sections.push(...applying.map((row) => `${timelineTitle(row)}\n${timelineTable(row)}\n`));
  const refusing = memory.loaders.flatMap((row) =>
    row.applies || (row.arrangement ?? 'together') !== 'together' ? [] : [[row.loader, row.reason] as const],
  );
  if (refusing.length > 0)
    sections.push(`Not for this checkpoint\n${table([{ title: 'loader' }, { title: 'because' }], refusing)}\n`);
  if (memory.kv_cache) sections.push(kvText(memory.kv_cache));
  if (memory.help && memory.help.rows.length > 0)
    sections.push(`What would take less than ${memory.help.loader}, best first\n${helpTable(memory.help.rows)}\n`);
  return sections;
}

function groups(rows: readonly LoaderTimeline[]): [string, LoaderApplies[]][] {
  const applying = rows.filter((row) => row.applies);
  const arrangements = [...new Set(applying.map(({ arrangement }) => arrangement))];
  return arrangements.map((each) => [
    each === undefined ? 'Loaders' : ARRANGEMENTS[each],
    applying.filter(({ arrangement }) => arrangement === each),
  ]);
}

function loaderTable(rows: readonly LoaderApplies[]): string {
  const judged = rows.some(({ verdict }) => verdict !== undefined);
  const columns: Column[] = [
    { title: 'loader' },
    { title: 'peak', align: 'right' },
    { title: 'without file pages', align: 'right' },
    { title: 'on the card', align: 'right' },
    { title: 'then', align: 'right' },
    ...(judged ? [{ title: 'on this machine' }] : []),
  ];
  return table(
    columns,
    rows.map((row) => [
      row.loader,
      ...[row.peak_bytes, row.firm_peak_bytes, row.device_peak_bytes, row.steady_bytes].map(formatMemoryGb),
      ...(row.verdict ? [verdictText(row.verdict)] : []),
    ]),
  );
}

function verdictText(verdict: MemoryVerdict): string {
  const { fit, pool, stage_name, term, need_bytes, have_bytes, dropped_bytes } = verdict;
  const dropped =
    dropped_bytes > 0 ? `; ${formatMemoryGb(dropped_bytes)} of file pages are dropped and read again` : '';
  const numbers = `${formatMemoryGb(need_bytes)} of ${formatFileGb(have_bytes)} ${POOLS[pool]}`;
  return `${FITS[fit]}: ${numbers} (${stage_name}, ${term})${dropped}`;
}

function timelineTitle({ title, version, source, arrangement }: LoaderApplies): string {
  return `${title}, ${version}: ${source}${arrangement === undefined ? '' : `, ${ARRANGEMENTS[arrangement]}`}`;
}

function timelineTable({ stages, peak_stage }: LoaderApplies): string {
  const columns: Column[] = [
    { title: 'stage' },
    { title: 'term' },
    { title: 'kind' },
    { title: 'bytes', align: 'right' },
    { title: 'stage total', align: 'right' },
  ];
  const rows = stages.flatMap(({ stage, component, total_bytes, terms }, at) =>
    terms.map(({ name, kind, place, bytes }, index) => {
      const first = index === 0;
      const where = component === undefined ? stage : `${stage} ${plain(component)}`;
      return [
        first ? `${where}${at === peak_stage ? ' (peak)' : ''}` : '',
        name,
        kind === 'transient' ? `transient, ${place}` : kind,
        formatCount(bytes),
        first ? formatCount(total_bytes) : '',
      ];
    }),
  );
  return table(columns, rows);
}

function kvText({ tokens, bytes, known, missing, lines }: KvCache): string {
  const title = `KV cache for ${formatCount(tokens)} tokens, beside the weights`;
  const columns: Column[] = [{ title: 'layers' }, ...AMOUNTS, { title: 'formula' }];
  const rows = lines.map(({ what, bytes: each, formula }) => [what, ...amounts(each), formula]);
  if (lines.length > 1) rows.push(['sum', ...amounts(bytes), '']);
  const note = missing === undefined ? '' : `  ${known ? 'not in it' : 'unknown'}: ${missing}\n`;
  return `${title}\n${rows.length > 0 ? `${table(columns, rows)}\n` : ''}${note}`;
}

function helpTable(rows: readonly HelpRow[]): string {
  const actions: Record<HelpRow['action'], (row: HelpRow) => string> = {
    other_loader: ({ loader }) => `load with ${loader}`,
    convert_first: ({ held_as }) => `convert to ${DTYPES[held_as]} first`,
    hold_as: ({ held_as }) => `hold as ${DTYPES[held_as]}`,
    arrange: ({ arrangement }) => (arrangement === undefined ? '' : ARRANGEMENTS[arrangement]),
  };
  const columns: Column[] = [
    { title: 'what' },
    { title: 'needs', align: 'right' },
    { title: 'saves', align: 'right' },
    { title: 'on this machine' },
  ];
  return table(
    rows.every(({ verdict }) => verdict === undefined) ? columns.slice(0, 3) : columns,
    rows.map((row) => [
      actions[row.action](row),
      formatMemoryGb(row.need_bytes),
      formatMemoryGb(row.saves_bytes),
      ...(row.verdict ? [FITS[row.verdict.fit]] : []),
    ]),
  );
}
