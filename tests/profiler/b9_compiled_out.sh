#!/usr/bin/env bash
# Row B9: with TN_PROFILE_OFF an object file has no symbol of the profiler; without it, it has (so the check can fail).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/scopes.c" <<'END'
#include "runtime/profiler/profiler.h"
int work(int n) {
  TN_SCOPE_AS(scope, MEASURE, 2, "measure");
  TN_EVENT_ARG(scope, tn_event_arg_i64("n", n));
  TN_TIMED("inner");
  return n + 1;
}
END
compile() { ${CC:-cc} -std=c17 -O2 -Wall -Wextra -Werror -I"$TENON_SOURCE" "$@" -c "$folder/scopes.c" -o "$folder/scopes.o"; }
compile
nm "$folder/scopes.o" | grep -q tn_scope_open
compile -DTN_PROFILE_OFF
if nm "$folder/scopes.o" | grep -i 'tn_\|scope\|profile'; then
  echo "symbols of the profiler in what was compiled without it"
  exit 1
fi
