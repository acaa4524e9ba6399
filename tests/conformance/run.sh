#!/usr/bin/env bash
# Compares conversions with torch and safetensors themselves, on a real model.
# Needs PyPI once (venv.sh).
#   run.sh [--write-golden] -- COMMAND [ARGUMENT ...]
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
"$here/venv.sh"
exec "$here/../../build/venv/bin/python" "$here/conformance.py" "$@"
