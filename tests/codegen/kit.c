/* Building, compiling and calling loop IR by hand. */
#include "tests/codegen/kit.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

kit K;

void kit_open(void) { K.ctx = check_context(); }

void kit_close(void) {
  check_context_free(K.ctx);
  runtime_arena_free(&K.arena);
}

void kit_begin(void) { K.n_params = K.n_inputs = 0; }

/* ---- building ---------------------------------------------------------------------------------------------------- */

static const tir_buffer *buffer(const char *name, tn_dtype dtype, int64_t n, bool param, bool input) {
  tir_buffer *b = RUNTIME_NEW(&K.arena, tir_buffer);
  *b = (tir_buffer){
      .name = name, .dtype = dtype, .ndim = 1, .shape = {n}, .scope = "global", .is_param = param, .is_input = input};
  if (param) K.params[K.n_params++] = b;
  K.n_inputs += input;
  return b;
}

const tir_buffer *kit_in(const char *name, tn_dtype dtype, int64_t n) { return buffer(name, dtype, n, true, true); }
const tir_buffer *kit_out(const char *name, tn_dtype dtype, int64_t n) { return buffer(name, dtype, n, true, false); }
const tir_buffer *kit_scratch(const char *name, tn_dtype dtype, int64_t n) {
  return buffer(name, dtype, n, false, false);
}

const tir_var *kit_var(const char *name) {
  tir_var *var = RUNTIME_NEW(&K.arena, tir_var);
  *var = (tir_var){name, TN_I32};
  return var;
}

const tir_expr *kit_int(int64_t value) { return tir_int(&K.arena, TN_I32, value); }
const tir_expr *kit_at(const tir_var *var) { return tir_var_expr(&K.arena, var); }
const tir_expr *kit_add(const tir_expr *a, const tir_expr *b) { return tir_binary(&K.arena, TIR_ADD, a, b); }
const tir_expr *kit_mul(const tir_expr *a, int64_t b) { return tir_binary(&K.arena, TIR_MUL, a, kit_int(b)); }
const tir_expr *kit_ramp(const tir_expr *base, int64_t stride, int lanes) {
  return tir_ramp(&K.arena, base, stride, lanes);
}

const tir_expr *kit_load_if(const tir_buffer *b, const tir_expr *index, const tir_expr *predicate) {
  return tir_load(&K.arena, b, 1, &index, predicate);
}
const tir_expr *kit_load(const tir_buffer *b, const tir_expr *index) { return kit_load_if(b, index, NULL); }

const tir_stmt *kit_store_if(const tir_buffer *b, const tir_expr *index, const tir_expr *value,
                             const tir_expr *predicate) {
  return tir_store(&K.arena, b, 1, &index, value, predicate);
}
const tir_stmt *kit_store(const tir_buffer *b, const tir_expr *index, const tir_expr *value) {
  return kit_store_if(b, index, value, NULL);
}

const tir_stmt *kit_for(const tir_var *var, int64_t extent, tir_loop_kind kind, const tir_stmt *body) {
  return tir_for(&K.arena, var, kit_int(0), kit_int(extent), kind, body);
}
const tir_stmt *kit_seq(int n, const tir_stmt *const *stmts) { return tir_seq(&K.arena, n, stmts); }

tir_func *kit_func(const char *name, const tir_stmt *body) {
  assert_non_null(body);
  tir_func *f = RUNTIME_NEW(&K.arena, tir_func);
  *f = (tir_func){.name = name, .n_params = K.n_params, .n_inputs = K.n_inputs, .index_dtype = TN_I32, .body = body};
  f->params = runtime_copy(&K.arena, K.params, sizeof K.params);
  return f;
}

/* ---- compiling and calling --------------------------------------------------------------------------------------- */

tn_kernel *kit_compile(const tir_func *func, const tn_target *target) {
  codegen_bytes object;
  if (K.c_compiler != NULL) return kit_compile_c(func, target, K.c_compiler);
  runtime_kernel_arg args[KIT_MAX_PARAMS];
  codegen_object(K.ctx, func, target, &object);
  check_ok(K.ctx);
  for (int i = 0; i < func->n_params; ++i) {
    const tir_buffer *b = func->params[i];
    args[i] = (runtime_kernel_arg){
        .name = b->name, .dtype = b->dtype, .ndim = 1, .shape = {b->shape[0]}, .is_output = !b->is_input};
  }
  tn_kernel *kernel = codegen_load_calling(K.ctx, object.data, object.n, func->name, func->n_params, args, func);
  check_ok(K.ctx);
  assert_non_null(kernel);
  free(object.data);
  return kernel;
}

int32_t kit_call(const tn_kernel *kernel, void *const *p) {
  tn_kernel_fn fn = tn_kernel_function(kernel);
  switch (tn_kernel_arg_count(kernel)) {
    case 1: return ((int32_t (*)(void *))fn)(p[0]);
    case 2: return ((int32_t (*)(void *, void *))fn)(p[0], p[1]);
    case 3: return ((int32_t (*)(void *, void *, void *))fn)(p[0], p[1], p[2]);
    case 4: return ((int32_t (*)(void *, void *, void *, void *))fn)(p[0], p[1], p[2], p[3]);
    default: fail_msg("kit_call takes 1 to 4 parameters"); return -1;
  }
}

void kit_run(const tir_func *func, void *const *pointers) {
  tn_kernel *kernel = kit_compile(func, NULL);
  assert_int_equal(kit_call(kernel, pointers), 0);
  tn_kernel_free(kernel);
}

char *kit_text(const tir_func *func, const tn_target *target, codegen_form form) {
  codegen_bytes bytes;
  codegen_bytes_of(K.ctx, func, target, form, &bytes);
  check_ok(K.ctx);
  return bytes.data;
}

char *kit_assembly(const char *program, const char *schedule, const char *cpu) {
  char spec[96];
  snprintf(spec, sizeof spec, "triple=x86_64-pc-linux-gnu cpu=%s threads=1", cpu);
  const tn_build_options options = {.target = tn_target_new(K.ctx, spec)};
  tn_schedule *s = tn_schedule_new(tn_program_parse(K.ctx, program, 0, NULL));
  tn_schedule_apply(s, schedule);
  check_ok(K.ctx);
  char *assembly = tn_build_text(s, &options, ".s");
  check_ok(K.ctx);
  tn_schedule_free(s);
  return assembly;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

int64_t kit_get_int(tn_dtype dtype, const void *data, int64_t i) {
  switch (dtype) {
#define X(name, text, bytes, code, ctype) \
  case TN_##name: return (int64_t)((const ctype *)data)[i];
    TN_DTYPES(X)
#undef X
    case TN_DTYPE_COUNT: break;
  }
  return 0;
}

double kit_get(tn_dtype dtype, const void *data, int64_t i) {
  if (runtime_is_half(dtype)) return runtime_half_value(dtype, ((const uint16_t *)data)[i]);
  if (dtype == TN_F32) return ((const float *)data)[i];
  return dtype == TN_F64 ? ((const double *)data)[i] : (double)kit_get_int(dtype, data, i);
}

void kit_set(tn_dtype dtype, void *data, int64_t i, int64_t integer, double real) {
  if (dtype == TN_F32)
    ((float *)data)[i] = (float)real;
  else if (runtime_is_half(dtype))
    ((uint16_t *)data)[i] = runtime_half_bits(dtype, real);
  else if (dtype == TN_F64)
    ((double *)data)[i] = real;
  else if (dtype == TN_BOOL)
    ((uint8_t *)data)[i] = integer != 0;
  else
    memcpy((char *)data + (size_t)i * tn_dtype_bytes(dtype), &integer, tn_dtype_bytes(dtype)); /* little endian */
}

void kit_fill(tn_dtype dtype, void *data, int64_t n, uint64_t seed) {
  static const int64_t integers[] = {0,     1,         -1,        2,          -2,        3,        5,
                                     -7,    100,       127,       -128,       255,       32767,    -32768,
                                     65535, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};
  static const double reals[] = {0.0, -0.0, 1.0,   -1.0, 0.5, -0.5, 2.5,   -2.5,     3.0,       -7.25,
                                 0.1, 1e-3, 100.7, -3e9, 5e9, 1e19, -1e19, INFINITY, -INFINITY, NAN};
  runtime_rng rng = {seed};
  for (int64_t i = 0; i < n; ++i) {
    int at = (int)runtime_random_below(&rng, RUNTIME_COUNT(integers));
    kit_set(dtype, data, i, integers[at], reals[at]);
  }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { PAGE = 4096 };

static size_t pages(size_t n) { return (n + PAGE - 1) / PAGE * PAGE; }

void *kit_guarded(size_t n) {
  char *start = mmap(NULL, pages(n) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(start != MAP_FAILED);
  assert_int_equal(mprotect(start + pages(n), PAGE, PROT_NONE), 0);
  return start + pages(n) - n;
}

void kit_guarded_free(void *data, size_t n) { munmap((char *)data + n - pages(n), pages(n) + PAGE); }

/* ---- files ------------------------------------------------------------------------------------------------------- */

void kit_folder(char folder[64]) {
  snprintf(folder, 64, "/tmp/tenon-codegen-XXXXXX");
  assert_non_null(mkdtemp(folder));
}

void kit_folder_remove(const char *folder) { assert_int_equal(kit_shell(NULL, "rm -rf '%s'", folder), 0); }

void kit_write(const char *folder, const char *name, const char *text) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

int kit_folder_count(const char *folder) {
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  int n = 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) n += entry->d_name[0] != '.';
  closedir(dir);
  return n;
}

int kit_shell(runtime_str *out, const char *fmt, ...) {
  char command[2 * PATH_MAX], block[4096];
  va_list args;
  va_start(args, fmt);
  vsnprintf(command, sizeof command, fmt, args);
  va_end(args);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  for (size_t n; (n = fread(block, 1, sizeof block, pipe)) > 0;) {
    if (out != NULL) runtime_str_addn(out, block, n);
  }
  int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void kit_bitcode(const char *ir, runtime_str *out) {
  char folder[64];
  kit_folder(folder);
  kit_write(folder, "m.ll", ir);
  int status = kit_shell(out, "/usr/lib/llvm-19/bin/llvm-as %s/m.ll -o - 2>/dev/null", folder);
  kit_folder_remove(folder);
  if (status != 0) skip();
}

void kit_export(const tn_schedule *s, const char *folder, const char *name) {
  tn_build_options options = {.name = name};
  static const char *const suffixes[] = {"o", "c", "h"};
  for (int i = 0; i < RUNTIME_COUNT(suffixes); i++) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffixes[i]);
    assert_int_equal((i < 2 ? tn_build_file : tn_build_header)(s, &options, path), TN_OK);
  }
}

void kit_same_values(const char *text, const char *schedule) {
  enum { MOST = 4 };
  tn_program *program = tn_program_parse(K.ctx, text, 0, NULL);
  int n = tn_program_arg_count(program);
  void *data[MOST], *expected = NULL;
  size_t sizes[MOST], bytes = 0;
  for (int i = 0; i < n; i++) {
    const tn_tensor *t = tn_program_arg(program, i);
    DLTensor *array = tn_array_new(K.ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    tn_array_fill(K.ctx, array, 1 + (uint64_t)i);
    bytes = sizes[i] = tn_array_bytes(array);
    data[i] = memcpy(kit_guarded(bytes), array->data, bytes);
    tn_array_free(array);
  }
  for (int scheduled = 0; scheduled < 2; scheduled++) {
    tn_schedule *s = tn_schedule_new(program);
    if (scheduled) tn_schedule_apply(s, schedule);
    tn_kernel *kernel = tn_build(s, NULL);
    check_ok(K.ctx);
    memset(data[n - 1], 0, bytes);
    assert_int_equal(kit_call(kernel, data), 0);
    if (!scheduled) expected = memcpy(malloc(bytes), data[n - 1], bytes);
    tn_kernel_free(kernel);
    tn_schedule_free(s);
  }
  assert_memory_equal(data[n - 1], expected, bytes);
  free(expected);
  for (int i = 0; i < n; i++) kit_guarded_free(data[i], sizes[i]);
}
