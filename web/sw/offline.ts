// The page without a network: every file of the build is kept at the first visit. Names with a hash in them never
// change, so a kept one is as good as a new one; the page itself is asked for anew whenever there is a network.

/** Written by the build (vite.config.ts): the files, and a word that changes with any of them. */
declare const __BUILT__: { version: string; files: string[] };

const PREFIX = 'weighbridge-';
const CACHE = PREFIX + __BUILT__.version;

export async function keepBuild(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(__BUILT__.files.map((file) => new Request(`./${file}`, { cache: 'no-cache' })));
}

export async function forgetOlderBuilds(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
}

export async function answerFromBuild(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  if (request.mode === 'navigate') return fetch(request).catch(async (failed) => (await page(cache)) ?? raise(failed));
  return (await cache.match(request)) ?? fetch(request);
}

function page(cache: Cache): Promise<Response | undefined> {
  return cache.match('./index.html');
}

function raise(failed: unknown): never {
  throw failed;
}
