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

double hsc__patterns_process_ns(const pattern_config *config, size_t process) {
  json_t *const answers[] = {config->model[process], config->holdout[process]};
  for (size_t a = 0; a < HSC_COUNT_OF(answers); a++) {
    hsc__point points[HSC__POINTS_MOST];
    size_t count = hsc__points_of(answers[a], points);
    for (size_t i = 0; i < count; i++)
      if (points[i].executions == config->pattern->executions &&
          points[i].syncs == config->pattern->syncs)
        return points[i].median_ns;
  }
  return NAN;
}

// One process's fit; relative errors count alike.
static hsc_status *fit_process(const hsc__point *points, size_t count, double out_coefficient[2]) {
  double design[2 * HSC__POINTS_MOST], y[HSC__POINTS_MOST], weights[HSC__POINTS_MOST];
  for (size_t i = 0; i < count; i++) {
    design[2 * i] = points[i].syncs;
    design[2 * i + 1] = points[i].executions;
    y[i] = points[i].median_ns;
    weights[i] = 1 / (y[i] * y[i]);
  }
  return hsc_stats_fit_nonnegative(design, y, weights, count, 2, out_coefficient);
}

// What the form of the model misses: at each point the mean over processes of the relative errors.
// Noise of single processes is in how their coefficients differ already.
typedef struct misses {
  double sum[HSC__POINTS_MOST];
  size_t processes[HSC__POINTS_MOST], count;
  hsc__point at[HSC__POINTS_MOST];
} misses;

static void take_misses(misses *m,
                        const hsc__point *points,
                        size_t count,
                        const double coefficient[2]) {
  for (size_t i = 0; i < count; i++) {
    size_t k = 0;
    while (k < m->count &&
           (m->at[k].executions != points[i].executions || m->at[k].syncs != points[i].syncs))
      k++;
    if (k == HSC__POINTS_MOST)
      continue;
    if (k == m->count)
      m->at[m->count++] = points[i];
    double guess = points[i].syncs * coefficient[0] + points[i].executions * coefficient[1];
    m->sum[k] += guess / points[i].median_ns - 1;
    m->processes[k]++;
  }
}

static void put_residual(const misses *m, hsc__time_model *out) {
  double squares = 0;
  for (size_t k = 0; k < m->count; k++) {
    double mean = m->sum[k] / (double)m->processes[k];
    squares += mean * mean;
  }
  out->residual_freedom = (double)m->count - 2;
  out->residual = sqrt(squares / out->residual_freedom);
}

hsc_status *hsc__time_model_fit(json_t *const *answers, size_t answer_count, hsc__time_model *out) {
  *out = (hsc__time_model){0};
  misses missed = {0};
  for (size_t p = 0; p < answer_count; p++) {
    hsc__point points[HSC__POINTS_MOST];
    size_t count = hsc__points_of(answers[p], points);
    if (count < 3)
      continue;
    double *coefficient = out->coefficient[out->process_count];
    HSC_TRY(fit_process(points, count, coefficient));
    take_misses(&missed, points, count, coefficient);
    out->process_count++;
  }
  if (!out->process_count)
    return NULL;
  put_residual(&missed, out);
  double n = (double)out->process_count;
  for (int c = 0; c < 2; c++) {
    double values[HSC__MODEL_PROCESSES];
    for (size_t p = 0; p < out->process_count; p++)
      values[p] = out->coefficient[p][c];
    double mean = hsc_stats_mean(values, out->process_count);
    double reach = n >= HSC_LEAST_PROCESSES ? hsc_stats_t_quantile(0.975, n - 1) *
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
  if (m->process_count < HSC_LEAST_PROCESSES || !(mean > 0))
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
