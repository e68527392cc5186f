/* main.c: tenon-bench: times hand-written schedules beside the vendors' kernels. */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char usage[] =
    "usage: tenon-bench [--case PATTERN] [--threads 1,2] [--vs onednn,openblas,blis] [--json FILE] [--seconds S]\n"
    "                   [--clock wall|cpu] [--check] [--schedule FILE] [--list]\n\n"
    "  --case PATTERN   a shell pattern over the names that --list prints, or a name of their form: gemm-96x96x64 (*)\n"
    "  --threads LIST   each case once with each number of threads (1)\n"
    "  --vs LIST        vendors to run in turn with ours (none)\n"
    "  --json FILE      also write the figures as JSON\n"
    "  --seconds S      of measuring for each side (1)\n"
    "  --clock CLOCK    cpu: the process's processor time, for one thread on a machine that others use too (wall)\n"
    "  --check          compare each result with the unscheduled program's\n"
    "  --schedule FILE  use this schedule text instead of the case's own\n"
    "  --program FILE   use this program text instead of the case's own: the same arguments and results\n"
    "  --small PART/OF  instead: check products of all m, n, k in 1 .. 33, every OF-th one\n"
    "  --compile-time   instead: how long 500 random schedules of three programs take from schedule to code\n"
    "  --memory         instead: the process's size over 10,000 compilations\n"
    "  --calls          instead: what tn_call and a direct call cost\n"
    "  --launch         instead: what starting and ending a parallel loop costs, beside libgomp\n"
    "  --lowering       instead: how long a schedule takes to become loop IR after all passes\n"
    "  --list           print names, programs and schedules\n";

/* The command line. Texts are argv's own. */
typedef struct options {
  const char *pattern, *vendors, *json, *schedule, *program, *small;
  int n_threads, threads[8];
  double seconds;
  bool cpu, check, list;
  int (*other)(void); /* prints figures other than cases, and is all that runs; or NULL */
} options;

/* The state of a whole run over all cases and numbers of threads. */
typedef struct bench {
  const options *o;
  int threads_now, n_done, failed;
  bool is_noted[BENCH_MAX_VENDORS + 1]; /* whether the vendor at this side has said which kernel it uses */
  FILE *json;
} bench;

/* ---- one case ---------------------------------------------------------------------------------------------------- */

/* A kernel of ours and the arguments that it is called with: pointers into the run's arrays, in the order of
 * its own program. The run owns the arrays. */
typedef struct ours {
  tn_kernel *kernel;
  tn_kernel_fn function;
  int n_args;
  void *data[BENCH_MAX_ARGS];
} ours;

/* One case being measured. `sides` are called in turns; sides[0] is ours. `kernels` are the vendors', at the
 * same index; those of our sides are empty. close_run releases it all. */
typedef struct run {
  const bench_case *c;
  tn_context *ctx;
  tn_program *program;
  ours own, other; /* the case's form and, if it has one, the other form */
  int n_args;
  DLTensor *args[BENCH_MAX_ARGS];
  void *data[BENCH_MAX_ARGS];
  int n_sides;
  char side_names[BENCH_MAX_VENDORS + 2][16]; /* in the order of `sides`: ours, the vendors, our other form */
  vendor_side sides[BENCH_MAX_VENDORS + 2];
  vendor_kernel kernels[BENCH_MAX_VENDORS + 2];
} run;

/* Messages of the library go to standard error, except mere information. */
static void say(void *user, tn_severity severity, const char *text) {
  (void)user;
  if (severity != TN_SEVERITY_INFO) fprintf(stderr, "tenon-bench: %s\n", text);
}

/* A kernel's C signature, by the number of its arguments (codegen's calling convention: one pointer each). */
typedef int32_t kernel2(void *, void *);
typedef int32_t kernel3(void *, void *, void *);
typedef int32_t kernel4(void *, void *, void *, void *);
typedef int32_t kernel5(void *, void *, void *, void *, void *);

/* Calls the kernel by its address, as a C program that links it does. Two to five arguments. */
static int32_t run_ours(void *state) {
  const ours *o = state;
  void *const *d = o->data;
  switch (o->n_args) {
    case 2: return ((kernel2 *)o->function)(d[0], d[1]);
    case 3: return ((kernel3 *)o->function)(d[0], d[1], d[2]);
    case 4: return ((kernel4 *)o->function)(d[0], d[1], d[2], d[3]);
    default: return ((kernel5 *)o->function)(d[0], d[1], d[2], d[3], d[4]);
  }
}

/* The file's first 64 KB, for the caller to free; an empty text when it cannot be read, NULL without memory. */
static char *read_text(const char *path) {
  FILE *f = fopen(path, "r");
  char *text = calloc(1, 65536);
  if (f != NULL && text != NULL) text[fread(text, 1, 65535, f)] = '\0';
  if (f != NULL) fclose(f);
  return text;
}

/* NULL when the schedule is refused or cannot be built: the message is in the context. */
static tn_kernel *build(const run *r, tn_program *program, const char *schedule, int threads) {
  char spec[32];
  snprintf(spec, sizeof spec, "threads=%d", threads);
  tn_build_options build_options = {.target = tn_target_new(r->ctx, spec), .name = "kernel"};
  tn_schedule *s = tn_schedule_new(program);
  if (s == NULL || (*schedule != '\0' && tn_schedule_apply(s, schedule) != TN_OK)) return NULL;
  return tn_build(s, &build_options);
}

/* Makes an array for each argument and fills it: argument i with seed i + 1, so that every run has the same data. */
static bool make_data(run *r) {
  r->n_args = tn_program_arg_count(r->program);
  for (int i = 0; i < r->n_args; ++i) {
    tn_tensor *t = tn_program_arg(r->program, i);
    r->args[i] = tn_array_new(r->ctx, tn_tensor_dtype(t), tn_tensor_rank(t), tn_tensor_shape(t));
    if (r->args[i] == NULL || tn_array_fill(r->ctx, r->args[i], 1 + (uint64_t)i) != TN_OK) return false;
    r->data[i] = r->args[i]->data;
  }
  return true;
}

/* The case's data for the argument of that name; NULL: there is none. The other form of a case may order its
 * arguments differently. */
static void *data_of(const run *r, const char *name) {
  for (int i = 0; i < r->n_args; ++i) {
    if (strcmp(tn_tensor_name(tn_program_arg(r->program, i)), name) == 0) return r->data[i];
  }
  return NULL;
}

/* Builds O and appends it to the sides. */
static bool add_ours(run *r, ours *o, const char *name, tn_program *program, const char *schedule, int threads) {
  *o = (ours){.kernel = build(r, program, schedule, threads), .n_args = tn_program_arg_count(program)};
  if (o->kernel == NULL) return false;
  for (int i = 0; i < o->n_args; ++i) o->data[i] = data_of(r, tn_tensor_name(tn_program_arg(program, i)));
  o->function = tn_kernel_function(o->kernel);
  r->sides[r->n_sides] = (vendor_side){.call = run_ours, .self = o};
  snprintf(r->side_names[r->n_sides++], sizeof *r->side_names, "%s", name);
  return true;
}

/* Parses, fills the arrays and builds our side. False: the message is in the context, and close_run is still needed. */
static bool open_run(const bench *b, run *r) {
  tn_context_options context_options = {.on_message = say};
  r->ctx = tn_context_new(&context_options);
  char *text = b->o->program != NULL ? read_text(b->o->program) : NULL;
  r->program = tn_program_parse(r->ctx, text != NULL ? text : r->c->text.program, 0, NULL);
  free(text);
  if (r->program == NULL || !make_data(r)) return false;
  text = b->o->schedule != NULL ? read_text(b->o->schedule) : NULL;
  bool good = add_ours(r, &r->own, "tenon", r->program, text != NULL ? text : r->c->text.schedule, b->threads_now);
  free(text);
  return good;
}

/* Appended last, so that the vendors stand together in what is printed. */
static bool add_other(const bench *b, run *r) {
  if (r->c->other_name == NULL) return true;
  tn_program *program = tn_program_parse(r->ctx, r->c->other.program, 0, NULL);
  return add_ours(r, &r->other, r->c->other_name, program, r->c->other.schedule, b->threads_now);
}

static void close_run(run *r) {
  for (int i = 0; i < r->n_sides; ++i) {
    vendor_kernel_free(&r->kernels[i]);
    vendor_side_free(&r->sides[i]);
  }
  for (int i = 0; i < r->n_args; ++i) tn_array_free(r->args[i]);
  tn_kernel_free(r->own.kernel);
  tn_kernel_free(r->other.kernel);
  tn_context_free(r->ctx);
}

/* A side for the vendor; a word on standard error when it has no such operator or is not here. */
static void add_vendor(bench *b, run *r, const char *name) {
  char why[VENDOR_TEXT];
  vendor_kernel *kernel = &r->kernels[r->n_sides];
  if (!vendor_prepare(name, &r->c->problem, r->data, b->threads_now, kernel, why)) {
    fprintf(stderr, "tenon-bench: %s: without %s: %s\n", r->c->name, name, why);
    return;
  }
  if (!b->is_noted[r->n_sides] && kernel->note[0] != '\0') fprintf(stderr, "tenon-bench: %s: %s\n", name, kernel->note);
  b->is_noted[r->n_sides] = true;
  r->sides[r->n_sides] = (vendor_side){.call = kernel->call, .self = kernel->self};
  snprintf(r->side_names[r->n_sides++], sizeof *r->side_names, "%s", name);
}

/* A side for each vendor of the list --vs, as long as there is room. */
static void add_vendors(bench *b, run *r) {
  char name[16];
  if (b->o->vendors == NULL || r->c->problem.op == VENDOR_NONE) return;
  for (const char *at = b->o->vendors; *at != '\0' && r->n_sides <= BENCH_MAX_VENDORS; at += *at == ',') {
    size_t n = strcspn(at, ",");
    snprintf(name, sizeof name, "%.*s", (int)n, at);
    add_vendor(b, r, name);
    at += n;
  }
}

/* Element I of an output: f32 or i32. */
static double element(const DLTensor *array, const void *data, size_t i) {
  return array->dtype.code == kDLInt ? ((const int32_t *)data)[i] : (double)((const float *)data)[i];
}

/* The largest difference of outputs, relative to 1 + |expected|. */
static double difference(const DLTensor *got, const void *expected) {
  double worst = 0;
  for (size_t i = 0; i < tn_array_bytes(got) / sizeof(float); ++i) {
    double wanted = element(got, expected, i);
    double e = fabs(element(got, got->data, i) - wanted) / (1 + fabs(wanted));
    if (!(e <= worst)) worst = e;
  }
  return worst;
}

/* Compares every side that computes the same with the unscheduled program's result. */
static bool check(run *r) {
  DLTensor *out = r->args[r->n_args - 1];
  size_t bytes = tn_array_bytes(out);
  tn_kernel *plain = build(r, r->program, "", 1);
  void *expected = malloc(bytes);
  bool good = true;
  if (plain == NULL || expected == NULL) return false;
  tn_call(r->ctx, plain, r->args, r->n_args);
  memcpy(expected, out->data, bytes);
  for (int i = 0; i < r->n_sides; ++i) {
    if (r->c->other_differs && r->sides[i].self == &r->other) continue;
    memset(out->data, 0x7f, bytes);
    good &= r->sides[i].call(r->sides[i].self) == 0;
    double worst = difference(out, expected);
    if (worst < (out->dtype.code == kDLInt ? 1e-12 : 1e-3)) continue;
    fprintf(stderr, "tenon-bench: %s: %s is wrong: largest relative error %g\n", r->c->name, r->side_names[i], worst);
    good = false;
  }
  free(expected);
  tn_kernel_free(plain);
  return good;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* Side 0 is ours, and so is the other form. */
static bool is_vendor(const run *r, int side) { return side > 0 && r->sides[side].self != &r->other; }

/* The least seconds of all vendors; 0: none ran. */
static double fastest_vendor(const run *r) {
  double best = 0;
  for (int i = 1; i < r->n_sides; ++i) {
    if (!is_vendor(r, i)) continue;
    if (best == 0 || r->sides[i].low < best) best = r->sides[i].low;
  }
  return best;
}

/* What the machine does at most, in WORK units a second, as one of our own routines for it reaches; 0: not
 * known. Releases KERNEL. */
static double limit_of(const bench *b, bool was_made, vendor_kernel *kernel, double work) {
  double rate = was_made ? vendor_limit_rate(kernel, work, b->o->cpu && b->threads_now == 1) : 0;
  vendor_kernel_free(kernel);
  return rate;
}

/* How much of the machine's limit the case reaches, in percent: of the arithmetic or of the memory limit,
 * whichever is nearer. Both are measured right after the case, so that the machine is in the same state. */
static double percent(const bench *b, const run *r) {
  char why[VENDOR_TEXT];
  vendor_kernel kernel = {0};
  double work = 0, seconds = r->sides[0].low, part = 0;
  bool made = vendor_limit_arithmetic(r->c->number, b->threads_now, &kernel, &work, why);
  double limit = limit_of(b, made, &kernel, work);
  if (limit > 0) part = r->c->flops / seconds / limit;
  made = r->c->bytes > 0 && vendor_limit_reading(r->c->bytes, b->threads_now, &kernel, &work, why);
  limit = limit_of(b, made, &kernel, work);
  if (limit > 0) part = fmax(part, r->c->bytes / seconds / limit);
  return 100 * part;
}

/* One object of the JSON array, with the same figures as the printed line. Nothing without --json. */
static void write_json(const bench *b, const run *r, double of_limit) {
  double rate = r->c->flops > 0 ? r->c->flops : r->c->bytes, best = fastest_vendor(r);
  FILE *f = b->json;
  if (f == NULL) return;
  fprintf(f, "%s\n  {\"case\": \"%s\", \"threads\": %d, \"gflops\": %.2f, \"gbps\": %.2f, \"spread\": %.4f, ",
          b->n_done > 0 ? "," : "", r->c->name, b->threads_now, r->c->flops / r->sides[0].low * 1e-9,
          r->c->bytes / r->sides[0].low * 1e-9, r->sides[0].spread);
  fprintf(f, "\"percent_of_limit\": %.1f, \"vendors\": {", of_limit);
  int last = r->n_sides - 1;
  for (int i = 1; i < r->n_sides; ++i) {
    if (!is_vendor(r, i)) continue;
    fprintf(f, "%s\"%s\": %.2f", i > 1 ? ", " : "", r->side_names[i], rate / r->sides[i].low * 1e-9);
  }
  fprintf(f, "}, \"ratio_best\": ");
  if (best > 0)
    fprintf(f, "%.3f", best / r->sides[0].low);
  else
    fprintf(f, "null");
  if (r->other.kernel != NULL)
    fprintf(f, ", \"ratio_%s\": %.3f", r->c->other_name, r->sides[last].low / r->sides[0].low);
  fprintf(f, "}");
}

/* The line of a case: rate of our side, percent of the limit, spread, the vendors' rates, and our speed
 * relative to the fastest vendor (above 1: we are faster). */
static void print(const bench *b, const run *r, double of_limit) {
  double rate = r->c->flops > 0 ? r->c->flops : r->c->bytes, best = fastest_vendor(r);
  printf("%-24s %d  %9.2f %s %3.0f%%  spread %4.1f%%", r->c->name, b->threads_now, rate / r->sides[0].low * 1e-9,
         r->c->flops > 0 ? "GFLOPS" : "GB/s  ", of_limit, 100 * r->sides[0].spread);
  for (int i = 1; i < r->n_sides; ++i) printf("  %s %.1f", r->side_names[i], rate / r->sides[i].low * 1e-9);
  if (best > 0) printf("  ratio %.3f", best / r->sides[0].low);
  if (r->other.kernel != NULL) printf("  to %s %.3f", r->c->other_name, r->sides[r->n_sides - 1].low / r->sides[0].low);
  printf("\n");
  fflush(stdout);
}

/* With several threads most of the time is pauses, which let the vendors' idle threads go to sleep: so it takes
 * five times as long. */
static bool measure(const bench *b, run *r) {
  bool is_paused = b->threads_now > 1 && r->n_sides > 1;
  return vendor_time_rounds(r->n_sides, r->sides,
                            &(vendor_timing){.seconds = b->o->seconds * r->n_sides * (is_paused ? 5 : 1),
                                             .block_s = 4e-3,
                                             .min_rounds = 7,
                                             .is_paused = is_paused,
                                             .by_cpu = b->o->cpu});
}

/* Measures and prints one case; called by bench_find. A failure is printed and remembered, and the next case
 * goes on. */
static void visit(void *user, const bench_case *c) {
  bench *b = user;
  run r = {.c = c};
  if (b->o->list) {
    printf("# %s\n%s\n%s\n", c->name, c->text.program, c->text.schedule);
    return;
  }
  if (open_run(b, &r)) {
    add_vendors(b, &r);
    if (!add_other(b, &r)) {
      fprintf(stderr, "tenon-bench: %s, %s: %s\n", c->name, c->other_name, tn_context_message(r.ctx));
      b->failed = 1;
    }
    if (b->o->check) b->failed |= !check(&r);
    b->failed |= !measure(b, &r);
    double of_limit = percent(b, &r);
    print(b, &r, of_limit);
    write_json(b, &r, of_limit);
    ++b->n_done;
  } else {
    fprintf(stderr, "tenon-bench: %s: %s\n", c->name, tn_context_message(r.ctx));
    b->failed = 1;
  }
  close_run(&r);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* "1,2" to numbers; at most eight. */
static void read_threads(options *o, const char *list) {
  o->n_threads = 0;
  for (const char *at = list; *at != '\0' && o->n_threads < 8; at += strcspn(at, ","), at += *at == ',') {
    o->threads[o->n_threads++] = atoi(at);
  }
}

/* False: an unknown option, or words that are no option. The caller prints the usage. */
static bool read_options(int argc, char **argv, options *o) {
  static const struct option longs[] = {
      {"case", required_argument, NULL, 'c'},    {"threads", required_argument, NULL, 't'},
      {"vs", required_argument, NULL, 'v'},      {"json", required_argument, NULL, 'j'},
      {"seconds", required_argument, NULL, 's'}, {"clock", required_argument, NULL, 'k'},
      {"check", no_argument, NULL, 'x'},         {"schedule", required_argument, NULL, 'S'},
      {"program", required_argument, NULL, 'P'}, {"small", required_argument, NULL, 'm'},
      {"compile-time", no_argument, NULL, 'C'},  {"memory", no_argument, NULL, 'M'},
      {"calls", no_argument, NULL, 'L'},         {"launch", no_argument, NULL, 'J'},
      {"lowering", no_argument, NULL, 'W'},      {"list", no_argument, NULL, 'l'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
  for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) != -1;) {
    switch (c) {
      case 'c': o->pattern = optarg; break;
      case 't': read_threads(o, optarg); break;
      case 'v': o->vendors = optarg; break;
      case 'j': o->json = optarg; break;
      case 's': o->seconds = atof(optarg); break;
      case 'k': o->cpu = strcmp(optarg, "cpu") == 0; break;
      case 'x': o->check = true; break;
      case 'S': o->schedule = optarg; break;
      case 'P': o->program = optarg; break;
      case 'm': o->small = optarg; break;
      case 'C': o->other = bench_compile_time; break;
      case 'M': o->other = bench_memory; break;
      case 'L': o->other = bench_calls; break;
      case 'J': o->other = bench_launch; break;
      case 'W': o->other = bench_lowering; break;
      case 'l': o->list = true; break;
      default: return false;
    }
  }
  return optind == argc;
}

/* What the percentages are of, for a reader of the log. */
static void print_limit(const bench *b) {
  char why[VENDOR_TEXT];
  vendor_kernel kernel = {0};
  double work = 0;
  bool made = vendor_limit_arithmetic(VENDOR_F32, 1, &kernel, &work, why);
  printf("one core's multiply-adds: %.1f GFLOPS\n", limit_of(b, made, &kernel, work) * 1e-9);
}

int main(int argc, char **argv) {
  options o = {.pattern = "*", .n_threads = 1, .threads = {1}, .seconds = 1};
  if (!read_options(argc, argv, &o)) {
    fputs(usage, stderr);
    return 2;
  }
  if (o.small != NULL) return bench_small(o.small);
  if (o.other != NULL) return o.other();
  bench b = {.o = &o, .json = o.json != NULL ? fopen(o.json, "w") : NULL};
  int found = 0;
  if (!o.list) print_limit(&b);
  if (b.json != NULL) fputs("[", b.json);
  for (int i = 0; i < o.n_threads; ++i) {
    b.threads_now = o.threads[i];
    found += bench_find(o.pattern, b.threads_now, visit, &b);
  }
  if (b.json != NULL) fputs("\n]\n", b.json);
  if (b.json != NULL && fclose(b.json) != 0) b.failed = 1;
  if (found == 0) fprintf(stderr, "tenon-bench: no case is called %s\n", o.pattern);
  return found == 0 || b.failed;
}
