// growth_internal.h - what the parts of growth share.
#pragma once

#include "hlo/ir/hlo.h"
#include "lab/probe/growth.h"

enum { HSC__GROWTH_MOST_SIZES = 32 };

typedef struct hsc__growth_size {
  double size;
  const char *path;  // in the arena
  hsc_cost cost;     // loops counted with their trips
  bool cost_known;   // false: a loop whose trips are not known
} hsc__growth_size;

// The programs with their sizes, ascending; scaled ones are written into `directory`. `sizes` has
// room for HSC__GROWTH_MOST_SIZES. Errors: as hsc_growth.
HSC_MUST_USE hsc_status *hsc__growth_sizes(const hsc_growth_options *options,
                                           const char *directory,
                                           hsc_arena *arena,
                                           hsc__growth_size *sizes,
                                           size_t *out_count);
