// A pipeline converted: each component into its folder, one after the other, with everything small around them. The
// folder only looks finished when the last component is whole.
import { CoreError, toCoreError } from './errors';
import type { PlanReply } from './heap';
import type { Choice, LayoutFile } from './layouts';
import { folderOf } from './layouts';
import type { Checkpoint, ConvertReply, JobHooks } from './pipeline';
import type { ConvertOptions, Decision, PlanReport, Receipt } from './report';
import { type OutputFolder, SetSink } from './set_sink';
import type { ByteSink } from './sink';

/** What came of a component. */
export interface ComponentOutcome<Reply = ConvertReply> {
  id: string;
  reply: Reply;
}

export interface ComponentReceipt {
  id: string;
  receipt: Receipt;
}

/**
 * `convertOne` opens a component, converts it into the sink and closes it. Stops at the first one that is not
 * converted; then nothing is left.
 */
export async function convertComponents<Reply extends { kind: string }>(
  pipeline: Choice,
  folder: OutputFolder,
  readCompanion: (file: LayoutFile) => Promise<Uint8Array>,
  convertOne: (component: Choice, sink: ByteSink) => Promise<Reply>,
  answers: SharedAnswers,
): Promise<ComponentOutcome<Reply>[]> {
  const outcomes: ComponentOutcome<Reply>[] = [];
  const { components, companions } = pipeline;
  await folder.open(0, []);
  try {
    for (const component of components) {
      const sink = new SetSink(new SubFolder(folder, pathIn(pipeline, component.folder)));
      const reply = await convertOne(component, sink);
      outcomes.push({ id: component.id, reply });
      if (reply.kind !== 'converted') {
        await folder.abort();
        return outcomes;
      }
    }
    answers.checkAllUsed();
    const carried = new Set(components.map((component) => component.folder)); // with their component
    for (const file of companions) {
      if (!carried.has(folderOf(file.path)))
        await folder.addFile(pathIn(pipeline, file.path), await readCompanion(file));
    }
    await folder.commit();
    return outcomes;
  } catch (thrown) {
    await folder.abort();
    throw thrown;
  }
}

/** The sum of the components' plans, or all that is undecided in them. Writes nothing. */
export async function planComponents(
  pipeline: Choice,
  answers: SharedAnswers,
  openOne: (component: Choice) => Promise<Checkpoint>,
  hooks: JobHooks,
): Promise<PlanReply> {
  const plans: PlanReport[] = [];
  const decisions = new Map<string, Decision>();
  for (const component of pipeline.components) {
    const checkpoint = await openOne(component);
    try {
      const { reply } = await answers.plan(checkpoint, hooks);
      if (reply.kind === 'planned') plans.push(within(pathIn(pipeline, component.folder), reply.plan));
      else for (const each of reply.decisions) decisions.set(each.subject, decisions.get(each.subject) ?? each);
    } catch (thrown) {
      const { code, where, message } = toCoreError(thrown);
      throw new CoreError(code, where === '' ? component.id : `${component.id}: ${where}`, message);
    } finally {
      await checkpoint.close();
    }
  }
  if (decisions.size > 0) return { kind: 'decisions', decisions: [...decisions.values()] };
  answers.checkAllUsed();
  return { kind: 'planned', plan: sumOfPlans(plans) };
}

/** One set of options for all components: each is asked only what is undecided in it. */
export class SharedAnswers {
  readonly #options: ConvertOptions;
  readonly #unused: Set<string>;

  constructor(options: ConvertOptions) {
    this.#options = { ...options, shards: options.shards ?? 'same' };
    this.#unused = new Set(Object.keys(options.assume));
  }

  async plan(checkpoint: Checkpoint, hooks: JobHooks): Promise<{ reply: PlanReply; options: ConvertOptions }> {
    const assume = { ...this.#options.assume };
    for (;;) {
      const options = { ...this.#options, assume };
      try {
        const reply = await checkpoint.plan(options, hooks);
        for (const subject of Object.keys(assume)) this.#unused.delete(subject);
        return { reply, options };
      } catch (thrown) {
        const { code, where } = toCoreError(thrown);
        if (code !== 'unknown_assumption' || !(where in assume)) throw thrown;
        delete assume[where];
      }
    }
  }

  /** What of it a component is to be converted with. */
  async optionsFor(checkpoint: Checkpoint, hooks: JobHooks): Promise<ConvertOptions> {
    const isAsked = Object.keys(this.#options.assume).length > 0;
    return isAsked ? (await this.plan(checkpoint, hooks)).options : this.#options;
  }

  /** Errc: unknown_assumption. */
  checkAllUsed(): void {
    const [unused] = this.#unused;
    if (unused === undefined) return;
    throw new CoreError('unknown_assumption', unused, `nothing about \`${unused}\` is undecided in any component`);
  }
}

/** The converted components; all are, where the last one is. */
export function receiptsOf(
  outcomes: readonly ComponentOutcome<{ kind: string; receipt?: Receipt }>[],
): ComponentReceipt[] {
  return outcomes.flatMap(({ id, reply }) => (reply.receipt === undefined ? [] : [{ id, receipt: reply.receipt }]));
}

function pathIn({ folder }: Choice, path: string): string {
  return folder === '' ? path : path.slice(folder.length + 1);
}

function within(folder: string, plan: PlanReport): PlanReport {
  return { ...plan, files: plan.files.map(({ name, bytes }) => ({ name: `${folder}/${name}`, bytes })) };
}

function sumOfPlans(plans: readonly PlanReport[]): PlanReport {
  const [first] = plans;
  if (first === undefined) throw new CoreError('wrong_state', '', 'a pipeline without components');
  const total = (of: (plan: PlanReport) => number): number => plans.reduce((sum, plan) => sum + of(plan), 0);
  return {
    ...first,
    files: plans.flatMap(({ files }) => files),
    index: '',
    output_bytes: total((plan) => plan.output_bytes),
    output_header_bytes: total((plan) => plan.output_header_bytes),
    read_bytes: total((plan) => plan.read_bytes),
    tensors: total((plan) => plan.tensors),
    dequantized: total((plan) => plan.dequantized),
    cast: total((plan) => plan.cast),
    copied: total((plan) => plan.copied),
    kept_quantized: total((plan) => plan.kept_quantized),
    copies_only: plans.every((plan) => plan.copies_only),
    dropped: total((plan) => plan.dropped),
    notes: [...new Set(plans.flatMap(({ notes }) => notes))],
  };
}

/** A folder in the one of the pipeline, which alone begins and ends. */
class SubFolder implements OutputFolder {
  readonly #parent: OutputFolder;
  readonly #path: string;

  constructor(parent: OutputFolder, path: string) {
    this.#parent = parent;
    this.#path = path;
  }

  async open(sizeBytes: number): Promise<void> {
    await this.#parent.checkRoom?.(sizeBytes);
  }

  sink(name: string): ReturnType<OutputFolder['sink']> {
    return this.#parent.sink(`${this.#path}/${name}`);
  }

  source(name: string): ReturnType<OutputFolder['source']> {
    return this.#parent.source(`${this.#path}/${name}`);
  }

  addFile(name: string, bytes: Uint8Array): Promise<void> {
    return this.#parent.addFile(`${this.#path}/${name}`, bytes);
  }

  async commit(): Promise<void> {}

  async abort(): Promise<void> {}
}
