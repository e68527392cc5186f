#!/usr/bin/env bash
# The binary interface of libtenon.so against the last tag's, by abidiff (libabigail): within a minor version nothing that a program uses may go or
# change (docs/command.md, What stays as it is). Where there is no tag, no repository or no abidiff, that is said and nothing is compared.
. "$(dirname "$0")/common.bash"
skip() {
  echo "$1: the binary interface is not compared"
  exit 0
}
command -v abidiff >/dev/null || skip "no abidiff (apt-get install abigail-tools)"
tag=$(git -C "$TENON_SOURCE" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null) || skip "no tag such as v0.1.0"
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" || skip "an instrumented build"

git clone -q --shared "$TENON_SOURCE" old
git -C old checkout -q "$tag"
cmake -S old -B old/build -G Ninja -DCMAKE_BUILD_TYPE=Release >log 2>&1 && cmake --build old/build --target libtenon.so >>log 2>&1 ||
  { tail -5 log; skip "$tag does not build here"; }
version() { sed -n 's/^project(.*VERSION \([0-9]*\.[0-9]*\).*/\1/p' "$1/CMakeLists.txt"; }

got=0
abidiff --no-added-syms --headers-dir1 old/build/include --headers-dir2 "$TENON_BUILD/include" old/build/libtenon.so \
  "$TENON_BUILD/libtenon.so" >report 2>err || got=$?
[ $((got & 3)) -eq 0 ] || { complain "abidiff fails: $(cat err)"; exit 1; }
if [ $((got & 12)) -eq 0 ]; then
  echo "the binary interface of $tag is kept"
elif [ "$(version old)" = "$(version "$TENON_SOURCE")" ]; then
  cat report
  complain "the binary interface of $tag has changed within a minor version"
else
  cat report
  echo "the binary interface of $tag has changed, with the minor version: CHANGELOG.md says what to write instead"
fi
exit $status
