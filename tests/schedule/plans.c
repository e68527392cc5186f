/* Plans: their text form and what it refuses, the ranking, and that each plan of each family makes the schedule that it
 * says or is refused. */
#include <math.h>

#include "schedule/cost.h"
#include "schedule/plan.h"
#include "tests/schedule/tests.h"

enum { RANKED = 32 };

typedef struct plan_case {
  const char *name, *program, *stage, *family; /* what the best plan of the stage is of */
} plan_case;

#define MM(m, n, k) "C[i<" m ", j<" n "] = sum[k<" k "](A[i,k] * B[k,j])"

#define SWEEP(name, rows, columns, of) \
  name "[y<" rows ", x<" columns "] = (" of "[y,x+1] + " of "[y+2,x+1] + " of "[y+1,x] + " of "[y+1,x+2]) * 0.25\n"

static const plan_case cases[] = {
    {"product", MM("512", "512", "512"), "C", "tile"},
    {"product of odd sizes", MM("257", "63", "131"), "C", "tile"},
    {"product of bytes", "input A: u8[64,64], B: i8[64,64]\nC[i<64, j<64] = sum[k<64](i32(A[i,k]) * i32(B[k,j]))", "C",
     "tile"},
    {"transposed operand", "C[i<128, j<500] = sum[k<300](A[i,k] * B[j,k])", "C", "tile"},
    {"transpose", "B[i<512, j<512] = A[j,i]", "B", "move"},
    {"transpose of odd sizes", "B[i<37, j<1000] = A[j,i] * 2", "B", "move"},
    {"addition", "C[i<100, j<100] = A[i,j] + B[i,j]", "C", "points"},
    {"row sums", "B[i<1000] = sum[k<1000](A[i,k])", "B", "reduce"},
    {"sum of everything", "S = sum[k<1000000](A[k])", "S", "reduce"},
    {"filters of rows and columns",
     "R[y<100, x<108] = sum[k<9](I[y+k,x] * K[k])\nO[y<100, x<100] = sum[k<9](R[y,x+k] * K[k])", "O", "strip"},
    {"sweeps", SWEEP("A", "104", "104", "I") SWEEP("B", "102", "102", "A") SWEEP("C", "100", "100", "B"), "C", "strip"},
    {"a color from a gray",
     "G[y<33, x<70] = I[0,y,x] + I[1,y,x] + I[2,y,x]\nB[y<31, x<70] = G[y,x] + G[y+1,x] + G[y+2,x]\n"
     "O[c<3, y<31, x<70] = B[y,x] * I[c,y+1,x]",
     "O", "strip"},
};

static const tn_machine machine = {.threads = 2,
                                   .vector_bytes = 64,
                                   .vector_registers = 32,
                                   .cache_bytes = {0, 48 << 10, 1 << 20, 32 << 20},
                                   .cache_ways = {0, 12, 16},
                                   .dot_i8_lanes = 16,
                                   .dot_bf16_lanes = 16};

/* One group and its plans. The draft's arena has to be freed. */
typedef struct planning {
  generic_draft draft;
  generic_group group;
  plan_choices choices;
  int n;
  schedule_plan plans[RANKED];
} planning;

/* What a stage by itself is to the families. */
static void plan_alone(const fixture *f, int at, planning *out) {
  bool window, channel;
  generic_reads r;
  out->group = (generic_group){.root = f->s->stages[at].tensors};
  for (int a = 0; a < out->group.root->ndim; a++) out->group.is_common[a] = true;
  assert_true(generic_read_all(&out->draft, at, &r));
  out->group.ns = generic_cost_ns(&out->draft, &r);
  if (generic_is_tileable(&out->draft, at, &window, &channel)) out->group.anchor = out->group.root;
}

static void plan_stage(const fixture *f, const char *stage, runtime_arena *arena, planning *out) {
  int at = schedule_find_stage(f->s, stage);
  *out = (planning){.draft = {.s = f->s, .machine = cost_fill_machine(&machine), .arena = arena}};
  if (!generic_form_strip(&out->draft, at, NULL, &out->group)) plan_alone(f, at, out);
  schedule_plan_choices(&out->draft, &out->group, NULL, &out->choices);
  out->n = schedule_plan_rank(&out->choices, RANKED, out->plans);
}

static void best_family(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning p;
  plan_stage(&f, c->stage, &arena, &p);
  assert_true(p.n > 0);
  assert_string_equal(schedule_family_at(p.plans[0].family)->name, c->family);
  for (int i = 1; i < p.n; i++) assert_true(p.plans[i - 1].ns <= p.plans[i].ns);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

static void ranks_the_same(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning a, b;
  plan_stage(&f, c->stage, &arena, &a);
  plan_stage(&f, c->stage, &arena, &b);
  assert_int_equal(a.n, b.n);
  for (int i = 0; i < a.n; i++) assert_memory_equal(a.plans[i].value, b.plans[i].value, sizeof a.plans[i].value);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* Every ranked plan is realized, and different plans make different schedules. */
static void all_realize(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0}, lowered = {0};
  planning p;
  int realized = 0;
  plan_stage(&f, c->stage, &arena, &p);
  for (int i = 0; i < p.n; i++) {
    generic_draft draft = p.draft;
    draft.s = tn_schedule_copy(f.s);
    if (schedule_plan_realize(&draft, &p.group, &p.choices, &p.plans[i])) {
      assert_non_null(schedule_lower(draft.s, "kernel", &lowered));
      realized++;
    }
    tn_context_clear(f.ctx);
    tn_schedule_free(draft.s);
    runtime_arena_reset(&lowered);
  }
  assert_in_range(realized, p.n * 3 / 4, p.n);
  runtime_arena_free(&lowered);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

static void json_and_back(void **state) {
  const plan_case *c = *state;
  fixture f = fixture_new(c->program, "");
  runtime_arena arena = {0};
  planning p;
  schedule_plan back;
  plan_stage(&f, c->stage, &arena, &p);
  json_t *json = schedule_plan_json(c->stage, &p.plans[0]);
  assert_string_equal(json_string_value(json_object_get(json, "stage")), c->stage);
  assert_int_equal(schedule_plan_decode(f.ctx, json, &back), TN_OK);
  assert_int_equal(back.family, p.plans[0].family);
  assert_memory_equal(back.value, p.plans[0].value, sizeof back.value);
  json_decref(json);
  runtime_arena_free(&arena);
  fixture_free(&f);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

typedef struct refusal {
  const char *name, *json, *message;
} refusal;

static const refusal refusals[] = {
    {"no family", "{}", "plan: \"family\" names none: it is missing"},
    {"another family", "{\"family\": \"tiles\"}", "plan: \"family\" names none: tiles"},
    {"a field is missing", "{\"family\": \"points\", \"vectors\": 4}",
     "plan: \"threads\" of family points has to be a whole number"},
    {"a field is no number", "{\"family\": \"points\", \"vectors\": \"four\", \"threads\": 0}",
     "plan: \"vectors\" of family points has to be a whole number"},
    {"a field is too large", "{\"family\": \"points\", \"vectors\": 4000000000, \"threads\": 0}",
     "plan: \"vectors\" of family points has to be a whole number"},
};

static void json_refused(void **state) {
  const refusal *r = *state;
  fixture f = fixture_new(MM("8", "8", "8"), "");
  schedule_plan plan;
  json_t *json = json_loads(r->json, 0, NULL);
  assert_non_null(json);
  assert_int_equal(schedule_plan_decode(f.ctx, json, &plan), TN_ERROR_RECORD);
  assert_string_equal(tn_context_message(f.ctx), r->message);
  tn_context_clear(f.ctx);
  json_decref(json);
  fixture_free(&f);
}

int test_plans(void) {
  return CHECK_TABLE("the best plan's family", cases, best_family) +
         CHECK_TABLE("plans rank the same again", cases, ranks_the_same) +
         CHECK_TABLE("plans realize", cases, all_realize) + CHECK_TABLE("plans as JSON", cases, json_and_back) +
         CHECK_TABLE("plans refused", refusals, json_refused);
}
