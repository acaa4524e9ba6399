// What a download sink (in the engine's worker), the page and the service worker say to each other. The worker
// cannot reach a service worker itself, so it speaks through a port to the page, which passes messages on.

export interface DownloadRequest {
  /** nobody can guess it: only who made it may fetch it */
  id: string;
  file_name: string;
  size_bytes: number;
}

/** Worker to page: hand `message` and its ports to the service worker, or let the browser fetch the download. */
export type ToPage = { kind: 'forward'; message: ToServiceWorker } | { kind: 'fetch'; url: string } | { kind: 'over' };

export type ToServiceWorker =
  /** with the port of the bytes */
  | { kind: 'open'; request: DownloadRequest }
  /** with a port for the Pong; keeps the service worker alive */
  | { kind: 'ping'; id: string };

/** A service worker that was ended and started anew knows no downloads of before. */
export interface Pong {
  known: boolean;
}

/** On the port of the bytes. Buffers are transferred. */
export type ToDownload = { kind: 'chunk'; buffer: ArrayBuffer } | { kind: 'end' } | { kind: 'fail'; reason: string };

export type FromDownload =
  /** waits for the browser to ask for this address */
  | { kind: 'ready'; url: string }
  /** the browser took a chunk: there is room for one more */
  | { kind: 'took' }
  /** the browser took everything and the stream is closed */
  | { kind: 'ended' }
  | { kind: 'cancelled' };
