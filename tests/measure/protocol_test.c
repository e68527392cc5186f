/* The measuring protocol: what is written is read back, whatever pieces it comes in; garbage is refused with the
 * reason. */
#include <signal.h>
#include <unistd.h>

#include "autotune/protocol.h"
#include "autotune/worker.h"
#include "tests/common/check.h"
#include "tests/measure/measure_test.h"

/* Feeds pieces of at most STEP bytes, never more than wanted. */
static protocol_result feed(protocol_decoder *d, const char *data, size_t n, size_t step, protocol_message *out) {
  protocol_result result = PROTOCOL_MORE;
  *out = (protocol_message){0};
  for (size_t at = 0, take; at < n && result == PROTOCOL_MORE; at += take) {
    take = RUNTIME_MIN(RUNTIME_MIN(step, n - at), protocol_wanted(d));
    assert_true(take > 0);
    result = protocol_decode(d, data + at, take, out);
  }
  return result;
}

static runtime_str encoded(const char *json, const char *payload, size_t bytes) {
  runtime_str out = {0};
  json_t *header = json_loads(json, 0, NULL);
  assert_true(protocol_encode(header, payload, bytes, &out));
  json_decref(header);
  return out;
}

static void round_trip(const char *json, const char *payload, size_t bytes, size_t step) {
  runtime_str text = encoded(json, payload, bytes);
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(feed(&d, text.data, text.n, step, &message), PROTOCOL_DONE);
  assert_string_equal(protocol_text(message.header, "type", ""), "x");
  assert_int_equal(message.payload_bytes, bytes);
  if (bytes) assert_memory_equal(message.payload, payload, bytes);
  assert_false(protocol_in_message(&d));
  protocol_message_free(&message);
  protocol_decoder_free(&d);
  runtime_str_free(&text);
}

static void header_only(void **state) {
  (void)state;
  round_trip("{\"type\":\"x\",\"program\":\"C[i<4] = \\u00e9\"}", NULL, 0, SIZE_MAX);
}

static void with_payload(void **state) {
  (void)state;
  round_trip("{\"type\":\"x\"}", "\0\1\2\xff object", 11, SIZE_MAX);
}

static void byte_by_byte(void **state) {
  (void)state;
  round_trip("{\"type\":\"x\"}", "\0\1\2\xff object", 11, 1);
}

static void several_in_a_row(void **state) {
  (void)state;
  runtime_str text = encoded("{\"n\":0}", "ab", 2);
  protocol_decoder d = {0};
  for (int i = 0; i < 3; ++i) {
    protocol_message message;
    assert_int_equal(feed(&d, text.data, text.n, 3, &message), PROTOCOL_DONE);
    assert_int_equal(message.payload_bytes, 2);
    protocol_message_free(&message);
  }
  protocol_decoder_free(&d);
  runtime_str_free(&text);
}

static void fields_have_defaults(void **state) {
  (void)state;
  json_t *header = json_loads("{\"a\":1,\"b\":2.5,\"c\":\"t\"}", 0, NULL);
  assert_int_equal(protocol_int(header, "a", 9), 1);
  assert_int_equal(protocol_int(header, "c", 9), 9);
  assert_true(protocol_number(header, "b", 0) == 2.5 && protocol_number(header, "a", 0) == 1);
  assert_string_equal(protocol_text(header, "c", "?"), "t");
  assert_string_equal(protocol_text(header, "b", "?"), "?");
  json_decref(header);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const struct broken_row {
  const char *name, *bytes;
  size_t n;
  const char *why;
} broken_rows[] = {
    {"no header", "\0\0\0\0", 4, "header of 0 bytes"},
    {"a header too short for an object", "\1\0\0\0", 4, "header of 1 bytes"},
    {"a header too long", "\xff\xff\xff\xff", 4, "header of 4294967295 bytes"},
    {"printed text", "hello, world", 12, "cannot have a header of"},
    {"not JSON", "\3\0\0\0{a}", 7, "is not JSON"},
    {"a JSON array", "\2\0\0\0[]", 6, "not a JSON object"},
    {"a JSON number",
     "\2\0\0\0"
     "42",
     6, "not JSON"},
    {"a key twice", "\15\0\0\0{\"a\":1,\"a\":2}", 17, "duplicate"},
    {"not UTF-8", "\11\0\0\0{\"a\":\"\xff\"}", 13, "is not JSON"},
    {"a negative payload", "\16\0\0\0{\"payload\":-1}", 18, "payload of -1 bytes"},
    {"a payload too large", "\25\0\0\0{\"payload\":999999999}", 25, "payload of 999999999 bytes"},
};

static void broken(void **state) {
  const struct broken_row *row = *state;
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(feed(&d, row->bytes, row->n, SIZE_MAX, &message), PROTOCOL_BROKEN);
  check_has(d.why, row->why);
  assert_int_equal(protocol_wanted(&d), 0);
  assert_int_equal(protocol_decode(&d, "x", 0, &message), PROTOCOL_BROKEN); /* and stays broken */
  protocol_decoder_free(&d);
}

static void lying_length_takes_no_memory(void **state) {
  (void)state;
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(feed(&d, "\0\0\xff\0{", 5, SIZE_MAX, &message), PROTOCOL_MORE);
  assert_true(protocol_wanted(&d) > 1 << 20);
  assert_true(d.cap < 1 << 20);
  protocol_decoder_free(&d);
}

static void too_many_bytes_are_refused(void **state) {
  (void)state;
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(protocol_decode(&d, "12345", 5, &message), PROTOCOL_BROKEN);
  check_has(d.why, "more bytes");
  protocol_decoder_free(&d);
}

static void too_large_is_not_encoded(void **state) {
  (void)state;
  runtime_str out = {0};
  json_t *header = json_object();
  assert_false(protocol_encode(header, "", (size_t)PROTOCOL_MAX_PAYLOAD + 1, &out));
  assert_int_equal(out.n, 0);
  json_decref(header);
}

/* Random bytes, and messages with a few bytes changed: the decoder ends every one of them in one of its three ways. */
static void fuzzed(void **state) {
  (void)state;
  runtime_rng rng = {.state = 7};
  runtime_str good = encoded("{\"type\":\"run\",\"seed\":3,\"list\":[1,2,[3]]}", "payload", 7);
  int results[3] = {0};
  for (int round = 0; round < 20000; ++round) {
    char bytes[256];
    size_t n = round % 2 ? good.n : (size_t)runtime_random_below(&rng, sizeof bytes);
    if (round % 2) memcpy(bytes, good.data, n);
    int changes = round % 2 ? (int)runtime_random_below(&rng, 4) : (int)n;
    for (int c = 0; c < changes; ++c) {
      size_t at = round % 2 ? (size_t)runtime_random_below(&rng, (int64_t)n) : (size_t)c;
      bytes[at] = (char)runtime_random_below(&rng, 256);
    }
    if (round % 4 == 0 && n >= 4) bytes[1] = bytes[2] = bytes[3] = 0; /* reach the header */
    protocol_decoder d = {0};
    protocol_message message;
    results[feed(&d, bytes, n, (size_t)runtime_random_below(&rng, 40) + 1, &message)]++;
    protocol_message_free(&message);
    protocol_decoder_free(&d);
  }
  assert_true(results[PROTOCOL_DONE] > 1000 && results[PROTOCOL_BROKEN] > 1000);
  runtime_str_free(&good);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static void reads_from_a_pipe(void **state) {
  (void)state;
  int ends[2];
  runtime_str text = encoded("{\"type\":\"x\"}", "123", 3);
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(pipe(ends), 0);
  assert_true(protocol_write(ends[1], text.data, text.n));
  assert_true(protocol_write(ends[1], text.data, 6));
  close(ends[1]);
  assert_int_equal(protocol_read(ends[0], &d, &message), PROTOCOL_READ);
  assert_int_equal(message.payload_bytes, 3);
  protocol_message_free(&message);
  assert_int_equal(protocol_read(ends[0], &d, &message), PROTOCOL_FAILED);
  check_has(d.why, "ends inside a message");
  close(ends[0]);
  protocol_decoder_free(&d);
  runtime_str_free(&text);
}

static void end_of_file_is_clean_between_messages(void **state) {
  (void)state;
  int ends[2];
  protocol_decoder d = {0};
  protocol_message message;
  assert_int_equal(pipe(ends), 0);
  close(ends[1]);
  assert_int_equal(protocol_read(ends[0], &d, &message), PROTOCOL_END);
  close(ends[0]);
  protocol_decoder_free(&d);
}

static void writing_to_nobody_fails(void **state) {
  (void)state;
  int ends[2];
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  assert_false(protocol_write(ends[1], "x", 1));
  close(ends[1]);
  signal(SIGPIPE, before);
}

/* ---- the fault switch -------------------------------------------------------------------------------------------- */

static const struct fault_row {
  const char *name;
  bool good;
} fault_rows[] = {
    {"run-crash@2", true},
    {"build-eat-memory@1", true},
    {"hello-version@1", true},
    {"prepare-disagree@12", true},
    {"run-crash", false},
    {"run-crash@0", false},
    {"run-crash@-1", false},
    {"run-crash@2x", false},
    {"walk-crash@1", false},
    {"run-dance@1", false},
    {"run@1", false},
    {"", false},
    {"run-crash@", false},
    {"crash@1", false},
    {"averyverylongrequest-crash@1", false},
};

static void fault_switch(void **state) {
  const struct fault_row *row = *state;
  worker_fault fault;
  assert_int_equal(worker_fault_parse(row->name, &fault), row->good);
}

static void fault_strikes_once(void **state) {
  (void)state;
  worker_fault fault;
  assert_true(worker_fault_parse("run-wrong@2", &fault));
  assert_int_equal(worker_fault_next(&fault, "run"), WORKER_NO_FAULT);
  assert_int_equal(worker_fault_next(&fault, "build"), WORKER_NO_FAULT);
  assert_int_equal(worker_fault_next(&fault, "run"), WORKER_WRONG);
  assert_int_equal(worker_fault_next(&fault, "run"), WORKER_NO_FAULT);
}

int protocol_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_only),
      cmocka_unit_test(with_payload),
      cmocka_unit_test(byte_by_byte),
      cmocka_unit_test(several_in_a_row),
      cmocka_unit_test(fields_have_defaults),
      cmocka_unit_test(lying_length_takes_no_memory),
      cmocka_unit_test(too_many_bytes_are_refused),
      cmocka_unit_test(too_large_is_not_encoded),
      cmocka_unit_test(fuzzed),
      cmocka_unit_test(reads_from_a_pipe),
      cmocka_unit_test(end_of_file_is_clean_between_messages),
      cmocka_unit_test(writing_to_nobody_fails),
      cmocka_unit_test(fault_strikes_once),
  };
  return CHECK_TESTS("protocol", tests) + CHECK_TABLE("broken messages", broken_rows, broken) +
         CHECK_TABLE("fault switch", fault_rows, fault_switch);
}
