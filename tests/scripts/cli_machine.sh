#!/usr/bin/env bash
# What was measured of a machine: kept, a file for each machine, and measured anew with a note where the file is torn, of another version
# or of another machine; nothing is renewed silently.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'
export XDG_CACHE_HOME=$work/cache

# What show says of the machine; its loops are of no interest here.
notes() { "$@" "$TENON" show "$product" -s auto 2>&1 >/dev/null; }
kept_files() { find "$XDG_CACHE_HOME/tenon" -name 'machine-*' | wc -l; }

notes env >said
grep -q 'this machine was measured in .* kept in ' said || complain "the first -s auto: $(cat said)"
kept=$(find "$XDG_CACHE_HOME/tenon" -name 'machine-*')
[ -f "$kept" ] || complain "kept: $kept"
cp "$kept" good
[ -z "$(notes env)" ] || complain "the second -s auto measured again: $(notes env)"
cmp -s good "$kept" || complain "the costs were renewed silently"

# WHAT the file is, and how it became that.
mended() {
  local what=$1
  shift
  cp good "$kept"
  "$@" "$kept"
  notes env >said
  grep -q "$what: the machine is measured anew" said || complain "$what: $(cat said)"
  [ -z "$(notes env)" ] || complain "$what: not mended"
}
mended 'is of another version, or torn' truncate -s 0
mended 'is of another version, or torn' sed -i '1s/.*/tenon machine 1/'
mended 'is of another machine' sed -i '2s/cpu=[^ ]*/cpu=another/'
mended 'is torn' sed -i '$d'
mended 'is torn' truncate -s 300

# One processor is another machine than all of them, and both are remembered.
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
  first=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
  one=(taskset -c "$first")
  notes "${one[@]}" >said
  grep -q 'this machine was measured' said || complain "one processor: $(cat said)"
  [ "$(kept_files)" -eq 2 ] || complain "files kept of two machines: $(kept_files)"
  [ -z "$(notes env)$(notes "${one[@]}")" ] || complain "two machines took each other's place"
fi

# Nowhere to keep it: said, and no failure.
env -u XDG_CACHE_HOME -u HOME "$TENON" show "$product" -s auto 2>&1 >/dev/null | grep -q 'not kept: there is no cache directory' ||
  complain "no cache directory"
exit "$status"
