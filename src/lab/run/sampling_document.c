// sampling_document.c - a sampling plan and what it gave, as JSON and as a sentence; a measured
// series with everything that statistics say of it.
#include "base/text/text.h"
#include "lab/run/sampling_document.h"

#include <math.h>
#include <string.h>

#include "lab/run/json_tree.h"
#include "lab/run/stats_document.h"
#include "report/table.h"

static const char *plural(const char *one, char out_many[64]) {
  snprintf(out_many, 64, "%s%s", one, hsc_ends_with(one, "s") ? "es" : "s");
  return out_many;
}

static void append_count(hsc_bytes *out, size_t n, const char *what) {
  char many[64];
  hsc_bytes_printf(out, "%zu %s", n, n == 1 ? what : plural(what, many));
}

// An estimate is good for two figures.
static void append_about(hsc_bytes *out, double n, bool unicode) {
  double unit = n >= 100 ? pow(10, floor(log10(n)) - 1) : 1;
  char text[32];
  hsc_format_quantity(round(n / unit) * unit, "count", unicode, text);
  hsc_bytes_append_text(out, text);
}

// No interval, and what it would have been made from.
static void append_too_few(hsc_bytes *out, const hsc_sampling *s) {
  char many[64];
  bool alone = s->upper_count == 1 && strcmp(s->options.upper, "process");
  size_t units = alone ? s->count : s->upper_count;
  const char *unit = alone ? s->options.lower : s->options.upper;
  if (units >= HSC_LEAST_FOR_INTERVAL)
    hsc_bytes_append_text(out, "; no interval: not every time is a number");
  else
    hsc_bytes_printf(out, "; no interval from fewer than %d %s", HSC_LEAST_FOR_INTERVAL,
                     plural(unit, many));
}

void hsc_sampling_text(const hsc_sampling *s, bool unicode, hsc_bytes *out) {
  const hsc_sampling_options *o = &s->options;
  const char *plus = unicode ? "±" : "+-";
  char budget[32], many[64];
  append_count(out, s->count, o->lower);
  if (strcmp(o->upper, "block") != 0) {  // how runs were grouped is the document's: "made", "pilot"
    hsc_bytes_append_text(out, " in ");
    append_count(out, s->upper_count, o->upper);
  }
  if (!s->has_pilot && s->no_pilot && !o->exact)
    hsc_bytes_printf(out, "; %s", s->no_pilot);
  hsc_bytes_printf(out, "; ended: %s", s->ended_by ? s->ended_by : "not yet");
  if (s->stop == HSC_STOP_BUDGET) {
    hsc_format_quantity(o->budget_s, "s", unicode, budget);
    hsc_bytes_printf(out, " (%s)", budget);
  }
  if (s->half_width > 1)
    hsc_bytes_append_text(out, "; the interval is wider than the median");
  else if (isfinite(s->half_width))
    hsc_bytes_printf(out, "; interval %s%.2g %%", plus, 100 * s->half_width);
  else
    append_too_few(out, s);
  if (o->half_width > 0 && (s->more > 0 || s->half_width > 1)) {
    hsc_bytes_printf(out, ", wanted %s%.2g %%", plus, 100 * o->half_width);
    if (isfinite(s->more)) {
      hsc_bytes_append_text(out, ": about ");
      append_about(out, s->more, unicode);
      hsc_bytes_printf(out, " more %s needed", s->more == 1 ? o->lower : plural(o->lower, many));
    }
  }
}

// "run", "runs"; "process", "processes".
static json_t *levels(const hsc_sampling *s, json_t *lower, json_t *upper) {
  json_t *out = json_object();
  json_object_set_new(out, s->options.lower, lower);
  json_object_set_new(out, s->options.upper, upper);
  return out;
}

json_t *hsc_sampling_json(const hsc_sampling *s) {
  const hsc_sampling_options *o = &s->options;
  json_t *out = json_object();
  json_t *pilot = json_null();
  hsc_bytes text = {0};
  if (s->has_pilot) {
    const hsc_design *d = &s->design;
    pilot = json_pack("{s:o, s:o, s:o}", "made",
                      levels(s, json_integer((json_int_t)s->pilot_lower),
                             json_integer((json_int_t)s->pilot_upper)),
                      "variation",
                      levels(s, hsc_json_real(sqrt(d->variance[0]) / d->mean),
                             hsc_json_real(sqrt(d->variance[1]) / d->mean)),
                      "cost_seconds",
                      levels(s, hsc_json_real(s->pilot_cost[0]), hsc_json_real(s->pilot_cost[1])));
    json_object_set_new(pilot, "chose",
                        levels(s, json_integer((json_int_t)s->chosen_lower),
                               json_integer((json_int_t)d->counts[1])));
    json_object_set_new(pilot, "expected_half_width", hsc_json_real(d->half_width));
    json_object_set_new(pilot, "note", json_string(d->note));
  }
  json_object_set_new(out, "levels", json_pack("[s, s]", o->lower, o->upper));
  json_object_set_new(out, "wanted_half_width",
                      o->half_width > 0 ? json_real(o->half_width) : json_null());
  json_object_set_new(out, "time_budget_seconds",
                      o->budget_s > 0 ? json_real(o->budget_s) : json_null());
  json_object_set_new(out, "pilot", pilot);
  json_object_set_new(out, "no_pilot",
                      s->has_pilot || !s->no_pilot ? json_null() : json_string(s->no_pilot));
  json_object_set_new(
      out, "made",
      levels(s, json_integer((json_int_t)s->count), json_integer((json_int_t)s->upper_count)));
  json_object_set_new(out, "seconds", json_real(s->spent_s));
  json_object_set_new(out, "half_width", hsc_json_real(s->half_width));
  json_object_set_new(out, "ended_by", json_string(s->ended_by ? s->ended_by : "not yet"));
  json_object_set_new(out, "more_needed", hsc_json_real(s->more));
  hsc_sampling_text(s, true, &text);
  json_object_set_new(out, "text", json_string(hsc_bytes_text(&text)));
  hsc_bytes_deinit(&text);
  return out;
}

hsc_status *hsc_sampling_statistics(const hsc_sampling *s,
                                    const char *name,
                                    const char **causes,
                                    bool one_process,
                                    uint64_t seed,
                                    json_t **out_row) {
  hsc_sample_series series = {.name = name,
                              .unit = "s",
                              .source = "",
                              .samples = s->samples,
                              .count = s->count,
                              .block_sizes = s->sizes,
                              .block_count = s->upper_count,
                              .one_process = one_process,
                              .causes = causes};
  *out_row = NULL;
  if (s->count == 0)
    return NULL;
  return hsc_stats_series(&series, &(hsc_stats_options){.seed = seed, .resample_count = 1000},
                          out_row);
}
