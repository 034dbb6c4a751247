// interrupt.c - see interrupt.h.
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/files/file_io.h"

volatile int hsc_cli_stop;

// Ends the process as the signal does by itself, so that a shell sees what ended it.
static void on_end(int signal_number) {
  hsc_file_drop_unfinished();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void end_cleanly_on(int signal_number) {
  struct sigaction action = {.sa_handler = on_end};
  struct sigaction before;
  // who started it may not want it to end: nohup
  if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
    sigaction(signal_number, &action, NULL);
}

void hsc_cli_end_cleanly(void) {
  end_cleanly_on(SIGINT);
  end_cleanly_on(SIGTERM);
  end_cleanly_on(SIGHUP);
}

static void on_interrupt(int signal_number) {
  struct sigaction action = {.sa_handler = on_end};
  hsc_cli_stop = signal_number;
  sigaction(signal_number, &action, NULL);
}

void hsc_cli_catch_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}
