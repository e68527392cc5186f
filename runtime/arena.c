/* arena.c: many allocations with one lifetime. An arena owns a list of chunks. The newest is being filled,
 * and chunks double in size up to LARGEST_SHARED_CHUNK. A request too large to share a chunk gets one of
 * its own behind the head, so that the head's free space is not lost. What was not handed out is always zeros:
 * chunks are cleared when they are made and when they are reset, in one piece, which costs less than clearing
 * each of thousands of small allocations. So an allocation is an addition. Under the address sanitizer a poisoned gap follows every allocation, and all
 * that was not handed out is poisoned, so that reading past the end is caught although malloc knows only of
 * chunks. */
#include <stdint.h>
#include <stdio.h>

#include "runtime/base.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define POISON(address, bytes) ASAN_POISON_MEMORY_REGION(address, bytes)
#define UNPOISON(address, bytes) ASAN_UNPOISON_MEMORY_REGION(address, bytes)
enum { GAP = 16 };
#else
#define POISON(address, bytes) ((void)(address), (void)(bytes))
#define UNPOISON(address, bytes) ((void)(address), (void)(bytes))
enum { GAP = 0 };
#endif

/* ALIGNMENT is that of the widest type the library stores. */
enum { ALIGNMENT = 16, FIRST_CHUNK = RUNTIME_SMALL(4096, 128), LARGEST_SHARED_CHUNK = RUNTIME_SMALL(1 << 20, 1024) };

/* A chunk's head, followed by its data in the same malloc'ed block. */
struct runtime_chunk {
  runtime_chunk *next;
  size_t bytes; /* of data */
  _Alignas(ALIGNMENT) unsigned char data[];
};

/* What every allocation does when memory runs out. */
void *runtime_arena_lacks(runtime_arena *arena) {
  arena->failed = true;
  if (arena->on_oom) longjmp(*arena->on_oom, 1);
  return NULL;
}

/* Bytes that the arena may still reserve. */
static size_t room_left(const runtime_arena *arena) {
  if (arena->limit == 0) return SIZE_MAX / 2;
  return arena->limit > arena->total ? arena->limit - arena->total : 0;
}

/* The level at which a chunk is recorded. A search makes and frees thousands of small chunks, so only large
 * ones are recorded by default. */
static int level_of(size_t bytes) { return bytes >= (size_t)64 << 10 ? 3 : 5; }

/* A chunk of BYTES zeros that is not in the list yet, all of it poisoned. */
static runtime_chunk *chunk_new(runtime_arena *arena, size_t bytes) {
  runtime_chunk *chunk = calloc(1, sizeof *chunk + bytes);
  if (!chunk) {
    runtime_the_memory_observer.refused("arena", bytes);
    return NULL;
  }
  chunk->bytes = bytes;
  arena->total += bytes;
  runtime_the_memory_observer.taken("arena", level_of(bytes), chunk, bytes);
  POISON(chunk->data, bytes);
  return chunk;
}

/* Removes the poison first: otherwise the heap's own checks would report the gaps. */
static void chunk_free(runtime_chunk *chunk) {
  runtime_the_memory_observer.returned("arena", level_of(chunk->bytes), chunk);
  UNPOISON(chunk->data, chunk->bytes);
  free(chunk);
}

/* Hands out BYTES at OFFSET, without poison. */
static void *take(runtime_chunk *chunk, size_t offset, size_t bytes) {
  UNPOISON(chunk->data + offset, bytes);
  return chunk->data + offset;
}

/* Makes room in a new chunk for BYTES, which rounded up are SIZE. */
static void *alloc_in_new_chunk(runtime_arena *arena, size_t size, size_t bytes) {
  size_t room = room_left(arena);
  if (size > room) return runtime_arena_lacks(arena);
  size_t shared = RUNTIME_MIN(RUNTIME_MAX(arena->total, (size_t)FIRST_CHUNK), (size_t)LARGEST_SHARED_CHUNK);
  bool alone = size > shared / 2;
  runtime_chunk *chunk = chunk_new(arena, RUNTIME_MIN(alone ? size : shared, room));
  if (!chunk) return runtime_arena_lacks(arena);
  if (alone && arena->head) {
    chunk->next = arena->head->next;
    arena->head->next = chunk;
  } else {
    chunk->next = arena->head;
    arena->head = chunk;
    arena->used = size;
  }
  return take(chunk, 0, bytes);
}

/* Any size, where the head has no room for it or is not there yet. */
static __attribute__((noinline)) void *alloc_any(runtime_arena *arena, size_t bytes) {
  if (bytes > SIZE_MAX / 4) return runtime_arena_lacks(arena);
  size_t size = (RUNTIME_MAX(bytes, (size_t)1) + GAP + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (!arena->head || size > arena->head->bytes - arena->used) return alloc_in_new_chunk(arena, size, bytes);
  void *result = take(arena->head, arena->used, bytes);
  arena->used += size;
  return result;
}

void *runtime_alloc(runtime_arena *arena, size_t bytes) {
  runtime_chunk *head = arena->head;
  size_t size = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
  if (GAP || size == 0 || !head || size > head->bytes - arena->used) return alloc_any(arena, bytes);
  void *result = head->data + arena->used;
  arena->used += size;
  return result;
}

void *runtime_copy(runtime_arena *arena, const void *data, size_t bytes) {
  void *copy = runtime_alloc(arena, bytes);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

char *runtime_strndup(runtime_arena *arena, const char *text, size_t n) {
  n = strnlen(text, n);
  char *copy = runtime_alloc(arena, n + 1);
  if (copy) memcpy(copy, text, n);
  return copy;
}

char *runtime_strdup(runtime_arena *arena, const char *text) { return runtime_copy(arena, text, strlen(text) + 1); }

char *runtime_joined(runtime_arena *arena, const char *const *parts) {
  size_t n = 0;
  for (int i = 0; parts[i]; i++) n += strlen(parts[i]);
  char *text = runtime_alloc(arena, n + 1), *end = text;
  for (int i = 0; text && parts[i]; i++) end = stpcpy(end, parts[i]);
  return text;
}

char *runtime_format(runtime_arena *arena, const char *fmt, ...) {
  char brief[64]; /* most texts are names */
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(brief, sizeof brief, fmt, args);
  va_end(args);
  char *text = n < 0 ? runtime_arena_lacks(arena) : runtime_alloc(arena, (size_t)n + 1);
  if (!text) return NULL;
  if ((size_t)n < sizeof brief) return memcpy(text, brief, (size_t)n + 1);
  va_start(args, fmt);
  vsnprintf(text, (size_t)n + 1, fmt, args);
  va_end(args);
  return text;
}

void runtime_arena_free(runtime_arena *arena) {
  while (arena->head) {
    runtime_chunk *next = arena->head->next;
    chunk_free(arena->head);
    arena->head = next;
  }
  arena->used = arena->total = 0;
}

/* Keeps the largest chunk, since a caller that resets usually does the same work again. After a few rounds
 * the arena has one chunk that everything fits into, and the heap is no longer used. How much of a chunk was used
 * is known of the head only. */
void runtime_arena_reset(runtime_arena *arena) {
  runtime_chunk *largest = arena->head;
  for (runtime_chunk *c = arena->head; c; c = c->next) {
    if (c->bytes > largest->bytes) largest = c;
  }
  for (runtime_chunk *c = arena->head, *next; c; c = next) {
    next = c->next;
    if (c != largest) chunk_free(c);
  }
  bool was_head = arena->head == largest;
  size_t used = arena->used;
  arena->head = largest;
  arena->used = arena->total = 0;
  if (!largest) return;
  largest->next = NULL;
  arena->total = largest->bytes;
  UNPOISON(largest->data, largest->bytes);
  memset(largest->data, 0, was_head ? used : largest->bytes);
  POISON(largest->data, largest->bytes);
}
