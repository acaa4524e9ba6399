// What the worker does for each request: one core, one open checkpoint, one long job at a time.
import { BlobSource } from './blob_source';
import { CoreError } from './errors';
import type { Core } from './heap';
import { OpfsSink } from './opfs_sink';
import { PickerSink } from './picker_sink';
import { Checkpoint, type CheckpointInput, type JobHooks } from './pipeline';
import type { Progress, RequestKind, RequestMap, SinkRequest } from './protocol';
import { checkSideFileSize, isSideFile } from './side_files';
import { type ByteSink, MemorySink } from './sink';

type Args<K extends RequestKind> = RequestMap[K]['args'];
type Reply<K extends RequestKind> = Promise<RequestMap[K]['reply']>;
type OnProgress = (progress: Progress) => void;

export type Handlers = { [K in RequestKind]: (args: Args<K>, onProgress: OnProgress) => Reply<K> };

export class Engine implements Handlers {
  readonly #loadCore: () => Promise<Core>;
  #core: Promise<Core> | null = null;
  #checkpoint: Checkpoint | null = null;
  /** the long job that runs, to be stopped by cancel */
  #running: AbortController | null = null;
  #idle: Promise<unknown> = Promise.resolve();

  constructor(loadCore: () => Promise<Core>) {
    this.#loadCore = loadCore;
  }

  /** A new file ends whatever still runs on the old one. */
  async open({ files }: Args<'open'>, onProgress: OnProgress): Reply<'open'> {
    this.#running?.abort();
    return this.#alone(onProgress, async (hooks) => {
      await this.#checkpoint?.close();
      this.#checkpoint = null;
      this.#core ??= this.#loadCore();
      this.#checkpoint = await Checkpoint.open(await this.#core, await inputOf(files), hooks);
      return this.#checkpoint.report();
    });
  }

  async tensors({ first, count }: Args<'tensors'>): Reply<'tensors'> {
    return this.#opened().tensors(first, count);
  }

  async pairs({ first, count }: Args<'pairs'>): Reply<'pairs'> {
    return this.#opened().pairs(first, count);
  }

  async preview({ options, tensor, code }: Args<'preview'>, onProgress: OnProgress): Reply<'preview'> {
    return this.#alone(onProgress, (hooks) => this.#opened().preview(options, tensor, code, hooks));
  }

  async plan({ options }: Args<'plan'>, onProgress: OnProgress): Reply<'plan'> {
    return this.#alone(onProgress, (hooks) => this.#opened().plan(options, hooks));
  }

  async convert({ options, sink: request, verify }: Args<'convert'>, onProgress: OnProgress): Reply<'convert'> {
    return this.#alone(onProgress, async (hooks) => {
      const sink = sinkOf(request);
      const reply = await this.#opened().convert(options, sink, verify, hooks);
      if (reply.kind === 'converted' && sink instanceof MemorySink) return { ...reply, blob: sink.blob() };
      return reply;
    });
  }

  /** Answers at once; the job itself answers with `cancelled` when it has cleaned up. */
  async cancel(): Reply<'cancel'> {
    this.#running?.abort();
    return null;
  }

  /** Jobs queue up: the core can do one at a time. */
  #alone<T>(onProgress: OnProgress, job: (hooks: JobHooks) => Promise<T>): Promise<T> {
    const result = this.#idle.then(async () => {
      const running = new AbortController();
      this.#running = running;
      try {
        return await job({ signal: running.signal, onProgress });
      } finally {
        this.#running = null;
      }
    });
    this.#idle = result.catch(() => {});
    return result;
  }

  #opened(): Checkpoint {
    if (this.#checkpoint === null) throw new CoreError('wrong_state', '', 'no file is open');
    return this.#checkpoint;
  }
}

/** Without a checkpoint among them, the files are taken for one, and the core says what they are. */
async function inputOf(files: File[]): Promise<CheckpointInput> {
  const checkpoints = files.filter((file) => !isSideFile(file.name));
  const sources = checkpoints.length > 0 ? checkpoints : files;
  const sideFiles = checkpoints.length > 0 ? files.filter((file) => isSideFile(file.name)) : [];
  return {
    sources: await Promise.all(sources.map((file) => BlobSource.open(file.name, file))),
    sideFiles: await Promise.all(sideFiles.map(readSideFile)),
  };
}

async function readSideFile(file: File): Promise<{ name: string; bytes: Uint8Array }> {
  checkSideFileSize(file.name, file.size);
  try {
    return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
  } catch (thrown) {
    throw new CoreError('read_failed', file.name, thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function sinkOf(request: SinkRequest): ByteSink {
  switch (request.kind) {
    case 'picker':
      return new PickerSink(request.handle);
    case 'opfs':
      return new OpfsSink(request.name);
    case 'memory':
      return new MemorySink();
  }
}
