#!/usr/bin/env node
// Starts the command line that `make build` bundles from web/cli/main.ts. The core stays a file of its
// own, the same one that the page loads.
import { existsSync } from 'node:fs';

const built = new URL('../../build/cli/main.mjs', import.meta.url);
const coreFolder = new URL('../../build/wasm-release/', import.meta.url);

if (existsSync(built) && existsSync(new URL('weighbridge_core.wasm', coreFolder))) {
  const { main } = await import(built.href);
  process.exitCode = await main(process.argv.slice(2), coreFolder);
} else {
  process.stderr.write('weighbridge is not built yet: run `make build` first\n');
  process.exitCode = 1;
}
