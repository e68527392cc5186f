/* c_names.c: names in C source: those of variables and buffers as they are, changed as little as C
 * needs. Names lie in the emitter's arena. What is in scope is a list, as a kernel has some dozen names
 * at a time. */
#include <ctype.h>

#include "codegen/c_emit.h"

/* Names that a generated file takes from C's library or defines. */
static const char *const reserved[] = {"free", "aligned_alloc", "failed"};

/* What names of the prelude begin with, and what C keeps for itself. */
static const char *const reserved_prefixes[] = {"__",      "floordiv_", "floormod_", "min_",      "max_",
                                                "abs_",    "shl_",      "shr_",      "popcount_", "clz_",
                                                "f32_of_", "f16_of_",   "bf16_of_",  "erf_"};

/* The first character that is no digit. */
static const char *skip_digits(const char *at) {
  while (isdigit((unsigned char)*at)) at++;
  return at;
}

/* t0, lane, lane1; f32x16, i8x64u, i32x4_splat, u8_of_f32. */
static bool is_generated(const char *name) {
  if ((*name == 't' && name[1] != '\0' && *skip_digits(name + 1) == '\0') || strncmp(name, "lane", 4) == 0) return true;
  if (*name == '\0') return false;
  const char *end = skip_digits(name + 1);
  bool has_width = strchr("iuf", *name) != NULL && end > name + 1;
  return has_width && ((*end == 'x' && isdigit((unsigned char)end[1])) || strncmp(end, "_of_", 4) == 0);
}

/* What the file itself, C, or math.h calls something. */
bool codegen_c_is_reserved(const char *name) {
  if (RUNTIME_FIND(reserved, name) >= 0) return true;
  for (int i = 0; i < RUNTIME_COUNT(reserved_prefixes); i++) {
    if (strncmp(name, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0) return true;
  }
  return codegen_is_word_of_c(name) || codegen_c_is_function(name) || is_generated(name);
}

/* By anything in scope, or by the kernel. */
static bool is_taken(const codegen_c_emitter *m, const char *name) {
  return runtime_find_row(m->taken.data, m->taken.n, sizeof *m->taken.data, name) >= 0 ||
         strcmp(name, m->func->name) == 0;
}

/* What is taken gets a number after it. */
static const char *fit(codegen_c_emitter *m, const char *name) {
  const char *plain = codegen_plain_name(&m->arena, name, codegen_c_is_reserved(name)), *chosen = plain;
  for (int i = 1; is_taken(m, chosen); i++) chosen = runtime_format(&m->arena, "%s_%d", plain, i);
  return chosen;
}

/* WHAT is a variable or a buffer, by address. Jumps without memory. */
const char *codegen_c_bind(codegen_c_emitter *m, const void *what, const char *name) {
  const char *chosen = fit(m, name);
  if (!RUNTIME_PUSH(&m->taken, chosen)) longjmp(*m->arena.on_oom, 1);
  codegen_c_put(m, &m->names, what, chosen);
  return chosen;
}

/* The name may be given to something else from here on. */
void codegen_c_unbind(codegen_c_emitter *m, const void *what) {
  const char *name = codegen_c_name(m, what);
  for (int i = 0; i < m->taken.n && name != NULL; i++) {
    if (m->taken.data[i] == name) m->taken.data[i] = m->taken.data[--m->taken.n];
  }
  codegen_c_forget_name(m, what);
}

void codegen_c_forget_name(codegen_c_emitter *m, const void *what) { codegen_c_put(m, &m->names, what, NULL); }

const char *codegen_c_name(codegen_c_emitter *m, const void *what) { return runtime_map_get(&m->names, what); }

const char *codegen_c_new_name(codegen_c_emitter *m) { return runtime_format(&m->arena, "t%d", m->n_names++); }
