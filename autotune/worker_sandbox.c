/* worker_sandbox.c: `tenon worker --sandbox`: from here on the process can compute, read files and answer,
 * and nothing else. It cannot start programs, open sockets, write, make or remove files, or touch other
 * processes; where the kernel grants a user namespace, it has no network either. The filter lists system
 * calls that are refused with EPERM. What computing needs stays allowed: memory, threads, and signals among
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "autotune/worker.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OWN_ARCH

/* Refused whatever their arguments are. */
static const int refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_open,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_utimensat,
    SYS_setxattr,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_open_by_handle_at,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_openat2,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setpriority,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_mq_open,
    SYS_mq_unlink,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_process_madvise
    SYS_process_madvise,
#endif
#ifdef SYS_fsopen
    SYS_fsopen,
    SYS_open_tree,
    SYS_move_mount,
#endif
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
#ifdef SYS_fchmodat2
    SYS_fchmodat2,
#endif
#ifdef __x86_64__
    SYS_unlink,
    SYS_rename,
    SYS_renameat,
    SYS_link,
    SYS_symlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_mknod,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_creat,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_fork,
    SYS_vfork,
#endif
};

/* A file is not opened if any of these flags is set: it would be written or made. */
enum { WRITING = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, RULES = 2 * RUNTIME_COUNT(refused) + 48 };

/* A seccomp filter being composed: a program for the kernel's BPF machine. */
typedef struct filter {
  struct sock_filter rules[RULES];
  int n;
} filter;

static void add(filter *f, struct sock_filter rule) { f->rules[f->n++] = rule; }

#define LOAD(field) \
  (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, field))
#define ANSWER(what) (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, (unsigned)(what))
/* Goes on with the next rule if the word is VALUE, and skips one rule otherwise. */
#define IF_EQUAL(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, 1)

/* Refuses system call NUMBER by its argument I. TEST is a jump by that word: where it goes on, the call is
 * refused; where it skips one rule, not. Only the low half of the argument is looked at, at the place where
 * little-endian machines have it. */
static void refuse_by(filter *f, int number, int i, struct sock_filter test) {
  add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 4));
  add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                      (unsigned)(offsetof(struct seccomp_data, args) + (size_t)i * sizeof(uint64_t))));
  add(f, test);
  add(f, ANSWER(SECCOMP_RET_ERRNO | EPERM));
  add(f, LOAD(nr));
}

#define IF_BITS(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(value), 0, 1)
#define UNLESS_BITS(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(value), 1, 0)
#define UNLESS_EQUAL(value) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 1, 0)

/* Signals may reach only the worker's own threads, and limits only itself. It may make threads but no
 * processes, which would outlive it. The flags of clone3 cannot be examined, so that call is reported as
 * missing, and libraries fall back to clone. TIOCSTI and TIOCLINUX would type into a terminal. */
static void refuse_others(filter *f) {
  refuse_by(f, SYS_tgkill, 0, UNLESS_EQUAL(getpid()));
  refuse_by(f, SYS_prlimit64, 0, UNLESS_EQUAL(0));
  refuse_by(f, SYS_clone, 0, UNLESS_BITS(CLONE_THREAD));
  refuse_by(f, SYS_ioctl, 1, IF_EQUAL(TIOCSTI));
  refuse_by(f, SYS_ioctl, 1, IF_EQUAL(TIOCLINUX));
#ifdef SYS_clone3
  add(f, IF_EQUAL(SYS_clone3));
  add(f, ANSWER(SECCOMP_RET_ERRNO | ENOSYS));
#endif
}

/* A call in another architecture's numbering ends the process. */
static void compose(filter *f) {
  add(f, LOAD(arch));
  add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
  add(f, ANSWER(SECCOMP_RET_KILL_PROCESS));
  add(f, LOAD(nr));
#ifdef __x86_64__
  add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* the x32 numbering */
  add(f, ANSWER(SECCOMP_RET_KILL_PROCESS));
  refuse_by(f, SYS_open, 1, IF_BITS(WRITING));
#endif
  refuse_by(f, SYS_openat, 2, IF_BITS(WRITING));
  refuse_others(f);
  for (int i = 0; i < RUNTIME_COUNT(refused); ++i) {
    add(f, IF_EQUAL(refused[i]));
    add(f, ANSWER(SECCOMP_RET_ERRNO | EPERM));
  }
  add(f, ANSWER(SECCOMP_RET_ALLOW));
}

/* Call it before the first thread is started, since a user namespace can only be made then. */
bool worker_sandbox(char *why, size_t n) {
  filter f = {.n = 0};
  bool has_namespace = unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0;
  compose(&f);
  struct sock_fprog program = {.len = (unsigned short)f.n, .filter = f.rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    snprintf(why, n, "the kernel takes no seccomp filter: %s", strerror(errno));
    return false;
  }
  if (!has_namespace) dprintf(STDERR_FILENO, "tenon worker: no user namespace: the sandbox is the filter alone\n");
  return true;
}

#else

bool worker_sandbox(char *why, size_t n) {
  snprintf(why, n, "there is no filter for this processor");
  return false;
}

#endif
