#!/usr/bin/env bash
# A host links Tenon statically with the flags that pkg-config gives.
set -euo pipefail
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TENON_BUILD" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
rm "$work"/prefix/lib*/libtenon.so* "$work"/prefix/lib*/*/libtenon.so* 2>/dev/null || true
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tenon.pc)")
export PKG_CONFIG_PATH
cat >"$work/host.c" <<'C'
int run_plugin(void);
int main(void) { return run_plugin(); }
C
# shellcheck disable=SC2046 # flags are lists
cc -O1 "$work/host.c" "$TENON_SOURCE/tests/embed/plugin.c" -I"$TENON_SOURCE/tests/embed" -o "$work/host" \
  $(pkg-config --static --cflags --libs tenon)
if ldd "$work/host" | grep libtenon; then
  echo "the host is not linked statically"
  exit 1
fi
"$work/host"
