// The only code that touches the wasm heap. A view is taken anew for every use, because memory that
// grows leaves old views with length 0 and no error; bytes go in and out as views, never as strings.
import { type CoreFactory, type CoreModule, type CoreSession, type Job, Status, Step } from './core';
import { CoreCrash, CoreError, type ErrorObject, isErrorCode } from './errors';
import type { Mark } from './journal';
import type { RamReply, RamRequest } from './ram_report';
import type {
  ConvertOptions,
  Decision,
  PairRow,
  PlanReport,
  PreviewReport,
  Receipt,
  Report,
  TensorRow,
} from './report';

/** A range of one source that the core wants next; `end` is exclusive. */
export interface ReadWindow {
  source: number;
  begin: number;
  end: number;
}

/** One tensor of a plan of copies: output file, source, and where it stands in that. */
export type CopyRow = [file: number, source: number, begin: number, end: number];

export type PlanReply = { kind: 'planned'; plan: PlanReport } | { kind: 'decisions'; decisions: Decision[] };

/** Step without Failed: a failed step is thrown as the CoreError that the core replied. */
export type LiveStep = Exclude<Step, Step.Failed>;

const utf8 = new TextDecoder();

/** A loaded module. Sessions of one module share its heap, so one checkpoint at a time is the rule. */
export class Core {
  readonly #module: CoreModule;

  constructor(module: CoreModule) {
    this.#module = module;
  }

  static async load(factory: CoreFactory, wasmBinary: Uint8Array | ArrayBuffer): Promise<Core> {
    return new Core(await factory({ wasmBinary }));
  }

  openSession(): Session {
    return new Session(this.#module);
  }

  /** The file names in the weight_map of an index; none when it is bad, which the report of its set will say. */
  indexedFiles(name: string, bytes: Uint8Array): string[] {
    const session = this.openSession();
    try {
      return session.addIndex(name, bytes, true);
    } finally {
      session.dispose();
    }
  }

  /** What loading costs, from the facts of reports. */
  ram(request: RamRequest): RamReply {
    const session = this.openSession();
    try {
      return session.ram(request);
    } finally {
      session.dispose();
    }
  }

  /** For the promise that memory stays constant while converting. */
  get heapBytes(): number {
    return this.#module.HEAPU8.byteLength;
  }
}

/** One C++ Session, owned: call `dispose` when done with it. */
export class Session {
  readonly #module: CoreModule;
  readonly #core: CoreSession;

  constructor(module: CoreModule) {
    this.#module = module;
    this.#core = new module.Session();
  }

  dispose(): void {
    try {
      this.#core.delete();
    } catch {
      // After a trap deleting may trap again; the first error is the one to show.
    }
  }

  addSource(name: string, sizeBytes: number): void {
    this.#done(this.#core.addSource(name, sizeBytes));
  }

  readSparingly(): void {
    this.#done(this.#core.readSparingly());
  }

  addSideFile(name: string, bytes: Uint8Array): void {
    this.#put(bytes);
    this.#done(this.#core.addSideFile(name, bytes.length));
  }

  /** The files that the index names. Bad ones are told by the report. */
  addIndex(name: string, bytes: Uint8Array, whole: boolean): string[] {
    this.#put(bytes);
    return this.#unwrap<{ files: string[] }>(this.#core.addIndex(name, bytes.length, whole)).files;
  }

  setOptions(options: ConvertOptions): void {
    this.#done(this.#core.setOptions(JSON.stringify(options)));
  }

  setPreview(tensor: string, code: string): void {
    this.#done(this.#core.setPreview(tensor, code));
  }

  begin(job: Job): LiveStep {
    return this.#live(this.#core.begin(job));
  }

  /** The next window to read, in the order to feed, or null when none is known now. */
  nextWindow(): ReadWindow | null {
    if (!this.#core.nextRead()) return null;
    return { source: this.#core.readSource(), begin: this.#core.readBegin(), end: this.#core.readEnd() };
  }

  feed(bytes: Uint8Array): LiveStep {
    this.#put(bytes);
    return this.#live(this.#core.feed(bytes.length));
  }

  /** The output that stands ready, as a view on the heap: it dies with the next call on this object. */
  output(): Uint8Array {
    const begin = this.#core.outPtr();
    return this.#module.HEAPU8.subarray(begin, begin + this.#core.outLength());
  }

  resume(): LiveStep {
    return this.#live(this.#core.resume());
  }

  report(): Report {
    return this.#unwrap<Report>(this.#core.report());
  }

  tensors(first: number, count: number): TensorRow[] {
    return this.#unwrap<TensorRow[]>(this.#core.tensors(first, count));
  }

  pairs(first: number, count: number): PairRow[] {
    return this.#unwrap<PairRow[]>(this.#core.pairs(first, count));
  }

  ram(request: RamRequest): RamReply {
    return this.#unwrap<RamReply>(this.#core.ram(JSON.stringify(request)));
  }

  /** The same rows as JSON in UTF-8, for who only passes them on: parsing 300,000 of them takes seconds. */
  rowsBytes(kind: 'tensors' | 'pairs', first: number, count: number): Uint8Array {
    return this.#bytes(kind === 'tensors' ? this.#core.tensors(first, count) : this.#core.pairs(first, count));
  }

  plan(): PlanReply {
    const status = this.#core.plan();
    if (status !== Status.Decisions) return { kind: 'planned', plan: this.#unwrap<PlanReport>(status) };
    const { decisions } = this.#unwrap<{ decisions: Decision[] }>(status);
    return { kind: 'decisions', decisions };
  }

  preview(): PreviewReport {
    return this.#unwrap<PreviewReport>(this.#core.preview());
  }

  receipt(): Receipt {
    return this.#unwrap<Receipt>(this.#core.receipt());
  }

  /** The index to write beside the output's files; only where the plan names one. */
  outputIndex(): Uint8Array {
    return this.#bytes(this.#core.outputIndex());
  }

  /** Where a plan of copies takes its tensors from, in output order. */
  copies(first: number, count: number): CopyRow[] {
    return this.#unwrap<CopyRow[]>(this.#core.copies(first, count));
  }

  outputHeader(file: number): Uint8Array {
    return this.#bytes(this.#core.outputHeader(file));
  }

  /** Where the conversion that runs could be resumed. */
  mark(firstStep: number): Mark {
    return this.#unwrap<Mark>(this.#core.mark(firstStep));
  }

  resumeAt(mark: Mark): void {
    this.#done(this.#core.resumeAt(JSON.stringify(mark)));
  }

  /** A plan of copies was carried out without the core. */
  copied(verified: boolean): void {
    this.#done(this.#core.copied(verified));
  }

  /** The reply of the last call as bytes of their own. */
  #bytes(status: Status): Uint8Array {
    this.#done(status);
    const begin = this.#core.replyPtr();
    return this.#module.HEAPU8.slice(begin, begin + this.#core.replyLength());
  }

  #put(bytes: Uint8Array): void {
    const begin = this.#core.inPtr(bytes.length);
    if (begin === 0 && bytes.length > 0) {
      throw new CoreError('out_of_memory', '', `the core got no memory for a window of ${bytes.length} bytes`);
    }
    this.#module.HEAPU8.set(bytes, begin);
  }

  #live(step: Step): LiveStep {
    if (step === Step.Failed) return this.#unwrap<never>(Status.Error);
    return step;
  }

  #done(status: Status): void {
    if (status !== Status.Ok) this.#unwrap(status);
  }

  /** The reply of the last call as a value, or thrown as the CoreError it holds. The only place that does either. */
  #text(): string {
    const begin = this.#core.replyPtr();
    return utf8.decode(this.#module.HEAPU8.subarray(begin, begin + this.#core.replyLength()));
  }

  #unwrap<T>(status: Status): T {
    const text = this.#text();
    let reply: unknown;
    try {
      reply = JSON.parse(text);
    } catch {
      throw new CoreCrash(`the core replied something that is not JSON: ${text.slice(0, 200)}`);
    }
    if (status === Status.Error) throw errorOfReply(reply);
    return reply as T;
  }
}

function errorOfReply(reply: unknown): CoreError {
  const error = (reply as { error?: Partial<ErrorObject> } | null)?.error;
  if (typeof error?.code !== 'string' || !isErrorCode(error.code)) {
    return new CoreCrash(`the core failed without a known error code: ${JSON.stringify(reply).slice(0, 200)}`);
  }
  return new CoreError(error.code, error.where ?? '', error.message ?? error.code);
}
