/* cost.c: what pieces of work take on a machine, from its constants. All times are nanoseconds of one
 * thread, all sizes bytes. The model ranks plans of one group against each other; it is no prediction,
 * and what is wrong by the same factor everywhere does no harm. */
#include "schedule/cost.h"

#include <math.h>

#include "runtime/base.h"

/* A plain machine: what is assumed where nobody measured. */
static const tn_machine_costs plain_costs = {.fma16 = 0.125,
                                             .fma32 = 0.125,
                                             .fma64 = 0.125,
                                             .chain = 1,
                                             .load = 0.125,
                                             .gather = 0.25,
                                             .line2 = 0.6,
                                             .line3 = 2,
                                             .line4 = 4,
                                             .shared4 = 5,
                                             .apart = 8,
                                             .fresh = 8,
                                             .page = 2,
                                             .fork = 4000};

enum { RUN_LINES = 16 }; /* of the runs that are measured (runs3, stray4) */

/* The next narrower width that was measured. */
static double fma_of(const tn_machine_costs *c, int bytes) {
  return bytes >= 64 ? c->fma64 : bytes >= 32 ? c->fma32 : c->fma16;
}

static void unless(double given, double *value, double otherwise) {
  if (!(given > 0)) *value = otherwise;
}

/* What was not measured becomes the plain machine's value, field by field. There a line that is written goes two ways,
 * lines that nobody guesses wait as stores do, unless they are asked for; of a run the first two do, and streams side by
 * side take a third longer. A dot product is as fast as a multiply-add, a root takes as long as twelve, and the next row
 * hides half of what the last one waits for at its end. */
static void fill_costs(tn_machine_costs *c, int vector_bytes) {
  static const double both_ways = 1.25, one_way = 0.5, run_waits = 2, scattered = 0.3, root_steps = 12;
  const tn_machine_costs given = *c;
#define X(name, what) \
  if (!(c->name > 0)) c->name = plain_costs.name;
  TN_MACHINE_COSTS(X)
#undef X
  unless(given.write2, &c->write2, both_ways * c->line2);
  unless(given.write3, &c->write3, both_ways * c->line3);
  unless(given.write4, &c->write4, both_ways * c->line4);
  unless(given.past, &c->past, fmax(one_way * c->line4, c->write3));
  unless(given.sharedwrite4, &c->sharedwrite4, c->write4 * c->shared4 / c->line4);
  unless(given.sharedpast, &c->sharedpast, c->past * c->shared4 / c->line4);
  unless(given.stray, &c->stray, c->line3 + c->apart);
  unless(given.asked, &c->asked, c->line3);
  unless(given.waited, &c->waited, c->line3);
  unless(given.stray4, &c->stray4, c->line4 + c->stray - c->line3);
  unless(given.load32, &c->load32, c->load);
  unless(given.root, &c->root, root_steps * fma_of(c, vector_bytes));
  unless(given.dot2, &c->dot2, fma_of(c, vector_bytes));
  unless(given.dot4, &c->dot4, fma_of(c, vector_bytes));
  unless(given.spans, &c->spans, one_way * c->line3);
  unless(given.runs3, &c->runs3, c->line3 + run_waits * (c->stray - c->line3) / RUN_LINES);
  unless(given.ends, &c->ends, one_way * c->chain);
  unless(given.beside, &c->beside, (1 + scattered) * c->line3);
}

/* A copy of GIVEN. The number of threads is asked of the machine at each call, since a container's
 * quota changes. */
tn_machine cost_fill_machine(const tn_machine *given) {
  static const int64_t usual_cache[] = {0, 32 << 10, 512 << 10, 8 << 20};
  static const int usual_ways[] = {0, 8, 8, 16};
  tn_machine m = given ? *given : (tn_machine){0};
  if (m.threads < 1) m.threads = tn_thread_count();
  if (m.vector_bytes < 1) m.vector_bytes = 32;
  if (m.vector_registers < 1) m.vector_registers = 16;
  for (int i = 1; i < 4; i++)
    if (m.cache_bytes[i] < 1) m.cache_bytes[i] = usual_cache[i];
  for (int i = 1; i < 4; i++)
    if (m.cache_ways[i] < 1) m.cache_ways[i] = usual_ways[i];
  if (m.fork_ns < 1) m.fork_ns = 20000;
  fill_costs(&m.costs, m.vector_bytes);
  return m;
}

double cost_fma(const tn_machine *m, int bytes) { return fma_of(&m->costs, bytes); }

double cost_load(const tn_machine *m, int bytes) { return bytes <= 32 ? m->costs.load32 : m->costs.load; }

double cost_dot(const tn_machine *m, int group) { return group == 2 ? m->costs.dot2 : m->costs.dot4; }

/* Three quarters of a cache count: the rest holds what else is used at the time. */
static const double usable = 0.75;

int cost_level(const tn_machine *m, double bytes) {
  for (int level = 1; level < 4; level++)
    if (bytes <= usable * (double)m->cache_bytes[level]) return level;
  return 4;
}

double cost_place(const tn_machine *m, int level, double bytes) {
  double near = usable * (double)m->cache_bytes[2], far = usable * (double)m->cache_bytes[3];
  return level == 3 && far > near ? 3 + fmin(fmax(bytes - near, 0) / (far - near), 1) : level;
}

double cost_between(double place, double near, double far) { return near + (place - floor(place)) * (far - near); }

/* From memory one line of a run of sixteen waits as much more than from the third cache as the whole run does. */
double cost_visit(const tn_machine *m, int level, double lines) {
  const tn_machine_costs *c = &m->costs;
  double part = fmin(fmax(lines, 1) / RUN_LINES, 1), alone = c->stray - c->line3;
  double run = fmax(RUN_LINES * (c->runs3 - c->line3), alone);
  double near = alone + (run - alone) * part, farther = run > 0 ? RUN_LINES * (c->stray4 - c->line4) / run : 1;
  return level < 3 ? 0 : level == 3 ? near : near * fmax(farther, 1);
}

double cost_pieces(const tn_machine *m, double rows, double width, double row, double bytes) {
  double lines = width / COST_LINE, far = 0;
  int level = cost_level(m, bytes);
  if (width >= row) return 0;
  double more = ceil(lines) + (fmod(width, COST_LINE) > 0) + 1 - lines;
  if (row > COST_PAGE) far = fmax(1 - width / COST_PAGE, 0) * cost_visit(m, level, lines);
  return rows * row / width * (more * cost_line(m, level, false) + far);
}

double cost_spanning(const tn_machine *m, double vectors, double row, double bytes) {
  int level = cost_level(m, bytes), loads = level == 1 ? 1 : level == 2 ? 2 : 0;
  if (fmod(row, fmin(m->vector_bytes, COST_LINE)) == 0) return 0;
  return vectors * fmin((double)m->vector_bytes / COST_LINE, 1) * loads * m->costs.load;
}

double cost_line_at(const tn_machine *m, double place, bool is_shared) {
  int level = (int)place;
  return cost_between(place, cost_line(m, level, is_shared), cost_line(m, RUNTIME_MIN(level + 1, 4), is_shared));
}

/* All threads together are never slower than one: where that was measured, something else was running. */
static double shared_ns(const tn_machine *m, double shared, double alone) { return fmin(shared, alone * m->threads); }

/* Memory that all threads stream from at once is shared among them. */
double cost_line(const tn_machine *m, int level, bool is_shared) {
  const tn_machine_costs *c = &m->costs;
  switch (level) {
    case 1: return 0;
    case 2: return c->line2;
    case 3: return c->line3;
    default: return is_shared ? shared_ns(m, c->shared4, c->line4) : c->line4;
  }
}

/* A line that is written comes from where it was first and goes back there later; past the caches it only goes. */
double cost_write(const tn_machine *m, double bytes, int level, bool is_shared, bool streams) {
  const tn_machine_costs *c = &m->costs;
  double write4 = is_shared ? shared_ns(m, c->sharedwrite4, c->write4) : c->write4;
  double past = is_shared ? shared_ns(m, c->sharedpast, c->past) : c->past;
  double line[] = {0, 0, c->write2, c->write3, write4};
  return bytes / COST_LINE * (streams ? past : line[level]);
}

/* Of a stream that comes again and again, RATIO times what a cache holds, the part that is not there any more: each miss puts
 * a line in the place of any other, so that of N misses between two uses of a line exp(-N / size) leave it there. M = 1 -
 * exp(-M RATIO), by Newton's steps. */
static double missed(double ratio) {
  enum { STEPS = 2 };
  if (ratio <= 1) return 0; /* asked first: the exponential is what takes time */
  double part = 1 - exp(2 - 2 * ratio);
  for (int i = 0; i < STEPS; i++) {
    double kept = exp(-part * ratio);
    part -= (part - 1 + kept) / (1 - ratio * kept);
  }
  return fmin(fmax(part, 0), 1);
}

double cost_missed(const tn_machine *m, int level, double bytes) {
  return missed(bytes / (usable * (double)m->cache_bytes[level]));
}

/* A line is lost if as many others share its set as there are ways: of a Poisson distribution what is above. As of its size three
 * quarters of the ways count. */
double cost_lost(const tn_machine *m, double bytes) {
  double ways = m->cache_ways[3], others = bytes / (double)m->cache_bytes[3] * ways, chance = exp(-others), kept = 0;
  for (int n = 0; n < usable * ways; n++) {
    kept += chance;
    chance *= others / (n + 1);
  }
  return fmin(fmax(1 - kept, 0), 1);
}

/* The level that a stream of BYTES comes from at each call; between 3 and 4: a part of it from either. */
static double stream_place(const tn_machine *m, double bytes) {
  int level = cost_level(m, bytes);
  return level < 4 ? level : 3 + cost_missed(m, 3, bytes);
}

/* Each thread has first caches of its own, which its part of the data may fit. What is written past the caches leaves them to what
 * is read, which the next call then finds there; to memory it goes beside what comes. */
double cost_stream(const tn_machine *m, double read, double written, bool is_shared, bool streams) {
  double bytes = streams ? read : read + written, own = is_shared ? bytes / RUNTIME_MAX(m->threads, 1) : bytes;
  double place = stream_place(m, cost_level(m, own) <= 2 ? own : bytes), far = fmax(place - 3, 0);
  int near = RUNTIME_MIN((int)place, 3);
  double in = read / COST_LINE * cost_line_at(m, place, is_shared), beside;
  double out = (1 - far) * cost_write(m, written, near, is_shared, streams) +
               far * cost_write(m, written, 4, is_shared, streams);
  beside = streams ? cost_overlap(in, out) : in + out;
  return (1 - far) * (in + out) + far * beside;
}

/* Euclid on doubles, which hold these counts exactly. */
static double greatest_divisor(double a, double b) {
  while (b >= 1) {
    double rest = fmod(a, b);
    a = b, b = rest;
  }
  return a;
}

double cost_sets(const tn_machine *m, int level, double stride) {
  double sets = (double)m->cache_bytes[level] / COST_LINE / m->cache_ways[level];
  double lines = fmax(floor(stride / COST_LINE), 1);
  return fmod(stride, COST_LINE) != 0 ? sets : sets / greatest_divisor(sets, fmod(lines, sets) == 0 ? sets : lines);
}

/* An n-way cache keeps at most n lines a set, however large it is. */
double cost_reached_by(const tn_machine *m, int level, double row_bytes, double sets_begun) {
  double sets = (double)m->cache_bytes[level] / COST_LINE / m->cache_ways[level];
  double reached = fmin(sets_begun * fmax(row_bytes / COST_LINE, 1), sets);
  return reached * m->cache_ways[level] * COST_LINE;
}

double cost_reached(const tn_machine *m, int level, double row_bytes, double stride) {
  return cost_reached_by(m, level, row_bytes, cost_sets(m, level, stride));
}

int cost_ways(const tn_machine *m) {
  static const double kept = 2.0 / 3;
  return (int)fmax(floor(m->cache_ways[1] * kept), 1);
}

double cost_conflict(const tn_machine *m, double rows, double stride) {
  double room = cost_sets(m, 1, stride) * cost_ways(m);
  return rows <= room ? 0 : 1 - room / rows;
}

/* Of COUNT lines that are used in turn in a set. Its order of use is kept roughly: half as many again as it has room for leave
 * nothing of each other, fewer a part. */
static double lost_of_set(const tn_machine *m, int count, int kept) {
  double over = (count - m->cache_ways[1]) / (m->cache_ways[1] / 2.0);
  return fmax(count * fmin(fmax(over, 0), 1), fmax(count - kept, 0));
}

/* Rows that are a power of two and a little apart creep through a few sets. */
double cost_crowded_planes(const tn_machine *m, int planes, double plane, int rows, int lines, double stride,
                           int kept) {
  enum { MOST_SETS = 256 };
  int count[MOST_SETS] = {0};
  double lost = 0;
  int sets = (int)RUNTIME_MAX(RUNTIME_MIN(m->cache_bytes[1] / COST_LINE / m->cache_ways[1], MOST_SETS), 1);
  for (int p = 0; p < planes; p++)
    for (int r = 0; r < rows; r++) {
      int64_t set = (int64_t)((r * stride + p * plane) / COST_LINE) % sets;
      for (int l = 0; l < lines; l++) {
        count[set]++;
        set = set + 1 < sets ? set + 1 : 0;
      }
    }
  int most = RUNTIME_MIN(kept, m->cache_ways[1]); /* that are all kept: asked by the million */
  for (int s = 0; s < sets; s++)
    if (count[s] > most) lost += lost_of_set(m, count[s], kept);
  return lost / fmax((double)planes * rows * lines, 1);
}

double cost_crowded(const tn_machine *m, int rows, int lines, double stride, int kept) {
  return cost_crowded_planes(m, 1, 0, rows, lines, stride, kept);
}

/* Of what lies between the lanes others use about a half. Registers of 32 bytes are put together from halves, since they have
 * shuffles inside of these alone (codegen/emit_stride.c). */
double cost_apart(const tn_machine *m, double bytes, int64_t stride) {
  enum { IN_HALVES = 32 };
  double lanes = fmax(m->vector_bytes / bytes, 1), shuffle = cost_fma(m, m->vector_bytes);
  double blocks = m->vector_bytes == IN_HALVES ? 2 : 1, apart = (double)stride;
  if (stride == 0 || stride == 1) return 0;
  if (stride < 0) return stride < -COST_MOST_APART ? m->costs.gather : cost_apart(m, bytes, -stride) + shuffle / lanes;
  if (stride > COST_MOST_APART) return m->costs.gather;
  return ((apart + 1) / 2 * blocks * m->costs.load + (apart - 1 + blocks - 1) * shuffle) / lanes;
}

/* Shuffles across two registers of the table each, and choices between what they find; both for a register of lanes. */
double cost_table(const tn_machine *m, double bytes, double elements) {
  enum { MOST = 16, MOST_OF_BYTES = 4, WORD = 4 };
  double per = COST_LINE / bytes, pairs = ceil(ceil(elements / per) / 2);
  bool is_held = m->vector_bytes == COST_LINE &&
                 ((bytes == WORD && elements <= MOST * per) || (bytes == 1 && elements <= MOST_OF_BYTES * per));
  double shuffle = 2 * cost_fma(m, m->vector_bytes); /* one of two ports has them */
  return is_held ? (pairs * shuffle + (pairs - 1) * shuffle) / per : INFINITY;
}

double cost_threads(const tn_machine *m, double ns, double parts) {
  return cost_blocks(m, ns, parts, 1 / parts, 1 / parts);
}

/* Parts that the threads do not divide leave some of them idle in the last turn. */
double cost_blocks(const tn_machine *m, double ns, double parts, double block, double last) {
  double turns = ceil(parts / m->threads);
  if (parts < 2) return ns;
  bool is_last_alone = fmod(parts, m->threads) == 1;
  double busiest = is_last_alone ? (turns - 1) * block + last : turns * block;
  return ns * fmax(busiest, 1.0 / m->threads) + m->costs.fork;
}

/* Out-of-order execution hides most of the smaller of two; a fifth of it is taken as exposed. */
static const double exposed = 0.2;

double cost_overlap(double a, double b) { return fmax(a, b) + exposed * fmin(a, b); }

double cost_hidden(double both, double a) {
  return both > (1 + exposed) * a ? both - exposed * a : fmax(both - a, 0) / exposed;
}
