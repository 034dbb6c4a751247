// view_series.c - series of durations by key, which the views of a capture are computed from.
#include <math.h>
#include <stdlib.h>

#include "views/views.h"
#include "views/views_internal.h"

int64_t hsc_quantile_min_samples(double q) {
  return q <= 0 || q >= 1 ? 1 : (int64_t)ceil(log(0.05) / log(q));
}

hsc_status *hsc__series_set_init(hsc__series_set *set, hsc_arena *arena) {
  *set = (hsc__series_set){.arena = arena};
  return hsc_map_create(&set->by_name);
}

void hsc__series_set_deinit(hsc__series_set *set) {
  for (size_t i = 0; i < set->count; i++)
    hsc_free(set->list[i]->values);
  hsc_free(set->list);
  hsc_map_destroy(set->by_name);
  *set = (hsc__series_set){0};
}

static hsc__series *find_or_make(hsc__series_set *set, uint32_t category, const char *name) {
  char buffer[256];
  int length = snprintf(buffer, sizeof buffer, "%u/%s", category, name);
  if (length >= (int)sizeof buffer)
    length = sizeof buffer - 1;
  hsc_view key = {buffer, (size_t)length};
  hsc__series *series = hsc_map_get(set->by_name, key);
  if (series)
    return series;
  if (!HSC_GROW(set->list, set->count, set->capacity))
    return NULL;
  series = HSC_NEW(set->arena, hsc__series);
  key.data = hsc_arena_strndup(set->arena, buffer, key.size);
  if (!series || !key.data)
    return NULL;
  hsc_status *status = hsc_map_put(set->by_name, key, series);
  if (status) {
    hsc_status_free(status);
    return NULL;
  }
  series->name = name;
  series->category = category;
  return set->list[set->count++] = series;
}

hsc__series *hsc__series_get(hsc__series_set *set, uint32_t category, const char *name) {
  size_t slot = ((uintptr_t)name >> 3 ^ category) % HSC_COUNT_OF(set->recent);
  if (set->recent[slot].name == name && set->recent[slot].category == category)
    return set->recent[slot].series;
  hsc__series *series = find_or_make(set, category, name);
  if (series) {
    set->recent[slot].name = name;
    set->recent[slot].category = category;
    set->recent[slot].series = series;
  }
  return series;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return x < y ? -1 : x > y;
}

void hsc__series_sort_values(hsc__series *series) {
  enum { BITS = 11, DIGITS = 1 << BITS, FEW = 2000 };
  double highest = 0;
  bool whole = series->count > FEW;
  for (size_t i = 0; i < series->count && whole; i++) {
    double v = series->values[i];
    whole = v >= 0 && v < 9e15 && (double)(int64_t)v == v;
    if (v > highest)
      highest = v;
  }
  double *spare = whole ? hsc_alloc(series->count * sizeof *spare) : NULL;
  if (!spare) {
    if (series->count)
      qsort(series->values, series->count, sizeof *series->values, compare_doubles);
    return;
  }
  double *from = series->values;
  double *to = spare;
  for (int shift = 0; shift == 0 || (uint64_t)highest >> shift; shift += BITS) {
    size_t starts[DIGITS] = {0};
    for (size_t i = 0; i < series->count; i++)
      starts[(uint64_t)from[i] >> shift & (DIGITS - 1)]++;
    size_t sum = 0;
    for (int d = 0; d < DIGITS; d++) {
      size_t n = starts[d];
      starts[d] = sum;
      sum += n;
    }
    for (size_t i = 0; i < series->count; i++)
      to[starts[(uint64_t)from[i] >> shift & (DIGITS - 1)]++] = from[i];
    double *swap = from;
    from = to;
    to = swap;
  }
  if (from != series->values)
    memcpy(series->values, from, series->count * sizeof *from);
  hsc_free(spare);
}

bool hsc__series_add(hsc__series *series, double value) {
  if (!HSC_GROW(series->values, series->count, series->capacity))
    return false;
  series->values[series->count++] = value;
  series->total += value;
  return true;
}

static int compare_totals(const void *a, const void *b) {
  const hsc__series *x = *(hsc__series *const *)a;
  const hsc__series *y = *(hsc__series *const *)b;
  return x->total > y->total ? -1 : x->total < y->total;
}

void hsc__series_sort_by_total(hsc__series_set *set) {
  if (set->count)
    qsort(set->list, set->count, sizeof *set->list, compare_totals);
}

bool hsc__wanted(const hsc__view_context *cx, const hsc_event *event) {
  return !cx->options->where || strstr(event->name, cx->options->where);
}

bool hsc__room(const hsc__view_context *cx) {
  return !cx->options->limit || (int64_t)hsc_table_row_count(cx->table) < cx->options->limit;
}

void hsc__view_rows(hsc__view_context *cx,
                    size_t count,
                    hsc_table_make_row *make,
                    void *user,
                    void (*release)(void *user)) {
  if (cx->options->limit && (uint64_t)cx->options->limit < count)
    count = (size_t)cx->options->limit;
  if (cx->options->on_demand && !hsc_table_row_count(cx->table)) {
    hsc_table_rows_on_demand(cx->table, count, make, user, release, cx->arena);
    cx->arena_given = true;
    return;
  }
  hsc_table_expect(cx->table, count);
  for (size_t i = 0; i < count; i++) {
    hsc_table_row(cx->table);
    make(cx->table, i, user);
  }
  if (release)
    release(user);
}

hsc__key hsc__key_of(const hsc__view_context *cx, const char *text) {
  int count = hsc_capture_process_count(cx->capture);
  uint32_t *numbers = HSC_NEW_ARRAY(cx->arena, uint32_t, count + 1);
  for (int p = 0; numbers && p < count; p++)
    numbers[p] = hsc_capture_number(cx->capture, p, text);
  return (hsc__key){text, cx->capture, numbers};
}

const hsc_trace_attr *hsc__key_attr(const hsc__key *key, const hsc_event *event) {
  uint32_t number = event->process >= 0 ? key->numbers[event->process] : 0;
  hsc_capture_looked(key->capture);
  for (int i = 0; number && i < event->end_attr_count; i++)
    if (event->end_attrs[i].key == number)
      return &event->end_attrs[i];
  for (int i = 0; number && i < event->attr_count; i++)
    if (event->attrs[i].key == number)
      return &event->attrs[i];
  return NULL;
}

int64_t hsc__key_int(const hsc__key *key, const hsc_event *event, int64_t missing) {
  const hsc_trace_attr *attr = hsc__key_attr(key, event);
  return attr && (attr->type == HSC_ATTR_INT || attr->type == HSC_ATTR_UINT) ? attr->value.i
                                                                             : missing;
}

int64_t hsc__attr_int(const hsc__view_context *cx,
                      const hsc_event *event,
                      const char *key,
                      int64_t missing) {
  const hsc_trace_attr *attr = hsc_event_attr(cx->capture, event, key);
  return attr && (attr->type == HSC_ATTR_INT || attr->type == HSC_ATTR_UINT) ? attr->value.i
                                                                             : missing;
}

const char *hsc__attr_text(const hsc__view_context *cx, const hsc_event *event, const char *key) {
  const hsc_trace_attr *attr = hsc_event_attr(cx->capture, event, key);
  return attr && attr->type == HSC_ATTR_STRING
             ? hsc_capture_string(cx->capture, event->process, attr->value.string)
             : "";
}
