#!/usr/bin/env bash
# An installed Tenon is found by CMake and by pkg-config, compiles a user's program, and brings its command.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$TENON_BUILD" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

mkdir "$work/user"
cat >"$work/user/user.c" <<'C'
#include <tenon/tenon.h>
int main(void) {
  tn_context *ctx = tn_context_new(NULL);
  tn_status status = tn_context_status(ctx);
  tn_context_free(ctx);
  return status != TN_OK;
}
C
cat >"$work/user/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(tenon 0.1 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE tenon::tenon)
execute_process(COMMAND ${tenon_COMMAND} version COMMAND_ERROR_IS_FATAL ANY)
CMAKE
flags=""
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" ||
  flags=-fsanitize=$(sed -n 's/^TENON_SANITIZE:STRING=//p' "$TENON_BUILD/CMakeCache.txt")

cmake -S "$work/user" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_FLAGS="$flags"
cmake --build "$work/build"
"$work/build/user"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tenon.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046,SC2086 # flags are lists
cc -Wall -Wextra -Werror $flags "$work/user/user.c" -o "$work/user/user" $(pkg-config --cflags --libs tenon)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir tenon) "$work/user/user"
