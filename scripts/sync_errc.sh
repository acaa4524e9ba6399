#!/usr/bin/env bash
# Writes the code list of web/engine/errors.ts from src/base/errc.inc, the one list of failures.
# tests/web/errors.test.ts fails when the two differ.
set -euo pipefail
cd "$(dirname "$0")/.."
codes=$(grep -oE '^WB_ERRC\([a-z0-9_]+' src/base/errc.inc | sed -E "s/WB_ERRC\((.*)/  '\1',/")
awk -v codes="$codes" '
  /^export const ERROR_CODES = \[/ { print; print codes; skipping = 1; next }
  /^\] as const;/ { skipping = 0 }
  !skipping { print }
' web/engine/errors.ts > web/engine/errors.ts.new
mv web/engine/errors.ts.new web/engine/errors.ts
