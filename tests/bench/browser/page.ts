// What tests/bench/browser_bench.mjs calls in each browser: one conversion by the engine, or one run of the pump.
import { makeClient } from '../../../web/app/engine_client';
import { downloadPort, feedsDownloads, startServiceWorker } from '../../../web/app/service_worker';
import { removeOpfs } from '../../../web/engine/opfs';
import type { SinkRequest } from '../../../web/engine/protocol';
import type { PumpRequest } from './pump';

type Way = 'opfs' | 'picker' | 'download';

const client = makeClient();
const OUTPUT = 'bench.safetensors';

function chosen(): File {
  const file = document.querySelector<HTMLInputElement>('input')?.files?.[0];
  if (!file) throw new Error('no file was chosen');
  return file;
}

/** A private file stands for a picked one: headless there is no dialog. Only the check at its end is missing. */
async function sinkOf(way: Way): Promise<SinkRequest> {
  if (way === 'opfs') return { kind: 'opfs', name: OUTPUT };
  if (way === 'download') return { kind: 'download', name: OUTPUT, page: await downloadPort() };
  const root = await navigator.storage.getDirectory();
  return { kind: 'picker', handle: await root.getFileHandle(OUTPUT, { create: true }) };
}

async function clean(way: Way): Promise<void> {
  if (way !== 'download') await removeOpfs(OUTPUT);
}

const bench = {
  /** milliseconds from the chosen file to its report */
  async open(): Promise<number> {
    const begun = performance.now();
    const file = chosen();
    const layout = await client.list([{ path: file.name, file }]);
    await client.open(layout.preferred ?? '');
    return performance.now() - begun;
  },

  async convert(way: Way, verify: boolean): Promise<{ ms: number; bytes: number; phases: Record<string, number> }> {
    const sink = await sinkOf(way);
    const phases: Record<string, number> = {};
    const begun = performance.now();
    const reply = await client.convert({ to: 'bf16', others: 'keep', assume: {} }, sink, {
      verify,
      onProgress: ({ phase }) => {
        phases[phase] ??= performance.now() - begun;
      },
    });
    const ms = performance.now() - begun;
    await clean(way);
    if (reply.kind !== 'converted') throw new Error('questions');
    return { ms, bytes: reply.receipt.output_bytes, phases };
  },

  async pump(way: Way, settings: Pick<PumpRequest, 'outputBytes' | 'read' | 'readBytes' | 'writeBytes'>): Promise<number> {
    const sink = await sinkOf(way);
    const worker = new Worker(new URL('./pump.ts', import.meta.url), { type: 'module' });
    const ms = await new Promise<number>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<number | string>) =>
        typeof data === 'number' ? resolve(data) : reject(new Error(data));
      worker.onerror = (event) => reject(new Error(event.message));
      const request: PumpRequest = { file: chosen(), sink, ...settings };
      worker.postMessage(request, sink.kind === 'download' ? [sink.page] : []);
    });
    worker.terminate();
    await clean(way);
    return ms;
  },

  /** The yardstick of a header: what the engine's own parser takes. */
  async parseJson(): Promise<number> {
    const file = chosen();
    const length = new DataView(await file.slice(0, 8).arrayBuffer()).getUint32(0, true);
    const text = await file.slice(8, 8 + length).text();
    const begun = performance.now();
    JSON.parse(text);
    return performance.now() - begun;
  },
};

declare global {
  interface Window {
    bench: typeof bench;
  }
}

startServiceWorker();
await feedsDownloads();
window.bench = bench;
