/* runner.c: tenon-runner: loads kernels that were compiled elsewhere, times and checks them, answers. It is one file for a
 * device: no C library, no allocator, nothing on the device's disk.
 *
 * Frames come from standard input, answers go to standard output (autotune/device_frame.h). Arguments are kept between runs.
 * Each run is a child process with a limit on its time, so that a kernel that crashes or hangs costs its own answer only:
 * inputs are read-only in it, code is not writable, and what it does to memory ends with it. */
#include "autotune/device_frame.h"
#include "runner/math.h"
#include "runner/system.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* File descriptors, and the room for a refusal's text. */
enum { INPUT = 0, OUTPUT = 1, WHY_BYTES = 160 };

/* The frames are structs: they must have the same layout on both sides. Byte order is not converted: both are
 * little-endian. */
_Static_assert(sizeof(device_header) == 16 && sizeof(device_argument) == 40, "the same on every machine");
_Static_assert(sizeof(device_run) == 56 && sizeof(device_result) == 376, "the same on every machine");

/* An argument of kernels, kept from one run to the next. DATA: an input's elements, or room for an output;
 * REFERENCE: what an output shall be. */
typedef struct argument {
  device_argument about;
  unsigned char *data, *reference;
} argument;

/* All state of the process. */
typedef struct runner {
  argument args[DEVICE_MAX_ARGS];
  unsigned char *frame; /* the payload of the last frame, in pages that are reused */
  size_t frame_bytes;
  device_result *result; /* shared with the child processes, which fill it in */
  int fault_at, n_frames;
  char fault; /* for tests: --inject=garbage@N, torn@N, checksum@N, version@N spoil the N-th answer */
} runner;

static runner the_runner;

/* Bytes of whole pages that hold more than N: never 0, since a mapping must not be empty. */
static size_t pages(uint64_t n) { return (size_t)((n + SYSTEM_PAGE) / SYSTEM_PAGE * SYSTEM_PAGE); }

/* ---- the line: frames in and out --------------------------------------------------------------------------------- */

/* Reads all N bytes. 0: the input ended. */
static int read_all(void *data, size_t n) {
  for (size_t have = 0; have < n;) {
    long got = system_read(INPUT, (char *)data + have, n - have);
    if (got <= 0) return 0;
    have += (size_t)got;
  }
  return 1;
}

/* Ends the process when nobody reads any more. */
static void write_all(const void *data, size_t n) {
  for (size_t sent = 0; sent < n;) {
    long got = system_write(OUTPUT, (const char *)data + sent, n - sent);
    if (got <= 0) system_exit(1);
    sent += (size_t)got;
  }
}

/* Spoils an answer, to test how the tuner's side takes it. */
static void spoil(const runner *r, device_header *header) {
  static const char garbage[] = "no frame at all";
  if (r->fault_at != r->n_frames) return;
  if (r->fault == 'g') write_all(garbage, sizeof garbage), system_exit(3);
  if (r->fault == 't') write_all(header, sizeof *header - 3), system_exit(3);
  if (r->fault == 'c') header->check ^= 1;
  if (r->fault == 'v') header->version++;
}

/* Sends a frame with its checksum. */
static void answer(runner *r, device_kind kind, const void *data, size_t n) {
  device_header header = {DEVICE_MAGIC, DEVICE_VERSION, (uint16_t)kind, (uint32_t)n, 0};
  header.check = device_checksum(device_checksum(0, &header, offsetof(device_header, check)), data, n);
  spoil(r, &header);
  write_all(&header, sizeof header);
  write_all(data, n);
}

static size_t length(const char *text) {
  size_t n = 0;
  while (text[n]) n++;
  return n;
}

/* An answer that says what is wrong with a request; the line stays usable. */
static void refuse(runner *r, const char *why) { answer(r, DEVICE_REFUSED, why, length(why)); }

/* Reads a header, byte by byte past anything that is no frame: a serial line may have printed something before.
 * 0: the input ended. */
static int find_header(runner *r, device_header *header) {
  int n_skipped = 0;
  if (!read_all(header, sizeof *header)) return 0;
  for (; header->magic != DEVICE_MAGIC; n_skipped++) {
    unsigned char *bytes = (unsigned char *)header;
    for (size_t i = 0; i + 1 < sizeof *header; i++) bytes[i] = bytes[i + 1];
    if (!read_all(bytes + sizeof *header - 1, 1)) return 0;
  }
  if (n_skipped > 0) refuse(r, "what came before this frame was no frame");
  return 1;
}

/* Reads a frame into r->frame. 1: it is whole and correct; -1: it was refused; 0: the input ended. */
static int read_frame(runner *r, device_header *header) {
  if (!find_header(r, header)) return 0;
  r->n_frames++;
  if (header->length > DEVICE_MAX_BYTES) return refuse(r, "a frame of more than 256 MB was announced"), -1;
  if (pages(header->length) > r->frame_bytes) {
    if (r->frame) system_unmap(r->frame, r->frame_bytes);
    r->frame_bytes = pages(header->length);
    r->frame = system_map(r->frame_bytes, 0);
  }
  if (!r->frame) return r->frame_bytes = 0, refuse(r, "no memory for the frame"), 0;
  if (!read_all(r->frame, header->length)) return 0;
  uint32_t check = device_checksum(0, header, offsetof(device_header, check));
  if (device_checksum(check, r->frame, header->length) != header->check)
    return refuse(r, "wrong checksum: the line lost or changed bytes"), -1;
  if (header->version != DEVICE_VERSION) return refuse(r, "another version: this is tenon-runner " TN_VERSION), -1;
  return 1;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* DEVICE_ARGUMENT: replaces an argument. An output's data are its reference. */
static void take_argument(runner *r, uint32_t n) {
  device_argument about;
  if (n < sizeof about) return refuse(r, "an argument that ends early");
  memcpy(&about, r->frame, sizeof about);
  if (about.index >= DEVICE_MAX_ARGS) return refuse(r, "more than 16 arguments");
  if (about.bytes != n - sizeof about || about.element_bytes < 1 || about.element_bytes > 8 || about.dtype > DEVICE_F64)
    return refuse(r, "an argument whose size is not that of its data");
  argument *a = &r->args[about.index];
  if (a->data) system_unmap(a->data, pages(a->about.bytes));
  if (a->reference) system_unmap(a->reference, pages(a->about.bytes));
  *a = (argument){.about = about, .data = system_map(pages(about.bytes), 0)};
  if (about.is_output) a->reference = system_map(pages(about.bytes), 0);
  if (!a->data || (about.is_output && !a->reference)) {
    *a = (argument){0};
    return refuse(r, "no memory for an argument");
  }
  memcpy(about.is_output ? a->reference : a->data, r->frame + sizeof about, about.bytes);
  answer(r, DEVICE_DONE, "", 0);
}

/* ---- what kernels call ------------------------------------------------------------------------------------------- */

/* Allocations that a kernel can hold at a time. */
enum { HEAP_PIECES = 64 };
/* The heap of a child. Pieces are mapped on demand and reused; they go away with the process. */
static struct {
  void *data;
  size_t bytes;
  int is_taken;
} heap[HEAP_PIECES];

/* What a kernel calls for scratch memory. Pieces are whole pages, so that any alignment up to a page holds. */
static void *take(void *scratch, size_t bytes) {
  (void)scratch;
  for (int i = 0; i < HEAP_PIECES; i++) {
    if (heap[i].is_taken || (heap[i].data && heap[i].bytes < bytes)) continue;
    if (!heap[i].data) heap[i].data = system_map(pages(bytes), 0), heap[i].bytes = bytes;
    heap[i].is_taken = heap[i].data != NULL;
    return heap[i].data;
  }
  return NULL;
}

static void give(void *scratch, void *data) {
  (void)scratch;
  for (int i = 0; i < HEAP_PIECES; i++)
    if (heap[i].data == data) heap[i].is_taken = 0;
}

static void *aligned_take(size_t align, size_t bytes) {
  (void)align;
  return take(NULL, bytes);
}

static void free_taken(void *data) { give(NULL, data); }

void *memmove(void *to, const void *from, size_t n);

#if defined(__arm__)
/* The run-time ABI of ARM, where libgcc has not got it. Its memset has the arguments in another order. */
static void aeabi_memset(void *to, size_t n, int value) { memset(to, value, n); }
static void aeabi_memclr(void *to, size_t n) { memset(to, 0, n); }
void __aeabi_idiv(void), __aeabi_uidiv(void), __aeabi_idivmod(void), __aeabi_uidivmod(void), __aeabi_ldivmod(void),
    __aeabi_uldivmod(void), __aeabi_l2f(void), __aeabi_ul2f(void), __aeabi_l2d(void), __aeabi_ul2d(void),
    __aeabi_f2lz(void), __aeabi_d2lz(void);
#define ARM_ONLY(f) ((uintptr_t)(f))
#else
#define ARM_ONLY(f) 0
#endif

/* The address of import I, in the order of DEVICE_IMPORTS; 0: this machine has none. */
static uintptr_t import(uint32_t i) {
  const uintptr_t all[] = {
      (uintptr_t)take,
      (uintptr_t)give,
      (uintptr_t)heap,
      (uintptr_t)aligned_take,
      (uintptr_t)free_taken,
      (uintptr_t)memcpy,
      (uintptr_t)memmove,
      (uintptr_t)memset,
      ARM_ONLY(memcpy),
      ARM_ONLY(memcpy),
      ARM_ONLY(memcpy),
      ARM_ONLY(memmove),
      ARM_ONLY(memmove),
      ARM_ONLY(aeabi_memset),
      ARM_ONLY(aeabi_memset),
      ARM_ONLY(aeabi_memset),
      ARM_ONLY(aeabi_memclr),
      ARM_ONLY(aeabi_memclr),
      ARM_ONLY(aeabi_memclr),
      ARM_ONLY(__aeabi_idiv),
      ARM_ONLY(__aeabi_uidiv),
      ARM_ONLY(__aeabi_idivmod),
      ARM_ONLY(__aeabi_uidivmod),
      ARM_ONLY(__aeabi_ldivmod),
      ARM_ONLY(__aeabi_uldivmod),
      ARM_ONLY(__aeabi_l2f),
      ARM_ONLY(__aeabi_ul2f),
      ARM_ONLY(__aeabi_l2d),
      ARM_ONLY(__aeabi_ul2d),
      ARM_ONLY(__aeabi_f2lz),
      ARM_ONLY(__aeabi_d2lz),
      (uintptr_t)exp,
      (uintptr_t)log,
      (uintptr_t)expf,
      (uintptr_t)exp2f,
      (uintptr_t)logf,
      (uintptr_t)log2f,
      (uintptr_t)log10f,
      (uintptr_t)log1pf,
      (uintptr_t)powf,
      (uintptr_t)tanhf,
      (uintptr_t)sinhf,
      (uintptr_t)coshf,
      (uintptr_t)erff,
      (uintptr_t)sinf,
      (uintptr_t)cosf,
      (uintptr_t)fmodf,
      (uintptr_t)fmaf,
      (uintptr_t)floorf,
      (uintptr_t)ceilf,
      (uintptr_t)roundf,
      (uintptr_t)truncf,
      (uintptr_t)roundevenf,
  };
  return i < sizeof all / sizeof *all ? all[i] : 0;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static double f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

/* By hand: not every compiler knows the type on every device. */
static double f16_of(uint32_t bits) {
  uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023, sign = (bits & 0x8000) << 16;
  if (exponent == 31) return f32_of(sign | 0x7f800000u | fraction << 13);
  double size = exponent == 0 ? (double)fraction * 0x1p-24 : f32_of((exponent + 112) << 23 | fraction << 13);
  return sign ? -size : size;
}

/* A floating-point element as a double. */
static double element(const argument *a, const unsigned char *data, uint64_t i) {
  uint16_t half;
  uint32_t word;
  double wide;
  switch (a->about.dtype) {
    case DEVICE_F16: return memcpy(&half, data + 2 * i, 2), f16_of(half);
    case DEVICE_BF16: return memcpy(&half, data + 2 * i, 2), f32_of((uint32_t)half << 16);
    case DEVICE_F32: return memcpy(&word, data + 4 * i, 4), f32_of(word);
    default: return memcpy(&wide, data + 8 * i, 8), wide;
  }
}

/* The error of element I, as the worker on the tuner's machine computes it: relative to the larger of the
 * reference and a typical element. Infinite when only one is finite; integers have to be equal. */
static double error_at(const argument *a, uint64_t i) {
  const unsigned n = a->about.element_bytes;
  if (memcmp(a->data + n * i, a->reference + n * i, n) == 0) return 0;
  if (a->about.dtype == DEVICE_INTEGER) return __builtin_inf();
  double x = element(a, a->data, i), r = element(a, a->reference, i), size = __builtin_fabs(r);
  if (x == r || (x != x && r != r)) return 0;
  if (x - x != 0 || r - r != 0) return __builtin_inf();
  if (size < a->about.scale) size = a->about.scale;
  return size > 0 ? __builtin_fabs(x - r) / size : __builtin_inf();
}

/* Compares an output with its reference. 0: it differs, and RESULT has the worst element. */
static int is_right(const argument *a, uint32_t index, device_result *result) {
  uint64_t n = a->about.bytes / a->about.element_bytes, worst = 0, n_wrong = 0;
  double most = 0, tolerance = a->about.dtype == DEVICE_INTEGER ? 0 : a->about.tolerance;
  for (uint64_t i = 0; i < n; i++) {
    double error = error_at(a, i);
    n_wrong += error > tolerance;
    if (error > most) most = error, worst = i;
  }
  if (most > result->max_error) result->max_error = most;
  if (n_wrong == 0) return 1;
  result->outcome = DEVICE_WRONG;
  result->detail = index;
  result->n_wrong = n_wrong;
  result->worst = worst;
  memcpy(result->got, a->data + worst * a->about.element_bytes, a->about.element_bytes);
  memcpy(result->wanted, a->reference + worst * a->about.element_bytes, a->about.element_bytes);
  return 0;
}

static int are_right(runner *r, uint32_t n_args) {
  for (uint32_t i = 0; i < n_args; i++)
    if (r->args[i].about.is_output && !is_right(&r->args[i], i, r->result)) return 0;
  return 1;
}

/* Fills outputs with NaNs, or with a pattern that a reference hardly has, so that an element that is not
 * written shows. */
static void poison(runner *r, uint32_t n_args) {
  for (uint32_t i = 0; i < n_args; i++) {
    const argument *a = &r->args[i];
    if (a->about.is_output) memset(a->data, a->about.dtype == DEVICE_INTEGER ? 0xa5 : 0xff, a->about.bytes);
  }
}

/* ---- one run, in the child --------------------------------------------------------------------------------------- */

/* A kernel with the most arguments that there can be. */
typedef int32_t kernel(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                       void *, void *, void *, void *);

/* Calls with all arguments that the runner may have; a kernel ignores those beyond its own, as these calling
 * conventions pass them in registers or on the caller's stack. A kernel that fails, for lack of memory, ends
 * the child. */
static void call(runner *r, kernel *f) {
#define A(i) r->args[i].data
  int32_t failed =
      f(A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10), A(11), A(12), A(13), A(14), A(15));
#undef A
  if (failed == 0) return;
  r->result->outcome = DEVICE_NO_MEMORY;
  system_exit(0);
}

/* The mean of N calls, in picoseconds. */
static uint64_t time_calls(runner *r, kernel *f, uint64_t n) {
  uint64_t start = system_now_ns();
  for (uint64_t i = 0; i < n; i++) call(r, f);
  return (system_now_ns() - start) * 1000 / n;
}

/* Takes samples, each of as many calls as fill batch_ns, until the budget is used up; at least three. */
static void sample(runner *r, const device_run *run, kernel *f, uint64_t first_ps) {
  uint64_t n = run->batch_ns * 1000 / (first_ps + 1) + 1, end = system_now_ns() + run->budget_ns;
  uint32_t most = run->max_samples < DEVICE_MAX_SAMPLES ? run->max_samples : DEVICE_MAX_SAMPLES, have = 0;
  while (have < most && (have < 3 || system_now_ns() < end)) r->result->sample_ps[have++] = time_calls(r, f, n);
  r->result->n_samples = have;
}

/* Times the kernel and checks the outputs, after the first call and after the last: a fault need not show in
 * the first. A kernel that is slower than once_above_ns is called once only. */
static void measure(runner *r, const device_run *run, kernel *f) {
  poison(r, run->n_args);
  uint64_t first_ps = time_calls(r, f, 1);
  if (!are_right(r, run->n_args)) return;
  r->result->had_one_call = run->once_above_ns > 0 && first_ps / 1000 > run->once_above_ns;
  r->result->sample_ps[0] = first_ps;
  r->result->n_samples = 1;
  if (r->result->had_one_call || run->max_samples < 2) return;
  poison(r, run->n_args);
  sample(r, run, f, first_ps);
  are_right(r, run->n_args);
}

/* Adds the image's base or an import's address to each place that needs it. 0: an import is missing on this
 * machine, or a place is outside of the image. */
static int relocate(runner *r, const device_run *run, unsigned char *image, const device_place *places) {
  for (uint32_t i = 0; i < run->n_places; i++) {
    uintptr_t word, add = places[i].import == DEVICE_BASE ? (uintptr_t)image : import(places[i].import);
    if (add == 0 || run->memory_bytes < sizeof word || places[i].offset > run->memory_bytes - sizeof word) {
      r->result->outcome = DEVICE_MISSING;
      r->result->detail = DEVICE_MAX_ARGS + places[i].import;
      return 0;
    }
    memcpy(&word, image + places[i].offset, sizeof word);
    word += add;
    memcpy(image + places[i].offset, &word, sizeof word);
  }
  return 1;
}

/* In the child: loads the image, protects inputs and code, calls. The caller ends the process. */
static void run_here(runner *r, const device_run *run, const unsigned char *bytes) {
  unsigned char *image = system_map(pages(run->memory_bytes), 0);
  device_place *places = system_map(pages(run->n_places * sizeof *places), 0);
  if (!image || !places) {
    r->result->outcome = DEVICE_NO_MEMORY;
    return;
  }
  memcpy(image, bytes, run->file_bytes);
  memcpy(places, bytes + run->file_bytes, run->n_places * sizeof *places);
  if (!relocate(r, run, image, places)) return;
  system_flush_code(image, run->memory_bytes);
  system_protect(image, pages(run->memory_bytes), 1);
  for (uint32_t i = 0; i < run->n_args; i++)
    if (!r->args[i].about.is_output) system_protect(r->args[i].data, pages(r->args[i].about.bytes), 0);
  system_limit(run->limit_ns);
  kernel *f;
  uintptr_t entry = (uintptr_t)image + run->entry;
  memcpy(&f, &entry, sizeof f);
  measure(r, run, f);
}

/* ---- runs, in the parent ----------------------------------------------------------------------------------------- */

/* Puts into RESULT how a child was ended that did not end by itself. */
static void note_death(runner *r, int status) {
  int signal = status & 127;
  if (signal == 0 && status == 0) return;
  *r->result = (device_result){.outcome = signal == SYSTEM_SIGNAL_ALARM ? DEVICE_TIMEOUT : DEVICE_SIGNAL,
                               .detail = (uint32_t)(signal ? signal : status)};
}

/* DEVICE_RUN: checks the parts, lets a child run the image, and answers with the shared result. */
static void take_run(runner *r, uint32_t n) {
  device_run run;
  if (n < sizeof run) return refuse(r, "a run that ends early");
  memcpy(&run, r->frame, sizeof run);
  uint64_t rest = (uint64_t)run.file_bytes + run.n_places * (uint64_t)sizeof(device_place);
  if (rest != n - sizeof run || run.n_args > DEVICE_MAX_ARGS || run.entry >= run.file_bytes ||
      run.memory_bytes < run.file_bytes || run.memory_bytes > DEVICE_MAX_BYTES)
    return refuse(r, "an image whose parts are not as long as it says");
  *r->result = (device_result){0};
  for (uint32_t i = 0; i < run.n_args; i++)
    if (!r->args[i].data) *r->result = (device_result){.outcome = DEVICE_MISSING, .detail = i};
  if (r->result->outcome == DEVICE_OK) {
    long child = system_fork();
    if (child == 0) run_here(r, &run, r->frame + sizeof run), system_exit(0);
    if (child < 0) return refuse(r, "no process for the run");
    note_death(r, system_wait(child));
  }
  answer(r, DEVICE_DONE, r->result, sizeof *r->result);
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

/* One frame, one answer. */
static void serve(runner *r, const device_header *header) {
  static const char hello[] = "tenon-runner " TN_VERSION " " RUNNER_ARCH;
  switch (header->kind) {
    case DEVICE_HELLO: answer(r, DEVICE_DONE, hello, sizeof hello - 1); break;
    case DEVICE_ARGUMENT: take_argument(r, header->length); break;
    case DEVICE_RUN: take_run(r, header->length); break;
    default: refuse(r, "a frame of a kind that this runner does not know");
  }
}

/* Reads "--inject=WORD@N". 0: it is no such option. */
static int read_option(runner *r, const char *text) {
  static const char inject[] = "--inject=";
  if (length(text) < sizeof inject || memcmp(text, inject, sizeof inject - 1) != 0) return 0;
  r->fault = text[sizeof inject - 1];
  for (const char *at = text; *at; at++)
    if (at[0] == '@')
      for (const char *digit = at + 1; *digit >= '0' && *digit <= '9'; digit++)
        r->fault_at = 10 * r->fault_at + (*digit - '0');
  return 1;
}

/* Serves frames until the input ends. Called by the process's start in system.c. */
int runner_main(int argc, char **argv) {
  static const char usage[] =
      "tenon-runner " TN_VERSION ": times kernels for `tenon tune --runner`; it takes no options\n";
  runner *r = &the_runner;
  for (int i = 1; i < argc; i++)
    if (!read_option(r, argv[i])) return system_write(2, usage, sizeof usage - 1), 2;
  r->result = system_map(pages(sizeof *r->result), 1);
  if (!r->result) return 1;
  device_header header;
  for (int state; (state = read_frame(r, &header)) != 0;)
    if (state > 0) serve(r, &header);
  return 0;
}
