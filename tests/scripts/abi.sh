#!/usr/bin/env bash
# The binary interfaces of libtenon.so and libtenon_profiler.so against those that tests/abi keeps for this minor version, by abidiff
# (libabigail): within a minor version nothing that a program uses may go or change (docs/command.md, What stays as it is).
# `make abi` writes what is kept, when it was meant to change.
. "$(dirname "$0")/common.bash"
skip() {
  echo "$1: the binary interface is not compared"
  exit 0
}
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" && grep -q '^TENON_INSTRUMENT:BOOL=OFF$' "$TENON_BUILD/CMakeCache.txt" ||
  skip "an instrumented build"
[ "$(uname -m)" = x86_64 ] || skip "a machine of another kind than the one that is kept"
for program in abidiff abidw xz; do
  command -v $program >/dev/null || { complain "no $program: apt-get install abigail-tools xz-utils"; exit 1; }
done
version=$(sed -n 's/^project(.*VERSION \([0-9]*\.[0-9]*\).*/\1/p' "$TENON_SOURCE/CMakeLists.txt")
kept=$TENON_SOURCE/tests/abi/$version

# describe LIBRARY: its interface as XML, without what says where it was built.
describe() {
  abidw --headers-dir "$TENON_BUILD/include" --no-corpus-path --no-comp-dir-path --no-elf-needed --drop-undefined-syms \
    --drop-private-types --type-id-style hash "$TENON_BUILD/$1.so" | sed "s|path='[^']*/|path='|"
}

# changes OLD LIBRARY: what a program that was linked before would meet; status 0: nothing.
changes() {
  local got=0
  abidiff --no-added-syms "$1" "$TENON_BUILD/$2.so" || got=$?
  [ $((got & 3)) -eq 0 ] || complain "abidiff fails for $2"
  [ "$got" -eq 0 ]
}

for library in libtenon libtenon_profiler; do
  if [ "${1:-}" = --write ]; then
    mkdir -p "$kept"
    describe $library | xz -9 >"$kept/$library.xml.xz"
    echo "wrote tests/abi/$version/$library.xml.xz"
    continue
  fi
  [ -s "$kept/$library.xml.xz" ] || { complain "tests/abi/$version has no $library.xml.xz: make abi"; continue; }
  xz -dc "$kept/$library.xml.xz" >old.xml
  changes old.xml $library >report 2>err || {
    cat report err
    complain "the binary interface of $library has changed within version $version: undo that, or, where it was meant to be, run \`make abi\` and say in CHANGELOG.md what to write instead"
  }
done
[ "${1:-}" != --write ] || exit $status

# That the comparison can fail: a function that went away, and a structure with one field more in its middle.
xz -dc "$kept/libtenon.xml.xz" >old.xml
sed 's/tn_program_text/tn_program_gone/g' old.xml >gone.xml
! changes gone.xml libtenon >report 2>err || complain "a function that is gone is not noticed"
grep -q tn_program_gone report || complain "the function that is gone is not named: $(cat report err)"
python3 - old.xml grown.xml <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
name = text.index("<class-decl name='tn_tune_result'")
member = text.index("<data-member", text.index("best_s", name))
grown = re.sub(r"size-in-bits='(\d+)'", lambda m: f"size-in-bits='{int(m[1]) - 64}'", text[name:member], count=1)
later = re.sub(r"offset-in-bits='(\d+)'", lambda m: f"offset-in-bits='{int(m[1]) - 64}'", text[member:text.index("</class-decl>", member)])
later = later[later.index("</data-member>") + 14:]  # without default_s
open(sys.argv[2], "w").write(text[:name] + grown + later + text[text.index("</class-decl>", member):])
PYTHON
! changes grown.xml libtenon >report 2>err || complain "a structure that has another field is not noticed"
grep -q tn_tune_result report || complain "the structure is not named: $(head -40 report)"
exit $status
