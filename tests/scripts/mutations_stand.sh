#!/usr/bin/env bash
# Each entry of tests/mutation/ still names text that stands once in its file, so that the mutation check, for which CI has no
# time, breaks what it says. Whoever changes such text changes the entry.
set -euo pipefail
cd "$TENON_SOURCE"
python3 scripts/mutation --check
