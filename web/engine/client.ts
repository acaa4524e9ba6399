// The page's side of the worker: request ids, pending requests, errors as a class again, and a new
// worker after a crash. After a crash nothing is open any more: open the files again.
import { CoreCrash, CoreError } from './errors';
import type { Layout } from './layouts';
import type { ComponentReceipt } from './pipeline_convert';
import type { ComponentReport } from './pipeline_sum';
import type {
  Converted,
  DecisionsNeeded,
  FromWorker,
  GivenFile,
  Located,
  Planned,
  Progress,
  RequestKind,
  RequestMap,
  SinkRequest,
  Unfinished,
} from './protocol';
import type { RamReply, RamRequest } from './ram_report';
import type { ConvertOptions, PairRow, PreviewReport, Receipt, Report, TensorRow } from './report';

export type OnProgress = (progress: Progress) => void;

export interface ConvertSettings {
  verify: boolean;
  onProgress?: OnProgress | undefined;
}

interface Pending {
  resolve: (value: unknown) => void;
  reject: (error: CoreError) => void;
  onProgress: OnProgress | undefined;
}

export class EngineClient {
  readonly #makeWorker: () => Worker;
  readonly #pending = new Map<number, Pending>();
  #worker: Worker | null = null;
  #nextId = 1;

  constructor(makeWorker: () => Worker) {
    this.#makeWorker = makeWorker;
  }

  /** What may be opened among these files. Ends what ran on earlier ones. */
  list(files: GivenFile[]): Promise<Layout> {
    return this.#request('list', { files });
  }

  /** What may be opened at an address on a server: a list like any other. */
  locate(request: RequestMap['locate']['args']): Promise<Located> {
    return this.#request('locate', request);
  }

  /** One choice of the last list, or several of its files that a person says are one checkpoint. */
  open(choice: string, onProgress?: OnProgress, together?: readonly string[]): Promise<Report> {
    return this.#request('open', { choice, together }, onProgress);
  }

  /** The components of a pipeline of the last list; afterwards nothing is open. */
  weigh(choice: string, onProgress?: OnProgress): Promise<ComponentReport[]> {
    return this.#request('weigh', { choice }, onProgress);
  }

  /** What loading costs on a machine, from the facts of reports; may be asked again as often as wanted. */
  ram(request: RamRequest): Promise<RamReply> {
    return this.#request('ram', { request });
  }

  tensors(first: number, count: number): Promise<TensorRow[]> {
    return this.#request('tensors', { first, count });
  }

  pairs(first: number, count: number): Promise<PairRow[]> {
    return this.#request('pairs', { first, count });
  }

  /** The first weights of `tensor` under each answer to the question `code`. */
  preview(options: ConvertOptions, tensor: string, code: string): Promise<PreviewReport> {
    return this.#request('preview', { options, tensor, code });
  }

  plan(options: ConvertOptions, onProgress?: OnProgress): Promise<Planned | DecisionsNeeded> {
    return this.#request('plan', { options }, onProgress);
  }

  convert(
    options: ConvertOptions,
    sink: SinkRequest,
    { verify, onProgress }: ConvertSettings,
  ): Promise<Converted | DecisionsNeeded> {
    return this.#request('convert', { options, sink, verify }, onProgress, sink.kind === 'download' ? [sink.page] : []);
  }

  /** Whether a saved file is what the last conversion wrote. */
  check(file: File, onProgress?: OnProgress): Promise<Receipt> {
    return this.#request('check', { file }, onProgress);
  }

  /** Whether the browser's private storage holds so much. */
  room(bytes: number): Promise<boolean> {
    return this.#request('room', { bytes });
  }

  /** What converting every component of a pipeline would write. */
  planPipeline(choice: string, options: ConvertOptions, onProgress?: OnProgress): Promise<Planned | DecisionsNeeded> {
    return this.#request('planPipeline', { choice, options }, onProgress);
  }

  /** Every component of a pipeline into the new folder `name` in `handle`. */
  convertPipeline(
    choice: string,
    options: ConvertOptions,
    { handle, name }: { handle: FileSystemDirectoryHandle; name: string },
    { verify, onProgress }: ConvertSettings,
  ): Promise<ComponentReceipt[]> {
    return this.#request('convertPipeline', { choice, options, handle, name, verify }, onProgress);
  }

  /** Working copies that hold a part of a conversion of what is open. */
  unfinished(): Promise<Unfinished[]> {
    return this.#request('unfinished', {});
  }

  /** The job that runs rejects with `cancelled` once it has removed what it wrote. */
  async cancel(): Promise<void> {
    if (this.#worker !== null) await this.#request('cancel', {});
  }

  dispose(): void {
    this.#throwAway(new CoreError('cancelled', '', 'the engine was shut down'));
  }

  #request<K extends RequestKind>(
    kind: K,
    args: RequestMap[K]['args'],
    onProgress?: OnProgress,
    transferred: Transferable[] = [],
  ): Promise<RequestMap[K]['reply']> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      // The worker answers a request of kind K with K's reply, by its own types (engine.ts, Handlers).
      this.#pending.set(id, { resolve: resolve as (value: unknown) => void, reject, onProgress });
      try {
        this.#started().postMessage({ ...args, id, kind }, transferred);
      } catch (thrown) {
        this.#pending.delete(id);
        reject(new CoreCrash(thrown instanceof Error ? thrown.message : String(thrown)));
      }
    });
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = this.#makeWorker();
    worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => this.#receive(data));
    worker.addEventListener('error', (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.#throwAway(new CoreCrash(event.message || 'the worker could not be started'));
    });
    worker.addEventListener('messageerror', () => {
      if (worker === this.#worker) this.#throwAway(new CoreCrash('a message from the worker could not be read'));
    });
    this.#worker = worker;
    return worker;
  }

  #receive(message: FromWorker): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.kind === 'progress') {
      pending.onProgress?.(message.progress);
      return;
    }
    this.#pending.delete(message.id);
    if (message.ok) {
      pending.resolve(message.value);
      return;
    }
    const { code, message: text } = message.error;
    const error = code === 'core_crash' ? new CoreCrash(text) : CoreError.from(message.error);
    pending.reject(error);
    // By the time this error arrives the worker has aborted the sink.
    if (error instanceof CoreCrash) this.#throwAway(error);
  }

  /** The next request starts a new worker. */
  #throwAway(error: CoreError): void {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of waiting) reject(error);
  }
}
