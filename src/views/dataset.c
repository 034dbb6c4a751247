// dataset.c - streaming aggregates over the Parquet files of many captures.
//
// Read from the bottom: hsc_dataset_table walks the folders, `count_part` takes a group of rows of
// a file, each row goes into the histogram of its name, and fill_table reads those.
#include "views/dataset_internal.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/parquet/parquet_read.h"
#include "base/text/text.h"

// Durations by their logarithm: a bucket is 2 % wide, its middle within 1 % of all in it (as in
// DDSketch, VLDB 2019). 10^17 ns are three years.
enum { BUCKETS = 2000 };
static const double WIDTH = 1.02;

typedef struct aggregate {
  const char *of;  // host or run; "" in the summary
  const char *category, *name;
  int64_t count, files;
  double total, least, most;
  int64_t zeros;  // that took no time at all
  int64_t buckets[BUCKETS];
  int64_t last_file;
} aggregate;

// Texts of a column mostly come from a dictionary, so the same text lies at the same address: what
// was found for two addresses is found again without looking at the texts. Of one group of rows.
typedef struct known {
  const char *category, *name;
  aggregate *found;
} known;
enum { KNOWN = 1024 };

typedef struct dataset {
  hsc_arena *arena;
  hsc_dataset_view view;
  hsc_map *names;  // of, category, name with a byte 1 between -> aggregate
  hsc_map *hosts, *runs;
  int64_t files;
  hsc_view *categories, *texts;  // [room]
  double *durations;             // [room]
  size_t room;
  known known[KNOWN];
} dataset;

static const char *const view_names[HSC_DATASET_VIEWS] = {"summary", "hosts", "runs", "stragglers"};

const char *hsc_dataset_view_name(hsc_dataset_view view) {
  return view_names[view];
}

bool hsc_dataset_is_at(const char *path) {
  DIR *folder = opendir(path);
  bool found = false;
  for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
    found = hsc_starts_with(entry->d_name, "run=");
  if (folder)
    closedir(folder);
  return found;
}

// ---- a group of rows ----------------------------------------------------------------------------

static hsc_status *find_aggregate(
    dataset *d, const char *of, hsc_view category, hsc_view name, aggregate **out) {
  char key[1024];
  int size = snprintf(key, sizeof key, "%s%c%.*s%c%.*s", of, 1, (int)category.size, category.data,
                      1, (int)name.size, name.data);
  hsc_view view = {key, (size_t)size < sizeof key ? (size_t)size : sizeof key - 1};
  *out = hsc_map_get(d->names, view);
  if (*out)
    return NULL;
  aggregate *fresh = HSC_NEW(d->arena, aggregate);
  fresh->of = hsc_arena_strdup(d->arena, of);
  fresh->category = hsc_arena_strndup(d->arena, category.data, category.size);
  fresh->name = hsc_arena_strndup(d->arena, name.data, name.size);
  view.data = hsc_arena_strndup(d->arena, key, view.size);
  HSC_TRY(hsc_arena_status(d->arena));
  fresh->least = INFINITY;
  *out = fresh;
  return hsc_map_put(d->names, view, fresh);
}

static hsc_status *find_again(
    dataset *d, const char *of, hsc_view category, hsc_view name, aggregate **out) {
  uintptr_t mixed = ((uintptr_t)name.data >> 2) + ((uintptr_t)category.data >> 1);
  known *k = &d->known[mixed % KNOWN];
  if (k->name == name.data && k->category == category.data) {
    *out = k->found;
    return NULL;
  }
  HSC_TRY(find_aggregate(d, of, category, name, out));
  *k = (known){category.data, name.data, *out};
  return NULL;
}

static void add(aggregate *a, double ns, int64_t file) {
  int bucket = ns >= 1 ? (int)(log(ns) / log(WIDTH)) : -1;
  a->files += a->last_file != file;
  a->last_file = file;
  a->count++;
  a->total += ns;
  a->least = fmin(a->least, ns);
  a->most = fmax(a->most, ns);
  if (bucket < 0)
    a->zeros++;
  else
    a->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
}

// As the summary of one capture has it: passes and frameworks have views of their own.
static bool is_counted(hsc_view category) {
  return !hsc_view_equals_text(category, "pass") && !hsc_view_equals_text(category, "framework");
}

static hsc_status *make_room(dataset *d, size_t rows) {
  if (rows <= d->room)
    return NULL;
  hsc_free(d->categories);
  hsc_free(d->texts);
  hsc_free(d->durations);
  d->room = rows;
  d->categories = hsc_alloc(rows * sizeof *d->categories);
  d->texts = hsc_alloc(rows * sizeof *d->texts);
  d->durations = hsc_alloc(rows * sizeof *d->durations);
  return d->categories && d->texts && d->durations ? NULL : hsc_status_out_of_memory();
}

static hsc_status *remember(hsc_map *set, hsc_arena *arena, const char *text) {
  if (!*text || hsc_map_get(set, hsc_view_of(text)))
    return NULL;
  const char *copy = hsc_arena_strdup(arena, text);
  HSC_TRY(hsc_arena_status(arena));
  return hsc_map_put(set, hsc_view_of(copy), set);
}

static hsc_status *count_part(void *user, const hsc_dataset_part *part) {
  dataset *d = user;
  const char *const groups[] = {"", part->host, part->run};
  size_t at[3];
  HSC_TRY(hsc_dataset_column(part->file, "category", &at[0]));
  HSC_TRY(hsc_dataset_column(part->file, "name", &at[1]));
  HSC_TRY(hsc_dataset_column(part->file, "duration_ns", &at[2]));
  HSC_TRY(make_room(d, part->rows));
  HSC_TRY(remember(d->hosts, d->arena, part->host));
  HSC_TRY(remember(d->runs, d->arena, part->run));
  HSC_TRY(hsc_parquet_group_texts(part->file, part->group, at[0], d->categories));
  HSC_TRY(hsc_parquet_group_texts(part->file, part->group, at[1], d->texts));
  HSC_TRY(hsc_parquet_group_doubles(part->file, part->group, at[2], d->durations));
  memset(d->known, 0, sizeof d->known);
  d->files = part->number;
  for (size_t i = 0; i < part->rows; i++) {
    aggregate *found;
    if (isnan(d->durations[i]) || !d->categories[i].size || !is_counted(d->categories[i]))
      continue;
    HSC_TRY(find_again(d, groups[d->view], d->categories[i], d->texts[i], &found));
    add(found, d->durations[i], part->number);
  }
  return NULL;
}

// ---- the folders --------------------------------------------------------------------------------

// ---- the table ----------------------------------------------------------------------------------

// The value of this rank, from 0: the middle, by its logarithm, of the bucket that holds it.
static double ranked(const aggregate *a, int64_t rank) {
  int64_t before = a->zeros;
  if (rank < before)
    return 0;
  for (int b = 0; b < BUCKETS; b++) {
    before += a->buckets[b];
    if (rank < before)
      return fmin(fmax(pow(WIDTH, b + 0.5), a->least), a->most);
  }
  return a->most;
}

// Between two ranks as the summary of a capture has it (Hyndman & Fan 1996, type 7).
static double quantile(const aggregate *a, double share) {
  double at = share * (double)(a->count - 1);
  int64_t low = (int64_t)at;
  double part = at - (double)low;
  double value = ranked(a, low);
  return part > 0 ? value + part * (ranked(a, low + 1) - value) : value;
}

static int by_total(const void *a, const void *b) {
  const aggregate *x = *(aggregate *const *)a;
  const aggregate *y = *(aggregate *const *)b;
  if (strcmp(x->of, y->of))
    return strcmp(x->of, y->of);
  if (x->total != y->total)
    return x->total < y->total ? 1 : -1;
  return strcmp(x->name, y->name);
}

static hsc_status *fill_table(const dataset *d, size_t limit, hsc_table *table) {
  static const char *const columns[][2] = {{"category", ""},   {"name", ""},    {"files", "count"},
                                           {"count", "count"}, {"total", "ns"}, {"min", "ns"},
                                           {"max", "ns"},      {"mean", "ns"},  {"median", "ns"},
                                           {"p90", "ns"},      {"p99", "ns"}};
  size_t count = hsc_map_count(d->names);
  aggregate **all = HSC_NEW_ARRAY(d->arena, aggregate *, count + 1);
  HSC_TRY(hsc_arena_status(d->arena));
  for (size_t i = 0; i < count; i++)
    all[i] = hsc_map_at(d->names, i, NULL);
  qsort(all, count, sizeof *all, by_total);
  if (d->view != HSC_DATASET_SUMMARY)
    hsc_table_column(table, d->view == HSC_DATASET_HOSTS ? "host" : "run", "");
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  for (size_t i = 0; i < count && (!limit || i < limit); i++) {
    const aggregate *a = all[i];
    hsc_table_row(table);
    if (d->view != HSC_DATASET_SUMMARY)
      hsc_table_text(table, *a->of ? a->of : NULL);
    hsc_table_text(table, a->category);
    hsc_table_text(table, a->name);
    hsc_table_int(table, a->files);
    hsc_table_int(table, a->count);
    hsc_table_double(table, a->total);
    hsc_table_double(table, a->least);
    hsc_table_double(table, a->most);
    hsc_table_double(table, a->total / (double)a->count);
    hsc_table_double(table, quantile(a, 0.5));
    hsc_table_double(table, quantile(a, 0.9));
    hsc_table_double(table, quantile(a, 0.99));
  }
  hsc_table_note(table, "%lld captures: %zu runs, %zu hosts; median and percentiles within 1 %%",
                 (long long)d->files, hsc_map_count(d->runs), hsc_map_count(d->hosts));
  return NULL;
}

hsc_status *hsc_dataset_table(const char *path,
                              hsc_dataset_view view,
                              size_t limit,
                              hsc_table **out_table) {
  hsc_table *table = NULL;
  hsc_status *status = NULL;
  dataset *d = hsc_alloc(sizeof *d);
  if (!d)
    return hsc_status_out_of_memory();
  d->view = view;
  HSC_GOTO(hsc_arena_create(&d->arena));
  HSC_GOTO(hsc_map_create(&d->names));
  HSC_GOTO(hsc_map_create(&d->hosts));
  HSC_GOTO(hsc_map_create(&d->runs));
  HSC_GOTO(hsc_table_create(view_names[view], &table));
  if (view == HSC_DATASET_STRAGGLERS)
    HSC_GOTO(hsc__dataset_stragglers(path, limit, table));
  else
    HSC_GOTO(hsc_dataset_each(path, count_part, d));
  status = view == HSC_DATASET_STRAGGLERS ? NULL : fill_table(d, limit, table);
done:
  if (status)
    hsc_table_destroy(table);
  else
    *out_table = table;
  hsc_map_destroy(d->names);
  hsc_map_destroy(d->hosts);
  hsc_map_destroy(d->runs);
  if (d->arena)
    hsc_arena_destroy(d->arena);
  hsc_free(d->categories);
  hsc_free(d->texts);
  hsc_free(d->durations);
  hsc_free(d);
  return status;
}
