#!/usr/bin/env bash
# GB/s of every kernel as wasm in Node, into build/bench.json and build/bench.md. Arguments: parts of kernel names; without
# any the vector kernels and the tiles are measured, not the scalar references, which are there to be compared with.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -f build/wasm-release/build.ninja ]] || NODE_PATH=/usr/share/nodejs cmake --preset wasm-release >/dev/null
NODE_PATH=/usr/share/nodejs cmake --build --preset wasm-release --target wb_kernels_bench
[[ $# -gt 0 ]] || set -- simd128 gptq awq affine
node tests/bench/kernels.mjs "$@"
