/* device.c: the line to tenon-runner: a command's standard input and output, frames with checksums. What answers is data from
 * outside: whatever is no frame, torn, changed on the way, of another version or for another question is refused by name, and
 * the command is ended, so that the next candidate begins with a fresh one. */
#include "autotune/device.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Closes its input, at which it ends by itself; what hangs is killed. */
void device_close(device *d) {
  if (d->pid == 0) return;
  close(d->to);
  close(d->from);
  bool has_ended = false;
  for (int i = 0; i < 50 && !(has_ended = waitpid(d->pid, NULL, WNOHANG) != 0); i++) poll(NULL, 0, 2);
  if (!has_ended) {
    kill(d->pid, SIGKILL);
    waitpid(d->pid, NULL, 0);
  }
  d->pid = 0;
  d->about[0] = '\0';
  d->sent = 0;
}

/* Always false, with the line closed. */
static bool fail(device *d, const char *fmt, ...) TN_PRINTF(2, 3);
static bool fail(device *d, const char *fmt, ...) {
  char text[DEVICE_WHY_BYTES - 64];
  RUNTIME_PRINT_ARGS(text, fmt);
  snprintf(d->why, sizeof d->why, "the runner %s", text);
  device_close(d);
  return false;
}

/* The worker's limits are not the command's, which may be an emulator. It stays in the worker's process group, and ends with
 * it. */
static int spawn(device *d, const int theirs[2]) {
  char line[2048];
  posix_spawn_file_actions_t actions;
  int n = snprintf(line, sizeof line, "ulimit -S -v unlimited; ulimit -S -d unlimited; ulimit -S -t unlimited; exec %s",
                   d->command);
  if (n >= (int)sizeof line) return E2BIG;
  const char *const argv[] = {"/bin/sh", "-c", line, NULL};
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  posix_spawn_file_actions_adddup2(&actions, theirs[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs[1], STDOUT_FILENO);
  error = posix_spawn(&d->pid, argv[0], &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static bool start(device *d) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return fail(d, "has no pipe: %s", strerror(errno));
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]), close(in[1]);
    return fail(d, "has no pipe: %s", strerror(errno));
  }
  int error = spawn(d, (const int[]){in[0], out[1]});
  close(in[0]);
  close(out[1]);
  d->to = in[1];
  d->from = out[0];
  signal(SIGPIPE, SIG_IGN);
  if (!error) return true;
  close(d->to), close(d->from);
  d->pid = 0;
  return fail(d, "cannot be started: %s", strerror(error));
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Until the time END_NS. */
static bool wait_for(device *d, int fd, short events, uint64_t end_ns) {
  for (;;) {
    uint64_t now = runtime_now_ns();
    struct pollfd polled = {.fd = fd, .events = events};
    if (now >= end_ns) return fail(d, "does not answer");
    int n = poll(&polled, 1, (int)((end_ns - now) / 1000000) + 1);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return fail(d, "cannot be waited for: %s", strerror(errno));
  }
}

static uint64_t end_of(double timeout_s) { return runtime_now_ns() + (uint64_t)(fmin(timeout_s, 1e6) * 1e9); }

/* A serial line takes long for many bytes: the time begins anew with each piece that goes. Who reads nothing any more has perhaps
 * said why: its answer is looked at. */
static bool send_bytes(device *d, const void *data, size_t n, double timeout_s) {
  for (size_t sent = 0; sent < n;) {
    if (!wait_for(d, d->to, POLLOUT, end_of(timeout_s))) return false;
    ssize_t got = write(d->to, (const char *)data + sent, RUNTIME_MIN(n - sent, (size_t)4096));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EPIPE) return true;
    if (got <= 0) return fail(d, "takes no bytes: %s", strerror(errno));
    sent += (size_t)got;
  }
  return true;
}

static bool take_bytes(device *d, void *data, size_t n, uint64_t end_ns) {
  for (size_t have = 0; have < n;) {
    if (!wait_for(d, d->from, POLLIN, end_ns)) return false;
    ssize_t got = read(d->from, (char *)data + have, n - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 && have == 0) return fail(d, "has ended without an answer");
    if (got <= 0) return fail(d, "has ended in the middle of an answer: %zu of %zu bytes came", have, n);
    have += (size_t)got;
  }
  return true;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static device_header make_header(device_kind kind, const void *head, size_t n_head, const void *body, size_t n_body) {
  device_header h = {DEVICE_MAGIC, DEVICE_VERSION, (uint16_t)kind, (uint32_t)(n_head + n_body), 0};
  h.check = device_checksum(0, &h, offsetof(device_header, check));
  h.check = device_checksum(device_checksum(h.check, head, n_head), body, n_body);
  return h;
}

/* What answers without being a runner: its first bytes are shown. */
static bool refuse_stranger(device *d, const device_header *h) {
  char shown[sizeof *h + 1] = "";
  memcpy(shown, h, sizeof *h);
  for (size_t i = 0; i < sizeof *h; i++)
    if (shown[i] < ' ' || shown[i] > '~') shown[i] = '.';
  return fail(d, "says what is no frame: \"%s\"", shown);
}

/* PAYLOAD has room for N_MOST bytes; *N is how many came. */
static bool take_frame(device *d, device_header *h, void *payload, size_t n_most, size_t *n, uint64_t end_ns) {
  if (!take_bytes(d, h, sizeof *h, end_ns)) return false;
  if (h->magic != DEVICE_MAGIC) return refuse_stranger(d, h);
  if (h->length > n_most) return fail(d, "answers with %u bytes where %zu are the most", h->length, n_most);
  if (!take_bytes(d, payload, h->length, end_ns)) return false;
  uint32_t check = device_checksum(device_checksum(0, h, offsetof(device_header, check)), payload, h->length);
  if (h->version != DEVICE_VERSION)
    return fail(d, "speaks version %d of the protocol, not %d", h->version, DEVICE_VERSION);
  if (check != h->check) return fail(d, "answers with a wrong checksum: the line lost or changed bytes");
  *n = h->length;
  return true;
}

bool device_ask(device *d, device_kind kind, const void *head, size_t n_head, const void *body, size_t n_body,
                void *answer, size_t n_answer, double timeout_s) {
  char payload[512];
  size_t n = 0;
  device_header h = make_header(kind, head, n_head, body, n_body), reply;
  if (n_head + n_body > DEVICE_MAX_BYTES) return fail(d, "takes at most %d bytes at once", DEVICE_MAX_BYTES);
  if (!send_bytes(d, &h, sizeof h, timeout_s) || !send_bytes(d, head, n_head, timeout_s) ||
      !send_bytes(d, body, n_body, timeout_s) || !take_frame(d, &reply, payload, sizeof payload, &n, end_of(timeout_s)))
    return false;
  if (reply.kind == DEVICE_REFUSED) return fail(d, "refuses: %.*s", (int)n, payload);
  if (reply.kind != DEVICE_DONE) return fail(d, "answers with a frame of kind %d", reply.kind);
  if (kind == DEVICE_HELLO && n <= n_answer) {
    memset(answer, 0, n_answer);
    memcpy(answer, payload, n);
    return true;
  }
  if (n != n_answer) return fail(d, "answers with %zu bytes where %zu are due", n, n_answer);
  if (n > 0) memcpy(answer, payload, n); /* ANSWER may be NULL then */
  return true;
}

/* The version counts: what a result means is part of it. */
bool device_open(device *d, const char *architecture, double timeout_s) {
  char wanted[sizeof d->about];
  if (d->pid != 0) return true;
  if (!start(d) || !device_ask(d, DEVICE_HELLO, "", 0, "", 0, d->about, sizeof d->about - 1, timeout_s)) return false;
  snprintf(wanted, sizeof wanted, "tenon-runner %s %s", TN_VERSION, architecture);
  if (strcmp(d->about, wanted) == 0) return true;
  for (char *at = d->about; *at; at++)
    if (*at < ' ' || *at > '~') *at = '?';
  char about[sizeof d->about];
  memcpy(about, d->about, sizeof about);
  return fail(d, "is \"%s\", and the target needs \"%s\"", about, wanted);
}
