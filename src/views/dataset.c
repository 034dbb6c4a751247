// dataset.c - streaming aggregates over the Parquet files of many captures.
#include "views/dataset.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

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
  const char *category, *name;
  int64_t count, files;
  double total, least, most;
  int64_t zeros;  // that took no time at all
  int64_t buckets[BUCKETS];
  int64_t last_file;
} aggregate;

typedef struct dataset {
  hsc_arena *arena;
  hsc_map *names;  // category, a zero byte, name -> aggregate
  hsc_map *hosts, *runs;
  int64_t files;
} dataset;

bool hsc_dataset_is_at(const char *path) {
  DIR *folder = opendir(path);
  bool found = false;
  for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
    found = hsc_starts_with(entry->d_name, "run=");
  if (folder)
    closedir(folder);
  return found;
}

// ---- one file -----------------------------------------------------------------------------------

static hsc_status *find_aggregate(dataset *d, hsc_view category, hsc_view name, aggregate **out) {
  char key[1024];
  int size = snprintf(key, sizeof key, "%.*s%c%.*s", (int)category.size, category.data, 1,
                      (int)name.size, name.data);
  hsc_view view = {key, (size_t)size < sizeof key ? (size_t)size : sizeof key - 1};
  *out = hsc_map_get(d->names, view);
  if (*out)
    return NULL;
  aggregate *fresh = HSC_NEW(d->arena, aggregate);
  fresh->category = hsc_arena_strndup(d->arena, category.data, category.size);
  fresh->name = hsc_arena_strndup(d->arena, name.data, name.size);
  HSC_TRY(hsc_arena_status(d->arena));
  fresh->least = INFINITY;
  *out = fresh;
  return hsc_map_put(d->names, view, fresh);
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

static hsc_status *find_column(hsc_parquet_file *file, const char *name, size_t *out) {
  for (*out = 0; *out < hsc_parquet_column_count(file); ++*out)
    if (!strcmp(hsc_parquet_column_name(file, *out), name))
      return NULL;
  return HSC_ERR(INVALID_ARGUMENT, "no column %s: not a file that export --to=parquet made", name);
}

// As the summary of one capture has it: passes and frameworks have views of their own.
static bool is_counted(hsc_view category) {
  return !hsc_view_equals_text(category, "pass") && !hsc_view_equals_text(category, "framework");
}

static hsc_status *read_columns(dataset *d, hsc_parquet_file *file) {
  size_t rows = hsc_parquet_row_count(file);
  hsc_view *categories = hsc_alloc((rows + 1) * sizeof *categories);
  hsc_view *names = hsc_alloc((rows + 1) * sizeof *names);
  double *durations = hsc_alloc((rows + 1) * sizeof *durations);
  size_t at[3];
  hsc_status *status = categories && names && durations ? NULL : hsc_status_out_of_memory();
  if (status)
    goto done;
  HSC_GOTO(find_column(file, "category", &at[0]));
  HSC_GOTO(find_column(file, "name", &at[1]));
  HSC_GOTO(find_column(file, "duration_ns", &at[2]));
  HSC_GOTO(hsc_parquet_read_texts(file, at[0], categories));
  HSC_GOTO(hsc_parquet_read_texts(file, at[1], names));
  HSC_GOTO(hsc_parquet_read_doubles(file, at[2], durations));
  d->files++;
  for (size_t i = 0; i < rows; i++) {
    aggregate *found;
    if (isnan(durations[i]) || !categories[i].size || !is_counted(categories[i]))
      continue;
    HSC_GOTO(find_aggregate(d, categories[i], names[i], &found));
    add(found, durations[i], d->files);
  }
done:
  hsc_free(categories);
  hsc_free(names);
  hsc_free(durations);
  return status;
}

static hsc_status *read_file(dataset *d, const char *path) {
  hsc_bytes bytes = {0};
  hsc_parquet_file *file = NULL;
  hsc_status *status = hsc_file_read(path, &bytes);
  if (!status)
    status = hsc_parquet_open(hsc_bytes_view(&bytes), &file);
  if (!status)
    status = read_columns(d, file);
  hsc_parquet_close(file);
  hsc_bytes_deinit(&bytes);
  return hsc_status_note(status, "reading %s", path);
}

// ---- the folders --------------------------------------------------------------------------------

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static hsc_status *walk(dataset *d, const char *path, int depth) {
  enum { MOST_DEPTH = 8 };
  struct dirent **entries = NULL;
  hsc_status *status = NULL;
  int count = depth < MOST_DEPTH ? scandir(path, &entries, NULL, by_name) : 0;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    char *inside = NULL;
    struct stat info;
    if (!status && name[0] != '.') {
      inside = hsc_arena_printf(d->arena, "%s/%s", path, name);
      status = hsc_arena_status(d->arena);
    }
    if (inside && !status && stat(inside, &info) == 0) {
      if (hsc_starts_with(name, "host="))
        status = hsc_map_put(d->hosts, hsc_view_of(name), d);
      else if (hsc_starts_with(name, "run="))
        status = hsc_map_put(d->runs, hsc_view_of(name), d);
      if (!status && S_ISDIR(info.st_mode))
        status = walk(d, inside, depth + 1);
      else if (!status && hsc_ends_with(name, ".parquet"))
        status = read_file(d, inside);
    }
    free(entries[i]);
  }
  free(entries);
  return status;
}

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
  for (size_t c = 0; c < HSC_COUNT_OF(columns); c++)
    hsc_table_column(table, columns[c][0], columns[c][1]);
  for (size_t i = 0; i < count && (!limit || i < limit); i++) {
    const aggregate *a = all[i];
    hsc_table_row(table);
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

hsc_status *hsc_dataset_summary(const char *path, size_t limit, hsc_table **out_table) {
  dataset d = {0};
  hsc_table *table = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&d.arena));
  HSC_GOTO(hsc_map_create(&d.names));
  HSC_GOTO(hsc_map_create(&d.hosts));
  HSC_GOTO(hsc_map_create(&d.runs));
  HSC_GOTO(walk(&d, path, 0));
  if (!d.files)
    HSC_GOTO(HSC_ERR(NOT_FOUND, "%s holds no Parquet file", path));
  HSC_GOTO(hsc_table_create("summary", &table));
  status = fill_table(&d, limit, table);
done:
  if (status)
    hsc_table_destroy(table);
  else
    *out_table = table;
  hsc_map_destroy(d.names);
  hsc_map_destroy(d.hosts);
  hsc_map_destroy(d.runs);
  hsc_arena_destroy(d.arena);
  return status;
}
