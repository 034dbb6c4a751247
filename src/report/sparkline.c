// sparkline.c - medians of equal shares, in eight heights.
#include "report/sparkline.h"

#include <math.h>
#include <stdlib.h>

enum { WIDEST = 200, SHARE = 64 };

static int compare(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

// Median of up to 64 samples spread over [from, to).
static double share_median(const double *x, size_t from, size_t to) {
  double some[SHARE];
  size_t count = to - from;
  size_t step = (count + SHARE - 1) / SHARE;
  size_t m = 0;
  for (size_t i = from; i < to && m < SHARE; i += step)
    if (isfinite(x[i]))
      some[m++] = x[i];
  if (m == 0)
    return NAN;
  qsort(some, m, sizeof *some, compare);
  return some[m / 2];
}

// Where x lies from low (0) to high (1), all finite, low < high. The difference of two finite
// numbers may be infinite, that of their halves is not.
static double share_of_range(double x, double low, double high) {
  double share = (x / 2 - low / 2) / (high / 2 - low / 2);
  return share >= 0 && share <= 1 ? share : share > 1;
}

void hsc_sparkline(const double *x, size_t n, int width, bool unicode, hsc_bytes *out) {
  static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
  static const char *const plain[] = {".", ":", "-", "=", "#"};
  double column[WIDEST];
  double low = INFINITY;
  double high = -INFINITY;
  size_t columns;
  if (width < 1)
    columns = 0;
  else if (width > WIDEST)
    columns = WIDEST;
  else
    columns = (size_t)width;
  if (columns > n)
    columns = n;
  for (size_t c = 0; c < columns; c++) {
    column[c] = share_median(x, n * c / columns, n * (c + 1) / columns);
    if (isnan(column[c]))
      continue;
    low = fmin(low, column[c]);
    high = fmax(high, column[c]);
  }
  int steps = unicode ? 8 : 5;
  for (size_t c = 0; c < columns; c++) {
    if (isnan(column[c])) {
      hsc_bytes_append_text(out, " ");
      continue;
    }
    int step = steps / 2 - 1;
    if (high > low)
      step = (int)(share_of_range(column[c], low, high) * (steps - 1) + 0.5);
    hsc_bytes_append_text(out, unicode ? blocks[step] : plain[step]);
  }
}
