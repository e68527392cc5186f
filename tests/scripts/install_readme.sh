#!/usr/bin/env bash
# What README.md says of installing and using: its programs, compiled by its commands, from the build folder and from a clean prefix,
# in an environment that knows neither.
set -euo pipefail
source "$TENON_SOURCE/tests/scripts/common.bash"
readme=$TENON_SOURCE/README.md
grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt" || exit 0 # the programs are not instrumented

# block LANGUAGE 'PART': the first code block of README.md that is in LANGUAGE and contains PART.
block() {
  python3 - "$readme" "$1" "$2" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
blocks = [b for kind, b in re.findall(r"```(\w+)\n(.*?)```", text, re.S) if kind == sys.argv[2] and sys.argv[3] in b]
sys.stdout.write(blocks[0])
PY
}
# clean COMMAND...: without anything that points to a Tenon.
clean() { env -i PATH=/usr/bin:/bin HOME="$work/home" "$@"; }
# answers FILE: FILE holds what README.md's programs print.
answers() { grep -q '^C\[0,0\] = 5\.0358$' "$1" || complain "$2 prints: $(cat "$1")"; }

mkdir -p home room
block c 'int main' >room/example.c
block cpp 'int main' >room/example.cpp
block cmake find_package >room/CMakeLists.txt
cd room

# ---- from the build folder: build/ of the commands is the one that is tested
block sh 'cc example.c' | sed -e '/^make build$/d' -e "s|^\. build/env|. $TENON_BUILD/env|" >use.sh
grep -q pkg-config use.sh || complain "README.md shows no command for the build folder"
clean sh -eu use.sh >out 2>err || complain "from the build folder: $(cat err)"
answers out 'the program from the build folder'
clean "$TENON_BUILD/env" tenon version >out || complain "build/env runs no tenon"
clean "$TENON_BUILD/env" sh -eu -c 'c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror example.cpp $(pkg-config --cflags --libs tenon) -o example_cpp'
clean ./example_cpp >out || complain "the C++ program fails"
answers out 'the C++ program'
clean "$TENON_BUILD/env" cmake -S . -B from_build -G Ninja >log 2>&1 || complain "CMake finds no build folder: $(cat log)"
clean cmake --build from_build >log 2>&1 || complain "CMake builds nothing: $(cat log)"
clean from_build/example >out || complain "the program of CMake fails"
answers out "CMake's program"

# ---- from a prefix
cmake --install "$TENON_BUILD" --prefix "$work/home/.local" >log
block sh 'PREFIX=' | sed '/^make install/d' >use.sh
grep -q pkg-config use.sh || complain "README.md shows no command for a prefix"
rm -f example
clean sh -eu use.sh >out 2>err || complain "from a prefix: $(cat err)"
answers out 'the program from a prefix'
clean cmake -S . -B from_prefix -G Ninja -DCMAKE_PREFIX_PATH="$work/home/.local" >log 2>&1 || complain "CMake: $(cat log)"
clean cmake --build from_prefix >log 2>&1 && clean from_prefix/example >out || complain "CMake builds nothing: $(cat log)"
answers out "CMake's program from the prefix"

# ---- the C++ header
cat >errors.cpp <<'CPP'
#include <cassert>
#include <cstring>
#include <type_traits>
#include <tenon/tenon.hpp>

template <class F> std::string refusal(F run) {
  try { run(); } catch (const tenon::error &e) { assert(e.status() != TN_OK); return e.what(); }
  return "nothing was thrown";
}
#define SAYS(part, ...) assert(refusal([&] { __VA_ARGS__; }).find(part) != std::string::npos)

int main() {
  static_assert(!std::is_copy_constructible_v<tenon::kernel> && std::is_move_constructible_v<tenon::kernel>);
  static_assert(!std::is_copy_constructible_v<tenon::schedule> && !std::is_copy_constructible_v<tenon::array>);
  tenon::context ctx;
  auto i = ctx.axis("i", 8), j = ctx.axis("j", 8);
  auto A = ctx.placeholder("A", TN_F32, {8, 8}), N = ctx.placeholder("N", TN_I32, {8});
  SAYS("not in 1 ..", ctx.axis("z", 0));
  SAYS("'/' between integers", N(i) / 2);
  SAYS("rank 2", A(i));
  SAYS("numbers alone", tenon::exp(1.0));
  auto B = ctx.compute("B", select(i < j && !(i == 3), max(2 * A(i, j), 0) + 1, -A(j, i)), i, j);
  auto p = ctx.program({A, B});
  assert(p.text().find("select(") != std::string::npos);
  auto s = p.schedule();
  SAYS("no stage is called \"X\"", s.split("X", "i", 4));
  SAYS("axis \"k\"", s.reorder("B", {"j", "k"}));
  s.reorder("B", {"j", "i"}).split("B", "j", 4).unroll("B", "j.inner").apply("parallel(B, j.outer)");
  assert(s.print(TN_FORM_TEXT).find("parallel(B, j.outer)") != std::string::npos);
  tenon::kernel kernel = s.build(), moved = std::move(kernel);
  auto a = ctx.array(TN_F32, {8, 8}), b = ctx.array(TN_F32, {8, 8}), small = ctx.array(TN_F32, {4, 8});
  SAYS("bytes", a.data<double>());
  SAYS("4", moved(a, small));
  SAYS("2", moved(a));
  a.fill(1);
  moved(a, b);
  for (int y = 0; y < 8; y++)
    for (int x = 0; x < 8; x++) {
      float up = 2 * a.data<float>()[y * 8 + x], down = a.data<float>()[x * 8 + y];
      assert(b.data<float>()[y * 8 + x] == (y < x && y != 3 ? (up > 0 ? up : 0) + 1 : -down));
    }
}
CPP
clean "$TENON_BUILD/env" sh -eu -c \
  'c++ -std=c++17 -Wall -Wextra -Werror -fsanitize=undefined errors.cpp $(pkg-config --cflags --libs tenon) -o errors_cpp && ./errors_cpp' >log 2>&1 ||
  complain "the C++ header: $(cat log)"
exit $status
