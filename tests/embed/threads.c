/* threads.c: four threads share two contexts, each of which belongs to one of them at a time, and build kernels at once. */
#include <pthread.h>

#include "embed.h"

enum { THREADS = 4, CONTEXTS = 2, ROUNDS = 6 };

typedef struct shop {
  pthread_mutex_t lock[CONTEXTS];
  embed_kernel kernels[CONTEXTS];
} shop;

typedef struct hand {
  pthread_t thread;
  shop *shop;
  int number;
} hand;

/* What the thread before built is called and freed, another is built. */
static void take_turn(embed_kernel *k) {
  embed_check(k);
  tn_kernel_free(k->kernel);
  embed_build(k);
  REQUIRE(k->kernel, "%s", tn_context_message(k->ctx));
  embed_check(k);
}

static void *work(void *data) {
  hand *h = data;
  for (int round = 0; round < ROUNDS; ++round) {
    int at = (h->number + round) % CONTEXTS;
    pthread_mutex_lock(&h->shop->lock[at]);
    take_turn(&h->shop->kernels[at]);
    pthread_mutex_unlock(&h->shop->lock[at]);
  }
  return NULL;
}

int main(void) {
  shop s;
  hand hands[THREADS];
  for (int i = 0; i < CONTEXTS; ++i) {
    pthread_mutex_init(&s.lock[i], NULL);
    s.kernels[i] = embed_new();
  }
  for (int i = 0; i < THREADS; ++i) {
    hands[i] = (hand){.shop = &s, .number = i};
    REQUIRE(pthread_create(&hands[i].thread, NULL, work, &hands[i]) == 0, "no thread");
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(hands[i].thread, NULL);
  for (int i = 0; i < CONTEXTS; ++i) embed_free(&s.kernels[i]);
  return 0;
}
