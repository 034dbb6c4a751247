// child.h - child processes with a request pipe and an answer pipe.
#pragma once

#include "base/core/bytes.h"

// A child with a request pipe (its standard input), an answer pipe (descriptor 3 in the child: its
// own standard output may be polluted by libraries) and its stderr kept. Started with posix_spawn,
// never fork without exec.
typedef struct hsc_child hsc_child;
typedef struct hsc_child_options {
  // NULL-terminated; argv[0] is looked up in PATH when it has no slash
  const char *const *argv;
  // NULL-terminated "NAME=value" added to or replacing the parent's; may be NULL
  const char *const *extra_env;
  size_t memory_limit_bytes;  // RLIMIT_AS in the child; 0 = none
  size_t stderr_keep_bytes;   // how much of the end of stderr (and stdout) to keep; 0 = 64 KiB
  bool echo_stderr;           // also copy it to our stderr
  // it starts with SIGINT blocked: Ctrl-C of the terminal is for who started it, also before it can
  // say so itself
  bool shielded;
} hsc_child_options;
typedef struct hsc_child_exit {
  bool exited;     // false: still running
  int exit_code;   // when it exited by itself, else -1
  int signal;      // when a signal ended it, else 0
  bool timed_out;  // we killed it for the time limit
  int64_t max_rss_bytes;
  int64_t user_ns, system_ns;
} hsc_child_exit;
HSC_MUST_USE hsc_status *hsc_child_start(const hsc_child_options *options, hsc_child **out_child);
// UNAVAILABLE when it is dead
HSC_MUST_USE hsc_status *hsc_child_send_line(hsc_child *child, hsc_view line);
// One answer line without its newline, appended to *out_line. timeout_ns < 0 waits for ever.
// Errors: DEADLINE_EXCEEDED (the child is left running), UNAVAILABLE (it closed or died;
// hsc_child_wait tells how).
HSC_MUST_USE hsc_status *hsc_child_read_line(hsc_child *child,
                                             int64_t timeout_ns,
                                             hsc_bytes *out_line);
// the last words so far; borrowed until the next call
const char *hsc_child_stderr(hsc_child *child);
// The child also gets HSC_CHILD_NOTE_BYTES of memory shared with us, as a file at descriptor
// HSC_CHILD_NOTE_FD: what it last wrote there, as text. It costs the child no system call and is
// there after any death. "" when it wrote nothing. Borrowed until the next call.
#define HSC_CHILD_NOTE_FD 4
#define HSC_CHILD_NOTE_BYTES 256
#define HSC_CHILD_NOTE_NAME "hloscope-note"
const char *hsc_child_note(hsc_child *child);
int hsc_child_pid(const hsc_child *child);
// end of file for the child; later sends are UNAVAILABLE
void hsc_child_close_input(hsc_child *child);
void hsc_child_kill(hsc_child *child);  // SIGKILL
// timeout_ns < 0 waits for ever, 0 only looks. When the time passes, the child is left running and
// out_exit->exited is false. A child that is killed after a time limit passed (in read_line or
// here) reports timed_out.
HSC_MUST_USE hsc_status *hsc_child_wait(hsc_child *child,
                                        int64_t timeout_ns,
                                        hsc_child_exit *out_exit);
// closes its input, waits 1 s, then kills
void hsc_child_destroy(hsc_child *child);
