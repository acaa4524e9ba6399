// The service worker: the page works without a network, and downloads can be fed from memory. It sees no bytes of a
// checkpoint but those of a download on their way, and touches no request to another origin.
import type { ToServiceWorker } from '../engine/download_protocol';
import { answerDownload, hearDownload } from './downloads';
import { answerFromBuild, forgetOlderBuilds, keepBuild } from './offline';

interface LastingEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface FetchEvent extends Event {
  readonly request: Request;
  respondWith(response: Response | Promise<Response>): void;
}
interface Scope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: { claim(): Promise<void> };
  addEventListener(kind: 'install' | 'activate', listener: (event: LastingEvent) => void): void;
  addEventListener(kind: 'fetch', listener: (event: FetchEvent) => void): void;
  addEventListener(kind: 'message', listener: (event: MessageEvent<ToServiceWorker>) => void): void;
}

const scope = globalThis as unknown as Scope;

scope.addEventListener('install', (event) => event.waitUntil(keepBuild()));
scope.addEventListener('activate', (event) =>
  event.waitUntil(Promise.all([forgetOlderBuilds(), scope.clients.claim()])),
);
scope.addEventListener('message', ({ data, ports }) => hearDownload(data, ports[0], here()));
scope.addEventListener('fetch', (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== 'GET' || !url.href.startsWith(here().href)) return;
  event.respondWith(answerDownload(url, here()) ?? answerFromBuild(request));
});

function here(): URL {
  return new URL(scope.registration.scope);
}
