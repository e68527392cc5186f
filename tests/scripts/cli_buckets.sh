#!/usr/bin/env bash
# build --buckets: tuned sizes serve a symbol in one function, an object and C source alike; what is refused.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
product='symbol M<=4096; C[i<M, j<40] = sum[k<24](A[i,k] * B[k,j])'

run tune "$product" -p M=16 --log b.json --trials 8 -v 0
[ "$got" -eq 0 ] || { cat err; exit 1; }
run build "$product" --buckets M=1,16,128 --log b.json -o any.o --header any.h --name any
[ "$got" -eq 0 ] && [ ! -s err ] || complain "build: $(cat err)"
grep -q '^M=16  .*, of b.json' out || complain "the record is not told: $(cat out)"
[ "$(grep -c 'the generic schedule: there is no record' out)" -eq 2 ] || complain "what is missing is not told: $(cat out)"
[ "$(nm any.o | grep -c ' T ')" -eq 1 ] || complain "not one function: $(nm any.o)"
grep -q 'int32_t any(const float \*A, const float \*B, float \*C, int64_t M);' any.h || complain "the header: $(cat any.h)"
TENON_LOG=$PWD/b.json run build "$product" --buckets M=1,16,128 -o any.c --name any
[ "$got" -eq 0 ] && grep -q '^M=16  .*b.json' out || complain "the usual log: $(cat out err)"

cat >use.c <<'SOURCE'
#include <math.h>
#include <stdio.h>
#include "any.h"
static float a[4096 * 24], b[24 * 40], c[4096 * 40 + 1];
static int is_right(int m) {
  for (int i = 0; i <= m * 40; ++i) c[i] = -7;
  if (any(a, b, c, m) != 0 || c[m * 40] != -7) return 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < 40; ++j) {
      double sum = 0;
      for (int k = 0; k < 24; ++k) sum += (double)a[i * 24 + k] * b[k * 40 + j];
      if (!(fabs(sum - c[i * 40 + j]) < 1e-4)) return 0;
    }
  return 1;
}
int main(void) {
  for (int i = 0; i < 4096 * 24; ++i) a[i] = (float)(i * 37 % 101) / 101;
  for (int i = 0; i < 24 * 40; ++i) b[i] = (float)(i * 53 % 97) / 97;
  for (int m = 1; m <= 4096; m += m < 300 ? 1 : 73)
    if (!is_right(m)) return printf("wrong for M=%d\n", m), 1;
  return is_right(4096) ? 0 : 1;
}
SOURCE
cc -O1 use.c any.o -o use -lm -fopenmp && ./use || complain "the object is wrong"
cc -O1 -march=native use.c any.c -o use -lm -fopenmp && ./use || complain "the C source is wrong"

run show "$product" --buckets M=16,128 --log b.json --emit=text
[ "$got" -eq 0 ] && grep -q '^# M=16$' out && grep -q '^# M=129' out || complain "show: $(cat out err)"
refuses 2 '--schedule and --buckets exclude each other' show "$product" --buckets M=16 -s auto
refuses 1 "buckets: the program has no symbol 'N': name M" build "$product" --buckets N=4 -o x.o
refuses 1 'buckets: the program has no symbol' build 'C[i<8] = A[i] + 1' --buckets M=4 -o x.o
refuses 1 'buckets: 4 stands behind 8' build "$product" --buckets M=8,4 -o x.o
refuses 1 'buckets: 8 stands there twice' build "$product" --buckets M=8,8 -o x.o
refuses 1 "buckets: M=5000 is none of the symbol's values, 1 to 4096" build "$product" --buckets M=8,5000 -o x.o
refuses 1 'buckets: the program has 2 symbols' build 'symbol M, N; C[i<M, j<N] = A[i,j] + 1' --buckets M=8 -o x.o
for wrong in M M= =4 M=x M=4, M=4,x M=4x 'M=99999999999999999999'; do
  refuses 1 'a symbol and whole numbers, as in M=1,16,128' build "$product" --buckets "$wrong" -o x.o
done
refuses 2 'exclude each other' build "$product" --buckets M=8 -s auto -o x.o
refuses 2 'is about programs without --buckets' build "$product" --buckets M=8 --missing m.tenon -o x.o
refuses 1 '1 of the 2 sizes have no usable record' build "$product" --buckets M=8,16 --log b.json --strict -o x.o
refuses 2 '--part is not built with --buckets' build \
  'symbol M<=64; input A: f32[M,8], B: f32[8,8] layout_free; C[i<M, j<8] = sum[k<8](A[i,k] * B[k,j])' --buckets M=8 --part packed -o x.o
echo '"C[i<8] = A[i]"' >n.tenon
refuses 2 '--buckets is about one program' build n.tenon --buckets M=8 -o folder
[ ! -e x.o ] && [ ! -e folder ] || complain "a refused build left something"
exit "$status"
