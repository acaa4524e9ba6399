// The same core as the page's. Its glue is built for the web and for workers only (a Node build of
// Emscripten 3.1.6 does not load as an ES module), which is enough when the wasm is handed to it.
import { readFile } from 'node:fs/promises';
import type { CoreFactory } from '../engine/core';
import { Core } from '../engine/heap';

export async function loadCore(folder: URL): Promise<Core> {
  const [wasm, glue] = await Promise.all([
    readFile(new URL('weighbridge_core.wasm', folder)),
    import(/* @vite-ignore */ new URL('weighbridge_core.mjs', folder).href),
  ]);
  return Core.load((glue as { default: CoreFactory }).default, wasm);
}
