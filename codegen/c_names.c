/* c_names.c: names in C source: those of variables and buffers as they are, changed as little as C needs. */
#include <ctype.h>

#include "codegen/c_emit.h"

/* Names that a generated file takes from C's library or defines, and macros that gnu17 has in plain words. */
static const char *const reserved[] = {
    "NULL",    "INFINITY", "NAN",     "INT32_MIN", "INT64_MIN", "free",     "aligned_alloc",
    "failed",  "asm",      "typeof",  "linux",     "unix",      "int8_t",   "uint8_t",
    "int16_t", "uint16_t", "int32_t", "uint32_t",  "int64_t",   "uint64_t",
};

static const char *const reserved_prefixes[] = {"__",      "floordiv_", "floormod_", "min_",      "max_",
                                                "abs_",    "shl_",      "shr_",      "popcount_", "clz_",
                                                "f32_of_", "f16_of_",   "bf16_of_"};

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

bool codegen_c_is_reserved(const char *name) {
  for (int i = 0; i < RUNTIME_COUNT(reserved); i++) {
    if (strcmp(name, reserved[i]) == 0) return true;
  }
  for (int i = 0; i < RUNTIME_COUNT(reserved_prefixes); i++) {
    if (strncmp(name, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0) return true;
  }
  return codegen_is_keyword(name) || codegen_c_is_function(name) || is_generated(name);
}

static bool is_taken(const codegen_c_emitter *m, const char *name) {
  for (int i = 0; i < m->taken.n; i++) {
    if (strcmp(m->taken.data[i], name) == 0) return true;
  }
  return strcmp(name, m->func->name) == 0;
}

/* "A.local" as A_local; what is no name, or not free, gets a letter before it or a number after it. */
static const char *fit(codegen_c_emitter *m, const char *name) {
  bool fits = isalpha((unsigned char)*name) && !codegen_c_is_reserved(name);
  char *plain = runtime_format(&m->arena, "%s%s", fits ? "" : "v_", name), *chosen = plain;
  for (char *at = plain; *at != '\0'; at++) *at = isalnum((unsigned char)*at) ? *at : '_';
  for (int i = 1; is_taken(m, chosen); i++) chosen = runtime_format(&m->arena, "%s_%d", plain, i);
  return chosen;
}

const char *codegen_c_bind(codegen_c_emitter *m, const void *what, const char *name) {
  const char *chosen = fit(m, name);
  if (!RUNTIME_PUSH(&m->taken, chosen)) longjmp(*m->arena.on_oom, 1);
  codegen_c_put(m, &m->names, what, chosen);
  return chosen;
}

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
