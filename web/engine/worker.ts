// The worker's message switch. Start it with
//   new Worker(new URL('../engine/worker.ts', import.meta.url), { type: 'module' })
import createCore from '@core/weighbridge_core.mjs';
import wasmUrl from '@core/weighbridge_core.wasm?url';
import { Engine, type Handlers } from './engine';
import { CoreCrash, toCoreError } from './errors';
import { Core } from './heap';
import type { FromWorker, Progress, ToWorker } from './protocol';

interface WorkerScope {
  postMessage(message: FromWorker): void;
  addEventListener(kind: 'message', listener: (event: MessageEvent<ToWorker>) => void): void;
}

const scope = globalThis as unknown as WorkerScope;
const engine = new Engine(loadCore);

scope.addEventListener('message', ({ data: request }) => {
  void answer(request);
});

async function answer(request: ToWorker): Promise<void> {
  const { id } = request;
  const onProgress = (progress: Progress): void => scope.postMessage({ kind: 'progress', id, progress });
  try {
    const value = await dispatch(engine, request, onProgress);
    scope.postMessage({ kind: 'reply', id, ok: true, value });
  } catch (thrown) {
    scope.postMessage({ kind: 'reply', id, ok: false, error: toCoreError(thrown).toObject() });
  }
}

function dispatch(to: Handlers, request: ToWorker, onProgress: (progress: Progress) => void): Promise<unknown> {
  switch (request.kind) {
    case 'list':
      return to.list(request, onProgress);
    case 'locate':
      return to.locate(request, onProgress);
    case 'weigh':
      return to.weigh(request, onProgress);
    case 'open':
      return to.open(request, onProgress);
    case 'ram':
      return to.ram(request, onProgress);
    case 'tensors':
      return to.tensors(request, onProgress);
    case 'pairs':
      return to.pairs(request, onProgress);
    case 'preview':
      return to.preview(request, onProgress);
    case 'plan':
      return to.plan(request, onProgress);
    case 'convert':
      return to.convert(request, onProgress);
    case 'unfinished':
      return to.unfinished(request, onProgress);
    case 'planPipeline':
      return to.planPipeline(request, onProgress);
    case 'convertPipeline':
      return to.convertPipeline(request, onProgress);
    case 'check':
      return to.check(request, onProgress);
    case 'room':
      return to.room(request, onProgress);
    case 'cancel':
      return to.cancel(request, onProgress);
  }
}

async function loadCore(): Promise<Core> {
  const response = await fetch(wasmUrl);
  if (!response.ok) throw new CoreCrash(`the core could not be loaded: ${response.status} for ${wasmUrl}`);
  return Core.load(createCore, await response.arrayBuffer());
}
