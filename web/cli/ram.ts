// `weighbridge ram`: how much memory each way of loading the checkpoint takes, and whether a machine has it.
import type { Core } from '../engine/heap';
import { type ComponentReport, sumOf } from '../engine/pipeline_sum';
import type { RamReply } from '../engine/ram_report';
import type { Report } from '../engine/report';
import type { InputWords } from './args';
import { componentReports } from './components';
import { findInput } from './input';
import { issueLine } from './issues_text';
import type { MemoryWish } from './memory_options';
import type { Print } from './print';
import { dtypeTable, memoryText, stageTable } from './ram_text';
import { plain, trafficFacts } from './text';

interface RamOptions extends InputWords {
  json: boolean;
  wish: MemoryWish;
}

export async function ram(core: Core, options: RamOptions, print: Print): Promise<number> {
  const found = await findInput(core, options.paths, options.file, options.remote);
  const components = await componentReports(core, found);
  const facts = components.map(({ id, report }) => ({ title: id, facts: report.ram.facts }));
  const memory = core.ram({ ...options.wish, components: facts });
  const [only] = components;
  if (found.choice.kind !== 'pipeline' && only) {
    await print(options.json ? oneJson(only.report, memory) : oneText(only.report, memory));
  } else {
    await print(options.json ? pipelineJson(components, memory) : pipelineText(components, memory));
  }
  return components.some(({ report }) => report.error !== undefined) ? 1 : 0;
}

/** The report as inspect gives it, without the rows of tensors and pairs. */
function oneJson({ error, ...rest }: Report, memory: RamReply): string {
  return `${JSON.stringify({ ...(error === undefined ? {} : { error }), ...rest, memory })}\n`;
}

function pipelineJson(components: readonly ComponentReport[], memory: RamReply): string {
  return `${JSON.stringify({ format: 'weighbridge.pipeline', components, sum: sumOf(components), memory })}\n`;
}

function oneText(report: Report, memory: RamReply): string {
  const [first, ...others] = report.sources.map(({ name }) => plain(name));
  const names = others.length > 2 ? `${first} and ${others.length} more` : [first, ...others].join(', ');
  if (report.error !== undefined && report.error.code !== 'shard_missing')
    return `${names}\nREFUSED: ${issueLine(report.error)}\n`;
  const sections = [
    `${[names, ...trafficFacts(report.traffic).map((row) => row.join(': '))].join('\n')}\n`,
    `Weights in memory, by the dtype they are held in\n${dtypeTable(report.ram.per_dtype)}\n`,
    `While loading: dequantizing through float32 against straight to bf16\n${stageTable(report.ram.load_stages)}\n`,
    ...memoryText(memory),
  ];
  if (report.error !== undefined) sections.push(`REFUSED: ${issueLine(report.error)}\n`);
  return [...sections, FOOTNOTE].join('\n');
}

function pipelineText(components: readonly ComponentReport[], memory: RamReply): string {
  const sections = components.map(
    ({ id, report }) => `${plain(id)}: weights in memory\n${dtypeTable(report.ram.per_dtype)}\n`,
  );
  sections.push(`All components: weights in memory\n${dtypeTable(memory.per_dtype)}\n`, ...memoryText(memory));
  for (const { id, report } of components) {
    if (report.error !== undefined) sections.push(`${plain(id)}\nREFUSED: ${issueLine(report.error)}\n`);
  }
  return [...sections, FOOTNOTE].join('\n');
}

const FOOTNOTE =
  'GB is 10^9 bytes, GiB is 2^30. The size of the file is rounded, memory that must be there is rounded up.\n';
