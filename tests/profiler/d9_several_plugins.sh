#!/usr/bin/env bash
# Row D9: a plug-in that names everything as TensorFlow's do, several plug-ins in one recording, a folder of them whose name looks like a pattern, and one
# among them that is none.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >plugin.c <<'END'
#define TN_PLUGIN_TENSORFLOW_NAMES
#include <tenon/profiler_plugin.h>
/* XSpace {2: "warning of NAME"}: what a recording shows of it is enough to tell who was asked. */
static void start(const TP_Profiler *p, TF_Status *s) { (void)p, TF_SetStatus(s, TF_OK, ""); }
static void stop(const TP_Profiler *p, TF_Status *s) { (void)p, TF_SetStatus(s, TF_INTERNAL, "no stop of " NAME); }
static void collect(const TP_Profiler *p, uint8_t *b, size_t *n, TF_Status *s) {
  (void)p, (void)b, *n = 0;
  TF_SetStatus(s, TF_OK, "");
}
static void destroy(TP_Profiler *p) { (void)p; }
static void destroy_fns(TP_ProfilerFns *f) { (void)f; }
void TF_InitProfiler(TF_ProfilerRegistrationParams *params, TF_Status *status) {
  params->profiler->struct_size = TP_PROFILER_STRUCT_SIZE;
  params->profiler->type = NAME;
  params->profiler_fns->struct_size = TP_PROFILER_FNS_STRUCT_SIZE;
  params->profiler_fns->start = start;
  params->profiler_fns->stop = stop;
  params->profiler_fns->collect_data_xspace = collect;
  params->destroy_profiler = destroy;
  params->destroy_profiler_fns = destroy_fns;
  TF_SetStatus(status, TF_OK, "");
}
END
mkdir "fol[d]er *?"
for name in ONE TWO THREE; do
  cc -std=c17 -Wall -Wextra -Werror -I"$TENON_BUILD/include" -DNAME="\"$name\"" -fPIC -shared plugin.c -o "fol[d]er *?/$name.so"
done
cp "fol[d]er *?/THREE.so" three.so
rm "fol[d]er *?/THREE.so"
echo 'int x;' | cc -x c -shared -fPIC - -o "fol[d]er *?/none.so"
"$TENON" tune 'C[i<32,j<32] = sum[k<32](A[i,k]*B[k,j])' --trials 3 --log log.json --profile run.json \
  --profile-plugin "fol[d]er *?" --profile-plugin ./three.so >/dev/null 2>err
grep -q 'none.so: it defines neither tn_plugin_init nor TF_InitProfiler' err || { cat err; exit 1; }
python3 - <<'END'
import json
errors = str(json.load(open("run.json"))["otherData"]["errors"])
for name in ("ONE", "TWO", "THREE"):
    assert "no stop of " + name in errors, errors
END
"$TENON" tune 'C[i<32,j<32] = sum[k<32](A[i,k]*B[k,j])' --trials 1 --log l2.json --profile r2.json --profile-plugin / >/dev/null 2>err
grep -q '/ has no profiler plug-in' err || { cat err; exit 1; }
