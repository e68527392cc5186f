#!/usr/bin/env bash
# The rules of the house that a compiler does not check: a folder includes only itself and those below it, the library
# neither prints nor ends the program nor reads the environment, has no mutable state outside contexts, and files stay
# short.
set -euo pipefail
cd "$TENON_SOURCE"
library=(runtime tir te schedule codegen autotune profile)
status=0
complain() {
  echo "$1:"
  echo "$2" | sed 's/^/  /'
  status=1
}

floors=""
for folder in "${library[@]}"; do
  floors="$floors|$folder"
  bad=$(grep -rnE '^#include "' --include='*.[ch]' "$folder" | grep -vE "#include \"(${floors#|})/" || true)
  [ -z "$bad" ] || complain "$folder/ includes what is not below it" "$bad"
done

# On the ground floor: what the profiler stands on does not know it; kernels, which it sees, do.
bad=$(grep -nE '^#include "runtime/profiler/' runtime/*.[ch] | grep -vE '^runtime/(call|stages)\.c:' || true)
[ -z "$bad" ] || complain "runtime/ includes the profiler, which stands on it" "$bad"
bad=$(grep -rnE '^#include "runtime/(stages|kernel|parallel)\.h"' --include='*.[ch]' runtime/profiler || true)
[ -z "$bad" ] || complain "runtime/profiler/ includes what stands on it" "$bad"

# The measuring worker owns its process: worker_fault.c crashes it on request, worker_main.c ends it with its tuner, worker_last.c
# when its time is over.
bad=$(grep -rnE '\b(getenv|abort|_?exit|v?printf|puts|putchar|perror)\(' --include='*.c' "${library[@]}" |
  grep -vE '^autotune/worker_(fault|main|last).c:' || true)
[ -z "$bad" ] || complain "the library prints, ends the program or reads the environment" "$bad"

# Objects in writable sections, a thread's own (which objdump does not call objects) among them. The profiler has some: its
# recorder (runtime/profiler/state.h says why it is one for the process), the word that says what it wants, a thread's
# buffers and list of profilers. Else there are LLVM's one-time initialisation and a thread's innermost guard against LLVM's
# fatal errors. The measuring worker owns its process: its signal handlers have no argument (autotune/worker_guard.c,
# worker_last.c).
# Sanitizers add their own.
if grep -q '^TENON_SANITIZE:STRING=$' "$TENON_BUILD/CMakeCache.txt"; then
  bad=$(objdump -t "$TENON_BUILD/libtenon.a" "$TENON_BUILD/libtenon_profile.a" | grep -E ' (O \.(data|bss)|  \.t(data|bss))(\.[^r][^[:space:]]*)?[[:space:]]' | grep -vE ' d +\.t' |
    grep -vE ' (profiler_the_recorder|tn_profile_filter|this_thread|entered|innermost|guard|last|landing|is_open_to_strikes|once(\.[0-9]+)?|__gcov.*)$' || true)
  [ -z "$bad" ] || complain "mutable state outside contexts" "$bad"
fi

# Who owns what a public function takes and gives (runtime/runtime.h): what some tn_..._free takes, text and bytes say so.
headers=$(find "${library[@]}" -name '*.h' -exec grep -l 'TN_API' {} +)
owned=$(grep -hoE '\btn_\w+_free\((TN_TAKE )?\w+ \*' $headers | sed -E 's/.*[( ](\w+) \*$/\1/' | grep -vE '^(const|tn_tensor)$' | sort -u | paste -sd'|')
bad=$(grep -nE "^TN_API ($owned|char|void) \*\w+\(" $headers || true)
[ -z "$bad" ] || complain "a result that somebody has to release says neither TN_GIVE nor TN_KEEP" "$bad"
bad=$(grep -nE "^TN_API void tn_\w+_free\(($owned) " $headers || true)
[ -z "$bad" ] || complain "a function that releases its argument does not say TN_TAKE" "$bad"
bad=$(grep -nE '^TN_API .*[(,] *char \*\*(output|message|path)\b' $headers || true)
[ -z "$bad" ] || complain "text that an argument hands out does not say TN_GIVE" "$bad"

while read -r lines file; do
  [ "$lines" -lt 1000 ] || complain "longer than 999 lines" "$file: $lines"
done < <(find "${library[@]}" tools tests -name '*.[ch]' -exec wc -l {} + | grep -v ' total$')
exit $status
