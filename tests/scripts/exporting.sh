#!/usr/bin/env bash
# docs/exporting.md is followed from top to bottom: its blocks `LANGUAGE file=NAME` are written, its blocks `sh` are run.
# A block `sh needs=PROGRAM,...` is left out, with a word, where a program is missing; needs=installed installs to $PREFIX.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
if ! grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then exit 0; fi
mkdir bin && ln -s "$TENON" bin/tenon
PATH=$work/bin:$PATH
export PREFIX=$work/prefix

# has NEEDS: whether all of them are there.
has() {
  local need
  for need in ${1//,/ }; do
    if [ "$need" = installed ]; then
      cmake --install "$TENON_BUILD" --prefix "$PREFIX" >install.log || { cat install.log; exit 1; }
    elif ! command -v "$need" >/dev/null; then
      echo "left out: $need is not installed (scripts/setup does it)"
      return 1
    fi
  done
}

# Writes the blocks of the page as block.1, block.2 ..., each with its first line.
awk '/^```/ && on { on = 0; next } /^```./ { n++; on = 1; print substr($0, 4) > ("block." n); next }
     on { print > ("block." n) }' "$TENON_SOURCE/docs/exporting.md"
n=0
for ((i = 1; ; i++)); do
  [ -f "block.$i" ] || break
  first=$(head -1 "block.$i")
  tail -n +2 "block.$i" >block
  case $first in
    *" file="*) cp block "${first#* file=}" ;;
    sh | "sh needs="*)
      if [ "$first" != sh ]; then has "${first#sh needs=}" || continue; fi
      n=$((n + 1))
      bash -e block >out 2>&1 || complain "block $i: status $?: $(cat block out)"
      ;;
  esac
done
[ "$n" -ge 4 ] || complain "only $n blocks were run"
exit $status
