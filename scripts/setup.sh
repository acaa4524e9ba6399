#!/usr/bin/env bash
# Installs what is missing and nothing else; with everything there it takes a moment and touches no network.
# Debian packages from scripts/debian-packages.txt, Node >= 20.19 where the machine has an older one, npm packages.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

# ---- Debian packages
missing=()
while read -r package command _; do
  [[ -z $package || $package == \#* ]] && continue
  if [[ -n ${command:-} ]] && command -v "$command" >/dev/null; then continue; fi
  # "ii" and not just known: a removed package leaves its configuration behind.
  [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
done < scripts/debian-packages.txt

if ((${#missing[@]})); then
  say "missing Debian packages: ${missing[*]}"
  if [[ $(id -u) == 0 ]]; then as_root=()
  elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then as_root=(sudo)
  else
    say "neither root nor sudo here; please have somebody run:"
    printf '  apt-get update && apt-get install --no-install-recommends -y %s\n' "${missing[*]}"
    exit 1
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

# ---- Node: Vite needs 20.19 or newer, Debian 12 has 18. A newer one from the npm registry goes into build/node.
new_enough() { "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }
local_node=build/node/bin/node
if ! { [[ -x $local_node ]] && new_enough "$local_node"; } && ! new_enough "$(command -v node)"; then
  case $(uname -m) in
    x86_64) arch=x64 ;;
    aarch64) arch=arm64 ;;
    *) say "this machine's node is $(node --version); please install Node 20.19 or newer by hand"; exit 1 ;;
  esac
  say "node $(node --version) is too old for Vite: putting Node 22 into build/node"
  rm -rf build/node
  mkdir -p build/node/bin
  # npm comes along: Debian's runs only under Debian's node.
  npm install --prefix build/node --no-save --no-audit --no-fund --loglevel=error "node-linux-$arch@22" npm@10
  ln -s "../node_modules/node-linux-$arch/bin/node" build/node/bin/node
  ln -s ../node_modules/npm/bin/npm-cli.js build/node/bin/npm
  ln -s ../node_modules/npm/bin/npx-cli.js build/node/bin/npx
  new_enough "$local_node" || { say "build/node/bin/node does not run"; exit 1; }
fi
[[ -x $local_node ]] && export PATH=$PWD/build/node/bin:$PATH

# ---- npm packages
if [[ ! -f node_modules/.package-lock.json || package-lock.json -nt node_modules/.package-lock.json ]]; then
  say "npm ci"
  npm ci --no-audit --no-fund --loglevel=error
  touch node_modules/.package-lock.json
fi
