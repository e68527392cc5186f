/* tenon-runner on this machine: kernels that are right, wrong, crash, hang, write to what is not theirs; frames that are none; objects
 * that are none. The runner is built by its own CMakeLists.txt, kernels by the system's C compiler. */
#include "autotune/device.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/common/check.h"
#include "tests/measure/measure_test.h"

#if defined(__x86_64__)
#define HERE "x86_64"
#else
#define HERE "aarch64"
#endif

enum { N = 64 };
static const double limit_s = 20;

/* All tests share one runner: what one kernel does must not reach the next. */
static struct {
  char folder[64];
  device d;
} F;

static int shell(const char *format, const char *a, const char *b) {
  char command[600];
  snprintf(command, sizeof command, format, a, b);
  return system(command);
}

static int open_runner(void) {
  static char command[128];
  snprintf(F.folder, sizeof F.folder, "/tmp/tenon-device-test-XXXXXX");
  if (!mkdtemp(F.folder)) return -1;
  snprintf(command, sizeof command, "%s/tenon-runner", F.folder);
  F.d.command = command;
  return shell("cmake -S %s/runner -B %s > /dev/null 2>&1", TENON_TEST_SOURCE, F.folder) ||
         shell("cmake --build %s%s > /dev/null 2>&1", F.folder, "");
}

static void close_runner(void) {
  device_close(&F.d);
  assert_int_equal(shell("rm -rf %s%s", F.folder, ""), 0);
}

/* Compiles BODY of int32_t kernel(const float *A, float *C) into an object; malloc'ed. */
static char *compile(const char *body, size_t *n) {
  char path[128];
  snprintf(path, sizeof path, "%s/k.c", F.folder);
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  fprintf(file,
          "#include <stdint.h>\n#include <stdlib.h>\nint puts(const char *);\nint32_t kernel(const float *A, float *C) "
          "{ %s }\n",
          body);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(shell("cc -w -O1 -fPIC -fno-builtin -fno-stack-protector -fcf-protection=none -c -o %s/k.o %s/k.c",
                         F.folder, F.folder),
                   0);
  snprintf(path, sizeof path, "%s/k.o", F.folder);
  file = fopen(path, "re");
  assert_non_null(file);
  char *bytes = malloc(1 << 20);
  *n = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  return bytes;
}

static void send_arguments(void) {
  float a[N], c[N];
  for (int i = 0; i < N; ++i) a[i] = (float)i / 4, c[i] = (float)i / 2;
  for (uint32_t i = 0; i < 2; ++i) {
    device_argument about = {.index = i,
                             .is_output = i,
                             .dtype = DEVICE_F32,
                             .element_bytes = 4,
                             .bytes = sizeof a,
                             .scale = 1,
                             .tolerance = 1e-6};
    assert_true(device_ask(&F.d, DEVICE_ARGUMENT, &about, sizeof about, i ? c : a, sizeof a, NULL, 0, limit_s));
  }
}

/* BODY's outcome on the runner. */
static device_result run_body(const char *body) {
  device_image image;
  device_result result;
  char why[DEVICE_WHY_BYTES] = "";
  size_t n;
  char *object = compile(body, &n);
  if (!device_image_make(object, n, "kernel", HERE, &image, why)) fail_msg("%s", why);
  free(object);
  device_run run = {.n_args = 2,
                    .file_bytes = image.file_bytes,
                    .memory_bytes = image.memory_bytes,
                    .entry = image.entry,
                    .n_places = image.n_places,
                    .max_samples = 5,
                    .batch_ns = 1000,
                    .budget_ns = 1000000,
                    .limit_ns = 300000000};
  assert_true(device_open(&F.d, HERE, limit_s));
  send_arguments();
  size_t bytes = image.file_bytes + image.n_places * sizeof(device_place);
  if (!device_ask(&F.d, DEVICE_RUN, &run, sizeof run, image.bytes, bytes, &result, sizeof result, limit_s))
    fail_msg("%s", F.d.why);
  device_image_free(&image);
  return result;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

#define RIGHT "for (int i = 0; i < 64; i++) C[i] = 2 * A[i]; return 0;"

typedef struct outcome_row {
  const char *name, *body;
  device_outcome outcome;
  uint32_t detail;
  uint64_t n_wrong, worst;
} outcome_row;

static const outcome_row outcome_rows[] = {
    {"right", RIGHT, DEVICE_OK, 0, 0, 0},
    {"with scratch",
     "float *t = aligned_alloc(64, 256); for (int i = 0; i < 64; i++) t[i] = A[i]; "
     "for (int i = 0; i < 64; i++) C[i] = 2 * t[i]; free(t); return 0;",
     DEVICE_OK, 0, 0, 0},
    {"the last element is not written", "for (int i = 0; i < 63; i++) C[i] = 2 * A[i]; return 0;", DEVICE_WRONG, 1, 1,
     63},
    {"one element is wrong", "for (int i = 0; i < 64; i++) C[i] = i == 7 ? 9 : 2 * A[i]; return 0;", DEVICE_WRONG, 1, 1,
     7},
    {"it touches no memory of its own", "*(volatile int *)8 = 1; return 0;", DEVICE_SIGNAL, 11, 0, 0},
    {"it writes to its input", "((float *)A)[0] = 3; " RIGHT, DEVICE_SIGNAL, 11, 0, 0},
    {"it writes to its code", "static int n = 1; *(volatile int *)&n = 2; " RIGHT, DEVICE_SIGNAL, 11, 0, 0},
    {"it hangs", "for (volatile int i = 0;;) i++;", DEVICE_TIMEOUT, 14, 0, 0},
    {"it has no memory", "return 1;", DEVICE_NO_MEMORY, 0, 0, 0},
};

/* Each costs its own answer: the same runner serves the right one behind it. */
static void ends_as(void **state) {
  const outcome_row *r = *state;
  device_result result = run_body(r->body);
  assert_int_equal(result.outcome, r->outcome);
  assert_int_equal(result.detail, r->detail);
  assert_int_equal(result.n_wrong, r->n_wrong);
  assert_int_equal(result.worst, r->worst);
  assert_int_equal(result.n_samples >= 3 && result.sample_ps[0] > 0, r->outcome == DEVICE_OK);
  pid_t before = F.d.pid;
  assert_int_equal(run_body(RIGHT).outcome, DEVICE_OK);
  assert_int_equal(F.d.pid, before);
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static void refuses_objects(void **state) {
  (void)state;
  char why[DEVICE_WHY_BYTES];
  device_image image;
  size_t n;
  char *object = compile("return puts(\"x\");", &n);
  assert_false(device_image_make(object, n, "kernel", HERE, &image, why));
  assert_non_null(strstr(why, "the kernel calls puts, which tenon-runner has not"));
  assert_false(device_image_make(object, n, "other", HERE, &image, why));
  assert_false(device_image_make(object, n, "kernel", "riscv64", &image, why));
  assert_non_null(strstr(why, "what was built is no object for riscv64"));
  assert_false(device_image_make(object, n, "kernel", "pdp11", &image, why));
  assert_non_null(strstr(why, "there is no runner for pdp11: there are aarch64, armv7, riscv64 and x86_64"));
  assert_false(device_image_make(object, 20, "kernel", HERE, &image, why));
  memset(object + 64, 0, n - 64);
  assert_false(device_image_make(object, n, "kernel", HERE, &image, why));
  assert_null(image.bytes);
  free(object);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* What the runner refuses is named, and the next one is served by a fresh runner. */
static void refuses(device_kind kind, const void *head, size_t n, const char *words) {
  assert_true(device_open(&F.d, HERE, limit_s));
  assert_false(device_ask(&F.d, kind, head, n, "", 0, NULL, 0, limit_s));
  if (!strstr(F.d.why, words)) fail_msg("%s", F.d.why);
  assert_int_equal(F.d.pid, 0);
  assert_int_equal(run_body(RIGHT).outcome, DEVICE_OK);
}

static void refuses_frames(void **state) {
  (void)state;
  device_argument about = {.index = 0, .element_bytes = 4, .bytes = 400};
  refuses(DEVICE_ARGUMENT, &about, sizeof about, "the runner refuses: an argument whose size is not that of its data");
  refuses(DEVICE_ARGUMENT, &about, 8, "an argument that ends early");
  about = (device_argument){.index = DEVICE_MAX_ARGS, .element_bytes = 4};
  refuses(DEVICE_ARGUMENT, &about, sizeof about, "more than 16 arguments");
  device_run run = {.file_bytes = 16, .memory_bytes = 16};
  refuses(DEVICE_RUN, &run, sizeof run, "an image whose parts are not as long as it says");
  refuses(DEVICE_RUN, &run, 12, "a run that ends early");
  refuses((device_kind)77, "", 0, "a frame of a kind that this runner does not know");
}

/* Another machine's runner, a stranger, one that says nothing. */
static void refuses_strangers(void **state) {
  (void)state;
  device d = {.command = F.d.command};
  assert_false(device_open(&d, "riscv64", limit_s));
  assert_non_null(strstr(d.why, "and the target needs \"tenon-runner " TN_VERSION " riscv64\""));
  d.command = "sleep 100";
  assert_false(device_open(&d, HERE, 0.3));
  assert_non_null(strstr(d.why, "the runner does not answer"));
  d.command = "echo some words of a login shell";
  assert_false(device_open(&d, HERE, limit_s));
  assert_non_null(strstr(d.why, "says what is no frame: \"some words of a \""));
  d.command = "exit 3";
  assert_false(device_open(&d, HERE, limit_s));
  assert_non_null(strstr(d.why, "has ended"));
}

/* A line that takes 32 KiB a tenth of a second needs longer for an argument of 1.5 MB than the limit, which is for each piece. */
static void a_slow_line_is_waited_for(void **state) {
  (void)state;
  enum { BYTES = 3 << 19 };
  char line[400];
  snprintf(line, sizeof line, "sh -c 'for i in $(seq 80); do dd bs=32k count=1 status=none; sleep 0.1; done' | %s",
           F.d.command);
  device d = {.command = line};
  char *data = calloc(BYTES, 1);
  device_argument about = {.element_bytes = 4, .bytes = BYTES};
  assert_non_null(data);
  assert_true(device_open(&d, HERE, limit_s));
  uint64_t start_ns = runtime_now_ns();
  bool came = device_ask(&d, DEVICE_ARGUMENT, &about, sizeof about, data, BYTES, NULL, 0, 3);
  double took_s = (double)(runtime_now_ns() - start_ns) * 1e-9;
  free(data);
  if (!came) fail_msg("%s after %g s", d.why, took_s);
  assert_true(took_s > 3);
  device_close(&d);
}

int device_tests(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(refuses_objects), cmocka_unit_test(refuses_frames),
                                            cmocka_unit_test(refuses_strangers),
                                            cmocka_unit_test(a_slow_line_is_waited_for)};
  if (open_runner()) return 1;
  int failed = CHECK_TABLE("kernels on a device", outcome_rows, ends_as) +
               CHECK_TESTS("what a device and its side refuse", tests);
  close_runner();
  return failed;
}
