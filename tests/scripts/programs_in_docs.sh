#!/usr/bin/env bash
# Every C program shown in README.md and docs/ (a block with a main) compiles without a warning and runs with status 0.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=""
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" ||
  flags=-fsanitize=$(sed -n 's/^TENON_SANITIZE:STRING=//p' "$TENON_BUILD/CMakeCache.txt")

# Writes the blocks of a page to NAME.1.c, NAME.2.c, ...
extract() {
  awk -v base="$2" '/^```c$/ { n++; out = base "." n ".c"; on = 1; next } /^```/ { on = 0 } on { print > out }' "$1"
}

count=0
for page in "$TENON_SOURCE"/README.md "$TENON_SOURCE"/docs/*.md; do
  extract "$page" "$work/$(basename "$page" .md)"
done
for source in "$work"/*.c; do
  grep -q 'int main(' "$source" || continue
  # shellcheck disable=SC2086 # flags is a list
  cc -std=c17 -Wall -Wextra -Werror $flags -I"$TENON_BUILD/include" "$source" -o "$source.out" -L"$TENON_BUILD" -ltenon_profile -ltenon
  LD_LIBRARY_PATH=$TENON_BUILD "$source.out"
  count=$((count + 1))
done
echo "$count programs"
[ "$count" -ge 1 ]
