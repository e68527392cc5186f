#!/usr/bin/env bash
# A C program that uses the profiler's public headers alone links with libtenon_profiler, shared and static; and the shared
# one needs neither LLVM nor XGBoost and exports nothing but tn_ names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$TENON_BUILD/libtenon_profiler
if ldd "$library.so" | grep -i 'llvm\|xgboost'; then
  echo "libtenon_profiler.so needs the compiler"
  exit 1
fi
if nm -D --defined-only "$library.so" | awk '{print $3}' | grep -v '^tn_'; then
  echo "libtenon_profiler.so exports more than tn_"
  exit 1
fi
cat > "$folder/alone.c" <<'END'
#include <stdio.h>
#include <tenon/profiler.h>
int main(void) {
  tn_context *ctx = tn_context_new(NULL);
  if (tn_profile_start(ctx, NULL) != TN_OK) return 1;
  for (int i = 0; i < 3; ++i) {
    TN_TIMED("work");
  }
  if (tn_profile_stop(ctx) != TN_OK) return 2;
  tn_recording *r = tn_profile_collect(ctx);
  int64_t n = 0;
  tn_recording_events(r, &n);
  printf("%lld events\n", (long long)n);
  tn_recording_free(r);
  tn_context_free(ctx);
  return n == 3 ? 0 : 3;
}
END
if grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then
  compile=(cc -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$TENON_BUILD/include" "$folder/alone.c" -o)
  "${compile[@]}" "$folder/shared" -L"$TENON_BUILD" -ltenon_profiler "-Wl,-rpath,$TENON_BUILD"
  "$folder/shared" | grep -qx '3 events'
  libraries=$(ldd "$library.so" | awk '/=> \// && !/libc\.so/ {print $3}')
  # shellcheck disable=SC2086
  "${compile[@]}" "$folder/static" "$library.a" $libraries -lpthread
  "$folder/static" | grep -qx '3 events'
fi
