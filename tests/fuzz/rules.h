// rules.h - what a fuzz target says when a rule of its reader is broken, and what came of an input.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

// What came of an input, for replay_main.c: it compares all of it with what was recorded. Nothing
// that differs between machines and runs may be said.
#ifdef HSC_FUZZ_REPLAY
void fuzz_said(hsc_view text);
#else
static inline void fuzz_said(hsc_view text) {
  (void)text;
}
#endif

static inline void fuzz_said_number(const char *what, int64_t number) {
  char text[64];
  snprintf(text, sizeof text, "%s %lld\n", what, (long long)number);
  fuzz_said((hsc_view){text, strlen(text)});
}

// Code, place and words.
static inline void fuzz_said_status(const hsc_status *status) {
  if (!status)
    return;
  fuzz_said(hsc_view_of(hsc_code_name(hsc_status_code(status))));
  fuzz_said_number(" line", hsc_status_line(status));
  fuzz_said_number("column", hsc_status_column(status));
  fuzz_said(hsc_view_of(hsc_status_message(status)));
  fuzz_said(hsc_view_of("\n"));
  fuzz_said(hsc_view_of(hsc_status_notes(status)));
}

// Ends the program, unless memory has run out on purpose (replay_main.c): then what came out of the
// reader need not be whole, it only must not crash.
static inline void fuzz_broken(void) {
  void *probe = hsc_alloc(1);
  if (probe)
    abort();
}
