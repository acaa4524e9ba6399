// What the worker does for each request: one core, one open checkpoint, one long job at a time.
import { BlobSource } from './blob_source';
import { DownloadSink } from './download_sink';
import { CoreError } from './errors';
import { choose, type FileTree, inputOf, layOutTree, strayNotes, together } from './file_tree';
import { GivenTree } from './given_tree';
import type { Core } from './heap';
import { HttpClient } from './http_client';
import { checkedEndpoint } from './hub_address';
import { readJournal } from './journal';
import { type Choice, folderOf, type Layout } from './layouts';
import { listOpfs, readOpfsJournal } from './opfs';
import { OpfsSink, opfsHolds } from './opfs_sink';
import { PickedFolder } from './picked_folder';
import { PickerSink } from './picker_sink';
import { Checkpoint, type JobHooks } from './pipeline';
import { convertComponents, planComponents, receiptsOf, SharedAnswers } from './pipeline_convert';
import type { ComponentReport } from './pipeline_sum';
import type { Progress, RequestKind, RequestMap, SinkRequest, Unfinished } from './protocol';
import { chooseRemote, findRemote, type RemotePlace } from './remote_tree';
import { SetSink } from './set_sink';
import { type ByteSink, MemorySink } from './sink';

type Args<K extends RequestKind> = RequestMap[K]['args'];
type Reply<K extends RequestKind> = Promise<RequestMap[K]['reply']>;
type OnProgress = (progress: Progress) => void;

export type Handlers = { [K in RequestKind]: (args: Args<K>, onProgress: OnProgress) => Reply<K> };

export class Engine implements Handlers {
  readonly #loadCore: () => Promise<Core>;
  #core: Promise<Core> | null = null;
  #listed: { tree: FileTree; layout: Layout } | null = null;
  #checkpoint: Checkpoint | null = null;
  /** the long job that runs, to be stopped by cancel */
  #running: AbortController | null = null;
  #idle: Promise<unknown> = Promise.resolve();

  constructor(loadCore: () => Promise<Core>) {
    this.#loadCore = loadCore;
  }

  /** New files end whatever still runs on the old ones. */
  async list({ files }: Args<'list'>, onProgress: OnProgress): Reply<'list'> {
    this.#running?.abort();
    return this.#alone(onProgress, async () => {
      await this.#close();
      const tree = new GivenTree(files);
      const layout = await layOutTree(await this.#loaded(), tree);
      this.#listed = { tree, layout };
      return layout;
    });
  }

  async locate({ address, file, endpoint: given, token }: Args<'locate'>, onProgress: OnProgress): Reply<'locate'> {
    this.#running?.abort();
    return this.#alone(onProgress, async () => {
      await this.#close();
      const endpoint = checkedEndpoint(given);
      const client = new HttpClient({ hubOrigin: new URL(endpoint).origin, token });
      const core = await this.#loaded();
      const place = await findRemote(core, address, { client, endpoint });
      const layout = await layOutTree(core, place.tree);
      this.#listed = { tree: place.tree, layout };
      const page = place.repo === null ? null : `${endpoint}/${place.repo.repo}`;
      const chosen = chosenIn(layout, place, address, file);
      return { layout, repo: place.repo, page, chosen, traffic: { ...client.traffic } };
    });
  }

  async open({ choice, together: paths }: Args<'open'>, onProgress: OnProgress): Reply<'open'> {
    this.#running?.abort();
    return this.#alone(onProgress, async (hooks) => {
      await this.#close();
      const { tree, layout } = this.#known();
      const notes = choice === layout.preferred ? strayNotes(layout) : [];
      const opened = paths === undefined ? choose(layout, '', choice) : filesOf(tree, layout, paths);
      const input = await inputOf(tree, opened, notes);
      this.#checkpoint = await Checkpoint.open(await this.#loaded(), input, hooks);
      return this.#checkpoint.report();
    });
  }

  async planPipeline({ choice, options }: Args<'planPipeline'>, onProgress: OnProgress): Reply<'planPipeline'> {
    return this.#alone(onProgress, async (hooks) => {
      const openOne = await this.#componentOpener(hooks);
      return planComponents(this.#pipeline(choice), new SharedAnswers(options), openOne, hooks);
    });
  }

  async convertPipeline(
    { choice, options, handle, name, verify }: Args<'convertPipeline'>,
    onProgress: OnProgress,
  ): Reply<'convertPipeline'> {
    return this.#alone(onProgress, async (hooks) => {
      const openOne = await this.#componentOpener(hooks);
      const answers = new SharedAnswers(options);
      const { tree } = this.#known();
      const outcomes = await convertComponents(
        this.#pipeline(choice),
        new PickedFolder(handle, name),
        (file) => tree.read(file),
        async (component, sink) => {
          const own = withComponent(hooks, component.id);
          const checkpoint = await openOne(component);
          try {
            return await checkpoint.convert(await answers.optionsFor(checkpoint, own), sink, verify, own);
          } finally {
            await checkpoint.close();
          }
        },
        answers,
      );
      const receipts = receiptsOf(outcomes);
      if (receipts.length === outcomes.length) return receipts;
      throw new CoreError('wrong_state', choice, 'the core asks what the plan had settled');
    });
  }

  async weigh({ choice }: Args<'weigh'>, onProgress: OnProgress): Reply<'weigh'> {
    this.#running?.abort();
    return this.#alone(onProgress, async (hooks) => {
      const openOne = await this.#componentOpener(hooks);
      const reports: ComponentReport[] = [];
      for (const component of this.#pipeline(choice).components) {
        const checkpoint = await openOne(component);
        reports.push({ id: component.id, title: component.title, report: checkpoint.report() });
        await checkpoint.close();
      }
      return reports;
    });
  }

  async ram({ request }: Args<'ram'>): Reply<'ram'> {
    return (await this.#loaded()).ram(request);
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

  async unfinished(): Reply<'unfinished'> {
    const sources = await this.#opened().identities();
    return sources === null ? [] : unfinishedOf(sources);
  }

  async check({ file }: Args<'check'>, onProgress: OnProgress): Reply<'check'> {
    return this.#alone(onProgress, async (hooks) =>
      this.#opened().check(await BlobSource.open(file.name, file), hooks),
    );
  }

  async room({ bytes }: Args<'room'>): Reply<'room'> {
    return opfsHolds(bytes);
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

  async #close(): Promise<void> {
    await this.#checkpoint?.close();
    this.#checkpoint = null;
  }

  #pipeline(id: string): Choice {
    return choose(this.#known().layout, '', id);
  }

  /** Nothing else stays open beside a component. */
  async #componentOpener(hooks: JobHooks): Promise<(component: Choice) => Promise<Checkpoint>> {
    await this.#close();
    const { tree } = this.#known();
    const core = await this.#loaded();
    return async (component) =>
      Checkpoint.open(core, await inputOf(tree, component), withComponent(hooks, component.id));
  }

  #loaded(): Promise<Core> {
    this.#core ??= this.#loadCore();
    return this.#core;
  }

  #known(): { tree: FileTree; layout: Layout } {
    if (this.#listed === null) throw new CoreError('wrong_state', '', 'no files were listed');
    return this.#listed;
  }

  #opened(): Checkpoint {
    if (this.#checkpoint === null) throw new CoreError('wrong_state', '', 'no file is open');
    return this.#checkpoint;
  }
}

/** Of one folder. */
function filesOf({ files }: FileTree, layout: Layout, paths: readonly string[]): Choice {
  const chosen = paths.flatMap((path) => files.filter((file) => file.path === path));
  const folders = new Set(chosen.map(({ path }) => folderOf(path)));
  const beside = files.filter(({ path }) => folders.has(folderOf(path)));
  if (folders.size === 1) return together(chosen, beside, layout);
  throw new CoreError('read_failed', paths[0] ?? '', 'the files of one checkpoint stand in one folder');
}

function withComponent({ signal, onProgress }: JobHooks, component: string): JobHooks {
  return { signal, onProgress: (progress) => onProgress?.({ ...progress, component }) };
}

/** Null where a person has to choose among what is there. */
function chosenIn(layout: Layout, place: RemotePlace, address: string, file: string | null): string | null {
  try {
    return chooseRemote(layout, place, address, file ?? undefined).id;
  } catch (thrown) {
    if (thrown instanceof CoreError && thrown.code === 'choice_needed') return null;
    throw thrown;
  }
}

/** What earlier visits left of a conversion of these sources. */
async function unfinishedOf(sources: readonly string[]): Promise<Unfinished[]> {
  const found: Unfinished[] = [];
  for (const { name, finished } of await listOpfs().catch(() => [])) {
    const left = finished ? null : readJournal((await readOpfsJournal(name)) ?? '');
    if (left === null || left.head.sources.join('\n') !== sources.join('\n')) continue;
    const { options, output_bytes } = left.head;
    found.push({ name, options, written_bytes: left.mark.bytes, output_bytes });
  }
  return found;
}

function sinkOf(request: SinkRequest): ByteSink {
  switch (request.kind) {
    case 'picker':
      return new PickerSink(request.handle);
    case 'directory':
      return new SetSink(new PickedFolder(request.handle, request.name));
    case 'opfs':
      return new OpfsSink(request.name, request.goesOn);
    case 'download':
      return new DownloadSink(request.name, request.page);
    case 'memory':
      return new MemorySink();
  }
}
