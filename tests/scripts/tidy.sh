#!/usr/bin/env bash
# clang-tidy finds nothing in the library and the command, with the checks of .clang-tidy; half a minute of one core.
set -euo pipefail
cd "$TENON_SOURCE"
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing: scripts/setup installs it"; exit 1; }
# omp.h is the C compiler's, in its own dialect, and stands alone in a folder: clang has the other headers, and its stdatomic.h takes the
# next one that it finds.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$("${CC:-cc}" -print-file-name=include/omp.h)" "$folder"
omp=-idirafter$folder
found=$(find runtime tir te schedule codegen autotune tools -name '*.c' |
  xargs -P2 -n16 clang-tidy-19 -p "$TENON_BUILD" --quiet --extra-arg="$omp" --extra-arg="-D__malloc__(...)=__malloc__" --checks='-clang-analyzer-*' 2>/dev/null |
  grep -E '(warning|error): .*\[[a-z]' | sort -u || true)
[ -z "$found" ] || { echo "$found"; exit 1; }
