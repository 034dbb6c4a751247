// report_lead.c - what a document comes to, in one screen of the page.
//
// How to read: one function a kind, all of the same shape: the sentence, the bar of parts that do
// not overlap, three numbers, what to do; `leads` at the end names them. They read documents of
// docs/schemas, which anybody may have edited: whatever is missing is left out.
#include "base/text/text.h"
#include "cli/report_lead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_files.h"
#include "lab/patterns/patterns.h"
#include "lab/run/json_tree.h"
#include "report/table.h"

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_at(const json_t *object, const char *key) {
  return hsc_json_number(json_object_get(object, key));
}

static const char *program_of(const json_t *document) {
  const char *program = text_at(document, "program");
  return *program ? hsc_report_base_name(program) : "the program";
}

// "3.88 µs", and with an interval "3.88 µs (3.81 µs to 3.9 µs)".
static void say_time(const json_t *summary, hsc_page_lead *lead) {
  char text[3][32];
  hsc_format_quantity(number_at(summary, "median"), "s", true, text[0]);
  hsc_format_quantity(number_at(summary, "low"), "s", true, text[1]);
  hsc_format_quantity(number_at(summary, "high"), "s", true, text[2]);
  hsc_lead_say(lead, "%s", text[0]);
  if (isfinite(number_at(summary, "low")))
    hsc_lead_say(lead, " (%s to %s)", text[1], text[2]);
}

// How many rows have this text under the key.
static size_t count_of(const json_t *rows, const char *key, const char *text) {
  size_t count = 0;
  size_t i;
  const json_t *row;
  json_array_foreach (rows, i, row)
    count += !strcmp(text_at(row, key), text);
  return count;
}

// A bar of rows by the text under the key; `texts` in the bar's order, ended by NULL.
static void bar_of_counts(const json_t *rows,
                          const char *key,
                          const char *const *texts,
                          const char *title,
                          hsc_page_lead *lead) {
  lead->bar_title = title;
  for (size_t i = 0; texts[i]; i++)
    hsc_lead_bar(lead, texts[i], (double)count_of(rows, key, texts[i]), "");
}

// ---- times by name, the largest first -----------------------------------------------------------

typedef struct named_time {
  const char *name;  // borrowed from the document
  double seconds;
} named_time;

static int by_seconds(const void *a, const void *b) {
  const named_time *x = a;
  const named_time *y = b;
  return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

// Sorts the times and makes the bar of them; takes the array.
static void bar_of_times(named_time *times, size_t count, const char *title, hsc_page_lead *lead) {
  lead->bar_title = title;
  if (count)
    qsort(times, count, sizeof *times, by_seconds);
  for (size_t i = 0; i < count; i++)
    hsc_lead_bar(lead, times[i].name, times[i].seconds, "s");
  hsc_free(times);
}

// Adds to the time of this name, or makes it: the number of names is small.
static void add_time(named_time *times, size_t *count, const char *name, double seconds) {
  if (!(seconds > 0))
    return;
  size_t at = 0;
  while (at < *count && strcmp(times[at].name, name) != 0)
    at++;
  if (at == *count)
    times[(*count)++] = (named_time){.name = name};
  times[at].seconds += seconds;
}

// ---- passes -------------------------------------------------------------------------------------

static void lead_of_list(const json_t *document, hsc_page_lead *lead) {
  const json_t *totals = json_object_get(document, "totals");
  const json_t *pipelines = json_object_get(document, "pipelines");
  const json_t *pipeline;
  const json_t *pass;
  size_t i;
  size_t k;
  size_t most = 1;
  size_t count = 0;
  double before = NAN;
  double after = NAN;
  json_array_foreach (pipelines, i, pipeline)
    most += json_array_size(json_object_get(pipeline, "passes"));
  named_time *times = hsc_alloc(most * sizeof *times);
  if (!times) {
    lead->sentence.failed = true;
    return;
  }
  json_array_foreach (pipelines, i, pipeline)
    json_array_foreach (json_object_get(pipeline, "passes"), k, pass) {
      if (json_is_true(json_object_get(pass, "pipeline")))
        continue;  // its passes have rows of their own
      add_time(times, &count, text_at(pass, "name"), number_at(pass, "seconds"));
      if (isnan(before))
        before = number_at(pass, "instructions_before");
      if (isfinite(number_at(pass, "instructions_after")))
        after = number_at(pass, "instructions_after");
    }
  hsc_lead_say(lead, "%.0f of %.0f runs of passes changed %s on %s", number_at(totals, "changed"),
               number_at(totals, "runs"), program_of(document), text_at(document, "device"));
  if (isfinite(before) && isfinite(after))
    hsc_lead_say(lead, ": %.0f instructions became %.0f", before, after);
  hsc_lead_say(lead, ".");
  hsc_lead_number(lead, number_at(totals, "runs"), "", "", "runs of %.0f passes",
                  number_at(totals, "passes"));
  hsc_lead_number(lead, number_at(totals, "changed"), "", "", "changed the program");
  hsc_lead_number(lead, number_at(totals, "seconds"), "s", "", "in passes, of one compile");
  bar_of_times(times, count, "the time in passes, by pass", lead);
  hsc_bytes_printf(&lead->next,
                   "To see what each did to the program: hloscope passes show %s --device %s",
                   text_at(document, "program"), text_at(document, "device"));
}

static void lead_of_time(const json_t *document, hsc_page_lead *lead) {
  const json_t *compile = json_object_get(document, "compile");
  const json_t *phases = json_object_get(document, "phases");
  const json_t *passes = json_object_get(document, "passes");
  const json_t *row;
  size_t i;
  size_t count = 0;
  named_time *times = hsc_alloc((json_array_size(phases) + 1) * sizeof *times);
  if (!times) {
    lead->sentence.failed = true;
    return;
  }
  json_array_foreach (phases, i, row)
    add_time(times, &count, text_at(row, "name"), number_at(row, "median"));
  hsc_lead_say(lead, "Compiling %s on %s takes ", program_of(document),
               text_at(document, "device"));
  say_time(compile, lead);
  row = json_array_get(phases, 0);
  if (row)
    hsc_lead_say(lead, ", %.0f %% of it in %s", 100 * number_at(row, "share"),
                 text_at(row, "name"));
  row = json_array_get(passes, 0);
  if (row)
    hsc_lead_say(lead, "; of the passes %s takes most, %.2g %%", text_at(row, "name"),
                 100 * number_at(row, "share"));
  hsc_lead_say(lead, ".");
  hsc_lead_number(lead, number_at(compile, "median"), "s", "", "a compile, median");
  hsc_lead_number(lead, number_at(document, "first_compile"), "s", "", "the first of a process");
  hsc_lead_number(lead, (double)json_array_size(passes), "", "", "passes timed");
  bar_of_times(times, count, "one compile, by phase", lead);
  if (row)
    hsc_bytes_printf(&lead->next,
                     "What is lost without a pass: hloscope passes ablate %s --device %s",
                     text_at(document, "program"), text_at(document, "device"));
}

static void lead_of_validation(const json_t *document, hsc_page_lead *lead) {
  static const char *const verdicts[] = {"equal", "close", "different", "not_run", "skipped", NULL};
  const json_t *stages = json_object_get(document, "stages");
  const json_t *first = json_object_get(document, "first");
  const char *verdict = text_at(document, "verdict");
  double different = (double)count_of(stages, "verdict", "different");
  if (json_is_true(json_object_get(first, "front_end")))
    hsc_lead_say(lead,
                 "Before its first pass %s holds other numbers than %s: a fault in reading it.",
                 text_at(document, "device"), program_of(document));
  else if (json_is_object(first))
    hsc_lead_say(lead, "The numbers of %s change first after %s in %s.", program_of(document),
                 text_at(first, "pass"), text_at(first, "pipeline"));
  else if (!strcmp(verdict, "unknown"))
    hsc_lead_say(lead, "Nothing of %s could be compared.", program_of(document));
  else
    hsc_lead_say(lead, "No pass is seen to change the numbers of %s.", program_of(document));
  if (*text_at(document, "headline"))
    hsc_lead_say(lead, " Over all: %s.", text_at(document, "headline"));
  hsc_lead_number(lead, (double)json_array_size(stages), "", "", "stages");
  hsc_lead_number(lead, different, "", different > 0 ? "bad" : "good", "with other numbers");
  hsc_lead_number(lead, hsc_json_number(hsc_json_path(document, "coverage", "compared", NULL)), "",
                  "", "compared; the whole is %s", *verdict ? verdict : "unknown");
  bar_of_counts(stages, "verdict", verdicts, "the stages, by their numbers", lead);
  if (json_is_object(first))
    hsc_bytes_printf(&lead->next,
                     "Who is at fault, with the evidence: hloscope blame %s --device %s",
                     text_at(document, "program"), text_at(document, "device"));
}

static void say_worth(const json_t *variants, const char *verdict, hsc_page_lead *lead) {
  const char *between = NULL;
  const json_t *row;
  size_t i;
  size_t said = 0;
  json_array_foreach (variants, i, row) {
    if (strcmp(text_at(row, "verdict"), verdict) != 0 || said == 3)
      continue;
    hsc_lead_say(lead, "%s %s (%.3g times the time)", between ? "," : "", text_at(row, "pass"),
                 number_at(json_object_get(row, "total_time"), "ratio"));
    between = ",";
    said++;
  }
}

static void lead_of_ablation(const json_t *document, hsc_page_lead *lead) {
  const json_t *variants = json_object_get(document, "variants");
  const char *outcome;
  const json_t *number;
  size_t tried = json_array_size(variants);
  size_t same = count_of(variants, "outcome", "same");
  size_t failed = count_of(variants, "outcome", "error") + count_of(variants, "outcome", "abort") +
                  count_of(variants, "outcome", "timeout");
  hsc_lead_say(lead, "%zu of the %zu passes that were switched off change %s on %s",
               tried - same - failed, tried, program_of(document), text_at(document, "device"));
  if (failed)
    hsc_lead_say(lead, ", without %zu it cannot be compiled or run", failed);
  size_t said = lead->sentence.size;
  if (count_of(variants, "verdict", "slower"))
    hsc_lead_say(lead, "; slower without");
  say_worth(variants, "slower", lead);
  if (count_of(variants, "verdict", "faster"))
    hsc_lead_say(lead, "; faster without");
  say_worth(variants, "faster", lead);
  if (said == lead->sentence.size && json_is_object(json_object_get(document, "timing")))
    hsc_lead_say(lead, "; of none it is certain that it makes the program faster or slower");
  hsc_lead_say(lead, ".");
  hsc_lead_number(lead, (double)same, "", "", "make no difference to the program");
  hsc_lead_number(lead, (double)(tried - same - failed), "", "", "change it");
  hsc_lead_number(lead, (double)failed, "", failed ? "bad" : "", "break the compile or the run");
  lead->bar_title = "the passes, by what the program is without each";
  json_object_foreach ((json_t *)(uintptr_t)hsc_json_path(document, "totals", "outcomes", NULL),
                       outcome, number)
    hsc_lead_bar(lead, outcome, hsc_json_number(number), "");
  hsc_bytes_printf(&lead->next,
                   "Options that make the program faster: hloscope tune %s --device %s",
                   text_at(document, "program"), text_at(document, "device"));
}

static void lead_of_difference(const json_t *document, hsc_page_lead *lead) {
  static const char *const states[] = {"kept", "changed", "fused", "moved", "added", "removed"};
  const json_t *counts = json_object_get(document, "summary");
  hsc_lead_say(lead,
               "From %s to %s: %.0f instructions changed, %.0f went into fusions, %.0f moved, %.0f "
               "are new, %.0f are gone; %.0f stayed.",
               text_at(document, "from"), text_at(document, "to"), number_at(counts, "changed"),
               number_at(counts, "fused"), number_at(counts, "moved"), number_at(counts, "added"),
               number_at(counts, "removed"), number_at(counts, "kept"));
  hsc_lead_number(lead, number_at(counts, "changed"), "", "", "changed");
  hsc_lead_number(lead, number_at(counts, "added"), "", "good", "added");
  hsc_lead_number(lead, number_at(counts, "removed"), "", "bad", "removed");
  lead->bar_title = "the instructions of both, by what became of them";
  for (size_t i = 0; i < HSC_COUNT_OF(states); i++)
    hsc_lead_bar(lead, states[i], number_at(counts, states[i]), "");
  if (*text_at(document, "program"))
    hsc_bytes_printf(&lead->next, "Every stage between them: hloscope passes show %s",
                     text_at(document, "program"));
}

void hsc_report_lead_of_stages(const hsc_hlo_stages *s, hsc_page_lead *lead) {
  if (s->stage_count < 2) {
    hsc_lead_say(lead, "%s was written at one stage only.", s->module);
    return;
  }
  hsc_lead_say(lead, "%zu of %zu stages changed %s: %zu lines of HLO became %zu", s->changed_count,
               s->stage_count - 1, s->module, s->lines_before, s->lines_after);
  if (s->pass_count)
    hsc_lead_say(lead, ", most by %s (%zu lines came, %zu went)", s->passes[0].name,
                 s->passes[0].came, s->passes[0].went);
  hsc_lead_say(lead, ".");
  hsc_lead_number(lead, (double)s->stage_count - 1, "", "", "stages after the input");
  hsc_lead_number(lead, (double)s->changed_count, "", "", "changed the program");
  hsc_lead_number(lead, (double)s->lines_after, "", "", "lines at the end, of %zu",
                  s->lines_before);
  lead->bar_title = "the lines that came or went, by pass";
  for (size_t i = 0; i < s->pass_count; i++)
    hsc_lead_bar(lead, s->passes[i].name, (double)(s->passes[i].came + s->passes[i].went), "");
}

// ---- runs ---------------------------------------------------------------------------------------

static const json_t *fastest(const json_t *devices) {
  const json_t *best = NULL;
  const json_t *device;
  size_t i;
  json_array_foreach (devices, i, device) {
    double median = hsc_json_number(hsc_json_path(device, "run", "median", NULL));
    if (median > 0 &&
        (!best || median < hsc_json_number(hsc_json_path(best, "run", "median", NULL))))
      best = device;
  }
  return best;
}

// The phases of the first result that do not lie inside of one another. A program that was found
// in the cache was loaded, not compiled.
static void bar_of_phases(const json_t *device, hsc_page_lead *lead) {
  static const struct {
    const char *phase, *name;
  } parts[] = {
      {"process_start", "process start"},
      {"plugin_load", "plugin load"},
      {"plugin_initialize", "plugin"},
      {"client_create", "client"},
      {"program_read", "program read"},
      {"program_parse", "program parse"},
      {"compile", "compile"},
      {"transfer_in", "to device"},
      {"first_run", "first run"},
      {"transfer_out", "back"},
  };
  const json_t *phases = json_object_get(device, "phases");
  bool is_loaded = !json_is_number(json_object_get(phases, "compile"));
  named_time *times = hsc_alloc(HSC_COUNT_OF(parts) * sizeof *times);
  size_t count = 0;
  if (!times) {
    lead->sentence.failed = true;
    return;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(parts); i++) {
    bool is_compile = !strcmp(parts[i].phase, "compile");
    const char *phase = is_compile && is_loaded ? "executable_load" : parts[i].phase;
    const char *name = is_compile && is_loaded ? "load from the cache" : parts[i].name;
    add_time(times, &count, name, number_at(phases, phase));
  }
  bar_of_times(times, count, "from nothing to the first result", lead);
}

static void lead_of_run(const json_t *document, hsc_page_lead *lead) {
  const json_t *devices = json_object_get(document, "devices");
  const json_t *best = fastest(devices);
  const json_t *device;
  size_t i;
  if (!best) {
    hsc_lead_say(lead, "%s did not run:", program_of(document));
    json_array_foreach (devices, i, device)
      hsc_lead_say(lead, "%s %s %s", i ? "," : "", text_at(device, "device"),
                   text_at(device, "status"));
    hsc_lead_say(lead, ".");
    hsc_bytes_printf(&lead->next, "Why devices cannot be used here: hloscope devices");
    return;
  }
  const json_t *run = json_object_get(best, "run");
  if (json_array_size(devices) > 1)
    hsc_lead_say(lead, "Of %zu devices %s runs %s in the least time: ", json_array_size(devices),
                 text_at(best, "device"), program_of(document));
  else
    hsc_lead_say(lead, "A run of %s on %s takes ", program_of(document), text_at(best, "device"));
  say_time(run, lead);
  hsc_lead_say(lead, ".");
  if (json_array_size(devices) > 1 && *text_at(document, "verdict"))
    hsc_lead_say(lead, " The numbers of the devices: %s.", text_at(document, "verdict"));
  hsc_lead_number(lead, number_at(run, "median"), "s", "", "run on %s, median",
                  text_at(best, "device"));
  hsc_lead_number(lead, number_at(best, "first_result"), "s", "",
                  "from nothing to the first result");
  hsc_lead_number(lead, number_at(best, "flops") / number_at(run, "median"), "flops", "",
                  "flop/s achieved");
  bar_of_phases(best, lead);
  hsc_bytes_printf(&lead->next, "Where its time goes: hloscope profile %s --device %s",
                   text_at(document, "program"), text_at(best, "device"));
}

// A series, after the file that it is from where the two are from different ones.
static void say_series(const json_t *one, const char *from, const char *name, hsc_page_lead *lead) {
  const char *path = text_at(one, from);
  const char *slash = strrchr(path, '/');
  if (strcmp(text_at(one, "source"), text_at(one, "against_source")) != 0)
    hsc_lead_say(lead, "%s: ", slash ? slash + 1 : path);
  hsc_lead_say(lead, "%s", text_at(one, name));
}

static void lead_of_stats(const json_t *document, hsc_page_lead *lead) {
  static const char *const verdicts[] = {"faster", "slower", "same", "cannot tell", NULL};
  const json_t *series = json_object_get(document, "series");
  const json_t *comparisons = json_object_get(document, "comparisons");
  const json_t *one = json_array_get(comparisons, 0);
  const json_t *row;
  size_t count = json_array_size(comparisons);
  size_t i;
  double samples = 0;
  json_array_foreach (series, i, row)
    samples += number_at(row, "count");
  if (count == 1) {
    say_series(one, "source", "series", lead);
    hsc_lead_say(lead, " against ");
    say_series(one, "against_source", "against", lead);
    hsc_lead_say(lead, ": %s, %.3g times", text_at(one, "verdict"), number_at(one, "ratio"));
    if (!isnan(number_at(one, "low")))
      hsc_lead_say(lead, " (%.3g to %.3g)", number_at(one, "low"), number_at(one, "high"));
    hsc_lead_say(lead, *text_at(one, "why") ? " (%s)." : "%s.", text_at(one, "why"));
    if (number_at(one, "more_runs") > 0)
      hsc_bytes_printf(&lead->next, "About %.0f more runs would tell.",
                       number_at(one, "more_runs"));
    else if (*text_at(one, "why"))
      hsc_bytes_printf(&lead->next, "In turns, in processes of their own: hloscope run A B");
  } else if (count) {
    hsc_lead_say(lead, "Of %zu comparisons", count);
    for (i = 0; verdicts[i]; i++)
      hsc_lead_say(lead, "%s %zu %s", i ? "," : "", count_of(comparisons, "verdict", verdicts[i]),
                   verdicts[i]);
    hsc_lead_say(lead, ".");
  } else {
    row = json_array_get(series, 0);
    hsc_lead_say(lead, "%zu series", json_array_size(series));
    if (json_array_size(series) == 1)
      hsc_lead_say(lead, ": %s, %s", text_at(row, "name"), text_at(row, "class"));
    hsc_lead_say(lead, ".");
  }
  hsc_lead_number(lead, (double)json_array_size(series), "", "", "series");
  hsc_lead_number(lead, samples, "", "", "samples");
  hsc_lead_number(lead, number_at(json_object_get(document, "machine"), "margin"), "fraction", "",
                  "the least difference that is claimed");
  bar_of_counts(comparisons, "verdict", verdicts, "the comparisons, by their verdict", lead);
}

// ---- the machine, logs --------------------------------------------------------------------------

static const json_t *first_with(const json_t *rows, const char *key, const char *text) {
  const json_t *row;
  size_t i;
  json_array_foreach (rows, i, row)
    if (!strcmp(text_at(row, key), text))
      return row;
  return NULL;
}

static void lead_of_doctor(const json_t *document, hsc_page_lead *lead) {
  static const char *const verdicts[] = {"ok", "warning", "error", NULL};
  const json_t *checks = json_object_get(document, "checks");
  double errors = (double)count_of(checks, "verdict", "error");
  double warnings = (double)count_of(checks, "verdict", "warning");
  const json_t *first = first_with(checks, "verdict", errors > 0 ? "error" : "warning");
  if (errors > 0)
    hsc_lead_say(lead, "%.0f check%s failed. First: %s", errors,
                 hsc_plural((double)errors, "", "s"), text_at(first, "evidence"));
  else if (warnings > 0)
    hsc_lead_say(lead, "Nothing fails; %.0f check%s.", warnings,
                 warnings == 1 ? " warns" : "s warn");
  else
    hsc_lead_say(lead, "Everything that was checked is in order.");
  hsc_lead_number(lead, (double)count_of(checks, "verdict", "ok"), "", "good", "in order");
  hsc_lead_number(lead, warnings, "", warnings > 0 ? "warn" : "", "warnings");
  hsc_lead_number(lead, errors, "", errors > 0 ? "bad" : "", "errors");
  bar_of_counts(checks, "verdict", verdicts, "the checks, by their verdict", lead);
  if (*text_at(first, "fix"))
    hsc_bytes_printf(&lead->next, "%s", text_at(first, "fix"));
}

static void lead_of_log(const json_t *document, hsc_page_lead *lead) {
  static const char *const severities[] = {"error", "warning", "info", "noise", NULL};
  const json_t *findings = json_object_get(document, "findings");
  const char *next = text_at(document, "next");
  size_t errors = count_of(findings, "severity", "error");
  hsc_lead_say(lead, "%zu kinds of messages are known, %zu of them error%s.",
               json_array_size(findings), errors, hsc_plural((double)errors, "", "s"));
  hsc_lead_number(lead, (double)json_array_size(findings), "", "", "kinds of messages");
  hsc_lead_number(lead, (double)errors, "", errors ? "bad" : "good", "are errors");
  hsc_lead_number(lead, (double)count_of(findings, "severity", "warning"), "", "", "are warnings");
  bar_of_counts(findings, "severity", severities, "the messages, by their severity", lead);
  if (*next)
    hsc_bytes_printf(&lead->next, "%s", next);
}

// -------------------------------------------------------------------------------------------------

static const struct {
  const char *kind;
  void (*fill)(const json_t *document, hsc_page_lead *lead);
} leads[] = {
    {"patterns", hsc_patterns_lead},
    {"passes_list", lead_of_list},
    {"passes_time", lead_of_time},
    {"passes_validate", lead_of_validation},
    {"passes_ablate", lead_of_ablation},
    {"passes_diff", lead_of_difference},
    {"run", lead_of_run},
    {"stats", lead_of_stats},
    {"doctor", lead_of_doctor},
    {"explain", lead_of_log},
};

void hsc_report_lead(const char *kind, const json_t *document, hsc_page_lead *out_lead) {
  for (size_t i = 0; i < HSC_COUNT_OF(leads); i++)
    if (!strcmp(leads[i].kind, kind))
      leads[i].fill(document, out_lead);
}

const char *hsc_report_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}
