#!/usr/bin/env bash
# Every C file reads as clang-format writes it. "clang-format-19 -i FILE" mends one.
set -euo pipefail
cd "$TENON_SOURCE"
find runtime tir te schedule codegen autotune profile tools tests benchmarks examples -name '*.[ch]' 2>/dev/null |
  xargs clang-format-19 --dry-run --Werror
