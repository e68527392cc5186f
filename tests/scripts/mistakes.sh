#!/usr/bin/env bash
# tests/mistakes.txt: what people get wrong, and what the command answers, word for word. A line that begins with "$ " is run by
# bash, in one empty folder for all; what stands below it is what it must say, without the usage line. `make golden` writes the
# answers anew: add a line with a command, run that, and read whether the answer names the thing, the value, the rule and what to
# write instead.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
page=$TENON_SOURCE/tests/mistakes.txt
mkdir bin room && ln -s "$TENON" bin/tenon
PATH=$work/bin:$PATH
cd room
n=0
while IFS= read -r line; do
  case $line in
  '$ '*)
    n=$((n + 1))
    printf '%s\n' "$line"
    got=0
    bash -c "${line#\$ }" >../out 2>../err </dev/null || got=$?
    [ "$got" -eq 1 ] || [ "$got" -eq 2 ] || echo "FAILED: ended with status $got"
    [ ! -s ../out ] || echo "FAILED: printed something on standard output"
    grep -q '^tenon: ' ../err || echo "FAILED: no message begins with 'tenon: '"
    sed -e '/^usage: /d' -e 's/[[:space:]]*$//' ../err
    echo
    ;;
  '#'*) printf '%s\n' "$line" ;;
  esac
done <"$page" >../page
cd ..
[ "$n" -ge 100 ] || complain "only $n mistakes"
[ -z "$(find room -type f ! -name '*.in' 2>/dev/null)" ] || complain "something is left: $(find room -type f)"
! grep -n -B1 '^FAILED' page || complain "an answer is wrong"
if [ "${TENON_UPDATE_GOLDEN:-}" = 1 ]; then
  cp page "$page"
else
  diff -u "$page" page || complain "the answers changed (\"make golden\" writes them anew)"
fi
exit $status
