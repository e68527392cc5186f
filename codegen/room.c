/* room.c: whether a kernel fits the memory that a target says it has (ram=, flash=). RAM holds the kernel's arguments
 * and its scratch, since a caller has them all at once; flash holds code and constants, which are known when they are
 * built. What the program around the kernel takes of both is its author's to leave out of the target's numbers. */
#include <elf.h>

#include "codegen/internal.h"

/* ---- RAM --------------------------------------------------------------------------------------------------------- */

/* -1: a call decides. Buffers are flat or not; their sizes were shown to fit when the loops were made. */
static int64_t bytes_of(const tir_buffer *buffer) {
  int64_t bytes = (int64_t)tn_dtype_bytes(buffer->dtype);
  for (int i = 0; i < buffer->ndim; i++) {
    if (buffer->size[i] != NULL || buffer->shape[i] < 0) return -1;
    bytes *= buffer->shape[i];
  }
  return bytes;
}

/* Kernels of more than memory can be are built like others, so sums are cut off. */
static int64_t add_bytes(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

/* The sum of the arguments; -1 after a message. The largest one is told. */
static int64_t argument_bytes(tn_context *ctx, const tir_func *func, const tir_buffer **largest) {
  int64_t sum = 0, most = -1;
  for (int i = 0; i < func->n_params; i++) {
    int64_t bytes = bytes_of(func->params[i]);
    if (bytes < 0) {
      runtime_fail(ctx, TN_ERROR_CODEGEN,
                   "%s: the size of %s is known at a call only, so that it cannot be said whether it fits the target's "
                   "ram=; give its extents numbers, or leave ram= out",
                   func->name, func->params[i]->name);
      return -1;
    }
    if (bytes > most) most = bytes, *largest = func->params[i];
    sum = add_bytes(sum, bytes);
  }
  return sum;
}

tn_status codegen_check_ram(tn_context *ctx, const tir_func *func, const tn_target *target) {
  const tir_buffer *largest = NULL;
  if (target->ram_bytes == 0) return TN_OK;
  int64_t arguments = argument_bytes(ctx, func, &largest);
  if (arguments < 0) return TN_ERROR_CODEGEN;
  int64_t scratch = codegen_all_scratch_bytes(func, target);
  if (add_bytes(arguments, scratch) <= target->ram_bytes) return TN_OK;
  return runtime_fail(
      ctx, TN_ERROR_CODEGEN,
      "%s: arguments of %lld bytes (the largest is %s) and scratch of %lld do not fit the target's ram, "
      "%lld bytes; %s",
      func->name, (long long)arguments, largest != NULL ? largest->name : "none", (long long)scratch,
      (long long)target->ram_bytes,
      arguments > target->ram_bytes ? "take smaller extents" : "compute less at a time: compute_at, inline");
}

/* ---- flash ------------------------------------------------------------------------------------------------------- */

enum { ALLOCATED = SHF_ALLOC };

/* Of what is loaded, without what only debuggers, linkers or unwinders read; SIZE, FLAGS, TYPE of a section. */
static int64_t loaded(uint64_t size, uint64_t flags, uint32_t type) {
  bool is_code = type == SHT_PROGBITS || type == SHT_INIT_ARRAY;
  return is_code && (flags & ALLOCATED) != 0 && size < INT32_MAX ? (int64_t)size : 0;
}

/* Windows' and Apple's objects have other headers. */
static bool is_elf(const codegen_bytes *object) {
  return object->n >= sizeof(Elf64_Ehdr) && memcmp(object->data, ELFMAG, SELFMAG) == 0;
}

/* LLVM wrote it: its tables lie inside. */
static int64_t loaded_bytes(const codegen_bytes *object) {
  const unsigned char *at = object->data;
  int64_t sum = 0;
  if (at[EI_CLASS] == ELFCLASS32) {
    const Elf32_Ehdr *header = object->data;
    const Elf32_Shdr *sections = (const void *)(at + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++)
      sum += loaded(sections[i].sh_size, sections[i].sh_flags, sections[i].sh_type);
    return sum;
  }
  const Elf64_Ehdr *header = object->data;
  const Elf64_Shdr *sections = (const void *)(at + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++)
    sum += loaded(sections[i].sh_size, sections[i].sh_flags, sections[i].sh_type);
  return sum;
}

tn_status codegen_check_flash(tn_context *ctx, const tir_func *func, const tn_target *target,
                              const codegen_bytes *object) {
  if (target->flash_bytes == 0) return TN_OK;
  if (!is_elf(object))
    return runtime_fail(
        ctx, TN_ERROR_CODEGEN,
        "%s: flash= is compared with the sections of an ELF object, and %s has objects of another form; "
        "leave flash= out",
        func->name, target->triple);
  int64_t bytes = loaded_bytes(object);
  if (bytes <= target->flash_bytes) return TN_OK;
  return runtime_fail(ctx, TN_ERROR_CODEGEN,
                      "%s: code and constants of %lld bytes do not fit the target's flash, %lld bytes; unroll less",
                      func->name, (long long)bytes, (long long)target->flash_bytes);
}
