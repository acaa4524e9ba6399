// `weighbridge preview`: what the weights would be under each answer to the open questions.
import { CoreError } from '../engine/errors';
import type { Core } from '../engine/heap';
import { Checkpoint } from '../engine/pipeline';
import { histogramColumns } from '../engine/preview_text';
import type { ConvertOptions, Decision, PreviewReport, Report } from '../engine/report';
import { formatCount } from '../engine/units';
import type { InputWords } from './args';
import { findInput } from './input';
import type { Print } from './print';
import { type Column, plain, table } from './text';

export interface PreviewOptions extends InputWords {
  json: boolean;
  /** null: the first tensor of every question */
  tensor: string | null;
  options: ConvertOptions;
}

export async function preview(core: Core, options: PreviewOptions, print: Print): Promise<number> {
  const found = await findInput(core, options.paths, options.file, options.remote);
  const previews: PreviewReport[] = [];
  for (const part of found.parts) {
    const checkpoint = await Checkpoint.open(core, await part.open());
    try {
      previews.push(...(await previewsOf(checkpoint, options)));
    } finally {
      await checkpoint.close();
    }
  }
  if (options.json) await print(`${JSON.stringify({ previews })}\n`);
  else await print(previews.length === 0 ? 'Nothing is undecided.\n' : previews.map(previewText).join('\n'));
  return 0;
}

async function previewsOf(checkpoint: Checkpoint, { tensor, options }: PreviewOptions): Promise<PreviewReport[]> {
  const report = checkpoint.report();
  if (report.error) throw CoreError.from(report.error);
  const previews: PreviewReport[] = [];
  for (const { code, name } of subjects(report, tensor)) {
    try {
      previews.push(await checkpoint.preview(options, name, code));
    } catch (thrown) {
      // A question whose answers change no weight has no preview.
      if (!(thrown instanceof CoreError && thrown.code === 'unknown_assumption' && tensor === null)) throw thrown;
    }
  }
  return previews;
}

function subjects({ decisions }: Report, tensor: string | null): { code: string; name: string }[] {
  const named = (decision: Decision): string | undefined =>
    tensor === null ? decision.tensors[0] : decision.tensors.find((name) => name === tensor);
  const found = decisions.flatMap((decision) => {
    const name = named(decision);
    return name === undefined ? [] : [{ code: decision.code, name }];
  });
  if (tensor !== null && found.length === 0) {
    throw new CoreError('unknown_assumption', tensor, 'no open question is about this tensor');
  }
  return found;
}

const BARS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

function previewText({ tensor, code, choices }: PreviewReport): string {
  const columns: Column[] = [
    { title: 'answer' },
    { title: 'largest', align: 'right' },
    { title: 'rms', align: 'right' },
    { title: 'zeros', align: 'right' },
    { title: 'NaN', align: 'right' },
    { title: 'magnitudes' },
    { title: 'first values' },
  ];
  const histograms = histogramColumns(choices);
  const rows = choices.map((each, index) => [
    each.choice,
    each.largest.toPrecision(4),
    each.rms.toPrecision(4),
    formatCount(each.zeros),
    formatCount(each.nan + each.infinite),
    bars((histograms[index] ?? []).map(({ count }) => count)),
    each.first
      .slice(0, 4)
      .map((value) => (value === null ? 'NaN' : value.toPrecision(3)))
      .join(' '),
  ]);
  const [lowest, highest] = [histograms[0]?.[0]?.exponent ?? 0, histograms[0]?.at(-1)?.exponent ?? 0];
  return [
    `${plain(tensor)} [${code}]: the first ${formatCount(choices[0]?.values ?? 0)} weights`,
    table(columns, rows),
    `magnitudes from 2^${lowest} (and below) to 2^${highest}`,
    '',
  ].join('\n');
}

function bars(counts: readonly number[]): string {
  const most = Math.max(1, ...counts);
  return counts
    .map((count) => BARS[count === 0 ? 0 : Math.max(1, Math.round((count / most) * (BARS.length - 1)))])
    .join('');
}
