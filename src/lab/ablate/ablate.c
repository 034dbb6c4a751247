// ablate.c - the ablation as a whole: which names, which phases, resuming.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "base/text/pattern.h"
#include "base/text/text.h"
#include "lab/ablate/ablate.h"

#include <math.h>
#include <stdlib.h>

#include "lab/ablate/ablate_internal.h"
#include "lab/store/environment.h"
#include "lab/run/json_tree.h"
#include "worker/scratch.h"

// ---- which passes -------------------------------------------------------------------------------

static bool has_name(const char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], name))
      return true;
  return false;
}

// A name that the compiler does not know would be accepted by it in silence, and would measure
// nothing.
static hsc_status *check_names(const hsc_ablate_options *o,
                               const char *const *known,
                               size_t count) {
  for (size_t i = 0; i < o->name_count; i++) {
    if (has_name(known, count, o->names[i]))
      continue;
    const char *near = hsc_did_you_mean(o->names[i], known, count);
    hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "%s has no pass '%s' that ran on this program",
                                 o->device->text, o->names[i]);
    if (near)
      return hsc_status_hint(status, "did you mean '%s'?", near);
    return hsc_status_hint(status, "hloscope passes list %s --device %s shows the %zu names",
                           o->program, o->device->text, count);
  }
  return NULL;
}

static bool ran_in(const hsc_pass_list *list, const char *pass, const char *pipeline) {
  for (size_t i = 0; i < list->row_count; i++)
    if (!strcmp(list->rows[i].pass, pass) && !strcmp(list->rows[i].pipeline, pipeline))
      return true;
  return false;
}

static bool changed_something(const hsc_pass_list *list, const char *name) {
  for (size_t i = 0; i < list->row_count; i++)
    if (list->rows[i].changed != 0 &&
        (!strcmp(list->rows[i].pass, name) || !strcmp(list->rows[i].pipeline, name)))
      return true;
  return false;
}

static bool is_pipeline(const hsc_pass_list *list, const char *name) {
  for (size_t i = 0; i < list->row_count; i++)
    if (!strcmp(list->rows[i].pipeline, name))
      return true;
  return false;
}

static bool is_rule(const hsc_pass_list *list, const char *name) {
  return hsc_pass_list_fired(list, name) > 0;
}

// The names that may be switched off: passes, and where wanted pipelines and rules.
static hsc_status *names_of(
    ablate_run *run, bool pipelines, bool rules, const char ***out_names, size_t *out_count) {
  const char **passes = NULL;
  const char **fired = NULL;
  size_t pass_count = 0;
  size_t fired_count = 0;
  HSC_TRY(hsc_pass_list_names(&run->passes, pipelines, &passes, &pass_count));
  if (rules)
    HSC_TRY(hsc_pass_list_rules(&run->passes, &fired, &fired_count));
  const char **all = HSC_NEW_ARRAY(run->arena, const char *, pass_count + fired_count + 1);
  if (!all)
    return hsc_arena_status(run->arena);
  for (size_t i = 0; i < pass_count; i++)
    all[i] = passes[i];
  for (size_t i = 0; i < fired_count; i++)
    all[pass_count + i] = fired[i];
  *out_names = all;
  *out_count = pass_count + fired_count;
  return NULL;
}

// A pipeline may have the name of a pass in it ("fusion"); both are off then.
static bool is_pass(const hsc_pass_list *list, const char *name) {
  for (size_t i = 0; i < list->row_count; i++)
    if (!list->rows[i].nested && !strcmp(list->rows[i].pass, name))
      return true;
  return false;
}

static hsc_status *choose_passes(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  const char **known = NULL;
  const char **all = NULL;
  size_t known_count = 0;
  size_t all_count = 0;
  regex_t pattern;
  hsc_status *status = NULL;
  HSC_TRY(names_of(run, true, true, &all, &all_count));
  HSC_TRY(check_names(o, all, all_count));
  if (o->pipeline && !is_pipeline(&run->passes, o->pipeline)) {
    const char *near = hsc_did_you_mean(o->pipeline, all, all_count);
    status = HSC_ERR(INVALID_ARGUMENT, "%s has no pipeline '%s' that ran on this program",
                     o->device->text, o->pipeline);
    return near ? hsc_status_hint(status, "did you mean '%s'?", near) : status;
  }
  HSC_TRY(names_of(run, o->with_pipelines, o->with_rules, &known, &known_count));
  if (o->name_count) {
    known = (const char **)(uintptr_t)o->names;
    known_count = o->name_count;
  }
  if (o->pattern)
    HSC_TRY(hsc_pattern_compile(o->pattern, &pattern));
  int before = run->variant_count;
  for (size_t i = 0; i < known_count && !status; i++) {
    if (o->pattern && regexec(&pattern, known[i], 0, NULL, 0))
      continue;
    bool rule = is_rule(&run->passes, known[i]);
    if (o->that_changed && !rule && !changed_something(&run->passes, known[i]))
      continue;
    if (o->pipeline && !rule && !ran_in(&run->passes, known[i], o->pipeline))
      continue;
    bool pass = rule || is_pass(&run->passes, known[i]);
    status = hsc__ablate_add(run, pass ? VARIANT_PASS : VARIANT_PIPELINE, known[i], known[i], NULL);
  }
  if (o->pattern)
    regfree(&pattern);
  if (!status && run->variant_count == before)
    status = HSC_ERR(
        INVALID_ARGUMENT,
        "no pass is left to switch off: of %zu names that %s knows on this program none is wanted",
        known_count, o->device->text);
  return status;
}

static hsc_status *plan_variants(ablate_run *run) {
  HSC_TRY(hsc__ablate_add(run, VARIANT_BASELINE, "baseline", "", NULL));
  for (int i = 0; i < run->options->placebo_count; i++) {
    const char *name = hsc_arena_printf(run->arena, "hloscope-placebo-%d", i + 1);
    HSC_TRY(hsc_arena_status(run->arena));
    HSC_TRY(hsc__ablate_add(run, VARIANT_PLACEBO, name, name, NULL));
  }
  return choose_passes(run);
}

// ---- the list of passes -------------------------------------------------------------------------

static json_t *names_json(const hsc_pass_list *list) {
  json_t *rows = json_array();
  for (size_t i = 0; i < list->row_count; i++)
    if (!list->rows[i].counts)
      json_array_append_new(
          rows, json_pack("{s:s, s:s, s:b, s:i, s:s?}", "pipeline", list->rows[i].pipeline, "pass",
                          list->rows[i].pass, "nested", list->rows[i].nested, "changed",
                          list->rows[i].changed, "rules", list->rows[i].rules));
  return rows;
}

static hsc_status *names_of_json(json_t *rows, hsc_pass_list *list) {
  json_t *item;
  size_t i;
  json_array_foreach (rows, i, item) {
    const char *pipeline = json_string_value(json_object_get(item, "pipeline"));
    const char *pass = json_string_value(json_object_get(item, "pass"));
    hsc_pass_row *row = pipeline && pass ? hsc_pass_list_add(list, pipeline, pass) : NULL;
    if (!row)
      return HSC_ERR(DATA_LOSS, "the stored list of passes is damaged");
    row->nested = json_is_true(json_object_get(item, "nested"));
    row->changed = (int)json_integer_value(json_object_get(item, "changed"));
    const char *rules = json_string_value(json_object_get(item, "rules"));
    row->rules = rules ? hsc_arena_strdup(list->arena, rules) : NULL;
  }
  return hsc_arena_status(list->arena);
}

static hsc_status *find_passes(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  hsc_task_row row;
  json_t *answer = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_answer start = {0};
  hsc_status *status = hsc_task_table_find(&run->tasks, "passes", &row);
  if (!status && row.state) {
    run->device = json_incref(json_object_get(row.answer, "device"));
    status = names_of_json(json_object_get(row.answer, "rows"), &run->passes);
    goto done;
  }
  if (status)
    goto done;
  if (o->progress)
    o->progress(o->user, 0, 1, -1, "finding the passes");
  HSC_GOTO(hsc_task_worker(&run->setting, &worker));
  HSC_GOTO(hsc_lab_worker_start(worker, &start));
  if (start.outcome != HSC_OUTCOME_OK)
    HSC_GOTO(hsc_answer_take_status(&start));
  hsc_passes_collect_options collect = {
      .program = o->program,
      .transforms = o->transforms,
      .transform_count = o->transform_count,
      .overrides = o->overrides,
      .scratch = run->scratch,
      .dumps = o->that_changed && o->device->source != HSC_DEVICE_BUILT_IN,
      .bare = true,
      .limit_ns = hsc_task_limit(&run->setting, o->limit_ns)};
  HSC_GOTO(hsc_passes_collect(worker, &collect, &run->passes));
  hsc_scratch_empty(run->scratch);
  run->device = json_incref(start.body);
  answer = json_pack("{s:O, s:o}", "device", run->device, "rows", names_json(&run->passes));
  HSC_GOTO(hsc_task_table_keep(&run->tasks, "passes", "ok", NULL, answer));
done:
  json_decref(answer);
  hsc_task_row_deinit(&row);
  hsc_answer_deinit(&start);
  hsc_lab_worker_destroy(worker);
  return status;
}

// ---- the whole ----------------------------------------------------------------------------------

// Everything that decides what is measured, and the program's bytes. Which passes are switched off
// decides it only where they are timed beside each other: a compile stands for itself, so another
// choice of passes goes on with those that are done.
static hsc_status *plan_hash(const hsc_ablate_options *o, char out_hash[33]) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read(o->program, &text);
  hsc_bytes_printf(&text, "|ablate 3|%s|%s|%llu|%d", o->program, o->device->text,
                   (unsigned long long)o->seed, o->timing);
  if (o->that_changed)
    hsc_bytes_append_text(&text, "|that changed");
  if (o->with_rules)
    hsc_bytes_append_text(&text, "|rules");
  for (size_t i = 0; i < o->transform_count; i++)
    hsc_bytes_printf(&text, "|t %s", o->transforms[i]);
  if (o->timing) {
    hsc_bytes_printf(&text, "|%d|%d|%d|%d|%s|%s|%d", o->placebo_count, o->process_count,
                     o->block_count, o->pairs, o->pattern ? o->pattern : "",
                     o->pipeline ? o->pipeline : "", o->with_pipelines);
    for (size_t i = 0; i < o->name_count; i++)
      hsc_bytes_printf(&text, "|n %s", o->names[i]);
  }
  char *overrides = o->overrides ? json_dumps(o->overrides, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  hsc_bytes_printf(&text, "|o %s", overrides ? overrides : "");
  free(overrides);
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    hsc_hash128_hex(hsc_hash128_of(text.data, text.size, 0), out_hash);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *begin(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  char plan[33];
  hsc_task_row legs;
  HSC_TRY(plan_hash(o, plan));
  HSC_TRY(hsc_environment_capture(true, &run->environment));
  json_t *configuration =
      json_pack("{s:s, s:i, s:i, s:b, s:i, s:i, s:f}", "program", o->program, "placebos",
                o->placebo_count, "jobs", o->jobs, "timing", o->timing, "processes",
                o->process_count, "blocks", o->block_count, "margin", o->margin);
  hsc_experiment experiment = {.kind = "ablate",
                               .command = o->command ? o->command : "",
                               .device = o->device->text,
                               .subject = o->program,
                               .plan = plan,
                               .seed = o->seed,
                               .configuration = configuration,
                               .environment = run->environment};
  hsc_task_target target = {.device = o->device, .overrides = o->overrides};
  hsc_status *status = hsc_task_table_begin(o->store, o->resume, &experiment, &target, &run->tasks);
  json_decref(configuration);
  HSC_TRY(status);
  HSC_TRY(hsc_task_table_find(&run->tasks, "legs", &legs));
  double earlier_s = hsc_json_number(json_object_get(legs.answer, "seconds"));
  run->earlier_s = isfinite(earlier_s) ? earlier_s : 0;
  hsc_task_row_deinit(&legs);
  return NULL;
}

static hsc_status *baseline_status(const ablate_variant *v) {
  if (v->outcome == HSC_OUTCOME_UNSUPPORTED)
    return HSC_ERR(UNIMPLEMENTED, "the program does not compile with every pass on: %s",
                   v->message);
  return HSC_ERR(FAILED_PRECONDITION, "the program does not compile with every pass on (%s): %s",
                 hsc_outcome_text(v->outcome), v->message ? v->message : "");
}

static hsc_status *measure(ablate_run *run) {
  const hsc_ablate_options *o = run->options;
  HSC_TRY(find_passes(run));
  HSC_TRY(plan_variants(run));
  if (hsc__ablate_stopped(run))
    return NULL;
  HSC_TRY(hsc__ablate_compile_all(run, 0, run->variant_count));
  if (run->interrupted)
    return NULL;
  if (!run->variants[0].answer)
    return baseline_status(&run->variants[0]);
  int singles = run->variant_count;
  bool runs = o->timing && !o->device->topology;  // ahead of time there is nothing to run on
  if (runs)
    HSC_TRY(hsc__ablate_numbers(run, 0, singles));
  if (o->pairs && !run->interrupted) {
    // Which passes mattered is known by structure, before anything is timed; pairs are then timed
    // with the rest.
    HSC_TRY(hsc__ablate_pairs(run));
    if (runs && !run->interrupted)
      HSC_TRY(hsc__ablate_numbers(run, singles, run->variant_count));
  }
  return runs && !run->interrupted ? hsc__ablate_time(run) : NULL;
}

// How long this leg and those before it took, for the next one.
static hsc_status *keep_leg(ablate_run *run) {
  json_t *seconds = json_pack("{s:f}", "seconds", hsc__ablate_wall_seconds(run));
  hsc_status *status = seconds ? hsc_task_table_keep(&run->tasks, "legs", "ok", NULL, seconds)
                               : hsc_status_out_of_memory();
  json_decref(seconds);
  return status;
}

static void release(ablate_run *run) {
  for (int i = 0; i < run->variant_count; i++) {
    ablate_variant *v = &run->variants[i];
    json_t *const values[] = {v->answer,    v->outputs,    v->numbers,
                              v->reference, v->total_time, v->kernel_time};
    for (size_t k = 0; k < HSC_COUNT_OF(values); k++)
      json_decref(values[k]);
    hsc_free(v->message);
    hsc_free(v->where);
  }
  hsc_free(run->variants);
  json_t *const values[] = {run->environment, run->device, run->timing,
                            run->rounding,    run->truth,  run->bounded};
  for (size_t k = 0; k < HSC_COUNT_OF(values); k++)
    json_decref(values[k]);
  hsc_pass_list_deinit(&run->passes);
  hsc_scratch_destroy(run->scratch);
  hsc_arena_destroy(run->arena);
  pthread_mutex_destroy(&run->lock);
}

hsc_status *hsc_ablate(const hsc_ablate_options *options, json_t **out_result) {
  ablate_run run = {.options = options,
                    .setting = {.device = options->device,
                                .executable = options->executable,
                                .stop = options->stop,
                                .deadline_ns = options->deadline_ns},
                    .started_ns = hsc_wall_ns()};
  hsc_status *status = NULL;
  *out_result = NULL;
  pthread_mutex_init(&run.lock, NULL);
  HSC_GOTO(hsc_arena_create(&run.arena));
  HSC_GOTO(hsc_pass_list_init(&run.passes));
  HSC_GOTO(hsc_scratch_create(&run.scratch));
  HSC_GOTO(begin(&run));
  status = measure(&run);
  if (!status)
    status = keep_leg(&run);
  if (!status)
    status = hsc__ablate_document(&run, out_result);
  status = hsc_task_table_end(&run.tasks, status, run.interrupted, *out_result);
done:
  release(&run);
  return status;
}
