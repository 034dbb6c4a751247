// tune.c - the tuning as a whole: candidates, the search, pairs of what helped, resuming.
#include "lab/tune/tune.h"

#include <math.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/run/given_inputs.h"
#include "lab/run/json_tree.h"
#include "lab/store/environment.h"
#include "lab/tune/tune_internal.h"
#include "worker/scratch.h"

enum { MOST_WINNERS = 3, PAIR_PROCESSES = HSC_LEAST_PROCESSES, MOST_BLOCKS = 12 };
static const double LAST_SHARE = 0.3;  // of the budget, for the last round

// ---- beginning ----------------------------------------------------------------------------------

// Everything that decides what is measured, and the program's bytes.
static hsc_status *plan_hash(const hsc_tune_options *o, char out_hash[33]) {
  hsc_bytes text = {0};
  hsc_status *status = hsc_file_read(o->program, &text);
  hsc_bytes_printf(&text, "|tune 1|%s|%s|%llu|%s|%d|%d|%d|%d", o->program, o->device->text,
                   (unsigned long long)o->seed, o->pattern ? o->pattern : "", o->placebos, o->most,
                   o->no_changes, o->for_compile);
  for (size_t i = 0; i < o->transform_count; i++)
    hsc_bytes_printf(&text, "|t %s", o->transforms[i]);
  char *overrides = o->overrides ? json_dumps(o->overrides, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  hsc_bytes_printf(&text, "|o %s", overrides ? overrides : "");
  free(overrides);
  char inputs[33] = "";
  if (o->data && !status)
    status = hsc_given_inputs_digest(o->data, inputs);
  if (*inputs)
    hsc_bytes_printf(&text, "|i %s", inputs);
  if (!status)
    status = hsc_bytes_status(&text);
  if (!status)
    hsc_hash128_hex(hsc_hash128_of(text.data, text.size, 0), out_hash);
  hsc_bytes_deinit(&text);
  return status;
}

static hsc_status *begin(tune_run *run) {
  const hsc_tune_options *o = run->options;
  char plan[33];
  HSC_TRY(plan_hash(o, plan));
  HSC_TRY(hsc_environment_capture(true, &run->environment));
  if (o->budget_s > 0)
    run->setting.deadline_ns = hsc_now_ns() + (int64_t)(o->budget_s * 1e9);
  json_t *configuration = json_pack("{s:s, s:i, s:f, s:f}", "program", o->program, "placebos",
                                    o->placebos, "budget_s", o->budget_s, "margin", o->margin);
  hsc_experiment experiment = {.kind = "tune",
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
  return status;
}

double hsc__tune_seconds(const tune_run *run) {
  return (double)(hsc_wall_ns() - run->started_ns) * 1e-9;
}

// ---- the search ---------------------------------------------------------------------------------

// Blocks of the last round: what its share of the time allows.
static void plan_last(tune_run *run) {
  const tune_candidate *base = &run->items[0];
  double members = HSC_TUNE_LAST + run->options->placebos + 1;
  double turn_s = fmax(0.1, 3 * base->run_s);
  run->processes = HSC_LEAST_PROCESSES;
  run->blocks = MOST_BLOCKS;
  if (run->setting.deadline_ns) {
    double left_s = (double)(run->setting.deadline_ns - hsc_now_ns()) * 1e-9;
    double each_s = left_s * LAST_SHARE / run->processes - members * base->compile_s;
    run->blocks = (int)fmax(2, fmin(MOST_BLOCKS, each_s / (members * turn_s)));
  }
}

static bool is_winner(const tune_run *run, const tune_candidate *c) {
  const hsc_effect *e = &c->found.effect;
  return c->usable && c->found.judged && e->verdict == HSC_VERDICT_FASTER &&
         e->ratio.estimate < 1 - run->options->margin;
}

static hsc_status *search(tune_run *run) {
  const hsc_tune_options *o = run->options;
  tune_members members = {run, NULL, "round"};
  hsc_tune_plan plan = {.candidate_count = run->candidate_count,
                        .placebo_count = o->placebos,
                        .last_processes = run->processes,
                        .last_blocks = run->blocks,
                        .margin = o->margin,
                        .seed = o->seed};
  size_t all = (size_t)(run->candidate_count + o->placebos);
  hsc_tune_found *found = hsc_alloc((all + 1) * sizeof *found);
  if (!found)
    return hsc_status_out_of_memory();
  hsc_status *status = hsc_tune_search(&plan, hsc__tune_measure, &members, found, &run->searched);
  for (size_t i = 0; i < all && !status; i++)
    run->items[1 + i].found = found[i];
  hsc_free(found);
  return status;
}

// ---- pairs --------------------------------------------------------------------------------------

static void merge(json_t *into, const json_t *from) {
  static const char *const key = "xla_disable_hlo_passes";
  const char *name;
  json_t *value;
  json_object_foreach ((json_t *)(uintptr_t)from, name, value) {
    const char *before = json_string_value(json_object_get(into, name));
    if (before && !strcmp(name, key)) {
      hsc_bytes list = {0};
      hsc_bytes_printf(&list, "%s,%s", before, json_string_value(value));
      json_object_set_new(into, name, json_string(hsc_bytes_text(&list)));
      hsc_bytes_deinit(&list);
    } else {
      json_object_set(into, name, value);
    }
  }
}

static bool can_pair(const tune_candidate *a, const tune_candidate *b) {
  if (a->kind == TUNE_OPTION && b->kind == TUNE_OPTION && !strcmp(a->name, b->name))
    return false;  // two values of one option
  return !(a->program && b->program) && !a->transform && !b->transform;
}

static hsc_status *add_pair(tune_run *run, int first, int second) {
  tune_candidate *c = NULL;
  const char *name =
      hsc_arena_printf(run->arena, "%s + %s", run->items[first].name, run->items[second].name);
  HSC_TRY(hsc_arena_status(run->arena));
  HSC_TRY(hsc__tune_add(run, TUNE_PAIR, name, NULL, "both helped alone", 0, &c));
  const tune_candidate *a = &run->items[first];
  const tune_candidate *b = &run->items[second];
  c->first = first;
  c->second = second;
  c->program = a->program ? a->program : b->program;
  c->data = a->data ? json_incref(a->data) : NULL;
  if (!c->data && b->data)
    c->data = json_incref(b->data);
  c->risk = a->risk ? a->risk : b->risk;
  merge(c->overrides, a->overrides);
  merge(c->overrides, b->overrides);
  return NULL;
}

// The best few by what was proved, the best first.
static int find_winners(const tune_run *run, int *winners) {
  int count = 0;
  for (int i = 1; i <= run->candidate_count; i++) {
    if (!is_winner(run, &run->items[i]))
      continue;
    int at = count < MOST_WINNERS ? count++ : MOST_WINNERS;
    double ratio = run->items[i].found.effect.ratio.estimate;
    while (at > 0 && run->items[winners[at - 1]].found.effect.ratio.estimate > ratio) {
      if (at < MOST_WINNERS)
        winners[at] = winners[at - 1];
      at--;
    }
    if (at < MOST_WINNERS)
      winners[at] = i;
  }
  return count;
}

static hsc_status *prove_pairs(tune_run *run, int best) {
  const hsc_tune_options *o = run->options;
  enum { MOST = 1 + MOST_WINNERS + 64 };
  int items[MOST];
  int members[MOST];
  int pairs = run->count - run->first_pair;
  int count = 0;
  bool looked = false;
  items[count++] = best;
  for (int i = 0; i < pairs; i++)
    items[count++] = run->first_pair + i;
  int candidates = count;
  for (int p = 0; p < o->placebos && count < MOST; p++)
    items[count++] = 1 + run->candidate_count + p;
  hsc_tune_found found[MOST];
  tune_members user = {run, items, "pairs"};
  hsc_tune_plan plan = {.candidate_count = candidates,
                        .placebo_count = count - candidates,
                        .last_processes = PAIR_PROCESSES,
                        .last_blocks = run->blocks,
                        .margin = o->margin,
                        .seed = o->seed + 1};
  for (int i = 0; i < count; i++) {
    members[i] = i;
    found[i] = (hsc_tune_found){.screen = NAN};
  }
  double times[MOST_WINNERS];
  double base[MOST_WINNERS];
  hsc_tune_round first = {0, members + 1, (size_t)pairs, 1, 1};
  HSC_TRY(hsc__tune_measure(&user, &first, times, base, &looked));
  if (run->interrupted)
    return NULL;
  int kept = 1;
  for (int i = 1; i < count; i++)
    if (i >= candidates || run->items[items[i]].usable)
      members[kept++] = i;
  bool ended = false;
  if (kept > 1 + count - candidates)
    HSC_TRY(
        hsc_tune_prove(&plan, 3, members, (size_t)kept, hsc__tune_measure, &user, found, &ended));
  for (int i = 1; i < candidates; i++)
    run->items[items[i]].found = found[i];
  return NULL;
}

static hsc_status *try_pairs(tune_run *run) {
  int winners[MOST_WINNERS + 1];
  int count = find_winners(run, winners);
  run->first_pair = run->count;
  for (int i = 0; i < count; i++)
    for (int k = i + 1; k < count; k++)
      if (can_pair(&run->items[winners[i]], &run->items[winners[k]]))
        HSC_TRY(add_pair(run, winners[i], winners[k]));
  if (run->first_pair == run->count || hsc__tune_stopped(run))
    return NULL;
  return prove_pairs(run, winners[0]);
}

// ---- the whole ----------------------------------------------------------------------------------

static hsc_status *measure(tune_run *run) {
  tune_candidate *base = NULL;
  HSC_TRY(hsc__tune_add(run, TUNE_OPTION, "as it is", "", "what the others are held against", 0,
                        &base));
  run->only_compiles = run->options->device->topology != NULL;
  run->structure_only = run->only_compiles && !run->options->for_compile;
  HSC_TRY(run->only_compiles ? hsc__tune_compile_as_it_is(run) : hsc__tune_baseline(run));
  if (run->options->progress)
    run->options->progress(run->options->user, 0, 1, "finding candidates");
  HSC_TRY(hsc__tune_find_flags(run));
  HSC_TRY(hsc__tune_candidates(run));
  if (hsc__tune_stopped(run))
    return NULL;
  if (run->structure_only)
    return hsc__tune_structure(run);
  if (run->options->for_compile)
    return hsc__tune_compile_times(run);
  plan_last(run);
  HSC_TRY(search(run));
  return run->interrupted ? NULL : try_pairs(run);
}

static void release(tune_run *run) {
  hsc__tune_release_candidates(run);
  json_t *const values[] = {run->environment, run->device,   run->truth,
                            run->outputs,     run->rounding, run->bounded};
  for (size_t k = 0; k < HSC_COUNT_OF(values); k++)
    json_decref(values[k]);
  hsc_scratch_destroy(run->scratch);
  hsc_arena_destroy(run->arena);
}

hsc_status *hsc_tune(const hsc_tune_options *options, json_t **out_result) {
  tune_run run = {.options = options,
                  .setting = {.device = options->device,
                              .executable = options->executable,
                              .stop = options->stop},
                  .started_ns = hsc_wall_ns()};
  hsc_status *status = NULL;
  *out_result = NULL;
  HSC_GOTO(hsc_arena_create(&run.arena));
  HSC_GOTO(hsc_scratch_create(&run.scratch));
  HSC_GOTO(begin(&run));
  status = measure(&run);
  if (!status)
    status = hsc__tune_document(&run, out_result);
  status = hsc_task_table_end(&run.tasks, status, run.interrupted, *out_result);
done:
  release(&run);
  return status;
}
