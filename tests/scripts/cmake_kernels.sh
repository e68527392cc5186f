#!/usr/bin/env bash
# tenon_add_kernel of the installed package: from files and from texts, with schedules, logs and params, into libraries
# and into programs; rebuilt when what they are made of changes; and what it refuses.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
if ! grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then exit 0; fi
cmake --install "$TENON_BUILD" --prefix "$work/prefix" >install.log || { cat install.log; exit 1; }

mkdir user
cat >user/use.c <<'C'
#include <add.h>
#include <scale.h>
#include <total.h>
int main(void) {
  float a[64], b[64], c[64], d[64], e[1];
  for (int i = 0; i < 64; ++i) a[i] = (float)i, b[i] = 1;
  if (add(a, b, c) || scale(c, d) || total_of(d, e)) return 2;
  return e[0] != FACTOR * (63 * 32 + 64);
}
C
printf '# add\nparam N = 8\nC[i<N] = A[i] + B[i]\n' >user/add.te
echo 'split(B, i, 16); vectorize(B, i.inner)' >user/fast.schedule
write_project() {
  cat >user/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(tenon 0.1 REQUIRED)
tenon_add_kernel(add PROGRAM add.te PARAMS N=64 SCHEDULE "split(C, i, 8); parallel(C, i.outer); vectorize(C, i.inner)")
tenon_add_kernel(scale PROGRAM "B[i<64] = A[i] * $1" SCHEDULE fast.schedule TARGET native)
add_executable(use use.c)
tenon_add_kernel(use PROGRAM "T[i<64] = A[i]; B[] = sum[k<64](T[k])" NAME total_of)
target_include_directories(use PRIVATE \${CMAKE_CURRENT_BINARY_DIR})
file(WRITE \${CMAKE_CURRENT_BINARY_DIR}/total.h "#include <total_of.h>\n#define FACTOR $1\n")
target_link_libraries(use PRIVATE add scale)
CMAKE
}
build() {
  cmake -G Ninja -S user -B build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1 && cmake --build build >>log 2>&1
}
write_project 2
build || { complain "the project does not build"; cat log; }
build/use || complain "the kernels compute something else: $?"

# Nothing is built again, but what changed is.
build || complain "building again fails"
! grep -q 'Building the kernel' log || complain "a kernel is built again without a reason: $(cat log)"
write_project 3
build || complain "the changed project does not build"
grep -q 'Building the kernel scale' log || complain "the changed text is not built again"
! grep -q 'Building the kernel add' log || complain "a kernel is built again without a reason: $(cat log)"
build/use || complain "after the change the kernels compute something else"
echo 'split(B, i, 4)' >user/fast.schedule
build && grep -q 'Building the kernel scale' log || complain "the changed schedule is not built again"

# says 'PART' ARGUMENTS...: tenon_add_kernel(k ARGUMENTS) is refused with PART.
says() {
  local part=$1
  shift
  rm -rf bad
  mkdir bad
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(bad C)\nfind_package(tenon REQUIRED)\ntenon_add_kernel(k %s)\n' \
    "$*" >bad/CMakeLists.txt
  if cmake -S bad -B bad/build -DCMAKE_PREFIX_PATH="$work/prefix" >log 2>&1; then complain "accepted: $*"; fi
  tr -s ' \n' ' ' <log | grep -qF -- "$part" || complain "$*: not said '$part' but: $(cat log)"
}
says 'PROGRAM is missing' STRICT LOG x.json
says 'either LOG or SCHEDULE' 'PROGRAM "C[i<8] = A[i]" LOG x.json SCHEDULE x'
says 'STRICT is about the records of LOG' 'PROGRAM "C[i<8] = A[i]" STRICT'
says 'there is no file missing.te' 'PROGRAM missing.te'
says 'there is no log' 'PROGRAM "C[i<8] = A[i]" LOG missing.json'
says 'tenon tune PROGRAM --log' 'PROGRAM "C[i<8] = A[i]" LOG missing.json STRICT'
says 'unknown argument FAST' 'PROGRAM "C[i<8] = A[i]" FAST'

# pkg-config names the command.
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tenon.pc)")
export PKG_CONFIG_PATH
"$(pkg-config --variable=command tenon)" version | grep -q '^tenon 0' || complain "pkg-config names no command"
exit $status
