#!/usr/bin/env bash
# What --emit=api prints is C that makes the same schedule: compiled against the installed headers, run, and its loop IR
# compared with that of `tenon show`.
source "$TENON_SOURCE/tests/scripts/common.bash"

flags=""
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" ||
  flags=-fsanitize=$(sed -n 's/^TENON_SANITIZE:STRING=//p' "$TENON_BUILD/CMakeCache.txt")
n=0

# same PROGRAM SCHEDULE
same() {
  run show "$1" -s "$2"
  mv out expected
  run show "$1" -s "$2" --emit=api
  {
    echo '#include <stdio.h>'
    echo '#include <stdlib.h>'
    echo '#include <tenon/tenon.h>'
    echo 'int main(int argc, char **argv) {'
    echo '  tn_context *ctx = tn_context_new(NULL);'
    echo '  tn_schedule *s = tn_schedule_new(tn_program_parse(ctx, argv[argc - 1], 0, NULL));'
    sed 's/^/  /' out
    echo '  char *text = tn_schedule_print(s, TN_FORM_TIR);'
    echo '  fputs(text ? text : tn_context_message(ctx), stdout);'
    echo '  free(text);'
    echo '  tn_context_free(ctx);'
    echo '  return 0;'
    echo '}'
  } >api.c
  # shellcheck disable=SC2086
  cc -std=c17 -Wall -Werror $flags api.c -I"$TENON_BUILD/include" -L"$TENON_BUILD" -Wl,-rpath,"$TENON_BUILD" -ltenon -o api
  ./api "$1" >got
  diff expected got >difference || complain "$1 with $2: $(cat difference)"
  n=$((n + 1))
}

mm='C[i<64, j<48] = sum[k<32](A[i,k] * B[k,j])'
same "$mm" 'split(C, i, 20); split(C, j, nparts=3, tail=peel); split(C, k, 4, 2); reorder(C, k.0, i.outer, j.outer)'
same "$mm" 'tile(C, i, j, 8, 16); fuse(C, i.outer, j.outer); parallel(C, i.outer.j.outer.fused); vectorize(C, j.inner)'
same "$mm" 'cache_write(C, local); cache_read(A, local, C.local); tile(C, i, j, 4, 16); compute_at(C.local, C, j.outer);
  reorder(C.local, k, i.c, j.c); unroll(C.local, i.c); compute_at(A.local, C.local, k); set_scope(A.local, global)'
same 'P[i<16] = A[i] + 1; Q[i<16] = P[i] * 2; R[i<16] = Q[i] + P[i]' \
  'compute_inline(P); compute_at(Q, R, i); compute_root(Q); pragma(R, i, auto_unroll_max_step, 16)'
same 'P[i<16, j<20] = A[i,j] + 1; S[i<16] = sum[j<20](P[i,j])' \
  'split(S, j, 8, tail=pad); rfactor(S, j.inner, -1); split(S.rf, i, 5, tail=overlap); vectorize(S.rf, j.inner, 4, tail=mask);
  transform_layout(P, [i, j] -> [j//8, i, j%8])'
same 'P[i<16, j<20] = A[i,j] + 1; Q[i<16, j<20] = P[i,j] * 2; S = sum[i<16, j<20](Q[i,j])' \
  'parallel_reduce(S, i, parts=3); compute_inline(Q); storage_align(P, i, 16, 8); bind(P, i, blockIdx.x)'
# 200 random schedules of random programs, in one program.
"$TENON_BUILD/tests/test_fuzz" --api 200 1 >fuzzed.c
# shellcheck disable=SC2086
cc -std=c17 -Wall -Werror $flags fuzzed.c -I"$TENON_BUILD/include" -L"$TENON_BUILD" -Wl,-rpath,"$TENON_BUILD" -ltenon -o fuzzed
./fuzzed >fuzzed.out || complain "fuzzed schedules: $(head -40 fuzzed.out)"
grep -q '^200 schedules, 0 differ$' fuzzed.out || complain "fuzzed schedules: $(tail -1 fuzzed.out)"
[ "$n" -eq 6 ] || complain "$n of 6 schedules"
exit $status
