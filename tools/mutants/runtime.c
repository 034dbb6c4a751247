// runtime.c - linked into everything that a build with faults links: which fault is on
// (HSC_MUTANT, a number of the lists; none by default), and which were reached (a byte for each in
// the file HSC_MUTANT_REACHED, which processes share, so that children and the dead count too).
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAP_BYTES = 8 << 20 };

#define HIDDEN __attribute__((visibility("hidden")))

static unsigned char unread[MAP_BYTES];

HIDDEN int hsc_mutant;
HIDDEN unsigned char *hsc_mutant_reached = unread;
HIDDEN long hsc_mutant_nothing(void);

HIDDEN long hsc_mutant_nothing(void) {
  return 0;
}

__attribute__((constructor(101))) static void begin(void) {
  const char *number = getenv("HSC_MUTANT");
  const char *path = getenv("HSC_MUTANT_REACHED");
  hsc_mutant = number ? atoi(number) : 0;
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0)
    return;
  void *map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (map != MAP_FAILED)
    hsc_mutant_reached = map;
  close(file);
}
