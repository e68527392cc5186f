/* log_scale.c: what a large log takes: reading it, looking a program up, summing it up, checking, merging and compacting it. Usage:
 * log_scale [LINES] (100000, a hundred of each program; a kilobyte each, in temporary files). Prints a Markdown
 * table: seconds that passed, and of the processor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "autotune/autotune.h"

/* Records for each program; the look-ups whose mean is printed. */
enum { LINES_OF_A_PROGRAM = 100, LOOK_UPS = 100 };

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A moment, on both clocks. */
typedef struct stopwatch {
  double wall_s, processor_s;
} stopwatch;

static stopwatch now(void) { return (stopwatch){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)}; }

/* A row of the table: from FROM to now, divided by TIMES. MEGABYTES 0: the column for the rate is left out. */
static void print_row(const char *what, stopwatch from, double times, double megabytes) {
  stopwatch to = now();
  double wall_s = (to.wall_s - from.wall_s) / times, processor_s = (to.processor_s - from.processor_s) / times;
  printf("| %s | %.4g | %.4g |", what, wall_s, processor_s);
  if (megabytes > 0) printf(" %.0f", megabytes / processor_s);
  printf(" |\n");
}

/* Writes a program's text as a JSON string's content: newlines are the only characters of it that need an escape. */
static void print_text(FILE *out, const char *text) {
  for (; *text; ++text) fprintf(out, *text == '\n' ? "\\n" : "%c", *text);
}

/* Writes a record as the tuner does, of the default schedule. I makes its time differ from the others of its
 * program. */
static void print_record(FILE *out, const tn_program *program, const tn_target *target, int i) {
  fprintf(out, "{\"v\":1,\"key\":\"%s\",\"program\":\"", tn_program_key(program));
  print_text(out, tn_program_text(program));
  fprintf(
      out,
      "\",\"target\":\"%s\",\"hardware\":{\"threads\":2,\"vector_bytes\":64,\"cache_line_bytes\":64,\"cache_bytes\":"
      "[49152,1048576,33554432]},\"steps\":[],\"costs\":[%.7g,%.7g],\"error\":\"none\",\"checked\":true,"
      "\"max_error\":2.4e-07,\"share\":0.03125,\"samples\":21,\"min_s\":%.7g,\"noise\":0.004,\"load\":1.5,"
      "\"build_s\":0.0213,\"run_s\":0.0131,\"phases\":{\"parse\":0.0002,\"lower\":0.001,\"compile\":0.019,\"load\":"
      "0.001,\"arguments\":0.01,\"run\":0.05,\"check\":0.06},\"seed\":0,\"tenon\":\"0.1.0\",\"time\":%d,\"plan\":[{"
      "\"stage\":\"C\",\"family\":\"tile\",\"tiles\":[6,64,128,16],\"order\":\"mnk\",\"pack\":[true,false],"
      "\"parallel\":2,"
      "\"prefetch\":0,\"tails\":[\"guard\",\"mask\",\"guard\"],\"unroll\":4,\"local\":true}]}\n",
      tn_target_text(target), 1e-3 + 1e-6 * (i % 97), 1e-3 + 1e-6 * (i % 89), 1e-3, 1763600000 + i);
}

/* Writes LINES records and returns the program in the middle of the list, for the look-ups. A program's records
 * are spread over the file, as with tuners that work at the same time. NULL: no memory, or the file cannot be
 * written. */
static tn_program *write_log(tn_context *ctx, const tn_target *target, const char *path, int lines) {
  int n_programs = lines / LINES_OF_A_PROGRAM > 0 ? lines / LINES_OF_A_PROGRAM : 1;
  tn_program **programs = calloc((size_t)n_programs, sizeof *programs), *middle = NULL;
  FILE *out = fopen(path, "w");
  char text[96];
  for (int i = 0; programs && i < n_programs; ++i) {
    snprintf(text, sizeof text, "C[i<%d, j<64] = sum[k<%d](A[i,k] * B[k,j])", 16 + i % 1000, 16 + i / 1000);
    programs[i] = tn_program_parse(ctx, text, 0, NULL);
  }
  for (int i = 0; programs && out && i < lines; ++i)
    print_record(out, programs[i % n_programs], target, i / n_programs);
  if (programs && out && fclose(out) == 0) middle = programs[n_programs / 2];
  free(programs);
  return middle;
}

/* False: the log has no record of the program. */
static bool look_up(tn_program *program, const tn_target *target, const char *log, int n) {
  bool found = true;
  for (int i = 0; found && i < n; ++i) {
    tn_schedule *s = tn_apply_best(program, target, log, NULL);
    found = s != NULL;
    tn_schedule_free(s);
  }
  return found;
}

/* Prints all rows. False after the first operation that fails, with a message in the context. OUT is a second
 * file, which the merge writes. */
static bool measure(tn_context *ctx, const tn_target *target, const char *log, const char *out, int lines) {
  tn_log_table top, best;
  tn_log_sum sum;
  struct stat file;
  tn_program *program = write_log(ctx, target, log, lines);
  if (!program || stat(log, &file) != 0) return false;
  double mb = (double)file.st_size * 1e-6;
  printf("%d lines, %.0f MB\n\n| what | seconds | of the processor | MB a second of it |\n| --- | --: | --: | --: |\n",
         lines, mb);
  stopwatch from = now();
  if (tn_log_top(ctx, log, NULL, 10, &top) != TN_OK) return false;
  print_row("read all, the ten fastest", from, 1, mb);
  from = now();
  if (tn_log_best(ctx, log, NULL, &best) != TN_OK) return false;
  print_row("read all, the best of each program", from, 1, mb);
  from = now();
  if (!look_up(program, target, log, 1)) return false;
  print_row("the first look-up, which makes the index", from, 1, mb);
  from = now();
  if (!look_up(program, target, log, LOOK_UPS)) return false;
  print_row("a look-up, applied", from, LOOK_UPS, 0);
  from = now();
  if (tn_log_stats(ctx, log, NULL, &sum) != TN_OK) return false;
  print_row("stats", from, 1, mb);
  from = now();
  if (tn_log_check(ctx, log, &sum) != TN_OK || sum.n_wrong > 0) return false;
  print_row("check", from, 1, mb);
  from = now();
  if (tn_log_merge(ctx, 1, &log, NULL, out, &sum) != TN_OK) return false;
  print_row("merge", from, 1, mb);
  from = now();
  if (tn_log_compact(ctx, out, 8, NULL, &sum) != TN_OK) return false;
  print_row("compact", from, 1, mb);
  tn_log_table_free(&top);
  tn_log_table_free(&best);
  return true;
}

int main(int argc, char **argv) {
  int lines = argc > 1 ? atoi(argv[1]) : 100000;
  char folder[] = "/tmp/tenon-logs-XXXXXX", log[64], out[64], index[64];
  tn_context *ctx = tn_context_new(NULL);
  tn_target *target = ctx ? tn_target_new(ctx, NULL) : NULL;
  if (lines < 1 || !target || !mkdtemp(folder)) return 1;
  snprintf(log, sizeof log, "%s/log.json", folder);
  snprintf(out, sizeof out, "%s/out.json", folder);
  snprintf(index, sizeof index, "%s/log.json.index", folder);
  bool done = measure(ctx, target, log, out, lines);
  if (!done) fprintf(stderr, "log_scale: %s\n", tn_context_message(ctx));
  unlink(log);
  unlink(out);
  unlink(index);
  rmdir(folder);
  tn_context_free(ctx);
  return done ? 0 : 1;
}
