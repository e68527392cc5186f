#!/usr/bin/env bash
# tenon fmt: to standard output, in place, as a check; what it must not touch.
. "$(dirname "$0")/common.bash"

# silent ARGUMENTS...: status 0, and nothing is printed.
silent() {
  run "$@"
  [ "$got" -eq 0 ] && [ ! -s out ] && [ ! -s err ] || complain "tenon $*: status $got, $(cat out err)"
}

# fails 'PART' ARGUMENTS...: status 1, PART on standard error; what is printed is in out.
fails() {
  local part=$1
  shift
  run "$@"
  [ "$got" -eq 1 ] && grep -qF -- "$part" err || complain "tenon $*: status $got, $(cat err)"
}

echo 'C[i<8,j<8]=sum[k<8](A[i,k]*B[k,j])   # product' >mm.te
echo 'split(C,i,8 ,tail = peel);' >mm.sched
cp mm.te before.te
shows 'C[i<8, j<8] = sum[k<8](A[i,k] * B[k,j])  # product' fmt mm.te
cmp -s mm.te before.te || complain "fmt changed the file"
shows 'split(C, i, 8, tail=peel)' fmt mm.sched
fails '2 of 2 files are laid out otherwise' fmt --check mm.te mm.sched
[ "$(paste -sd' ' out)" = 'mm.te mm.sched' ] || complain "--check names $(cat out)"
cmp -s mm.te before.te || complain "--check changed the file"

# in place: the mode stays, a link stays a link, a file that is right is not written
chmod 640 mm.te
ln -s mm.te link.te
silent fmt -i link.te mm.sched
[ -L link.te ] && [ "$(stat -c %a mm.te)" = 640 ] || complain "fmt -i: $(ls -l)"
silent fmt --check mm.te mm.sched
touch -d '2001-01-01' mm.te
silent fmt -i mm.te
[ "$(stat -c %Y mm.te)" = "$(date -d 2001-01-01 +%s)" ] || complain "fmt -i wrote a file that was right"
[ -z "$(ls | grep tmp)" ] || complain "fmt -i left $(ls)"
key() { "$TENON" show "$1" --emit=program; }
[ "$(key before.te)" = "$(key mm.te)" ] || complain "the formatted program is another"

# standard input, several files, and what is refused; a bad file does not stop the others
printf 'a=1' | "$TENON" fmt - >out && [ "$(cat out)" = 'a = 1' ] || complain "fmt -: $(cat out)"
echo 'C[i<8 = A' >bad.te
fails 'bad.te: format error at line 1, column 2: this is never closed' fmt bad.te mm.te
grep -q product out || complain "the file behind a bad one was not printed"
refuses 1 'bad.te: format error' fmt -i bad.te
[ "$(cat bad.te)" = 'C[i<8 = A' ] || complain "fmt -i changed a bad file"
refuses 1 'cannot open none.te' fmt none.te
refuses 2 'FILE' fmt
refuses 2 'exclude each other' fmt --check -i mm.te
refuses 2 'no place to write to' fmt -i -
mkdir closed && cp before.te closed/x.te
[ "$(id -u)" -eq 0 ] || { chmod 500 closed && refuses 1 'cannot write closed/x.te' fmt -i closed/x.te && chmod 700 closed; }

# the programs that are shipped
silent fmt --check "$TENON_SOURCE"/examples/programs/*.te "$TENON_SOURCE"/examples/apply_best/*.te
exit $status
