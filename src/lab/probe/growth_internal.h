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
// room for HSC__GROWTH_MOST_SIZES. *out_symbol is the symbolic dimension that the sizes are of,
// NULL when they are of something else. Errors: as hsc_growth.
HSC_MUST_USE hsc_status *hsc__growth_sizes(const hsc_growth_options *options,
                                           const char *directory,
                                           hsc_arena *arena,
                                           hsc__growth_size *sizes,
                                           size_t *out_count,
                                           const char **out_symbol);

// Writes the program at one size of its symbolic dimension into `directory`. Errors: those of
// reading; INVALID_ARGUMENT for a size that the program refuses.
HSC_MUST_USE hsc_status *hsc__growth_size_symbol(const hsc_growth_options *options,
                                                 const char *name,
                                                 double size,
                                                 const char *directory,
                                                 hsc_arena *arena,
                                                 const char **out_path);

// The largest size that the memory of a device holds.
typedef struct hsc__growth_limit {
  double capacity;               // bytes
  double fits, lacks;            // sizes; 0 = none was seen that fits, that does not
  double fits_need, lacks_need;  // bytes
  int compiles;                  // that it took
} hsc__growth_limit;
// What the largest size that the program takes from above `low` up to `size` needs: *out_seen.size
// 0 when it takes none; .value 0 when the device does not say, infinite when it only says that it
// is too much.
typedef hsc_status *(*hsc__growth_ask)(void *user,
                                       double low,
                                       double size,
                                       hsc_growth_sample *out_seen);
// From the needs that were measured, and further by `ask` (NULL = no further), until the largest
// size that fits and the least that does not are neighbours, or 24 compiles have been spent.
HSC_MUST_USE hsc_status *hsc__growth_find_limit(const hsc_growth_sample *needs,
                                                size_t count,
                                                double capacity,
                                                hsc__growth_ask ask,
                                                void *user,
                                                hsc__growth_limit *out_found);

// Where the exponent changes most: below and above one of the sizes, by intervals that do not
// overlap.
typedef struct hsc__growth_bend {
  double size;
  hsc_interval before, after;
} hsc__growth_bend;
bool hsc__growth_find_bend(const hsc_growth_sample *samples,
                           size_t count,
                           const double *sizes,
                           size_t size_count,
                           hsc__growth_bend *out_bend);
