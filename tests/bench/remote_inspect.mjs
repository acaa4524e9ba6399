// One inspection of a repo by the library that `make cli` builds, timed from the address to the report.
import { findInput, loadCore, Checkpoint } from '../../build/cli/library.mjs';

const [endpoint, repo] = process.argv.slice(2);
const core = await loadCore(new URL('../../build/wasm-release/', import.meta.url));
const begun = performance.now();
const found = await findInput(core, [`hf://${repo}`], undefined, { endpoint, tokenFile: undefined });
const checkpoint = await Checkpoint.open(core, await found.parts[0].open());
const report = checkpoint.report();
const ms = performance.now() - begun;
await checkpoint.close();
const { verdict, tensor_count: tensors, traffic, sources } = report;
console.log(JSON.stringify({ ms, report: { verdict, tensors, traffic, sources: sources.length } }));
