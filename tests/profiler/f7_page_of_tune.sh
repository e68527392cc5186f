#!/usr/bin/env bash
# Row F7 on a real tuning run: one file with all views that names nothing outside itself.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TENON" tune 'C[i<64,j<64] = sum[k<64](A[i,k]*B[k,j])' --trials 16 --log log.json --profile run.html --json >out.json
if grep -nE 'https?:|//[a-z]|src=|@import|url\(|<link' run.html; then
  echo "the page needs something from outside"
  exit 1
fi
for part in 'Time (min)' 'Self CPU' 'Ratio.' 'Round trace' 'best_gflops' 'const data = {' 'Suggestions' 'EvoSearch' '</html>'; do
  grep -qF -- "$part" run.html || { echo "no '$part'"; exit 1; }
done
if command -v node >/dev/null; then
  sed -n '/<script>/,/<\/script>/p' run.html | grep -v 'script>' >page.js
  node --check page.js
fi
