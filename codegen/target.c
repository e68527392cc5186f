/* target.c: targets: a specification's words become triple, processor, features and threads, each
 * checked against what LLVM knows (it would only print a warning and go on), and are written back in
 * one canonical form. Everything lies in the context's arena. A target is never freed before its
 * context. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>

#include "codegen/internal.h"

/* A specification while it is read. Strings are the arena's; NULL and 0: not given. */
typedef struct spec {
  tn_context *ctx;
  const char *whole; /* for messages */
  const char *triple, *cpu, *features, *costs;
  int threads;
  int64_t ram, flash; /* bytes; 0: not given */
} spec;

/* A bit for each feature that LLVM knows of the architecture, in the order of its table. */
typedef struct feature_set {
  const codegen_arch *arch;
  uint64_t on[CODEGEN_FEATURE_WORDS];
} feature_set;

/* ---- looking up -------------------------------------------------------------------------------------------------- */

/* Of the architectures that are known. */
static int triple_bits(const char *triple) {
  static const char *const narrow[] = {"armv7-", "thumbv7em-", "riscv32-"};
  for (int i = 0; i < RUNTIME_COUNT(narrow); i++)
    if (strncmp(triple, narrow[i], strlen(narrow[i])) == 0) return 32;
  return 64;
}

/* NULL: none of ours. */
static const codegen_arch *find_arch(const char *triple) {
  size_t n = strcspn(triple, "-");
  for (const codegen_arch *arch = codegen_arches; arch->name != NULL; arch++) {
    if (strlen(arch->name) == n && strncmp(arch->name, triple, n) == 0) return arch;
  }
  return NULL;
}

/* NULL if LLVM knows no such processor of the architecture. */
static const codegen_cpu *find_cpu(const codegen_arch *arch, const char *name) {
  for (const codegen_cpu *cpu = arch->cpus; cpu->name != NULL; cpu++) {
    if (strcmp(cpu->name, name) == 0) return cpu;
  }
  return NULL;
}

/* The bit of a feature whose name has N characters, -1 when there is none. */
static int find_feature(const codegen_arch *arch, const char *name, size_t n) {
  for (int i = 0; arch->features[i] != NULL; i++) {
    if (strlen(arch->features[i]) == n && strncmp(arch->features[i], name, n) == 0) return i;
  }
  return -1;
}

/* False, too, for features that the architecture has not. */
static bool has(const feature_set *set, const char *name) {
  int i = find_feature(set->arch, name, strlen(name));
  return i >= 0 && (set->on[i / 64] >> (i % 64) & 1) != 0;
}

/* ---- reading the words ------------------------------------------------------------------------------------------- */

/* Normalised, as LLVM's texts have it. */
static bool set_triple(spec *s, const char *value) {
  char *normal = LLVMNormalizeTargetTriple(value);
  s->triple = runtime_strdup(&s->ctx->arena, normal);
  LLVMDisposeMessage(normal);
  return true;
}

/* Checked in resolve, when the architecture is known. */
static bool set_cpu(spec *s, const char *value) {
  s->cpu = value;
  return true;
}

/* Checked when the processor is known, since a feature belongs to an architecture. */
static bool set_features(spec *s, const char *value) {
  s->features = value;
  return true;
}

/* Read later, by whoever wants to know costs. */
static bool set_costs(spec *s, const char *value) {
  s->costs = value;
  return true;
}

/* More than the machine has is allowed: what runs is decided at a loop. */
static bool set_threads(spec *s, const char *value) {
  char *end;
  long threads = strtol(value, &end, 10);
  if (*end == '\0' && isdigit((unsigned char)*value) && threads >= 1 && threads <= 1024) {
    s->threads = (int)threads;
    return true;
  }
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "threads=%s in the target \"%s\": a number from 1 to 1024 is needed", value,
               s->whole);
  return false;
}

/* "64K", "1M" or bytes. 0 with a message. */
static int64_t read_size(const spec *s, const char *key, const char *value) {
  char *end;
  long long n = isdigit((unsigned char)*value) ? strtoll(value, &end, 10) : 0;
  int shift = n > 0 && *end == 'K' ? 10 : n > 0 && *end == 'M' ? 20 : 0;
  if (n > 0 && end[shift > 0] == '\0' && n <= UINT32_MAX >> shift) return n << shift;
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
               "%s=%s in the target \"%s\": bytes are needed, as in %s=64K or %s=1M, less than 4096M", key, value,
               s->whole, key, key);
  return 0;
}

static bool set_ram(spec *s, const char *value) { return (s->ram = read_size(s, "ram", value)) > 0; }

static bool set_flash(spec *s, const char *value) { return (s->flash = read_size(s, "flash", value)) > 0; }

/* The words of a target's text. SET refuses with a message. */
static const struct spec_key {
  const char *name;
  bool (*set)(spec *s, const char *value);
} spec_keys[] = {{"triple", set_triple}, {"cpu", set_cpu}, {"features", set_features}, {"threads", set_threads},
                 {"costs", set_costs},   {"ram", set_ram}, {"flash", set_flash}};

/* key=value, or the word native, which says nothing that is not the default. */
static bool read_word(spec *s, const char *word) {
  const char *equals = strchr(word, '=');
  size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word);
  for (int i = 0; equals != NULL && i < RUNTIME_COUNT(spec_keys); i++) {
    if (strlen(spec_keys[i].name) != n || strncmp(spec_keys[i].name, word, n) != 0) continue;
    if (equals[1] != '\0') return spec_keys[i].set(s, equals + 1);
    runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "%.*s= in the target \"%s\" has no value", (int)n, word, s->whole);
    return false;
  }
  if (strcmp(word, "native") == 0) return true;
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
               "unknown %s \"%.*s\" in the target \"%s\": the keys are triple=, cpu=, features=, threads=, costs=, "
               "ram=, flash=%s%s",
               equals != NULL ? "key" : "word", (int)n, word, s->whole,
               equals != NULL ? "" : "; for a processor write cpu=", equals != NULL ? "" : word);
  return false;
}

/* Words may come in any order; of a key given twice the last one counts. */
static bool read_spec(spec *s, const char *text) {
  while (*(text += strspn(text, " \t\n")) != '\0') {
    size_t n = strcspn(text, " \t\n");
    char *word = runtime_strndup(&s->ctx->arena, text, n);
    if (word == NULL || !read_word(s, word)) return false;
    text += n;
  }
  return true;
}

/* ---- what was not said ------------------------------------------------------------------------------------------- */

/* Whether a triple means this machine: the same architecture, system and ABI; the vendor does not matter. */
static bool is_own(const char *triple, const char *host) {
  size_t n = strcspn(triple, "-");
  if (strncmp(triple, host, n + 1) != 0) return false;
  const char *a = strchr(triple, '-'), *b = strchr(host, '-');
  a = a != NULL ? strchr(a + 1, '-') : NULL;
  b = b != NULL ? strchr(b + 1, '-') : NULL;
  return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Lists with a comma between, without one if either is empty. */
static const char *join(spec *s, const char *a, const char *b) {
  return runtime_format(&s->ctx->arena, "%s%s%s", a, *a && *b ? "," : "", b);
}

/* What stands for "generic" on an architecture that is not this machine's. RISC-V's has nothing that Linux needs: what
 * its distributions are built for is added, and of 32 bits what microcontrollers have. */
static const struct foreign {
  const char *arch, *cpu, *features;
} foreigns[] = {{"x86_64-", "x86-64", ""},
                {"riscv64-", "generic-rv64", "+m,+a,+f,+d,+c"},
                {"riscv32-", "generic-rv32", "+m,+a,+c"},
                {"thumbv7em-", "cortex-m4", ""},
                {"", "generic", ""}};

/* The plainest processor of the architecture. */
static void complete_foreign(spec *s) {
  const struct foreign *f = foreigns;
  while (strncmp(s->triple, f->arch, strlen(f->arch)) != 0) f++;
  if (s->cpu != NULL && strcmp(s->cpu, "generic") != 0) return;
  s->cpu = f->cpu;
  s->features = join(s, f->features, s->features);
}

/* Features are this machine's only when the processor is; a user's differences come last and win. */
static void complete(spec *s, const codegen_host *host, bool own) {
  if (s->features == NULL) s->features = "";
  if (!own) complete_foreign(s);
  if (s->cpu == NULL) {
    s->cpu = runtime_strdup(&s->ctx->arena, host->cpu);
    s->features = join(s, host->features, s->features);
  }
  if (s->threads == 0) s->threads = own ? tn_thread_count() : 1;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

/* Features of RISC-V's partial and vendor vector units end LLVM 19's back end in a segmentation fault on ordinary
 * vector code. Named by their prefixes. */
static bool check_usable(const spec *s, const codegen_arch *arch, const char *item, size_t n) {
  static const char *const prefixes[] = {"+zv", "+xsf"};
  if (strncmp(arch->name, "riscv", 5) != 0) return true;
  for (int i = 0; i < RUNTIME_COUNT(prefixes); i++) {
    if (strncmp(item, prefixes[i], strlen(prefixes[i])) != 0) continue;
    runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
                 "feature \"%.*s\" in the target \"%s\": LLVM makes no vector code with it, use +v", (int)n, item,
                 s->whole);
    return false;
  }
  return true;
}

/* Only the nearest names are offered: there are hundreds. */
static void refuse_feature(const spec *s, const feature_set *set, const char *item, size_t n) {
  const char *name = runtime_strndup(&s->ctx->arena, item + 1, n - 1);
  runtime_nearest nearest = runtime_nearest_to(name != NULL ? name : "");
  for (int i = 0; set->arch->features[i] != NULL; i++) runtime_nearest_offer(&nearest, set->arch->features[i]);
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
               "unknown feature \"%.*s\" in the target \"%s\": LLVM knows no such feature of this architecture%s%s%s",
               (int)n, item, s->whole, nearest.word ? "; did you mean '" : "", nearest.word ? nearest.word : "",
               nearest.word ? "'?" : "");
}

/* One "+name" or "-name" of a list; false with a message. */
static bool apply_feature(const spec *s, feature_set *set, const char *item, size_t n) {
  bool signed_item = n > 1 && (*item == '+' || *item == '-');
  int i = signed_item ? find_feature(set->arch, item + 1, n - 1) : -1;
  if (i < 0) {
    if (signed_item)
      refuse_feature(s, set, item, n);
    else
      runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "malformed feature \"%.*s\" in the target \"%s\": write +name or -name",
                   (int)n, item, s->whole);
    return false;
  }
  if (!check_usable(s, set->arch, item, n)) return false;
  uint64_t bit = 1ull << (i % 64);
  set->on[i / 64] = *item == '+' ? set->on[i / 64] | bit : set->on[i / 64] & ~bit;
  return true;
}

/* Left to right: later ones win. */
static bool apply_features(const spec *s, feature_set *set, const char *list) {
  while (*list != '\0') {
    size_t n = strcspn(list, ",");
    if (n > 0 && !apply_feature(s, set, list, n)) return false;
    list += n + (list[n] == ',');
  }
  return true;
}

/* The differences from the processor's own features, in the table's order. */
static const char *feature_text(tn_context *ctx, const codegen_cpu *cpu, const feature_set *set) {
  runtime_str text = {0};
  runtime_str_add(&text, "");
  for (int i = 0; set->arch->features[i] != NULL; i++) {
    bool on = (set->on[i / 64] >> (i % 64) & 1) != 0, implied = (cpu->features[i / 64] >> (i % 64) & 1) != 0;
    if (on != implied) runtime_str_addf(&text, "%s%c%s", text.n ? "," : "", on ? '+' : '-', set->arch->features[i]);
  }
  return runtime_str_take(&text, &ctx->arena);
}

/* Without these LLVM ends in a fatal error when it compiles floating point for the architecture. */
static bool check_required(const spec *s, const feature_set *set) {
  static const char *const required[][2] = {
      {"x86_64", "64bit"},     {"x86_64", "cmov"},      {"x86_64", "sse"},    {"x86_64", "sse2"},   {"x86_64", "x87"},
      {"aarch64", "fp-armv8"}, {"aarch64", "neon"},     {"riscv64", "64bit"}, {"riscv32", "32bit"}, {"armv7", "aclass"},
      {"armv7", "vfp2"},       {"thumbv7em", "mclass"}, {"thumbv7em", "dsp"}};
  for (int i = 0; i < RUNTIME_COUNT(required); i++) {
    if (strcmp(required[i][0], set->arch->name) != 0 || has(set, required[i][1])) continue;
    runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
                 "the target \"%s\": cpu=%s with these features lacks %s, which code for %s needs", s->whole, s->cpu,
                 required[i][1], set->arch->name);
    return false;
  }
  return true;
}

/* Of the architectures that may be without: the back end takes vectors apart there, into words. */
static bool has_vectors(const feature_set *set) {
  static const char *const vectors[][2] = {{"armv7", "neon"}, {"thumbv7em", "mve"}, {"riscv32", "v"}};
  for (int i = 0; i < RUNTIME_COUNT(vectors); i++)
    if (strcmp(vectors[i][0], set->arch->name) == 0) return has(set, vectors[i][1]);
  return true;
}

/* Of the registers that code will use: features, not the processor's preference, decide. */
static int vector_bytes(const feature_set *set) {
  if (strcmp(set->arch->name, "x86_64") != 0 || !has(set, "avx")) return 16;
  return has(set, "avx512f") && has(set, "avx2") && has(set, "evex512") ? 64 : 32;
}

/* Lanes of 32 bits: NAME or, in registers of up to 32 bytes, ALSO has the instruction. */
static int dot_lanes(const feature_set *set, int bytes, const char *name, const char *also) {
  if (strcmp(set->arch->name, "x86_64") != 0) return 0;
  if (bytes == 64 && has(set, name)) return 16;
  return (has(set, name) && has(set, "avx512vl")) || (also != NULL && has(set, also)) ? 8 : 0;
}

/* vpmaddwd, whose products of halves that were bytes are exact. */
static int pair_lanes(const feature_set *set, int bytes) {
  if (strcmp(set->arch->name, "x86_64") != 0) return 0;
  if (bytes == 64 && has(set, "avx512bw")) return 16;
  return has(set, "avx2") ? 8 : 4;
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* The closest name, however far, among those that begin with the same letter, or among all when none does. */
static const char *nearest_cpu(const codegen_arch *arch, const char *name) {
  runtime_nearest nearest = {.typed = name, .distance = INT_MAX};
  for (int any = 0; any < 2 && nearest.word == NULL; any++)
    for (const codegen_cpu *cpu = arch->cpus; cpu->name != NULL; cpu++)
      if (any || cpu->name[0] == name[0]) runtime_nearest_offer(&nearest, cpu->name);
  return nearest.word;
}

/* What is written instead, where the name says what is meant; NULL: it does not. */
static const char *cpu_advice(const char *cpu) {
  if (strcmp(cpu, "native") == 0 || strcmp(cpu, "host") == 0)
    return "leave it out: without a triple a target is this machine";
  return strchr(cpu, ',') != NULL ? "parts of a target stand apart by blanks, as in cpu=znver4 threads=4" : NULL;
}

/* All names are listed: they are few and cannot be guessed. */
static void refuse_cpu(const spec *s, const codegen_arch *arch) {
  if (cpu_advice(s->cpu) != NULL) {
    runtime_fail(s->ctx, TN_ERROR_ARGUMENT, "unknown cpu \"%s\" in the target \"%s\": %s", s->cpu, s->whole,
                 cpu_advice(s->cpu));
    return;
  }
  runtime_str names = {0};
  for (const codegen_cpu *cpu = arch->cpus; cpu->name != NULL; cpu++)
    runtime_str_addf(&names, "%s%s", names.n > 0 ? " " : "", cpu->name);
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
               "unknown cpu \"%s\" in the target \"%s\": LLVM knows no such %s processor; the nearest name is \"%s\"; "
               "there are %s",
               s->cpu, s->whole, arch->name, nearest_cpu(arch, s->cpu), names.failed ? "others" : names.data);
  runtime_str_free(&names);
}

/* Looks everything up, checks it, and brings the features into canonical form. */
static bool resolve(tn_target *t, const spec *s) {
  feature_set set = {.arch = t->arch = find_arch(s->triple)};
  char *message = NULL;
  if (t->arch == NULL || LLVMGetTargetFromTriple(s->triple, &t->llvm, &message)) {
    runtime_fail(
        s->ctx, TN_ERROR_ARGUMENT,
        "triple=%s in the target \"%s\": code is made for x86_64, aarch64, riscv64, armv7, thumbv7em and riscv32",
        s->triple, s->whole);
    LLVMDisposeMessage(message);
    return false;
  }
  const codegen_cpu *cpu = find_cpu(t->arch, s->cpu);
  if (cpu == NULL) {
    refuse_cpu(s, t->arch);
    return false;
  }
  memcpy(set.on, cpu->features, sizeof set.on);
  if (!apply_features(s, &set, s->features) || !check_required(s, &set)) return false;
  t->features = feature_text(s->ctx, cpu, &set);
  t->vector_bytes = vector_bytes(&set);
  t->has_vectors = has_vectors(&set);
  t->dot_i8_lanes = dot_lanes(&set, t->vector_bytes, "avx512vnni", "avxvnni");
  t->dot_bf16_lanes = dot_lanes(&set, t->vector_bytes, "avx512bf16", NULL);
  t->bf16_lanes = has(&set, "avx512dq") && has(&set, "avx512vl") ? t->dot_bf16_lanes : 0;
  t->pair_lanes = pair_lanes(&set, t->vector_bytes);
  t->has_avx2 = strcmp(set.arch->name, "x86_64") == 0 && has(&set, "avx2");
  t->shuffles_bytes = t->vector_bytes == 64 && has(&set, "avx512vbmi");
  return t->features != NULL;
}

/* The costs, and their text in canonical form. */
static bool take_costs(tn_target *t, const char *value, const char *whole) {
  codegen_costs costs = {0};
  if (!codegen_costs_read(t->ctx, value, whole, &costs)) return false;
  const char *text = codegen_costs_text(t->ctx, &costs);
  if (text == NULL) return false;
  t->costs = costs.ns;
  for (int level = 1; level < 4; level++)
    if (costs.cache[level] > 0) t->cache_bytes[level] = (int64_t)costs.cache[level];
  for (int level = 1; level < 4; level++)
    if (costs.ways[level] > 0) t->cache_ways[level] = (int)costs.ways[level];
  t->costs_text = text;
  return true;
}

/* In the largest unit that it is a multiple of; "" for none. */
static const char *size_word(tn_context *ctx, const char *key, int64_t bytes) {
  int shift = bytes % (1 << 20) == 0 ? 20 : bytes % (1 << 10) == 0 ? 10 : 0;
  const char *unit = shift == 20 ? "M" : shift == 10 ? "K" : "";
  const char *text = bytes > 0 ? runtime_format(&ctx->arena, "%s%lld%s", key, (long long)(bytes >> shift), unit) : "";
  return text != NULL ? text : "";
}

/* Without an operating system nobody starts threads. */
static bool check_threads(const spec *s) {
  if (s->threads <= 1 || strstr(s->triple, "linux") != NULL || triple_bits(s->triple) == 64) return true;
  runtime_fail(s->ctx, TN_ERROR_ARGUMENT,
               "threads=%d in the target \"%s\": %s has no operating system that starts threads; write threads=1",
               s->threads, s->whole, s->triple);
  return false;
}

/* NULL with a message, or without one when memory ran out. */
static tn_target *make(tn_context *ctx, spec *s, const codegen_host *host) {
  tn_target *t = RUNTIME_NEW(&ctx->arena, tn_target);
  if (t == NULL || !read_spec(s, s->whole)) return NULL;
  if (s->triple == NULL) s->triple = runtime_strdup(&ctx->arena, host->triple);
  bool own = is_own(s->triple, host->triple);
  complete(s, host, own);
  if (s->cpu == NULL || s->features == NULL || !resolve(t, s) || !check_threads(s)) return NULL;
  t->ctx = ctx;
  t->triple = s->triple;
  t->address_bits = triple_bits(s->triple);
  t->ram_bytes = s->ram;
  t->flash_bytes = s->flash;
  t->cpu = s->cpu;
  t->threads = s->threads;
  t->is_own = own;
  bool here = own && strcmp(t->cpu, host->cpu) == 0;
  (here ? codegen_host_caches : codegen_usual_caches)(t->cache_bytes);
  if (here) codegen_host_ways(t->cache_ways);
  t->costs_text = "";
  if (s->costs != NULL && !take_costs(t, s->costs, s->whole)) return NULL;
  t->text = runtime_format(&ctx->arena, "triple=%s cpu=%s%s%s threads=%d%s%s", t->triple, t->cpu,
                           *t->features ? " features=" : "", t->features, t->threads, size_word(ctx, " ram=", s->ram),
                           size_word(ctx, " flash=", s->flash));
  return t->text != NULL ? t : NULL;
}

/* Looks at this machine in any case: keys that are not given come from it. */
tn_target *tn_target_new(tn_context *ctx, const char *text) {
  if (ctx == NULL) return NULL;
  codegen_init_llvm();
  codegen_host host = codegen_host_detect();
  spec s = {.ctx = ctx, .whole = text != NULL ? text : "native"};
  tn_target *target = codegen_host_is_known(&host) ? make(ctx, &s, &host) : NULL;
  codegen_host_free(&host);
  if (target == NULL && tn_context_status(ctx) == TN_OK)
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory for a target");
  return target;
}

/* ---- looking at one ---------------------------------------------------------------------------------------------- */

/* Without costs, so that a machine that is measured again has its records still. */
const char *tn_target_text(const tn_target *target) { return target != NULL ? target->text : NULL; }

const char *tn_target_costs(const tn_target *target) { return target != NULL ? target->costs_text : NULL; }

/* The target is as it was after a failure. */
tn_status tn_target_set_costs(tn_target *target, const char *word) {
  static const char key[] = "costs=";
  if (target == NULL || word == NULL) return TN_ERROR_ARGUMENT;
  if (strncmp(word, key, strlen(key)) != 0)
    return runtime_fail(target->ctx, TN_ERROR_ARGUMENT, "\"%s\" are no costs: costs=fma16:0.1,... is needed", word);
  if (take_costs(target, word + strlen(key), word)) return TN_OK;
  return tn_context_status(target->ctx) == TN_OK ? TN_ERROR_MEMORY : tn_context_status(target->ctx);
}

int tn_target_threads(const tn_target *target) { return target != NULL ? target->threads : 0; }

int tn_target_vector_bytes(const tn_target *target) { return target != NULL ? target->vector_bytes : 0; }

bool tn_target_has_vectors(const tn_target *target) { return target != NULL && target->has_vectors; }

int64_t tn_target_flash_bytes(const tn_target *target) { return target != NULL ? target->flash_bytes : 0; }

int64_t tn_target_cache_bytes(const tn_target *target, int level) {
  return target != NULL && level >= 1 && level <= 3 ? target->cache_bytes[level] : 0;
}

/* The lists end with NULL: nothing behind that is looked at. */
const char *tn_target_known_cpu(const tn_target *target, int index) {
  const codegen_cpu *cpu = target != NULL && index >= 0 ? target->arch->cpus : NULL;
  while (cpu != NULL && cpu->name != NULL && index-- > 0) cpu++;
  return cpu != NULL ? cpu->name : NULL;
}

const char *tn_target_known_feature(const tn_target *target, int index) {
  const char *const *feature = target != NULL && index >= 0 ? target->arch->features : NULL;
  while (feature != NULL && *feature != NULL && index-- > 0) feature++;
  return feature != NULL ? *feature : NULL;
}

/* x86-64 has 32 vector registers with AVX-512 and 16 without, NEON of 32 bits 16; the other architectures have 32.
 * Without vectors: as many groups of four words as the general registers hold beside addresses and counters. */
static int vector_registers(const tn_target *target) {
  if (!target->has_vectors) return strcmp(target->arch->name, "riscv32") == 0 ? 6 : 3;
  bool is_few = strncmp(target->arch->name, "x86", 3) == 0 && target->vector_bytes < 64;
  return is_few || strcmp(target->arch->name, "armv7") == 0 ? 16 : 32;
}

/* AVX-512 has masks for all elements and accesses. */
bool codegen_has_cheap_masks(const tn_target *target) {
  enum { BYTES_WITH_MASKS = 64 };
  return strcmp(target->arch->name, "x86_64") == 0 && target->vector_bytes == BYTES_WITH_MASKS;
}

tir_pass_options codegen_pass_options(const tn_target *target) {
  return (tir_pass_options){.vector_registers = vector_registers(target),
                            .vector_bytes = target->vector_bytes,
                            .index_bits = target->address_bits,
                            .masks_are_dear = !codegen_has_cheap_masks(target),
                            .multiplies_signed_bytes = target->dot_i8_lanes == 0};
}

/* Without an instruction for it a dot product is two of halves: worth it for vectors that hold as many lanes as an
 * intrinsic has. */
static int lanes_of_halves(const tn_target *target) {
  enum { LEAST_LANES = 8 };
  return target->has_avx2 && target->pair_lanes >= LEAST_LANES ? target->pair_lanes : 0;
}

/* A value: the cpu's name lives as long as the target. */
tn_machine tn_target_machine(const tn_target *target) {
  if (target == NULL) return (tn_machine){0};
  int halves = lanes_of_halves(target);
  return (tn_machine){.cpu = target->cpu,
                      .threads = target->threads,
                      .vector_bytes = target->vector_bytes,
                      .vector_registers = codegen_pass_options(target).vector_registers,
                      .dot_i8_lanes = target->dot_i8_lanes ? target->dot_i8_lanes : halves,
                      .dot_bf16_lanes = target->dot_bf16_lanes ? target->dot_bf16_lanes : halves,
                      .dot_i8_halves = target->dot_i8_lanes == 0,
                      .dot_bf16_halves = target->dot_bf16_lanes == 0,
                      .cache_bytes = {0, target->cache_bytes[1], target->cache_bytes[2], target->cache_bytes[3]},
                      .cache_ways = {0, target->cache_ways[1], target->cache_ways[2], target->cache_ways[3]},
                      .costs = target->costs};
}
