// worker.h - the child process that holds a device: JSON jobs in, JSON answers out, timed loops in
// C inside.
//
// One job per line on `in`, one answer per line on `answer_fd`, in order. A compiler that aborts,
// hangs or leaks takes this process with it and nothing else: the lab (worker_client.h) sees the
// end of the pipe, and how it ended. The protocol is docs/formats/worker.md. The process must not
// have used a plugin before. Single-threaded; the plugin may have threads.
#pragma once

#include "base/core/status.h"

enum { HSC_WORKER_PROTOCOL = 1, HSC_WORKER_ANSWER_FD = 3 };

// Serves until the end of `in` or a quit job. A bad job is an answer, not an error. Errors: the
// answer pipe broke.
HSC_MUST_USE hsc_status *hsc_worker_serve(FILE *in, int answer_fd);
