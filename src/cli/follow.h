// follow.h - runs a command and reads its output while it appears.
#pragma once

#include <sys/types.h>

#include "cli/command.h"
#include "doctor/log_reader.h"

typedef struct hsc_follow {
  const char *const *argv;  // argv_count arguments; argv[0] is looked up in PATH
  size_t argv_count;
  // gets what the command prints on stdout and stderr, in the order in which it comes
  hsc_log_reader *reader;
  bool echo;                                 // it also goes to our stderr, unchanged
  int64_t tick_ns;                           // on_tick is called about this often; 0 = never
  bool (*on_tick)(void *user, pid_t child);  // false ends the command (SIGTERM, after 5 s SIGKILL)
  void *user;
} hsc_follow;

typedef struct hsc_follow_end {
  int exit_code;  // 128 + signal when a signal ended it
  int signal;     // 0 = none
  bool stopped;   // on_tick asked for it
  int64_t max_rss_bytes;
  double seconds;
} hsc_follow_end;

// Runs it to its end. Ctrl-C is the command's: it ends, and then we report. Python is told to write
// at once (PYTHONUNBUFFERED), and JAX to say what it compiles (JAX_LOG_COMPILES): those lines go to
// the reader and are not echoed, unless the caller's environment asked for them.
// Errors: NOT_FOUND, PERMISSION_DENIED (cannot be started), what the reader returns.
HSC_MUST_USE hsc_status *hsc_follow_command(const hsc_follow *follow, hsc_follow_end *out_end);
