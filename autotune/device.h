/* device.h: a device that only runs kernels: tenon-runner behind a command (device.c), and kernels as
 * images that need no linker there (device_image.c). Both belong to a worker process; docs/farm.md says how
 * they are used. */
#ifndef TENON_AUTOTUNE_DEVICE_H
#define TENON_AUTOTUNE_DEVICE_H

#include <sys/types.h>

#include "autotune/device_frame.h"
#include "runtime/base.h"

/* Bytes of a reason, its end included. */
enum { DEVICE_WHY_BYTES = 400 };

/* ---- the line (device.c) ----------------------------------------------------------------------------------------- */

/* A connection to a runner. Zero-initialise it with its command. */
typedef struct device {
  char *command; /* a line for the shell; NULL: there is no device */
  pid_t pid;     /* 0: it is not running */
  int to, from;
  char about[64]; /* the runner's own name; "" before it has greeted */
  uint64_t sent;  /* hash of the arguments that it holds; 0: none */
  char why[DEVICE_WHY_BYTES];
} device;

/* Starts the command and greets, unless this was done. ARCHITECTURE: the first part of a triple. False: WHY
 * says what is wrong with the answer, the command was ended, and the next call tries again. */
bool device_open(device *d, const char *architecture, double timeout_s);
/* Sends a frame whose payload has two parts, and receives its answer of N_ANSWER bytes. TIMEOUT_S holds for
 * each piece that is sent, and for the answer. False: as device_open. */
bool device_ask(device *d, device_kind kind, const void *head, size_t n_head, const void *body, size_t n_body,
                void *answer, size_t n_answer, double timeout_s);
void device_close(device *d);

/* ---- images (device_image.c) ------------------------------------------------------------------------------------- */

/* A kernel as a device loads it (device_run). */
typedef struct device_image {
  uint32_t file_bytes, memory_bytes, entry, n_places;
  unsigned char *bytes; /* malloc'ed: the image's bytes, then the places */
} device_image;

/* Links an object that defines SYMBOL, by lld or the binutils for ARCHITECTURE. False: WHY has the reason,
 * for instance a function that the runner lacks. */
bool device_image_make(const void *object, size_t n, const char *symbol, const char *architecture, device_image *out,
                       char why[DEVICE_WHY_BYTES]);
void device_image_free(device_image *image);
/* The name of an import, in the order of DEVICE_IMPORTS; NULL: there is no such number. */
const char *device_import_name(uint32_t number);

#endif
