#!/usr/bin/env bash
# clang-tidy over the core, two files at a time. A file that passed is not looked at again until it, a header or
# the rules change. Needs build/native-debug/compile_commands.json.
set -euo pipefail
cd "$(dirname "$0")/.."

stamps=build/tidy
mkdir -p "$stamps"
# The newest of everything that any file may include.
newest=$(find src .clang-tidy -name '*.h' -printf '%T@ %p\n' -o -name '*.inc' -printf '%T@ %p\n' -o -name .clang-tidy -printf '%T@ %p\n' |
  sort -n | tail -1 | cut -d' ' -f2-)

check() {
  local file=$1 stamp=$stamps/${1//\//_}.ok
  [[ $stamp -nt $file && $stamp -nt $newest ]] && return 0
  if ! clang-tidy -p build/native-debug --quiet "$file" >"$stamp.log" 2>&1; then
    # without the noise about warnings suppressed in system headers
    grep -vE '^[0-9]+ warnings?( and [0-9]+ errors?)? generated|^Suppressed|^Use -header-filter' "$stamp.log"
    return 1
  fi
  touch "$stamp"
}
export -f check
export stamps newest

# src/wasm needs emscripten's headers, which this compiler does not have.
files=$(find src -name '*.cpp' -not -path 'src/wasm/*' | sort)
xargs -P2 -I{} bash -c 'check {}' <<<"$files" || { echo "clang-tidy: see above" >&2; exit 1; }
echo "clang-tidy: $(wc -l <<<"$files") files, no findings"
