/* propose_kernel.c: rules about schedules, computed from the work counters of kernels' stages. They follow
 * Halide's notes on scheduling. Stages below one percent of the time are skipped if their time is known. */
#include "profile/analysis.h"

/* Share of the kernel's time below which a stage is not worth advice. */
static const double least_share = 0.01;

/* A row of the table of kernel stages, as the rules see it. */
typedef struct stage {
  const tn_rows *rows;
  int row;
  const char *name;
} stage;

/* 0 if the mark has no such counter. */
static double counter(const stage *s, const char *column) { return analysis_number(s->rows, s->row, column); }
static bool is_known(const stage *s, const char *column) { return !analysis_is_missing(s->rows, s->row, column); }

typedef void (*stage_check)(proposer *p, const stage *s);

/* Skips stages below LEAST_SHARE of the time: improving them would not be noticed. */
static void each_stage(proposer *p, const tn_rows *rows, stage_check check) {
  for (int i = 0; i < rows->n; ++i) {
    stage s = {rows, i, analysis_text(rows, i, "stage")};
    if (!is_known(&s, "share") || counter(&s, "share") >= least_share) check(p, &s);
  }
}

/* Points computed divided by points required, over all calls. A ratio of 1 means no recomputation. */
static void recompute(proposer *p, const stage *s) {
  double ratio = counter(s, "recompute");
  if (ratio > p->threshold)
    analysis_say(p, s->name, ratio, "'%s' computes each point %.2f times: compute_at a tile or compute_root keeps them",
                 s->name, ratio);
}

/* A stage that was compiled without counters has no stores, and so passes. */
static void not_vectorised(proposer *p, const stage *s) {
  double stores = counter(s, "stores");
  bool has_vectors = counter(s, "vector_stores") > 0 || counter(s, "vector_loads") > 0;
  if (stores > p->threshold && !has_vectors)
    analysis_say(p, s->name, stores, "'%s' has no vector loads or stores: vectorize its innermost axis", s->name);
}

/* The threshold is relative to dense vector loads: a few gathers among many vector loads do no harm. */
static void gathers(proposer *p, const stage *s) {
  double n = counter(s, "gathers"), dense = counter(s, "vector_loads");
  if (n > p->threshold * dense && n > 0)
    analysis_say(p, s->name, n,
                 "'%s' gathers (%.0f) more than it loads vectors (%.0f): vectorize the axis that is "
                 "contiguous in what it reads",
                 s->name, n, dense);
}

/* A scatter writes each lane separately. It arises when the vector runs along an axis that is not the last. */
static void scatters(proposer *p, const stage *s) {
  double n = counter(s, "scatters"), dense = counter(s, "vector_stores");
  if (n > p->threshold * dense && n > 0)
    analysis_say(p, s->name, n, "'%s' scatters (%.0f) more than it stores vectors (%.0f): vectorize its last axis",
                 s->name, n, dense);
}

/* The tails of a vectorized loop show up as scalar stores beside vector stores. */
static void scalar_stores(proposer *p, const stage *s) {
  double scalars = counter(s, "stores"), vectors = counter(s, "vector_stores");
  if (vectors > 0 && scalars >= p->threshold * vectors)
    analysis_say(p, s->name, scalars / vectors,
                 "'%s' stores %.0f scalars beside %.0f vectors: choose tiles that divide "
                 "the extents",
                 s->name, scalars, vectors);
}

/* Compares the bits of a store with those of a register. A stage without vector stores belongs to not_vectorised. */
static void narrow_stores(proposer *p, const stage *s) {
  double bits = counter(s, "store_bits"), native = counter(s, "native_bits");
  if (bits > 0 && bits < p->threshold * native && counter(s, "vector_stores") > 0)
    analysis_say(p, s->name, bits, "'%s' stores %.0f bits at once where the machine has %.0f: vectorize by more",
                 s->name, bits, native);
}

/* Tasks per launch; the counter "loops" is the number of launches. */
static void too_coarse(proposer *p, const stage *s) {
  double tasks = counter(s, "tasks") / (counter(s, "loops") > 0 ? counter(s, "loops") : 1),
         threads = counter(s, "threads");
  if (tasks > 0 && tasks < p->threshold * threads)
    analysis_say(p, s->name, tasks,
                 "'%s' has %.0f parallel tasks for %.0f threads, too coarse: split or fuse the parallel "
                 "axis",
                 s->name, tasks, threads);
}

/* Many tasks but idle threads: the time goes into handing the tasks out. */
static void too_fine(proposer *p, const stage *s) {
  double tasks = counter(s, "tasks"), threads = counter(s, "threads"), active = counter(s, "active");
  if (is_known(s, "active") && threads > 0 && tasks > 4 * threads && active < p->threshold)
    analysis_say(p, s->name, active,
                 "'%s' has %.0f parallel tasks but keeps %.0f %% of the threads busy, too fine: give "
                 "each task more work",
                 s->name, tasks, active * 100);
}

/* Several parallel loops launched one after the other, with few threads busy. */
static void many_launches(proposer *p, const stage *s) {
  double active = counter(s, "active"), tasks = counter(s, "tasks"), threads = counter(s, "threads");
  if (is_known(s, "active") && counter(s, "loops") > 1 && active < p->threshold && tasks <= 4 * threads)
    analysis_say(p, s->name, active,
                 "'%s' launches %.0f parallel loops and keeps %.0f %% of the threads busy: make an "
                 "outer axis parallel",
                 s->name, counter(s, "loops"), active * 100);
}

#define RULE(name) \
  static void check_##name(proposer *p, const tn_rows *rows) { each_stage(p, rows, name); }
RULE(recompute)
RULE(not_vectorised)
RULE(gathers)
RULE(scatters)
RULE(scalar_stores)
RULE(narrow_stores)
RULE(too_coarse)
RULE(too_fine)
RULE(many_launches)

/* A stage at root that is not parallel although other stages of the same kernel are. */
static void check_serial_root(proposer *p, const tn_rows *rows) {
  for (int i = 0; i < rows->n; ++i) {
    stage s = {rows, i, analysis_text(rows, i, "stage")};
    bool others = false;
    for (int k = 0; k < rows->n; ++k) {
      bool is_same_kernel = strcmp(analysis_text(rows, k, "kernel"), analysis_text(rows, i, "kernel")) == 0;
      others |= is_same_kernel && analysis_number(rows, k, "is_parallel") > 0;
    }
    if (others && counter(&s, "is_root") > 0 && counter(&s, "is_parallel") == 0 && counter(&s, "share") > p->threshold)
      analysis_say(p, s.name, counter(&s, "share"), "'%s' is at root and not parallel while other stages are", s.name);
  }
}

/* ---- kernels against the machine --------------------------------------------------------------------------------- */

/* The rows of the roofline analyser, which the caller frees; NULL without memory or if a table is missing. */
static tn_rows *roofline_of(const proposer *p) {
  int k = 0;
  while (analysis_analysers[k].type && strcmp(analysis_analysers[k].type, "roofline") != 0) ++k;
  return analysis_load(NULL, p->analysis, &analysis_analysers[k]);
}

/* No kernel is faster than the machine: one of the two numbers is wrong, and neither should be believed. */
static void check_above_roof(proposer *p, const tn_rows *ops) {
  (void)ops;
  tn_rows *roofs = roofline_of(p);
  for (int i = 0; i < tn_rows_count(roofs); ++i) {
    const char *name = analysis_text(roofs, i, "name");
    double achieved = analysis_number(roofs, i, "achieved");
    if (strncmp(analysis_text(roofs, i, "bound"), "error", 5) == 0 && achieved > p->threshold)
      analysis_say(p, name, achieved,
                   "'%s' would take %.2f times what the machine can do: its limits were measured while it was busy "
                   "(`tenon target --measure` measures them anew), or the kernel does not do its work",
                   name, achieved);
  }
  analysis_rows_free(roofs);
}

/* Bytes that are brought from memory repeatedly, for kernels that memory limits. */
static void check_moved(proposer *p, const tn_rows *ops) {
  (void)ops;
  tn_rows *roofs = roofline_of(p);
  for (int i = 0; i < tn_rows_count(roofs); ++i) {
    const char *name = analysis_text(roofs, i, "name");
    double share = analysis_number(roofs, i, "moved_share");
    if (share > p->threshold && strcmp(analysis_text(roofs, i, "bound"), "memory") == 0)
      analysis_say(p, name, share,
                   "'%s' brings each byte that it needs %.1f times from memory: tile its loops so that what is used "
                   "again is still in a cache",
                   name, share);
  }
  analysis_rows_free(roofs);
}

const analysis_rule analysis_rules_kernel[] = {{"above_roof", "kernel", "op", 1, check_above_roof},
                                               {"bytes_moved", "kernel", "op", 1.5, check_moved},

                                               {"recompute", "kernel", "kernel", 2, check_recompute},
                                               {"not_vectorised", "kernel", "kernel", 0, check_not_vectorised},
                                               {"gathers", "kernel", "kernel", 1, check_gathers},
                                               {"scatters", "kernel", "kernel", 1, check_scatters},
                                               {"scalar_stores", "kernel", "kernel", 0.1, check_scalar_stores},
                                               {"narrow_stores", "kernel", "kernel", 1, check_narrow_stores},
                                               {"too_coarse", "kernel", "kernel", 1, check_too_coarse},
                                               {"too_fine", "kernel", "kernel", 0.75, check_too_fine},
                                               {"many_launches", "kernel", "kernel", 0.75, check_many_launches},
                                               {"serial_root", "kernel", "kernel", 0.01, check_serial_root},
                                               {NULL, NULL, NULL, 0, NULL}};
