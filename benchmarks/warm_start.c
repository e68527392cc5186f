/* warm_start.c: how many trials a search saves when the log already has records of similar programs. Each file
 * of records is a table of times for one program. A search over it is replayed without running kernels, so that
 * one table and seed always give the same result. Each program is searched with an empty log and with a log
 * that holds the records of all other files. Both times the trials are counted until 95 % of the best time that
 * the table knows. The last row gives both sums without the default schedule, which a search with guesses
 * measures later.
 *
 * Usage: warm_start [costs=...] RECORDS... [--also RECORDS...]
 * costs=: of the machine, as in a target's text (a record's target has none). Records behind --also are learned
 * from but not searched. Prints a Markdown table. Status 1 unless the second search takes at most half of the
 * trials. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "benchmarks/best_of_log.h"

/* The most trials of a search; searches of each program, whose mean is printed. */
enum { TRIALS = 200, SEEDS = 3 };

/* One search: when it reached what was wanted. */
typedef struct search {
  double wanted_s;
  int n, reached; /* trials so far; the trial that reached it, 0: none has */
  int n_default;  /* how many of them were the default schedule */
} search;

/* Trials of a search until it had reached it. */
typedef struct count {
  double all, searched; /* with and without the default schedule */
} count;

/* tn_tune calls it after each trial. */
static void follow(void *user, const tn_candidate *candidate, const tn_measurement *m) {
  search *s = user;
  if (s->reached > 0) return;
  ++s->n;
  s->n_default += strncmp(candidate->steps, "[]", 2) == 0;
  if (s->reached == 0 && m->n_costs > 0 && m->costs[0] <= s->wanted_s) s->reached = s->n;
}

/* tn_tune's on_progress: true ends the search, since later trials do not count. */
static bool is_reached(void *user, const tn_progress *progress) {
  const search *s = user;
  (void)progress;
  return s->reached > 0;
}

/* False: PATH cannot be read. */
static bool append_file(FILE *out, const char *path) {
  char bytes[1 << 16];
  FILE *in = fopen(path, "r");
  size_t n;
  if (!in) return false;
  while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) fwrite(bytes, 1, n, out);
  return fclose(in) == 0;
}

/* The log of the search: empty, or with the records of all files but THIS. */
static bool fill_log(const char *log, int n, char **files, int this, bool is_warm) {
  FILE *out = fopen(log, "w");
  bool filled = out != NULL;
  for (int i = 0; i < n && filled && is_warm; ++i) filled = i == this || append_file(out, files[i]);
  return out && fclose(out) == 0 && filled;
}

/* The same target with the costs added to its text. */
static tn_target *with_costs(tn_context *ctx, const tn_target *target, const char *costs) {
  char text[2048];
  snprintf(text, sizeof text, "%s %s", tn_target_text(target), costs);
  return tn_target_new(ctx, text);
}

/* Adds to SUM the trials to 95 % of the best, or TRIALS + 1 when the search did not get there. False: an error. */
static bool add_trials(const char *records, const char *costs, const char *log, uint64_t seed, count *sum) {
  tn_context *ctx = tn_context_new(NULL);
  tn_log_table table = {0};
  tn_target *target = NULL;
  tn_builder builder;
  tn_runner runner;
  search s = {0};
  tn_program *program = open_best(ctx, records, &target);
  if (target && costs) target = with_costs(ctx, target, costs);
  bool ready = program && target && tn_log_top(ctx, records, NULL, 1, &table) == TN_OK && table.n_rows == 1 &&
               tn_replay_new(program, target, records, &builder, &runner);
  if (ready) {
    s.wanted_s = table.rows[0].cost_s / 0.95;
    tn_tune_options options = {.log = log,
                               .trials = TRIALS,
                               .seed = seed,
                               .target = target,
                               .builder = &builder,
                               .runner = &runner,
                               .on_measured = follow,
                               .on_progress = is_reached,
                               .user = &s};
    ready = tn_tune(program, &options, NULL) == TN_OK;
    builder.free(builder.self);
    runner.free(runner.self);
  }
  if (!ready) fprintf(stderr, "warm_start: %s: %s\n", records, tn_context_message(ctx));
  tn_log_table_free(&table);
  tn_context_free(ctx);
  int trials = s.reached > 0 ? s.reached : TRIALS + 1;
  sum->all += trials;
  sum->searched += trials - s.n_default;
  return ready;
}

/* The mean over the seeds. Zeros: an error. */
static count mean_trials(const char *log, const char *costs, int n, char **files, int this, bool is_warm) {
  count sum = {0};
  for (int seed = 1; seed <= SEEDS; ++seed)
    if (!fill_log(log, n, files, this, is_warm) || !add_trials(files[this], costs, log, (uint64_t)seed, &sum))
      return (count){0};
  return (count){sum.all / SEEDS, sum.searched / SEEDS};
}

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Takes the word "--also" out of the list, and returns how many files stand before it. */
static int take_also(int *n, char **files) {
  for (int i = 0; i < *n; ++i) {
    if (strcmp(files[i], "--also") != 0) continue;
    memmove(files + i, files + i + 1, sizeof *files * (size_t)(*n - i - 1));
    --*n;
    return i;
  }
  return *n;
}

int main(int argc, char **argv) {
  char log[] = "/tmp/tenon-warm-XXXXXX";
  const char *costs = argc > 1 && strncmp(argv[1], "costs=", 6) == 0 ? argv[1] : NULL;
  char **files = argv + 1 + (costs != NULL);
  int n = argc - 1 - (costs != NULL), n_searched = take_also(&n, files);
  count sums[2] = {0};
  int fd = n > 1 ? mkstemp(log) : -1;
  if (fd < 0) return fprintf(stderr, "usage: warm_start [costs=...] RECORDS RECORDS... [--also RECORDS...]\n"), 2;
  close(fd);
  printf("| records | trials to 95 %% of the best known | with records of the others |\n| --- | --: | --: |\n");
  for (int i = 0; i < n_searched; ++i) {
    count trials[2];
    for (int warm = 0; warm < 2; ++warm) {
      trials[warm] = mean_trials(log, costs, n, files, i, warm);
      if (trials[warm].all == 0) return unlink(log), 1;
      sums[warm].all += trials[warm].all;
      sums[warm].searched += trials[warm].searched;
    }
    printf("| %s | %.1f | %.1f |\n", name_of(files[i]), trials[0].all, trials[1].all);
    fflush(stdout);
  }
  unlink(log);
  printf("| all %d | %.1f | %.1f (%.2f of them) |\n", n_searched, sums[0].all, sums[1].all, sums[1].all / sums[0].all);
  printf("| without the default schedule | %.1f | %.1f (%.2f) |\n", sums[0].searched, sums[1].searched,
         sums[1].searched / sums[0].searched);
  return sums[1].all > 0.5 * sums[0].all;
}
