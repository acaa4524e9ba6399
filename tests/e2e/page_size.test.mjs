// What a browser fetches before the first file is opened, as brotli: no more than 250 kB.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { openPage, ROOT, scratchFolder } from './browser.mjs';

const PAGE_BYTES_MAX = 250_000;
const folder = scratchFolder();
let session;
after(async () => {
  await session?.close();
  folder.clean();
});

const brotliBytes = (name) => brotliCompressSync(readFileSync(join(ROOT, 'build/page', name))).length;

test('the page is small before a file is opened, and the core is not part of that', async () => {
  session = await openPage(folder.path);
  const { page, url } = session;
  await page.waitForSelector('[data-testid="file-input"]');
  // what the page asks for itself; the service worker fetches the rest afterwards, for when there is no network
  const fetched = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
  const names = ['index.html', ...fetched.map((name) => name.slice(url.length))];
  assert.ok(names.some((name) => name.endsWith('.js')) && names.some((name) => name.endsWith('.css')), names.join());
  assert.ok(!names.some((name) => name.endsWith('.wasm') || name.includes('worker-')), names.join());
  const bytes = names.reduce((sum, name) => sum + brotliBytes(name), 0);
  const core = (await page.evaluate(() => fetch('./service_worker.js').then((answer) => answer.text()))).match(
    /assets\/weighbridge_core-[^"]+\.wasm/,
  )[0];
  console.log(
    `  ${(bytes / 1000).toFixed(1)} kB of brotli in ${names.length} files; the core ${(brotliBytes(core) / 1000).toFixed(1)} kB`,
  );
  assert.ok(bytes <= PAGE_BYTES_MAX, `${bytes} bytes`);
});
