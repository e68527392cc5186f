/* records.c: the targets record, message (the bytes between tuner and worker) and request (what a worker is asked). */
#include <fcntl.h>
#include <unistd.h>

#include "autotune/internal.h"
#include "autotune/worker.h"
#include "tests/inputs/inputs.h"

static const char program[] = "input A: i32[6,7], B: i32[7,5]\nC[i<6, j<5] = sum[k<7](A[i,k] * B[k,j])";
static const char *const steps[] = {"[]", "[[\"SP\",2,0,[2],1],[\"RE\",2,[0,2,1,3]],[\"AN\",2,0,1]]",
                                    "[[\"AN\",2,1,3],[\"PR\",2,0,\"auto_unroll_max_step$16\"]]"};

/* ---- records ----------------------------------------------------------------------------------------------------- */

void inputs_seed_record(inputs_corpus *corpus) {
  tn_context *ctx = tn_context_new(NULL);
  tn_program *p = tn_program_parse(ctx, program, 0, NULL);
  tn_target *target = tn_target_new(ctx, "threads=2");
  for (int i = 0; p && target && i < 2 * RUNTIME_COUNT(steps); i++) {
    tn_candidate candidate = {
        .program = tn_program_text(p), .steps = steps[i / 2], .target = tn_target_text(target), .seed = 42};
    tn_measurement fine = {
        .n_costs = 1, .costs = {1e-3}, .checked = true, .max_error = 1e-6, .build_s = 0.5, .run_s = 0.25};
    tn_measurement bad = {.error = TN_MEASURE_COMPILE, .message = (char *)"it did not compile"};
    autotune_record record = {0};
    if (autotune_record_make(ctx, &candidate, p, target, i % 2 ? &bad : &fine, &record) != TN_OK) continue;
    char *line = json_dumps(record.json, JSON_COMPACT);
    inputs_add_text(corpus, line);
    free(line);
    autotune_record_free(&record);
  }
  tn_context_free(ctx);
}

/* What a log's user does with a line: parse it, then its program, then its steps. */
static void use_record(tn_context *ctx, const autotune_record *record) {
  tn_program *p = record->program ? tn_program_parse(ctx, record->program, 0, NULL) : NULL;
  tn_schedule *s = p ? tn_schedule_new(p) : NULL;
  char *text = s && record->steps ? json_dumps(record->steps, JSON_COMPACT) : NULL;
  runtime_arena arena = {0};
  if (text && tn_schedule_replay(s, text) == TN_OK) schedule_lower_and_optimize(s, "kernel", &arena);
  (void)tn_target_new(ctx, record->target ? record->target : "");
  (void)autotune_record_cost(record);
  runtime_arena_free(&arena);
  free(text);
}

void inputs_one_record(const uint8_t *data, size_t n) {
  json_error_t error;
  char why[300] = "";
  json_t *json = json_loadb((const char *)data, n, JSON_REJECT_DUPLICATES, &error);
  autotune_record record;
  if (!json) return;
  if (!autotune_record_parse(json, &record, why, sizeof why)) {
    if (!*why) inputs_broken("refused without a word");
    return;
  }
  tn_context *ctx = tn_context_new(NULL);
  use_record(ctx, &record);
  tn_context_free(ctx);
  autotune_record_free(&record);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static json_t *request_header(const char *type, const char *with_steps) {
  return json_pack("{s:s, s:i, s:s, s:s, s:o, s:i, s:f, s:i}", "type", type, "id", 7, "program", program, "target",
                   "threads=2", "steps", json_string(with_steps), "seed", 42, "timeout_s", 5.0, "memory_bytes",
                   1 << 30);
}

static void add_message(inputs_corpus *corpus, json_t *header, const char *payload) {
  runtime_str out = {0};
  if (protocol_encode(header, payload, strlen(payload), &out)) inputs_add(corpus, out.data, out.n);
  runtime_str_free(&out);
  json_decref(header);
}

void inputs_seed_message(inputs_corpus *corpus) {
  add_message(corpus, request_header("hello", "[]"), "");
  add_message(corpus, request_header("build", steps[1]), "");
  add_message(corpus, request_header("run", steps[2]), "object code");
  add_message(corpus,
              json_pack("{s:s, s:b, s:f, s:[f,f], s:[f,f,f], s:i}", "error", "none", "checked", 1, "max_error", 1e-6,
                        "phase_s", 0.1, 0.2, "costs", 1e-3, 1.1e-3, 1.2e-3, "id", 7),
              "events");
}

/* Bytes in pieces of any size, as sockets give them. */
void inputs_one_message(const uint8_t *data, size_t n) {
  protocol_decoder decoder = {0};
  runtime_rng rng = {runtime_hash(data, n, 3)};
  protocol_result result = PROTOCOL_MORE;
  for (size_t at = 0; at < n && result != PROTOCOL_BROKEN;) {
    size_t wanted = RUNTIME_MIN(protocol_wanted(&decoder), n - at);
    size_t piece = runtime_random_below(&rng, 3) ? wanted : 1 + (size_t)runtime_random_below(&rng, (int64_t)wanted);
    protocol_message message;
    result = protocol_decode(&decoder, data + at, RUNTIME_MIN(piece, wanted), &message);
    at += RUNTIME_MIN(piece, wanted);
    if (result != PROTOCOL_DONE) continue;
    (void)protocol_text(message.header, "type", "");
    (void)protocol_number(message.header, "timeout_s", 0);
    (void)protocol_int(message.header, "id", 0);
    protocol_message_free(&message);
  }
  if (result == PROTOCOL_BROKEN && !decoder.why[0]) inputs_broken("broken without a word");
  protocol_decoder_free(&decoder);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void inputs_seed_request(inputs_corpus *corpus) {
  for (int i = 0; i < RUNTIME_COUNT(steps); i++) {
    json_t *header = request_header("build", steps[i]);
    char *text = json_dumps(header, JSON_COMPACT);
    inputs_add_text(corpus, text);
    free(text);
    json_decref(header);
  }
}

/* A header that the worker builds, or refuses with a class and a message. */
void inputs_one_request(const uint8_t *data, size_t n) {
  json_error_t error;
  json_t *header = json_loadb((const char *)data, n, 0, &error);
  if (!json_is_object(header)) {
    json_decref(header);
    return;
  }
  worker w = {.in_fd = -1, .out_fd = -1};
  worker_answer answer = {.lap_ns = runtime_now_ns()};
  worker_build(&w, &(protocol_message){.header = header}, &answer);
  if (answer.error != TN_MEASURE_NONE && !answer.message.data) inputs_broken("refused without a message");
  if (answer.error == TN_MEASURE_NONE && !answer.object.data) inputs_broken("built nothing");
  runtime_str_free(&answer.message);
  free(answer.object.data);
  for (int i = 0; i < RUNTIME_COUNT(w.programs); i++) worker_program_free(&w.programs[i]);
  json_decref(header);
}
