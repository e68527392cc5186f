#!/usr/bin/env bash
# The log that nobody named: what tune finds build takes, of one program and of a network; TENON_LOG moves it and turns it off.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='C[i<64, j<64] = sum[k<64](A[i,k] * B[k,j])'
unset TENON_LOG
export XDG_DATA_HOME=$work/data

shows '0 exact, 1 missing' build "$product" -o before.o
[ -s before.o ] && [ ! -e data ] || complain "build of what was not tuned: $(ls)"
refuses 1 'there is no log yet' build "$product" -o strict.o --strict
run tune "$product" --trials 8
[ "$got" -eq 0 ] || { cat out err; exit 1; }
[ -s data/tenon/log.json ] || complain "tune kept nothing in the data directory"
grep -q "taken from $work/data/tenon/log.json" out || complain "tune does not say where its records are: $(cat out)"
shows '1 exact (' build "$product" -o k.o --header k.h --strict
[ -s k.o ] && [ -s k.h ] || complain "build wrote nothing"
shows '0 missing, of ' build "$product" -o k.c

# A network: what is missing can be tuned, and is there then.
cat >net.tenon <<NETWORK
"$product" x 2 as product
"B[i<64] = sum[k<128](A[i,k])" as row.sums
"$product"
NETWORK
shows '1 exact, 1 missing (built with the generic schedule' build net.tenon -o kernels --missing missing.tenon
[ -s kernels/product.o ] && [ -s kernels/row_sums.h ] && [ "$(ls kernels | wc -l)" -eq 4 ] || complain "kernels: $(ls kernels)"
[ "$(wc -l <missing.tenon)" -eq 1 ] || complain "missing: $(cat missing.tenon)"
run tune missing.tenon --trials 6
[ "$got" -eq 0 ] || complain "what is missing cannot be tuned: $(cat err)"
shows '2 exact, 0 missing' build net.tenon -o kernels --strict
printf '%s\n%s\n' '"C[i<8] = A[i] + 1" as a.b' '"C[i<8] = A[i] + 2" as a-b' >clash.tenon
refuses 1 'two tasks would be called alike' build clash.tenon -o kernels
mkdir a_folder
refuses 1 'cannot write a_folder: Is a directory' build 'C[i<9] = A[i] + 3' -o m.o --missing a_folder
refuses 1 'cannot write nowhere/m.tenon: No such file' build 'C[i<9] = A[i] + 3' -o m.o --missing nowhere/m.tenon
[ -z "$(ls a_folder)" ] && [ -z "$(find . -name '*.tmp')" ] || complain "a file of what is missing was left half written: $(find .)"

# Another place, and none.
TENON_LOG=$work/other.json run tune "$product" --trials 4
[ "$got" -eq 0 ] && [ -s other.json ] || complain "TENON_LOG does not move the log"
before=$(wc -l <data/tenon/log.json)
export TENON_LOG=off
refuses 2 '--log is missing' tune "$product"
refuses 2 'either --log or --schedule' build "$product" -o off.o
[ "$(wc -l <data/tenon/log.json)" -eq "$before" ] || complain "TENON_LOG=off wrote to the log"
refuses 2 '--schedule is about one program' build net.tenon -s auto -o kernels
refuses 2 '--missing is about' build "$product" -o k.o --log other.json --missing m.tenon
exit "$status"
