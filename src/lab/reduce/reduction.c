// reduction.c - the search: cuts first, then every rule from coarse to fine, until nothing gets
// smaller.
#include "lab/reduce/reduction_internal.h"

#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/run/given_inputs.h"
#include "worker/scratch.h"

enum { MOST_ROUNDS = 8 };

void hsc_reduction_deinit(hsc_reduction *reduction) {
  hsc_module_destroy(reduction->module);
  json_decref(reduction->data);
  json_decref(reduction->trail);
  json_decref(reduction->taken);
  hsc_observation_deinit(&reduction->before);
  hsc_observation_deinit(&reduction->after);
  hsc_scratch_destroy(reduction->scratch);
  hsc_arena_destroy(reduction->arena);
  *reduction = (hsc_reduction){0};
}

// ---- cuts through the entry computation ---------------------------------------------------------

typedef hsc_status *(*cut)(const hsc_module *module, int64_t count, hsc_reduced *out);

static hsc_status *try_cut(hsc__reducer *r, cut make, int64_t count, bool *out_shows) {
  hsc_reduced reduced = {0};
  hsc__candidate c = {0};
  int first = -1;
  hsc_status *status = make(r->result->module, count, &reduced);
  if (!status)
    status = hsc__candidate_make(r, &reduced, &c);
  if (!status)
    status = hsc__candidates_try(r, &c, 1, &first);
  *out_shows = first >= 0;
  hsc__candidate_deinit(&c);
  hsc_reduced_deinit(&reduced);
  return status;
}

// The shortest beginning that shows the symptom, by halving. Each that shows it is taken at once:
// the next beginning is one of it.
static hsc_status *cut_end(hsc__reducer *r) {
  int64_t low = 0;
  int64_t high = hsc_reduce_entry_count(r->result->module);
  r->rule = "cut the end";
  while (high - low > 1 && !hsc__reducer_is_late(r)) {
    int64_t middle = low + (high - low) / 2;
    bool shows = false;
    HSC_TRY(try_cut(r, hsc_reduce_keep_first, middle, &shows));
    *(shows ? &high : &low) = middle;
    int64_t now = hsc_reduce_entry_count(r->result->module);
    high = high < now ? high : now;
  }
  return NULL;
}

// The instruction that brings the symptom, which is the last one after cut_end, by itself; else
// with as little of what it is made of as shows it, one use away, then two, four and so on.
static hsc_status *keep_around(hsc__reducer *r) {
  int64_t whole = hsc_module_instr_count(r->result->module);
  r->rule = "around the last";
  for (int64_t distance = 0; distance < whole && !hsc__reducer_is_late(r);
       distance = distance ? 2 * distance : 1) {
    bool shows = false;
    HSC_TRY(try_cut(r, hsc_reduce_around_last, distance, &shows));
    if (shows)
      break;
  }
  return NULL;
}

// As much of the beginning as can be given as values.
static hsc_status *cut_beginning(hsc__reducer *r) {
  int64_t step = hsc_reduce_entry_count(r->result->module);
  r->rule = "cut the beginning";
  while (step > 1 && !hsc__reducer_is_late(r)) {
    step = (step + 1) / 2;
    bool shows = true;
    while (shows && hsc_reduce_entry_count(r->result->module) > step && !hsc__reducer_is_late(r))
      HSC_TRY(try_cut(r, hsc_reduce_drop_first, step, &shows));
  }
  return NULL;
}

// ---- rules --------------------------------------------------------------------------------------

// A candidate of the places first to last - 1.
static hsc_status *make_chunk(hsc__reducer *r,
                              const hsc_reduce_rule *rule,
                              int64_t places,
                              int64_t first,
                              int64_t last,
                              hsc__candidate *out) {
  hsc_reduced reduced = {0};
  bool *chosen = hsc_alloc((size_t)places + 1);
  if (!chosen)
    return hsc_status_out_of_memory();
  for (int64_t i = first; i < last; i++)
    chosen[i] = true;
  hsc_status *status = hsc_reduce_apply(rule, r->result->module, chosen, places, &reduced);
  if (!status)
    status = hsc__candidate_make(r, &reduced, out);
  hsc_reduced_deinit(&reduced);
  hsc_free(chosen);
  return status;
}

// All chunks of one size, from the last place to the first, as many at once as there are observers.
static hsc_status *try_chunks(hsc__reducer *r, const hsc_reduce_rule *rule, int64_t size) {
  int64_t places = 0;
  HSC_TRY(hsc_reduce_places(rule, r->result->module, &places));
  int64_t end = places;
  while (end > 0 && !hsc__reducer_is_late(r)) {
    hsc__candidate batch[HSC__MOST_JOBS] = {{0}};
    int64_t ends[HSC__MOST_JOBS];
    int count = 0;
    int first = -1;
    hsc_status *status = NULL;
    for (; count < r->jobs && end > 0 && !status; count++) {
      ends[count] = end;
      status = make_chunk(r, rule, places, end > size ? end - size : 0, end, &batch[count]);
      end -= size;
    }
    if (!status)
      status = hsc__candidates_try(r, batch, count, &first);
    for (int i = 0; i < count; i++)
      hsc__candidate_deinit(&batch[i]);
    HSC_TRY(status);
    if (first < 0)
      continue;
    HSC_TRY(hsc_reduce_places(rule, r->result->module, &places));
    end = ends[first] - size;
    end = end < places ? end : places;
  }
  return NULL;
}

static hsc_status *run_rule(hsc__reducer *r, const hsc_reduce_rule *rule) {
  int64_t places = 0;
  r->rule = rule->name;
  HSC_TRY(hsc_reduce_places(rule, r->result->module, &places));
  for (int64_t size = places; size > 0 && !hsc__reducer_is_late(r);) {
    HSC_TRY(try_chunks(r, rule, size));
    HSC_TRY(hsc_reduce_places(rule, r->result->module, &places));
    size = size / 2 < places ? size / 2 : places;
  }
  return NULL;
}

// How small a program is: instructions, of them those that compute, elements of all values.
typedef struct measure {
  int64_t instructions, computing;
  double elements;
} measure;

static measure measure_of(const hsc_module *module) {
  measure m = {0};
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      m.instructions++;
      m.computing += instr->operand_count > 0;
      m.elements += (double)hsc_shape_elements(&instr->shape);
    }
  return m;
}

static bool is_smaller(measure a, measure b) {
  return a.instructions < b.instructions || a.computing < b.computing || a.elements < b.elements;
}

static bool is_wanted(const hsc__reducer *r, const hsc_reduce_rule *rule) {
  bool sizes = !strcmp(rule->name, "dimensions") || !strcmp(rule->name, "types");
  return !(r->options->keep_sizes && sizes);
}

// What makes the program cheap and flat, so that cuts find something to cut: loops end at once, and
// what is called is in the entry computation.
static hsc_status *open_up(hsc__reducer *r) {
  const hsc_reduce_rule *inlining = hsc_reduce_rule_get("inline");
  int64_t places = 0;
  HSC_TRY(run_rule(r, hsc_reduce_rule_get("loops")));
  for (int depth = 0; depth < MOST_ROUNDS && !hsc__reducer_is_late(r); depth++) {
    int64_t steps = r->result->steps;
    HSC_TRY(hsc_reduce_places(inlining, r->result->module, &places));
    r->rule = inlining->name;
    if (places)
      HSC_TRY(try_chunks(r, inlining, places));
    if (r->result->steps == steps)
      break;
    HSC_TRY(run_rule(r, hsc_reduce_rule_get("tuples")));
  }
  return NULL;
}

static hsc_status *search(hsc__reducer *r) {
  HSC_TRY(run_rule(r, hsc_reduce_rule_get("unused")));
  // a look at the whole costs most, of a hang the whole limit: halves first
  HSC_TRY(cut_end(r));
  HSC_TRY(keep_around(r));
  HSC_TRY(open_up(r));
  for (int round = 0; round < MOST_ROUNDS && !hsc__reducer_is_late(r); round++) {
    measure before = measure_of(r->result->module);
    HSC_TRY(cut_end(r));
    HSC_TRY(keep_around(r));
    HSC_TRY(cut_beginning(r));
    for (size_t i = 0; i < hsc_reduce_rule_count(); i++)
      if (is_wanted(r, hsc_reduce_rule_at(i)))
        HSC_TRY(run_rule(r, hsc_reduce_rule_at(i)));
    if (!is_smaller(measure_of(r->result->module), before)) {
      r->result->complete = !hsc__reducer_is_late(r);
      break;
    }
  }
  return hsc__reduce_inputs(r);
}

// ---- the whole ----------------------------------------------------------------------------------

static hsc_status *start_observers(hsc__reducer *r) {
  r->jobs = r->options->jobs < 1 ? 1 : r->options->jobs;
  r->jobs = r->jobs < HSC__MOST_JOBS ? r->jobs : HSC__MOST_JOBS;
  for (int i = 0; i < r->jobs; i++) {
    hsc_observer_options o = r->options->observer;
    o.scratch = hsc_arena_printf(r->result->arena, "%s/observer_%d", r->result->scratch, i);
    HSC_TRY(hsc_arena_status(r->result->arena));
    HSC_TRY(hsc_observer_create(&o, &r->observers[i]));
  }
  return NULL;
}

// The store's experiment of the same question that is not done, else a new one.
static hsc_status *open_experiment(hsc__reducer *r) {
  const hsc_reduction_options *o = r->options;
  char fingerprint[33];
  if (!o->store)
    return NULL;
  hsc_hash128_hex(hsc_module_fingerprint(r->result->module), fingerprint);
  const char *device = o->observer.device ? o->observer.device->text : "";
  const char *asked = o->symptom.kind == HSC_SYMPTOM_COMMAND ? o->symptom.command : o->symptom.text;
  const char *against = o->observer.reference ? o->observer.reference->text : "reference";
  const char *plan =
      hsc_arena_printf(r->result->arena, "reduce %s %s %s against %s seed %llu limit %lld%s",
                       fingerprint, device, asked, against, (unsigned long long)o->observer.seed,
                       (long long)o->observer.limit_ns, o->keep_sizes ? " sizes kept" : "");
  if (o->data) {
    char inputs[33];
    HSC_TRY(hsc_given_inputs_digest(o->data, inputs));
    plan = hsc_arena_printf(r->result->arena, "%s inputs %s", plan, inputs);
  }
  HSC_TRY(hsc_arena_status(r->result->arena));
  hsc_experiment experiment = {.kind = "reduce",
                               .command = o->command,
                               .device = device,
                               .subject = o->program,
                               .plan = plan,
                               .seed = o->observer.seed};
  hsc_task_target target = {.device = o->observer.device,
                            .against = o->observer.reference,
                            .overrides = o->observer.overrides};
  return hsc_task_table_begin(o->store, !o->fresh, &experiment, &target, &r->result->tasks);
}

static hsc_status *does_not_show(const hsc__reducer *r, const hsc__candidate *c) {
  const hsc_reduction *result = r->result;
  return hsc_status_hint(HSC_ERR(FAILED_PRECONDITION, "%s does not show '%s': %s",
                                 r->options->program ? r->options->program : "the program",
                                 result->symptom.text ? result->symptom.text : "command",
                                 c->seen.text ? c->seen.text : "nothing was seen"),
                         "the symptom must be there before it can be reduced");
}

// The program as it came, flat: it must show the symptom.
static hsc_status *look_first(hsc__reducer *r) {
  hsc_reduction *result = r->result;
  hsc__candidate c = {0};
  hsc_reduced flat = {0};
  int first = -1;
  r->rule = "flatten";
  r->repeats = hsc__first_looks(r);
  hsc_status *status = hsc_reduce_flatten(result->module, &flat);
  json_t *data = result->data;
  result->data = data ? json_incref(data) : json_array();
  if (!status)
    status = hsc__candidate_make(r, &flat, &c);
  if (!status)
    status = hsc__candidates_try(r, &c, 1, &first);
  if (!status && first < 0)
    status = does_not_show(r, &c);
  if (!status) {
    result->before = (hsc_observation){.shows = true,
                                       .known = true,
                                       .text = hsc_strdup(result->after.text),
                                       .value = result->after.value};
    if (result->after.signature)
      result->symptom.signature = hsc_arena_strdup(result->arena, result->after.signature);
    status = hsc__reduce_rate(r, r->missed);
  }
  json_decref(data);
  hsc__candidate_deinit(&c);
  hsc_reduced_deinit(&flat);
  return status;
}

hsc_status *hsc_reduce_program(const hsc_reduction_options *options, hsc_reduction *out_reduction) {
  hsc__reducer r = {.options = options, .result = out_reduction, .start_ns = hsc_now_ns()};
  hsc_reduction *result = out_reduction;
  hsc_status *status = NULL;
  *result = (hsc_reduction){.symptom = options->symptom, .data = NULL};
  HSC_GOTO(hsc_arena_create(&result->arena));
  HSC_GOTO(hsc_scratch_create(&result->scratch));
  HSC_GOTO(hsc_map_create(&r.seen));
  HSC_GOTO(hsc_map_create(&r.values));
  result->trail = json_array();
  result->taken = json_array();
  if (!result->trail || !result->taken)
    HSC_GOTO(hsc_status_out_of_memory());
  if (options->module)
    HSC_GOTO(hsc_module_clone(options->module, &result->module));
  else
    HSC_GOTO(hsc_program_read_file(options->program, &result->module));
  result->data = options->data ? json_incref(options->data) : NULL;
  result->instructions_before = hsc_module_instr_count(result->module);
  HSC_GOTO(open_experiment(&r));
  HSC_GOTO(start_observers(&r));
  HSC_GOTO(look_first(&r));
  HSC_GOTO(search(&r));
done:
  for (int i = 0; i < r.jobs; i++)
    hsc_observer_destroy(r.observers[i]);
  hsc_map_destroy(r.seen);
  hsc_map_destroy(r.values);
  result->seconds = (double)(hsc_now_ns() - r.start_ns) / 1e9;
  if (status) {
    status = hsc_task_table_end(&result->tasks, status, false, NULL);
    hsc_reduction_deinit(result);
  }
  return status;
}
