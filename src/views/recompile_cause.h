// recompile_cause.h - why a program was compiled again, in one sentence.
#pragma once

#include "hlo/ir/hlo.h"

// True when one of the earlier programs of this name is an earlier form of `now`: the same
// operations, or written at the same place. No NULL entries.
bool hsc__recompile_same_function(hsc_module *const *earlier,
                                  int earlier_count,
                                  const hsc_module *now);
// Compares `now` with the nearest of the earlier programs (NULL entries are skipped) and appends
// the sentence; appends nothing when there is none.
void hsc__recompile_cause(hsc_module *const *earlier,
                          int earlier_count,
                          const hsc_module *now,
                          hsc_bytes *out);
