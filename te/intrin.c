/* intrin.c: the known intrinsics. A pattern is the text of a program with one computed tensor. When it is
 * first used it is converted into the form that loops are compared with (tir/intrin.h), and kept in a list
 * that a slot of the context heads, in the context's arena. */
#include "te/intrin.h"

#include <ctype.h>
#include <stdio.h>

#include "te/internal.h"

/* LANES results, each a sum of K products. */
#define DOT(name, lanes, k, a, b, acc)                                                                                \
  {name,                                                                                                              \
   "input a: " a "[" lanes "," k "], b: " b "[" lanes "," k "]\nc[l<" lanes "] = sum[k<" k "](" acc "(a[l,k]) * " acc \
   "(b[l,k]))",                                                                                                       \
   TIR_INTRIN_DOT}
#define DOTS(name, k, a, b, acc) \
  DOT(name, "16", k, a, b, acc), DOT(name "_x8", "8", k, a, b, acc), DOT(name "_x4", "4", k, a, b, acc)

/* M results, each a sum of L products. The letters stand for numbers, which the name in a schedule gives. */
#define GEMV(name, dtype) \
  {name "_MxL", "input a: " dtype "[L], b: " dtype "[M,L]\nc[m<M] = sum[l<L](a[l] * b[m,l])", TIR_INTRIN_LANES}

enum { MAX_SIZE = 4096 }; /* the largest number in a name */

static const struct builtin {
  const char *name, *pattern;
  tir_intrin_form form;
} builtins[] = {
    DOTS("dot4_u8i8", "4", "u8", "i8", "i32"),
    DOTS("dot4_i8i8", "4", "i8", "i8", "i32"),
    DOTS("dot2_bf16", "2", "bf16", "bf16", "f32"),
    GEMV("gemv", "f32"),
    GEMV("gemv_f64", "f64"),
};

/* The numbers for M and L in a name. */
typedef struct mat_size {
  int m, l;
} mat_size;

/* A number from 1 to MAX_SIZE without leading zeros; 0: none. */
static int read_size(const char **at) {
  int n = 0;
  while (isdigit((unsigned char)**at) && n <= MAX_SIZE && !(n == 0 && **at == '0')) n = n * 10 + *(*at)++ - '0';
  return n <= MAX_SIZE ? n : 0;
}

/* Whether NAME is FORM with numbers in place of the letters M and L. */
static bool has_form(const char *name, const char *form, mat_size *out) {
  *out = (mat_size){0};
  for (; *form; form++) {
    int *size = *form == 'M' ? &out->m : *form == 'L' ? &out->l : NULL;
    if (size ? (*size = read_size(&name)) == 0 : *name++ != *form) return false;
  }
  return *name == '\0';
}

/* TEXT with the numbers in place of the letters. NULL: no memory. */
static const char *with_size(runtime_arena *arena, const char *text, const mat_size *size) {
  runtime_str out = {0};
  for (; *text; text++) {
    if (*text == 'M' || *text == 'L')
      runtime_str_addf(&out, "%d", *text == 'M' ? size->m : size->l);
    else
      runtime_str_addf(&out, "%c", *text);
  }
  return runtime_str_take(&out, arena);
}

/* ---- from a program to a pattern --------------------------------------------------------------------------------- */

/* A pattern being converted. Each input must be read once. */
typedef struct reading {
  runtime_arena *arena;
  tir_intrin *intrin;
  const te_op *op;
  bool failed, seen[TIR_INTRIN_INPUTS];
} reading;

/* The axis that an index is; -1: the index is not a plain axis. */
static int axis_of(const tir_intrin *intrin, const tir_expr *index) {
  for (int i = 0; i < intrin->n_axes; i++)
    if (index->op == TIR_VAR && index->u.var == intrin->axes[i].var) return i;
  return -1;
}

/* A compact buffer. The strides of an intrinsic's operands are only found when loops are compared. */
static const tir_buffer *make_buffer(runtime_arena *arena, const tn_tensor *tensor) {
  tir_buffer *buffer = RUNTIME_NEW(arena, tir_buffer);
  if (!buffer) return NULL;
  *buffer = (tir_buffer){.name = tensor->name, .dtype = tensor->dtype, .ndim = tensor->ndim, .scope = "global"};
  memcpy(buffer->shape, tensor->shape, sizeof *tensor->shape * (size_t)tensor->ndim);
  return buffer;
}

/* Replaces a read by a load. Each input must be read at plain axes, the same ones everywhere. */
static const tir_expr *read_node(void *user, const tir_expr *e) {
  reading *r = user;
  if (e->op != TIR_READ) return e;
  int input = 0;
  while (input < r->op->n_inputs && r->op->inputs[input] != e->u.tensor) input++;
  for (int i = 0; i < e->n_args; i++) {
    int axis = axis_of(r->intrin, e->arg[i]);
    r->failed |= axis < 0 || (r->seen[input] && r->intrin->input_axis[input][i] != axis);
    r->intrin->input_axis[input][i] = (int8_t)axis;
  }
  r->seen[input] = true;
  return input < r->op->n_inputs ? tir_load(r->arena, r->intrin->inputs[input], e->n_args, e->arg, NULL) : NULL;
}

/* Adds axes; called for data axes first, then for reduction axes. */
static void add_axes(tir_intrin *intrin, int n, tn_axis *const *axes) {
  for (int i = 0; i < n; i++)
    intrin->axes[intrin->n_axes++] = (tir_intrin_axis){&axes[i]->var, axes[i]->extent, axes[i]->is_reduce};
}

/* Why a program is not a pattern; NULL: it is. */
static const char *objection(const tn_program *p) {
  const te_op *op = p->ops[p->n_ops - 1];
  if (op->kind != TE_COMPUTE || p->n_ops != op->n_inputs + 1 || op->n_outputs != 1)
    return "it has to compute one tensor";
  if (p->n_symbols > 0) return "its extents have to be numbers";
  for (int i = 0; i < p->n_args; i++)
    if (p->args[i]->is_strided) return "its tensors are not to be strided: every intrinsic is given strides";
  if (op->n_axes + op->n_reduce > TIR_INTRIN_AXES) return "it has more than 6 axes";
  if (op->n_inputs > TIR_INTRIN_INPUTS) return "it has more than 6 inputs";
  if (op->body->op == TIR_REDUCE && (op->body->u.reduce->has_where || op->body->u.reduce->has_init))
    return "its reduction has a where or an init";
  if (tir_reduces_tuples(op->body)) return "its reduction is by a combiner of the program";
  return op->may_leave ? "a read of it can leave its tensor" : NULL;
}

/* Fills INTRIN from the program's last op. Returns NULL, or what is wrong. */
static const char *from_program(runtime_arena *arena, const tn_program *p, tir_intrin *intrin) {
  const char *wrong = objection(p);
  if (wrong) return wrong;
  const te_op *op = p->ops[p->n_ops - 1];
  const bool is_reduction = op->body->op == TIR_REDUCE;
  intrin->n_data = op->n_axes;
  add_axes(intrin, op->n_axes, op->axes);
  add_axes(intrin, op->n_reduce, op->reduce_axes);
  intrin->n_inputs = op->n_inputs;
  for (int i = 0; i < op->n_inputs; i++)
    if (!(intrin->inputs[i] = make_buffer(arena, op->inputs[i]))) return "out of memory";
  intrin->output = make_buffer(arena, &op->outputs[0]);
  intrin->is_reduction = is_reduction;
  if (is_reduction) intrin->combiner = op->body->u.reduce->combiner;
  reading r = {.arena = arena, .intrin = intrin, .op = op};
  tir_rewriter rewriter = {arena, NULL, read_node, &r};
  intrin->source = tir_simplify(arena, NULL, tir_rewrite_expr(&rewriter, is_reduction ? op->body->arg[0] : op->body));
  if (r.failed) return "it reads an input at more than plain axes, or in two ways";
  return intrin->source && intrin->output ? NULL : "out of memory";
}

/* ---- those of a context, and those of a program ------------------------------------------------------------------ */

/* An intrinsic and what it was made from: an entry of the context's list, or one of a program's. */
typedef struct known {
  tir_intrin intrin;   /* first, so that a pointer to it is one to the entry */
  tn_program *program; /* the pattern */
  const char *record;  /* what a step holds: the name, or name and pattern of a declared one */
  struct known *next;
} known;

/* NULL: no intrinsic of that name is in the context's list. */
static const known *find_known(const tn_context *ctx, const char *name) {
  for (const known *k = runtime_slot_get(ctx, RUNTIME_SLOT_INTRINS); k; k = k->next)
    if (strcmp(k->intrin.name, name) == 0) return k;
  return NULL;
}

/* Reads PATTERN. NULL after a message: it is not a pattern. */
static known *read_pattern(const te_site *site, const char *name, const char *pattern) {
  tn_context *ctx = site->ctx;
  tn_program *p = te_parse_part(site, pattern);
  known *k = p ? RUNTIME_NEW(&ctx->arena, known) : NULL;
  if (!k) return NULL;
  *k = (known){.intrin = {.name = runtime_strdup(&ctx->arena, name)},
               .program = p,
               .next = runtime_slot_get(ctx, RUNTIME_SLOT_INTRINS)};
  const char *wrong = from_program(&ctx->arena, p, &k->intrin), *text = tn_program_text(p);
  if (!wrong && text && k->intrin.name) {
    k->intrin.text = runtime_strdup(&ctx->arena, text);
    for (char *c = (char *)k->intrin.text; c && *c; c++) *c = *c == '\n' ? (c[1] ? ';' : '\0') : *c;
    return k;
  }
  te_fail(site, TN_ERROR_SCHEDULE, "intrinsic %s: %s: a pattern is like c[m<16] = sum[l<64](a[l] * b[m,l])", name,
          wrong ? wrong : "out of memory");
  return NULL;
}

/* Reads a built-in's pattern with the numbers of NAME, and adds it to the context's list. */
static const known *read_builtin(tn_context *ctx, const struct builtin *builtin, const char *name,
                                 const mat_size *size) {
  const char *pattern = with_size(&ctx->arena, builtin->pattern, size);
  known *k = pattern ? read_pattern(&(te_site){.ctx = ctx}, name, pattern) : NULL;
  if (!k) return NULL;
  k->intrin.text = strchr(pattern, '\n') + 1;
  k->intrin.form = builtin->form;
  k->record = k->intrin.name;
  runtime_slot_set(ctx, RUNTIME_SLOT_INTRINS, k, NULL);
  return k;
}

/* A built-in is read when it is first asked for. NULL: there is none, or no memory. */
static const known *find(tn_context *ctx, const char *name) {
  const known *found = find_known(ctx, name);
  mat_size size;
  for (int i = 0; !found && i < RUNTIME_COUNT(builtins); i++)
    if (has_form(name, builtins[i].name, &size)) return read_builtin(ctx, &builtins[i], name, &size);
  return found;
}

/* NULL: the program's text declares none of that name. */
static const known *find_own(const tn_program *program, const char *name) {
  for (int i = 0; program && i < program->n_intrins; i++)
    if (strcmp(program->intrins[i]->name, name) == 0) return (const known *)program->intrins[i];
  return NULL;
}

/* The program's own come first, since records hold what its text says. */
static const known *find_for(tn_context *ctx, const tn_program *program, const char *name) {
  const known *own = find_own(program, name);
  return own ? own : find(ctx, name);
}

/* An intrinsic with numbers in its name is made when it is first asked for, such as gemv_16x64. */
const tir_intrin *te_find_intrin(tn_context *ctx, const tn_program *program, const char *name) {
  const known *k = find_for(ctx, program, name);
  return k ? &k->intrin : NULL;
}

/* A walk over a function's marks, made twice: to count and to fill. */
typedef struct marks {
  tn_context *ctx;
  tir_func *f;
  const tir_intrin **intrins; /* NULL: only counts, in f->n_intrins */
} marks;

/* A name that is no intrinsic is left to the pass, which leaves such loops as they are. */
static tir_walk add_mark(void *user, const tir_stmt *s) {
  static const char *const prefixes[] = {TIR_TENSORIZE, TIR_TENSORIZE_RESET, TIR_TENSORIZE_BODY};
  marks *m = user;
  for (int i = 0; s->kind == TIR_ATTR && i < RUNTIME_COUNT(prefixes); i++) {
    size_t n = strlen(prefixes[i]);
    const tir_intrin *intrin =
        strncmp(s->u.attr.key, prefixes[i], n) == 0 ? te_find_intrin(m->ctx, NULL, s->u.attr.key + n) : NULL;
    if (intrin && m->intrins) m->intrins[m->f->n_intrins] = intrin;
    m->f->n_intrins += intrin != NULL;
  }
  return TIR_WALK_ON;
}

/* For loop IR that was read from text; lowering knows the intrinsics of its stages itself. */
bool te_add_intrins(tn_context *ctx, runtime_arena *arena, tir_func *f) {
  marks m = {.ctx = ctx, .f = f};
  tir_visitor visitor = {.stmt = add_mark, .user = &m};
  f->n_intrins = 0;
  tir_walk_stmt(f->body, &visitor);
  m.intrins = RUNTIME_NEW_ARRAY(arena, const tir_intrin *, f->n_intrins + 1);
  f->intrins = m.intrins;
  f->n_intrins = 0;
  if (m.intrins) tir_walk_stmt(f->body, &visitor);
  return m.intrins != NULL;
}

/* The pattern of a declared intrinsic goes into records, so that another one of the same name is noticed. */
const char *te_intrin_record(tn_context *ctx, const tn_program *program, const char *name) {
  const known *k = find_for(ctx, program, name);
  return k ? k->record : name;
}

const char *te_intrin_names(tn_context *ctx, const tn_program *program, char *buffer, size_t n) {
  size_t used = 0;
  for (int i = 0; i < RUNTIME_COUNT(builtins) && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, "%s%s", i ? ", " : "", builtins[i].name);
  if (used < n)
    used += (size_t)snprintf(buffer + used, n - used, " (M and L are numbers from 1 to %d: gemv_16x64)", MAX_SIZE);
  for (const known *k = runtime_slot_get(ctx, RUNTIME_SLOT_INTRINS); k && used < n; k = k->next)
    if (k->intrin.form == TIR_INTRIN_CALL) used += (size_t)snprintf(buffer + used, n - used, ", %s", k->intrin.name);
  for (int i = 0; i < program->n_intrins && used < n; i++)
    used += (size_t)snprintf(buffer + used, n - used, ", %s", program->intrins[i]->name);
  return buffer;
}

/* ---- declaring --------------------------------------------------------------------------------------------------- */

/* At most 60 characters, since names of accumulators are made from it. */
static bool is_identifier(const char *name) {
  if (!name || !(isalpha((unsigned char)*name) || *name == '_') || strlen(name) > 60) return false;
  while (isalnum((unsigned char)*name) || *name == '_') name++;
  return *name == '\0';
}

/* Checks the arguments before anything is made or called. */
static bool check_declaration(const te_site *site, const char *name, const char *pattern,
                              const tn_intrin_functions *f) {
  const tn_intrin_function *all[] = {f ? &f->body : NULL, f ? &f->reset : NULL, f ? &f->update : NULL};
  const char *shown = name ? name : "";
  int unnamed = 0;
  for (int i = 0; f && i < RUNTIME_COUNT(all); i++) unnamed += all[i]->function && !is_identifier(all[i]->name);
  if (!is_identifier(name))
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic \"%s\": the name has to be an identifier", shown);
  else if (!pattern)
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: the pattern is NULL: give one, \"c[i<16] = a[i]\"", shown);
  else if (!f)
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: the functions are NULL: name a body or an update", shown);
  else if (unnamed > 0)
    te_fail(site, TN_ERROR_ARGUMENT,
            "intrinsic %s: a function has an address but no name: give the name that C code knows it by", shown);
  else
    return true;
  return false;
}

/* Whether the functions that the pattern needs are given. */
static bool check_roles(const te_site *site, const tir_intrin *intrin) {
  tir_intrin_role needed = intrin->is_reduction ? TIR_INTRIN_UPDATE : TIR_INTRIN_BODY;
  if (intrin->callees[needed] && (intrin->is_reduction || !intrin->callees[TIR_INTRIN_UPDATE])) return true;
  te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: %s: %s", intrin->name,
          intrin->is_reduction ? "a reduction needs an update" : "what is no reduction has a body only", intrin->text);
  return false;
}

/* ---- what functions need ----------------------------------------------------------------------------------------- */

/* Input I of a pattern, or after the inputs the output. */
static const tir_buffer *operand_buffer(const tir_intrin *intrin, int i) {
  return i < intrin->n_inputs ? intrin->inputs[i] : intrin->output;
}

/* Reports that there is no such operand, with the names "a, b, c" of those there are. Returns false. */
static bool refuse_operand(const te_site *site, const tir_intrin *intrin, const char *name) {
  runtime_str names = {0};
  for (int i = 0; i <= intrin->n_inputs; i++)
    runtime_str_addf(&names, "%s%s", i > 0 ? ", " : "", operand_buffer(intrin, i)->name);
  te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: the pattern has no tensor '%s'; it has %s", intrin->name,
          name ? name : "", names.failed ? "others" : names.data);
  runtime_str_free(&names);
  return false;
}

/* Sets what the functions need of one operand. Strides that make two elements overlap are found later, when
 * the functions are tried. */
static bool take_need(const te_site *site, tir_intrin *intrin, const tn_intrin_operand *o) {
  int i = 0;
  while (i <= intrin->n_inputs && (!o->name || strcmp(operand_buffer(intrin, i)->name, o->name) != 0)) i++;
  if (i > intrin->n_inputs) return refuse_operand(site, intrin, o->name);
  const tir_buffer *buffer = operand_buffer(intrin, i);
  bool is_power = o->align >= 0 && o->align <= TIR_SCRATCH_ALIGN && (o->align & (o->align - 1)) == 0;
  bool has_strides = o->n_strides == 0 || (o->n_strides == buffer->ndim && o->strides);
  for (int d = 0; has_strides && d < o->n_strides; d++) has_strides = o->strides[d] >= 0;
  if (!is_power)
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: an alignment is a power of two, 1 to %d bytes, not %d",
            intrin->name, (int)TIR_SCRATCH_ALIGN, o->align);
  else if (!has_strides)
    te_fail(site, TN_ERROR_ARGUMENT,
            "intrinsic %s: '%s' has %d dimensions, and %d strides are given: 1 or more each, or any", intrin->name,
            buffer->name, buffer->ndim, o->n_strides);
  if (!is_power || !has_strides) return false;
  intrin->needs[i].align = o->align;
  for (int d = 0; d < o->n_strides; d++) intrin->needs[i].stride[d] = o->strides[d];
  return true;
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

/* The words for the roles of functions in the text form. */
static const char *const role_words[] = {
    [TIR_INTRIN_BODY] = "body", [TIR_INTRIN_RESET] = "reset", [TIR_INTRIN_UPDATE] = "update"};

/* Prints what an operand needs in the form the parser reads: an alignment, and strides with '*' for those
 * that do not matter. */
static void print_need(runtime_str *out, const tir_buffer *buffer, const tir_intrin_need *need) {
  bool has_strides = false;
  if (need->align) runtime_str_addf(out, ", align %s %lld", buffer->name, (long long)need->align);
  for (int d = 0; d < buffer->ndim; d++) has_strides |= need->stride[d] != 0;
  if (!has_strides) return;
  runtime_str_addf(out, ", strides %s [", buffer->name);
  for (int d = 0; d < buffer->ndim; d++) {
    runtime_str_add(out, d > 0 ? ", " : "");
    if (need->stride[d])
      runtime_str_addf(out, "%lld", (long long)need->stride[d]);
    else
      runtime_str_add(out, "*");
  }
  runtime_str_add(out, "]");
}

void te_print_intrin(runtime_str *out, const tir_intrin *intrin) {
  const char *separator = "";
  runtime_str_addf(out, "intrin %s { %s } ", intrin->name, intrin->text);
  for (int i = 0; i < TIR_INTRIN_ROLE_COUNT; i++) {
    if (!intrin->callees[i]) continue;
    runtime_str_addf(out, "%s%s %s", separator, role_words[i], intrin->callees[i]->name);
    separator = ", ";
  }
  for (int i = 0; i <= intrin->n_inputs; i++) print_need(out, operand_buffer(intrin, i), &intrin->needs[i]);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The functions are called with random data before the intrinsic exists: one that computes something else
 * is refused. */
static known *make_intrin(const te_site *site, const char *name, const char *pattern, const tn_intrin_functions *f,
                          int n_operands, const tn_intrin_operand *operands) {
  tn_context *ctx = site->ctx;
  const tn_intrin_function *all[TIR_INTRIN_ROLE_COUNT] = {&f->body, &f->reset, &f->update};
  known *k = read_pattern(site, name, pattern);
  if (!k) return NULL;
  k->intrin.form = TIR_INTRIN_CALL;
  k->record = runtime_format(&ctx->arena, "%s: %s", name, k->intrin.text);
  for (int i = 0; i < TIR_INTRIN_ROLE_COUNT; i++) {
    tir_callee *callee = all[i]->name ? RUNTIME_NEW(&ctx->arena, tir_callee) : NULL;
    if (callee) *callee = (tir_callee){.name = runtime_strdup(&ctx->arena, all[i]->name), .function = all[i]->function};
    if (all[i]->name && !te_has_memory(site, callee)) return NULL;
    k->intrin.callees[i] = callee;
  }
  if (!te_has_memory(site, k->record) || !check_roles(site, &k->intrin)) return NULL;
  for (int i = 0; i < n_operands; i++)
    if (!take_need(site, &k->intrin, &operands[i])) return NULL;
  return te_check_functions(k->program, &k->intrin) == TN_OK ? k : NULL;
}

/* Compares texts, which have the functions' names but not their addresses. */
static bool is_same_intrin(const tir_intrin *a, const tir_intrin *b) {
  runtime_str x = {0}, y = {0};
  te_print_intrin(&x, a);
  te_print_intrin(&y, b);
  bool is_same = x.data && y.data && strcmp(x.data, y.data) == 0;
  runtime_str_free(&x);
  runtime_str_free(&y);
  return is_same;
}

/* C declares for the context, and only once a name. A text declares for its program. Since a name means one
 * thing in a program, a text may repeat what C declared, but nothing else under that name. */
const tir_intrin *te_declare_intrin(const te_site *site, const char *name, const char *pattern,
                                    const tn_intrin_functions *functions, int n_operands,
                                    const tn_intrin_operand *operands) {
  if (!check_declaration(site, name, pattern, functions)) return NULL;
  const known *before = find(site->ctx, name);
  if (before && !site->text) {
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: there is one of this name: take another", name);
    return NULL;
  }
  known *k = make_intrin(site, name, pattern, functions, n_operands, operands);
  if (!k) return NULL;
  if (before && is_same_intrin(&before->intrin, &k->intrin)) return &before->intrin;
  if (before) {
    te_fail(site, TN_ERROR_ARGUMENT, "intrinsic %s: there is another one of this name: take another name", name);
    return NULL;
  }
  if (!site->text) runtime_slot_set(site->ctx, RUNTIME_SLOT_INTRINS, k, NULL);
  return &k->intrin;
}

tn_status tn_intrin_declare(tn_context *ctx, const char *name, const char *pattern,
                            const tn_intrin_functions *functions, int n_operands, const tn_intrin_operand *operands) {
  te_site site = {.ctx = ctx};
  if (!ctx || n_operands < 0 || (n_operands > 0 && !RUNTIME_GIVEN(ctx, operands))) return TN_ERROR_ARGUMENT;
  if (te_declare_intrin(&site, name, pattern, functions, n_operands, operands)) return TN_OK;
  return tn_context_status(ctx) != TN_OK ? tn_context_status(ctx) : TN_ERROR_MEMORY;
}

tn_status tn_intrin_new(tn_context *ctx, const char *name, const char *pattern, const tn_intrin_functions *functions) {
  return tn_intrin_declare(ctx, name, pattern, functions, 0, NULL);
}

/* The callees may be changed, since they are in the context's arena. */
tn_status te_give_intrin(const tir_intrin *intrin, int role, void (*function)(void), const void *module, size_t bytes) {
  const known *k = (const known *)intrin;
  tir_callee *callee = (tir_callee *)intrin->callees[role];
  if (!callee) return TN_ERROR_ARGUMENT;
  tir_callee before = *callee;
  if (function) callee->function = function;
  tn_status status = function ? te_check_functions(k->program, &k->intrin) : TN_OK;
  if (status != TN_OK) return *callee = before, status;
  callee->module = module;
  callee->module_bytes = bytes;
  return TN_OK;
}
