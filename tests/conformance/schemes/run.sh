#!/usr/bin/env bash
# Makes tests/golden/schemes anew, every golden by its scheme's own tool; then compares it with COMMAND.
#   run.sh [MAKER ...] -- COMMAND [ARGUMENT ...]      MAKER: compressed_tensors, comfy_kitchen, ... (all of them by default)
# Needs PyPI once, about 0.6 GB in build/venv-schemes.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
build=$(readlink -f "$here/../../../build")
venv=$build/venv-schemes
"$here/../venv.sh"
old=$venv/compressed-tensors-0.12.2
if [[ ! $venv/.complete -nt $here/requirements.txt ]]; then
  "$build/venv/bin/python" -m venv "$venv"
  site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  "$build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$site/zz_base.pth"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.txt"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$old" compressed-tensors==0.12.2
  # GPTQModel's metadata is refused by setuptools, after pip has unpacked the sdist: its files are read from there.
  rm -rf "$venv/gptqmodel" "$venv/unpacked" && mkdir "$venv/unpacked"
  TMPDIR=$venv/unpacked "$venv/bin/pip" download --quiet --disable-pip-version-check --no-clean --no-deps --no-build-isolation \
    --no-binary :all: --dest "$venv/unpacked" gptqmodel==7.7.0 > "$venv/gptqmodel.log" 2>&1 || true
  mv "$venv"/unpacked/pip-download-*/gptqmodel_* "$venv/gptqmodel"
  touch "$venv/.complete"
fi
makers=()
while [[ $# -gt 0 && $1 != -- ]]; do makers+=("$1"); shift; done
[[ $# -gt 1 ]] || { sed -n 2,4p "$0"; exit 2; }
shift
if [[ ${#makers[@]} -eq 0 ]]; then
  makers=(compressed_tensors compressed_tensors_order comfy_kitchen convert_to_quant bitsandbytes modelopt transformers gptq gptqmodel
    auto_round awq torchao optimum_quanto hqq)
fi
for maker in "${makers[@]}"; do
  path=
  [[ $maker == compressed_tensors_order ]] && path=$old
  PYTHONPATH=$path nice -n 10 "$venv/bin/python" "$here/${maker}_goldens.py"
done
exec python3 "$here/../../golden/schemes/check.py" "$@"
