// gate_time.c - times of processes, now against before: a verdict.
#include <math.h>

#include "lab/gate/gate.h"

static const double TAIL = 0.00015;  // of each side of an interval at 99.97 %
enum { LEAST_PROCESSES = 6, MOST_PROCESSES = 192 };

// Yuen's (1974) trimmed mean with its variance: a fifth of each end is left out, since a process
// that others disturbed says nothing about the program.
typedef struct side {
  double mean, variance;  // of the mean
  double degrees;
} side;

static side side_of(double *logs, size_t count) {
  size_t cut = count / 5;
  size_t left = count - 2 * cut;
  hsc_sort_doubles(logs, count);
  double mean = hsc_stats_mean(logs + cut, left);
  for (size_t i = 0; i < cut; i++) {  // winsorized
    logs[i] = logs[cut];
    logs[count - 1 - i] = logs[count - 1 - cut];
  }
  double sd = hsc_stats_sd(logs, count);
  double variance = sd * sd * (double)(count - 1) / ((double)left * (double)(left - 1));
  return (side){mean, variance, (double)left - 1};
}

// False: one is no time.
static bool logs_of(const double *times, size_t count, double *out) {
  bool finite = true;
  for (size_t i = 0; i < count; i++) {
    out[i] = log(times[i]);
    finite &= isfinite(out[i]) != 0;
  }
  return finite;
}

hsc_gate_change hsc_gate_compare(const double *now,
                                 size_t now_count,
                                 const double *before,
                                 size_t before_count,
                                 bool paired,
                                 double drift,
                                 double margin) {
  hsc_gate_change change = {{NAN, NAN, NAN}, HSC_VERDICT_CANNOT_TELL};
  double x[MOST_PROCESSES];
  double y[MOST_PROCESSES];
  size_t least = now_count < before_count ? now_count : before_count;
  if (least < LEAST_PROCESSES || now_count > MOST_PROCESSES || before_count > MOST_PROCESSES)
    return change;
  if (!logs_of(now, now_count, x) || !logs_of(before, before_count, y))
    return change;
  for (size_t i = 0; paired && i < least; i++)
    x[i] -= y[i];
  side a = side_of(x, paired ? least : now_count);
  side b = paired ? (side){0, 0, 1} : side_of(y, before_count);
  double va = a.variance;
  double vb = b.variance;
  double degrees = a.degrees;
  if (!paired && va + vb > 0)
    degrees = (va + vb) * (va + vb) / (va * va / a.degrees + vb * vb / b.degrees);
  double effect = a.mean - b.mean;
  double half = hsc_stats_t_quantile(1 - TAIL, degrees) * sqrt(va + vb) + log1p(drift);
  if (!isfinite(effect) || !isfinite(half))
    return change;
  change.ratio = (hsc_interval){exp(effect), exp(effect - half), exp(effect + half)};
  double most = log1p(margin);
  if (effect - half > 0 && effect > log1p(margin / 2))
    change.verdict = HSC_VERDICT_SLOWER;
  else if (effect + half < 0 && effect < -log1p(margin / 2))
    change.verdict = HSC_VERDICT_FASTER;
  else if (effect - half > -most && effect + half < most)
    change.verdict = HSC_VERDICT_SAME;
  return change;
}
