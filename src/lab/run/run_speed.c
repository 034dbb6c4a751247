// run_speed.c - which device is faster: further processes of each, and what follows from them.
//
// What differs from one process to the next (where memory and code come to lie, what the machine
// does then) stays within a process: its own blocks do not show it. So a claim and an interval of
// several processes come from their medians; processes of one round ran in turn.
#include "base/core/memory.h"
#include "lab/run/run_internal.h"

#include <math.h>

#include "lab/run/json_tree.h"
#include "lab/store/environment.h"
#include "stats/stats_interleaved.h"

static const double LONG_ROUND_S = 10;
static const double LONG_PROCESS_S = 0.5;  // of timed runs

static hsc_status *take_process(hsc__device_run *device, const hsc_sampling *timed) {
  size_t n = timed->count;
  hsc__process_times *more =
      hsc_realloc(device->processes, (device->process_count + 1) * sizeof *more);
  if (!more)
    return hsc_status_out_of_memory();
  device->processes = more;
  double *samples = hsc_alloc((n + 1) * sizeof(double));
  if (!samples)
    return hsc_status_out_of_memory();
  memcpy(samples, timed->samples, n * sizeof(double));
  more[device->process_count++] = (hsc__process_times){samples, n, hsc_stats_median(samples, n)};
  return NULL;
}

static bool is_timed(const hsc__device_run *device) {
  return device->outcome == HSC_OUTCOME_OK && device->series;
}

// One more process of each device that was timed; blocks of all are interleaved.
static hsc_status *round_of(const hsc_run_options *o,
                            size_t round,
                            int64_t run_count,
                            hsc__device_run *devices) {
  size_t *order = hsc_alloc((o->device_count + 1) * sizeof *order);
  hsc__device_run *again = hsc_alloc((o->device_count + 1) * sizeof *again);
  hsc_status *status = order && again ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; again && i < o->device_count; i++)
    again[i] = (hsc__device_run){.text = devices[i].text,
                                 .device = devices[i].device,
                                 .program = devices[i].program,
                                 .spec = devices[i].spec};
  if (!status)
    hsc_stats_interleave(o->device_count, 1, o->seed + 7919 * round, order);
  for (size_t k = 0; k < o->device_count && !status; k++) {
    size_t i = order[k];
    hsc_run_options alike = *o;
    if (!is_timed(&devices[i]))
      continue;
    alike.run_count = run_count;
    status = hsc__run_start(&alike, NULL, &again[i]);
  }
  if (!status)
    status = hsc__run_blocks(o, again, o->device_count);
  for (size_t i = 0; again && i < o->device_count; i++) {
    if (!status && is_timed(&devices[i]) && again[i].outcome == HSC_OUTCOME_OK)
      status = take_process(&devices[i], &again[i].timed.sampling);
    if (again[i].outcome != HSC_OUTCOME_OK && devices[i].outcome == HSC_OUTCOME_OK) {
      devices[i].outcome = again[i].outcome;
      devices[i].status = again[i].status;
      again[i].status = NULL;
    }
    hsc__run_release(&again[i]);
  }
  hsc_free(order);
  hsc_free(again);
  return status;
}

// Who is faster is asked where several devices were timed; not where it would take minutes.
static size_t wanted_processes(const hsc_run_options *o,
                               const hsc__device_run *devices,
                               double round_s) {
  size_t timed = 0;
  for (size_t i = 0; i < o->device_count; i++)
    timed += is_timed(&devices[i]);
  if (o->process_count > 0)
    return (size_t)o->process_count;
  return timed > 1 && round_s < LONG_ROUND_S ? HSC_LEAST_PROCESSES : 1;
}

// Runs of each process, the same for all devices: longer blocks are warmer ones, so a device that
// ran in shorter blocks than another would look slower. As many as the first processes needed, the
// most of them, where the slowest device has the time.
static int64_t runs_alike(const hsc__device_run *devices, size_t count) {
  size_t most = 20;
  double slowest_s = 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_timed(&devices[i]))
      continue;
    const hsc_sampling *timed = &devices[i].timed.sampling;
    most = timed->count > most ? timed->count : most;
    slowest_s = fmax(slowest_s, hsc_stats_median(timed->samples, timed->count));
  }
  double fit = slowest_s > 0 ? LONG_PROCESS_S / slowest_s : 20;
  return (int64_t)fmax(3, fmin((double)most, fit));
}

hsc_status *hsc__run_processes(const hsc_run_options *o, double round_s, hsc__device_run *devices) {
  size_t count = wanted_processes(o, devices, round_s);
  int64_t run_count = o->run_count ? o->run_count : runs_alike(devices, o->device_count);
  // The first processes chose how many runs each needed; what is compared ran alike.
  for (size_t i = 0; i < o->device_count && count == 1; i++)
    if (is_timed(&devices[i]))
      HSC_TRY(take_process(&devices[i], &devices[i].timed.sampling));
  for (size_t round = 0; count > 1 && round < count; round++)
    HSC_TRY(round_of(o, round, run_count, devices));
  return NULL;
}

double *hsc__run_samples(const hsc__device_run *device, size_t *out_count) {
  const hsc_sampling *timed = &device->timed.sampling;
  size_t total = device->process_count ? 0 : timed->count;
  size_t at = 0;
  for (size_t p = 0; p < device->process_count; p++)
    total += device->processes[p].count;
  double *all = hsc_alloc((total + 1) * sizeof(double));
  *out_count = all ? total : 0;
  if (all && !device->process_count && total)
    memcpy(all, timed->samples, total * sizeof(double));
  for (size_t p = 0; all && p < device->process_count; p++) {
    memcpy(all + at, device->processes[p].samples, device->processes[p].count * sizeof(double));
    at += device->processes[p].count;
  }
  return all;
}

hsc_status *hsc__run_interval(const hsc__device_run *device,
                              uint64_t seed,
                              hsc_interval *out_interval) {
  size_t count = device->process_count;
  size_t total = 0;
  *out_interval = device->timed.sampling.interval;
  if (count < 2)
    return NULL;
  double *all = hsc__run_samples(device, &total);
  size_t *sizes = hsc_alloc((count + 1) * sizeof *sizes);
  hsc_status *status = all && sizes ? NULL : hsc_status_out_of_memory();
  for (size_t p = 0; sizes && p < count; p++)
    sizes[p] = device->processes[p].count;
  if (!status)
    *out_interval = (hsc_interval){hsc_stats_median(all, total), NAN, NAN};
  if (!status && count >= HSC_LEAST_PROCESSES)
    status = hsc_stats_bootstrap_blocks(
        hsc_stats_median, all, sizes, count,
        &(hsc_interval_options){.seed = seed, .resample_count = 1000, .widen_small = true},
        out_interval);
  hsc_free(all);
  hsc_free(sizes);
  return status;
}

// ---- who is faster ------------------------------------------------------------------------------

static void put_text(json_t *row, const hsc_comparison *c, const char *why) {
  const char *verdict = json_string_value(json_object_get(row, "verdict"));
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s: %.4g times", verdict, c->ratio.estimate);
  if (why)
    hsc_bytes_printf(&text, ", %s (--processes=%d)", why, HSC_LEAST_PROCESSES);
  else
    hsc_bytes_printf(&text, " [%.4g, %.4g]", c->ratio.low, c->ratio.high);
  if (!why && !strcmp(verdict, "cannot tell") && isfinite(c->more_runs) && c->more_runs > 0)
    hsc_bytes_printf(&text, " (about %.3g more processes needed)", c->more_runs);
  json_object_set_new(row, "text", json_string(hsc_bytes_text(&text)));
  hsc_bytes_deinit(&text);
}

typedef struct speed_row {
  json_t *json;
  hsc_comparison c;
  size_t processes, against;
} speed_row;

static hsc_status *compare(const hsc__device_run *device,
                           const hsc__device_run *first,
                           double margin,
                           speed_row *out) {
  double *x = hsc_alloc((device->process_count + 1) * sizeof(double));
  double *y = hsc_alloc((first->process_count + 1) * sizeof(double));
  hsc_status *status = x && y ? NULL : hsc_status_out_of_memory();
  for (size_t p = 0; p < device->process_count && !status; p++)
    x[p] = device->processes[p].median;
  for (size_t p = 0; p < first->process_count && !status; p++)
    y[p] = first->processes[p].median;
  *out = (speed_row){.processes = device->process_count, .against = first->process_count};
  if (!status)
    status = hsc_stats_compare_processes(x, device->process_count, y, first->process_count, true,
                                         margin, &out->c);
  if (!status)
    out->json = json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:f}", "device", device->text,
                          "against", first->text, "processes", (json_int_t)device->process_count,
                          "ratio", hsc_json_real(out->c.ratio.estimate), "low",
                          hsc_json_real(out->c.ratio.low), "high", hsc_json_real(out->c.ratio.high),
                          "p_value", hsc_json_real(out->c.p_value), "shift",
                          hsc_json_real(out->c.shift), "margin", margin);
  hsc_free(x);
  hsc_free(y);
  return status;
}

// Many comparisons are many chances to be wrong: a claim must hold among all of them.
static void judge(speed_row *rows, size_t n, const double *q) {
  for (size_t i = 0; i < n; i++) {
    char why[160];
    hsc_comparison *c = &rows[i].c;
    bool claims = c->verdict == HSC_VERDICT_FASTER || c->verdict == HSC_VERDICT_SLOWER;
    if (claims && !(q[i] <= 0.05))
      c->verdict = HSC_VERDICT_CANNOT_TELL;
    json_object_set_new(rows[i].json, "q_value", hsc_json_real(q[i]));
    json_object_set_new(rows[i].json, "verdict", json_string(hsc_verdict_text(c->verdict)));
    json_object_set_new(
        rows[i].json, "more_processes",
        c->verdict == HSC_VERDICT_CANNOT_TELL ? hsc_json_real(c->more_runs) : json_null());
    put_text(rows[i].json, c,
             hsc_stats_too_few_processes(c, rows[i].processes, rows[i].against, why));
  }
}

hsc_status *hsc__run_compare_speed(const hsc_run_options *o,
                                   const hsc__device_run *devices,
                                   json_t *result) {
  json_t *environment = NULL;
  json_t *list = json_array();
  const hsc__device_run *first = NULL;
  size_t n = 0;
  json_object_set_new(result, "speed", list);
  // one device is faster than none: no claim, so no 20 ms for the grade
  HSC_TRY(hsc_environment_capture(o->device_count > 1, &environment));
  json_object_set_new(result, "environment", environment);
  double margin =
      hsc_stats_grade_margin(json_string_value(json_object_get(environment, "grade")), 0);
  speed_row *rows = hsc_alloc((o->device_count + 1) * sizeof *rows);
  double *p = hsc_alloc((2 * o->device_count + 2) * sizeof(double));
  double *q = p + o->device_count + 1;
  hsc_status *status = rows && p ? NULL : hsc_status_out_of_memory();
  for (size_t i = 0; i < o->device_count && !status; i++) {
    if (!is_timed(&devices[i]))
      continue;
    if (!first) {
      first = &devices[i];
      continue;
    }
    status = compare(&devices[i], first, margin, &rows[n]);
    if (status)
      break;
    p[n] = rows[n].c.p_value;
    json_array_append_new(list, rows[n++].json);
  }
  if (!status) {
    hsc_stats_benjamini_hochberg(p, n, q);
    judge(rows, n, q);
  }
  hsc_free(rows);
  hsc_free(p);
  return status;
}
