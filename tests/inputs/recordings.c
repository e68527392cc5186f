/* recordings.c: the targets chrome, tnprof, xspace, buffers, query and http. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profile/profiler_analysis.h"
#include "profile/profiler_files.h"
#include "tests/inputs/inputs.h"

static const char trace[] =
    "{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
    "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"tenon\"}},"
    "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"worker\"}},"
    "{\"name\":\"lower\",\"cat\":\"compile\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1.5,\"dur\":20.25,\"args\":{\"n\":"
    "3,\"s\":\"x\"}},"
    "{\"name\":\"a\",\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":2},{\"name\":\"a\",\"ph\":\"E\",\"pid\":1,\"tid\":2,"
    "\"ts\":9},"
    "{\"name\":\"mark\",\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":1,\"ts\":4},"
    "{\"name\":\"memory\",\"ph\":\"C\",\"pid\":1,\"tid\":1,\"ts\":5,\"args\":{\"bytes\":4096}},"
    "{\"name\":\"f\",\"ph\":\"s\",\"id\":5,\"pid\":1,\"tid\":1,\"ts\":6},{\"name\":\"f\",\"ph\":\"f\",\"bp\":\"e\","
    "\"id\":5,\"pid\":1,\"tid\":2,\"ts\":8},"
    "{\"name\":\"r\",\"cat\":\"c\",\"ph\":\"b\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":1},{\"name\":\"r\",\"cat\":"
    "\"c\",\"ph\":\"e\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":7}]}";

static void seed(inputs_corpus *corpus, tn_profile_form form) {
  tn_context *ctx = tn_context_new(NULL);
  tn_recording *recording = tn_recording_read(ctx, trace, sizeof trace - 1);
  size_t n = 0;
  char *bytes = recording ? tn_recording_write(ctx, recording, form, &n) : NULL;
  if (bytes) inputs_add(corpus, bytes, n);
  free(bytes);
  tn_recording_free(recording);
  tn_context_free(ctx);
}

void inputs_seed_chrome(inputs_corpus *corpus) {
  inputs_add_text(corpus, trace);
  inputs_add_text(corpus, strchr(trace, '['));
  seed(corpus, TN_FORM_CHROME);
}
void inputs_seed_tnprof(inputs_corpus *corpus) { seed(corpus, TN_FORM_BINARY); }
void inputs_seed_xspace(inputs_corpus *corpus) { seed(corpus, TN_FORM_XSPACE); }

/* An XSpace of nothing is an empty file, which nobody reads back. */
static bool reads_back(const tn_recording *recording, tn_profile_form form) {
  static const bool is_read[] = {
#define X(name, suffix, read, words) read,
      TN_PROFILE_FORMS(X)
#undef X
  };
  int64_t n;
  tn_recording_events(recording, &n);
  return is_read[form] && (form != TN_FORM_XSPACE || n > 0);
}

/* Everything that is made of a recording, one thing an input; what is written in a form that can be read is read. */
static void use(tn_context *ctx, tn_recording *recording, uint64_t hash) {
  size_t n = 0;
  tn_profile_form form = (tn_profile_form)(hash % TN_FORM_COUNT);
  if (hash % 3 == 0) free(tn_recording_table(recording));
  char *bytes = tn_recording_write(ctx, recording, form, &n);
  if (!bytes && tn_context_status(ctx) == TN_OK) inputs_broken("form %d: not written, without a message", (int)form);
  tn_recording *again = bytes && reads_back(recording, form) ? tn_recording_read(ctx, bytes, n) : NULL;
  if (bytes && reads_back(recording, form) && !again)
    inputs_broken("form %d: what was written is refused: %s", (int)form, tn_context_message(ctx));
  tn_recording_free(again);
  free(bytes);
}

static void one(const uint8_t *data, size_t n) {
  tn_context *ctx = tn_context_new(NULL);
  tn_recording *recording = tn_recording_read(ctx, data, n);
  if (!recording && tn_context_status(ctx) == TN_OK) inputs_broken("refused without a message");
  if (recording) use(ctx, recording, runtime_hash(data, n, 4));
  tn_recording_free(recording);
  tn_context_free(ctx);
}

void inputs_one_chrome(const uint8_t *data, size_t n) { one(data, n); }
void inputs_one_tnprof(const uint8_t *data, size_t n) { one(data, n); }
void inputs_one_xspace(const uint8_t *data, size_t n) { one(data, n); }

/* ---- the buffers' file of a process that was killed -------------------------------------------------------------- */

/* Most of such a file is empty. An input is the file's length and its pages that are not, each behind its number, so that
 * changes meet what counts. */
enum { PAGE = 256, MOST_FILE = 8 << 20 };

static void record_something(void) {
  for (int i = 0; i < 20; i++) {
    TN_SCOPE(COMPILE, 1, "lower");
    TN_SCOPE(COMPILE, 1, "a pass");
  }
}

static void pack(const char *bytes, size_t n, runtime_str *out) {
  static const char empty[PAGE];
  uint32_t length = (uint32_t)n;
  runtime_str_addn(out, (const char *)&length, sizeof length);
  for (uint32_t page = 0; (size_t)(page + 1) * PAGE <= n; page++) {
    const char *at = bytes + (size_t)page * PAGE;
    if (memcmp(at, empty, PAGE) == 0) continue;
    runtime_str_addn(out, (const char *)&page, sizeof page);
    runtime_str_addn(out, at, PAGE);
  }
}

/* Writes the file that DATA stands for. */
static bool unpack(int fd, const uint8_t *data, size_t n) {
  uint32_t length = 0, page;
  if (n >= sizeof length) memcpy(&length, data, sizeof length);
  length %= MOST_FILE;
  bool ok = ftruncate(fd, 0) == 0 && ftruncate(fd, length) == 0;
  for (size_t at = sizeof length; ok && at + sizeof page < n; at += sizeof page + PAGE) {
    memcpy(&page, data + at, sizeof page);
    size_t left = RUNTIME_MIN(n - at - sizeof page, (size_t)PAGE);
    off_t to = (off_t)page * PAGE;
    if (to + (off_t)left <= (off_t)length) ok = pwrite(fd, data + at + sizeof page, left, to) == (ssize_t)left;
  }
  return ok;
}

void inputs_seed_buffers(inputs_corpus *corpus) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/tenon-inputs-%ld", (long)getpid());
  tn_context *ctx = tn_context_new(NULL);
  tn_profile_options options = {.max_bytes = 1 << 16, .file = path, .level = 3};
  if (tn_profile_start(ctx, &options) == TN_OK) {
    record_something();
    size_t n = 0;
    char *bytes = runtime_read_file(ctx, path, &n);
    runtime_str packed = {0};
    if (bytes) pack(bytes, n, &packed);
    if (packed.n) inputs_add(corpus, packed.data, packed.n);
    runtime_str_free(&packed);
    free(bytes);
    tn_profile_stop(ctx);
    tn_recording_free(tn_profile_collect(ctx));
  }
  unlink(path);
  tn_context_free(ctx);
}

void inputs_one_buffers(const uint8_t *data, size_t n) {
  static int fd = -1; /* of the process */
  char path[64];
  if (fd < 0) fd = memfd_create("buffers", MFD_CLOEXEC);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  tn_context *ctx = tn_context_new(NULL);
  tn_recording *recording = unpack(fd, data, n) ? tn_recording_recover(ctx, path) : NULL;
  if (recording) use(ctx, recording, runtime_hash(data, n, 5));
  tn_recording_free(recording);
  tn_context_free(ctx);
}

/* ---- queries ----------------------------------------------------------------------------------------------------- */

static const char *const queries[] = {
    "{\"type\": \"types\"}",
    "{\"type\": \"op_type\"}",
    "{\"type\": \"op\", \"filter\": {\"name\": {\"in\": [\"lower\"]}}, \"sort\": {\"name\": \"total\", \"type\": "
    "\"descending\"}, "
    "\"group\": {\"limit\": 10, \"offset\": 0}}",
};

void inputs_seed_query(inputs_corpus *corpus) {
  for (int i = 0; i < RUNTIME_COUNT(queries); i++) inputs_add_text(corpus, queries[i]);
}

void inputs_one_query(const uint8_t *data, size_t n) {
  char *text = inputs_text(data, n), *message = NULL;
  tn_context *ctx = tn_context_new(NULL);
  tn_recording *recording = tn_recording_read(ctx, trace, sizeof trace - 1);
  char *answer = tn_recording_query(recording, text, &message);
  if (!answer && !message) inputs_broken("no answer and no message");
  free(answer);
  free(message);
  tn_recording_free(recording);
  tn_context_free(ctx);
  free(text);
}

/* ---- HTTP -------------------------------------------------------------------------------------------------------- */

void inputs_seed_http(inputs_corpus *corpus) {
  inputs_add_text(corpus, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  inputs_add_text(corpus, "GET /timeline HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n");
  inputs_add_text(corpus, "HEAD /report HTTP/1.0\r\n\r\n");
  inputs_add_text(corpus,
                  "POST /ops/search HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 17\r\nConnection: close\r\n\r\n"
                  "{\"type\": \"types\"}");
  inputs_add_text(
      corpus,
      "POST /ops/search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "11\r\n{\"type\": \"types\"}\r\n0\r\n\r\n");
}

/* One server a process, which ends with it. */
static int server_port(void) {
  static tn_server *server;
  static tn_recording *recording;
  if (!server) {
    recording = tn_recording_read(NULL, trace, sizeof trace - 1);
    server = tn_server_new(NULL, recording, &(tn_server_options){.query = tn_recording_query});
    if (!server) inputs_broken("the server does not start");
  }
  return tn_server_port(server);
}

/* Sends all, and reads until the server closes, or has said nothing for a millisecond: it waits for more, or works. */
void inputs_one_http(const uint8_t *data, size_t n) {
  struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)server_port()), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char block[4096];
  struct timeval wait = {.tv_usec = 1000};
  bool open = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0 &&
              connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
  if (!open) inputs_broken("the server does not take a connection");
  for (ssize_t sent; open && n > 0 && (sent = send(fd, data, n, MSG_NOSIGNAL)) > 0;) data += sent, n -= (size_t)sent;
  shutdown(fd, SHUT_WR);
  while (read(fd, block, sizeof block) > 0) continue;
  close(fd);
}
