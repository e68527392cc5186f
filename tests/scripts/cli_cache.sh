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

# A program like one that was tuned takes its plan where that is faster: here, than what costs of no machine make of it.
wide() { echo "C[i<$1, j<512] = sum[k<512](A[i,k] * B[k,j])"; }
run tune "$(wide 64)" --trials 12
strange='costs=fma16:0.0001,fma32:50,fma64:50,chain:1,load:0.15,gather:0.3,line2:0.3,line3:0.6,line4:1.4,shared4:3,apart:9,fresh:23,page:0.3,fork:200'
shows '0 exact, 1 transferred (from 64x' build "$(wide 60)" -o like.o --target "$strange" --missing like.tenon
[ -s like.o ] && [ ! -s like.tenon ] || complain "a program with a transferred schedule is among the missing: $(cat like.tenon)"
refuses 1 'holds no usable record' build "$(wide 60)" -o strict.o --target "$strange" --strict
shows '0 exact, 1 missing' build "$(wide 60)" -o like.o --target 'triple=aarch64-linux-gnu' # nothing can be timed
shows '0 exact, 1 missing' build 'C[i<60, j<512] = max[k<512](A[i,k] * B[k,j])' -o other.o --target "$strange"

# Weights are packed once: by a function of its own.
echo '"input A: f32[64, 64], B: f32[64, 512] layout_free; C[i<64, j<512] = sum[k<64](A[i,k] * B[k,j])" as dense' >weights.tenon
run tune weights.tenon --trials 40
[ "$got" -eq 0 ] || complain "a network with weights cannot be tuned: $(cat err)"
grep -q '"part":"packed"' data/tenon/log.json || complain "no record is of a kernel whose weights were packed before"
cat >own.te <<'TE'
input A: f32[64, 64], B: f32[64, 512] layout_free
C[i<64, j<512] = sum[k<64](A[i,k] * B[k,j])
TE
run build own.te -s 'cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k, j%16])' -o whole.o
grep -q 'packs its layout_free inputs in each call: --part=prepack' err || complain "nothing said of packing in each call: $(cat err)"
run bench own.te -s 'cache_read(B, global, C); transform_layout(B.global, [k, j] -> [j//16, k, j%16])' --seconds 0.2
grep -q 'layout_free inputs were packed before' out || complain "bench packs in each call: $(cat out)"

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
