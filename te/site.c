/* site.c: reports failures at a C call or at a place in a program's text. It also knows the words of the
 * language: which names are taken, which operator a text means, and which function a misspelt one was meant
 * to be. */
#include <ctype.h>
#include <stdio.h>

#include "te/internal.h"
#include "te/source.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* At a place in a text the status is TN_ERROR_PARSE, whatever STATUS says. */
tn_status te_fail(const te_site *site, tn_status status, const char *fmt, ...) {
  char text[2048];
  RUNTIME_PRINT_ARGS(text, fmt);
  if (!site->text) return runtime_fail(site->ctx, status, "%s", text);
  if (site->sources) return te_fail_in_sources(site->sources, site->at, text);
  runtime_str what = {0};
  runtime_str_addf(&what, "%s%sparse error at", site->file ? site->file : "", site->file ? ": " : "");
  status = runtime_fail_at(site->ctx, what.failed ? "parse error at" : what.data, site->text, site->at, "%s", text);
  runtime_str_free(&what);
  return status;
}

bool te_has_memory(const te_site *site, const void *pointer) {
  if (!pointer) runtime_fail(site->ctx, TN_ERROR_MEMORY, "out of memory");
  return pointer != NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Reserved words that are neither functions nor dtypes: words that begin a statement, constants, and
 * reductions that are not among TIR_COMBINERS. */
static const char *const keywords[] = {"input",  "output", "param", "scalar", "symbol", "combiner", "state", "scan",
                                       "extern", "true",   "false", "inf",    "nan",    "argmin",   "argmax"};
#define X(name, text) text,
static const char *const combiners[] = {TIR_COMBINERS(X)};
#undef X

/* Whether a program can contain the operator. Other rows of TIR_OPS have a syntax of their own or occur in
 * loop IR only. */
static bool is_written(const tir_op_info *op) {
  return (op->rule != TIR_RULE_LEAF && op->rule != TIR_RULE_OWN) || op->op_class == TIR_CLASS_SELECT;
}

/* No two operators share a text; the number of operands is checked afterwards. */
int te_find_op(const char *text) {
  if (strcmp(text, "if_then_else") == 0) return TIR_SELECT; /* TVM's lazy select; Tenon's is lazy */
  for (int i = 0; i < TIR_OP_COUNT; i++)
    if (is_written(&tir_op_table[i]) && strcmp(tir_op_table[i].text, text) == 0) return i;
  return -1;
}

const char *te_combiner_text(tir_combiner combiner) { return combiners[combiner]; }

int te_find_combiner(const char *text) { return RUNTIME_FIND(combiners, text); }

bool te_is_reserved(const char *name) {
  tn_dtype dtype;
  return RUNTIME_FIND(keywords, name) >= 0 || te_find_op(name) >= 0 || te_find_combiner(name) >= 0 ||
         tn_dtype_parse(name, &dtype);
}

/* Whether SUFFIX is what lift.c appends to the name of a definition: "sum", "max2". */
static bool is_of_reduction(const char *suffix) {
  char word[16];
  size_t n = strcspn(suffix, "0123456789");
  if (n >= sizeof word || strspn(suffix + n, "0123456789") != strlen(suffix + n)) return false;
  memcpy(word, suffix, n);
  word[n] = '\0';
  return te_find_combiner(word) >= 0 || strcmp(word, TE_OTHER_REDUCTION) == 0;
}

/* Letters, digits and _ of ASCII, as in C, since names become parameters of exported functions. Names such
 * as C.sum are allowed, too. */
static bool is_identifier(const char *name) {
  if (!isalpha((unsigned char)name[0]) && name[0] != '_') return false;
  for (; *name && *name != '.'; name++)
    if (!isalnum((unsigned char)*name) && *name != '_') return false;
  return !*name || is_of_reduction(name + 1);
}

/* Each of the three refusals has its own message, since the remedies differ. */
bool te_check_name(const te_site *site, const char *what, const char *name) {
  if (strlen(name) > TE_MAX_NAME)
    te_fail(site, TN_ERROR_PROGRAM, "'%.20s...' is longer than %d characters and cannot name %s", name, TE_MAX_NAME,
            what);
  else if (!is_identifier(name))
    te_fail(site, TN_ERROR_PROGRAM, "'%s' is no name for %s: a name is letters, digits and _, no digit first", name,
            what);
  else if (te_is_reserved(name))
    te_fail(site, TN_ERROR_PROGRAM,
            "'%s' is a word of the language and cannot name %s: write another name, such as %s_", name, what, name);
  else
    return true;
  return false;
}

/* ---- the nearest word -------------------------------------------------------------------------------------------- */

/* Dtypes are offered, too, since a cast is written like a call. */
const char *te_nearest_function(const char *name) {
  runtime_nearest near = runtime_nearest_to(name);
  for (int i = 0; i < TIR_OP_COUNT; i++)
    if (is_written(&tir_op_table[i]) && isalpha((unsigned char)tir_op_table[i].text[0]))
      runtime_nearest_offer(&near, tir_op_table[i].text);
  for (int i = 0; i < TIR_COMBINER_COUNT; i++) runtime_nearest_offer(&near, combiners[i]);
  for (int i = 0; i < TN_DTYPE_COUNT; i++) runtime_nearest_offer(&near, tn_dtype_name((tn_dtype)i));
  return near.word;
}

const char *te_other_spelling(const char *name) {
  static const struct {
    const char *name, *write;
  } spellings[] = {
      {"float32", "f32"},
      {"float", "f32"},
      {"float64", "f64"},
      {"double", "f64"},
      {"float16", "f16"},
      {"half", "f16"},
      {"bfloat16", "bf16"},
      {"int8", "i8"},
      {"int16", "i16"},
      {"int32", "i32"},
      {"int", "i32"},
      {"int64", "i64"},
      {"uint8", "u8"},
      {"uint16", "u16"},
      {"uint32", "u32"},
      {"uint64", "u64"},
      {"boolean", "bool"},
      {"relu", "max(x, 0)"},
      {"clip", "min(max(x, low), high)"},
      {"clamp", "min(max(x, low), high)"},
      {"maximum", "max(x, y)"},
      {"minimum", "min(x, y)"},
      {"square", "x * x"},
      {"silu", "x * sigmoid(x)"},
      {"where", "select(condition, x, y)"},
      {"power", "pow(x, y)"},
      {"mod", "x % y"},
      {"matmul", "sum[k<64](A[i,k] * B[k,j])"},
      {"dot", "sum[k<64](A[k] * B[k])"},
      {"mean", "sum[k<64](A[k]) / 64"},
      {"average", "sum[k<64](A[k]) / 64"},
  };
  int i = RUNTIME_FIND(spellings, name);
  return i < 0 ? NULL : spellings[i].write;
}

void te_add_functions(runtime_str *out) {
  int n = 0;
  for (int i = 0; i < TIR_OP_COUNT; i++)
    if (is_written(&tir_op_table[i]) && isalpha((unsigned char)tir_op_table[i].text[0]))
      runtime_str_addf(out, "%s%s", n++ ? " " : "", tir_op_table[i].text);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* A size that depends on symbols is checked when a kernel is called. */
bool te_check_shape(const te_site *site, const tn_tensor *t) {
  int64_t bytes = (int64_t)tn_dtype_bytes(t->dtype);
  for (int d = 0; d < t->ndim; d++) {
    if (t->shape[d] < 1 || t->shape[d] > TE_MAX_EXTENT) {
      te_fail(site, TN_ERROR_PROGRAM, "extent %lld of dimension %d of '%s' is not in 1 .. %d", (long long)t->shape[d],
              d, t->name, (int)TE_MAX_EXTENT);
      return false;
    }
    if (!t->size[d] && __builtin_mul_overflow(bytes, t->shape[d], &bytes)) {
      te_fail(site, TN_ERROR_PROGRAM, "'%s' is too large: its size in bytes overflows 63 bits", t->name);
      return false;
    }
  }
  return true;
}
