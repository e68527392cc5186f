#!/usr/bin/env bash
# What the command refuses: the status, a message that says what is wrong, and nothing half-written.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
add='C[i<64, j<64] = A[i,j] + B[i,j]'
sum='B[i<64] = sum[l<64](A[i,l])'

# ---- wrong usage
run
[ "$got" -eq 2 ] || complain "tenon alone ended with status $got"
refuses 2 "there is no verb 'sho'" sho
refuses 2 "there is no verb 'x'" help x
refuses 2 'operand is missing' show
refuses 2 'one operand too many' show "$add" "$sum"
refuses 2 'there is no option --shedule' show "$add" --shedule x
refuses 2 'there is no option -z' show "$add" -z
refuses 2 '-s needs an argument' show "$add" -s
refuses 2 "--param takes NAME=N with a whole number, not 'N'" show "$add" -p N
refuses 2 "there is no form 'ast'" show "$add" --emit=ast
refuses 2 'exclude each other' show "$add" -s 'split(C, i, 4)' --log x.json
refuses 2 '--log is missing' tune "$add"
refuses 2 "--trials takes a whole number of 1 or more, not '0'" tune "$add" --log x.json --trials 0
refuses 2 "--trials takes a whole number of 1 or more, not '1e3'" tune "$add" --log x.json --trials 1e3
refuses 2 "--seconds takes a number above 0, not '-1'" tune "$add" --log x.json --seconds -1
refuses 2 "--seed takes a whole number of 0 or more" tune "$add" --log x.json --seed x
refuses 2 '-o is missing' build "$add" -s ''
refuses 2 'either --log or --schedule' build "$add" -o x.o
refuses 2 '--strict is about the records' build "$add" -s '' --strict -o x.o
refuses 2 "--vs knows onednn, openblas, blis, default, auto and log:FILE, not 'mkl'" bench "$add" --vs onednn,mkl
refuses 2 "auto and log:FILE, not 'log:'" bench "$add" --vs auto,log:
refuses 1 'there-is-none.json' bench "$add" --vs log:there-is-none.json
refuses 2 "there is no 'worst'" log worst x.json
[ ! -e x.json ] || complain "a refused tune left a log"

# ---- wrong programs
refuses 1 'neither a file nor a program' show matmul
refuses 1 'missing.te' show missing.te
refuses 1 'f33' show 'input A: f33[64]; C[i<64] = A[i]'
refuses 1 '//' show 'input A: i32[8]; C[i<8] = A[i] / A[i]'
refuses 1 'line 1' show 'C[i<64 = A[i]'
refuses 1 'M' show "$add" -p M=3
printf 'C[i<8] = A[i]\n# fine\n\0 + 1\n' >cut.te
refuses 1 'cut.te: line 3, column 1: a NUL byte' show cut.te --emit=program
printf 'split(C, i, 8)\0; vectorize(C, i.inner)' >cut.txt
refuses 1 'cut.txt: line 1, column 15: a NUL byte' show "$add" -s cut.txt
"$TENON" show "$add" | sed '1s/$/\x00/' >cut.ir
refuses 1 'a NUL byte' pass all cut.ir
printf 'C[i<8] = A[i] +\n' >broken.te
refuses 1 'broken.te: ' show broken.te

# ---- illegal schedules
refuses 1 'x' show "$add" -s 'split(C, x, 4)'
refuses 1 'D' show "$add" -s 'split(D, i, 4)'
refuses 1 '0' show "$add" -s 'split(C, i, 0)'
refuses 1 '-4' show "$add" -s 'split(C, i, -4)'
refuses 1 'l' show "$add" -s 'reorder(C, l, i)'
refuses 1 'l' show "$sum" -s 'parallel(B, l)'
refuses 1 'l' show "$sum" -s 'vectorize(B, l)'
refuses 1 'frobnicate' show "$add" -s 'frobnicate(C)'

# ---- targets
refuses 1 'i387' target 'cpu=i387x'
refuses 1 'colour' target 'colour=red'

# ---- files that cannot be written
nothing_left() {
  [ -z "$(find "$work" -name 'k*' 2>/dev/null)" ] || complain "something is left: $(find "$work" -name 'k*')"
}
refuses 1 'k.xyz' build "$add" -s '' -o k.xyz
refuses 1 'nowhere' build "$add" -s '' -o nowhere/k.o
refuses 1 'nowhere' build "$add" -s '' -o nowhere/k.so
refuses 1 '/proc/k.o' build "$add" -s '' -o /proc/k.o
refuses 1 'nowhere' build "$add" -s '' -o k.o --header nowhere/k.h
refuses 1 'nowhere' build "$add" -s '' -o nowhere/k.o --header k.h
mkdir folder.h
refuses 1 'folder.h' build "$add" -s '' -o k.o --header folder.h
refuses 1 '9lives' build "$add" -s '' -o k.o --name 9lives
refuses 1 'nowhere' tune "$add" --log nowhere/k.json --trials 2
refuses 1 '/proc/k.json' tune "$add" --log /proc/k.json --trials 2
nothing_left
if [ "$(id -u)" -ne 0 ]; then
  mkdir locked && chmod 555 locked
  refuses 1 'locked' build "$add" -s '' -o locked/k.o
  chmod 755 locked
fi
got=0
"$TENON" version >/dev/full 2>err || got=$?
[ "$got" -eq 1 ] || complain "standard output that cannot be written ends with status $got"

# ---- logs
refuses 1 'none.json' log best none.json
refuses 1 'none.json' show "$add" --log none.json
refuses 1 'none.json' build "$add" --log none.json -o k.o
printf 'this is no record\n{"v": 1}\n' >broken.json
refuses 1 'broken.json holds no' log best broken.json
grep -q 'warning: .*1' err || complain "a broken line is not warned about by number: $(cat err)"
refuses 1 'broken.json' show "$add" --log broken.json
refuses 1 'broken.json' build "$add" --log broken.json --strict -o k.o
nothing_left

# ---- what is not an error is said once, and about what the user wrote
run tune "$add" --log add.json --trials 3
n_trials=$(grep '"program"' add.json | grep -vc '"final":true')
[ "$got" -eq 0 ] || complain "tune fails: $(cat err)"
refuses 1 "add.json holds no valid and checked record of this program ($n_trials records, 0 of them failed, $n_trials of other programs" log best add.json "$sum"
unrolled='C[i<64, j<6400] = sum[k<64](A[i,k] * B[k,j])'
run show "$unrolled" -s 'reorder(C, i, k, j); unroll(C, j)' --emit=llvm
[ "$(grep -c 'the loop "j" is not unrolled' err)" -eq 1 ] || complain "a loop is not warned about once: $(cat err)"
! grep -q '\.init' err || complain "a loop that nobody wrote is warned about: $(cat err)"
run bench "$unrolled" -s 'reorder(C, i, k, j); unroll(C, j)' --stages --seconds 0.1
[ "$(grep -c 'warning: ' err)" -eq 1 ] || complain "a warning stands twice: $(cat err)"

# ---- what computes nothing is as fast as it moves bytes
shows 'GB/s' bench 'C[i<4096] = A[i]' --seconds 0.1

# The machine's limits: a copy has no arithmetic; on other processors than x86 there is a warning instead.
run bench "$add" --limits --seconds 0.1 --json
[ "$(json out '0 < o["of_limit"] < (99 if "'"${TENON_SANITIZE:-}"'" else 4) and o["moving"]["gbytes_per_s"] > 0 and o["arithmetic"]["part"] <= o["of_limit"]')" = True ] ||
  [ "$(uname -m)" != x86_64 ] || complain "bench --limits: $(cat out err)"
# Weights of bytes that are made floats first are multiplied as floats: no dot product of bytes, some four times as fast, is their limit.
limit_of() { run bench "input A: f32[64,128], W: $1[128,64]
C[i<64, j<64] = sum[k<128](A[i,k] * f32(W[k,j]))" -s auto --threads 1 --limits --seconds 0.1 --json && json out 'o.get("arithmetic", {}).get("gflops", 1)'; }
python3 -c 'import sys; sys.exit(float(sys.argv[1]) > 2 * float(sys.argv[2]))' "$(limit_of i8)" "$(limit_of f32)" ||
  complain "bench --limits takes the limit of bytes for a product of floats"
run bench 'C[i<4096] = A[i]' --limits --seconds 0.1 --json
[ "$(json out '"arithmetic" in o')" = False ] || complain "bench --limits computes a copy: $(cat out)"
run tune 'C[i<4096] = A[i]' --log copy.json --trials 2
shows 'GB/s' log best copy.json

# tenon pass
shows 'remove_noops    what has no effect goes' pass --list
refuses 2 'NAME and FILE are missing' pass
refuses 2 'one operand too many' pass simplify a b
refuses 1 'cannot open nowhere.tir' pass simplify nowhere.tir
refuses 1 "expected 'primfn'" pass simplify -
echo 'primfn() -> int32 attr = {"global_symbol": "f", "tir.noalias": True} {}' >f.tir
refuses 1 "there is no pass 'hoist_guard'; the nearest name is 'hoist_guards'" pass hoist_guard f.tir
shows '  nop' pass all f.tir
exit $status
