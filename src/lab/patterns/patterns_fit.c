// patterns_fit.c - a s + b k: what s synchronisations and k executions take, fitted over several
// worker processes.
//
// A process differs from the next one by more than its own runs differ among each other (addresses,
// code alignment, the machine's state), so each process gives one fit, and intervals come from how
// the fits differ. Neither term can be negative: no synchronisation gives time back.
#include <math.h>

#include "lab/patterns/patterns_internal.h"

// Medians of the times at each (k, s) of an answer of a model job.
size_t hsc__points_of(json_t *answer, hsc__point points[HSC__POINTS_MOST]) {
  size_t n;
  size_t kn;
  size_t sn;
  size_t count = 0;
  double *time = hsc_json_doubles(hsc_json_path(answer, "series", "time_ns", NULL), &n);
  double *k = hsc_json_doubles(hsc_json_path(answer, "series", "executions_count", NULL), &kn);
  double *s = hsc_json_doubles(hsc_json_path(answer, "series", "syncs_count", NULL), &sn);
  double *group = n ? hsc_alloc(n * sizeof(double)) : NULL;
  for (size_t i = 0; group && kn == n && sn == n && i < n && count < HSC__POINTS_MOST; i++) {
    bool seen = false;
    for (size_t p = 0; p < count && !seen; p++)
      seen = points[p].executions == k[i] && points[p].syncs == s[i];
    if (seen)
      continue;
    size_t m = 0;
    for (size_t j = i; j < n; j++)
      if (k[j] == k[i] && s[j] == s[i])
        group[m++] = time[j];
    points[count++] = (hsc__point){k[i], s[i], hsc_stats_median(group, m), m};
  }
  hsc_free(time);
  hsc_free(k);
  hsc_free(s);
  hsc_free(group);
  return count;
}

// One process's fit; relative errors count alike. *out_squares: of its relative residuals.
static hsc_status *fit_process(const hsc__point *points,
                               size_t count,
                               double out_coefficient[2],
                               double *out_squares) {
  double design[2 * HSC__POINTS_MOST], y[HSC__POINTS_MOST], weights[HSC__POINTS_MOST];
  for (size_t i = 0; i < count; i++) {
    design[2 * i] = points[i].syncs;
    design[2 * i + 1] = points[i].executions;
    y[i] = points[i].median_ns;
    weights[i] = 1 / (y[i] * y[i]);
  }
  HSC_TRY(hsc_stats_fit_nonnegative(design, y, weights, count, 2, out_coefficient));
  for (size_t i = 0; i < count; i++) {
    double guess = design[2 * i] * out_coefficient[0] + design[2 * i + 1] * out_coefficient[1];
    *out_squares += (guess / y[i] - 1) * (guess / y[i] - 1);
  }
  return NULL;
}

hsc_status *hsc__time_model_fit(json_t *const *answers, size_t answer_count, hsc__time_model *out) {
  *out = (hsc__time_model){0};
  double squares = 0;
  for (size_t p = 0; p < answer_count; p++) {
    hsc__point points[HSC__POINTS_MOST];
    size_t count = hsc__points_of(answers[p], points);
    if (count < 3)
      continue;
    HSC_TRY(fit_process(points, count, out->coefficient[out->process_count], &squares));
    out->process_count++;
    out->residual_freedom += (double)count - 2;
  }
  if (!out->process_count)
    return NULL;
  out->residual = sqrt(squares / out->residual_freedom);
  double n = (double)out->process_count;
  for (int c = 0; c < 2; c++) {
    double values[HSC__MODEL_PROCESSES];
    for (size_t p = 0; p < out->process_count; p++)
      values[p] = out->coefficient[p][c];
    double mean = hsc_stats_mean(values, out->process_count);
    double reach = n > 1 ? hsc_stats_t_quantile(0.975, n - 1) *
                               hsc_stats_sd(values, out->process_count) / sqrt(n)
                         : NAN;
    out->term[c] = (hsc_interval){mean, fmax(0, mean - reach), mean + reach};
    if (isnan(reach))
      out->term[c].low = out->term[c].high = NAN;
  }
  return NULL;
}

hsc_interval hsc__time_model_at(const hsc__time_model *m, double syncs, double executions) {
  double values[HSC__MODEL_PROCESSES];
  double n = (double)m->process_count;
  for (size_t p = 0; p < m->process_count; p++)
    values[p] = syncs * m->coefficient[p][0] + executions * m->coefficient[p][1];
  double mean = hsc_stats_mean(values, m->process_count);
  if (m->process_count < 2 || !(mean > 0))
    return (hsc_interval){mean, NAN, NAN};
  // A new process: how processes differ, and what the form of the model misses within one (Welch &
  // Satterthwaite for the degrees of freedom).
  double sd = hsc_stats_sd(values, m->process_count) / mean;
  double between = sd * sd * (1 + 1 / n);
  double within = m->residual * m->residual;
  double total = between + within;
  double freedom =
      total * total / (between * between / (n - 1) + within * within / m->residual_freedom);
  double reach = total > 0 ? hsc_stats_t_quantile(0.975, fmax(1, freedom)) * sqrt(total) : 0;
  return (hsc_interval){mean, mean * exp(-reach), mean * exp(reach)};
}
