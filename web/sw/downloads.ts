// Downloads that are fed chunk by chunk from a page: the browser asks for the next bytes, the page's worker sends
// them. Nothing is kept but the few chunks on their way.
import type { DownloadRequest, FromDownload, Pong, ToDownload, ToServiceWorker } from '../engine/download_protocol';

/** Under the page's own folder; nothing else is answered from there. */
const FOLDER = 'download/';

interface Download {
  request: DownloadRequest;
  body: ReadableStream<Uint8Array>;
}

/** by id; one that was fetched stays known until it ends */
const waiting = new Map<string, Download>();
const alive = new Set<string>();

export function hearDownload(message: ToServiceWorker, port: MessagePort | undefined, scope: URL): void {
  if (port === undefined) return;
  if (message.kind === 'ping') {
    port.postMessage({ known: alive.has(message.id) } satisfies Pong);
    return;
  }
  const { request } = message;
  const over = (): void => {
    alive.delete(request.id);
    waiting.delete(request.id);
  };
  alive.add(request.id);
  waiting.set(request.id, { request, body: streamFrom(port, over) });
  const url = new URL(`${FOLDER}${request.id}/${encodeURIComponent(request.file_name)}`, scope).href;
  port.postMessage({ kind: 'ready', url } satisfies FromDownload);
}

/** The answer to a request below the downloads' folder. Each download is given once. */
export function answerDownload(url: URL, scope: URL): Response | null {
  const folder = new URL(FOLDER, scope);
  if (!url.href.startsWith(folder.href)) return null;
  const id = url.pathname.slice(folder.pathname.length).split('/')[0] ?? '';
  const download = waiting.get(id);
  if (download === undefined) {
    const says = 'This download is over. Open Weighbridge and convert the file again.\n';
    return new Response(says, { status: 404, headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
  }
  waiting.delete(id);
  return new Response(download.body, { headers: headersOf(download.request) });
}

function headersOf({ file_name, size_bytes }: DownloadRequest): Record<string, string> {
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename*=UTF-8''${percentEncoded(file_name)}`,
    'Content-Length': String(size_bytes),
    'Content-Security-Policy': "default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  };
}

/** RFC 8187: encodeURIComponent leaves some characters that mean something there. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function streamFrom(port: MessagePort, over: () => void): ReadableStream<Uint8Array> {
  const inbox: ToDownload[] = [];
  let wake: () => void = () => {};
  const tell = (message: FromDownload): void => port.postMessage(message);
  port.onmessage = ({ data }: MessageEvent<ToDownload>) => {
    inbox.push(data);
    if (data.kind === 'fail') over(); // also when the browser never came for it
    wake();
  };
  const next = async (): Promise<ToDownload> => {
    for (;;) {
      const message = inbox.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  // Without a queue of its own, pull means that the browser wants bytes now.
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const message = await next();
        if (message.kind === 'chunk') {
          controller.enqueue(new Uint8Array(message.buffer));
          tell({ kind: 'took' });
          return;
        }
        if (message.kind === 'fail') {
          controller.error(new Error(message.reason));
          return;
        }
        over();
        controller.close();
        tell({ kind: 'ended' });
      },
      cancel() {
        over();
        tell({ kind: 'cancelled' });
      },
    },
    { highWaterMark: 0 },
  );
}
