// stats_modes.c - the modes of a series: a density, its valleys, and whether each valley is deeper
// than chance makes them.
#include <math.h>

#include "base/core/memory.h"
#include "stats/stats_internal.h"

enum { GRID = 1024 };
static const double PI = 3.14159265358979323846;

// DCT-II of the grid and back, by a table of the cosines of a full turn: two million products, done
// once or twice a series.
typedef struct cosines {
  double of[4 * GRID];
} cosines;

static void transform(const cosines *table, const double *in, double *out, bool back) {
  for (size_t k = 0; k < GRID; k++) {
    // The angle of element i is k (2 i + 1), or i (2 k + 1) on the way back, of a turn of 4 GRID;
    // it grows by the same step each time.
    size_t angle = back ? 0 : k;
    size_t step = back ? 2 * k + 1 : 2 * k;
    double sum = back ? -0.5 * in[0] : 0;
    for (size_t i = 0; i < GRID; i++) {
      sum += in[i] * table->of[angle];
      angle += step;
      if (angle >= 4 * GRID)
        angle -= 4 * GRID;
    }
    out[k] = back ? 2 * sum / GRID : sum;
  }
}

// One step of Botev's fixed point: gamma^[7](t) - t, with the squared coefficients a2[k] of the
// histogram.
static double fixed_point(double t, double n, const double *a2) {
  double f = 0;
  for (int s = 7; s >= 2; s--) {
    if (s < 7) {
      double odd = 1;
      for (int i = 1; i < 2 * s; i += 2)
        odd *= i;
      t = pow(2 * (1 + pow(0.5, s + 0.5)) / 3 * odd / sqrt(2 * PI) / (n * f), 2 / (3.0 + 2 * s));
    }
    f = 0;
    for (size_t k = 1; k < GRID; k++) {
      double square = (double)k * (double)k;
      double power = square * square;
      double damping = square * PI * PI * t;
      if (damping > 700)
        break;
      for (int i = 2; i < s; i++)
        power *= square;
      f += power * a2[k] * exp(-damping);
    }
    f *= 2 * pow(PI, 2 * s);
  }
  return pow(2 * n * sqrt(PI) * f, -0.4);
}

// Improved Sheather-Jones bandwidth (Botev, Grotowski & Kroese 2010), squared, as a share of the
// grid; 0 when there is no root.
static double bandwidth_squared(const double *coefficients, double n) {
  double a2[GRID];
  double low = 1e-9;
  double high = 0.1;
  for (size_t k = 0; k < GRID; k++)
    a2[k] = coefficients[k] * coefficients[k];
  double at_low = fixed_point(low, n, a2) - low;
  double at_high = fixed_point(high, n, a2) - high;
  if (!isfinite(at_low) || !isfinite(at_high) || at_low * at_high > 0)
    return 0;
  for (int i = 0; i < 40; i++) {
    double middle = sqrt(low * high);
    double value = fixed_point(middle, n, a2) - middle;
    if ((value > 0) == (at_low > 0))
      low = middle;
    else
      high = middle;
  }
  return low;
}

static size_t count_between(const double *sorted, size_t n, double low, double high) {
  size_t ends[2];
  for (int e = 0; e < 2; e++) {
    size_t from = 0;
    size_t to = n;
    double limit = e ? high : low;
    while (from < to) {
      size_t middle = from + (to - from) / 2;
      if (sorted[middle] < limit)
        from = middle + 1;
      else
        to = middle;
    }
    ends[e] = from;
  }
  return ends[1] - ends[0];
}

typedef struct peak {
  double at, valley;  // on the working scale; the valley is the one after it
} peak;

// Whether the valley between two peaks holds fewer samples than windows of the same width at the
// peaks: a one-sided binomial test at 0.001, and 0.7 times at most, so that in a million samples a
// ripple is no valley.
static bool is_valley(
    const double *v, size_t n, double left, double valley, double right, double half) {
  half = fmin(half, 0.5 * fmin(valley - left, right - valley));
  double in_valley = (double)count_between(v, n, valley - half, valley + half);
  double at_left = (double)count_between(v, n, left - half, left + half);
  double at_right = (double)count_between(v, n, right - half, right + half);
  double lesser = fmin(at_left, at_right);
  double total = in_valley + lesser;
  if (total == 0 || in_valley > 0.7 * lesser)
    return false;
  // P(Binomial(total, 1/2) <= in_valley)
  double chance = lesser == 0 ? 1 : hsc_stats_beta_cdf(0.5, total - in_valley, in_valley + 1);
  return chance < 0.001;
}

// Peaks of the density on the working scale v (sorted); room for GRID.
static hsc_status *find_peaks(
    const double *v, size_t n, peak *peaks, size_t *out_count, double *out_half) {
  double low = v[0];
  double high = v[n - 1];
  double margin = 0.1 * (high - low);
  low -= margin;
  high += margin;
  double width = (high - low) / GRID;
  double *histogram = hsc_alloc(3 * GRID * sizeof(double));
  cosines *table = hsc_alloc(sizeof *table);
  size_t count = 0;
  size_t distinct = 1;
  hsc_status *status = histogram && table ? NULL : hsc_status_out_of_memory();
  if (status)
    goto done;
  double *coefficients = histogram + GRID;
  double *density = coefficients + GRID;
  memset(histogram, 0, GRID * sizeof(double));
  for (size_t i = 0; i < 4 * GRID; i++)
    table->of[i] = cos(PI * (double)i / (2.0 * GRID));
  for (size_t i = 0; i < n; i++) {
    size_t bin = (size_t)((v[i] - low) / width);
    histogram[bin < GRID ? bin : GRID - 1] += 1 / (double)n;
    distinct += i > 0 && v[i] != v[i - 1];
  }
  transform(table, histogram, coefficients, false);
  double t = bandwidth_squared(coefficients, (double)distinct);
  double spread =
      fmin(hsc_stats_sd(v, n),
           (hsc__quantile_sorted(v, n, 0.75) - hsc__quantile_sorted(v, n, 0.25)) / 1.34);
  double bandwidth = sqrt(t) * (high - low);
  if (!(t > 0))
    bandwidth = 0.9 * (spread > 0 ? spread : hsc_stats_sd(v, n)) * pow((double)n, -0.2);
  // A clock's ticks are no modes: at least three times the step between neighbours where values
  // repeat.
  if (distinct < n / 2) {
    double step = INFINITY;
    for (size_t i = 1; i < n; i++)
      if (v[i] > v[i - 1])
        step = fmin(step, v[i] - v[i - 1]);
    if (3 * step < 0.1 * (v[n - 1] - v[0]))
      bandwidth = fmax(bandwidth, 3 * step);
  }
  bandwidth = fmax(bandwidth, width);
  t = bandwidth / (high - low);
  for (size_t k = 0; k < GRID; k++)
    coefficients[k] *= exp(-0.5 * (double)k * (double)k * PI * PI * t * t);
  transform(table, coefficients, density, true);
  for (size_t i = 1; i + 1 < GRID; i++) {
    if (!(density[i] > density[i - 1] && density[i] >= density[i + 1] && density[i] > 1e-9))
      continue;
    peaks[count++].at = low + ((double)i + 0.5) * width;
  }
  for (size_t p = 0; p + 1 < count; p++) {
    size_t least = (size_t)((peaks[p].at - low) / width);
    size_t end = (size_t)((peaks[p + 1].at - low) / width);
    for (size_t i = least; i <= end; i++)
      if (density[i] < density[least])
        least = i;
    peaks[p].valley = low + ((double)least + 0.5) * width;
  }
  *out_count = count;
  *out_half = bandwidth;

done:
  hsc_free(histogram);
  hsc_free(table);
  return status;
}

// The valleys that count, from the shallowest to the deepest: those that do not join their two
// peaks. The heavier side keeps its place.
static size_t join(const double *v, size_t n, peak *peaks, size_t count, double half) {
  for (bool changed = true; changed && count > 1;) {
    changed = false;
    for (size_t p = 0; p + 1 < count && !changed; p++) {
      double from = p ? peaks[p - 1].valley : -INFINITY;
      double to = p + 2 < count ? peaks[p + 1].valley : INFINITY;
      size_t left = count_between(v, n, from, peaks[p].valley);
      size_t right = count_between(v, n, peaks[p].valley, to);
      size_t least = n / 50 > 5 ? n / 50 : 5;
      if (left >= least && right >= least &&
          is_valley(v, n, peaks[p].at, peaks[p].valley, peaks[p + 1].at, half))
        continue;
      if (right > left)
        peaks[p].at = peaks[p + 1].at;
      peaks[p].valley = peaks[p + 1].valley;
      memmove(&peaks[p + 1], &peaks[p + 2], (count - p - 2) * sizeof *peaks);
      count--;
      changed = true;
    }
  }
  return count;
}

hsc_status *hsc_stats_modes(
    const double *x, size_t n, hsc_mode *out_modes, size_t room, size_t *out_count) {
  *out_count = 0;
  double *sorted = hsc_alloc((2 * n + 1) * sizeof(double));
  peak *peaks = hsc_alloc(GRID * sizeof *peaks);
  size_t m = 0;
  hsc_status *status = sorted && peaks ? NULL : hsc_status_out_of_memory();
  if (status)
    goto done;
  for (size_t i = 0; i < n; i++)
    if (isfinite(x[i]))
      sorted[m++] = x[i];
  if (m == 0)
    goto done;
  hsc_sort_doubles(sorted, m);
  size_t count = 1;
  double half = 0;
  double *v = sorted + n;
  if (m >= 16 && sorted[m - 1] > sorted[0]) {
    bool positive = sorted[0] > 0;  // times differ by factors
    for (size_t i = 0; i < m; i++)
      v[i] = positive ? log(sorted[i]) : sorted[i];
    HSC_GOTO(find_peaks(v, m, peaks, &count, &half));
    count = count ? join(v, m, peaks, count, half) : 1;
    // Levels that lie closer than 2 % are one for people.
    for (size_t p = 0; positive && p + 1 < count;) {
      if (peaks[p + 1].at - peaks[p].at >= 0.02) {
        p++;
        continue;
      }
      peaks[p].valley = peaks[p + 1].valley;
      memmove(&peaks[p + 1], &peaks[p + 2], (count - p - 2) * sizeof *peaks);
      count--;
    }
  } else {
    memcpy(v, sorted, m * sizeof(double));
  }
  size_t from = 0;
  for (size_t p = 0; p < count && p < room; p++) {
    size_t to = p + 1 < count && p + 1 < room ? count_between(v, m, -INFINITY, peaks[p].valley) : m;
    if (to <= from)
      continue;
    out_modes[(*out_count)++] =
        (hsc_mode){hsc__median_sorted(sorted + from, to - from), sorted[from], sorted[to - 1],
                   to - from, (double)(to - from) / (double)m};
    from = to;
  }

done:
  hsc_free(sorted);
  hsc_free(peaks);
  return status;
}
