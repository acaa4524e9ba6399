// The page's side of the service worker: starts it, and stands between it and the engine's worker while a download
// is fed.
import type { ToPage } from '../engine/download_protocol';

let registered: Promise<ServiceWorkerRegistration> | null = null;

/** Never throws: without a service worker the page works too, only not without a network. */
export function startServiceWorker(): void {
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  registered = navigator.serviceWorker.register('./service_worker.js');
  registered.catch(() => {});
}

/** Whether downloads can be fed here. The first visit waits until the service worker is ready. */
export async function feedsDownloads(): Promise<boolean> {
  try {
    return (await active()) !== null;
  } catch {
    return false;
  }
}

/** A port for the engine's download sink. The download stands in a frame of its own, since the page must stay. */
export async function downloadPort(): Promise<MessagePort> {
  const worker = await active();
  const { port1, port2 } = new MessageChannel();
  const frame = document.createElement('iframe');
  frame.hidden = true;
  port1.onmessage = ({ data, ports }: MessageEvent<ToPage>) => {
    if (data.kind === 'forward') worker?.postMessage(data.message, [...ports]);
    if (data.kind === 'fetch') {
      frame.src = data.url;
      document.body.append(frame);
    }
    if (data.kind === 'over') {
      port1.close();
      frame.remove();
    }
  };
  return port2;
}

async function active(): Promise<ServiceWorker | null> {
  if (registered === null) return null;
  await registered;
  return (await navigator.serviceWorker.ready).active;
}
