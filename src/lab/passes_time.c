// passes_time.c - repeated compiles, taken apart.
#include "lab/passes_time.h"

#include <math.h>
#include <stdlib.h>

#include "lab/json_tree.h"
#include "lab/scratch.h"
#include "lab/stats.h"

// One thing that took time in several compiles: samples in seconds, 0 where it did not occur.
typedef struct item {
  const char *name;
  double *samples;  // [repeats]
  int runs;         // in the last compile
} item;
typedef struct item_list {
  hsc_arena *arena;
  item *items;
  size_t count, capacity;
  int repeats;
} item_list;

static hsc_status *add(item_list *list, const char *name, int repeat, double seconds) {
  item *found = NULL;
  for (size_t i = 0; i < list->count && !found; i++)
    if (!strcmp(list->items[i].name, name)) found = &list->items[i];
  if (!found) {
    if (list->count == list->capacity) {
      list->capacity = list->capacity ? 2 * list->capacity : 64;
      item *items = hsc_realloc(list->items, list->capacity * sizeof *items);
      if (!items) return hsc_status_out_of_memory();
      list->items = items;
    }
    found = &list->items[list->count++];
    *found = (item){hsc_arena_strdup(list->arena, name), HSC_NEW_ARRAY(list->arena, double, list->repeats), 0};
    HSC_TRY(hsc_arena_status(list->arena));
  }
  found->samples[repeat] += seconds;
  found->runs += repeat + 1 == list->repeats;
  return NULL;
}

static json_t *item_json(const item *it, size_t n, double whole, uint64_t seed) {
  hsc_summary s = {0};
  hsc_status *status = hsc_stats_summarize(it->samples, n, &(hsc_interval_options){.seed = seed}, &s);
  hsc_status_free(status);
  return json_pack("{s:s, s:o, s:o, s:o, s:o, s:i}", "name", it->name, "median", hsc_json_real(s.median), "low", hsc_json_real(s.median_low), "high",
                   hsc_json_real(s.median_high), "share", hsc_json_real(whole > 0 ? s.median / whole : NAN), "runs", it->runs);
}

static size_t sort_repeats;
static int by_median(const void *a, const void *b) {
  double x = hsc_stats_median(((const item *)a)->samples, sort_repeats), y = hsc_stats_median(((const item *)b)->samples, sort_repeats);
  return (x < y) - (x > y);
}

static json_t *items_json(item_list *list, size_t n, double whole, uint64_t seed) {
  json_t *out = json_array();
  sort_repeats = n;  // one thread calls this; qsort has no argument for it
  if (list->count) qsort(list->items, list->count, sizeof *list->items, by_median);
  for (size_t i = 0; i < list->count; i++) json_array_append_new(out, item_json(&list->items[i], n, whole, seed));
  return out;
}

char *hsc_passes_running(const char *log) {
  static const char *const marks[] = {"HLO pass ", ": pass "};
  const char *best = NULL;
  for (size_t i = 0; log && i < HSC_COUNT_OF(marks); i++)
    for (const char *at = log; (at = strstr(at, marks[i])); at++) {
      const char *name = at + strlen(marks[i]);
      if (!strncmp(name, "pipeline ", 9)) continue;  // "Running HLO pass pipeline on module ..."
      if (!best || name > best) best = name;
    }
  if (!best) return NULL;
  hsc_bytes out = {0};
  hsc_bytes_append(&out, best, strcspn(best, " \n\t"));
  return hsc_bytes_take(&out);
}

// The last line of the log says either that a pass began, or that it ended: then what follows the passes was running.
static hsc_status *name_running_pass(hsc_status *status) {
  const char *ended = strstr(hsc_status_message(status), "HLO pass: ");
  if (ended && !strstr(ended, "HLO pass "))
    return hsc_status_note(status, "the compiler was past pass %.*s: between passes, or in code generation", (int)strcspn(ended + 10, " \n"), ended + 10);
  char *pass = hsc_passes_running(hsc_status_message(status));
  if (pass) status = hsc_status_hint(hsc_status_note(status, "the compiler was in pass %s", pass), "hloscope passes list PROGRAM --disable %s shows whether it is that pass alone", pass);
  hsc_free(pass);
  return status;
}

// The flame of a profile, or pipelines and passes where there is none.
static void write_folded(const hsc_pass_list *list, const char *device, hsc_bytes *out) {
  if (list->flame && hsc_map_count(list->flame->stacks)) {
    for (size_t i = 0; i < hsc_map_count(list->flame->stacks); i++) {
      hsc_view key;
      const int64_t *ns = hsc_map_at(list->flame->stacks, i, &key);
      if (*ns >= 1000) hsc_bytes_printf(out, "%.*s %lld\n", (int)key.size, key.data, (long long)(*ns / 1000));
    }
    return;
  }
  const char *name;
  json_t *ns;
  json_object_foreach (list->phases, name, ns)
    if (strcmp(name, "passes") != 0 && json_integer_value(ns) >= 1000) hsc_bytes_printf(out, "%s;%s %lld\n", device, name, (long long)(json_integer_value(ns) / 1000));
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (row->nested || row->counts || row->duration_ns < 1000) continue;
    hsc_bytes_printf(out, "%s;passes;", device);
    for (const char *p = row->pipeline; *p; p++) hsc_bytes_append_char(out, *p == ' ' || *p == ';' ? '_' : *p);
    hsc_bytes_append_char(out, ';');
    for (const char *p = row->pass; *p; p++) hsc_bytes_append_char(out, *p == ' ' || *p == ';' ? '_' : *p);
    hsc_bytes_printf(out, " %lld\n", (long long)(row->duration_ns / 1000));
  }
}

static hsc_status *add_map(item_list *list, const hsc_map *map, int repeat) {
  for (size_t i = 0; i < hsc_map_count(map); i++) {
    hsc_view key;
    const int64_t *ns = hsc_map_at(map, i, &key);
    HSC_TRY(add(list, hsc_arena_strndup(list->arena, key.data, key.size), repeat, (double)*ns * 1e-9));
  }
  return NULL;
}

typedef struct taken {
  item_list total, phases, pipelines, passes, threads;
} taken;

static hsc_status *take_compile(taken *t, const hsc_pass_list *list, int repeat) {
  HSC_TRY(add(&t->total, "compile", repeat, (double)list->compile_ns * 1e-9));
  double in_passes = 0;
  for (size_t i = 0; i < list->row_count; i++) {
    const hsc_pass_row *row = &list->rows[i];
    if (row->nested || row->counts || row->duration_ns < 0) continue;
    HSC_TRY(add(&t->pipelines, row->pipeline, repeat, (double)row->duration_ns * 1e-9));
    HSC_TRY(add(&t->passes, row->pass, repeat, (double)row->duration_ns * 1e-9));
    in_passes += (double)row->duration_ns * 1e-9;
  }
  if (list->flame && hsc_map_count(list->flame->phases)) {
    HSC_TRY(add_map(&t->phases, list->flame->phases, repeat));
    return add_map(&t->threads, list->flame->threads, repeat);
  }
  const char *name;
  json_t *ns;
  bool named = json_object_get(list->phases, "codegen") != NULL;
  json_object_foreach (list->phases, name, ns)
    if (named && !hsc_ends_with(name, "_ns")) HSC_TRY(add(&t->phases, strcmp(name, "passes") ? name : "HLO passes", repeat, (double)json_integer_value(ns) * 1e-9));
  if (named) return NULL;
  HSC_TRY(add(&t->phases, "HLO passes", repeat, in_passes));
  return add(&t->phases, "all else", repeat, fmax(0, (double)list->compile_ns * 1e-9 - in_passes));
}

hsc_status *hsc_passes_time(const hsc_passes_time_options *o, json_t **out_result, hsc_bytes *out_folded) {
  hsc_lab_worker *worker = NULL;
  char *scratch = NULL;
  hsc_arena *arena = NULL;
  taken t = {0};
  double first_s = NAN;
  json_t *front = NULL;
  const char *from = NULL;
  int done = 0;
  hsc_status *status = NULL;
  item_list *const lists[] = {&t.total, &t.phases, &t.pipelines, &t.passes, &t.threads};
  *out_result = NULL;
  // What a compiler is at stands in its log, which is kept: the last lines name the pass that it never came back from.
  setenv("TF_CPP_VMODULE", "hlo_pass_pipeline=1", 0);
  setenv("TF_CPP_MIN_LOG_LEVEL", "0", 0);
  setenv("HLOSCOPE_LOG", "passes=1", 0);
  HSC_GOTO(hsc_arena_create(&arena));
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++) *lists[i] = (item_list){.arena = arena, .repeats = o->repeats};
  HSC_GOTO(hsc_scratch_create(&scratch));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = o->device, .executable = o->executable, .no_disk_cache = true}, &worker));
  for (int repeat = -1; repeat < o->repeats && !(o->stop && *o->stop); repeat++) {
    hsc_pass_list list;
    HSC_GOTO(hsc_pass_list_init(&list));
    hsc_passes_collect_options collect = {.program = o->program,
                                          .transforms = o->transforms,
                                          .transform_count = o->transform_count,
                                          .overrides = o->overrides,
                                          .scratch = scratch,
                                          .profile = true,
                                          .limit_ns = o->limit_ns};
    if (o->progress) o->progress(o->user, repeat + 1, o->repeats + 1, "compiling");
    status = hsc_pass_list_want_flame(&list);
    if (!status) status = hsc_passes_collect(worker, &collect, &list);
    if (!status && repeat < 0) {
      first_s = (double)list.compile_ns * 1e-9;
      front = json_incref(list.phases);
    }
    if (!status && repeat >= 0) status = take_compile(&t, &list, repeat);
    if (!status && repeat + 1 == o->repeats && out_folded) write_folded(&list, o->device->text, out_folded);
    if (!status) from = list.from;
    done += !status && repeat >= 0;
    hsc_pass_list_deinit(&list);
    hsc_scratch_empty(scratch);
    if (status) {
      status = name_running_pass(status);
      goto done;
    }
  }
  if (done == 0) HSC_GOTO(HSC_ERR(CANCELLED, "interrupted before a compile was through"));
  double whole = hsc_stats_median(t.total.items[0].samples, (size_t)done);
  json_t *program = json_object();
  static const char *const steps[] = {"read_ns", "parse_ns", "transform_ns", "write_ns"};
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++) {
    double ns = hsc_json_number(json_object_get(front, steps[i]));
    if (!isnan(ns)) json_object_set_new(program, hsc_arena_strndup(arena, steps[i], strlen(steps[i]) - 3), json_real(ns * 1e-9));
  }
  *out_result = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "program", o->program, "device", o->device->text, "from", from, "repeats", done,
                          "first_compile", hsc_json_real(first_s), "front_end", program, "compile", item_json(&t.total.items[0], (size_t)done, whole, o->seed), "phases",
                          items_json(&t.phases, (size_t)done, whole, o->seed), "pipelines", items_json(&t.pipelines, (size_t)done, whole, o->seed), "passes",
                          items_json(&t.passes, (size_t)done, whole, o->seed), "threads", items_json(&t.threads, (size_t)done, whole, o->seed));
  if (!*out_result) status = hsc_status_out_of_memory();
done:
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++) hsc_free(lists[i]->items);
  json_decref(front);
  hsc_lab_worker_destroy(worker);
  hsc_scratch_destroy(scratch);
  hsc_arena_destroy(arena);
  return status;
}
