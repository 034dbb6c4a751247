// python.c - the environment of Pythons that we start.
#include "base/process/python.h"

#include <stdlib.h>

char *hsc_python_path(hsc_arena *arena, const char *folder) {
  const char *before = getenv("PYTHONPATH");
  if (!before || !*before)
    return hsc_arena_printf(arena, "PYTHONPATH=%s", folder);
  return hsc_arena_printf(arena, "PYTHONPATH=%s:%s", folder, before);
}
