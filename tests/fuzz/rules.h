// rules.h - what a fuzz target says when a rule of its reader is broken.
#pragma once

#include <stdlib.h>

#include "base/core/memory.h"

// Ends the program, unless memory has run out on purpose (replay_main.c): then what came out of the
// reader need not be whole, it only must not crash.
static inline void fuzz_broken(void) {
  void *probe = hsc_alloc(1);
  if (probe)
    abort();
}
