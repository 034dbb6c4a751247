// cut_file.c - captures and profiles are mapped, so that they may be larger than memory. Where a
// page is touched that the file no longer has, the kernel sends SIGBUS with the address; which file
// lies there is in /proc/self/maps. What runs here runs in a signal's handler: system calls alone.
#include "cli/cut_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PATH = 1024, FIELDS_BEFORE_PATH = 5 };

// A line of maps, as far as it was read: "begin-end rw-p offset device inode   path".
typedef struct mapping {
  uintptr_t ends[2];
  int field;  // 0 = addresses, 1 = rights, ... FIELDS_BEFORE_PATH = path
  int end;    // the address that is read
  bool is_after_space;
  bool is_data;
  size_t size;
  char path[MOST_PATH];
} mapping;

static unsigned digit_of(char c) {
  return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

static void take_char(mapping *m, char c) {
  bool is_path = m->field == FIELDS_BEFORE_PATH;
  if (c == ' ' && !(is_path && m->size)) {
    m->is_after_space = true;
    return;
  }
  if (m->is_after_space && !is_path)
    m->field++;
  m->is_after_space = false;
  if (m->field == 0 && c == '-')
    m->end = 1;
  else if (m->field == 0)
    m->ends[m->end] = m->ends[m->end] * 16 + digit_of(c);
  else if (m->field == 1 && c == 'x')
    m->is_data = false;
  else if (m->field == FIELDS_BEFORE_PATH && m->size + 1 < MOST_PATH)
    m->path[m->size++] = c;
}

// The file that is mapped there as data: true with its path.
static bool find_file(uintptr_t address, mapping *m) {
  char piece[512];
  ssize_t got;
  int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  memset(m, 0, sizeof *m);
  m->is_data = true;
  while ((got = read(fd, piece, sizeof piece)) > 0)
    for (ssize_t i = 0; i < got; i++) {
      if (piece[i] != '\n') {
        take_char(m, piece[i]);
        continue;
      }
      if (address >= m->ends[0] && address < m->ends[1]) {
        close(fd);
        return m->is_data && m->path[0] == '/';
      }
      memset(m, 0, sizeof *m);
      m->is_data = true;
    }
  close(fd);
  return false;
}

static void say(const char *text) {
  size_t size = strlen(text);
  while (size > 0) {
    ssize_t put = write(STDERR_FILENO, text, size);
    if (put <= 0)
      return;
    text += put;
    size -= (size_t)put;
  }
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
  static mapping found;
  (void)context;
  if (info->si_code == BUS_ADRERR && find_file((uintptr_t)info->si_addr, &found)) {
    say("error: ");
    say(found.path);
    say(": was cut short by another process while it was read\n"
        "  hint: run this again when nobody writes the file\n");
    _exit(1);
  }
  signal(number, SIG_DFL);  // the instruction comes again, and ends the process as it would have
}

void hsc_cli_watch_cut_files(void) {
  struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
}
