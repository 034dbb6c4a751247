// ablate_document.c - the result of an ablation as one JSON document.
#include <math.h>

#include "base/core/clock.h"
#include "lab/ablate/ablate_internal.h"
#include "lab/run/json_tree.h"
#include "lab/run/rounding.h"

// Of the device where it tells, else counted by hloscope in the optimised program.
static double metric(const ablate_variant *v, const char *key) {
  json_t *told = json_object_get(v->answer, key);
  bool cost = !strcmp(key, "flops") || !strcmp(key, "bytes");
  const char *from = json_string_value(json_object_get(v->answer, "cost_from"));
  if (json_is_number(told) && (!cost || (from && !strcmp(from, "device"))))
    return json_number_value(told);
  if (!v->readable)
    return NAN;
  if (!strcmp(key, "instructions"))
    return (double)v->facts.instructions;
  if (!strcmp(key, "fusions"))
    return (double)v->facts.fusions;
  if (!strcmp(key, "kernels"))
    return (double)v->facts.kernels;
  if (!strcmp(key, "flops"))
    return v->facts.flops;
  if (!strcmp(key, "bytes"))
    return v->facts.bytes;
  return NAN;
}

static const char *const metrics[] = {"instructions", "fusions",    "kernels",    "flops",
                                      "bytes",        "temp_bytes", "peak_bytes", "code_bytes"};

static json_t *number(double value) {
  if (isnan(value))
    return json_null();
  return value == floor(value) && fabs(value) < 9e15 ? json_integer((json_int_t)value)
                                                     : json_real(value);
}

static json_t *metrics_json(const ablate_variant *v) {
  json_t *out = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(metrics); i++)
    json_object_set_new(out, metrics[i], number(metric(v, metrics[i])));
  json_object_set_new(out, "compile_seconds", hsc_json_real(v->compile_s));
  return out;
}

static json_t *delta_json(const ablate_variant *v, const ablate_variant *baseline) {
  json_t *out = json_object();
  // sums that leave out different calls have no difference
  bool alike = v->facts.uncounted == baseline->facts.uncounted;
  for (size_t i = 0; i < HSC_COUNT_OF(metrics); i++) {
    bool cost = !strcmp(metrics[i], "flops") || !strcmp(metrics[i], "bytes");
    double change = metric(v, metrics[i]) - metric(baseline, metrics[i]);
    json_object_set_new(out, metrics[i], number(cost && !alike ? NAN : change));
  }
  json_object_set_new(out, "compile_seconds", hsc_json_real(v->compile_s - baseline->compile_s));
  return out;
}

// What a pass's absence came to, the worst first.
static const char *outcome_text(const ablate_run *run, const ablate_variant *v) {
  if (!v->answer)
    return v->outcome == HSC_OUTCOME_UNSUPPORTED || v->outcome == HSC_OUTCOME_OUT_OF_MEMORY
               ? "error"
               : hsc_outcome_text(v->outcome);
  if (v->same_as == 0)
    return "same";
  if (v->run_outcome != HSC_OUTCOME_OK)
    return v->run_outcome == HSC_OUTCOME_UNSUPPORTED ? "error" : hsc_outcome_text(v->run_outcome);
  const char *numbers = json_string_value(json_object_get(v->numbers, "verdict"));
  const char *who = hsc__ablate_who(run, v);
  bool right = who && (!strcmp(who, "variant") || !strcmp(who, "both"));
  if (numbers && !strcmp(numbers, "different") && !right)
    return "numbers";
  if (v->verdict && (!strcmp(v->verdict, "faster") || !strcmp(v->verdict, "slower")))
    return v->verdict;
  return "different";
}

static json_t *variant_json(const ablate_run *run, const ablate_variant *v) {
  static const char *const kinds[] = {"baseline", "placebo", "pass", "pipeline", "pair"};
  const ablate_variant *baseline = &run->variants[0];
  json_t *out = json_object();
  json_object_set_new(out, "pass", json_string(v->name));
  json_object_set_new(out, "kind", json_string(kinds[v->kind]));
  json_object_set_new(out, "outcome", json_string(outcome_text(run, v)));
  json_object_set_new(out, "code", v->code ? json_string(v->code) : json_null());
  json_object_set_new(out, "message", v->message ? json_string(v->message) : json_null());
  json_object_set_new(out, "where", v->where ? json_string(v->where) : json_null());
  json_object_set_new(out, "fingerprint",
                      v->answer && *v->fingerprint ? json_string(v->fingerprint) : json_null());
  json_object_set_new(out, "same_as",
                      v->answer && &run->variants[v->same_as] != v
                          ? json_string(run->variants[v->same_as].name)
                          : json_null());
  json_object_set_new(out, "delta", v->answer ? delta_json(v, baseline) : json_null());
  json_object_set_new(out, "numbers", v->numbers ? json_incref(v->numbers) : json_null());
  const char *who = hsc__ablate_who(run, v);
  json_object_set_new(out, "reference", v->reference ? json_incref(v->reference) : json_null());
  json_object_set_new(out, "right", who ? json_string(who) : json_null());
  json_object_set_new(out, "verdict", v->verdict ? json_string(v->verdict) : json_null());
  json_object_set_new(out, "total_time", v->total_time ? json_incref(v->total_time) : json_null());
  json_object_set_new(out, "kernel_time",
                      v->kernel_time ? json_incref(v->kernel_time) : json_null());
  json_object_set_new(out, "highlight", v->highlight > 0 ? number(v->highlight) : json_null());
  return out;
}

// What two passes off do together beyond what each does alone: a difference of counts, a ratio of
// ratios.
static json_t *interaction(const ablate_run *run, const ablate_variant *v) {
  static const char *const counts[] = {"instructions", "fusions", "kernels", "temp_bytes"};
  const ablate_variant *base = &run->variants[0];
  const ablate_variant *a = &run->variants[v->first];
  const ablate_variant *b = &run->variants[v->second];
  json_t *out = json_object();
  for (size_t i = 0; i < HSC_COUNT_OF(counts); i++) {
    double alone = metric(a, counts[i]) + metric(b, counts[i]) - 2 * metric(base, counts[i]);
    json_object_set_new(
        out, counts[i],
        v->answer ? number(metric(v, counts[i]) - metric(base, counts[i]) - alone) : json_null());
  }
  double both = hsc_json_number(json_object_get(v->total_time, "ratio"));
  double first = hsc_json_number(json_object_get(a->total_time, "ratio"));
  double second = hsc_json_number(json_object_get(b->total_time, "ratio"));
  json_object_set_new(out, "total_time_ratio", hsc_json_real(both / (first * second)));
  return out;
}

static json_t *pairs_json(const ablate_run *run) {
  json_t *out = json_array();
  for (int i = 0; i < run->variant_count; i++) {
    const ablate_variant *v = &run->variants[i];
    if (v->kind != VARIANT_PAIR)
      continue;
    json_t *row = variant_json(run, v);
    json_object_set_new(
        row, "passes",
        json_pack("[s, s]", run->variants[v->first].name, run->variants[v->second].name));
    json_object_set_new(row, "interaction", interaction(run, v));
    json_array_append_new(out, row);
  }
  return out;
}

static json_t *baseline_json(const ablate_run *run) {
  const ablate_variant *v = &run->variants[0];
  json_t *out = metrics_json(v);
  json_object_set_new(out, "fingerprint", json_string(v->fingerprint));
  json_object_set_new(out, "program_fingerprint",
                      json_incref(json_object_get(v->answer, "fingerprint")));
  const char *from = json_string_value(json_object_get(v->answer, "cost_from"));
  json_object_set_new(
      out, "cost_from",
      json_string(from && !strcmp(from, "device") ? from : "cost model, of the optimised program"));
  json_object_set_new(out, "reference", v->reference ? json_incref(v->reference) : json_null());
  if (v->total_time)
    json_object_set(out, "total_time", v->total_time);
  if (v->kernel_time)
    json_object_set(out, "kernel_time", v->kernel_time);
  return out;
}

hsc_status *hsc__ablate_document(ablate_run *run, json_t **out_result) {
  const hsc_ablate_options *o = run->options;
  json_t *result = json_object();
  json_t *placebos = json_array();
  json_t *variants = json_array();
  json_t *counts = json_object();
  json_t *numbers = NULL;
  double compile_s = 0;
  int planned = 0;
  // with --no-timing nothing was to be run
  hsc_status *status = o->timing ? hsc__ablate_numbers_json(run, &numbers) : NULL;
  for (int i = 0; i < run->variant_count; i++) {
    const ablate_variant *v = &run->variants[i];
    compile_s += v->answer ? v->compile_s : 0;
    planned += v->kind == VARIANT_PASS || v->kind == VARIANT_PIPELINE;
    if (v->kind == VARIANT_BASELINE || v->kind == VARIANT_PAIR ||
        (run->interrupted && !v->answer && !v->message))
      continue;
    json_array_append_new(v->kind == VARIANT_PLACEBO ? placebos : variants, variant_json(run, v));
    if (v->kind == VARIANT_PLACEBO)
      continue;
    const char *outcome = outcome_text(run, v);
    json_object_set_new(counts, outcome,
                        json_integer(json_integer_value(json_object_get(counts, outcome)) + 1));
  }
  json_object_set_new(result, "program", json_string(o->program));
  json_object_set_new(result, "device", json_string(o->device->text));
  // a budget that ends the timing is no interrupt: what it left has no times, or wide intervals
  bool done = !run->interrupted || (run->out_of_time && run->timing);
  json_object_set_new(result, "status", json_string(done ? "done" : "interrupted"));
  json_object_set_new(result, "ended_by",
                      run->interrupted ? json_string(run->ended_by) : json_null());
  json_object_set_new(result, "platform_version",
                      json_incref(json_object_get(run->device, "platform_version")
                                      ? json_object_get(run->device, "platform_version")
                                      : json_null()));
  json_object_set_new(result, "experiment", json_integer((json_int_t)run->tasks.experiment));
  json_object_set_new(result, "environment", json_incref(run->environment));
  json_object_set_new(
      result, "baseline",
      run->variant_count && run->variants[0].answer ? baseline_json(run) : json_null());
  json_object_set_new(result, "placebos", placebos);
  json_object_set_new(result, "variants", variants);
  json_object_set_new(result, "numbers", numbers ? numbers : json_null());
  json_object_set_new(result, "rounding", hsc_rounding_json(run->rounding));
  json_object_set_new(result, "timing", run->timing ? json_incref(run->timing) : json_null());
  json_object_set_new(result, "pairs", o->pairs ? pairs_json(run) : json_null());
  json_object_set_new(
      result, "totals",
      json_pack("{s:i, s:i, s:o, s:f, s:f}", "variants", (int)json_array_size(variants), "planned",
                planned, "outcomes", counts, "compile_seconds", compile_s, "wall_seconds",
                hsc__ablate_wall_seconds(run)));
  if (status)
    json_decref(result);
  else
    *out_result = result;
  return status;
}
