/* The way to a host, for tests: `test_relay [OPTIONS] COMMAND...` starts COMMAND with pipes, as sshd does, and passes bytes on
 * in both directions.
 *
 *   --delay=MS             each byte arrives so much later
 *   --cut=AFTER_S,FOR_S    nothing passes for FOR_S seconds, once, so long after the start
 *   --asked=FILE           made when the worker has greeted and is asked for something
 *   --faults=RATE,FILE     at each piece from the worker, with this probability, one of the faults below; a byte is appended to FILE
 *
 * Its exit status is 255 when the worker has ended, as ssh's where a signal ended it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 16 << 10, PIECES = 4096, LOST = 255 };

typedef enum fault { NONE, KILL, LEAVE, GARBAGE, HALF, STALL, LONG_STALL, FAULTS } fault;

typedef struct piece {
  uint64_t due_ns;
  size_t n;
  char *bytes;
} piece;

/* One direction. */
typedef struct way {
  int from, to;
  bool has_ended;
  piece pieces[PIECES];
  int first, n;
} way;

static struct relay {
  uint64_t start_ns, delay_ns, cut_ns, cut_end_ns, stalled_ns;
  double rate;
  const char *count, *asked;
  bool has_greeted;
  pid_t child;
  unsigned short random[3];
  way ways[2]; /* to the worker; from it */
} relay;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void leave(bool kills) {
  if (kills) kill(relay.child, SIGKILL);
  _exit(LOST);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void append_byte(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, ".", 1) != 1) leave(true);
  close(fd);
}

static fault draw_fault(void) {
  if (relay.rate <= 0 || erand48(relay.random) >= relay.rate) return NONE;
  append_byte(relay.count);
  return (fault)(1 + (int)(erand48(relay.random) * (FAULTS - 1)));
}

/* Returns how many of the piece's bytes pass. */
static size_t strike(fault f, size_t n) {
  static const char garbage[] = "Connection to host: noise on the line\n";
  switch (f) {
    case KILL: leave(true);
    case LEAVE: leave(false);
    case GARBAGE: return write(STDOUT_FILENO, garbage, sizeof garbage - 1) > 0 ? n : 0;
    case HALF:
      if (write(STDOUT_FILENO, relay.ways[1].pieces[relay.ways[1].first].bytes, n / 2) >= 0) leave(true);
      return 0;
    case STALL: relay.stalled_ns = now_ns() + 200000000u; return n;
    case LONG_STALL: relay.stalled_ns = now_ns() + 1500000000u; return n;
    case NONE:
    case FAULTS: break;
  }
  return n;
}

/* ---- passing on -------------------------------------------------------------------------------------------------- */

static void take(way *w) {
  char bytes[PIECE];
  ssize_t n = read(w->from, bytes, sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  w->has_ended = n <= 0;
  if (w->has_ended) return;
  piece *p = &w->pieces[(w->first + w->n++) % PIECES];
  *p = (piece){now_ns() + relay.delay_ns, (size_t)n, malloc((size_t)n)};
  if (!p->bytes) leave(true);
  memcpy(p->bytes, bytes, (size_t)n);
}

static bool is_cut(uint64_t now) { return now < relay.stalled_ns || (now >= relay.cut_ns && now < relay.cut_end_ns); }

static void pass(way *w) {
  while (w->n > 0 && w->pieces[w->first].due_ns <= now_ns() && !is_cut(now_ns())) {
    piece *p = &w->pieces[w->first];
    size_t n = w == &relay.ways[1] ? strike(draw_fault(), p->n) : p->n;
    if (is_cut(now_ns())) return; /* it stalls from here on */
    for (size_t sent = 0; sent < n;) {
      ssize_t written = write(w->to, p->bytes + sent, n - sent);
      if (written <= 0 && errno != EINTR) leave(true);
      sent += written > 0 ? (size_t)written : 0;
    }
    if (relay.asked && relay.has_greeted && w == &relay.ways[0]) append_byte(relay.asked);
    relay.has_greeted = relay.has_greeted || w == &relay.ways[1];
    free(p->bytes);
    w->first = (w->first + 1) % PIECES;
    w->n--;
  }
}

static int wait_ms(void) {
  uint64_t now = now_ns(), first = now + 100000000u;
  for (int i = 0; i < 2; ++i)
    if (relay.ways[i].n > 0 && relay.ways[i].pieces[relay.ways[i].first].due_ns < first)
      first = relay.ways[i].pieces[relay.ways[i].first].due_ns;
  if (is_cut(now)) return 10;
  return first <= now ? 0 : (int)((first - now) / 1000000u) + 1;
}

static void loop(void) {
  for (;;) {
    struct pollfd polled[2];
    for (int i = 0; i < 2; ++i) {
      const way *w = &relay.ways[i];
      polled[i] = (struct pollfd){.fd = w->has_ended || w->n == PIECES ? -1 : w->from, .events = POLLIN};
    }
    poll(polled, 2, wait_ms());
    for (int i = 0; i < 2; ++i)
      if (polled[i].revents) take(&relay.ways[i]);
    for (int i = 0; i < 2; ++i) pass(&relay.ways[i]);
    if (relay.ways[0].has_ended && relay.ways[0].n == 0) leave(false);
    if (relay.ways[1].has_ended && relay.ways[1].n == 0) leave(true);
  }
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static bool start(char **command) {
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0) return false;
  relay.child = fork();
  if (relay.child == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    for (int fd = 3; fd < 64; ++fd) close(fd);
    execvp(command[0], command);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  relay.ways[0] = (way){.from = STDIN_FILENO, .to = in[1]};
  relay.ways[1] = (way){.from = out[0], .to = STDOUT_FILENO};
  return relay.child > 0;
}

static bool read_option(char *word) {
  double after_s, for_s;
  int used = 0;
  if (sscanf(word, "--delay=%lf", &after_s) == 1) {
    relay.delay_ns = (uint64_t)(after_s * 1e6);
  } else if (sscanf(word, "--cut=%lf,%lf", &after_s, &for_s) == 2) {
    relay.cut_ns = relay.start_ns + (uint64_t)(after_s * 1e9);
    relay.cut_end_ns = relay.cut_ns + (uint64_t)(for_s * 1e9);
  } else if (strncmp(word, "--asked=", 8) == 0) {
    relay.asked = word + 8;
  } else if (sscanf(word, "--faults=%lf,%n", &relay.rate, &used) == 1 && used > 0) {
    relay.count = word + used;
  } else {
    return false;
  }
  return true;
}

int main(int argc, char **argv) {
  int at = 1;
  relay.start_ns = now_ns();
  relay.cut_ns = UINT64_MAX;
  memcpy(relay.random, &relay.start_ns, sizeof relay.random);
  for (; at < argc && argv[at][0] == '-'; ++at)
    if (!read_option(argv[at])) return 2;
  signal(SIGPIPE, SIG_IGN);
  if (at == argc || !start(argv + at)) return 2;
  loop();
}
