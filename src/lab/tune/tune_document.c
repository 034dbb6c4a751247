// tune_document.c - the answer of a tuning, and everything that it rests on.
#include <math.h>

#include "lab/run/json_tree.h"
#include "lab/tune/tune_internal.h"
#include "lab/verdict/agreement.h"

json_t *hsc__tune_text(hsc_bytes *text) {
  json_t *out = text->size ? json_string(hsc_bytes_text(text)) : json_null();
  hsc_bytes_deinit(text);
  return out;
}

// What a change does, for a pair of its part.
static const char *change_of(const tune_run *run, const tune_candidate *c) {
  if (c->kind == TUNE_CHANGE)
    return c->value;
  if (c->kind != TUNE_PAIR)
    return NULL;
  const char *first = change_of(run, &run->items[c->first]);
  return first ? first : change_of(run, &run->items[c->second]);
}

// ---- a row --------------------------------------------------------------------------------------

static json_t *effect_json(const hsc_tune_found *found) {
  const hsc_effect *e = &found->effect;
  if (!found->judged)
    return json_null();
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:i, s:s, s:i, s:i}", "ratio",
                   hsc_json_real(e->ratio.estimate), "low", hsc_json_real(e->ratio.low), "high",
                   hsc_json_real(e->ratio.high), "p_value", hsc_json_real(e->p_value), "q_value",
                   hsc_json_real(e->q_value), "placebos_beaten", e->placebos_beaten, "verdict",
                   hsc_verdict_text(e->verdict), "processes", (int)e->process_count, "blocks",
                   (int)e->block_count);
}

// "not tried", how it failed, "numbers" where they are wrong, else what was proved.
static const char *outcome_of(const tune_run *run, const tune_candidate *c) {
  if (!c->tried)
    return c->memory_only && !run->structure_only ? "memory only" : "not tried";
  if (c->outcome != HSC_OUTCOME_OK)
    return hsc_outcome_text(c->outcome);
  if (!c->usable)
    return run->structure_only ? "not repeated" : "numbers";
  if (run->structure_only)
    return "ok";
  return c->found.judged ? hsc_verdict_text(c->found.effect.verdict) : "not among the best";
}

static json_t *row_of(const tune_run *run, const tune_candidate *c) {
  json_t *row = json_object();
  json_object_set_new(row, "name", json_string(c->name));
  json_object_set_new(row, "value", c->value ? json_string(c->value) : json_null());
  json_object_set_new(row, "kind", json_string(hsc__tune_kind_text(c->kind)));
  json_object_set_new(row, "why", json_string(c->why));
  json_object_set_new(row, "outcome", json_string(outcome_of(run, c)));
  json_object_set_new(row, "message", c->message ? json_string(c->message) : json_null());
  json_object_set_new(row, "options", json_incref(c->overrides));
  json_object_set_new(row, "look", hsc_json_real(c->found.screen));
  json_object_set_new(row, "time", effect_json(&c->found));
  json_object_set_new(row, "run_seconds", hsc_json_real(c->tried ? c->run_s : NAN));
  json_object_set_new(row, "compile_seconds", hsc_json_real(c->tried ? c->compile_s : NAN));
  json_object_set_new(row, "temp_bytes", hsc_json_real(c->temp_bytes));
  json_object_set_new(row, "peak_bytes", hsc_json_real(c->peak_bytes));
  json_object_set_new(row, "kernels", hsc_json_real(c->kernels));
  json_object_set_new(row, "facts", c->facts ? json_incref(c->facts) : json_null());
  json_object_set_new(row, "numbers", c->numbers ? json_incref(c->numbers) : json_null());
  json_object_set_new(row, "risk", c->risk ? json_string(c->risk) : json_null());
  return row;
}

// ---- the answer ---------------------------------------------------------------------------------

static bool is_winner(const tune_run *run, const tune_candidate *c) {
  const hsc_effect *e = &c->found.effect;
  return c->usable && c->found.judged && e->verdict == HSC_VERDICT_FASTER &&
         e->ratio.estimate < 1 - run->options->margin;
}

// A pair is worth its second line where it is faster than the best single by more than the margin.
static const tune_candidate *fastest(const tune_run *run) {
  const tune_candidate *best = NULL;
  for (int i = 1; i <= run->candidate_count; i++) {
    const tune_candidate *c = &run->items[i];
    if (is_winner(run, c) &&
        (!best || c->found.effect.ratio.estimate < best->found.effect.ratio.estimate))
      best = c;
  }
  const tune_candidate *single = best;
  for (int i = run->first_pair; single && run->first_pair && i < run->count; i++) {
    const tune_candidate *c = &run->items[i];
    double wanted = single->found.effect.ratio.estimate * (1 - run->options->margin);
    if (is_winner(run, c) && c->found.effect.ratio.high < wanted &&
        c->found.effect.ratio.estimate < best->found.effect.ratio.estimate)
      best = c;
  }
  return best;
}

static const tune_candidate *smallest(const tune_run *run) {
  const tune_candidate *best = NULL;
  const tune_candidate *base = &run->items[0];
  for (int i = 1; i <= run->candidate_count; i++) {
    const tune_candidate *c = &run->items[i];
    if (!c->usable || !c->found.judged || c->transform ||
        !(c->peak_bytes < base->peak_bytes * (1 - run->options->margin)))
      continue;
    if (!best || c->peak_bytes < best->peak_bytes)
      best = c;
  }
  return best;
}

static const tune_candidate *fewest(const tune_run *run) {
  const tune_candidate *best = NULL;
  const tune_candidate *base = &run->items[0];
  for (int i = 1; i <= run->candidate_count; i++) {
    const tune_candidate *c = &run->items[i];
    if (!c->usable || !c->found.judged || c->transform || !(c->kernels < base->kernels))
      continue;
    if (!best || c->kernels < best->kernels)
      best = c;
  }
  return best;
}

static json_t *from_to(double from, double to) {
  return json_pack("{s:o, s:o}", "from", hsc_json_real(from), "to", hsc_json_real(to));
}

static json_t *answer_of(const tune_run *run, const tune_candidate *c) {
  const tune_candidate *base = &run->items[0];
  const char *change = change_of(run, c);
  json_t *out = json_pack("{s:s, s:s?}", "name", c->name, "change", change);
  json_object_set_new(out, "time", effect_json(&c->found));
  json_object_set_new(out, "run_seconds",
                      from_to(base->run_s, base->run_s * c->found.effect.ratio.estimate));
  json_object_set_new(out, "compile_seconds", from_to(base->compile_s, c->compile_s));
  if (run->structure_only || run->options->for_compile)
    json_object_set_new(out, "run_seconds", json_null());
  if (run->options->for_compile) {
    double to = base->compile_s * c->found.effect.ratio.estimate;
    json_object_set_new(out, "compile_seconds", from_to(base->compile_s, to));
  }
  json_object_set_new(out, "kernels", from_to(base->kernels, c->kernels));
  json_object_set_new(out, "temp_bytes", from_to(base->temp_bytes, c->temp_bytes));
  json_object_set_new(out, "peak_bytes", from_to(base->peak_bytes, c->peak_bytes));
  json_object_set_new(out, "numbers", c->numbers ? json_incref(c->numbers) : json_null());
  json_object_set_new(out, "risk", c->risk ? json_string(c->risk) : json_null());
  return out;
}

// With the lines to paste, which are tried.
static hsc_status *put_answer(tune_run *run,
                              json_t *document,
                              const char *key,
                              const tune_candidate *c) {
  json_t *answer = c ? answer_of(run, c) : json_null();
  json_object_set_new(document, key, answer);
  return c ? hsc__tune_put_lines(run, c, answer) : NULL;
}

static int tried_count(const tune_run *run) {
  int count = 0;
  for (int i = 1; i <= run->candidate_count; i++)
    count += run->items[i].tried;
  return count;
}

// What the look liked best, where the time did not reach for a proof.
static const tune_candidate *likeliest(const tune_run *run) {
  const tune_candidate *best = NULL;
  for (int i = 1; i <= run->candidate_count; i++) {
    const tune_candidate *c = &run->items[i];
    bool looks_faster = c->usable && c->found.screen < 1 - run->options->margin;
    if (looks_faster && (!best || c->found.screen < best->found.screen))
      best = c;
  }
  return best;
}

static void put_headline(const tune_run *run, const tune_candidate *best, hsc_bytes *out) {
  int tried = tried_count(run);
  const tune_candidate *less = smallest(run);
  const tune_candidate *fewer = fewest(run);
  const tune_candidate *base = &run->items[0];
  if (best) {
    const hsc_effect *e = &best->found.effect;
    hsc_bytes_printf(out, "%s%.2f times as fast [%.2f, %.2f] with %s%s%s",
                     run->options->for_compile ? "compiles " : "", 1 / e->ratio.estimate,
                     1 / e->ratio.high, 1 / e->ratio.low, best->name, best->value ? "=" : "",
                     best->kind == TUNE_OPTION ? best->value : "");
  } else if (run->structure_only && (less || fewer)) {
    if (less)
      hsc_bytes_printf(out, "%.1f %% less memory with %s",
                       100 * (1 - less->peak_bytes / base->peak_bytes), less->name);
    if (fewer)
      hsc_bytes_printf(out, "%s%.0f kernels in place of %.0f with %s", less ? "; " : "",
                       fewer->kernels, base->kernels, fewer->name);
  } else {
    hsc_bytes_printf(out, "nothing found among %d candidates", tried);
  }
  if (tried < run->candidate_count)
    hsc_bytes_printf(out, "; %d of %d candidates were not tried", run->candidate_count - tried,
                     run->candidate_count);
  const tune_candidate *likely = best || run->searched ? NULL : likeliest(run);
  if (likely)
    hsc_bytes_printf(out, "; most promising and not proved: %s%s%s, %.2f of the time at a look",
                     likely->name, likely->kind == TUNE_OPTION ? "=" : "",
                     likely->kind == TUNE_OPTION ? likely->value : "", likely->found.screen);
  if (!run->searched)
    hsc_bytes_printf(out, "; ended by %s before it was through",
                     run->out_of_time ? "the time budget" : "an interrupt");
}

// Numbers of what was run: against what, how many agree.
static hsc_status *put_numbers(const tune_run *run, json_t *document) {
  hsc_agreement *agreement = NULL;
  json_t *numbers = json_object();
  HSC_TRY(hsc_agreement_create("candidate", &agreement));
  const tune_candidate *best = run->structure_only ? NULL : fastest(run);
  hsc_finding finding;
  if (best &&
      hsc_finding_parse(json_string_value(json_object_get(best->numbers, "verdict")), &finding))
    hsc_agreement_compared(agreement, best->name, finding);
  else if (best)
    hsc_agreement_gap(agreement, json_object(), best->name,
                      run->only_compiles ? "the device only compiles here"
                                         : "its inputs are others than the program's");
  else if (run->only_compiles)
    hsc_agreement_gap(agreement, json_object(), "numbers", "the device only compiles here");
  hsc_status *status = hsc_agreement_into(agreement, numbers);
  json_object_set_new(numbers, "against", run->truth_of ? json_string(run->truth_of) : json_null());
  json_object_set_new(numbers, "no_reference",
                      run->no_truth && !run->truth ? json_string(run->no_truth) : json_null());
  json_object_set_new(document, "numbers", numbers);
  hsc_agreement_destroy(agreement);
  return status;
}

static json_t *rows_json(const tune_run *run, int from, int to) {
  json_t *rows = json_array();
  for (int i = from; i < to; i++)
    json_array_append_new(rows, row_of(run, &run->items[i]));
  return rows;
}

static const char *goal_of(const tune_run *run) {
  if (run->options->for_compile)
    return "compile time";
  return run->structure_only ? "memory and kernels" : "run time";
}

hsc_status *hsc__tune_document(tune_run *run, json_t **out_result) {
  const hsc_tune_options *o = run->options;
  const tune_candidate *best = run->structure_only ? NULL : fastest(run);
  const tune_candidate *less = run->structure_only ? smallest(run) : NULL;
  const tune_candidate *fewer = run->structure_only ? fewest(run) : NULL;
  hsc_bytes headline = {0};
  int placebos_end = 1 + run->candidate_count + (run->count > 1 ? o->placebos : 0);
  json_t *document = json_object();
  *out_result = NULL;
  if (placebos_end > run->count)
    placebos_end = run->count;
  put_headline(run, best, &headline);
  json_object_set_new(document, "program", json_string(o->program));
  json_object_set_new(document, "device", json_string(o->device->text));
  json_object_set_new(document, "experiment", json_integer(run->tasks.experiment));
  json_object_set_new(document, "status", json_string(run->interrupted ? "interrupted" : "done"));
  const char *ended_by = run->out_of_time ? "the time budget" : "an interrupt";
  json_object_set_new(document, "ended_by", run->interrupted ? json_string(ended_by) : json_null());
  json_object_set_new(document, "tuned_for", json_string(goal_of(run)));
  json_object_set_new(document, "headline", hsc__tune_text(&headline));
  json_t *inputs = json_pack("{s:I}", "seed", (json_int_t)o->seed);
  if (inputs && o->inputs_file)
    json_object_set_new(inputs, "file", json_string(o->inputs_file));
  json_object_set_new(document, "inputs", inputs);
  hsc_status *status = put_answer(run, document, "answer", best);
  if (!status)
    status = put_answer(run, document, "least_memory", less);
  if (!status)
    status = put_answer(run, document, "fewest_kernels", fewer);
  json_object_set_new(document, "candidates", json_integer(run->candidate_count));
  json_object_set_new(document, "tried", json_integer(tried_count(run)));
  json_object_set_new(document, "never_tried", json_integer(run->left_out));
  json_object_set_new(document, "options_from",
                      run->flags_from ? json_string(run->flags_from) : json_null());
  json_object_set_new(document, "options_known", json_integer((json_int_t)run->flags.count));
  json_object_set_new(document, "no_options",
                      run->no_flags ? json_string(run->no_flags) : json_null());
  json_object_set_new(document, "baseline", row_of(run, &run->items[0]));
  json_object_set_new(document, "rows", rows_json(run, 1, 1 + run->candidate_count));
  json_object_set_new(document, "placebos", rows_json(run, 1 + run->candidate_count, placebos_end));
  json_object_set_new(document, "pairs",
                      run->first_pair ? rows_json(run, run->first_pair, run->count) : json_array());
  json_object_set_new(document, "seconds", hsc_json_real(hsc__tune_seconds(run)));
  json_object_set_new(document, "environment", json_incref(run->environment));
  if (!status)
    status = put_numbers(run, document);
  if (status)
    json_decref(document);
  else
    *out_result = document;
  return status;
}

int hsc_tune_exit_code(const json_t *result) {
  bool found = json_is_object(json_object_get(result, "answer")) ||
               json_is_object(json_object_get(result, "least_memory")) ||
               json_is_object(json_object_get(result, "fewest_kernels"));
  bool done = !strcmp(json_string_value(json_object_get(result, "status")), "done");
  return found || done ? 0 : 3;
}
