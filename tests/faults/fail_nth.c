// fail_nth.c - preloaded: the n-th call of one function fails, as on a full disk, with no
// descriptors, threads or processes left.
//
//   HLOSCOPE_TEST_FAIL=write:3:/tmp/marks    the third write of each process; a byte is added to
//                                            the file when it happens
//   HLOSCOPE_TEST_FAIL=malloc:3:/tmp/marks   the third block that the program asks for (calloc,
//                                            realloc; not those of its libraries)
//   HLOSCOPE_TEST_FAIL=clock:3:/tmp/marks    the third look at the time of day is ten years early,
//                                            the sixth ten years late, and so on
//
// Calls are counted for each process by itself; from the n-th on every third one fails, so that a
// second try fails as well; with a plus after the number (write:3+:/tmp/marks) all of them, of
// writes those into files, as on a disk that stays full.
// pwrite, ftruncate and mmap are here by the names that programs with 64-bit offsets call.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// The project hides what is not asked for; these are asked for by everybody.
#pragma GCC visibility push(default)

static _Atomic int count;

static bool fails(const char *name) {
  const char *wanted = getenv("HLOSCOPE_TEST_FAIL");
  size_t size = strlen(name);
  if (!wanted || strncmp(wanted, name, size) || wanted[size] != ':')
    return false;
  char *marks;
  long first = strtol(wanted + size + 1, &marks, 10);
  bool all = *marks == '+';
  marks += all;
  long now = atomic_fetch_add(&count, 1) + 1;
  if (now < first || (!all && (now - first) % 3) || *marks != ':')
    return false;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, marks + 1, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd >= 0) {
    syscall(SYS_write, fd, "x", (size_t)1);
    syscall(SYS_close, fd);
  }
  return true;
}

// The next definition; looked up at the first call, which the loader has made possible by then.
#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) { \
    void *found = dlsym(RTLD_NEXT, #name); \
    memcpy(&real, &found, sizeof real); \
  }

// On a full disk pipes go on.
static bool is_spared(int fd) {
  const char *wanted = getenv("HLOSCOPE_TEST_FAIL");
  struct stat file;
  return wanted && strchr(wanted, '+') && fstat(fd, &file) == 0 && !S_ISREG(file.st_mode);
}

ssize_t write(int fd, const void *data, size_t size) {
  if (!is_spared(fd) && fails("write")) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) {
  if (fails("pwrite")) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, fd, data, size, offset);
}

int fdatasync(int fd) {
  if (fails("fsync")) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off_t size) {
  if (fails("ftruncate")) {
    errno = ENOSPC;
    return -1;
  }
  return (int)syscall(SYS_ftruncate, fd, size);
}

int fsync(int fd) {
  if (fails("fsync")) {
    errno = EIO;
    return -1;
  }
  return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to) {
  if (fails("rename")) {
    errno = EACCES;
    return -1;
  }
  return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int mkdir(const char *path, mode_t mode) {
  if (fails("mkdir")) {
    errno = EROFS;
    return -1;
  }
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int pipe2(int ends[2], int flags) {
  if (fails("pipe2")) {
    errno = EMFILE;
    return -1;
  }
  return (int)syscall(SYS_pipe2, ends, flags);
}

int pthread_create(pthread_t *thread,
                   const pthread_attr_t *attributes,
                   void *(*start)(void *),
                   void *argument) {
  REAL(pthread_create)
  return fails("pthread_create") ? EAGAIN : real(thread, attributes, start, argument);
}

int posix_spawnp(pid_t *pid,
                 const char *file,
                 const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes,
                 char *const argv[],
                 char *const envp[]) {
  REAL(posix_spawnp)
  return fails("posix_spawnp") ? EAGAIN : real(pid, file, actions, attributes, argv, envp);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  REAL(posix_memalign)
  return fails("posix_memalign") ? ENOMEM : real(memory, alignment, size);
}

// Where the program's own code is: blocks that libraries ask for are theirs to handle.
static uintptr_t code_begin, code_end;

static int note_program(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
      code_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      code_end = code_begin + info->dlpi_phdr[i].p_memsz;
    }
  return 1;  // the first is the program
}

__attribute__((constructor)) static void find_program(void) {
  dl_iterate_phdr(note_program, NULL);
}

static bool block_fails(const void *caller) {
  uintptr_t at = (uintptr_t)caller;
  return at >= code_begin && at < code_end && fails("malloc");
}

// The names by which glibc's allocator can be reached from under these.
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *calloc(size_t members, size_t size) {
  if (block_fails(__builtin_return_address(0))) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_calloc(members, size);
}

void *realloc(void *memory, size_t size) {
  if (block_fails(__builtin_return_address(0))) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_realloc(memory, size);
}

// Only what maps code or files of ours: anonymous memory is the allocator's, whose callers
// (malloc) are failed one by one in the unit tests.
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  if (!(flags & MAP_STACK) && fails("mmap")) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

// The time of day jumps, as when somebody or a service sets it; other clocks go on.
static time_t jump(void) {
  enum { TEN_YEARS = 315360000 };
  static _Atomic int jumps;
  if (!fails("clock"))
    return 0;
  return atomic_fetch_add(&jumps, 1) % 2 ? TEN_YEARS : -TEN_YEARS;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  int failed = (int)syscall(SYS_clock_gettime, clock, out);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += jump();
  return failed;
}

int gettimeofday(struct timeval *out, void *zone) {
  int failed = (int)syscall(SYS_gettimeofday, out, zone);
  if (!failed)
    out->tv_sec += jump();
  return failed;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}

#pragma GCC visibility pop
