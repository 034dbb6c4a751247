// stats_location.c - location and spread of one series.
#include "base/core/memory.h"
#include "stats/stats_internal.h"

#include <math.h>
#include <stdlib.h>

bool hsc__has_nan(const double *x, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i]))
      return true;
  return false;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

// Doubles as unsigned numbers of the same order: negative ones with all bits turned, others with
// the sign bit set.
static uint64_t ordered_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

int64_t hsc__double_rank(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}

double hsc__double_of_rank(int64_t rank) {
  double value;
  if (rank < 0)
    rank = INT64_MIN - rank;
  memcpy(&value, &rank, sizeof value);
  return value;
}

// Radix sort by 11 bits at a time from the lowest; a digit that all keys share is passed over.
// False when there is no memory.
static bool radix_sort(double *x, size_t n) {
  enum { BITS = 11, DIGITS = 6, SIZE = 1 << BITS };
  uint64_t *keys = hsc_alloc(2 * n * sizeof(uint64_t));
  size_t(*counts)[SIZE] = hsc_alloc(sizeof(size_t[DIGITS][SIZE]));
  bool sorted = keys && counts;
  if (sorted) {
    uint64_t *from = keys;
    uint64_t *to = keys + n;
    memset(counts, 0, sizeof(size_t[DIGITS][SIZE]));
    for (size_t i = 0; i < n; i++) {
      from[i] = ordered_bits(x[i]);
      for (int d = 0; d < DIGITS; d++)
        counts[d][from[i] >> (d * BITS) & (SIZE - 1)]++;
    }
    for (int d = 0; d < DIGITS; d++) {
      if (counts[d][from[0] >> (d * BITS) & (SIZE - 1)] == n)
        continue;
      size_t at = 0;
      for (int v = 0; v < SIZE; v++) {
        size_t count = counts[d][v];
        counts[d][v] = at;
        at += count;
      }
      for (size_t i = 0; i < n; i++)
        to[counts[d][from[i] >> (d * BITS) & (SIZE - 1)]++] = from[i];
      uint64_t *other = from;
      from = to;
      to = other;
    }
    for (size_t i = 0; i < n; i++) {
      uint64_t bits = from[i] >> 63 ? from[i] & ~((uint64_t)1 << 63) : ~from[i];
      memcpy(&x[i], &bits, sizeof bits);
    }
  }
  hsc_free(keys);
  hsc_free(counts);
  return sorted;
}

void hsc_sort_doubles(double *x, size_t n) {
  if (n < 4096 || !radix_sort(x, n))
    qsort(x, n, sizeof(double), compare_doubles);
}

double *hsc__sorted_copy(const double *x, size_t n) {
  double *copy = hsc_alloc(n * sizeof(double) + 1);
  if (!copy)
    return NULL;
  memcpy(copy, x, n * sizeof(double));
  hsc_sort_doubles(copy, n);
  return copy;
}

double hsc_stats_mean(const double *x, size_t n) {
  if (n == 0)
    return NAN;
  double mean = 0;
  for (size_t i = 0; i < n; i++)
    mean += (x[i] - mean) / (double)(i + 1);
  return mean;
}

double hsc_stats_sd(const double *x, size_t n) {
  if (n < 2)
    return NAN;
  double mean = 0;
  double squares = 0;
  for (size_t i = 0; i < n; i++) {
    double delta = x[i] - mean;
    mean += delta / (double)(i + 1);
    squares += delta * (x[i] - mean);
  }
  return sqrt(squares / (double)(n - 1));
}

double hsc_stats_min(const double *x, size_t n) {
  if (n == 0 || hsc__has_nan(x, n))
    return NAN;
  double least = x[0];
  for (size_t i = 1; i < n; i++)
    if (x[i] < least)
      least = x[i];
  return least;
}

double hsc_stats_max(const double *x, size_t n) {
  if (n == 0 || hsc__has_nan(x, n))
    return NAN;
  double most = x[0];
  for (size_t i = 1; i < n; i++)
    if (x[i] > most)
      most = x[i];
  return most;
}

double hsc__median_sorted(const double *sorted, size_t n) {
  if (n == 0)
    return NAN;
  return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

double hsc__quantile_sorted(const double *sorted, size_t n, double q) {
  if (n == 0 || !(q >= 0 && q <= 1))
    return NAN;
  double position = (double)(n - 1) * q;
  size_t below = (size_t)position;
  if (below + 1 >= n)
    return sorted[n - 1];
  return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

// Puts the sample of rank k (from 0) in its place, smaller ones before it, larger ones after
// (Hoare's selection, middle of three as pivot); linear on average.
static double select_rank(double *x, size_t n, size_t k) {
  size_t low = 0;
  size_t high = n - 1;
  while (low < high) {
    double a = x[low];
    double b = x[low + (high - low) / 2];
    double c = x[high];
    double pivot;
    if (a < b) {
      if (b < c)
        pivot = b;
      else if (a < c)
        pivot = c;
      else
        pivot = a;
    } else if (a < c)
      pivot = a;
    else if (b < c)
      pivot = c;
    else
      pivot = b;
    size_t i = low;
    size_t j = high;
    for (;;) {
      while (x[i] < pivot)
        i++;
      while (x[j] > pivot)
        j--;
      if (i >= j)
        break;
      double t = x[i];
      x[i++] = x[j];
      x[j--] = t;
    }
    if (k <= j)
      high = j;
    else
      low = j + 1;
  }
  return x[k];
}

double hsc__median_in(const double *x, size_t n, double *scratch) {
  if (n == 0 || hsc__has_nan(x, n))
    return NAN;
  memmove(scratch, x, n * sizeof(double));
  double upper = select_rank(scratch, n, n / 2);
  if (n % 2)
    return upper;
  double lower = scratch[0];  // the largest of those before it
  for (size_t i = 1; i < n / 2; i++)
    if (scratch[i] > lower)
      lower = scratch[i];
  return (lower + upper) / 2;
}

double hsc_stats_median(const double *x, size_t n) {
  double *scratch = hsc_alloc(n * sizeof(double) + 1);
  double median = scratch ? hsc__median_in(x, n, scratch) : NAN;
  hsc_free(scratch);
  return median;
}

double hsc_stats_quantile(const double *x, size_t n, double q) {
  if (n == 0 || hsc__has_nan(x, n))
    return NAN;
  double *sorted = hsc__sorted_copy(x, n);
  if (!sorted)
    return NAN;
  double value = hsc__quantile_sorted(sorted, n, q);
  hsc_free(sorted);
  return value;
}

double hsc_stats_quantile_hd(const double *x, size_t n, double q) {
  if (n == 0 || hsc__has_nan(x, n) || !(q > 0 && q < 1))
    return NAN;
  double *sorted = hsc__sorted_copy(x, n);
  if (!sorted)
    return NAN;
  double a = (double)(n + 1) * q;
  double b = (double)(n + 1) * (1 - q);
  double previous = 0;
  double value = 0;
  for (size_t i = 0; i < n; i++) {
    double next = hsc_stats_beta_cdf((double)(i + 1) / (double)n, a, b);
    value += (next - previous) * sorted[i];
    previous = next;
  }
  hsc_free(sorted);
  return value;
}

double hsc__mad_in(const double *x, size_t n, double *scratch) {
  double median = hsc__median_in(x, n, scratch);
  if (isnan(median))
    return NAN;
  for (size_t i = 0; i < n; i++)
    scratch[i] = fabs(x[i] - median);
  return hsc__median_in(scratch, n, scratch) * 1.482602218505602;  // 1 / Phi^-1(3/4)
}

double hsc_stats_mad(const double *x, size_t n) {
  double *scratch = hsc_alloc(n * sizeof(double) + 1);
  double mad = scratch ? hsc__mad_in(x, n, scratch) : NAN;
  hsc_free(scratch);
  return mad;
}
