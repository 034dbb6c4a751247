// stats_document.c - series described, compared and judged.
//
// How to read: describe makes what is said of one series: its interval, quantiles, modes, changes,
// outliers. compare holds two series against each other, by process where the samples say of which
// they are. hsc_stats_document is the whole: all series, then each against its baseline, with the
// discoveries of many comparisons taken back that chance would make.
#include "base/core/memory.h"
#include "base/text/text.h"
#include "lab/run/stats_document.h"

#include <math.h>

#include "stats/stats.h"
#include "stats/stats_design.h"
#include "stats/stats_interleaved.h"

enum { OUTLIERS_SHOWN = 20, MODES_SHOWN = 8, CHANGES_SHOWN = 50 };
static const double quantiles[] = {0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999};

// A series without its samples that are not finite.
typedef struct clean {
  double *x, *sorted;
  size_t n, *places;  // of each finite sample in the series
  size_t *sizes, block_count;
  bool one_process;
  hsc_interval median;  // with blocks or correlation taken into account
} clean;

static json_t *number(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

static void set_interval(json_t *to, hsc_interval i) {
  json_object_set_new(to, "low", number(i.low));
  json_object_set_new(to, "high", number(i.high));
}

static void clean_free(clean *c) {
  hsc_free(c->x);
  hsc_free(c->sorted);
  hsc_free(c->places);
  hsc_free(c->sizes);
}

static hsc_status *clean_of(const hsc_sample_series *s, clean *out) {
  *out = (clean){.x = hsc_alloc((s->count + 1) * sizeof(double)),
                 .sorted = hsc_alloc((s->count + 1) * sizeof(double)),
                 .places = hsc_alloc((s->count + 1) * sizeof(size_t)),
                 .sizes = hsc_alloc((s->block_count + 1) * sizeof(size_t))};
  if (!out->x || !out->sorted || !out->places || !out->sizes)
    return hsc_status_out_of_memory();
  out->one_process = s->one_process;
  size_t blocks = s->block_count ? s->block_count : 1;
  for (size_t b = 0, at = 0; b < blocks; b++) {
    size_t size = s->block_count ? s->block_sizes[b] : s->count;
    size_t before = out->n;
    for (size_t i = 0; i < size; i++, at++)
      if (isfinite(s->samples[at])) {
        out->places[out->n] = at;
        out->x[out->n++] = s->samples[at];
      }
    if (out->n > before)
      out->sizes[out->block_count++] = out->n - before;
  }
  return NULL;
}

static json_t *quantile_rows(const clean *c, double confidence) {
  json_t *rows = json_array();
  for (size_t i = 0; i < HSC_COUNT_OF(quantiles); i++) {
    double q = quantiles[i];
    size_t needs = hsc_stats_quantile_needs(q, confidence);
    json_t *row = json_object();
    json_object_set_new(row, "quantile", json_real(q));
    bool allowed = c->n >= needs;
    hsc_interval interval = hsc_stats_quantile_interval(c->sorted, c->n, q, confidence);
    // Harrell and Davis' weights take a beta function a sample; from a hundred thousand samples on
    // they are one sample wide.
    double value;
    if (!allowed)
      value = NAN;
    else if (c->n <= 100000)
      value = hsc_stats_quantile_hd(c->sorted, c->n, q);
    else
      value = interval.estimate;
    json_object_set_new(row, "value", number(value));
    set_interval(row, allowed ? interval : (hsc_interval){NAN, NAN, NAN});
    json_object_set_new(row, "needs", json_integer((json_int_t)needs));
    json_array_append_new(rows, row);
  }
  return rows;
}

static hsc_status *mode_rows(const clean *c, json_t *out) {
  hsc_mode modes[MODES_SHOWN];
  size_t count = 0;
  HSC_TRY(hsc_stats_modes(c->x, c->n, modes, MODES_SHOWN, &count));
  for (size_t i = 0; i < count; i++)
    json_array_append_new(out, json_pack("{s:f, s:f, s:f, s:I, s:f}", "median", modes[i].median,
                                         "low", modes[i].low, "high", modes[i].high, "count",
                                         (json_int_t)modes[i].count, "share", modes[i].share));
  return NULL;
}

// Where a series changes: the levels between the change points.
static hsc_status *change_rows(const clean *c, json_t *out) {
  size_t *starts = hsc_alloc((c->n + 1) * sizeof *starts);
  size_t count = 0;
  size_t aside;
  double *level = hsc_alloc((c->n + 1) * sizeof(double));
  hsc_status *status = starts && level ? NULL : hsc_status_out_of_memory();
  if (!status && c->n >= 4)
    status = hsc_stats_level_changes(c->x, c->n, level, starts, &count, &aside);
  for (size_t i = 0; i < count && i < CHANGES_SHOWN && !status; i++) {
    size_t from = i ? starts[i - 1] : 0;
    size_t to = i + 1 < count ? starts[i + 1] : c->n;
    json_array_append_new(
        out, json_pack("{s:I, s:f, s:f}", "sample", (json_int_t)c->places[starts[i]] + 1, "before",
                       hsc_stats_median(c->x + from, starts[i] - from), "after",
                       hsc_stats_median(c->x + starts[i], to - starts[i])));
  }
  hsc_free(starts);
  hsc_free(level);
  return status;
}

static hsc_status *outlier_rows(const hsc_sample_series *s,
                                const clean *c,
                                json_t *out_rows,
                                size_t *out_count,
                                size_t *out_named) {
  size_t *indices = hsc_alloc((c->n + 1) * sizeof *indices);
  if (!indices)
    return hsc_status_out_of_memory();
  *out_count = hsc_stats_outliers(c->x, c->n, indices);
  *out_named = 0;
  double mad = hsc_stats_mad(c->x, c->n);
  double median = hsc_stats_median(c->x, c->n);
  for (size_t i = 0; i < *out_count; i++) {
    size_t place = c->places[indices[i]];
    const char *cause = s->causes ? s->causes[place] : NULL;
    *out_named += cause != NULL;
    if (i >= OUTLIERS_SHOWN)
      continue;
    json_t *row = json_pack("{s:I, s:f, s:o}", "sample", (json_int_t)place + 1, "value",
                            s->samples[place], "cause", cause ? json_string(cause) : json_null());
    json_object_set_new(row, "deviations",
                        number(mad > 0 ? (s->samples[place] - median) / mad : NAN));
    json_array_append_new(out_rows, row);
  }
  hsc_free(indices);
  return NULL;
}

static hsc_status *behaviour(const clean *c, json_t *out) {
  hsc_series series;
  bool whole = c->block_count <= 1 || c->one_process;
  if (!whole)
    HSC_TRY(hsc_stats_classify_processes(c->x, c->sizes, c->block_count, &series, NULL));
  else
    HSC_TRY(hsc_stats_classify(c->x, c->n, &series));
  bool steady = series.series_class == HSC_SERIES_FLAT ||
                series.series_class == HSC_SERIES_WARM_UP ||
                series.series_class == HSC_SERIES_SLOW_DOWN;
  json_object_set_new(out, "class", json_string(hsc_series_class_text(series.series_class)));
  json_object_set_new(
      out, "steady_from",
      steady && whole ? json_integer((json_int_t)c->places[series.steady_start] + 1) : json_null());
  json_object_set_new(out, "steady_median", number(steady ? series.steady_median : NAN));
  return NULL;
}

static hsc_status *describe(const hsc_sample_series *s,
                            clean *c,
                            const hsc_stats_options *o,
                            json_t *out) {
  hsc_interval_options interval = {
      .confidence = o->confidence, .resample_count = o->resample_count, .seed = o->seed};
  hsc_summary summary;
  json_object_set_new(out, "name", json_string(s->name));
  json_object_set_new(out, "source", json_string(s->source));
  json_object_set_new(out, "unit", json_string(s->unit));
  HSC_TRY(hsc_stats_summarize(c->x, c->n, &interval, &summary));
  memcpy(c->sorted, c->x, c->n * sizeof(double));
  hsc_sort_doubles(c->sorted, c->n);
  c->median = (hsc_interval){summary.median, summary.median_low, summary.median_high};
  double worth = hsc_stats_effective_count(c->x, c->n);
  const char *method =
      c->n < HSC_LEAST_FOR_INTERVAL ? "too few samples for an interval" : "bootstrap (BCa)";
  if (c->block_count > 1) {
    if (c->n > 100000)
      interval.resample_count = 200;
    else if (interval.resample_count > 2000)
      interval.resample_count = 2000;
    bool few = !c->one_process && c->block_count < HSC_LEAST_PROCESSES;
    if (few)
      c->median.low = c->median.high = NAN;
    else
      HSC_TRY(hsc_stats_bootstrap_blocks(hsc_stats_median, c->x, c->sizes, c->block_count,
                                         &interval, &c->median));
    method = "bootstrap of processes";
    if (few)
      method = "too few processes for an interval";
    else if (c->block_count < HSC_LEAST_FOR_INTERVAL)
      method = "too few blocks for an interval";
    else if (c->one_process)
      method = "bootstrap of blocks of one process";
  } else if (c->n >= 20 && worth < 0.8 * (double)c->n) {
    double wider = sqrt((double)c->n / worth);
    c->median.low = summary.median - wider * (summary.median - summary.median_low);
    c->median.high = summary.median + wider * (summary.median_high - summary.median);
    method = "bootstrap (BCa), widened: samples that follow each other are alike";
  }
  json_object_set_new(out, "count", json_integer((json_int_t)c->n));
  json_object_set_new(out, "not_finite", json_integer((json_int_t)(s->count - c->n)));
  if (s->drawn_from)
    json_object_set_new(out, "drawn_from", json_integer((json_int_t)s->drawn_from));
  json_object_set_new(out, "processes",
                      json_integer(c->one_process ? 1 : (json_int_t)c->block_count));
  json_object_set_new(out, "worth", number(worth));
  json_object_set_new(out, "median", number(summary.median));
  set_interval(out, c->median);
  json_object_set_new(out, "interval", json_string(method));
  json_object_set_new(out, "mean", number(summary.mean));
  json_object_set_new(out, "min", number(summary.min));
  json_object_set_new(out, "max", number(summary.max));
  json_object_set_new(out, "std", number(summary.sd));
  json_object_set_new(out, "mad", number(summary.mad));
  json_object_set_new(out, "quantiles", quantile_rows(c, o->confidence));
  json_t *modes = json_array();
  json_t *changes = json_array();
  json_t *outliers = json_array();
  json_object_set_new(out, "modes", modes);
  json_object_set_new(out, "changes", changes);
  json_object_set_new(out, "outliers", outliers);
  HSC_TRY(mode_rows(c, modes));
  HSC_TRY(behaviour(c, out));
  HSC_TRY(change_rows(c, changes));
  size_t count = 0;
  size_t named = 0;
  HSC_TRY(outlier_rows(s, c, outliers, &count, &named));
  json_object_set_new(out, "outlier_count", json_integer((json_int_t)count));
  json_object_set_new(out, "outliers_with_cause", json_integer((json_int_t)named));
  return NULL;
}

hsc_status *hsc_stats_series(const hsc_sample_series *series,
                             const hsc_stats_options *options,
                             json_t **out_row) {
  hsc_stats_options o = *options;
  clean c;
  json_t *row = json_object();
  if (o.confidence == 0)
    o.confidence = 0.95;
  if (o.resample_count == 0)
    o.resample_count = 10000;
  hsc_status *status = clean_of(series, &c);
  if (!status)
    status = describe(series, &c, &o, row);
  clean_free(&c);
  if (status)
    json_decref(row);
  else
    *out_row = row;
  return status;
}

// ---- comparisons --------------------------------------------------------------------------------

// How many processes a series tells of; 0 = it does not say, each number counts by itself.
static size_t processes_of(const clean *c) {
  if (c->one_process)
    return 1;
  return c->block_count > 1 ? c->block_count : 0;
}

static double *process_medians(const clean *c, size_t processes) {
  double *out = hsc_alloc((processes + 1) * sizeof(double));
  size_t at = 0;
  for (size_t p = 0; out && p < processes; p++) {
    size_t size = processes == 1 ? c->n : c->sizes[p];
    out[p] = hsc_stats_median(c->x + at, size);
    at += size;
  }
  return out;
}

// Where a side says which process each number is of, processes are what is compared: they differ
// by more than their own runs show.
static hsc_status *compare_by_processes(
    const clean *c, const clean *base, double margin, hsc_comparison *k, char *out_why) {
  size_t nx = processes_of(c);
  size_t ny = processes_of(base);
  nx = nx ? nx : 1;
  ny = ny ? ny : 1;
  double *x = process_medians(c, nx);
  double *y = process_medians(base, ny);
  hsc_status *status = x && y ? NULL : hsc_status_out_of_memory();
  hsc_comparison by = *k;
  if (!status)
    status = hsc_stats_compare_processes(x, nx, y, ny, false, margin, &by);
  hsc_free(x);
  hsc_free(y);
  // times below zero are no times; the samples' own ratio is kept, and claims nothing
  if (status && hsc_status_code(status) == HSC_INVALID_ARGUMENT) {
    hsc_status_free(status);
    status = NULL;
    by.verdict = HSC_VERDICT_CANNOT_TELL;
  }
  if (!status) {
    double ratio = k->ratio.estimate;
    *k = by;
    if (isnan(by.ratio.low))
      k->ratio.estimate = ratio;
    hsc_stats_too_few_processes(k, nx, ny, out_why);
  }
  return status;
}

static hsc_status *compare(const hsc_sample_series *s,
                           const clean *c,
                           const hsc_sample_series *against,
                           const clean *base,
                           const hsc_stats_options *o,
                           double margin,
                           json_t *rows,
                           double *out_p) {
  hsc_interval_options interval = {
      .confidence = o->confidence, .resample_count = o->resample_count, .seed = o->seed};
  hsc_comparison k;
  HSC_TRY(hsc_stats_compare(c->x, c->n, base->x, base->n, margin, &interval, &k));
  char why[160] = "";
  if (processes_of(c) || processes_of(base))
    HSC_TRY(compare_by_processes(c, base, margin, &k, why));
  json_t *row = json_object();
  json_object_set_new(row, "series", json_string(s->name));
  json_object_set_new(row, "source", json_string(s->source));
  json_object_set_new(row, "against", json_string(against->name));
  json_object_set_new(row, "against_source", json_string(against->source));
  json_object_set_new(row, "ratio", number(k.ratio.estimate));
  set_interval(row, k.ratio);
  json_object_set_new(row, "shift", number(k.shift));
  json_object_set_new(row, "p_value", number(k.p_value));
  json_object_set_new(row, "brunner_munzel", number(k.brunner_munzel));
  json_object_set_new(row, "equivalence", number(k.equivalence));
  json_object_set_new(row, "delta", number(k.delta));
  json_object_set_new(row, "effect", json_string(hsc_stats_cliffs_word(k.delta)));
  json_object_set_new(row, "verdict", json_string(hsc_verdict_text(k.verdict)));
  json_object_set_new(row, "more_runs",
                      k.verdict == HSC_VERDICT_CANNOT_TELL ? number(k.more_runs) : json_null());
  bool by_processes = processes_of(c) && processes_of(base);
  json_object_set_new(row, "compared", json_string(by_processes ? "processes" : "samples"));
  size_t fewer = c->n < base->n ? c->n : base->n;
  if (!*why && fewer < HSC_LEAST_FOR_INTERVAL)
    snprintf(why, sizeof why, "no interval from fewer than %d numbers on each side",
             HSC_LEAST_FOR_INTERVAL);
  json_object_set_new(row, "why", *why ? json_string(why) : json_null());
  bool assumed = !by_processes && k.verdict != HSC_VERDICT_CANNOT_TELL;
  json_object_set_new(
      row, "assumes",
      assumed ? json_string("each number is independent of the others: of a process of its own, or "
                            "the sides' runs taken in turn")
              : json_null());
  json_array_append_new(rows, row);
  *out_p = k.p_value;
  return NULL;
}

static size_t file_series(const hsc_samples *set, const char *source) {
  size_t count = 0;
  for (size_t i = 0; i < hsc_samples_count(set); i++)
    count += !strcmp(hsc_samples_at(set, i)->source, source);
  return count;
}

// The series that number i is compared with; SIZE_MAX = none.
static size_t partner(const hsc_samples *set, size_t i, size_t baseline) {
  size_t n = hsc_samples_count(set);
  const hsc_sample_series *s = hsc_samples_at(set, i);
  const hsc_sample_series *first = hsc_samples_at(set, 0);
  if (baseline != SIZE_MAX)
    return i == baseline ? SIZE_MAX : baseline;
  if (!strcmp(s->source, first->source))
    return i == 1 && n == 2 ? 0 : SIZE_MAX;
  for (size_t k = 0; k < i; k++)
    if (!strcmp(hsc_samples_at(set, k)->source, first->source) &&
        !strcmp(hsc_samples_at(set, k)->name, s->name))
      return k;
  return file_series(set, s->source) == 1 && file_series(set, first->source) == 1 ? 0 : SIZE_MAX;
}

static void take_back(json_t *row) {
  json_object_set_new(row, "verdict", json_string("cannot tell"));
  json_object_set_new(row, "assumes", json_null());
}

// Many comparisons are many chances to be wrong: what is called faster or slower must hold among
// all of them (Benjamini & Hochberg, 5 %).
static hsc_status *discover(json_t *rows, const double *p) {
  size_t n = json_array_size(rows);
  double *q = hsc_alloc((n + 1) * sizeof(double));
  if (!q)
    return hsc_status_out_of_memory();
  hsc_stats_benjamini_hochberg(p, n, q);
  for (size_t i = 0; i < n; i++) {
    json_t *row = json_array_get(rows, i);
    const char *verdict = json_string_value(json_object_get(row, "verdict"));
    json_object_set_new(row, "q_value", number(q[i]));
    bool claims = !strcmp(verdict, "faster") || !strcmp(verdict, "slower");
    if (claims && n > 1 && !(q[i] <= 0.05))
      take_back(row);
  }
  hsc_free(q);
  return NULL;
}

static hsc_status *compare_all(const hsc_samples *set,
                               const clean *all,
                               const hsc_stats_options *o,
                               double margin,
                               json_t *rows) {
  size_t n = hsc_samples_count(set);
  size_t baseline = SIZE_MAX;
  for (size_t i = 0; i < n && o->baseline && baseline == SIZE_MAX; i++)
    if (!strcmp(hsc_samples_at(set, i)->name, o->baseline))
      baseline = i;
  if (o->baseline && baseline == SIZE_MAX) {
    const char *names[64], *near;
    size_t count = 0;
    for (size_t i = 0; i < n && count < HSC_COUNT_OF(names); i++)
      names[count++] = hsc_samples_at(set, i)->name;
    near = hsc_did_you_mean(o->baseline, names, count);
    if (near)
      return HSC_ERR(INVALID_ARGUMENT,
                     "there is no series '%s' to compare with; did you mean '%s'?", o->baseline,
                     near);
    return HSC_ERR(INVALID_ARGUMENT, "there is no series '%s' to compare with; the first is '%s'",
                   o->baseline, n ? names[0] : "");
  }
  double *p = hsc_alloc((n + 1) * sizeof(double));
  if (!p)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (size_t i = 0; i < n && !status; i++) {
    size_t with = partner(set, i, baseline);
    if (with != SIZE_MAX)
      status = compare(hsc_samples_at(set, i), &all[i], hsc_samples_at(set, with), &all[with], o,
                       margin, rows, &p[json_array_size(rows)]);
  }
  if (!status)
    status = discover(rows, p);
  hsc_free(p);
  return status;
}

static bool any_assumes(const json_t *comparisons) {
  size_t i;
  json_t *row;
  json_array_foreach ((json_t *)(uintptr_t)comparisons, i, row)
    if (json_is_string(json_object_get(row, "assumes")))
      return true;
  return false;
}

// What a reader of the comparisons has to know, among `notes`.
static void note_comparisons(const json_t *comparisons,
                             const char *grade,
                             double margin,
                             json_t *notes) {
  if (!json_array_size(comparisons))
    return;
  json_array_append_new(
      notes,
      json_sprintf("a ratio above 1 is slower; \"same\" and every claim take %.3g %%%s%s",
                   100 * margin, grade ? "; the machine's grade, from A (quiet) to D (busy): " : "",
                   grade ? grade : ""));
  if (grade && *grade != 'A')
    json_array_append_new(
        notes, json_string("a finer claim needs a quieter machine, whatever the number of runs"));
  json_array_append_new(
      notes, json_string("intervals hold for runs that were interleaved; runs made one set after "
                         "the other also differ by what the machine did meanwhile"));
  if (any_assumes(comparisons))
    json_array_append_new(
        notes, json_string("the process of a number is not reported, so each counts by itself: "
                           "runs of one process are alike in what differs between processes, and "
                           "a verdict from them is of these processes, not of the programs; "
                           "--blocks names the column that says the process"));
}

hsc_status *hsc_stats_document(const hsc_samples *samples,
                               const hsc_stats_options *options,
                               json_t **out_document) {
  hsc_stats_options o = *options;
  if (o.confidence == 0)
    o.confidence = 0.95;
  if (o.resample_count == 0)
    o.resample_count = 10000;
  if (!(o.confidence > 0.5 && o.confidence < 1))
    return HSC_ERR(INVALID_ARGUMENT, "confidence must be above 0.5 and below 1, got %g",
                   o.confidence);
  if (o.margin < 0 || !isfinite(o.margin))
    return HSC_ERR(INVALID_ARGUMENT, "the margin must be positive, got %g", o.margin);
  size_t n = hsc_samples_count(samples);
  const char *grade = o.grade ? o.grade : hsc_samples_grade(samples);
  double margin = hsc_stats_grade_margin(grade, o.margin);
  clean *all = hsc_alloc((n + 1) * sizeof *all);
  json_t *document = json_object();
  json_t *series = json_array();
  json_t *comparisons = json_array();
  json_t *notes = json_array();
  json_object_set_new(document, "series", series);
  json_object_set_new(document, "comparisons", comparisons);
  json_object_set_new(
      document, "machine",
      json_pack("{s:o, s:f}", "grade", grade ? json_string(grade) : json_null(), "margin", margin));
  json_object_set_new(document, "settings",
                      json_pack("{s:f, s:I, s:I}", "confidence", o.confidence, "resamples",
                                (json_int_t)o.resample_count, "seed", (json_int_t)o.seed));
  json_object_set_new(document, "notes", notes);
  hsc_status *status = all ? NULL : hsc_status_out_of_memory();
  if (all)
    memset(all, 0, (n + 1) * sizeof *all);
  for (size_t i = 0; i < n && !status; i++) {
    json_t *row = json_object();
    const hsc_sample_series *s = hsc_samples_at(samples, i);
    if (s->drawn_from)
      json_array_append_new(
          notes,
          json_sprintf("%s: %zu numbers drawn from %zu, at random one of each few that follow "
                       "each other; the least of all is %.6g %s, the most %.6g %s",
                       s->name, s->count, s->drawn_from, s->least, s->unit, s->most, s->unit));
    json_array_append_new(series, row);
    status = clean_of(hsc_samples_at(samples, i), &all[i]);
    if (!status)
      status = describe(hsc_samples_at(samples, i), &all[i], &o, row);
  }
  if (!status)
    status = compare_all(samples, all, &o, margin, comparisons);
  if (!status)
    note_comparisons(comparisons, grade, margin, notes);
  for (size_t i = 0; all && i < n; i++)
    clean_free(&all[i]);
  hsc_free(all);
  if (status)
    json_decref(document);
  else
    *out_document = document;
  return status;
}
