// spill.c - large pieces of memory in files without names, and what keeps the process small.
//
// Read from the bottom: what alloc.c calls; then `on_turn`, which looks at the process every few
// milliseconds of its processor time and lets go of pages; above it the list of pieces that both
// share. Room on disk is taken when a piece is made, so that a full disk is a piece that lies in
// memory instead, and never a signal in the middle of a loop.
//
// A signal and no thread: on a machine with more to do than processors, a thread that is to wake up
// every millisecond came 70 ms late, and the others had filled a gigabyte meanwhile.
#include "base/core/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PIECES = 1024, PAGE = 4096 };
static const long TURN_NS = 2000000;  // of processor time
static const long TMPFS = 0x01021994;

typedef struct piece {
  char *at;
  size_t size;
  int fd;  // -1: a mapping of somebody's file
} piece;

static atomic_flag busy = ATOMIC_FLAG_INIT;  // somebody reads or changes what follows
static piece pieces[MOST_PIECES];
static int piece_count;
static size_t mapped_bytes;  // of all pieces
static bool is_kept;         // the timer was asked for
static int statm = -1;       // /proc/self/statm, open for the handler
static _Atomic bool begun;
static _Atomic int shared_count;  // piece_count, to be looked at without `busy`

// ---- the list -----------------------------------------------------------------------------------

static void take_list(void) {
  while (atomic_flag_test_and_set(&busy))
    sched_yield();
}

static void give_list(void) {
  atomic_flag_clear(&busy);
}

static piece *find(const void *at) {
  for (int i = 0; i < piece_count; i++)
    if (pieces[i].at == at)
      return &pieces[i];
  return NULL;
}

static void remove_piece(piece *p) {
  mapped_bytes -= p->size;
  *p = pieces[--piece_count];
  atomic_store(&shared_count, piece_count);
}

// ---- keeping the process small ------------------------------------------------------------------

// Bytes of this process that are in memory; 0 = not known. In a signal's handler: no stdio.
static size_t resident_bytes(void) {
  char text[128];
  ssize_t size = pread(statm, text, sizeof text, 0);
  ssize_t at = 0;
  size_t pages = 0;
  while (at < size && text[at] != ' ')
    at++;
  for (at++; at < size && text[at] >= '0' && text[at] <= '9'; at++)
    pages = 10 * pages + (size_t)(text[at] - '0');
  return pages * PAGE;
}

// Pages of mapped files only leave the process: what was written to them is the file's.
static void let_go(void) {
  for (int i = 0; i < piece_count; i++) {
    uintptr_t begin = ((uintptr_t)pieces[i].at + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)pieces[i].at + pieces[i].size) & ~(uintptr_t)(PAGE - 1);
    if (end > begin)
      madvise((void *)begin, end - begin, MADV_DONTNEED);
  }
}

// Where somebody is at the list, the next look will do.
static void look(void) {
  if (atomic_flag_test_and_set(&busy))
    return;
  if (resident_bytes() > HSC_SPILL_RESIDENT_BYTES)
    let_go();
  atomic_flag_clear(&busy);
}

// On the thread that works, so that it cannot go on filling memory meanwhile.
static void on_turn(int signal_number) {
  (void)signal_number;
  int kept_errno = errno;
  look();
  errno = kept_errno;
}

// Turns are counted in processor time: a process that waits takes no memory. Little needs no
// keeping, and without a timer the process gets as large as it gets.
static void keep(void) {
  timer_t timer;
  if (is_kept || mapped_bytes < HSC_SPILL_RESIDENT_BYTES)
    return;
  struct sigaction action = {.sa_handler = on_turn, .sa_flags = SA_RESTART};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 5};
  struct itimerspec turn = {{0, TURN_NS}, {0, TURN_NS}};
  is_kept = true;
  statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (statm >= 0 && sigaction(event.sigev_signo, &action, NULL) == 0 &&
      timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0)
    timer_settime(timer, 0, &turn, NULL);
}

static bool add_piece(piece fresh) {
  if (piece_count == MOST_PIECES)
    return false;
  // pages of 2 MiB would come in faster than anybody can look
  madvise(fresh.at, fresh.size, MADV_NOHUGEPAGE);
  pieces[piece_count++] = fresh;
  mapped_bytes += fresh.size;
  atomic_store(&shared_count, piece_count);
  keep();
  return true;
}

// ---- pieces -------------------------------------------------------------------------------------

void hsc_spill_begin(void) {
  atomic_store(&begun, true);
}

void hsc_spill_passed(size_t item) {
  if (item % HSC_SPILL_LOOK_ITEMS == 0 && atomic_load_explicit(&shared_count, memory_order_relaxed))
    look();
}

void hsc_spill_watch(const void *at, size_t size_bytes) {
  if (!atomic_load(&begun) || size_bytes < HSC_SPILL_BYTES)
    return;
  take_list();
  add_piece((piece){(char *)(uintptr_t)at, size_bytes, -1});
  give_list();
}

void hsc_spill_forget(const void *at) {
  take_list();
  piece *found = find(at);
  if (found)
    remove_piece(found);
  give_list();
}

// A file without a name, of a folder that is on a disk; -1 = there is none.
static int open_file(void) {
  const char *const folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    struct statfs info;
    int fd =
        folders[i] && *folders[i] ? open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && fstatfs(fd, &info) == 0 && info.f_type != TMPFS)
      return fd;
    if (fd >= 0)
      close(fd);
  }
  return -1;
}

void *hsc__spill_alloc(size_t size_bytes) {
  if (size_bytes < HSC_SPILL_BYTES || !atomic_load(&begun) || size_bytes > PTRDIFF_MAX)
    return NULL;
  int fd = open_file();
  if (fd < 0)
    return NULL;
  void *memory = MAP_FAILED;
  if (fallocate(fd, 0, 0, (off_t)size_bytes) == 0)
    memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  bool kept = false;
  if (memory != MAP_FAILED) {
    take_list();
    kept = add_piece((piece){memory, size_bytes, fd});
    give_list();
  }
  if (kept)
    return memory;
  if (memory != MAP_FAILED)
    munmap(memory, size_bytes);
  close(fd);
  return NULL;
}

// malloc's own large pieces begin 16 bytes after a page, so hardly any look takes the lock.
static bool may_be_piece(const void *memory) {
  return memory && !((uintptr_t)memory & (PAGE - 1)) && atomic_load(&shared_count);
}

bool hsc_spill_holds(const void *memory) {
  if (!may_be_piece(memory))
    return false;
  take_list();
  bool holds = find(memory) != NULL;
  give_list();
  return holds;
}

bool hsc__spill_free(void *memory) {
  piece gone = {.fd = -1};
  if (!may_be_piece(memory))
    return false;
  take_list();
  piece *found = find(memory);
  if (found && found->fd >= 0) {
    gone = *found;
    remove_piece(found);
  }
  give_list();
  if (gone.fd < 0)
    return false;
  munmap(gone.at, gone.size);
  close(gone.fd);
  return true;
}

bool hsc__spill_resize(void **memory, size_t size_bytes) {
  if (!may_be_piece(*memory))
    return false;
  take_list();
  piece *found = find(*memory);
  bool is_ours = found && found->fd >= 0;
  if (is_ours && size_bytes > found->size) {
    void *at = MAP_FAILED;
    if (size_bytes <= PTRDIFF_MAX && fallocate(found->fd, 0, 0, (off_t)size_bytes) == 0)
      at = mremap(found->at, found->size, size_bytes, MREMAP_MAYMOVE);
    *memory = at == MAP_FAILED ? NULL : at;
    if (*memory) {
      mapped_bytes += size_bytes - found->size;
      found->at = at;
      found->size = size_bytes;
    }
  }
  give_list();
  return is_ours;
}
