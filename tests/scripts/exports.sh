#!/usr/bin/env bash
# libtenon.so exports every function and variable that a public header declares, and nothing else.
set -euo pipefail
library=$TENON_BUILD/libtenon.so
declared=$(grep -hoE '^TN_API .*' "$TENON_BUILD"/include/tenon/*.h | grep -oE '\btn_[a-z0-9_]+[(;]' | tr -d '(;' | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort -u)
status=0
for name in $(comm -23 <(echo "$declared") <(echo "$exported")); do
  echo "declared, not exported: $name"
  status=1
done
for name in $(comm -13 <(echo "$declared") <(echo "$exported")); do
  echo "exported, not declared: $name"
  status=1
done
echo "$(echo "$declared" | wc -l) functions declared"
exit $status
