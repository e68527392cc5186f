/* log_claim.c: which candidates the tuners of one log are measuring at this moment. Tuners with the same
 * seed propose the same candidates in the same order, and a record exists only after a measurement. */
#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "autotune/internal.h"

/* Magic numbers of statfs: file systems on which an flock locks all bytes, so that one tuner's claims would
 * stop the others' appending. */
enum { NFS = 0x6969, SMB2 = 0xfe534d42, CIFS = 0xff534d42 };

/* True also when it cannot be told: then nothing is claimed, and at worst work is done twice. */
static bool is_remote(int fd) {
  struct statfs system;
  if (fstatfs(fd, &system) != 0) return true;
  uint32_t type = (uint32_t)system.f_type;
  return type == NFS || type == (uint32_t)SMB2 || type == (uint32_t)CIFS;
}

/* Opens the log for claims. O_NONBLOCK and O_NOCTTY: the path may be a FIFO or a terminal, which is refused
 * elsewhere but must not block or become ours. */
static bool open_claims(autotune_claims *claims, const char *path) {
  if (claims->fd >= 0) return true;
  claims->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (claims->fd >= 0 && is_remote(claims->fd)) autotune_claims_free(claims);
  return claims->fd >= 0;
}

/* Locks or unlocks one byte behind 2^62, where no log has data. */
static bool set_lock(int fd, short type, uint64_t hash) {
  struct flock lock = {
      .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(INT64_C(1) << 62 | (int64_t)(hash >> 3)), .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* Open-file-description locks (F_OFD_SETLK): those of POSIX would be lost when any descriptor of the
 * log is closed, and two tuners in one process would not see each other. */
bool autotune_claim(autotune_claims *claims, const char *path, uint64_t hash) {
  if (!open_claims(claims, path) || set_lock(claims->fd, F_WRLCK, hash)) return true;
  return errno != EAGAIN && errno != EACCES;
}

void autotune_unclaim(autotune_claims *claims, uint64_t hash) {
  if (claims->fd >= 0) set_lock(claims->fd, F_UNLCK, hash);
}

void autotune_claims_free(autotune_claims *claims) {
  if (claims->fd >= 0) close(claims->fd);
  claims->fd = -1;
}
