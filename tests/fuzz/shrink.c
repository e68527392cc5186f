/* Makes a wrong pair smaller as long as it stays wrong: fewer primitives, fewer stages, shorter extents, simpler
 * expressions. What is tried is text; most of it is refused or right, which a process of its own says. */
#include <ctype.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/fuzz/worker.h"

enum { MAX_SECONDS = 120 };

typedef struct shrinking {
  const char *self;
  int64_t number;
  char *program, *schedule;
  char tried[FUZZ_TEXT];
  uint64_t until_ns;
} shrinking;

/* ---- trying ------------------------------------------------------------------------------------------------------ */

/* Whether the texts go wrong. */
static bool fails(const shrinking *x, const char *program, const char *schedule) {
  char seed[32];
  int status = 0;
  if (runtime_now_ns() > x->until_ns) return false;
  snprintf(seed, sizeof seed, "%lld", (long long)x->number);
  char *argv[] = {"test_fuzz", "--replay", (char *)program, (char *)schedule, seed, NULL};
  pid_t pid = fuzz_start(x->self, argv, -1, true);
  return pid > 0 && waitpid(pid, &status, 0) == pid && status != 0;
}

/* The program with the bytes FROM to TO of its text replaced; kept when it still goes wrong. */
static bool replace(shrinking *x, const char *from, const char *to, const char *with, size_t n_with) {
  size_t before = (size_t)(from - x->program), after = strlen(to);
  if (before + n_with + after >= FUZZ_TEXT) return false;
  memcpy(x->tried, x->program, before);
  memcpy(x->tried + before, with, n_with);
  memcpy(x->tried + before + n_with, to, after + 1);
  if (!fails(x, x->tried, x->schedule)) return false;
  strcpy(x->program, x->tried);
  return true;
}

/* ---- schedules --------------------------------------------------------------------------------------------------- */

/* The schedule without its WHICH-th primitive. False: it has fewer. */
static bool without(const char *schedule, int which, char *out) {
  const char *from = schedule;
  for (int i = 0; i < which; i++) {
    from = strstr(from, "; ");
    if (!from) return false;
    from += 2;
  }
  const char *end = strstr(from, "; ");
  size_t before = (size_t)(from - schedule);
  if (!*from) return false;
  memcpy(out, schedule, before);
  strcpy(out + before, end ? end + 2 : "");
  if (!end && before >= 2) out[before - 2] = '\0';
  return true;
}

static bool drop_primitives(shrinking *x) {
  bool changed = false;
  for (int i = 0; without(x->schedule, i, x->tried); i++) {
    if (!fails(x, x->program, x->tried)) continue;
    strcpy(x->schedule, x->tried);
    changed = true;
    i--;
  }
  return changed;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* A tensor that is read and has lost its line becomes an input. */
static bool drop_lines(shrinking *x) {
  bool changed = false;
  for (char *line = x->program; *line;) {
    char *end = strchr(line, '\n'), *next = end ? end + 1 : line + strlen(line);
    if (replace(x, line, next, "", 0))
      changed = true;
    else
      line = next;
  }
  return changed;
}

static bool lower_extent(shrinking *x, const char *digits) {
  char *end, less[32];
  long long extent = strtoll(digits, &end, 10), tries[] = {1, extent / 2, extent - 1};
  for (size_t i = 0; i < RUNTIME_COUNT(tries); i++) {
    if (tries[i] < 1 || tries[i] >= extent) continue;
    int n = snprintf(less, sizeof less, "%lld", tries[i]);
    if (replace(x, digits, end, less, (size_t)n)) return true;
  }
  return false;
}

/* `i<8`; a comparison has a space behind. */
static bool lower_extents(shrinking *x) {
  bool changed = false;
  for (char *at = x->program; (at = strchr(at, '<')); at++)
    while (at[1] >= '1' && at[1] <= '9' && lower_extent(x, at + 1)) changed = true;
  return changed;
}

/* Behind what begins at FROM: the next comma or closing bracket at its level. */
static const char *argument_end(const char *from) {
  int depth = 0;
  for (; *from && *from != '\n'; from++) {
    if (depth == 0 && (*from == ',' || *from == ')' || *from == ']')) return from;
    depth += (*from == '(' || *from == '[') - (*from == ')' || *from == ']');
  }
  return from;
}

/* name(a, b) becomes (a), or (b), or name(1). */
static bool cut_call(shrinking *x, const char *open) {
  char part[FUZZ_TEXT];
  const char *name = open, *close = open;
  while (name > x->program && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
  while (*close && *close != ')') close = argument_end(close + 1);
  if (*close != ')') return false;
  for (const char *from = open, *to; *from != ')'; from = to) {
    to = argument_end(from + 1);
    if (from == open && *to == ')' && name == open) break; /* (a) itself */
    int n = snprintf(part, sizeof part, "(%.*s)", (int)(to - from - 1), from + 1);
    if (*to == ')' || *to == ',')
      if (replace(x, name, close + 1, part, (size_t)n)) return true;
    if (*to != ',' && *to != ')') return false;
  }
  return close - open > 2 && replace(x, open + 1, close, "1", 1);
}

static bool cut_expressions(shrinking *x) {
  bool changed = false;
  for (char *at = x->program; (at = strchr(at, '(')); at++) changed |= cut_call(x, at);
  return changed;
}

void fuzz_shrink(const char *self, int64_t number, char *program, char *schedule) {
  static shrinking x;
  x = (shrinking){.self = self, .number = number, .program = program, .schedule = schedule};
  x.until_ns = runtime_now_ns() + (uint64_t)MAX_SECONDS * 1000000000u;
  if (!fails(&x, program, schedule)) return;
  for (bool changed = true; changed;) {
    changed = drop_primitives(&x);
    changed |= drop_lines(&x);
    changed |= lower_extents(&x);
    changed |= cut_expressions(&x);
  }
}
