#!/usr/bin/env bash
# libtenon.so and libtenon_profile.so export every function and variable that a public header declares, each in one of them, and
# nothing else. The compiler needs none of the libraries that profile/ needs.
set -euo pipefail
library=$TENON_BUILD/libtenon.so
above=$TENON_BUILD/libtenon_profile.so
declared=$(grep -hoE '^TN_API .*' "$TENON_BUILD"/include/tenon/*.h | grep -oE '\btn_[a-z0-9_]+[(;]' | tr -d '(;' | sort -u)
names() { nm -D --defined-only "$1" | awk '{print $3}' | sort -u; }
exported=$(names "$library"; names "$above")
status=0
for name in $(echo "$exported" | sort | uniq -d); do
  echo "exported by both: $name"
  status=1
done
exported=$(echo "$exported" | sort -u)
if readelf -d "$library" | grep -E 'NEEDED.*(microhttpd|protobuf)'; then
  echo "libtenon.so needs what only profile/ does"
  status=1
fi
readelf -d "$above" | grep -q 'NEEDED.*\[libtenon\.so\.0\]' || { echo "libtenon_profile.so does not need libtenon"; status=1; }
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
