import { expect, test, vi } from 'vitest';
import { EngineClient } from '../../web/engine/client';
import { Job } from '../../web/engine/core';
import { Engine } from '../../web/engine/engine';
import { CoreCrash, toCoreError } from '../../web/engine/errors';
import type { FromWorker, Progress, ToWorker } from '../../web/engine/protocol';
import type { ConvertOptions, Report } from '../../web/engine/report';
import { FakeModule, type FakeScript, patternBytes, windowsOf } from './fake_core';

const OPTIONS: ConvertOptions = { to: 'bf16', others: 'keep', assume: {} };
const content = patternBytes(10_000);
const FILES = ['a.safetensors', 'config.json'].map((path) => ({
  path,
  file: new File([path === 'config.json' ? '{}' : content], path),
}));
const SCRIPT: FakeScript = {
  windows: { [Job.Inspect]: windowsOf(0, 3000, 1000), [Job.Convert]: windowsOf(4000, 10_000, 1000) },
};

/** worker.ts without a thread: messages are cloned and arrive later, as they do in a browser. */
class LoopbackWorker extends EventTarget {
  terminated = false;
  readonly #engine: Engine;

  constructor(readonly module: FakeModule) {
    super();
    this.#engine = new Engine(async () => module.core);
  }

  postMessage(message: ToWorker): void {
    // Node's clone of a File loses its name; a browser's does not.
    const request = message.kind === 'list' ? message : structuredClone(message);
    queueMicrotask(() => void this.#answer(request));
  }

  terminate(): void {
    this.terminated = true;
  }

  fail(message: string): void {
    this.dispatchEvent(Object.assign(new Event('error', { cancelable: true }), { message }));
  }

  async #answer(request: ToWorker): Promise<void> {
    const { id } = request;
    const onProgress = (progress: Progress): void => this.#send({ kind: 'progress', id, progress });
    const run = this.#engine[request.kind].bind(this.#engine) as (
      args: ToWorker,
      on: typeof onProgress,
    ) => Promise<unknown>;
    try {
      this.#send({ kind: 'reply', id, ok: true, value: await run(request, onProgress) });
    } catch (thrown) {
      this.#send({ kind: 'reply', id, ok: false, error: toCoreError(thrown).toObject() });
    }
  }

  #send(message: FromWorker): void {
    if (this.terminated) return;
    this.dispatchEvent(Object.assign(new Event('message'), { data: structuredClone(message) }));
  }
}

async function openFiles(client: EngineClient, onProgress?: (progress: Progress) => void): Promise<Report> {
  const { preferred } = await client.list(FILES);
  return client.open(preferred ?? '', onProgress);
}

function started(...scripts: FakeScript[]) {
  const workers: LoopbackWorker[] = [];
  const makeWorker = vi.fn(() => {
    const worker = new LoopbackWorker(new FakeModule(scripts[workers.length] ?? SCRIPT));
    workers.push(worker);
    return worker as unknown as Worker;
  });
  return { client: new EngineClient(makeWorker), workers, makeWorker };
}

test('the worker starts with the first request', async () => {
  const { client, makeWorker, workers } = started();
  await client.cancel();
  expect(makeWorker).not.toHaveBeenCalled();
  const heard: Progress[] = [];
  expect(await openFiles(client, (progress) => heard.push(progress))).toMatchObject({ verdict: 'sound' });
  expect(heard[0]?.phase).toBe('header');
  expect(workers[0]?.module.calls.slice(0, 2)).toEqual(['addSource a.safetensors 10000', 'addSideFile config.json {}']);
  expect(await client.tensors(3, 4)).toEqual([{ name: 't3', count: 4 }]);
  expect(await client.pairs(3, 4)).toEqual([{ weight: 'p3', count: 4 }]);
  expect(makeWorker).toHaveBeenCalledTimes(1);
});

test('a small conversion comes back as a blob', async () => {
  const { client } = started();
  await openFiles(client);
  expect(await client.plan(OPTIONS)).toMatchObject({ kind: 'planned', plan: { output_bytes: 6000 } });
  const reply = await client.convert(OPTIONS, { kind: 'memory' }, { verify: false });
  if (reply.kind !== 'converted') throw new Error('no decision was open');
  const bytes = new Uint8Array((await reply.blob?.arrayBuffer()) ?? []);
  expect(Buffer.compare(bytes, content.subarray(4000))).toBe(0);
});

test('requests before a file is open fail with their code, the worker stays', async () => {
  const { client, workers } = started();
  await expect(client.plan(OPTIONS)).rejects.toMatchObject({ code: 'wrong_state' });
  await expect(client.tensors(0, 1)).rejects.toMatchObject({ code: 'wrong_state' });
  expect(workers[0]?.terminated).toBe(false);
});

test('a crash throws the worker away, and the next request starts another', async () => {
  const { client, workers } = started({ ...SCRIPT, trap: { job: Job.Convert, window: 2 } });
  await openFiles(client);
  await expect(client.convert(OPTIONS, { kind: 'memory' }, { verify: false })).rejects.toThrow(CoreCrash);
  expect(workers[0]?.terminated).toBe(true);
  await openFiles(client);
  await client.convert(OPTIONS, { kind: 'memory' }, { verify: false });
  expect(workers).toHaveLength(2);
});

test('a worker that cannot start rejects everything that waits', async () => {
  const { client, workers } = started();
  const opening = client.list(FILES);
  const paging = client.tensors(0, 1);
  workers[0]?.fail('blocked by the content security policy');
  await expect(opening).rejects.toMatchObject({
    code: 'core_crash',
    message: 'blocked by the content security policy',
  });
  await expect(paging).rejects.toThrow(CoreCrash);
});

test('cancel rejects the job that runs with its code and leaves the file open', async () => {
  const { client } = started({ windows: { ...SCRIPT.windows, [Job.Convert]: windowsOf(0, 10_000, 1) } });
  await openFiles(client);
  let cancelling: Promise<void> | null = null;
  const onProgress = ({ phase }: Progress): void => {
    if (phase === 'convert') cancelling ??= client.cancel();
  };
  const converting = client.convert(OPTIONS, { kind: 'memory' }, { verify: false, onProgress });
  await expect(converting).rejects.toMatchObject({ code: 'cancelled' });
  await cancelling;
  expect(await client.plan(OPTIONS)).toMatchObject({ kind: 'planned' });
});

test('opening another file ends what runs on the first', async () => {
  const { client } = started({ windows: { ...SCRIPT.windows, [Job.Convert]: windowsOf(0, 10_000, 1) } });
  await openFiles(client);
  const converting = client.convert(OPTIONS, { kind: 'memory' }, { verify: false });
  const outcome = expect(converting).rejects.toMatchObject({ code: 'cancelled' });
  await new Promise((resolve) => setTimeout(resolve, 0));
  await openFiles(client);
  await outcome;
});

test('disposing rejects what waits', async () => {
  const { client, workers } = started();
  const opening = client.list(FILES);
  client.dispose();
  await expect(opening).rejects.toMatchObject({ code: 'cancelled' });
  expect(workers[0]?.terminated).toBe(true);
});

test('a pipeline is weighed component by component, and one of them opened', async () => {
  const { client, workers } = started();
  const given = (path: string) => ({ path, file: new File([content], path) });
  const paths = ['model_index.json', 'unet/model.safetensors', 'vae/model.safetensors'];
  const layout = await client.list(paths.map(given));
  expect(layout.preferred).toBe('model_index.json');
  const reports = await client.weigh('model_index.json');
  expect(reports.map(({ id, report }) => [id, report.verdict])).toEqual([
    ['unet/model.safetensors', 'sound'],
    ['vae/model.safetensors', 'sound'],
  ]);
  await expect(client.tensors(0, 1)).rejects.toMatchObject({ code: 'wrong_state' });
  await client.open('vae/model.safetensors');
  expect(await client.tensors(0, 1)).toHaveLength(1);
  await expect(client.open('none')).rejects.toMatchObject({ code: 'not_found' });
  expect(workers[0]?.module.liveSessions).toBe(0);
});

test('a set is opened with its index; what lies beside it is among the warnings', async () => {
  const { client, workers } = started();
  const index = JSON.stringify({ weight_map: { a: 'x.safetensors', b: 'y.safetensors' } });
  const files = ['x.safetensors', 'y.safetensors', 'z.safetensors'].map((path) => ({
    path,
    file: new File([content], path),
  }));
  const layout = await client.list([...files, { path: 'm.safetensors.index.json', file: new File([index], 'm') }]);
  expect(layout.preferred).toBe('m.safetensors.index.json');
  const report = await client.open('m.safetensors.index.json');
  expect(report.warnings.map(({ where }) => where)).toEqual(['z.safetensors']);
  expect(workers[0]?.module.calls).toContain('addIndex m.safetensors.index.json whole');
});
