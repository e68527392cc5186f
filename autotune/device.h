/* device.h: a device that only runs: tenon-runner behind a command (device.c), kernels as images that need no linker there
 * (device_image.c). Both belong to a worker process; docs/farm.md says how they are used. */
#ifndef TENON_AUTOTUNE_DEVICE_H
#define TENON_AUTOTUNE_DEVICE_H

#include <sys/types.h>

#include "autotune/device_frame.h"
#include "runtime/base.h"

enum { DEVICE_WHY_BYTES = 400 };

/* ---- the line (device.c) ----------------------------------------------------------------------------------------- */

typedef struct device {
  char *command; /* a line for the shell; NULL: there is no device */
  pid_t pid;     /* 0: nothing is started */
  int to, from;
  char about[64]; /* what it calls itself; "" before it has greeted */
  uint64_t sent;  /* which arguments it holds; 0: none */
  char why[DEVICE_WHY_BYTES];
} device;

/* Starts the command and greets, unless that was done. ARCHITECTURE: first part of a triple. False: WHY says by name what is
 * wrong with what answered, nothing is left of it, and the next call tries again. */
bool device_open(device *d, const char *architecture, double timeout_s);
/* Sends a frame in two parts and takes its answer, which is to have N_ANSWER bytes. TIMEOUT_S: for each piece that the line
 * takes, and for the answer. False: as device_open. */
bool device_ask(device *d, device_kind kind, const void *head, size_t n_head, const void *body, size_t n_body,
                void *answer, size_t n_answer, double timeout_s);
void device_close(device *d);

/* ---- images (device_image.c) ------------------------------------------------------------------------------------- */

typedef struct device_image {
  uint32_t file_bytes, memory_bytes, entry, n_places;
  unsigned char *bytes; /* malloc'ed: the file's, then the places */
} device_image;

/* Links an object that defines SYMBOL, by lld or the binutils of the ARCHITECTURE. False: WHY has the reason, among them a
 * function that a runner has not. */
bool device_image_make(const void *object, size_t n, const char *symbol, const char *architecture, device_image *out,
                       char why[DEVICE_WHY_BYTES]);
void device_image_free(device_image *image);
const char *device_import_name(uint32_t number);

#endif
