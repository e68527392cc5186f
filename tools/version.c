/* version.c: `tenon version`: prints this version and those of LLVM and XGBoost. */
#include <llvm-c/Core.h>

#include "autotune/xgboost.h"
#include "tools/tools.h"

static int run(const tools_args *args);

static const tools_option options[] = {TOOLS_OPTION_JSON, TOOLS_OPTION_END};

const tools_verb tools_version = {
    .name = "version",
    .operands = "[--json]",
    .summary = "print the version of Tenon and of what it stands on",
    .details = "LLVM makes the code, XGBoost is the tuner's cost model.",
    .options = options,
    .run = run,
};

static int run(const tools_args *args) {
  unsigned llvm[3];
  int xgboost[3];
  char llvm_text[32], xgboost_text[48] = "absent", why[200];
  autotune_xgboost functions;
  LLVMGetVersion(&llvm[0], &llvm[1], &llvm[2]);
  snprintf(llvm_text, sizeof llvm_text, "%u.%u.%u", llvm[0], llvm[1], llvm[2]);
  if (autotune_xgboost_load(NULL, &functions, why, sizeof why)) {
    functions.BoostVersion(&xgboost[0], &xgboost[1], &xgboost[2]);
    snprintf(xgboost_text, sizeof xgboost_text, "%d.%d.%d", xgboost[0], xgboost[1], xgboost[2]);
  }
  if (args->is_json) {
    tools_session none = {0};
    return tools_print_json(
        &none, json_pack("{s:s, s:s, s:s}", "tenon", TN_VERSION, "llvm", llvm_text, "xgboost", xgboost_text));
  }
  printf("tenon %s (LLVM %s, XGBoost %s)\n", TN_VERSION, llvm_text, xgboost_text);
  return TOOLS_OK;
}
