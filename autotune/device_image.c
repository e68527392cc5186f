/* device_image.c: turns an object into an image that can lie at any address, so that a device needs no
 * linker. The host's linker lays the sections out as a shared object. Its segments are copied to their
 * places, and its relocations become a list of words to which an address is added. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/device.h"

extern char **environ;

const char *device_import_name(uint32_t number) {
  static const char *const names[] = {
#define X(name) name,
      DEVICE_IMPORTS(X)
#undef X
  };
  return number < RUNTIME_COUNT(names) ? names[number] : NULL;
}

static bool explain(char why[DEVICE_WHY_BYTES], const char *fmt, ...) TN_PRINTF(2, 3);
/* Writes the reason to WHY. Always false. */
static bool explain(char why[DEVICE_WHY_BYTES], const char *fmt, ...) {
  char text[DEVICE_WHY_BYTES];
  RUNTIME_PRINT_ARGS(text, fmt);
  memcpy(why, text, sizeof text);
  return false;
}

/* ---- linking ----------------------------------------------------------------------------------------------------- */

/* A kind of machine: its linkers, of which the second comes with the cross compiler that builds a runner,
 * and its numbers in ELF. */
typedef struct machine {
  const char *name, *emulation, *linkers[2];
  int number, base, word,
      call; /* e_machine; relocations that add the image's address, or a symbol's to a word, or to a call's word */
} machine;

/* By the first part of a triple, as the target's text has it. */
static const machine machines[] = {
    {"aarch64",
     "aarch64linux",
     {"ld.lld", "aarch64-linux-gnu-ld"},
     EM_AARCH64,
     R_AARCH64_RELATIVE,
     R_AARCH64_GLOB_DAT,
     R_AARCH64_JUMP_SLOT},
    {"armv7",
     "armelf_linux_eabi",
     {"ld.lld", "arm-linux-gnueabihf-ld"},
     EM_ARM,
     R_ARM_RELATIVE,
     R_ARM_GLOB_DAT,
     R_ARM_JUMP_SLOT},
    {"riscv64",
     "elf64lriscv",
     {"ld.lld", "riscv64-linux-gnu-ld"},
     EM_RISCV,
     R_RISCV_RELATIVE,
     R_RISCV_64,
     R_RISCV_JUMP_SLOT},
    {"x86_64", "elf_x86_64", {"ld.lld", "ld"}, EM_X86_64, R_X86_64_RELATIVE, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT},
};

/* A file in memory, since the worker may have no disk. PLACE gets its path. -1: there is none. */
static int memory_file(const void *data, size_t n, char place[64]) {
  int fd = memfd_create("tenon-device", 0);
  if (fd < 0) return -1;
  snprintf(place, 64, "/proc/self/fd/%d", fd);
  if (n == 0 || write(fd, data, n) == (ssize_t)n) return fd;
  close(fd);
  return -1;
}

/* Runs the linker; what it prints goes to SAYS. Returns its exit status, or -errno. */
static int run_linker(const char *linker, const machine *m, const char *object, const char *out, int says) {
  const char *const argv[] = {linker, "-m",      m->emulation, "-shared", "-Bsymbolic", "--hash-style=sysv",
                              "-z",   "norelro", "-z",         "now",     "-o",         out,
                              object, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  if (posix_spawn_file_actions_init(&actions) != 0) return -ENOMEM;
  posix_spawn_file_actions_adddup2(&actions, says, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, says, STDERR_FILENO);
  int error = posix_spawnp(&child, linker, &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return -error;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/* Links with the first linker that is installed. False with WHY, which has the linker's first line. */
static bool link_with(const machine *m, const char *object, const char *out, char why[DEVICE_WHY_BYTES]) {
  char words[200] = "", place[64];
  int says = memory_file("", 0, place), status = -ENOENT;
  if (says < 0) return explain(why, "no memory for the linker's words");
  for (int i = 0; i < RUNTIME_COUNT(m->linkers) && status == -ENOENT; i++)
    status = run_linker(m->linkers[i], m, object, out, says);
  ssize_t n = pread(says, words, sizeof words - 1, 0);
  close(says);
  words[n > 0 ? strcspn(words, "\n") : 0] = '\0';
  if (status == 0) return true;
  if (status == -ENOENT) return explain(why, "there is no linker for %s: install lld, or %s", m->name, m->linkers[1]);
  return explain(why, "the linker ended with status %d: %s", status, words);
}

/* ---- reading what it wrote --------------------------------------------------------------------------------------- */

/* A shared object as the linker wrote it, of 32 or 64 bits. Numbers of 32 bits are widened as they are read. */
typedef struct shared {
  const machine *m;
  const unsigned char *at;
  size_t n;
  bool is_narrow;
} shared;

/* Whether N bytes at FROM are in the file: its offsets are not trusted. */
static bool has_range(const shared *s, uint64_t from, uint64_t n) { return from <= s->n && n <= s->n - from; }

/* The little-endian number at AT; 0 outside of the file. */
static uint64_t number(const shared *s, uint64_t at, int bytes) {
  uint64_t value = 0;
  if (has_range(s, at, (uint64_t)bytes)) memcpy(&value, s->at + at, (size_t)bytes);
  return value;
}

/* NARROW in a file of 32 bits, WIDE in one of 64. */
static uint64_t of_class(const shared *s, size_t narrow, size_t wide) { return s->is_narrow ? narrow : wide; }

/* A field of an ELF structure, which is at another place in each class; below, a structure's size. */
#define FIELD(s, at, type, field)                                                             \
  number(s, (at) + of_class(s, offsetof(Elf32_##type, field), offsetof(Elf64_##type, field)), \
         (int)of_class(s, sizeof(((Elf32_##type *)0)->field), sizeof(((Elf64_##type *)0)->field)))
#define SIZE(s, type) of_class(s, sizeof(Elf32_##type), sizeof(Elf64_##type))

/* Copies the segments to their addresses; the first one is at 0. */
static bool copy_segments(const shared *s, device_image *out, char why[DEVICE_WHY_BYTES]) {
  uint64_t headers = FIELD(s, 0, Ehdr, e_phoff), count = FIELD(s, 0, Ehdr, e_phnum);
  for (int pass = 0; pass < 2; pass++) {
    for (uint64_t i = 0; i < count; i++) {
      uint64_t h = headers + i * SIZE(s, Phdr), from = FIELD(s, h, Phdr, p_offset), to = FIELD(s, h, Phdr, p_vaddr);
      uint64_t in_file = FIELD(s, h, Phdr, p_filesz), in_memory = FIELD(s, h, Phdr, p_memsz);
      if (FIELD(s, h, Phdr, p_type) != PT_LOAD) continue;
      bool is_small = in_memory <= DEVICE_MAX_BYTES && to <= DEVICE_MAX_BYTES - in_memory;
      if (!has_range(s, from, in_file) || !is_small || in_memory < in_file)
        return explain(why, "the linked kernel is larger than a device can have");
      out->file_bytes = (uint32_t)RUNTIME_MAX(out->file_bytes, to + in_file);
      out->memory_bytes = (uint32_t)RUNTIME_MAX(out->memory_bytes, to + in_memory);
      if (pass == 1) memcpy(out->bytes + to, s->at + from, in_file);
    }
    if (pass == 0) out->bytes = calloc(1, out->file_bytes + (size_t)1);
    if (!out->bytes) return explain(why, "out of memory for the image");
  }
  return true;
}

/* ---- relocations ------------------------------------------------------------------------------------------------- */

/* The name of dynamic symbol INDEX; *VALUE is its address, 0 if it is not defined here. */
static const char *symbol_name(const shared *s, uint64_t symbols, uint64_t names, uint64_t index, uint64_t *value) {
  uint64_t at = symbols + index * SIZE(s, Sym), name = names + FIELD(s, at, Sym, st_name);
  *value = FIELD(s, at, Sym, st_shndx) != SHN_UNDEF ? FIELD(s, at, Sym, st_value) : 0;
  return has_range(s, name, 1) && memchr(s->at + name, 0, s->n - name) ? (const char *)s->at + name : "";
}

/* The number of an import; -1: the runner lacks it. */
static int find_import(const char *name) {
  for (uint32_t i = 0; device_import_name(i); i++)
    if (strcmp(device_import_name(i), name) == 0) return (int)i;
  return -1;
}

/* Adds ADD to the word at OFFSET, or replaces the word by it, and notes that the device adds an address to it. */
static bool add_place(const shared *s, device_image *out, uint64_t offset, uint64_t add, bool replaces, int import,
                      char why[DEVICE_WHY_BYTES]) {
  size_t word = s->is_narrow ? 4 : 8;
  uint64_t before = 0;
  if (offset + word > out->file_bytes) return explain(why, "the linked kernel has a relocation outside of it");
  if (!replaces) memcpy(&before, out->bytes + offset, word);
  before += add;
  memcpy(out->bytes + offset, &before, word);
  size_t places = (out->n_places + 1) * sizeof(device_place);
  unsigned char *larger = realloc(out->bytes, out->file_bytes + places);
  if (!larger) return explain(why, "out of memory for the image");
  device_place place = {(uint32_t)offset, (uint32_t)import};
  memcpy(larger + out->file_bytes + out->n_places++ * sizeof place, &place, sizeof place);
  out->bytes = larger;
  return true;
}

/* Adds the place of one relocation. Entries of type Rela have their addend in the entry, others have it in the word. */
static bool take_relocation(const shared *s, device_image *out, uint64_t at, bool has_addend, uint64_t symbols,
                            uint64_t names, char why[DEVICE_WHY_BYTES]) {
  uint64_t offset = FIELD(s, at, Rela, r_offset), info = FIELD(s, at, Rela, r_info), value = 0;
  uint64_t addend = has_addend ? FIELD(s, at, Rela, r_addend) : 0;
  int type = s->is_narrow ? (int)ELF32_R_TYPE(info) : (int)ELF64_R_TYPE(info);
  if (type == s->m->base) return add_place(s, out, offset, addend, has_addend, DEVICE_BASE, why);
  const char *name = symbol_name(s, symbols, names, s->is_narrow ? ELF32_R_SYM(info) : ELF64_R_SYM(info), &value);
  if (type != s->m->word && type != s->m->call)
    return explain(why, "a relocation of type %d, of %s, is none that a runner knows", type, name);
  if (value != 0) return add_place(s, out, offset, value + addend, true, DEVICE_BASE, why);
  int import = find_import(name);
  if (import < 0) return explain(why, "the kernel calls %s, which tenon-runner has not", name);
  return add_place(s, out, offset, addend, true, import, why);
}

/* Takes the relocations of all sections that a loader reads. */
static bool take_relocations(const shared *s, device_image *out, char why[DEVICE_WHY_BYTES]) {
  uint64_t sections = FIELD(s, 0, Ehdr, e_shoff), count = FIELD(s, 0, Ehdr, e_shnum);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t h = sections + i * SIZE(s, Shdr), type = FIELD(s, h, Shdr, sh_type);
    if ((type != SHT_REL && type != SHT_RELA) || !(FIELD(s, h, Shdr, sh_flags) & SHF_ALLOC)) continue;
    uint64_t symbols = sections + FIELD(s, h, Shdr, sh_link) * SIZE(s, Shdr);
    uint64_t names = sections + FIELD(s, symbols, Shdr, sh_link) * SIZE(s, Shdr);
    uint64_t from = FIELD(s, h, Shdr, sh_offset), n = FIELD(s, h, Shdr, sh_size);
    uint64_t each = type == SHT_RELA ? SIZE(s, Rela) : SIZE(s, Rel);
    for (uint64_t at = from; at + each <= from + n; at += each)
      if (!take_relocation(s, out, at, type == SHT_RELA, FIELD(s, symbols, Shdr, sh_offset),
                           FIELD(s, names, Shdr, sh_offset), why))
        return false;
  }
  return true;
}

/* Finds the kernel's offset among the dynamic symbols. */
static bool find_entry(const shared *s, const char *symbol, device_image *out, char why[DEVICE_WHY_BYTES]) {
  uint64_t sections = FIELD(s, 0, Ehdr, e_shoff), count = FIELD(s, 0, Ehdr, e_shnum), value;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t h = sections + i * SIZE(s, Shdr);
    if (FIELD(s, h, Shdr, sh_type) != SHT_DYNSYM) continue;
    uint64_t names = sections + FIELD(s, h, Shdr, sh_link) * SIZE(s, Shdr), from = FIELD(s, h, Shdr, sh_offset);
    for (uint64_t k = 0; k < FIELD(s, h, Shdr, sh_size) / SIZE(s, Sym); k++)
      if (strcmp(symbol_name(s, from, FIELD(s, names, Shdr, sh_offset), k, &value), symbol) == 0 && value != 0)
        return out->entry = (uint32_t)value, true;
  }
  return explain(why, "the object does not define %s", symbol);
}

/* Makes the image from a shared object. */
static bool flatten(const shared *s, const char *symbol, device_image *out, char why[DEVICE_WHY_BYTES]) {
  return copy_segments(s, out, why) && take_relocations(s, out, why) && find_entry(s, symbol, out, why);
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

void device_image_free(device_image *image) {
  free(image->bytes);
  *image = (device_image){0};
}

/* Maps the linker's output and makes the image from it. */
static bool flatten_file(const machine *m, int fd, const char *symbol, device_image *out, char why[DEVICE_WHY_BYTES]) {
  off_t n = lseek(fd, 0, SEEK_END);
  void *bytes = n > (off_t)sizeof(Elf64_Ehdr) ? mmap(NULL, (size_t)n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (bytes == MAP_FAILED) return explain(why, "the linker wrote nothing");
  shared s = {m, bytes, (size_t)n, ((const unsigned char *)bytes)[EI_CLASS] == ELFCLASS32};
  bool is_made = flatten(&s, symbol, out, why);
  munmap(bytes, (size_t)n);
  return is_made;
}

/* Links OBJECT and makes its image. The result has to be a file with a name: linkers write it anew. */
static bool make(const machine *m, const void *object, size_t n, const char *symbol, device_image *out,
                 char why[DEVICE_WHY_BYTES]) {
  char from[64], to[] = "/tmp/tenon-device-XXXXXX";
  int in = memory_file(object, n, from), result = mkstemp(to);
  if (in < 0 || result < 0) {
    if (in >= 0) close(in);
    if (result >= 0) close(result), unlink(to);
    return explain(why, "no room for linking: %s", strerror(errno));
  }
  close(result);
  bool is_made = link_with(m, from, to, why);
  if (is_made && (result = open(to, O_RDONLY | O_CLOEXEC)) >= 0) {
    is_made = flatten_file(m, result, symbol, out, why);
    close(result);
  }
  unlink(to);
  close(in);
  return is_made;
}

bool device_image_make(const void *object, size_t n, const char *symbol, const char *architecture, device_image *out,
                       char why[DEVICE_WHY_BYTES]) {
  *out = (device_image){0};
  for (int i = 0; i < RUNTIME_COUNT(machines); i++) {
    if (strcmp(machines[i].name, architecture) != 0) continue;
    if (n < sizeof(Elf32_Ehdr) || ((const Elf32_Ehdr *)object)->e_machine != machines[i].number)
      return explain(why, "what was built is no object for %s", architecture);
    if (make(&machines[i], object, n, symbol, out, why)) return true;
    device_image_free(out);
    return false;
  }
  return explain(why, "there is no runner for %s: there are aarch64, armv7, riscv64 and x86_64", architecture);
}
