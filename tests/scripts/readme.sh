#!/usr/bin/env bash
# The commands that README.md shows work as they stand there.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
mkdir bin && ln -s "$TENON" bin/tenon
ln -s "$TENON_SOURCE/examples" examples # some commands stand in the clone
PATH=$work/bin:$PATH
n=0
while read -r line; do
  n=$((n + 1))
  line=${line//--trials 64/--trials 6}
  bash -c "$line" >out 2>err </dev/null || complain "$line: status $?: $(cat err)"
done < <(grep -E '^tenon [a-z]+ ' "$TENON_SOURCE/README.md")
[ "$n" -ge 4 ] || complain "README.md shows only $n commands"
exit $status
