#!/usr/bin/env bash
# Every C file reads as clang-format writes it. "clang-format-19 -i FILE" mends one.
set -euo pipefail
cd "$TENON_SOURCE"
find . -path "./build*" -prune -o -path ./.git -prune -o -name "*.[ch]" -print |
  xargs clang-format-19 --dry-run --Werror
