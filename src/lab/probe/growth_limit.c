// growth_limit.c - what lies between the sizes that were measured: the largest one whose program
// the device's memory holds, and the size from which time grows with another power.
#include <math.h>

#include "lab/probe/growth_internal.h"

enum { MOST_COMPILES = 24 };
static const double LARGEST_SIZE = 1 << 30;
static const double LEAST_BEND = 0.3;  // of two exponents

// The largest size above what fits and below what lacks memory that a power law through both says
// will fit; the middle where it says nothing.
static double guess(const hsc__growth_limit *found, double low) {
  double power = log(found->lacks_need / found->fits_need) / log(found->lacks / found->fits);
  double size = floor(found->fits * pow(found->capacity / found->fits_need, 1 / power));
  bool between = power > 0 && size > low && size < found->lacks;
  return between ? size : floor((low + found->lacks) / 2);
}

typedef struct search {
  hsc__growth_limit *found;
  double low;    // nothing at or below it is worth a try
  double high;   // nothing at or above it gave an answer; LARGEST_SIZE + 1 where all may
  double power;  // with which needs grow, by the sizes that were measured
  double last;   // that was tried
  int step;      // since one fits and one does not
} search;

// The size to try next; 0 = there is none left.
static double next_size(const search *s) {
  const hsc__growth_limit *found = s->found;
  double low = s->low;
  if (!found->lacks && found->fits) {
    double factor = pow(1.1 * found->capacity / found->fits_need, 1 / s->power);
    double size = ceil(found->fits * fmin(fmax(factor, 1.2), 1e6)) + 1;
    return size < s->high ? size : floor(sqrt(found->fits * s->high));
  }
  if (!found->fits)
    return found->lacks > 1 ? fmax(1, floor(found->lacks / 2)) : 0;
  if (!(found->lacks > low + 1))
    return 0;
  int step = s->step;
  // A power law is right at once or never: its guess, the size beside it, then the middle.
  if (step % 3 == 0)
    return guess(found, low);
  if (step % 3 == 1)
    return s->last == found->fits ? low + 1 : found->lacks - 1;
  return floor((low + found->lacks) / 2);
}

static void take(hsc__growth_limit *found, double size, double need) {
  if (need <= found->capacity && size > found->fits) {
    found->fits = size;
    found->fits_need = need;
  } else if (need > found->capacity && (!found->lacks || size < found->lacks)) {
    found->lacks = size;
    found->lacks_need = need;
  }
}

// 1 where the samples do not say it.
static double power_of(const hsc_growth_sample *needs, size_t count) {
  hsc_interval e;
  return hsc_growth_fit(needs, count, true, &e) && e.estimate > 0.1 ? e.estimate : 1;
}

hsc_status *hsc__growth_find_limit(const hsc_growth_sample *needs,
                                   size_t count,
                                   double capacity,
                                   hsc__growth_ask ask,
                                   void *user,
                                   hsc__growth_limit *out_found) {
  *out_found = (hsc__growth_limit){.capacity = capacity};
  for (size_t i = 0; i < count; i++)
    take(out_found, needs[i].size, needs[i].value);
  search s = {.found = out_found,
              .low = out_found->fits,
              .high = LARGEST_SIZE + 1,
              .power = power_of(needs, count)};
  for (int tries = 0; ask && tries < 4 * MOST_COMPILES; tries++) {
    hsc_growth_sample seen = {0};
    double size = next_size(&s);
    if (!(size > s.low) || out_found->compiles == MOST_COMPILES)
      return NULL;
    if (out_found->fits && out_found->lacks)
      s.step++;
    HSC_TRY(ask(user, s.low, size, &seen));
    if (!(seen.size > 0)) {  // the program takes no size from low + 1 to this one
      s.low = size;
      continue;
    }
    out_found->compiles++;
    s.last = seen.size;
    if (seen.value > 0)
      take(out_found, seen.size, seen.value);
    else if (out_found->lacks || !out_found->fits)
      return NULL;
    else
      s.high = seen.size;
    s.low = fmax(s.low, out_found->fits);
  }
  return NULL;
}

// ---- bends --------------------------------------------------------------------------------------

// The exponent between two neighbouring sizes, from the samples of both.
static bool local_exponent(
    const hsc_growth_sample *samples, size_t count, double from, double to, hsc_interval *out) {
  enum { MOST = 512 };
  hsc_growth_sample two[MOST];
  size_t n = 0;
  for (size_t i = 0; i < count && n < MOST; i++)
    if (samples[i].size == from || samples[i].size == to)
      two[n++] = samples[i];
  return hsc_growth_fit(two, n, false, out);
}

bool hsc__growth_find_bend(const hsc_growth_sample *samples,
                           size_t count,
                           const double *sizes,
                           size_t size_count,
                           hsc__growth_bend *out_bend) {
  double widest = LEAST_BEND;
  bool found = false;
  for (size_t i = 1; i + 1 < size_count; i++) {
    hsc_interval before, after;
    if (!local_exponent(samples, count, sizes[i - 1], sizes[i], &before) ||
        !local_exponent(samples, count, sizes[i], sizes[i + 1], &after))
      continue;
    bool apart = before.high < after.low || after.high < before.low;
    if (!apart || fabs(after.estimate - before.estimate) <= widest)
      continue;
    widest = fabs(after.estimate - before.estimate);
    *out_bend = (hsc__growth_bend){.size = sizes[i], .before = before, .after = after};
    found = true;
  }
  return found;
}
