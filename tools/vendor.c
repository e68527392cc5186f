/* vendor.c: finds out what operator a program is, so that a vendor can be asked for the same. */
#include "tools/vendor.h"

#include "te/match.h"

static vendor_operator product_of(tn_dtype dtype) { return dtype == TN_F64 ? VENDOR_GEMM_F64 : VENDOR_GEMM; }

static void set_dims(vendor_problem *p, int n, const int64_t *dims) { memcpy(p->dim, dims, (size_t)n * sizeof *dims); }

/* The program's arguments that the vendor reads, in the vendor's order. */
static void set_inputs(tools_vendor *v, int n, const int *inputs) {
  v->n_inputs = n;
  memcpy(v->inputs, inputs, (size_t)n * sizeof *inputs);
}

/* ---- what a program computes: each function returns false when the program is something else --------------------- */

/* C = A B, either factor transposed; an addend that is a matrix or a row, or none. It may be a part of the program. */
static bool find_product(tools_session *session, tools_vendor *v) {
  te_matmul m;
  if (!te_match_matmul(session->program, &m)) return false;
  v->problem = (vendor_problem){.op = product_of(m.dtype),
                                .is_a_transposed = m.is_a_transposed,
                                .is_b_transposed = m.is_b_transposed,
                                .addend_elements = m.addend < 0      ? 0
                                                   : m.is_addend_row ? m.n
                                                                     : m.m * m.n};
  set_dims(&v->problem, 4, (const int64_t[]){1, m.m, m.n, m.k});
  set_inputs(v, 2, (const int[]){m.a, m.b});
  v->addend = m.addend;
  v->output = m.output;
  v->result = tn_array_new(session->ctx, m.dtype, 2, (const int64_t[]){m.m, m.n});
  if (m.output < 0)
    tools_warn(session, "%s does the program's matrix product only: its other stages are not counted", v->name);
  return true;
}

/* A batch of products without an addend, nothing transposed. */
static bool find_batch(tools_session *session, tools_vendor *v) {
  te_batch_matmul m;
  if (!te_match_batch_matmul(session->program, &m)) return false;
  v->problem = (vendor_problem){.op = product_of(m.dtype)};
  set_dims(&v->problem, 4, (const int64_t[]){m.batch, m.m, m.n, m.k});
  set_inputs(v, 2, (const int[]){m.a, m.b});
  return true;
}

/* A convolution. A depthwise one has as many groups as channels. */
static bool find_conv(tools_session *session, tools_vendor *v) {
  te_conv c;
  if (!te_match_conv(session->program, &c)) return false;
  v->problem = (vendor_problem){.op = VENDOR_CONV};
  set_dims(&v->problem, 10,
           (const int64_t[]){c.batch, c.height, c.width, c.channels, c.filters, c.kernel, c.stride, c.padding,
                             c.dilation, c.is_depthwise ? c.channels : 1});
  set_inputs(v, 2, (const int[]){c.image, c.weights});
  return true;
}

/* Operators on rows: softmax reads x only, layer normalization also its scale and shift. */
static bool find_rows(tools_session *session, tools_vendor *v) {
  te_row_operator r;
  if (!te_match_rows(session->program, &r)) return false;
  v->problem = (vendor_problem){
      .op = r.is_softmax ? VENDOR_SOFTMAX : VENDOR_LAYERNORM, .is_by_columns = r.is_by_columns, .epsilon = r.epsilon};
  set_dims(&v->problem, 2, (const int64_t[]){r.rows, r.columns});
  set_inputs(v, r.is_softmax ? 1 : 3, (const int[]){r.x, r.scale, r.shift});
  return true;
}

/* The whole program is one operator, so that the vendor's result can be compared with the program's. Makes
 * an array for it. */
static bool find_whole(tools_session *session, tools_vendor *v) {
  if (!find_batch(session, v) && !find_conv(session, v) && !find_rows(session, v)) return false;
  v->output = tn_program_input_count(session->program);
  const tn_tensor *tensor = tn_program_arg(session->program, v->output);
  v->result = tn_array_new(session->ctx, tn_tensor_dtype(tensor), tn_tensor_rank(tensor), tn_tensor_shape(tensor));
  return true;
}

/* ---- the vendor -------------------------------------------------------------------------------------------------- */

/* Whether the second input is weights: that of an image or a matrix is. */
static bool is_product(const tools_vendor *v) {
  return v->problem.op != VENDOR_SOFTMAX && v->problem.op != VENDOR_LAYERNORM;
}

/* Makes the vendor ready on the program's inputs. It writes to an array of its own, so that both results
 * can be compared. False after a warning: bench goes on without this side. */
static bool prepare(tools_session *session, DLTensor *const *args, int threads, tools_vendor *v) {
  void *data[VENDOR_MAX_DIMS];
  char why[VENDOR_TEXT];
  int n = 0;
  v->problem.has_constant_weights = is_product(v) && session->program->args[v->inputs[1]]->is_layout_free;
  for (int i = 0; i < v->n_inputs; ++i) data[n++] = args[v->inputs[i]]->data;
  data[n++] = v->result->data;
  if (v->addend >= 0) data[n++] = args[v->addend]->data;
  if (vendor_prepare(v->name, &v->problem, data, threads, &v->kernel, why)) return true;
  tools_warn(session, "--vs %s: %s", v->name, why);
  return false;
}

bool tools_vendor_open(tools_session *session, const char *name, DLTensor *const *args, int threads,
                       tools_vendor *out) {
  *out = (tools_vendor){.addend = -1, .output = -1};
  snprintf(out->name, sizeof out->name, "%s", name);
  if (find_whole(session, out) || find_product(session, out))
    return out->result != NULL && prepare(session, args, threads, out);
  tools_warn(
      session,
      "--vs %s: the program is none of a matrix product C[i,j] = sum[k](A[i,k] * B[k,j]) of inputs in f32 or f64 "
      "(also in batches), a convolution of images NHWC, softmax or layer normalization of rows",
      name);
  return false;
}

/* Whether floats are summed: bytes that are made floats first, as weights are, go by multiply-adds. */
static bool sums_floats(const tn_program *program) {
  bool does = false;
  for (int i = 0; i < program->n_ops; ++i)
    does |= program->ops[i]->n_reduce > 0 && tn_dtype_is_float(program->ops[i]->outputs[0].dtype);
  return does;
}

static bool is_of_bf16(const tir_expr *e) { return e->op == TIR_CAST && e->arg[0]->dtype == TN_BF16; }

/* Whether products of two bf16 are summed, as dot product instructions do; other arithmetic on bf16 is that of f32. */
static bool sums_bf16(const tn_program *program) {
  for (int i = 0; i < program->n_ops; ++i) {
    const tir_expr *body = program->ops[i]->body;
    const tir_expr *term = body && body->op == TIR_REDUCE ? body->arg[0] : NULL;
    if (term && term->op == TIR_MUL && is_of_bf16(term->arg[0]) && is_of_bf16(term->arg[1])) return true;
  }
  return false;
}

vendor_number tools_vendor_number(const tn_program *program) {
  bool has_bytes = false, has_f64 = false;
  for (int i = 0; i < program->n_inputs; ++i) {
    tn_dtype dtype = program->args[i]->dtype;
    has_bytes |= dtype == TN_I8 || dtype == TN_U8;
    has_f64 |= dtype == TN_F64;
  }
  if (sums_floats(program)) has_bytes = false;
  return has_bytes ? VENDOR_BYTES : sums_bf16(program) ? VENDOR_BF16 : has_f64 ? VENDOR_F64 : VENDOR_F32;
}

/* Counts the program's operations by how long they take. A multiply-add and a multiplication alone take the
 * same time, so both count as fused. False: the program has nothing but multiply-adds, or no floats. */
static bool has_mix(const tn_program *program, double counts[VENDOR_OPERATIONS]) {
  double n[TE_OPERATION_COUNT], others = 0;
  te_operations(program, n);
  counts[VENDOR_FUSED] = n[TE_PRODUCT];
  counts[VENDOR_ADDITION] = RUNTIME_MAX(n[TE_SUM] - n[TE_FUSED], 0);
  counts[VENDOR_EXTREMUM] = n[TE_CHOICE];
  counts[VENDOR_DIVISION] = n[TE_DIVISION];
  counts[VENDOR_ROOT] = n[TE_ROOT];
  counts[VENDOR_FUNCTION] = n[TE_FUNCTION];
  for (int k = VENDOR_FUSED + 1; k < VENDOR_OPERATIONS; ++k) others += counts[k];
  return tools_vendor_number(program) == VENDOR_F32 && others > 0.01 * counts[VENDOR_FUSED];
}

bool tools_vendor_arithmetic(const tn_program *program, int threads, vendor_kernel *out, double *wanted, double *work,
                             char why[VENDOR_TEXT]) {
  double counts[VENDOR_OPERATIONS];
  *wanted = tn_program_flops(program);
  if (!has_mix(program, counts)) return vendor_limit_arithmetic(tools_vendor_number(program), threads, out, work, why);
  *wanted = counts[VENDOR_FUSED];
  for (int k = 0; k < VENDOR_OPERATIONS; ++k) *wanted += counts[k];
  return vendor_limit_mix(counts, threads, out, work, why);
}

const char *tools_vendor_operator(const tools_vendor *vendor) {
  switch (vendor->problem.op) {
    case VENDOR_CONV:
    case VENDOR_TRANSPOSED: return "convolution";
    case VENDOR_SOFTMAX: return "softmax";
    case VENDOR_LAYERNORM: return "layer_norm";
    case VENDOR_NONE: return "none";
    case VENDOR_GEMM:
    case VENDOR_GEMM_F64:
    case VENDOR_GEMM_BF16:
    case VENDOR_GEMM_U8:
    case VENDOR_GEMM_I8: return "product";
  }
  return "none";
}

void tools_vendor_close(tools_vendor *vendor) {
  vendor_kernel_free(&vendor->kernel);
  tn_array_free(vendor->result);
  vendor->result = NULL;
}
