// interrupt.c - see interrupt.h.
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

volatile int hsc_cli_stop;

static void on_interrupt(int signal_number) {
  hsc_cli_stop = signal_number;
}

void hsc_cli_catch_interrupt(void) {
  struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}
