// cmd_worker.c - hloscope worker: the child process that holds a device.
#include "cli/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "worker/worker.h"

// When memory runs out, the kernel takes the worker and not who waits for it.
static void be_first_for_the_kernel(void) {
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  ssize_t ignored = fd >= 0 ? write(fd, "1000", 4) : 0;
  (void)ignored;
  if (fd >= 0)
    close(fd);
}

static hsc_status *run(const void *args, hsc_cli *cli) {
  // A compiler that aborts must not leave gigabytes of core behind; an interrupt of the terminal is
  // the lab's business; without a lab, no worker.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  be_first_for_the_kernel();
  int fd = fcntl(HSC_WORKER_ANSWER_FD, F_GETFD) >= 0 ? HSC_WORKER_ANSWER_FD : STDOUT_FILENO;
  return hsc_worker_serve(stdin, fd);
}

const hsc_command_body hsc_command_worker = {
    .run = run,
    .description =
        "Reads one JSON job per line on standard input and writes one JSON answer per line to "
        "descriptor 3, or to standard output when descriptor 3 is not open. hloscope starts "
        "workers itself; run one by hand to explore the protocol (docs/formats/worker.md).",
    .examples = "echo '{\"id\": 1, \"job\": \"hello\"}' | hloscope worker",
};
