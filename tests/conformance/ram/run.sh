#!/usr/bin/env bash
# Runs every way of loading that runs on this machine and compares its memory with what COMMAND predicts; renews
# docs/ram-calibration.md.     run.sh -- COMMAND [ARGUMENT ...]
# Needs PyPI once, 8 GB of disk and 10 GB of free memory.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
root=$(readlink -f "$here/../../..")
venv=$root/build/venv-ram
"$here/../venv.sh"
if [[ ! $venv/.complete -nt $here/requirements.txt ]]; then
  "$root/build/venv/bin/python" -m venv "$venv"
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$root/build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/zz_base.pth"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
  touch "$venv/.complete"
fi
[[ $# -gt 1 && $1 == -- ]] || { sed -n 2,4p "$0"; exit 2; }
exec "$venv/bin/python" "$here/calibrate.py" --write "$root/docs/ram-calibration.md" "$@"
