#!/usr/bin/env bash
# clang-tidy finds nothing in the library and the command, with the checks of .clang-tidy; half a minute of one core.
# With TENON_ANALYZE (make analyze) the static analyzer instead, which follows paths: ten minutes of one core. It reads
# assertions, also where the build leaves them out, as what the code's own rules exclude.
set -euo pipefail
cd "$TENON_SOURCE"
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing: scripts/setup installs it"; exit 1; }
# omp.h is the C compiler's, in its own dialect; clang has the other headers, and must not meet the compiler's.
omp=$(mktemp -d)
trap 'rm -rf "$omp"' EXIT
ln -s "$("${CC:-cc}" -print-file-name=include/omp.h)" "$omp/omp.h"
checks='-clang-analyzer-*' processes=2
if [ -n "${TENON_ANALYZE:-}" ]; then
  checks='-*,clang-analyzer-*,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling'
  checks+=',-clang-analyzer-optin.performance.Padding' processes=$(nproc)
fi
found=$(find runtime tir te schedule codegen autotune profile tools -name '*.c' |
  xargs -P"$processes" -n8 clang-tidy-19 -p "$TENON_BUILD" --quiet --extra-arg="-idirafter$omp" --extra-arg=-Wno-error \
    --extra-arg="-D__malloc__(...)=__malloc__" ${TENON_ANALYZE:+--extra-arg=-UNDEBUG} --checks="$checks" 2>/dev/null |
  grep -E '(warning|error): .*\[[a-z]' | sort -u || true)
[ -z "$found" ] || { echo "$found"; exit 1; }
