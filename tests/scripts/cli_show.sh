#!/usr/bin/env bash
# `tenon show`: the loops that schedules make, in every form, from texts and from files.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
add='C[i<1024, j<1024] = A[i,j] + B[i,j]'

shows 'for (i.outer: int32, 0, 52)' show "$add" -s 'split(C, i, 20)'
shows 'for (i.inner: int32, 0, 20)' show "$add" -s 'split(C, i, 20)'
shows 'if (i.outer*20 + i.inner < 1024)' show "$add" -s 'split(C, i, 20)'
shows ', 1, 32)] = A[ramp(' show "$add" -s 'tile(C, i, j, 32, 32); vectorize(C, j.inner)'
shows 'B[i] = 0f32' show 'B[i<1024] = sum[l<1024](A[i,l])'
shows 'B[i] = B[i] + A[i*1024 + l]' show 'B[i<1024] = sum[l<1024](A[i,l])'

total='B[] = sum[k<1024](A[k])'
split='split(B, k, 16)'
shows 'for (k.outer: int32' show "$total" -s "$split"
shows 'for (k.outer.k.inner.fused: int32, 0, 1024)' show "$total" -s "$split; fuse(B, k.outer, k.inner)"
[ "$(grep -c 'for (' out)" -eq 1 ] || complain "a fused reduction has more than one loop"

# Dry runs.
shows 'yes' show "$add" --try 'tile(C, i, j, 32, 32)'
refuses 1 "the pattern's axes are l 16, reduce k 4" show "$add" -s 'split(C, j, 16)' --try 'tensorize(C, j.inner, dot4_u8i8)'

# Every form; what the schedule text form prints can be given back.
schedule='tile(C, i, j, 32, 32); vectorize(C, j.inner); parallel(C, i.outer)'
shows 'i.outer' show "$add" -s "$schedule" --emit=tree
shows 'with T.block("C"):' show "$add" -s "$schedule" --emit=tvmscript
shows '[["SP",' show "$add" -s "$schedule" --emit=steps
shows 'tn_vectorize(s, "C", "j.inner");' show "$add" -s "$schedule" --emit=api
shows 'define' show "$add" -s "$schedule" --emit=llvm
shows 'kernel:' show "$add" -s "$schedule" --emit=asm
shows 'int32_t kernel(' show "$add" -s "$schedule" --emit=header
shows 'parallel(C, i.outer)' show "$add" -s "$schedule" --emit=text
cp out schedule.txt
"$TENON" show "$add" -s "$schedule" >direct
"$TENON" show "$add" -s schedule.txt >by_file
cmp -s direct by_file || complain "a schedule's text does not give the same loops"

# The canonical program is a fixed point; files and params.
for program in "$TENON_SOURCE"/examples/programs/*.te; do
  shows '] = ' show "$program" --emit=program
  cp out canonical.te
  shows '] = ' show canonical.te --emit=program
  cmp -s out canonical.te || complain "$program: printing is no fixed point"
  shows 'for (' show "$program"
done
shows 'for (i: int32, 0, 7)' show "$TENON_SOURCE/examples/programs/matmul.te" -p N=7 -p M=5 -p K=3

# Help for every verb, the target, the version.
shows 'usage: tenon VERB' help
for verb in show tune build bench log worker target version help; do
  shows "tenon $verb:" help "$verb"
  shows "tenon $verb:" "$verb" --help
done
shows 'threads' target
shows 'tenon 0.' version
shows 'tenon 0.' --version
first=$("$TENON" target | head -1)
[ "$("$TENON" target "$first" | head -1)" = "$first" ] || complain "a target's text does not give the same target"
exit $status
