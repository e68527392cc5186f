/* call.h: a call of a primitive as one value, which says what was called, refuses, and is recorded; and the table of
 * primitives. */
#ifndef TENON_SCHEDULE_CALL_H
#define TENON_SCHEDULE_CALL_H

#include "schedule/state.h"

typedef struct schedule_primitive schedule_primitive;

/* An argument as it was given: a name, a number, or in C a list of one of them; by position or by key. */
typedef struct schedule_argument {
  const char *key;  /* NULL: by position */
  const char *name; /* NULL: a number, or a list */
  int64_t number;   /* of a list: its length */
  bool is_list;
  const char *const *names; /* of a list, the one of these that it has */
  const int64_t *numbers;
} schedule_argument;

/* Lives while a primitive runs, on the stack of who calls it. */
typedef struct schedule_call {
  tn_schedule *s;
  const schedule_primitive *row;
  const char *words;  /* says what was called where there is no ROW */
  schedule_step step; /* the arguments as positions; what is recorded when the rewrite is done */
  const void *found;  /* what the check found and the rewrite needs; in memory of the context or the program */
  int n_written;      /* while names are looked up: the arguments that messages show, as they were given */
  const schedule_argument *written;
} schedule_call;

/* A row of the table. All of it is constant. */
struct schedule_primitive {
  const char *name, *word;       /* tn_<name>; in schedule text, rows without usage: by no one */
  int kind;                      /* schedule_step_kind; SCHEDULE_STEP_COUNT: composed */
  int64_t least, most;           /* another name of a step whose value is among these; 0, -1: the step itself */
  const char *mnemonic, *fields; /* NULL: no row of a step */
  const char *arguments, *keys, *usage, *about;
  /* Refuses, or is TN_OK and leaves the schedule as it was. It may complete the step. */
  tn_status (*check)(schedule_call *c);
  /* Does what was checked. False: out of memory. */
  bool (*rewrite)(schedule_call *c);
  /* Calls others on S, a copy of c->s that is taken over when all of them succeed. */
  tn_status (*compose)(tn_schedule *s, const schedule_call *c);
};

/* A number for each row, in the order of the table. */
typedef enum schedule_word {
#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about) SCHEDULE_WORD_##name,
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about) SCHEDULE_WORD_##name,
#define COMPOSED(name, word, arguments, keys, usage, about) SCHEDULE_WORD_##name,
  SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED
      SCHEDULE_WORD_COUNT
} schedule_word;
extern const schedule_primitive schedule_rows[SCHEDULE_WORD_COUNT];

#define STEP(mnemonic, name, how, fields, arguments, keys, usage, about) \
  tn_status schedule_check_##how(schedule_call *c);                      \
  bool schedule_rewrite_##how(schedule_call *c);
#define WORD(mnemonic, name, how, least, most, arguments, keys, usage, about)
#define COMPOSED(name, word, arguments, keys, usage, about) \
  tn_status schedule_compose_##name(tn_schedule *s, const schedule_call *c);
SCHEDULE_PRIMITIVES(STEP, WORD, COMPOSED)
#undef STEP
#undef WORD
#undef COMPOSED

/* ---- running (call.c) -------------------------------------------------------------------------------------------- */

/* The row of a step: the first that stands for its kind, or for its value. NULL: there is no such kind. */
const schedule_primitive *schedule_row_of(const schedule_step *step);
/* Check, rewrite, record; or compose. */
tn_status schedule_run(schedule_call *c);
/* TN_ERROR_SCHEDULE with the message `CALL: ...`. */
tn_status schedule_refuse(const schedule_call *c, const char *fmt, ...) TN_PRINTF(2, 3);
/* A warning, `CALL...`: FMT begins with the space or the colon. */
void schedule_warn(const schedule_call *c, const char *fmt, ...) TN_PRINTF(2, 3);
tn_status schedule_no_memory(const tn_schedule *s);

/* ---- by names and numbers (arguments.c) -------------------------------------------------------------------------- */

/* Looks the arguments up and runs. S NULL: TN_ERROR_ARGUMENT. */
tn_status schedule_call_words(tn_schedule *s, const schedule_primitive *row, int n, const schedule_argument *args);
/* The same up to the check: what the call would answer. */
tn_status schedule_try_words(tn_schedule *s, const schedule_primitive *row, int n, const schedule_argument *args);
/* Whether arguments of a text are names and numbers where the row wants them, keys behind them. */
bool schedule_fits(const schedule_primitive *row, int n, const schedule_argument *args);
/* What stands at position AT in a text: 'n' a name, '#' a number, 'c' a condition, '*' and '+' more of the first two, 0
 * nothing. */
char schedule_form_at(const schedule_primitive *row, int at);
/* The letters of a row as schedule text, C or a message's beginning shows them. */
typedef enum schedule_style { SCHEDULE_AS_TEXT, SCHEDULE_AS_C, SCHEDULE_IN_MESSAGE } schedule_style;
void schedule_add_step(const tn_schedule *s, const schedule_primitive *row, const schedule_step *step,
                       schedule_style style, runtime_str *out);

/* NULL counts as a name that nothing has, so that the refusal lists what there is. */
static inline schedule_argument schedule_name(const char *name) {
  return (schedule_argument){.name = name ? name : ""};
}
static inline schedule_argument schedule_number(int64_t number) { return (schedule_argument){.number = number}; }
/* NAMES is kept by address until the call returns. */
static inline schedule_argument schedule_names(int n, const char *const *names) {
  return (schedule_argument){.is_list = true, .number = n, .names = names};
}
/* Checked by the primitive: a C enum may hold anything. */
static inline schedule_argument schedule_tail(tn_tail tail) {
  return (schedule_argument){.key = "tail", .number = (int64_t)tail};
}
/* SCHEDULE_CALL(s, unroll, schedule_name(stage), schedule_name(axis)) */
#define SCHEDULE_CALL(s, word, ...) SCHEDULE_WITH(schedule_call_words, s, word, __VA_ARGS__)
#define SCHEDULE_WITH(run, s, word, ...)                                             \
  run((s), &schedule_rows[SCHEDULE_WORD_##word],                                     \
      (int)(sizeof((schedule_argument[]){__VA_ARGS__}) / sizeof(schedule_argument)), \
      (schedule_argument[]){__VA_ARGS__})

#endif
