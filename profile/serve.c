/* serve.c: answers about a recording over HTTP, on this machine only. The address must be a loopback address, and so
 * must the host that a request names, since a foreign page could make its own name resolve to this machine (DNS
 * rebinding). libmicrohttpd handles HTTP on one thread; a page is made when it is first requested.
 *
 * The server owns its pages. A `request` is owned by its connection, from the first call of on_request to on_end. */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <strings.h>

#include "profile/files.h"
#include "profile/profiler_analysis.h"

/* A connection that is idle for IDLE_S seconds is closed; browsers simply open another. So nobody waits
 * longer than that for one of MOST_CONNECTIONS. */
enum { MOST_BODY = 64 << 10, MOST_CONNECTIONS = 256, IDLE_S = 3 };

/* X(NAME, "path", form, "content type") */
/* clang-format off */
#define PAGES(X)                                                          \
  X(HTML, "/", TN_FORM_HTML, "text/html; charset=utf-8")                  \
  X(TIMELINE, "/timeline", TN_FORM_CHROME, "application/json")            \
  X(REPORT, "/report", TN_FORM_REPORT, "application/json")
/* clang-format on */
enum {
#define X(name, path, form, type) PAGE_##name,
  PAGES(X)
#undef X
      PAGE_COUNT
};
/* What the server answers apart from queries. */
static const struct page {
  const char *path;
  tn_profile_form form;
  const char *type;
} pages[PAGE_COUNT] = {
#define X(name, path, form, type) [PAGE_##name] = {path, form, type},
    PAGES(X)
#undef X
};
#define SEARCH_PATH "/ops/search"
/* Paths of the suggestions; the second is MindSpore's. */
static const char *const advice_paths[] = {"/advise", "/summary/propose"};

/* A server on a thread of its own. The recording is only read, and must outlive the server. */
struct tn_server {
  struct MHD_Daemon *daemon;
  const tn_recording *recording;
  char *(*query)(const tn_recording *recording, const char *request, char **message);
  int port;
  struct MHD_Response *pages[PAGE_COUNT]; /* NULL until first requested; only the server's thread uses them */
};

/* What has arrived of a request's body. */
typedef struct request {
  runtime_str body;
  bool is_too_large;
} request;

typedef enum MHD_Result result;

/* ---- answering --------------------------------------------------------------------------------------------------- */

/* nosniff: a recording may hold names from anywhere, and they must not be run as a page. no-store: another
 * recording may be served on this port later. */
static void add_headers(struct MHD_Response *response, const char *type) {
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
}

/* Sends TEXT, which was malloc'ed and which it takes over. A NULL means that memory ran out. */
static result send_text(struct MHD_Connection *to, unsigned status, char *text) {
  struct MHD_Response *response =
      text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;
  if (!response) return free(text), MHD_NO;
  add_headers(response, "application/json");
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
  result done = MHD_queue_response(to, status, response);
  MHD_destroy_response(response);
  return done;
}

/* {"error": ...}: clients that ask in JSON get errors in JSON too. */
static result send_error(struct MHD_Connection *to, unsigned status, const char *message) {
  profiler_out out;
  profiler_out_memory(&out);
  PROFILER_OUT_LITERAL(&out, "{\"error\":");
  profiler_out_json(&out, message);
  PROFILER_OUT_LITERAL(&out, "}\n");
  return send_text(to, status, profiler_out_take(&out, NULL));
}

/* A page is made once and kept until the server ends. It is as large as the recording in that form. */
static result send_page(tn_server *server, struct MHD_Connection *to, int page) {
  size_t n;
  struct MHD_Response **kept = &server->pages[page];
  char *data = *kept ? NULL : tn_recording_write(NULL, server->recording, pages[page].form, &n);
  if (data) {
    *kept = MHD_create_response_from_buffer(n, data, MHD_RESPMEM_MUST_FREE);
    if (!*kept)
      free(data);
    else
      add_headers(*kept, pages[page].type);
  }
  return *kept ? MHD_queue_response(to, MHD_HTTP_OK, *kept)
               : send_error(to, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
}

/* The query runs on the server's thread, so other requests wait. */
static result answer_query(tn_server *server, struct MHD_Connection *to, const request *r) {
  char *message = NULL, *answer = NULL;
  if (!server->query) return send_error(to, MHD_HTTP_NOT_FOUND, "this server answers no queries");
  if (r->is_too_large) return send_error(to, MHD_HTTP_CONTENT_TOO_LARGE, "a query has 64 KiB at most");
  if (!r->body.failed) answer = server->query(server->recording, r->body.data ? r->body.data : "", &message);
  if (answer) return free(message), send_text(to, MHD_HTTP_OK, answer);
  result done = send_error(to, MHD_HTTP_BAD_REQUEST, message ? message : "out of memory");
  free(message);
  return done;
}

/* The advice of tn_advise about the recording, as JSON. */
static result send_advice(tn_server *server, struct MHD_Connection *to) {
  tn_analysis *a = tn_analysis_of(NULL, server->recording);
  tn_advices *advices = a ? tn_advise(NULL, a, NULL) : NULL;
  char *text = tn_advices_text(advices, true);
  tn_advices_free(advices);
  tn_analysis_free(a);
  return text ? send_text(to, MHD_HTTP_OK, text) : send_error(to, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Whether the host of "HOST:PORT" or "[HOST]:PORT" is this machine. */
static bool is_local_host(const char *text) {
  static const char *const names[] = {"localhost", "[::1]"};
  char host[64];
  size_t n = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
  if (n >= sizeof host || n > strlen(text)) return false;
  memcpy(host, text, n);
  host[n] = '\0';
  for (int i = 0; i < RUNTIME_COUNT(names); ++i) {
    if (strcasecmp(host, names[i]) == 0) return true;
  }
  struct in_addr address;
  return inet_pton(AF_INET, host, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

/* A request without a host (HTTP/1.0) is accepted. */
static bool is_for_us(struct MHD_Connection *connection) {
  const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  return !host || is_local_host(host);
}

/* The host is checked before the page, so that a foreign page learns as little as possible. */
static result answer(tn_server *server, struct MHD_Connection *to, const char *url, const char *method,
                     const request *r) {
  bool is_get = strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
  bool is_post = strcmp(method, MHD_HTTP_METHOD_POST) == 0, is_search = strcmp(url, SEARCH_PATH) == 0;
  int page = RUNTIME_FIND(pages, url);
  bool is_advice = RUNTIME_FIND(advice_paths, url) >= 0;
  if (!is_for_us(to)) return send_error(to, MHD_HTTP_FORBIDDEN, "the request names another host");
  if (page < 0 && !is_search && !is_advice) return send_error(to, MHD_HTTP_NOT_FOUND, "there is no such page");
  if (is_search ? !is_post : !is_get) return send_error(to, MHD_HTTP_METHOD_NOT_ALLOWED, "the method is wrong");
  if (is_advice) return send_advice(server, to);
  return is_search ? answer_query(server, to, r) : send_page(server, to, page);
}

/* Adds a part of a body. Anything above the limit is read and dropped. */
static void take_body(request *r, const char *data, size_t n) {
  r->is_too_large |= r->body.n + n > MOST_BODY;
  if (!r->is_too_large) runtime_str_addn(&r->body, data, n);
}

/* Called once with the header, then with each part of the body, and once more at the end. */
static result on_request(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                         const char *version, const char *data, size_t *n, void **state) {
  request *r = *state;
  (void)version;
  if (!r) {
    *state = calloc(1, sizeof *r);
    return *state ? MHD_YES : MHD_NO;
  }
  if (*n) {
    take_body(r, data, *n);
    *n = 0;
    return MHD_YES;
  }
  return answer(user, connection, url, method, r);
}

/* Called for every request that on_request began, however it ended. */
static void on_end(void *user, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why) {
  request *r = *state;
  (void)user, (void)connection, (void)why;
  if (r) runtime_str_free(&r->body);
  free(r);
  *state = NULL;
}

/* ---- the server -------------------------------------------------------------------------------------------------- */

/* Room for an address of either family. */
typedef union any_address {
  struct sockaddr generic;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} any_address;

/* Accepts a loopback address and sets the port; false for any other address. */
static bool parse_address(const char *text, int port, any_address *out) {
  *out = (any_address){0};
  if (!text || strcmp(text, "localhost") == 0) text = "127.0.0.1";
  if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return ntohl(out->v4.sin_addr.s_addr) >> 24 == 127;
  }
  if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1) return false;
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_port = htons((uint16_t)port);
  return IN6_IS_ADDR_LOOPBACK(&out->v6.sin6_addr);
}

/* With port 0 the system chooses one; server->port says which. */
static bool start(tn_server *server, const any_address *address) {
  unsigned flags =
      MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD | (address->generic.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0);
  server->daemon = MHD_start_daemon(flags, 0, NULL, NULL, on_request, server,                 //
                                    MHD_OPTION_SOCK_ADDR, &address->generic,                  //
                                    MHD_OPTION_CONNECTION_LIMIT, (unsigned)MOST_CONNECTIONS,  //
                                    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,          //
                                    MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
  const union MHD_DaemonInfo *info =
      server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
  if (info) server->port = info->port;
  return server->daemon != NULL;
}

/* False with a message if the options are invalid. */
static bool check_options(tn_context *ctx, const tn_recording *recording, const tn_server_options *o,
                          any_address *address) {
  tn_status status = TN_OK;
  if (!recording)
    status = runtime_fail(ctx, TN_ERROR_ARGUMENT, "there is no recording to serve");
  else if (o->port < 0 || o->port > UINT16_MAX)
    status = runtime_fail(ctx, TN_ERROR_ARGUMENT, "there is no port %d", o->port);
  else if (!parse_address(o->address, o->port, address))
    status = runtime_fail(ctx, TN_ERROR_ARGUMENT,
                          "'%s' is no loopback address: a recording is served on this machine only", o->address);
  return status == TN_OK;
}

/* RECORDING must outlive the server and must not change. */
tn_server *tn_server_new(tn_context *ctx, const tn_recording *recording, const tn_server_options *options) {
  const tn_server_options usual = {0}, *o = options ? options : &usual;
  any_address address = {0};
  if (!check_options(ctx, recording, o, &address)) return NULL;
  tn_server *server = calloc(1, sizeof *server);
  if (!server) return runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory"), NULL;
  server->recording = recording;
  server->query = o->query;
  if (start(server, &address)) return server;
  free(server);
  runtime_fail(ctx, TN_ERROR_IO, "%s, port %d: the server cannot listen there", o->address ? o->address : "127.0.0.1",
               o->port);
  return NULL;
}

int tn_server_port(const tn_server *server) { return server ? server->port : 0; }

void tn_server_free(tn_server *server) {
  if (!server) return;
  MHD_stop_daemon(server->daemon);
  for (int i = 0; i < PAGE_COUNT; ++i) {
    if (server->pages[i]) MHD_destroy_response(server->pages[i]);
  }
  free(server);
}
