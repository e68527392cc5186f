# common.bash: what the scripts that test the command line share. $work is a folder that goes away at the end.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export TENON_LOG=off # nothing is left with the user's data
status=0

complain() {
  echo "FAILED: $1"
  status=1
}

# run ARGUMENTS...: the command's standard output, standard error and status go to out, err and $got.
run() {
  got=0
  "$TENON" "$@" >out 2>err </dev/null || got=$?
}

# shows 'PART' ARGUMENTS...: the command ends with status 0, says nothing on standard error and prints PART.
shows() {
  local part=$1
  shift
  run "$@"
  if [ "$got" -ne 0 ] || [ -s err ]; then
    complain "tenon $* ended with status $got and said: $(cat err)"
  elif ! grep -qF -- "$part" out; then
    complain "tenon $* does not print '$part' but:"
    head -50 out
  fi
}

# refuses STATUS 'PART' ARGUMENTS...: it ends with STATUS, prints nothing, and says PART on standard error.
refuses() {
  local wanted=$1 part=$2
  shift 2
  run "$@"
  [ "$got" -eq "$wanted" ] || complain "tenon $* ended with status $got, not $wanted"
  [ ! -s out ] || complain "tenon $* printed something: $(head -3 out)"
  grep -q '^tenon: ' err || complain "tenon $*: no message begins with 'tenon: '"
  grep -qF -- "$part" err || complain "tenon $* does not say '$part' but: $(cat err)"
}

# is_json FILE: one JSON object, nothing else.
is_json() {
  python3 -m json.tool "$1" >/dev/null || complain "$1 is no JSON: $(head -c 300 "$1")"
}

# json FILE EXPRESSION: prints what a Python expression over the object o gives.
json() {
  python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}
