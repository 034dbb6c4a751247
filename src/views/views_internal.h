// views_internal.h - what the views share: grouping, series of durations, rows that can be sorted.
#pragma once

#include "base/core/map.h"
#include "views/views.h"

typedef struct hsc__view_context {
  const hsc_capture *capture;
  const hsc_view_options *options;
  hsc_table *table;
  hsc_arena *arena;  // dies with the view; with the table, whose rows are made on demand
  bool arena_given;  // to the table
} hsc__view_context;

#define VIEW(id, text, doc) HSC_MUST_USE hsc_status *hsc__view_##id(hsc__view_context *cx);
#include "views/views.def"
#undef VIEW

// Durations of events that belong together.
typedef struct hsc__series {
  const char *name;
  uint32_t category;
  double *values;  // [count], in order of time; ns
  size_t count, capacity;
  double total;
  int64_t extra;     // a view's own number (bytes, ...)
  double nested_ns;  // of total: other events of the table that lie inside of these
  // of operators: what a custom call calls, the framework's name; NULL = not said, "" = several
  const char *category_text, *op_name;
} hsc__series;

typedef struct hsc__series_set {
  hsc_map *by_name;
  hsc__series **list;  // [count] in order of first appearance
  size_t count, capacity;
  hsc_arena *arena;
  struct {
    const char *name;
    uint32_t category;
    hsc__series *series;
  } recent[64];  // by the name's address: strings of a ring are one each
} hsc__series_set;
HSC_MUST_USE hsc_status *hsc__series_set_init(hsc__series_set *set, hsc_arena *arena);
void hsc__series_set_deinit(hsc__series_set *set);
// The series of (category, name), made when missing; NULL when memory ran out.
hsc__series *hsc__series_get(hsc__series_set *set, uint32_t category, const char *name);
bool hsc__series_add(hsc__series *series, double value);
// Ascending. Whole numbers from 0 on (nanoseconds) are sorted by their digits, others by comparing.
void hsc__series_sort_values(hsc__series *series);
void hsc__series_sort_by_total(hsc__series_set *set);

bool hsc__wanted(const hsc__view_context *cx, const hsc_event *event);  // passes --where
int64_t hsc__attr_int(const hsc__view_context *cx,
                      const hsc_event *event,
                      const char *key,
                      int64_t missing);
// "" when missing
const char *hsc__attr_text(const hsc__view_context *cx, const hsc_event *event, const char *key);
// Rows that may still be added under --limit; counts what is cut.
bool hsc__room(const hsc__view_context *cx);
// Adds `count` rows, or as many as --limit leaves: made now, or when the table is read. `user` lies
// in the view's arena; `release` (may be NULL) frees what it has beside it.
void hsc__view_rows(hsc__view_context *cx,
                    size_t count,
                    hsc_table_make_row *make,
                    void *user,
                    void (*release)(void *user));
// The attributes named `text` of events, by number: the search for the text is made once for each
// process.
typedef struct hsc__key {
  const char *text;
  const hsc_capture *capture;
  const uint32_t *numbers;  // [process]; 0 = not used there
} hsc__key;
hsc__key hsc__key_of(const hsc__view_context *cx, const char *text);
const hsc_trace_attr *hsc__key_attr(const hsc__key *key, const hsc_event *event);  // NULL = none
int64_t hsc__key_int(const hsc__key *key, const hsc_event *event, int64_t missing);
