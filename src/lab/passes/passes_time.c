// passes_time.c - repeated compiles, taken apart.
#include "base/core/clock.h"
#include "lab/passes/passes_time.h"

#include <math.h>
#include <stdlib.h>

#include "lab/run/json_tree.h"
#include "lab/run/sampling_document.h"
#include "stats/stats_interleaved.h"
#include "worker/scratch.h"
#include "worker/worker_client.h"

// One thing that took time in several compiles: samples in seconds, 0 where it did not occur.
typedef struct item {
  const char *name;
  double *samples;  // [capacity]
  int capacity;
  int runs, last;  // in the last compile that had it, and which that was
} item;
typedef struct item_list {
  hsc_arena *arena;
  item *items;
  size_t count, capacity;
} item_list;

static hsc_status *reach(item_list *list, item *it, int count) {
  if (count <= it->capacity)
    return NULL;
  int capacity = count < 8 ? 8 : 2 * count;
  double *samples = HSC_NEW_ARRAY(list->arena, double, capacity);
  HSC_TRY(hsc_arena_status(list->arena));
  if (it->capacity)
    memcpy(samples, it->samples, (size_t)it->capacity * sizeof(double));
  it->samples = samples;
  it->capacity = capacity;
  return NULL;
}

static hsc_status *add(item_list *list, const char *name, int repeat, double seconds) {
  item *found = NULL;
  for (size_t i = 0; i < list->count && !found; i++)
    if (!strcmp(list->items[i].name, name))
      found = &list->items[i];
  if (!found) {
    if (!HSC_GROW(list->items, list->count, list->capacity))
      return hsc_status_out_of_memory();
    found = &list->items[list->count++];
    *found = (item){.name = hsc_arena_strdup(list->arena, name), .last = -1};
    HSC_TRY(hsc_arena_status(list->arena));
  }
  HSC_TRY(reach(list, found, repeat + 1));
  found->samples[repeat] += seconds;
  if (found->last != repeat)
    found->runs = 0;
  found->last = repeat;
  found->runs++;
  return NULL;
}

// Room for `count` samples, zero where it did not occur.
static hsc_status *reach_all(item_list *list, int count) {
  for (size_t i = 0; i < list->count; i++)
    HSC_TRY(reach(list, &list->items[i], count));
  return NULL;
}

static double sum(const double *x, size_t count) {
  double all = 0;
  for (size_t i = 0; i < count; i++)
    all += x[i];
  return all;
}

// whole: the time of all compiles together. The share is of that: medians of parts do not add up to
// the median of the whole, and what is left of it would be in nobody's share.
// Compiles of one process are alike: their processes are what is drawn, and too few of them have no
// interval.
static json_t *item_json(const item *it,
                         const hsc_sampling *compiles,
                         double whole,
                         uint64_t seed) {
  hsc_interval i = {NAN, NAN, NAN};
  hsc_interval_options o = {.seed = seed, .resample_count = 1000, .widen_small = true};
  i.estimate = hsc_stats_median(it->samples, compiles->count);
  if (compiles->upper_count >= HSC_LEAST_PROCESSES)
    hsc_status_free(hsc_stats_bootstrap_blocks(hsc_stats_median, it->samples, compiles->sizes,
                                               compiles->upper_count, &o, &i));
  if (i.low < 0)
    i.low = 0;
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i}", "name", it->name, "median",
                   hsc_json_real(i.estimate), "low", hsc_json_real(i.low), "high",
                   hsc_json_real(i.high), "share",
                   hsc_json_real(whole > 0 ? sum(it->samples, compiles->count) / whole : NAN),
                   "runs", it->last + 1 == (int)compiles->count ? it->runs : 0);
}

static size_t sort_repeats;
static int by_median(const void *a, const void *b) {
  double x = hsc_stats_median(((const item *)a)->samples, sort_repeats);
  double y = hsc_stats_median(((const item *)b)->samples, sort_repeats);
  return (x < y) - (x > y);
}

static json_t *items_json(item_list *list,
                          const hsc_sampling *compiles,
                          double whole,
                          uint64_t seed) {
  json_t *out = json_array();
  sort_repeats = compiles->count;  // one thread calls this; qsort has no argument for it
  if (list->count)
    qsort(list->items, list->count, sizeof *list->items, by_median);
  for (size_t i = 0; i < list->count; i++)
    json_array_append_new(out, item_json(&list->items[i], compiles, whole, seed));
  return out;
}

// The flame of a profile, or pipelines and passes where there is none.
static void write_folded(const hsc_pass_list *list, const char *device, hsc_bytes *out) {
  if (list->flame && hsc_map_count(list->flame->stacks)) {
    for (size_t i = 0; i < hsc_map_count(list->flame->stacks); i++) {
      hsc_view key;
      const int64_t *ns = hsc_map_at(list->flame->stacks, i, &key);
      if (*ns >= 1000)
        hsc_bytes_printf(out, "%.*s %lld\n", (int)key.size, key.data, (long long)(*ns / 1000));
    }
    return;
  }
  const char *name;
  json_t *ns;
  json_object_foreach (list->phases, name, ns)
    if (strcmp(name, "passes") != 0 && json_integer_value(ns) >= 1000)
      hsc_bytes_printf(out, "%s;%s %lld\n", device, name,
                       (long long)(json_integer_value(ns) / 1000));
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (row->nested || row->counts || row->duration_ns < 1000)
      continue;
    hsc_bytes_printf(out, "%s;passes;", device);
    for (const char *p = row->pipeline; *p; p++)
      hsc_bytes_append_char(out, *p == ' ' || *p == ';' ? '_' : *p);
    hsc_bytes_append_char(out, ';');
    for (const char *p = row->pass; *p; p++)
      hsc_bytes_append_char(out, *p == ' ' || *p == ';' ? '_' : *p);
    hsc_bytes_printf(out, " %lld\n", (long long)(row->duration_ns / 1000));
  }
}

static hsc_status *add_map(item_list *list, const hsc_map *map, int repeat) {
  for (size_t i = 0; i < hsc_map_count(map); i++) {
    hsc_view key;
    const int64_t *ns = hsc_map_at(map, i, &key);
    HSC_TRY(
        add(list, hsc_arena_strndup(list->arena, key.data, key.size), repeat, (double)*ns * 1e-9));
  }
  return NULL;
}

typedef struct taken {
  item_list total, phases, pipelines, passes, threads;
} taken;

// What the built-in compiler calls its phases, and what they are called here.
static const char *const own_phases[][2] = {{"passes", "HLO passes"},
                                            {"verify", "verification"},
                                            {"buffer_assignment", "buffer assignment"},
                                            {"emit", "emission of code"},
                                            {"codegen", "code generation"},
                                            {"link", "assembly and link"}};

// What the phases leave of the whole compile.
static hsc_status *add_rest(taken *t, const hsc_pass_list *list, int repeat) {
  double rest = (double)list->compile_ns * 1e-9;
  for (size_t i = 0; i < t->phases.count; i++)
    if (t->phases.items[i].last == repeat)
      rest -= t->phases.items[i].samples[repeat];
  return rest > 0 ? add(&t->phases, "all else", repeat, rest) : NULL;
}

static hsc_status *take_compile(taken *t, const hsc_pass_list *list, int repeat) {
  HSC_TRY(add(&t->total, "compile", repeat, (double)list->compile_ns * 1e-9));
  double in_passes = 0;
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (row->nested || row->counts || row->duration_ns < 0)
      continue;
    HSC_TRY(add(&t->pipelines, row->pipeline, repeat, (double)row->duration_ns * 1e-9));
    HSC_TRY(add(&t->passes, row->pass, repeat, (double)row->duration_ns * 1e-9));
    in_passes += (double)row->duration_ns * 1e-9;
  }
  if (list->flame && hsc_map_count(list->flame->phases)) {
    HSC_TRY(add_map(&t->phases, list->flame->phases, repeat));
    HSC_TRY(add_map(&t->threads, list->flame->threads, repeat));
    return add_rest(t, list, repeat);
  }
  bool named = json_object_get(list->phases, "codegen") != NULL;
  for (size_t i = 0; named && i < HSC_COUNT_OF(own_phases); i++) {
    json_t *ns = json_object_get(list->phases, own_phases[i][0]);
    if (ns)
      HSC_TRY(add(&t->phases, own_phases[i][1], repeat, (double)json_integer_value(ns) * 1e-9));
  }
  if (!named)
    HSC_TRY(add(&t->phases, "HLO passes", repeat, in_passes));
  return add_rest(t, list, repeat);
}

typedef struct timing {
  const hsc_passes_time_options *o;
  taken t;
  hsc_sampling compiles;  // levels: compile, process
  hsc_arena *arena;
  char *scratch;
  int64_t start_ns;
  double *firsts;  // [processes] the first compile of each, seconds
  size_t first_count, first_capacity;
  json_t *front;
  const char *from;
  hsc_bytes *folded;
} timing;

// Seconds that are left of the budget; infinity without one.
static double left_s(const timing *m) {
  const hsc_passes_time_options *o = m->o;
  if (o->deadline_ns)
    return (double)(o->deadline_ns - hsc_now_ns()) * 1e-9;
  if (o->budget_s > 0)
    return o->budget_s - (double)(hsc_now_ns() - m->start_ns) * 1e-9;
  return INFINITY;
}

static bool stopped(const timing *m) {
  return m->o->stop && *m->o->stop;
}

static hsc_status *keep_first(timing *m, const hsc_pass_list *list) {
  if (!HSC_GROW(m->firsts, m->first_count, m->first_capacity))
    return hsc_status_out_of_memory();
  m->firsts[m->first_count++] = (double)list->compile_ns * 1e-9;
  if (!m->front)
    m->front = json_incref(list->phases);
  return NULL;
}

// One compile; the first of a process pays for what is done once, and stands by itself.
static hsc_status *compile_once(
    timing *m, hsc_lab_worker *worker, int number, bool first, double *out_s, bool *out_alone) {
  const hsc_passes_time_options *o = m->o;
  hsc_pass_list list;
  HSC_TRY(hsc_pass_list_init(&list));
  hsc_passes_collect_options collect = {.program = o->program,
                                        .transforms = o->transforms,
                                        .transform_count = o->transform_count,
                                        .overrides = o->overrides,
                                        .scratch = m->scratch,
                                        .profile = true,
                                        .limit_ns = o->limit_ns};
  if (o->deadline_ns)
    collect.limit_ns = (int64_t)fmin((double)o->limit_ns, fmax(1e6, 1e9 * left_s(m)));
  hsc_status *status = hsc_pass_list_want_flame(&list);
  if (!status)
    status = hsc_passes_collect(worker, &collect, &list);
  if (!status && first)
    status = keep_first(m, &list);
  // where the budget holds no second one, the first is what there is
  if (!status && first && m->compiles.count == 0 && !o->repeats)
    *out_alone = (double)list.compile_ns * 1e-9 > left_s(m);
  bool counts = !first || *out_alone;
  if (!status && counts)
    status = take_compile(&m->t, &list, number);
  if (!status && counts && m->folded) {
    hsc_bytes_reset(m->folded);
    write_folded(&list, o->device->text, m->folded);
  }
  if (!status) {
    m->from = list.from;
    *out_s = (double)list.compile_ns * 1e-9;
  }
  hsc_pass_list_deinit(&list);
  hsc_scratch_empty(m->scratch);
  return status;
}

// `count` compiles in a fresh process. An interrupted one is left out.
static hsc_status *one_process(timing *m, size_t count) {
  const hsc_passes_time_options *o = m->o;
  hsc_lab_worker *worker = NULL;
  double *x = hsc_alloc((count + 1) * sizeof(double));
  int64_t start_ns = hsc_now_ns();
  size_t done = 0;
  bool alone = false;  // the first compile is the only one that there is time for
  hsc_status *status = x ? NULL : hsc_status_out_of_memory();
  if (!status)
    HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = o->device,
                                                             .executable = o->executable,
                                                             .no_disk_cache = true,
                                                             .stop = o->stop},
                                   &worker));
  for (size_t i = 0; i <= count && !status && !stopped(m) && !alone; i++) {
    double s = 0;
    if (!o->repeats && done && left_s(m) < x[done - 1] / 2)
      break;
    if (o->progress)
      o->progress(o->user, (int64_t)(m->compiles.count + i),
                  (int64_t)(o->repeats ? o->repeats + 1 : 0), "compiling");
    status = compile_once(m, worker, (int)(m->compiles.count + done), i == 0, &s, &alone);
    if (!status && (i > 0 || alone))
      x[done++] = s;
    // A pilot takes half of the budget at most; a compiler that takes minutes is not asked again
    // and again.
    if (!o->repeats && o->budget_s > 0 && m->compiles.count == 0 && i == 0 &&
        s * (double)count > o->budget_s / 4)
      count = (size_t)fmax(1, o->budget_s / 4 / s);
  }
  if (!status && done)
    status = hsc_sampling_add(&m->compiles, x, done, (double)(hsc_now_ns() - start_ns) / 1e9);
done:
  hsc_lab_worker_destroy(worker);
  hsc_free(x);
  return status;
}

static hsc_status *time_document(timing *m, json_t **out_result) {
  const hsc_passes_time_options *o = m->o;
  item_list *const lists[] = {&m->t.total, &m->t.phases, &m->t.pipelines, &m->t.passes,
                              &m->t.threads};
  static const char *const steps[] = {"read_ns", "parse_ns", "transform_ns", "write_ns"};
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    HSC_TRY(reach_all(lists[i], (int)m->compiles.count));
  HSC_TRY(hsc_sampling_finish(&m->compiles, o->seed));
  double whole = sum(m->t.total.items[0].samples, m->compiles.count);
  json_t *program = json_object();
  json_t *statistics = NULL;
  HSC_TRY(hsc_sampling_statistics(&m->compiles, "compile", NULL, false, o->seed, &statistics));
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++) {
    double ns = hsc_json_number(json_object_get(m->front, steps[i]));
    if (!isnan(ns))
      json_object_set_new(program, hsc_arena_strndup(m->arena, steps[i], strlen(steps[i]) - 3),
                          json_real(ns * 1e-9));
  }
  *out_result = json_pack(
      "{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "program", o->program,
      "device", o->device->text, "from", m->from, "repeats", (int)m->compiles.count,
      "first_compile", hsc_json_real(hsc_stats_median(m->firsts, m->first_count)), "front_end",
      program, "compile", item_json(&m->t.total.items[0], &m->compiles, whole, o->seed), "phases",
      items_json(&m->t.phases, &m->compiles, whole, o->seed), "pipelines",
      items_json(&m->t.pipelines, &m->compiles, whole, o->seed), "passes",
      items_json(&m->t.passes, &m->compiles, whole, o->seed), "threads",
      items_json(&m->t.threads, &m->compiles, whole, o->seed), "sampling",
      hsc_sampling_json(&m->compiles), "statistics", statistics);
  return *out_result ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc_passes_time(const hsc_passes_time_options *o,
                            json_t **out_result,
                            hsc_bytes *out_folded) {
  timing m = {.o = o, .folded = out_folded, .start_ns = hsc_now_ns()};
  item_list *const lists[] = {&m.t.total, &m.t.phases, &m.t.pipelines, &m.t.passes, &m.t.threads};
  hsc_status *status = NULL;
  *out_result = NULL;
  // What a compiler is at is in its log, which is kept: the last lines name the pass that it
  // never came back from.
  setenv("TF_CPP_VMODULE", "hlo_pass_pipeline=1", 0);
  setenv("TF_CPP_MIN_LOG_LEVEL", "0", 0);
  setenv("HLOSCOPE_LOG", "passes=1", 0);
  HSC_GOTO(hsc_arena_create(&m.arena));
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    *lists[i] = (item_list){.arena = m.arena};
  HSC_GOTO(hsc_scratch_create_for_dumps(&m.scratch));
  hsc_sampling_init(&m.compiles,
                    &(hsc_sampling_options){.lower = "compile",
                                            .upper = "process",
                                            .half_width = o->half_width,
                                            .budget_s = o->budget_s,
                                            .pilot_lower = 3,
                                            .pilot_upper = 2,
                                            .least_upper = 6,
                                            .most_upper = 30,
                                            .most_lower = 50},
                    NAN);
  if (o->repeats)
    HSC_GOTO(one_process(&m, (size_t)o->repeats));
  for (size_t n; !o->repeats && !stopped(&m) && (n = hsc_sampling_next(&m.compiles));) {
    // a process pays for its start and its first compile before one counts
    double process_s = m.first_count ? 2 * hsc_stats_median(m.firsts, m.first_count) : 0;
    if (m.compiles.count && left_s(&m) < process_s / 2) {
      hsc_sampling_end(&m.compiles, "the time budget");
      break;
    }
    status = one_process(&m, n);
    if (status && m.compiles.count && o->deadline_ns && left_s(&m) <= 0) {
      hsc_status_free(status);  // the compile that the budget cut off
      status = NULL;
      hsc_sampling_end(&m.compiles, "the time budget");
      break;
    }
    if (status && o->deadline_ns && left_s(&m) <= 0)
      status = hsc_status_hint(status, "the time budget of %g s is over; --time-budget 0 waits",
                               o->budget_s);
    if (status)
      goto done;
  }
  if (m.compiles.count == 0)
    HSC_GOTO(HSC_ERR(CANCELLED, "interrupted before a compile was through"));
  if (stopped(&m))
    hsc_sampling_end(&m.compiles, "an interrupt");
  else if (o->repeats)
    hsc_sampling_end(&m.compiles, "as many as were asked for");
  HSC_GOTO(time_document(&m, out_result));
done:
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++)
    hsc_free(lists[i]->items);
  hsc_sampling_deinit(&m.compiles);
  hsc_free(m.firsts);
  json_decref(m.front);
  hsc_scratch_destroy(m.scratch);
  hsc_arena_destroy(m.arena);
  return status;
}
