#!/usr/bin/env bash
# @huggingface/hub and hf-mem on our fixtures, from the test server. Needs npm and PyPI; everything goes to build/peers.
set -euo pipefail
cd "$(dirname "$0")/../../.."
peers=build/peers
mkdir -p "$peers"
[[ -f $peers/package.json ]] || echo '{"private": true}' > "$peers/package.json"
npm install --prefix "$peers" --no-audit --no-fund --silent @huggingface/hub@2.17.5
[[ -x $peers/venv/bin/python ]] || python3 -m venv "$peers/venv"
"$peers/venv/bin/pip" install -q hf-mem==0.5.6
node tests/conformance/remote/peers.mjs
