/* Rows F6 and F7: answers over HTTP, the page with all views. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profile/profiler_analysis.h"
#include "tests/profiler/files.h"

/* ---- F6 ---------------------------------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

ROW(f6_rest) {
  (void)state;
  char path[256], timeline[256];
  tn_context *ctx = check_context();
  tn_recording *r = files_rich();
  static const char *const query =
      "{\"type\": \"op_type\", \"sort_condition\": {\"name\": \"total_ns\"}, \"group_condition\": {\"limit\": 3}}";
  const tn_server_options options = {.query = tn_recording_query};
  tn_server *server = tn_server_new(ctx, r, &options);
  check_ok(ctx);
  assert_in_range(tn_server_port(server), 1, 65535);
  char *message = NULL, *right = tn_recording_query(r, query, &message);
  assert_non_null(right);
  check_has(right, "\"size\"");
  write_text(files_path(path, "answer"), right);
  char *text = files_run(0, FILES_CHECK "restchk.py %d '%s' %s %s 2>&1", tn_server_port(server), query, path,
                         files_path(timeline, "timeline.json"));
  check_text(text, "ok\n");
  free(text);
  text = files_run(0, FILES_CHECK "jsonchk.py %s", timeline);
  check_has(text, "X=8 ");
  free(text);
  free(right);
  tn_server_free(server);
  tn_recording_free(r);
  check_context_free(ctx);
}

static const struct refusal {
  tn_server_options options;
  const char *why;
} refusals[] = {
    {{.address = "0.0.0.0"}, "'0.0.0.0' is no loopback address"},
    {{.address = "192.168.1.1"}, "'192.168.1.1' is no loopback address"},
    {{.address = "::"}, "'::' is no loopback address"},
    {{.address = "example.org"}, "'example.org' is no loopback address"},
    {{.address = ""}, "'' is no loopback address"},
    {{.port = -1}, "there is no port -1"},
    {{.port = 65536}, "there is no port 65536"},
};

ROW(f6_only_this_machine) {
  (void)state;
  tn_context *ctx = check_context();
  tn_recording *r = files_rich();
  for (int i = 0; i < RUNTIME_COUNT(refusals); ++i) {
    assert_null(tn_server_new(ctx, r, &refusals[i].options));
    check_fails(ctx, TN_ERROR_ARGUMENT, refusals[i].why);
  }
  assert_null(tn_server_new(ctx, NULL, NULL));
  check_fails(ctx, TN_ERROR_ARGUMENT, "there is no recording to serve");
  tn_server *first = tn_server_new(ctx, r, NULL);
  const tn_server_options same = {.address = "127.0.0.1", .port = tn_server_port(first)};
  assert_null(tn_server_new(ctx, r, &same));
  check_fails(ctx, TN_ERROR_IO, "127.0.0.1", "cannot listen");
  tn_server_free(first);
  tn_recording_free(r);
  check_context_free(ctx);
}

static int connect_to(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_true(fd >= 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

/* Seconds until a request is answered. */
static double seconds_of_request(int port) {
  static const char request[] = "GET /report HTTP/1.0\r\nHost: localhost\r\n\r\n";
  char answer[16] = "";
  uint64_t start_ns = runtime_now_ns();
  int fd = connect_to(port);
  assert_int_equal(write(fd, request, sizeof request - 1), sizeof request - 1);
  ssize_t n = read(fd, answer, sizeof answer - 1);
  close(fd);
  assert_true(n > 0);
  check_has(answer, " 200 ");
  return (double)(runtime_now_ns() - start_ns) * 1e-9;
}

/* Connections that send nothing, or half a header, do not keep others out. */
ROW(f6_idle_connections) {
  (void)state;
  enum { IDLE = 700 };
  tn_recording *r = files_rich();
  tn_server *server = tn_server_new(NULL, r, NULL);
  int idle[IDLE], port = tn_server_port(server);
  for (int i = 0; i < IDLE; ++i) {
    idle[i] = connect_to(port);
    if (i % 2) assert_int_equal(write(idle[i], "GET / HT", 8), 8);
  }
  double seconds = seconds_of_request(port);
  if (seconds > 15) fail_msg("%d idle connections: an answer after %.1f s", IDLE, seconds);
  for (int i = 0; i < IDLE; ++i) close(idle[i]);
  tn_server_free(server);
  tn_recording_free(r);
}

/* A recording listens to nothing unless it is told to. */
ROW(f6_off_by_default) {
  (void)state;
  tn_recording *r = rows_tree();
  char *sockets = files_run(0, "ls -l /proc/%d/fd | grep -c socket: || true", (int)getpid());
  check_text(sockets, "0\n");
  free(sockets);
  tn_recording_free(r);
}

/* ---- F7 ---------------------------------------------------------------------------------------------------------- */

ROW(f7_one_page) {
  (void)state;
  tn_context *ctx = check_context();
  tn_recording *r = files_rich();
  char *page = tn_recording_write(ctx, r, TN_FORM_HTML, NULL);
  check_ok(ctx);
  static const char *const parts[] = {
      "Time (min)", "Self CPU",    "Ratio.",         "Round trace",           "Suggestions",
      "<svg ",      "best_gflops", "const data = {", "3 events were dropped", "</html>"};
  for (int i = 0; i < RUNTIME_COUNT(parts); ++i) check_has(page, parts[i]);
  static const char *const never[] = {"http:", "https:", "src=", "@import", "url(", "<link"};
  for (int i = 0; i < RUNTIME_COUNT(never); ++i) check_has_not(page, never[i]);
  free(page);
  tn_recording_free(r);
  check_context_free(ctx);
}

/* Names are text, whatever they say. */
ROW(f7_names_are_no_markup) {
  (void)state;
  static const char *const name = "</script><b onclick=\"x\">&amp;";
  tn_recording *r = profiler_recording_new();
  const tn_process process = {.name = name, .host = "", .pid = 1, .node_id = -1};
  const tn_lane lane = {.name = name, .tid = 1};
  profiler_add_process(r, &process);
  profiler_add_lane(r, &lane);
  profiler_add_event(r, 0, TN_EVENT_SCOPE, name)->duration_ns = 5;
  profiler_add_event(r, 0, TN_EVENT_COUNTER, name)->value = 5;
  assert_true(profiler_recording_finish(r));
  char *page = tn_recording_write(NULL, r, TN_FORM_HTML, NULL);
  check_has_not(page, "<b ");
  check_has(page, "\\u003c/script>");
  check_has(page, "&lt;/script&gt;&lt;b onclick=");
  free(page);
  tn_recording_free(r);
}
