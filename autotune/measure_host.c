/* measure_host.c: machines that a command reaches: how their greeting is checked, pauses between tries, and
 * their states for people to read.
 *
 * A host that is not what is wanted is refused for good: another version, another processor, other costs
 * than the target's, a wrong clock. A host whose worker is lost is tried again after a pause, which doubles
 * with every failure in a row. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "autotune/internal.h"
#include "autotune/measure.h"

/* After so many failed starts in a row a host that has never greeted is not counted on any more, but still
 * tried while others work. A host that has greeted is waited for as long as the options say. */
enum { NEVER_CAME = 3 };

/* The first pause after a failure, in seconds, and the longest. */
#define PAUSE_S 0.25
#define LONGEST_PAUSE_S 60.0
/* The most that a host's wall clock may differ: more than that is a clock that nobody sets. */
#define CLOCK_S 60.0
/* Times that a host reports may exceed what has passed here by so much, since two machines have two clocks. */
#define CLOCK_RATIO 1.1
#define CLOCK_SLACK_S 0.05
/* Costs of the same machine, measured twice, differ by less than this, unless others work there: then they
 * are measured again, at most COST_TRIES times. */
#define COSTS_RATIO 2.0
enum { COST_TRIES = 3 };

/* ---- making ------------------------------------------------------------------------------------------------------ */

static char **copy_argv(const char *const *argv) {
  int n = 0;
  while (argv[n]) ++n;
  char **copy = calloc((size_t)n + 1, sizeof *copy);
  for (int i = 0; copy && i < n; ++i)
    if (!(copy[i] = strdup(argv[i]))) n = 0;
  return copy;
}

static char *copy_text(const char *text, bool *ok) {
  char *copy = text ? strdup(text) : NULL;
  *ok = *ok && (!text || copy);
  return copy;
}

bool measure_host_open(measure_machine *machine, const tn_worker_host *host, int number) {
  bool ok = true;
  tn_worker_host *copy = calloc(1, sizeof *copy);
  machine->command = copy_argv(host->command);
  machine->cores = 1;
  machine->host = copy;
  if (!copy || !machine->command || !machine->command[0]) return false;
  *copy = (tn_worker_host){
      .name = copy_text(host->name, &ok), .tags = copy_text(host->tags, &ok), .threads = host->threads};
  machine->number = number;
  return ok;
}

void measure_machine_free(measure_machine *machine) {
  for (int i = 0; machine->command && machine->command[i]; ++i) free(machine->command[i]);
  if (machine->host) {
    free((char *)machine->host->name);
    free((char *)machine->host->tags);
  }
  free((tn_worker_host *)machine->host);
  free(machine->command);
  free(machine->places);
  free(machine->name);
}

/* ---- the greeting ------------------------------------------------------------------------------------------------ */

/* Costs are measured once for each machine, which takes a tenth of a second. */
void measure_host_ask(const measure_machine *machine, json_t *hello) {
  json_object_set_new(hello, "remote", json_true());
  if (!machine->has_greeted) json_object_set_new(hello, "wants_costs", json_true());
}

/* Compares a word of the wanted target with the host's. False with WHY: they differ. */
static bool same_word(const char *wanted, const char *own, const char *key, runtime_str *why) {
  char a[512] = "", b[512] = "";
  autotune_target_word(wanted, key, a, sizeof a);
  autotune_target_word(own, key, b, sizeof b);
  if (strcmp(a, b) == 0) return true;
  runtime_str_addf(why, "its %s is %s, the target's is %s", key, b, a);
  return false;
}

/* Whether LIST, "+a,-b,...", has the feature with that sign. */
static bool has_feature(const char *list, char sign, const char *name, size_t n) {
  for (const char *item = list; *item;) {
    size_t length = strcspn(item, ",");
    if (length == n + 1 && *item == sign && strncmp(item + 1, name, n) == 0) return true;
    item += length + (item[length] == ',');
  }
  return false;
}

/* Features are given as differences from the processor's. The host must have what the target has, and may have more. */
static bool has_features(const char *wanted, const char *own, runtime_str *why) {
  char a[2048] = "", b[2048] = "";
  autotune_target_word(wanted, "features", a, sizeof a);
  autotune_target_word(own, "features", b, sizeof b);
  for (int pass = 0; pass < 2; ++pass) {
    const char *list = pass ? a : b, *other = pass ? b : a;
    char sign = pass ? '+' : '-';
    for (const char *item = list; *item;) {
      size_t n = strcspn(item, ",");
      if (n > 1 && *item == sign && !has_feature(other, sign, item + 1, n - 1)) {
        runtime_str_addf(why, "it lacks the feature %.*s, which the target has", (int)n - 1, item + 1);
        return false;
      }
      item += n + (item[n] == ',');
    }
  }
  return true;
}

static bool has_threads(const measure_wanted *wanted, const json_t *greeting, runtime_str *why) {
  char text[32] = "0";
  autotune_target_word(wanted->target, "threads", text, sizeof text);
  long need = strtol(text, NULL, 10), has = (long)protocol_int(greeting, "threads", 1);
  if (wanted->threads > 0 && wanted->threads < has) has = wanted->threads;
  if (has >= need) return true;
  runtime_str_addf(why, "it has %ld threads for us, the target has %ld: tune for threads=%ld", has, need, has);
  return false;
}

static bool is_target(const measure_wanted *wanted, const json_t *greeting, runtime_str *why) {
  const char *target = wanted->target, *own = protocol_text(greeting, "target", "");
  return !target || (same_word(target, own, "triple", why) && same_word(target, own, "cpu", why) &&
                     has_features(target, own, why) && has_threads(wanted, greeting, why));
}

/* The number of KEY in "costs=key:number,..."; 0: there is none. */
static double cost_of(const char *costs, const char *key) {
  size_t n = strlen(key);
  for (const char *item = costs + strcspn(costs, "="); *item; item += strcspn(item, ",")) {
    ++item;
    if (strncmp(item, key, n) == 0 && item[n] == ':') return runtime_parse_float(item + n + 1, NULL);
  }
  return 0;
}

/* Compares only what a core's operations take: memory is shared with whatever else the machine does. */
static bool has_costs(const measure_wanted *wanted_costs, const char *costs, runtime_str *why) {
  const char *all = wanted_costs->costs ? wanted_costs->costs : "";
  static const char *const keys[] = {"fma16", "fma32", "fma64", "chain", "load"};
  for (int i = 0; *costs && *all && i < RUNTIME_COUNT(keys); ++i) {
    double wanted = cost_of(all, keys[i]), own = cost_of(costs, keys[i]);
    if (wanted <= 0 || own <= 0 || fmax(wanted, own) <= COSTS_RATIO * fmin(wanted, own)) continue;
    runtime_str_addf(why, "its measured cost %s is %.3g ns, %s is %.3g ns", keys[i], own, wanted_costs->whose, wanted);
    return false;
  }
  return true;
}

/* Checks the host's clock. Measurements do not depend on it, but logs, certificates and queues do. A host
 * that reports none passes. */
static bool has_clock(const json_t *greeting, runtime_str *why) {
  double clock_s = protocol_number(greeting, "clock", 0), ahead_s = clock_s - (double)time(NULL);
  if (clock_s <= 0 || fabs(ahead_s) <= CLOCK_S) return true;
  runtime_str_addf(why, "its clock is %.0f s %s: set it", fabs(ahead_s), ahead_s > 0 ? "ahead" : "behind");
  return false;
}

static bool has_version(const json_t *greeting, runtime_str *why) {
  const char *version = protocol_text(greeting, "version", "?");
  if (strcmp(version, TN_VERSION) == 0) return true;
  runtime_str_addf(why, "it has Tenon %.40s, this is %s", version, TN_VERSION);
  return false;
}

/* Whether another machine that has greeted has this name. */
static bool is_taken(const measure_pool *pool, const measure_machine *machine, const char *name) {
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *other = &pool->machines[i];
    if (other != machine && other->name && strcmp(other->name, name) == 0) return true;
  }
  return false;
}

/* Names the machine, once. Records tell machines apart by name, so workers on one machine are numbered,
 * each being a machine of its own. */
static void take_name(const measure_pool *pool, measure_machine *machine, const json_t *greeting) {
  const char *given = machine->host->name;
  const char *name = given ? given : protocol_text(greeting, "host", "host");
  runtime_str text = {0};
  if (machine->name) return;
  int number = machine->number;
  do {
    text.n = 0;
    runtime_str_addf(&text, number > 0 ? "%.64s#%d" : "%.64s", name, number);
    number = number > 0 ? number + 1 : 2;
  } while (!text.failed && is_taken(pool, machine, text.data));
  machine->name = text.failed ? NULL : text.data;
  if (text.failed) runtime_str_free(&text);
}

bool measure_greeting_fits(const measure_wanted *wanted, const json_t *greeting, bool *costs_differ, runtime_str *why) {
  *costs_differ = false;
  if (!has_version(greeting, why) || !is_target(wanted, greeting, why) || !has_clock(greeting, why)) return false;
  *costs_differ = !has_costs(wanted, protocol_text(greeting, "costs", ""), why);
  return !*costs_differ;
}

bool measure_host_check(measure_pool *pool, measure_machine *machine, const json_t *greeting, runtime_str *why) {
  bool costs_differ;
  const char *costs = protocol_text(greeting, "costs", "");
  measure_wanted wanted = {.target = pool->target,
                           .costs = pool->costs,
                           .whose = pool->costs_are_a_hosts ? "the first host's" : "the target's",
                           .threads = machine->host->threads};
  bool fits = measure_greeting_fits(&wanted, greeting, &costs_differ, why);
  machine->cost_tries += costs_differ;
  if (!fits) return false;
  if (*costs && !pool->costs) pool->costs = strdup(costs), pool->costs_are_a_hosts = true;
  take_name(pool, machine, greeting);
  return machine->name != NULL; /* a record without one would say that it was measured here */
}

double measure_told_s(const json_t *answer) {
  double told_s = 0;
  const json_t *phases = json_object_get(answer, "phase_s");
  for (size_t i = 0; i < MEASURE_PHASES && i < json_array_size(phases); ++i)
    told_s += json_number_value(json_array_get(phases, i));
  return told_s;
}

bool measure_host_clock_is_right(const measure_worker *w, const json_t *answer) {
  double passed_s = (double)(runtime_now_ns() - w->asked_ns) * 1e-9;
  return measure_told_s(answer) <= CLOCK_RATIO * passed_s + CLOCK_SLACK_S;
}

/* ---- trouble ----------------------------------------------------------------------------------------------------- */

static void command_text(const measure_machine *machine, runtime_str *out) {
  for (int i = 0; machine->command[i]; ++i) {
    bool is_shell = i == 0 && strcmp(machine->command[0], "/bin/sh") == 0 && machine->command[1] &&
                    machine->command[2] && !machine->command[3] && strcmp(machine->command[1], "-c") == 0;
    if (is_shell) i = 2; /* what the user gave */
    runtime_str_addf(out, "%s%s", out->n ? " " : "", machine->command[i]);
  }
}

static void label(const measure_machine *machine, runtime_str *out) {
  const char *name = machine->name ? machine->name : machine->host->name;
  if (name)
    runtime_str_add(out, name);
  else
    command_text(machine, out);
}

/* Reports the first failure at once; later ones are in the summary. */
static void say(const measure_pool *pool, const measure_machine *machine, const char *what) {
  runtime_str text = {0};
  label(machine, &text);
  if (!text.failed) runtime_say(pool->ctx, TN_SEVERITY_WARNING, "worker %s %s: %s", text.data, what, machine->trouble);
  runtime_str_free(&text);
}

void measure_host_trouble(measure_pool *pool, measure_machine *machine, const char *why) {
  if (machine->is_refused) return;
  double pause_s = fmin(PAUSE_S * ldexp(1, RUNTIME_MIN(machine->failures, 20)), LONGEST_PAUSE_S);
  if (machine->failures++ == 0) machine->lost_ns = runtime_now_ns();
  machine->retry_ns = measure_deadline_after(pause_s);
  snprintf(machine->trouble, sizeof machine->trouble, "%s", why);
  if (machine->n_lost++ == 0) say(pool, machine, "was lost and is tried again");
}

/* Refuses a machine. If only its costs differ it is tried again: others may be working there at the moment. */
void measure_host_refuse(measure_pool *pool, measure_machine *machine, const char *why) {
  if (machine->cost_tries > 0 && machine->cost_tries < COST_TRIES && !machine->has_greeted) {
    measure_host_trouble(pool, machine, why);
    return;
  }
  machine->is_refused = true;
  snprintf(machine->trouble, sizeof machine->trouble, "%s", why);
  say(pool, machine, "is refused");
}

bool measure_machine_may_start(const measure_pool *pool, const measure_machine *machine) {
  if (!machine->host) return !measure_machine_is_hopeless(pool, machine);
  return !machine->is_refused && runtime_now_ns() >= machine->retry_ns;
}

bool measure_machine_is_hopeless(const measure_pool *pool, const measure_machine *machine) {
  if (!machine->host || !machine->has_greeted) return machine->is_refused || machine->failures >= NEVER_CAME;
  double away_s = machine->failures > 0 ? (double)(runtime_now_ns() - machine->lost_ns) * 1e-9 : 0;
  return machine->is_refused || away_s > pool->options.patience_s;
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

void measure_hosts_say(const measure_pool *pool, runtime_str *out) {
  for (int i = 0; i < pool->n_machines; ++i) {
    const measure_machine *machine = &pool->machines[i];
    runtime_str name = {0};
    if (!machine->host) continue;
    label(machine, &name);
    runtime_str_addf(out, "%s%s %s: %s", out->n ? "; " : "", name.failed ? "?" : name.data,
                     machine->is_refused ? "is refused" : "is lost",
                     machine->trouble[0] ? machine->trouble : "it has not greeted");
    runtime_str_free(&name);
  }
}

static tn_host_phase phase_of(const measure_machine *machine) {
  if (machine->is_refused) return TN_HOST_REFUSED;
  for (int i = 0; i < machine->n_workers; ++i)
    if (machine->workers[i].state == MEASURE_IDLE || machine->workers[i].state == MEASURE_BUSY) return TN_HOST_SERVING;
  return machine->n_lost > 0 ? TN_HOST_LOST : TN_HOST_STARTING;
}

static const char *keep(tn_context *ctx, const char *text) {
  return text && *text ? runtime_strdup(&ctx->arena, text) : NULL;
}

static tn_worker_host_state state_of(const measure_pool *pool, const measure_machine *machine) {
  runtime_str name = {0}, command = {0};
  label(machine, &name);
  command_text(machine, &command);
  return (tn_worker_host_state){.name = runtime_str_take(&name, &pool->ctx->arena),
                                .command = runtime_str_take(&command, &pool->ctx->arena),
                                .tags = keep(pool->ctx, machine->host->tags),
                                .phase = phase_of(machine),
                                .timed = machine->n_timed,
                                .built = machine->n_built,
                                .lost = machine->n_lost,
                                .trouble = keep(pool->ctx, machine->trouble)};
}

const tn_worker_host_state *measure_pool_hosts(const measure_pool *pool, int *n) {
  int n_hosts = 0;
  tn_worker_host_state *states = RUNTIME_NEW_ARRAY(&pool->ctx->arena, tn_worker_host_state, pool->n_machines);
  for (int i = 0; states && i < pool->n_machines; ++i)
    if (pool->machines[i].host) states[n_hosts++] = state_of(pool, &pool->machines[i]);
  *n = n_hosts;
  return n_hosts > 0 ? states : NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

int tn_build_place_find(const char *word) {
  static const char *const words[] = {
#define X(name, text) text,
      TN_BUILD_PLACES(X)
#undef X
  };
  return word ? RUNTIME_FIND(words, word) : -1;
}

const char *tn_host_phase_word(tn_host_phase phase) {
  static const char *const words[] = {
#define X(name, text) text,
      TN_HOST_PHASES(X)
#undef X
  };
  return (unsigned)phase < (unsigned)RUNTIME_COUNT(words) ? words[phase] : "unknown";
}
