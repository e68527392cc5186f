/* device.c: the connection to tenon-runner: a command's standard input and output, and frames with
 * checksums. The answers are data from outside. Anything that is no frame, is cut short, was changed on the
 * way, has another version or answers another question is refused by name, and the command is ended, so
 * that the next candidate starts with a fresh one. */
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

/* Closes the command's input, at which it ends by itself, and kills it if it hangs. */
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

/* Always false; WHY has the reason, and the command was ended. */
static bool fail(device *d, const char *fmt, ...) TN_PRINTF(2, 3);
static bool fail(device *d, const char *fmt, ...) {
  char text[DEVICE_WHY_BYTES - 64];
  RUNTIME_PRINT_ARGS(text, fmt);
  snprintf(d->why, sizeof d->why, "the runner %s", text);
  device_close(d);
  return false;
}

/* Starts the command. The worker's resource limits are lifted for it, since it may be an emulator. It stays
 * in the worker's process group and ends with it. Returns 0 or an errno. */
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

/* Starts the command with pipes for its input and output. False with WHY. */
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

/* Waits for EVENTS on FD until END_NS. False with WHY: the time is over. */
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

/* The moment at which so many seconds are over; 10^6 seconds count as no limit. */
static uint64_t end_of(double timeout_s) { return runtime_now_ns() + (uint64_t)(fmin(timeout_s, 1e6) * 1e9); }

/* Sends N bytes. The timeout begins anew with each piece that was sent, as a serial line takes long. If the
 * other side reads nothing any more it may have said why, so its answer is read then. */
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

/* Receives exactly N bytes. False with WHY. */
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

/* The header of a frame whose payload has two parts. */
static device_header make_header(device_kind kind, const void *head, size_t n_head, const void *body, size_t n_body) {
  device_header h = {DEVICE_MAGIC, DEVICE_VERSION, (uint16_t)kind, (uint32_t)(n_head + n_body), 0};
  h.check = device_checksum(0, &h, offsetof(device_header, check));
  h.check = device_checksum(device_checksum(h.check, head, n_head), body, n_body);
  return h;
}

/* Something answers that is no runner: its first bytes are shown in WHY. Always false. */
static bool refuse_stranger(device *d, const device_header *h) {
  char shown[sizeof *h + 1] = "";
  memcpy(shown, h, sizeof *h);
  for (size_t i = 0; i < sizeof *h; i++)
    if (shown[i] < ' ' || shown[i] > '~') shown[i] = '.';
  return fail(d, "says what is no frame: \"%s\"", shown);
}

/* Receives a frame into PAYLOAD, which has room for N_MOST bytes; *N is its length. False with WHY. */
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

/* The runner has to be of this version: the version decides what its results mean. */
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
