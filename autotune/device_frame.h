/* device_frame.h: the protocol between the tuner's side and tenon-runner, over any pipe or serial line that
 * carries all bytes. Plain C without any other header of the project: the runner is built alone, for
 * another machine.
 *
 * A frame is a header of 16 bytes and LENGTH more bytes. All numbers are little-endian, as on every machine
 * that has a runner. The checksum covers both parts, so that lost or changed bytes are noticed. The tuner's
 * side asks; the runner answers each frame once, in order: DEVICE_DONE, or DEVICE_REFUSED with a reason in
 * words. Bytes that are no frame are refused as well, and skipped up to the next magic word. */
#ifndef TENON_AUTOTUNE_DEVICE_FRAME_H
#define TENON_AUTOTUNE_DEVICE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* Limits that both sides have to agree on, with the version. */
#define DEVICE_MAGIC 0x52546e54u /* "TnTR" */
enum {
  DEVICE_VERSION = 1,
  DEVICE_MAX_BYTES = 256 << 20, /* of a frame */
  DEVICE_MAX_ARGS = 16,
  DEVICE_MAX_SAMPLES = 40
};

/* Kinds of frames, and what follows the header. */
typedef enum device_kind {
  DEVICE_HELLO = 1,   /* nothing; answered by text: "tenon-runner VERSION ARCHITECTURE" */
  DEVICE_ARGUMENT,    /* device_argument, then an input's data or an output's reference */
  DEVICE_RUN,         /* device_run, then the image, then its places; answered by device_result */
  DEVICE_DONE = 0x80, /* answers */
  DEVICE_REFUSED
} device_kind;

/* Begins every frame. */
typedef struct device_header {
  uint32_t magic;
  uint16_t version, kind;
  uint32_t length;
  uint32_t check; /* device_checksum of the 12 bytes before and what follows */
} device_header;

typedef enum device_dtype { DEVICE_INTEGER, DEVICE_F16, DEVICE_BF16, DEVICE_F32, DEVICE_F64 } device_dtype;

/* Follows a DEVICE_ARGUMENT's header. The runner keeps the argument until another one comes for its place. */
typedef struct device_argument {
  uint32_t index, is_output;
  uint32_t dtype, element_bytes; /* device_dtype */
  uint64_t bytes;
  double scale, tolerance; /* of outputs that are floats: right if |x - r| <= tolerance * max(|r|, scale) */
} device_argument;

/* Follows a DEVICE_RUN's header. The kernel is a flat image that can lie at any address: the address is
 * added to the words that PLACES name. */
typedef struct device_run {
  uint32_t n_args;
  uint32_t file_bytes, memory_bytes; /* of the image; the rest of the memory is zero */
  uint32_t entry;                    /* offset of int32_t kernel(const T *in..., T *out...) */
  uint32_t n_places;
  uint32_t max_samples;
  uint64_t batch_ns, budget_ns; /* a sample takes at least batch_ns, all samples together about budget_ns */
  uint64_t once_above_ns;       /* a first call that takes longer stays the only one; 0: no such limit */
  uint64_t limit_ns;            /* a run that takes longer is ended */
} device_run;

/* In place of an import's number: the address of the image itself. */
enum { DEVICE_BASE = 0xffff };
/* A word of the image, as wide as the machine's, to which the image's address (DEVICE_BASE) or an import's is added. */
typedef struct device_place {
  uint32_t offset, import;
} device_place;

/* Functions that a kernel may call. A function's number is its place in this list. */
#define DEVICE_IMPORTS(X) \
  X("tenon.take")         \
  X("tenon.give")         \
  X("tenon.scratch")      \
  X("aligned_alloc")      \
  X("free")               \
  X("memcpy")             \
  X("memmove")            \
  X("memset")             \
  X("__aeabi_memcpy")     \
  X("__aeabi_memcpy4")    \
  X("__aeabi_memcpy8")    \
  X("__aeabi_memmove")    \
  X("__aeabi_memmove4")   \
  X("__aeabi_memset")     \
  X("__aeabi_memset4")    \
  X("__aeabi_memset8")    \
  X("__aeabi_memclr")     \
  X("__aeabi_memclr4")    \
  X("__aeabi_memclr8")    \
  X("__aeabi_idiv")       \
  X("__aeabi_uidiv")      \
  X("__aeabi_idivmod")    \
  X("__aeabi_uidivmod")   \
  X("__aeabi_ldivmod")    \
  X("__aeabi_uldivmod")   \
  X("__aeabi_l2f")        \
  X("__aeabi_ul2f")       \
  X("__aeabi_l2d")        \
  X("__aeabi_ul2d")       \
  X("__aeabi_f2lz")       \
  X("__aeabi_d2lz")       \
  X("exp")                \
  X("log")                \
  X("expf")               \
  X("exp2f")              \
  X("logf")               \
  X("log2f")              \
  X("log10f")             \
  X("log1pf")             \
  X("powf")               \
  X("tanhf")              \
  X("sinhf")              \
  X("coshf")              \
  X("erff")               \
  X("sinf")               \
  X("cosf")               \
  X("fmodf")              \
  X("fmaf")               \
  X("floorf")             \
  X("ceilf")              \
  X("roundf")             \
  X("truncf")             \
  X("roundevenf")

/* How a run ended; DETAIL, N_WRONG and WORST are device_result's. */
typedef enum device_outcome {
  DEVICE_OK,
  DEVICE_SIGNAL,    /* signal DETAIL ended it */
  DEVICE_TIMEOUT,   /* it took longer than the limit */
  DEVICE_WRONG,     /* argument DETAIL has N_WRONG wrong elements, the worst at WORST */
  DEVICE_NO_MEMORY, /* for the image or the outputs, or the kernel reported it */
  DEVICE_MISSING    /* argument DETAIL was never sent, or this machine lacks import DETAIL */
} device_outcome;

/* The answer to a DEVICE_RUN. */
typedef struct device_result {
  uint32_t outcome, detail;
  uint32_t n_samples, had_one_call;
  uint64_t n_wrong, worst;
  double max_error;
  uint8_t got[8], wanted[8]; /* the worst element's bytes */
  uint64_t sample_ps[DEVICE_MAX_SAMPLES];
} device_result;

/* CRC-32 (IEEE 802.3) of N bytes, continued from BEFORE; 0 begins. */
static inline uint32_t device_checksum(uint32_t before, const void *data, size_t n) {
  const unsigned char *bytes = (const unsigned char *)data;
  uint32_t crc = ~before;
  for (size_t i = 0; i < n; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
  }
  return ~crc;
}

#endif
