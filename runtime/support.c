/* support.c: small things that every layer needs: the clock, hashing, random numbers, reading a file. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "runtime/base.h"

/* Monotonic, so that a change of the wall clock does not disturb a measurement. */
uint64_t runtime_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Up to eight bytes as a number, so that hashes do not depend on the machine's byte order. */
static uint64_t load_little_endian(const unsigned char *p, size_t n) {
  uint64_t word = 0;
  for (size_t i = 0; i < n; ++i) word |= (uint64_t)p[i] << (8 * i);
  return word;
}

/* The same for eight bytes, written out so that the compiler makes one load of it. */
static uint64_t load_eight(const unsigned char *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
         (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

/* Mixes eight bytes at a time. Neither cryptographic nor meant for hostile keys. The value is written to
 * records on disk: changing it makes all of them stale. */
uint64_t runtime_hash(const void *data, size_t n, uint64_t seed) {
  const unsigned char *p = data;
  uint64_t h = mix(seed ^ (0x9e3779b97f4a7c15u * ((uint64_t)n + 1)));
  for (; n >= 8; p += 8, n -= 8) h = mix(h ^ load_eight(p)) + 0x9e3779b97f4a7c15u;
  return mix(h ^ load_little_endian(p, n));
}

uint64_t runtime_random(runtime_rng *rng) { return mix(rng->state += 0x9e3779b97f4a7c15u); }

/* Lemire's multiply-shift; its bias is below n / 2^64. */
int64_t runtime_random_below(runtime_rng *rng, int64_t n) {
  if (n <= 0) return 0;
  return (int64_t)(((unsigned __int128)runtime_random(rng) * (uint64_t)n) >> 64);
}

/* 53 bits, as many as a double's fraction has: all multiples of 2^-53 are equally likely. */
double runtime_random_unit(runtime_rng *rng) { return (double)(runtime_random(rng) >> 11) * 0x1p-53; }

/* A function of its own, since most of the data for candidates is made here: without a call for each number
 * it takes a fifth of the time. */
void runtime_random_floats(runtime_rng *rng, float *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = (float)(mix(rng->state += 0x9e3779b97f4a7c15u) >> 40) * 0x1p-23f - 1;
}

/* Rows are read by memcpy, since their type is not known here. */
int runtime_find_row(const void *rows, int n, size_t row_bytes, const char *name) {
  for (int i = 0; name && i < n; i++) {
    const char *first;
    memcpy(&first, (const char *)rows + (size_t)i * row_bytes, sizeof first);
    if (strcmp(first, name) == 0) return i;
  }
  return -1;
}

int runtime_compare_i64(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* A difference would become 0 when it is cut to an int. NaN does not occur here. */
static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void runtime_sort(double *values, int n) { qsort(values, (size_t)n, sizeof *values, by_value); }

/* Linear between the two nearest order statistics, as in NumPy and R (type 7 of Hyndman and Fan: Sample
 * quantiles in statistical packages, 1996). */
double runtime_quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int below = (int)at, above = RUNTIME_MIN(below + 1, n - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Appends the rest of FILE. False: reading failed, with errno. */
static bool read_all(FILE *file, runtime_str *text) {
  char block[16384];
  for (size_t n = sizeof block; n == sizeof block;) {
    n = fread(block, 1, sizeof block, file);
    runtime_str_addn(text, block, n);
  }
  runtime_str_add(text, "");
  return !ferror(file);
}

/* Reads in blocks rather than by the length, since pipes and /proc have none. *N does not count the NUL. */
char *runtime_read_file(tn_context *ctx, const char *path, size_t *n) {
  FILE *file = fopen(path, "rbe");
  if (!file) {
    runtime_fail(ctx, TN_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
    return NULL;
  }
  runtime_str text = {0};
  bool read = read_all(file, &text);
  int error = errno;
  fclose(file);
  if (read && !text.failed) {
    if (n) *n = text.n;
    return text.data;
  }
  runtime_str_free(&text);
  if (read)
    runtime_fail(ctx, TN_ERROR_MEMORY, "out of memory while reading %s", path);
  else
    runtime_fail(ctx, TN_ERROR_IO, "cannot read %s: %s", path, strerror(error));
  return NULL;
}

char *runtime_read_text(tn_context *ctx, const char *path) {
  size_t n;
  char *text = runtime_read_file(ctx, path, &n);
  const char *nul = text ? memchr(text, '\0', n) : NULL;
  if (!nul) return text;
  int line = 1, column = 1;
  for (const char *at = text; at < nul; ++at) {
    column = *at == '\n' ? 1 : column + 1;
    line += *at == '\n';
  }
  free(text);
  runtime_fail(ctx, TN_ERROR_PARSE, "%s: line %d, column %d: a NUL byte, which no text has", path, line, column);
  return NULL;
}
