// report_sums.c - see report_sums.h.
#include "cli/report_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/memory.h"
#include "lab/run/json_tree.h"

enum { DEPTH_AT_MOST = 64 };

static const char *text_at(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static double number_at(const json_t *object, const char *key) {
  double value = hsc_json_number(json_object_get(object, key));
  return isfinite(value) ? value : 0;
}

static void add_to(json_t *object, const char *key, double value) {
  json_object_set_new(object, key, json_real(number_at(object, key) + value));
}

// ---- passes -------------------------------------------------------------------------------------

// A row a pass, of all pipelines that it ran in.
static void add_run(json_t *rows, const char *pipeline, const json_t *run) {
  const char *name = text_at(run, "name");
  json_t *row = json_object_get(rows, name);
  if (!row) {
    row = json_pack("{s:s, s:{}}", "pass", name, "inside");
    json_object_set_new(rows, name, row);
  }
  add_to(row, "runs", 1);
  add_to(row, "changed", json_is_true(json_object_get(run, "changed")));
  add_to(row, "instructions",
         number_at(run, "instructions_after") - number_at(run, "instructions_before"));
  add_to(row, "seconds", number_at(run, "seconds"));
  json_object_set_new(json_object_get(row, "inside"), pipeline, json_true());
}

static int by_seconds(const void *a, const void *b) {
  double x = number_at(*(json_t *const *)a, "seconds");
  double y = number_at(*(json_t *const *)b, "seconds");
  return (x < y) - (x > y);
}

// The rows as a list, what took most first. Takes `rows`.
static json_t *sorted(json_t *rows) {
  size_t count = json_object_size(rows);
  json_t **list = hsc_alloc((count + 1) * sizeof *list);
  json_t *out = list ? json_array() : NULL;
  const char *name;
  json_t *row;
  size_t at = 0;
  if (list)
    json_object_foreach (rows, name, row)
      list[at++] = row;
  if (at)
    qsort(list, at, sizeof *list, by_seconds);
  for (size_t i = 0; i < at; i++) {
    size_t pipelines = json_object_size(json_object_get(list[i], "inside"));
    json_object_set_new(list[i], "pipelines", json_integer((json_int_t)pipelines));
    json_object_del(list[i], "inside");
    json_array_append(out, list[i]);
  }
  hsc_free(list);
  json_decref(rows);
  return out;
}

static json_t *box_of(const char *name, double value) {
  return json_pack("{s:s, s:f, s:[]}", "name", name, "value", value, "children");
}

static void put_inside(json_t *box, json_t *inner) {
  add_to(box, "value", number_at(inner, "value"));
  json_array_append_new(json_object_get(box, "children"), inner);
}

// Pipelines in call order: "depth" says under which one each stands. What is inside comes after
// what it is in, so that boxes are closed from the deepest outwards.
static json_t *boxes_of_pipelines(const json_t *pipelines) {
  json_t *open[DEPTH_AT_MOST + 1] = {box_of("HLO passes", 0)};
  size_t depth = 0;
  size_t i;
  size_t k;
  const json_t *pipeline;
  const json_t *pass;
  json_array_foreach (pipelines, i, pipeline) {
    size_t under = (size_t)fmin(fmax(0, number_at(pipeline, "depth")), DEPTH_AT_MOST - 1);
    for (; depth > under; depth--)
      put_inside(open[depth - 1], open[depth]);
    open[++depth] = box_of(text_at(pipeline, "name"), 0);
    json_array_foreach (json_object_get(pipeline, "passes"), k, pass)
      if (!json_is_true(json_object_get(pass, "pipeline")) && number_at(pass, "seconds") > 0)
        put_inside(open[depth], box_of(text_at(pass, "name"), number_at(pass, "seconds")));
  }
  for (; depth > 0; depth--)
    put_inside(open[depth - 1], open[depth]);
  return open[0];
}

static json_t *sums_of_list(const json_t *document) {
  const json_t *pipelines = json_object_get(document, "pipelines");
  json_t *rows = json_object();
  const json_t *pipeline;
  const json_t *pass;
  size_t i;
  size_t k;
  json_array_foreach (pipelines, i, pipeline)
    json_array_foreach (json_object_get(pipeline, "passes"), k, pass)
      if (!json_is_true(json_object_get(pass, "pipeline")))
        add_run(rows, text_at(pipeline, "name"), pass);
  return json_pack("{s:o, s:o}", "passes", sorted(rows), "time", boxes_of_pipelines(pipelines));
}

// Medians of phases and of the passes in one of them. They are measured one by one: where together
// they are more than the compile, the whole is what they are together.
static json_t *sums_of_time(const json_t *document) {
  const json_t *phases = json_object_get(document, "phases");
  bool has_phases = json_array_size(phases) > 0;
  json_t *whole = box_of("compile", 0);
  json_t *inner = has_phases ? whole : box_of("HLO passes", 0);
  const json_t *row;
  const json_t *pass;
  size_t i;
  size_t k;
  json_array_foreach (has_phases ? phases : json_object_get(document, "pipelines"), i, row) {
    json_t *box = box_of(text_at(row, "name"), 0);
    double median = number_at(row, "median");
    if (!strncmp(text_at(row, "name"), "HLO passes", 10))
      json_array_foreach (json_object_get(document, "passes"), k, pass)
        put_inside(box, box_of(text_at(pass, "name"), number_at(pass, "median")));
    if (median > number_at(box, "value"))
      json_object_set_new(box, "value", json_real(median));
    put_inside(inner, box);
  }
  if (inner != whole)
    put_inside(whole, inner);
  double compile = hsc_json_number(hsc_json_path(document, "compile", "median", NULL));
  if (compile > number_at(whole, "value"))
    json_object_set_new(whole, "value", json_real(compile));
  return json_pack("{s:o}", "time", whole);
}

// ---- patterns -----------------------------------------------------------------------------------

// The phases of a run from nothing, as shares of all that were measured.
static json_t *shares_of(const json_t *config) {
  static const char *const phases[] = {"client_create",   "compile_miss", "transfer_in",
                                       "first_execution", "sync",         "transfer_out",
                                       "execute"};
  double seconds[HSC_COUNT_OF(phases)];
  double whole = 0;
  json_t *shares = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(phases); i++) {
    seconds[i] = hsc_json_number(hsc_json_path(config, "phases", phases[i], "median", NULL));
    whole += isfinite(seconds[i]) ? seconds[i] : 0;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(phases); i++)
    if (isfinite(seconds[i]) && whole > 0)
      json_object_set_new(shares, phases[i], json_real(seconds[i] / whole));
  return shares;
}

// How many intervals are as narrow as was wanted, and which is furthest from it.
static json_t *sampling_of(const json_t *patterns) {
  const json_t *worst = NULL;
  const char *worst_name = NULL;
  const char *name;
  const json_t *config;
  size_t count = 0;
  size_t wide = 0;
  json_object_foreach ((json_t *)(uintptr_t)patterns, name, config) {
    const json_t *sampling = hsc_json_path(config, "run", "sampling", NULL);
    if (strcmp(text_at(config, "status"), "ok") != 0 || !sampling)
      continue;
    double needed = number_at(sampling, "more_needed");
    count++;
    wide += needed > 0;
    if (!worst || needed > number_at(worst, "more_needed")) {
      worst = sampling;
      worst_name = name;
    }
  }
  if (!count)
    return json_null();
  return json_sprintf("%zu of %zu configurations reached the wanted interval. %s%s: %s.",
                      count - wide, count, wide ? "Furthest from it: " : "", worst_name,
                      text_at(worst, "text"));
}

static json_t *sums_of_patterns(const json_t *document) {
  const json_t *patterns = json_object_get(document, "patterns");
  json_t *shares = json_object();
  const char *name;
  const json_t *config;
  json_object_foreach ((json_t *)(uintptr_t)patterns, name, config)
    json_object_set_new(shares, name, shares_of(config));
  return json_pack("{s:o, s:o}", "shares", shares, "sampling", sampling_of(patterns));
}

// -------------------------------------------------------------------------------------------------

static const struct {
  const char *kind;
  json_t *(*make)(const json_t *document);
} sums[] = {
    {"passes_list", sums_of_list},
    {"passes_time", sums_of_time},
    {"patterns", sums_of_patterns},
};

void hsc_report_sums(const char *kind, const json_t *document, hsc_bytes *out) {
  for (size_t i = 0; i < HSC_COUNT_OF(sums); i++) {
    if (strcmp(sums[i].kind, kind) != 0)
      continue;
    json_t *made = sums[i].make(document);
    char *text = made ? json_dumps(made, JSON_COMPACT) : NULL;
    if (text)
      hsc_bytes_append_text(out, text);
    else
      out->failed = true;
    free(text);
    json_decref(made);
  }
}
