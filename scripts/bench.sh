#!/usr/bin/env bash
# GB/s of every kernel, native and as wasm in Node; the latter into build/bench.json and build/bench.md too.
# Arguments: parts of kernel names.
set -euo pipefail
cd "$(dirname "$0")/.."
[[ -f build/native-release/build.ninja ]] || cmake --preset native-release >/dev/null
[[ -f build/wasm-release/build.ninja ]] || NODE_PATH=/usr/share/nodejs cmake --preset wasm-release >/dev/null
cmake --build --preset native-release --target wb_kernels_bench
NODE_PATH=/usr/share/nodejs cmake --build --preset wasm-release --target wb_kernels_bench
echo "== native"
build/native-release/wb_kernels_bench "$@"
echo "== wasm, node $(node --version)"
node tests/bench/kernels.mjs "$@"
