#!/usr/bin/env bash
# A host links Tenon statically with the flags that pkg-config gives.
set -euo pipefail
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TENON_BUILD" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
find "$work/prefix" -name 'libtenon*.so*' -delete
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

# So do programs that only record and report: beside the compiler, and without it.
cat >"$work/report.c" <<'C'
#include <stdlib.h>
#include <tenon/profiler_files.h>
int main(void) {
  tn_context *ctx = tn_context_new(NULL);
  if (tn_profile_start(ctx, NULL) != TN_OK || tn_profile_stop(ctx) != TN_OK) return 1;
  tn_recording *r = tn_profile_collect(ctx);
  char *page = tn_recording_write(ctx, r, TN_FORM_HTML, NULL);
  int status = page == NULL;
  free(page);
  tn_recording_free(r);
  tn_context_free(ctx);
  return status;
}
C
for package in tenon tenon_profile tenon_profiler; do
  # shellcheck disable=SC2046 # flags are lists
  cc -O1 "$work/report.c" -o "$work/report" $(pkg-config --static --cflags --libs "$package")
  "$work/report"
done
