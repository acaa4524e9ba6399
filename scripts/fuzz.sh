#!/usr/bin/env bash
# Runs every libFuzzer target of build/fuzz for some seconds, starting from the test data. A finding is left in
# build/fuzz/findings and fails the run.
#   fuzz.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
mkdir -p build/fuzz/findings build/fuzz/corpus
# libFuzzer does not look into folders of folders
mapfile -t seeds < <(find tests/vectors tests/cases tests/golden build/examples \( -name "*.safetensors" -o -name "*.index.json" \) -printf "%h\n" 2>/dev/null | sort -u)
found=0 ran=0
for source in tests/fuzz/*_fuzz.cpp; do
  [[ -e $source ]] || { echo "no fuzz target in tests/fuzz" >&2; exit 1; }
  name=$(basename "$source" .cpp)
  mkdir -p "build/fuzz/corpus/$name"
  echo "== $name, $seconds s"
  ran=$((ran + 1))
  # -max_len: the interesting part of a file is its header.
  "build/fuzz/$name" -max_total_time="$seconds" -max_len=20000 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/findings/ "build/fuzz/corpus/$name" "${seeds[@]}" 2>build/fuzz/"$name".log || found=$((found + 1))
  grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)|ERROR|SUMMARY' "build/fuzz/$name.log" || true
done
echo "fuzz: $((ran - found)) passed, $found failed"
exit $((found > 0))
