#!/usr/bin/env bash
# --link: programs whose extern stages call functions in files of LLVM IR: shown, built, timed; and what is no such file.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"

cat >layer.te <<'END'
input A: f32[8], x: f32[8]
P[i<8] = max(A[i], 0)
extern y: f32[8] = axpy(P, x)
extern z: f32[8] = twice(y)
C[i<8] = z[i] + 1
END

# function NAME BODY: a function in LLVM IR whose loop's BODY computes %v of %p, %a and %b of the two inputs.
loop() {
  cat <<END
define void @$1($2, ptr %r) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %p, i64 %i
  %a = load float, ptr %pa
$3
  %pr = getelementptr float, ptr %r, i64 %i
  store float %v, ptr %pr
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %loop, label %done
done:
  ret void
}
END
}
loop axpy 'ptr %p, ptr %x' '  %px = getelementptr float, ptr %x, i64 %i
  %b = load float, ptr %px
  %v = fadd float %a, %b' >axpy.ll
loop twice 'ptr %p' '  %v = fadd float %a, %a' >twice.ll
cat axpy.ll twice.ll >both.ll

# Linked, the functions are in the code; else they are symbols.
shows 'call void @axpy' show layer.te --emit=llvm
shows 'kernel:' show layer.te --emit=asm --link both.ll
! grep -q 'call.*axpy' out || complain "assembly calls axpy, which was linked"
shows 'kernel:' show layer.te --emit=asm --link axpy.ll --link twice.ll
shows 'extern y: f32[8] = axpy(P, x)' show layer.te --emit=program --link both.ll

run build layer.te -s 'vectorize(C, i)' --link both.ll -o alone.o
[ "$got" -eq 0 ] || complain "build with --link ended with $got: $(cat err)"
! nm alone.o | grep -q ' U axpy' || complain "an object with linked functions leaves axpy open"
run build layer.te -s 'vectorize(C, i)' -o open.o
nm open.o | grep -q ' U axpy' || complain "an object without --link does not leave axpy open"

# Checked against the evaluator, which calls the same functions.
shows 'checked: largest relative error 0' bench layer.te -s 'vectorize(C, i)' --link both.ll --seconds 0.05
run bench layer.te -s 'vectorize(C, i); parallel(P, i)' --link axpy.ll --link twice.ll --seconds 0.05 --json
is_json out
[ "$(json out 'o["checked"]')" = True ] || complain "bench with --link is not checked"

# Bitcode is told by its content.
assembler=/usr/lib/llvm-19/bin/llvm-as
if [ -x "$assembler" ]; then
  "$assembler" both.ll -o both.txt
  shows 'checked: largest relative error 0' bench layer.te --link both.txt --seconds 0.05
fi

# What is refused, wherever it is given.
refuses 1 'kernel calls axpy, which has no code here' bench layer.te
echo 'int x;' >source.c
sed 's/@axpy(ptr %p, ptr %x, ptr %r)/@axpy(ptr %p, ptr %x, i32 %n, ptr %r)/' axpy.ll >wrong.ll
printf 'declare void @elsewhere(ptr)\n%s\n' "$(sed 's/ret void/call void @elsewhere(ptr %r)\n  ret void/' both.ll)" >needs.ll
for verb in show bench "build -s auto -o k.o"; do
  set -- $verb
  verb=$1
  shift
  refuses 1 'cannot open none.ll: No such file or directory' $verb layer.te "$@" --link none.ll
  refuses 1 'source.c cannot be read: source.c:1:1: error: expected top-level entity' $verb layer.te "$@" --link source.c
  refuses 1 "'z' is computed by a call of twice, which no file defines: link one that does" $verb layer.te "$@" --link axpy.ll
  refuses 1 'both.ll defines axpy, which has LLVM IR already: link one of both' $verb layer.te "$@" --link axpy.ll --link both.ll
  refuses 1 'twice.ll defines no function that the program calls: the program calls none; the file defines twice' \
    $verb 'C[i<4] = A[i] * 2' "$@" --link twice.ll
  refuses 1 'wrong.ll: axpy: it defines it as: void (ptr, ptr, i32, ptr), but it is called as void (ptr, ptr, ptr)' \
    $verb layer.te "$@" --link wrong.ll
  refuses 2 '--link needs an argument' $verb layer.te "$@" --link
done
refuses 2 'there is no option --link' tune layer.te --link both.ll

# A function that calls what is elsewhere: an object that leaves that open; nothing to run here.
run build layer.te -s auto --link needs.ll -o needs.o
[ "$got" -eq 0 ] || complain "build with an open symbol ended with $got: $(cat err)"
nm needs.o | grep -q ' U elsewhere' || complain "the object does not leave elsewhere open"
refuses 1 'Symbols not found: [ elsewhere ]' bench layer.te --link needs.ll

for verb in show bench build; do shows '--link FILE' help $verb; done
exit $status
