// The data path, the same for the page and the command line:
//
//   source -> windows, two in flight -> heap -> core -> view on the heap -> sink
//
// A Checkpoint is one opened input. It knows no DOM, no file system and no message; it only pumps the
// core's jobs (core.ts) between a source and a sink.

import { rewrittenFile, staleConfigs } from './config_rewrite';
import { copyPieces, verifyPieces } from './copy_plan';
import { Job, OUTPUT_SOURCE, Step } from './core';
import { CoreError } from './errors';
import type { Core, PlanReply, Session } from './heap';
import type { Traffic } from './http_client';
import { checkSameJob, checkSamePlan, Journal, type LeftOver, type Mark, readJournal } from './journal';
import { isIndex } from './layouts';
import { letMessagesIn, ProgressMeter } from './progress';
import type { Progress } from './protocol';
import { READ_AHEAD_DEPTH, REMOTE_LOOK_DEPTH, ReadAhead } from './read_ahead';
import type {
  ConvertOptions,
  CoreIssue,
  Decision,
  PairRow,
  PlanReport,
  PreviewReport,
  Receipt,
  Report,
  TensorRow,
} from './report';
import { SetSink } from './set_sink';
import type { ByteSink } from './sink';
import type { ByteSource, SourceCheck } from './source';

export interface CheckpointInput {
  sources: ByteSource[];
  /** config.json and the like, and the index of a set (known by its name), whole */
  sideFiles: { name: string; bytes: Uint8Array }[];
  /** the sources are some shards of the index's set, opened on purpose without the others */
  partOfSet?: boolean;
  /** small files to carry along into an output folder; names may hold folders */
  companions?: { name: string; read: () => Promise<Uint8Array> }[];
  /** of sources on a server */
  traffic?: () => Traffic | null;
  /** said with the report's warnings: what was left out, and why */
  notes?: CoreIssue[];
}

export interface JobHooks {
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

export type ConvertReply = { kind: 'converted'; receipt: Receipt } | { kind: 'decisions'; decisions: Decision[] };

/** Where the bytes of a job go to, and for reading back come from. */
interface PumpEnds {
  sink?: ByteSink | null;
  journal?: Journal | null;
  output?: ByteSource | null;
}

export class Checkpoint {
  readonly #core: Core;
  readonly #input: CheckpointInput;
  readonly #fingerprints: string[];
  #session: Session;
  /** a job ended early: the session stands in the middle of it and is not used again */
  #broken = false;

  private constructor(core: Core, input: CheckpointInput, fingerprints: string[]) {
    this.#core = core;
    this.#input = input;
    this.#fingerprints = fingerprints;
    this.#session = core.openSession();
  }

  /**
   * Reads the headers and the small scales. A refused input opens too; its report says why. The sources
   * belong to the checkpoint from here on, also when this fails.
   */
  static async open(core: Core, input: CheckpointInput, hooks: JobHooks = {}): Promise<Checkpoint> {
    let checkpoint: Checkpoint | null = null;
    try {
      const fingerprints = await Promise.all(input.sources.map((source) => source.fingerprint()));
      checkpoint = new Checkpoint(core, input, fingerprints);
      await checkpoint.#inspect(hooks, checkpoint.#meter(hooks));
      return checkpoint;
    } catch (thrown) {
      if (checkpoint !== null) checkpoint.#session.dispose();
      await closeSources(input);
      throw thrown;
    }
  }

  report(): Report {
    const report = this.#session.report();
    const traffic = this.#input.traffic?.() ?? null;
    const whole = { ...report, warnings: [...report.warnings, ...(this.#input.notes ?? [])] };
    return traffic === null ? whole : { ...whole, traffic: { ...traffic } };
  }

  tensors(first: number, count: number): TensorRow[] {
    return this.#session.tensors(first, count);
  }

  pairs(first: number, count: number): PairRow[] {
    return this.#session.pairs(first, count);
  }

  /** A page of rows as the text of a JSON array. */
  rowsBytes(kind: 'tensors' | 'pairs', first: number, count: number): Uint8Array {
    return this.#session.rowsBytes(kind, first, count);
  }

  /** What a conversion would read and write, or what only a person can decide. Writes nothing. */
  async plan(options: ConvertOptions, hooks: JobHooks = {}): Promise<PlanReply> {
    const meter = this.#meter(hooks);
    await this.#mend(hooks, meter);
    return this.#scanAndPlan(options, hooks, meter);
  }

  /** The first weights of `tensor` under each answer to the question `code`; `options` answers the other questions. */
  async preview(options: ConvertOptions, tensor: string, code: string, hooks: JobHooks = {}): Promise<PreviewReport> {
    const meter = this.#meter(hooks);
    await this.#mend(hooks, meter);
    this.#session.setOptions(options);
    this.#session.setPreview(tensor, code);
    meter.begin('scan', 0);
    await this.#pump(Job.Preview, hooks, meter);
    return this.#session.preview();
  }

  async convert(options: ConvertOptions, sink: ByteSink, verify: boolean, hooks: JobHooks = {}): Promise<ConvertReply> {
    const meter = this.#meter(hooks);
    await this.#mend(hooks, meter);

    // 1. What an interrupted run left, if that is to be gone on with.
    const sources = await this.identities();
    const left = await leftOver(sink, sources, options);

    // 2. All scales, and what fp16 could overflow; 3. the plan, with exact sizes, before any write.
    const planned = await this.#scanAndPlan(options, hooks, meter);
    if (planned.kind === 'decisions') return planned;
    const { output_bytes, read_bytes, files, fingerprint } = planned.plan;
    if (left !== null) checkSamePlan(left.head, fingerprint);
    const keptBytes = left?.mark.bytes ?? 0;
    const readable = sink.readBack !== undefined;
    // What is on a server must not be fetched a second time to verify it, and what cannot be read back may be given
    // to us later: for both the core computes the hash of what it writes.
    const moved = planned.plan.copies_only && !this.#isRemote && readable;
    const journal = sources === null ? null : journalOf(sink, left);

    try {
      // 4. Claim the room, or look at what is there, then write front to back while reading.
      if (left !== null) await this.#goOn(left.mark, sink, planned.plan, hooks, meter);
      else await this.#beginNew(sink, planned.plan);
      if (sources !== null && left === null)
        await journal?.begin({ sources, options, plan: fingerprint, output_bytes });
      meter.begin('convert', read_bytes, Math.round((read_bytes * keptBytes) / output_bytes));
      const writtenBytes = moved
        ? await this.#copy(files.length, sink, hooks, meter, journal, keptBytes)
        : keptBytes + (await this.#pump(Job.Convert, hooks, meter, { sink, journal }));
      checkSize(writtenBytes, output_bytes);

      // 5. Everything is with the system.
      meter.begin('closing', 0);
      await journal?.settle();
      await sink.close();

      // 6. Read the output back; 7. the input is still what was inspected.
      if (moved) this.#session.copied(verify);
      if (verify && sink.readBack) await this.#verify(await sink.readBack(), planned.plan, moved, hooks, meter);
      await this.#checkUnchanged();
      const checks = await this.#checkSources();

      // 8. The file gets its name only now, and the result describes itself.
      const described = await this.#describe(planned.plan, sink);
      const traffic = this.#input.traffic?.() ?? null;
      const resumed = left === null ? {} : { resumed_bytes: keptBytes };
      const remote = traffic === null ? {} : { source_checks: checks, traffic: { ...traffic } };
      const receipt = { ...described, ...resumed, ...remote };
      throwIfCancelled(hooks);
      await sink.commit();
      return { kind: 'converted', receipt };
    } catch (thrown) {
      this.#broken = true;
      await journal?.settle();
      if (journal?.keeps(thrown)) await sink.resumable?.suspend();
      else await sink.abort();
      throw thrown;
    }
  }

  /** Names the sources to a later run; null where a changed one could not be told. */
  async identities(): Promise<string[] | null> {
    const all = await Promise.all(this.#input.sources.map((source) => source.identity?.() ?? null));
    const known = all.filter((each) => each !== null);
    return known.length === all.length ? known : null;
  }

  /** Holds a file that somebody saved against what the last conversion wrote. The checkpoint closes it. */
  async check(saved: ByteSource, hooks: JobHooks = {}): Promise<Receipt> {
    const meter = this.#meter(hooks);
    const { output_bytes } = this.#session.receipt();
    try {
      checkSize(saved.size, output_bytes);
      meter.begin('verify', output_bytes);
      await this.#pump(Job.Verify, hooks, meter, { output: saved });
      return this.#session.receipt();
    } finally {
      await saved.close();
    }
  }

  async close(): Promise<void> {
    this.#session.dispose();
    await closeSources(this.#input);
  }

  async #inspect(hooks: JobHooks, meter: ProgressMeter): Promise<void> {
    for (const { name, size } of this.#input.sources) this.#session.addSource(name, size);
    if (this.#isRemote) this.#session.readSparingly();
    for (const { name, bytes } of this.#input.sideFiles) {
      if (isIndex(name)) this.#session.addIndex(name, bytes, this.#input.partOfSet !== true);
      else this.#session.addSideFile(name, bytes);
    }
    meter.begin('header', 0);
    await this.#pump(Job.Inspect, hooks, meter);
  }

  /** A session that was left in the middle of a job is replaced by a fresh one. */
  async #mend(hooks: JobHooks, meter: ProgressMeter): Promise<void> {
    if (!this.#broken) return;
    await this.#checkUnchanged();
    this.#session.dispose();
    this.#session = this.#core.openSession();
    await this.#inspect(hooks, meter);
    this.#broken = false;
  }

  async #scanAndPlan(options: ConvertOptions, hooks: JobHooks, meter: ProgressMeter): Promise<PlanReply> {
    const { error } = this.#session.report();
    // A set that is not whole may be converted when somebody said so; the core sees to that.
    const accepted = error?.code === 'shard_missing' && options.assume.shard_missing !== undefined;
    if (error !== undefined && !accepted) throw CoreError.from(error);
    this.#session.setOptions(options);
    meter.begin('scan', 0);
    await this.#pump(Job.Scan, hooks, meter);
    return this.#session.plan();
  }

  async #beginNew(sink: ByteSink, { output_bytes, files }: PlanReport): Promise<void> {
    await sink.open(output_bytes, files);
    for (const source of this.#input.sources) source.beginConversion?.(true);
  }

  /** The bytes that are there are held against their hash; bytes that were only moved, against the source at the end. */
  async #goOn(
    mark: Mark,
    sink: ByteSink,
    { output_bytes, files }: PlanReport,
    hooks: JobHooks,
    meter: ProgressMeter,
  ): Promise<void> {
    await sink.resumable?.reopen(output_bytes, mark.bytes, files);
    for (const source of this.#input.sources) source.beginConversion?.(false);
    if (mark.step === undefined) return;
    const output = await sink.resumable?.written();
    if (output === undefined) return;
    try {
      this.#session.resumeAt(mark);
      meter.begin('recheck', mark.bytes);
      await this.#pump(Job.Recheck, hooks, meter, { output });
    } finally {
      await output.close();
    }
  }

  /** The receipt; and in a folder the index and the small files, which must not describe what is gone. */
  async #describe(plan: PlanReport, sink: ByteSink): Promise<Receipt> {
    const receipt = this.#session.receipt();
    const { companions = [], sideFiles } = this.#input;
    if (!(sink instanceof SetSink)) return { ...receipt, notes: [...receipt.notes, ...staleConfigs(sideFiles, plan)] };
    const beside: NonNullable<Receipt['beside']> = [];
    const add = async (name: string, bytes: Uint8Array, changes: string[]): Promise<void> => {
      await sink.addFile(name, bytes);
      beside.push({ name, bytes: bytes.length, changes });
    };
    if (plan.index !== '') await add(plan.index, this.#session.outputIndex(), ['written anew']);
    for (const { name, read } of companions) {
      const bytes = await read();
      const { bytes: written, changes } = rewrittenFile(name, bytes, plan);
      if (written !== null) await add(name, written, changes);
      else beside.push({ name, bytes: 0, changes });
    }
    return { ...receipt, beside };
  }

  async #verify(
    output: ByteSource,
    plan: PlanReport,
    moved: boolean,
    hooks: JobHooks,
    meter: ProgressMeter,
  ): Promise<void> {
    try {
      meter.begin('verify', plan.output_bytes);
      if (!moved) {
        await this.#pump(Job.Verify, hooks, meter, { output });
        return;
      }
      const copyHooks = { meter, throwIfCancelled: () => throwIfCancelled(hooks) };
      await verifyPieces(this.#session, plan.files.length, this.#input.sources, output, copyHooks);
    } finally {
      await output.close();
    }
  }

  /** The bytes of a plan of copies are moved here; the core only says which. */
  #copy(
    fileCount: number,
    sink: ByteSink,
    hooks: JobHooks,
    meter: ProgressMeter,
    journal: Journal | null,
    keptBytes: number,
  ): Promise<number> {
    const copyHooks = {
      meter,
      throwIfCancelled: () => throwIfCancelled(hooks),
      onWritten: (bytes: number) => {
        if (journal?.isDue) journal.add({ bytes });
      },
    };
    return copyPieces(this.#session, fileCount, this.#input.sources, sink, copyHooks, keptBytes);
  }

  /** Runs one job to its end and returns how many bytes it wrote. */
  async #pump(
    job: Job,
    hooks: JobHooks,
    meter: ProgressMeter,
    { sink = null, journal = null, output = null }: PumpEnds = {},
  ): Promise<number> {
    const session = this.#session;
    const ahead = new ReadAhead(
      () => session.nextWindow(),
      (index) => this.#sourceOf(index, output),
      this.#isRemote && (job === Job.Inspect || job === Job.Scan) ? REMOTE_LOOK_DEPTH : READ_AHEAD_DEPTH,
    );
    // A read of a server may hang for long; a cancel does not wait for it.
    const interrupt = (): void => {
      for (const source of this.#input.sources) source.interrupt?.();
    };
    hooks.signal?.addEventListener('abort', interrupt, { once: true });
    let writtenBytes = 0;
    try {
      for (let step = session.begin(job); step !== Step.Done; ) {
        throwIfCancelled(hooks);
        if (step === Step.HasOutput) {
          writtenBytes += await writeOutput(session, sink);
          if (journal?.isDue) journal.add(session.mark(journal.step));
          step = session.resume();
        } else {
          const { source, bytes } = await ahead.take();
          step = session.feed(bytes);
          source.release(bytes);
          if (meter.add(bytes.length)) await letMessagesIn();
        }
      }
    } catch (thrown) {
      this.#broken = true;
      throw thrown;
    } finally {
      hooks.signal?.removeEventListener('abort', interrupt);
      await ahead.drain();
    }
    return writtenBytes;
  }

  #sourceOf(index: number, output: ByteSource | null): ByteSource {
    const source = index === OUTPUT_SOURCE ? output : this.#input.sources[index];
    if (!source) throw new CoreError('wrong_state', '', `the core wants to read source ${index}`);
    return source;
  }

  /** What somebody stated about the sources against what was read of them. */
  async #checkSources(): Promise<SourceCheck[]> {
    const checks: SourceCheck[] = [];
    for (const source of this.#input.sources) if (source.check) checks.push(await source.check());
    return checks;
  }

  get #isRemote(): boolean {
    return this.#input.sources.some(({ isRemote }) => isRemote);
  }

  #meter(hooks: JobHooks): ProgressMeter {
    return new ProgressMeter(hooks.onProgress, this.#input.traffic);
  }

  async #checkUnchanged(): Promise<void> {
    for (const [index, source] of this.#input.sources.entries()) {
      if ((await source.fingerprint()) === this.#fingerprints[index]) continue;
      throw new CoreError(
        'source_changed',
        source.name,
        'the file changed while it was being converted; open it again',
      );
    }
  }
}

/** Null: nothing is there, or nobody asked for it. Errc: resume_refused. */
async function leftOver(sink: ByteSink, sources: string[] | null, options: ConvertOptions): Promise<LeftOver | null> {
  const text = (await sink.resumable?.readJournal()) ?? null;
  const left = text === null ? null : readJournal(text);
  if (left !== null) checkSameJob(left.head, { sources: sources ?? [], options });
  return left;
}

function journalOf({ resumable }: ByteSink, left: LeftOver | null): Journal | null {
  return resumable === undefined ? null : new Journal(resumable, left?.mark ?? null);
}

async function closeSources({ sources }: CheckpointInput): Promise<void> {
  for (const source of sources) await source.close();
}

/** The view dies with resume, so whatever the sink still has to do is awaited before. */
async function writeOutput(session: Session, sink: ByteSink | null): Promise<number> {
  if (sink === null) throw new CoreError('wrong_state', '', 'the core has output where none is expected');
  const view = session.output();
  const writtenBytes = view.length;
  const writing = sink.write(view);
  if (writing) await writing;
  return writtenBytes;
}

function checkSize(writtenBytes: number, plannedBytes: number): void {
  if (writtenBytes === plannedBytes) return;
  throw new CoreError('verify_failed', '', `${writtenBytes} bytes were written where ${plannedBytes} were planned`);
}

function throwIfCancelled({ signal }: JobHooks): void {
  if (signal?.aborted) throw new CoreError('cancelled', '', 'stopped by the user');
}
