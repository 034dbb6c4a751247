// growth.c - measures a program in several sizes, in turns, and fits exponents.
//
// A round visits every size: a block of runs (its least processor time is the sample: others only
// add to it), a compile past every cache, a compile whose passes are reported, a block under the
// profiler. Even rounds go up, odd ones down. Whatever a device cannot do is a reason, once.
#include <math.h>
#include <stdlib.h>

#include "base/files/file_io.h"
#include "lab/passes/passes_list.h"
#include "lab/probe/growth_internal.h"
#include "lab/run/json_tree.h"
#include "views/profile.h"
#include "worker/lab_compile.h"
#include "worker/scratch.h"

static const double BLOCK_S = 0.05;  // a block of runs takes about this long
enum { MOST_RUNS = 200, PROFILED_RUNS = 1, PROFILED_ROUNDS = 3 };

typedef struct series {
  hsc_growth_sample *samples;  // heap
  size_t count, room;
} series;

// An operator or a pass: samples of all sizes and rounds.
typedef struct part {
  const char *name, *source;  // in the arena; source NULL = not known
  series samples;
} part;

typedef struct part_list {
  part *parts;  // heap
  size_t count, room;
} part_list;

typedef enum quantity { RUN, RUN_WALL, COMPILE, MEMORY, FLOPS, BYTES, QUANTITY_COUNT } quantity;
static const struct {
  const char *name;
  bool exact;
} quantities[QUANTITY_COUNT] = {{"run", false},   {"run_wall", false}, {"compile", false},
                                {"memory", true}, {"flops", true},     {"bytes", true}};

typedef struct growth {
  const hsc_growth_options *o;
  hsc_arena *arena;
  hsc_device_spec spec;
  hsc_lab_worker *worker;
  char *scratch, *dumps;
  hsc__growth_size sizes[HSC__GROWTH_MOST_SIZES];
  size_t size_count;
  const char *symbol;       // the symbolic dimension that the sizes are of; NULL = something else
  hsc__growth_limit limit;  // capacity 0: not known
  series series[QUANTITY_COUNT];
  char *why_not[QUANTITY_COUNT];  // heap
  part_list operators, passes;
  char *why_no_operators, *why_no_passes;  // heap
} growth;

static hsc_status *add_sample(series *s, double size, double value) {
  if (!HSC_GROW(s->samples, s->count, s->room))
    return hsc_status_out_of_memory();
  s->samples[s->count++] = (hsc_growth_sample){size, value};
  return NULL;
}

// Adds to the sample of this size and round when the part was already seen in it.
static hsc_status *add_part(growth *g,
                            part_list *list,
                            hsc_view name,
                            hsc_view source,
                            double size,
                            double value,
                            size_t first) {
  part *found = NULL;
  for (size_t i = 0; i < list->count && !found; i++)
    if (hsc_view_equals(hsc_view_of(list->parts[i].name), name))
      found = &list->parts[i];
  if (!found) {
    if (!HSC_GROW(list->parts, list->count, list->room))
      return hsc_status_out_of_memory();
    found = &list->parts[list->count++];
    *found = (part){.name = hsc_arena_strndup(g->arena, name.data, name.size)};
    if (source.size)
      found->source = hsc_arena_strndup(g->arena, source.data, source.size);
    HSC_TRY(hsc_arena_status(g->arena));
  }
  series *s = &found->samples;
  if (first != SIZE_MAX && s->count > first && s->samples[s->count - 1].size == size) {
    s->samples[s->count - 1].value += value;
    return NULL;
  }
  return add_sample(s, size, value);
}

static void give_reason(char **reason, const char *text) {
  if (!*reason)
    *reason = hsc_strdup(text);
}

static const char *reason_of(const hsc_answer *answer) {
  return answer->status ? hsc_status_message(answer->status) : hsc_outcome_text(answer->outcome);
}

// ---- one size, once -----------------------------------------------------------------------------

static hsc_status *call(growth *g, const hsc__growth_size *size, json_t *more, hsc_answer *out) {
  json_t *request = json_pack("{s:s, s:s, s:b}", "job", "run", "program", size->path, "fetch", 0);
  if (!request || !more || json_object_update(request, more)) {
    json_decref(request);
    return hsc_status_out_of_memory();
  }
  if (g->o->overrides)
    json_object_set(request, "overrides", g->o->overrides);
  hsc_status *status = hsc_lab_worker_call(g->worker, request, (int64_t)(g->o->limit_s * 1e9), out);
  json_decref(request);
  return status;
}

static hsc_status *measure_runs(growth *g, const hsc__growth_size *size) {
  hsc_answer first = {0};
  hsc_answer answer = {0};
  json_t *more = json_pack("{s:i, s:i}", "records", 1, "series", 0);
  hsc_status *status = call(g, size, more, &first);
  json_decref(more);
  if (status)
    return status;
  if (first.outcome != HSC_OUTCOME_OK) {
    give_reason(&g->why_not[RUN], reason_of(&first));
    give_reason(&g->why_not[RUN_WALL], reason_of(&first));
    hsc_answer_deinit(&first);
    return NULL;
  }
  double once_s = hsc_answer_execute_ns(first.body, 0) / 1e9;
  int runs = (int)fmin(MOST_RUNS, fmax(2, BLOCK_S / fmax(once_s, 1e-7)));
  hsc_answer_deinit(&first);
  more = json_pack("{s:i, s:i, s:s}", "records", 0, "series", runs, "inputs", "keep");
  status = call(g, size, more, &answer);
  json_decref(more);
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK) {
    json_t *times = json_object_get(answer.body, "series");
    double processor = hsc_json_least(json_object_get(times, "processor_ns"));
    double wall = hsc_json_least(json_object_get(times, "run_ns"));
    if (isfinite(processor))
      status = add_sample(&g->series[RUN], size->size, processor / 1e9);
    else
      give_reason(&g->why_not[RUN], "the device's worker does not tell processor time");
    if (!status && isfinite(wall))
      status = add_sample(&g->series[RUN_WALL], size->size, wall / 1e9);
  } else {
    give_reason(&g->why_not[RUN], reason_of(&answer));
  }
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *measure_operators(growth *g, const hsc__growth_size *size) {
  hsc_profile *profile = NULL;
  hsc_answer answer = {0};
  const char *path = hsc_arena_printf(g->arena, "%s/profile.xplane.pb", g->scratch);
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_status(g->arena));
  json_t *more = json_pack("{s:i, s:i, s:s, s:s}", "records", 0, "series", PROFILED_RUNS, "inputs",
                           "keep", "xspace_to", path);
  status = call(g, size, more, &answer);
  json_decref(more);
  if (status)
    return status;
  if (answer.outcome != HSC_OUTCOME_OK) {
    give_reason(&g->why_no_operators, reason_of(&answer));
    goto done;
  }
  hsc_status *unread = hsc_profile_open(path, &profile);
  if (unread) {
    give_reason(&g->why_no_operators, hsc_status_message(unread));
    hsc_status_free(unread);
    goto done;
  }
  const hsc_profile_op *ops = hsc_profile_ops(profile);
  for (int i = 0; i < hsc_profile_op_count(profile); i++)
    if (ops[i].self_ps > 0)
      HSC_GOTO(add_part(g, &g->operators, ops[i].name, ops[i].source, size->size,
                        (double)ops[i].self_ps / 1e12 / PROFILED_RUNS, SIZE_MAX));
done:
  hsc_profile_close(profile);
  hsc_answer_deinit(&answer);
  return status;
}

// By a compiler that looks at its device's memory; not a worker that was killed for this machine's.
static bool is_refused_for_memory(const hsc_answer *answer) {
  return answer->outcome == HSC_OUTCOME_OUT_OF_MEMORY && !answer->exit.signal;
}

static hsc_status *measure_compile(growth *g, const hsc__growth_size *size, bool first) {
  hsc_answer answer = {0};
  json_t *more = json_pack("{s:s}", "job", "compile");
  hsc_status *status = call(g, size, more, &answer);
  json_decref(more);
  if (status)
    return status;
  if (is_refused_for_memory(&answer) && g->spec.memory_bytes > 0) {
    hsc_answer_deinit(&answer);
    return first ? add_sample(&g->series[MEMORY], size->size, INFINITY) : NULL;
  }
  if (answer.outcome != HSC_OUTCOME_OK) {
    give_reason(&g->why_not[COMPILE], reason_of(&answer));
    give_reason(&g->why_not[MEMORY], reason_of(&answer));
    hsc_answer_deinit(&answer);
    return NULL;
  }
  double processor = hsc_json_number(json_object_get(answer.body, "compile_processor_ns"));
  double peak = hsc_answer_memory_need(answer.body);
  if (processor > 0)
    status = add_sample(&g->series[COMPILE], size->size, processor / 1e9);
  else
    give_reason(&g->why_not[COMPILE], "the device's worker does not tell processor time");
  if (!status && first && peak > 0)
    status = add_sample(&g->series[MEMORY], size->size, peak);
  else if (first && !(peak > 0))
    give_reason(&g->why_not[MEMORY], "the compiler does not tell the program's memory");
  hsc_answer_deinit(&answer);
  return status;
}

static hsc_status *measure_passes(growth *g, const hsc__growth_size *size) {
  hsc_pass_list list;
  HSC_TRY(hsc_pass_list_init(&list));
  hsc_scratch_empty(g->dumps);
  hsc_status *status = NULL;
  hsc_status *failed =
      hsc_passes_collect(g->worker,
                         &(hsc_passes_collect_options){.program = size->path,
                                                       .overrides = g->o->overrides,
                                                       .scratch = g->dumps,
                                                       .profile = true,
                                                       .limit_ns = (int64_t)(g->o->limit_s * 1e9)},
                         &list);
  if (failed) {
    give_reason(&g->why_no_passes, hsc_status_message(failed));
    hsc_status_free(failed);
  }
  part_list round = {0};  // a pass runs several times in a compile: their sum is the sample
  for (size_t i = 0; !failed && !status && i < list.row_count; i++) {
    const hsc_pass_row *row = &list.rows[i];
    if (!row->nested && !row->counts && row->duration_ns > 0)
      status = add_part(g, &round, hsc_view_of(row->pass), (hsc_view){0}, size->size,
                        (double)row->duration_ns / 1e9, 0);
  }
  for (size_t i = 0; i < round.count; i++) {
    if (!status)
      status = add_part(g, &g->passes, hsc_view_of(round.parts[i].name), (hsc_view){0}, size->size,
                        round.parts[i].samples.samples[0].value, SIZE_MAX);
    hsc_free(round.parts[i].samples.samples);
  }
  hsc_free(round.parts);
  hsc_pass_list_deinit(&list);
  return status;
}

// Where one quantity is asked for, the others have a reason not to be measured.
static void leave_out(growth *g) {
  static const char *const why = "it was not asked for";
  bool runs = !strcmp(g->o->only, "run");
  for (int q = 0; q < QUANTITY_COUNT; q++) {
    bool of_runs = q == RUN || q == RUN_WALL;
    bool of_compiles = q == COMPILE || q == MEMORY;
    if ((of_runs && !runs) || (of_compiles && runs) || (!of_runs && !of_compiles))
      give_reason(&g->why_not[q], why);
  }
  give_reason(&g->why_no_operators, why);
  give_reason(&g->why_no_passes, why);
}

static hsc_status *measure_all(growth *g) {
  bool runs = g->spec.topology == NULL;
  char text[96];
  if (!runs)
    for (int q = RUN; q <= RUN_WALL; q++)
      give_reason(&g->why_not[q], "the device only compiles");
  if (!runs)
    give_reason(&g->why_no_operators, "the device only compiles");
  for (int round = 0; round < g->o->rounds; round++)
    for (size_t i = 0; i < g->size_count; i++) {
      const hsc__growth_size *size = &g->sizes[round % 2 ? g->size_count - 1 - i : i];
      if (g->o->stop && *g->o->stop)
        return HSC_ERR(CANCELLED, "stopped in round %d of %d", round + 1, g->o->rounds);
      snprintf(text, sizeof text, "round %d of %d, size %.0f", round + 1, g->o->rounds, size->size);
      if (g->o->progress)
        g->o->progress(g->o->user, text);
      if (!g->why_not[COMPILE])
        HSC_TRY(measure_compile(g, size, round == 0));
      if (!g->why_not[RUN])
        HSC_TRY(measure_runs(g, size));
      if (round < PROFILED_ROUNDS && !g->why_no_operators && !g->why_not[RUN])
        HSC_TRY(measure_operators(g, size));
      if (round < PROFILED_ROUNDS && !g->why_no_passes)
        HSC_TRY(measure_passes(g, size));
    }
  return NULL;
}

// ---- what the memory holds ----------------------------------------------------------------------

// What one compile says that the program needs: infinite where the compiler refuses it for that,
// 0 where it says nothing.
static hsc_status *need_of(growth *g, const char *path, double *out_bytes) {
  hsc_answer answer = {0};
  json_t *more = json_pack("{s:s}", "job", "compile");
  hsc_status *status = call(g, &(hsc__growth_size){.path = path}, more, &answer);
  json_decref(more);
  *out_bytes = 0;
  if (status)
    return status;
  if (answer.outcome == HSC_OUTCOME_OK)
    *out_bytes = hsc_answer_memory_need(answer.body);
  else if (is_refused_for_memory(&answer))
    *out_bytes = INFINITY;
  hsc_answer_deinit(&answer);
  return NULL;
}

// Sizes that the program's own checks refuse are passed over, the largest first.
static hsc_status *ask_for_need(void *user, double low, double size, hsc_growth_sample *out_seen) {
  enum { MOST_REFUSED = 256 };
  growth *g = user;
  *out_seen = (hsc_growth_sample){0};
  for (int i = 0; i < MOST_REFUSED && size > low; i++, size--) {
    const char *path;
    char text[96];
    if (g->o->stop && *g->o->stop)
      return HSC_ERR(CANCELLED, "stopped in the search for the largest size that fits");
    hsc_status *status =
        hsc__growth_size_symbol(g->o, g->symbol, size, g->scratch, g->arena, &path);
    bool refused = status && hsc_status_code(status) == HSC_INVALID_ARGUMENT;
    if (status && !refused)
      return status;
    hsc_status_free(status);
    if (refused)
      continue;
    snprintf(text, sizeof text, "what fits: size %.0f", size);
    if (g->o->progress)
      g->o->progress(g->o->user, text);
    out_seen->size = size;
    return need_of(g, path, &out_seen->value);
  }
  return NULL;
}

static hsc_status *find_limit(growth *g) {
  const series *memory = &g->series[MEMORY];
  if (!(g->spec.memory_bytes > 0) || !memory->count || g->why_not[MEMORY])
    return NULL;
  return hsc__growth_find_limit(memory->samples, memory->count, (double)g->spec.memory_bytes,
                                g->symbol ? ask_for_need : NULL, g, &g->limit);
}

static json_t *limit_json(const growth *g) {
  const hsc__growth_limit *found = &g->limit;
  json_t *row = json_object();
  json_object_set_new(row, "capacity_bytes", hsc_json_real(found->capacity));
  json_object_set_new(row, "largest_that_fits", hsc_json_real(found->fits ? found->fits : NAN));
  json_object_set_new(row, "its_bytes", hsc_json_real(found->fits ? found->fits_need : NAN));
  json_object_set_new(row, "least_that_does_not", hsc_json_real(found->lacks ? found->lacks : NAN));
  json_object_set_new(row, "lacks_bytes",
                      hsc_json_real(found->lacks ? found->lacks_need - found->capacity : NAN));
  json_object_set_new(row, "compiles", json_integer(found->compiles));
  return row;
}

static json_t *interval_json(hsc_interval e) {
  return json_pack("{s:o, s:o, s:o}", "value", hsc_json_real(e.estimate), "low",
                   hsc_json_real(e.low), "high", hsc_json_real(e.high));
}

// Where the time of runs, of compiles on a device that only compiles, begins to grow otherwise.
static json_t *bend_json(const growth *g) {
  double sizes[HSC__GROWTH_MOST_SIZES];
  hsc__growth_bend bend;
  const series *time = &g->series[g->series[RUN].count ? RUN : COMPILE];
  for (size_t i = 0; i < g->size_count; i++)
    sizes[i] = g->sizes[i].size;
  if (!hsc__growth_find_bend(time->samples, time->count, sizes, g->size_count, &bend))
    return json_null();
  return json_pack("{s:o, s:o, s:o}", "size", hsc_json_real(bend.size), "before",
                   interval_json(bend.before), "after", interval_json(bend.after));
}

// ---- the document -------------------------------------------------------------------------------

// The least sample of a size; 0 where there is none.
static double value_at(const series *s, double size) {
  double least = INFINITY;
  for (size_t i = 0; i < s->count; i++)
    if (s->samples[i].size == size)
      least = fmin(least, s->samples[i].value);
  return isfinite(least) ? least : 0;
}

static json_t *exponent_json(const growth *g, const series *s, bool exact, json_t *into) {
  hsc_interval e;
  bool fits = hsc_growth_fit(s->samples, s->count, exact, &e);
  json_t *values = json_array();
  for (size_t i = 0; i < g->size_count; i++)
    json_array_append_new(values, hsc_json_real(value_at(s, g->sizes[i].size)));
  json_object_set_new(into, "values", values);
  return json_pack("[o, o, o]", hsc_json_real(fits ? e.estimate : NAN),
                   hsc_json_real(fits ? e.low : NAN), hsc_json_real(fits ? e.high : NAN));
}

static json_t *quantity_json(const growth *g, quantity q, json_t *reasons) {
  json_t *row = json_object();
  json_t *e = exponent_json(g, &g->series[q], quantities[q].exact, row);
  static const char *const keys[] = {"value", "low", "high"};
  bool none = json_is_null(json_array_get(e, 0));
  for (size_t k = 0; k < HSC_COUNT_OF(keys); k++)
    json_object_set(row, keys[k], json_array_get(e, k));
  json_decref(e);
  if (!none && !g->why_not[q])
    return row;
  json_object_set_new(
      reasons, quantities[q].name,
      json_string(g->why_not[q] ? g->why_not[q] : "it is 0, or there are too few samples"));
  json_decref(row);
  return json_null();
}

static int by_growth(const void *a, const void *b) {
  double x = hsc_json_number(json_object_get(*(json_t *const *)a, "growth_share"));
  double y = hsc_json_number(json_object_get(*(json_t *const *)b, "growth_share"));
  return (x < y) - (x > y);
}

// Operators or passes, those first that make most of the growth from the least to the largest size.
static hsc_status *parts_json(const growth *g, const part_list *list, json_t **out) {
  double least = g->sizes[0].size;
  double largest = g->sizes[g->size_count - 1].size;
  double all = 0;
  double grown = 0;
  json_t **rows = hsc_alloc((list->count + 1) * sizeof(*rows));
  if (!rows)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < list->count; i++) {
    double last = value_at(&list->parts[i].samples, largest);
    all += last;
    grown += fmax(0, last - value_at(&list->parts[i].samples, least));
  }
  for (size_t i = 0; i < list->count; i++) {
    const part *p = &list->parts[i];
    double last = value_at(&p->samples, largest);
    double more = fmax(0, last - value_at(&p->samples, least));
    rows[i] = json_pack("{s:s, s:s?, s:o, s:o}", "name", p->name, "source", p->source, "share",
                        hsc_json_real(all > 0 ? last / all : 0), "growth_share",
                        hsc_json_real(grown > 0 ? more / grown : 0));
    json_t *e = exponent_json(g, &p->samples, false, rows[i]);
    json_object_set(rows[i], "exponent", json_array_get(e, 0));
    json_object_set(rows[i], "low", json_array_get(e, 1));
    json_object_set(rows[i], "high", json_array_get(e, 2));
    json_decref(e);
  }
  qsort(rows, list->count, sizeof(*rows), by_growth);
  *out = json_array();
  for (size_t i = 0; i < list->count; i++)
    json_array_append_new(*out, rows[i]);
  hsc_free(rows);
  return NULL;
}

static void append_bend(json_t *document, hsc_bytes *text) {
  json_t *bend = json_object_get(document, "bend");
  if (json_is_object(bend))
    hsc_bytes_printf(text, "; it bends at %.0f: n^%.2f below, n^%.2f above",
                     hsc_json_number(json_object_get(bend, "size")),
                     hsc_json_number(hsc_json_path(bend, "before", "value", NULL)),
                     hsc_json_number(hsc_json_path(bend, "after", "value", NULL)));
}

static void append_gib(double bytes, hsc_bytes *text) {
  hsc_bytes_printf(text, "%.3g GiB", bytes / (1 << 30));
}

static void append_limit(json_t *document, hsc_bytes *text) {
  json_t *limit = json_object_get(document, "memory_limit");
  double fits = hsc_json_number(json_object_get(limit, "largest_that_fits"));
  double lacks = hsc_json_number(json_object_get(limit, "least_that_does_not"));
  if (!json_is_object(limit))
    return;
  hsc_bytes_append_text(text, "; of the device's ");
  append_gib(hsc_json_number(json_object_get(limit, "capacity_bytes")), text);
  const char *name = json_string_value(json_object_get(document, "dimension"));
  const char *is = name ? " = " : "size ";
  if (fits > 0) {
    hsc_bytes_printf(text, ", %s%s%.0f takes ", name ? name : "", is, fits);
    append_gib(hsc_json_number(json_object_get(limit, "its_bytes")), text);
  }
  if (lacks > 0) {
    double missing = hsc_json_number(json_object_get(limit, "lacks_bytes"));
    hsc_bytes_printf(text, ", %s%s%.0f %s", name ? name : "", is, lacks,
                     missing > 0 ? "lacks " : "does not fit");
    if (missing > 0)
      append_gib(missing, text);
  }
}

// The answer in one sentence, from the numbers beside it.
static json_t *headline(json_t *document, bool runs) {
  json_t *parts = json_object_get(document, runs ? "operators" : "passes");
  json_t *e = hsc_json_path(document, "exponents", runs ? "run" : "compile", NULL);
  json_t *first = json_array_get(parts, 0);
  hsc_bytes text = {0};
  if (!json_is_object(e))
    return json_string("neither run time nor compile time could be measured");
  hsc_bytes_printf(&text, "%s time grows with n^%.2f [%.2f, %.2f]", runs ? "run" : "compile",
                   hsc_json_number(json_object_get(e, "value")),
                   hsc_json_number(json_object_get(e, "low")),
                   hsc_json_number(json_object_get(e, "high")));
  // named only when it surely grows, and is a part of the growth worth naming
  bool named = hsc_json_number(json_object_get(first, "low")) > 0 &&
               hsc_json_number(json_object_get(first, "growth_share")) >= 0.2;
  if (named)
    hsc_bytes_printf(&text, "; %.0f %% of the growth is %s, n^%.2f",
                     100 * hsc_json_number(json_object_get(first, "growth_share")),
                     json_string_value(json_object_get(first, "name")),
                     hsc_json_number(json_object_get(first, "exponent")));
  append_bend(document, &text);
  append_limit(document, &text);
  json_t *sentence = json_string(hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return sentence;
}

static hsc_status *document_of(const growth *g, json_t **out) {
  json_t *sizes = json_array();
  json_t *exponents = json_object();
  json_t *reasons = json_object();
  json_t *operators = NULL;
  json_t *passes = NULL;
  hsc_status *status = NULL;
  for (size_t i = 0; i < g->size_count; i++)
    json_array_append_new(sizes, hsc_json_real(g->sizes[i].size));
  for (int q = 0; q < QUANTITY_COUNT; q++)
    json_object_set_new(exponents, quantities[q].name, quantity_json(g, (quantity)q, reasons));
  if (g->why_no_operators || g->why_not[RUN])
    json_object_set_new(reasons, "operators",
                        json_string(g->why_no_operators ? g->why_no_operators : g->why_not[RUN]));
  if (g->why_no_passes)
    json_object_set_new(reasons, "passes", json_string(g->why_no_passes));
  HSC_GOTO(parts_json(g, &g->operators, &operators));
  HSC_GOTO(parts_json(g, &g->passes, &passes));
  *out = json_pack("{s:s, s:s, s:O, s:i, s:s, s:O, s:O, s:O, s:O}", "program", g->o->programs[0],
                   "device", g->o->device, "sizes", sizes, "rounds", g->o->rounds, "time",
                   "processor", "exponents", exponents, "operators", operators, "passes", passes,
                   "not_measured", reasons);
  if (!*out)
    HSC_GOTO(hsc_status_out_of_memory());
  json_object_set_new(*out, "dimension", g->symbol ? json_string(g->symbol) : json_null());
  json_object_set_new(*out, "bend", bend_json(g));
  json_object_set_new(*out, "memory_limit", g->limit.capacity > 0 ? limit_json(g) : json_null());
  json_object_set_new(*out, "headline", headline(*out, g->series[RUN].count > 0));
done:
  json_decref(sizes);
  json_decref(exponents);
  json_decref(reasons);
  json_decref(operators);
  json_decref(passes);
  return status;
}

static void deinit_parts(part_list *list) {
  for (size_t i = 0; i < list->count; i++)
    hsc_free(list->parts[i].samples.samples);
  hsc_free(list->parts);
}

// What the text does not say, the evaluator counts while it runs, as far as the limit allows.
static hsc_status *count_exactly(growth *g, hsc__growth_size *size) {
  hsc_device_spec evaluator;
  hsc_lab_worker *worker = NULL;
  hsc_answer answer = {0};
  json_t *request = json_pack("{s:s, s:s}", "job", "evaluate", "program", size->path);
  hsc_status *status = request ? NULL : hsc_status_out_of_memory();
  HSC_GOTO(status);
  HSC_GOTO(hsc_device_spec_parse("reference", g->arena, &evaluator));
  HSC_GOTO(hsc_lab_worker_create(
      &(hsc_lab_worker_options){.device = &evaluator,
                                .executable = g->o->executable,
                                .memory_limit_bytes = g->o->memory_limit_bytes},
      &worker));
  HSC_GOTO(hsc_lab_worker_call(worker, request, (int64_t)(g->o->limit_s * 1e9), &answer));
  json_t *exact = json_object_get(answer.body, "exact");
  if (answer.outcome == HSC_OUTCOME_OK && exact) {
    size->cost =
        (hsc_cost){.flops = hsc_json_number(json_object_get(exact, "flops")),
                   .transcendentals = hsc_json_number(json_object_get(exact, "transcendentals")),
                   .bytes_read = hsc_json_number(json_object_get(exact, "bytes"))};
    size->cost_known = true;
  }
  hsc_answer_deinit(&answer);
done:
  hsc_lab_worker_destroy(worker);
  json_decref(request);
  return status;
}

static hsc_status *count_all(growth *g) {
  for (size_t i = 0; i < g->size_count; i++) {
    hsc__growth_size *size = &g->sizes[i];
    if (size->cost.uncounted > 0) {
      static const char *const why = "custom calls of which nothing is known: they are not counted";
      give_reason(&g->why_not[FLOPS], why);
      give_reason(&g->why_not[BYTES], why);
      size->cost_known = true;
    }
    if (!size->cost_known)
      HSC_TRY(count_exactly(g, size));
    if (!size->cost_known) {
      static const char *const why =
          "a loop or a branch that the program's text does not decide, and the evaluator did not "
          "come to its end";
      give_reason(&g->why_not[FLOPS], why);
      give_reason(&g->why_not[BYTES], why);
    }
    HSC_TRY(add_sample(&g->series[FLOPS], size->size, size->cost.flops));
    HSC_TRY(add_sample(&g->series[BYTES], size->size,
                       size->cost.bytes_read + size->cost.bytes_written));
  }
  return NULL;
}

hsc_status *hsc_growth(const hsc_growth_options *o, json_t **out_document) {
  growth g = {.o = o};
  hsc_status *status = NULL;
  HSC_TRY(hsc_arena_create(&g.arena));
  HSC_GOTO(hsc_device_spec_parse(o->device, g.arena, &g.spec));
  HSC_GOTO(hsc_scratch_create(&g.scratch));
  HSC_GOTO(hsc_scratch_create_for_dumps(&g.dumps));
  if (o->keep_dir)
    HSC_GOTO(hsc_dir_make(o->keep_dir));
  HSC_GOTO(hsc__growth_sizes(o, o->keep_dir ? o->keep_dir : g.scratch, g.arena, g.sizes,
                             &g.size_count, &g.symbol));
  if (o->only)
    leave_out(&g);
  else
    HSC_GOTO(count_all(&g));
  HSC_GOTO(
      hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &g.spec,
                                                      .executable = o->executable,
                                                      .no_disk_cache = true,
                                                      .memory_limit_bytes = o->memory_limit_bytes,
                                                      .stop = o->stop},
                            &g.worker));
  HSC_GOTO(measure_all(&g));
  HSC_GOTO(find_limit(&g));
  HSC_GOTO(document_of(&g, out_document));
done:
  hsc_lab_worker_destroy(g.worker);
  deinit_parts(&g.operators);
  deinit_parts(&g.passes);
  for (int q = 0; q < QUANTITY_COUNT; q++) {
    hsc_free(g.series[q].samples);
    hsc_free(g.why_not[q]);
  }
  hsc_free(g.why_no_operators);
  hsc_free(g.why_no_passes);
  hsc_scratch_destroy(g.scratch);
  hsc_scratch_destroy(g.dumps);
  hsc_arena_destroy(g.arena);
  return status;
}
