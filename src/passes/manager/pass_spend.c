// pass_spend.c - counts a pass's rewrites, and stops it when its fuel is spent.
#include <errno.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/files/file_io.h"
#include "base/text/text.h"
#include "passes/manager/passes_internal.h"

bool hsc__pass_spend(hsc_pass_context *cx) {
  if (cx->fuel == 0 || cx->pass_fuel == 0)
    return false;
  if (cx->fuel > 0)
    cx->fuel--;
  if (cx->pass_fuel > 0)
    cx->pass_fuel--;
  cx->rewrites++;
  cx->changed = true;
  return true;
}
