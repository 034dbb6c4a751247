// samples_dataset.c - series out of a folder of exported captures, in memory that does not grow
// with it.
//
// A series keeps at most MOST numbers. While there is room every number is taken; when it is full,
// one of each two neighbours is dropped at random, and from then on one of twice as many that
// follow each other is taken, again at random. So what is kept is in the order of time and spread
// over the whole, and no period of the program can hide between what is taken.
#include <math.h>

#include "base/core/random.h"
#include "base/text/text.h"
#include "lab/run/samples_internal.h"
#include "views/dataset.h"

enum { MOST = 8192 };

typedef struct drawn {
  const char *name;
  double *kept;  // [MOST]
  size_t count;
  size_t all;              // numbers so far
  size_t stride;           // one of so many is taken
  size_t in_stride, pick;  // how many of this stride came; which of them is taken
  double least, most;
} drawn;

typedef struct drawing {
  const hsc_samples_options *options;
  hsc_arena *arena;
  hsc_map *by_name;  // text -> drawn
  hsc_random random;
  hsc_view *texts;  // [room]
  double *numbers;  // [room]
  size_t room;
  const char *unit;
} drawing;

static hsc_status *find(drawing *d, hsc_view text, drawn **out) {
  *out = hsc_map_get(d->by_name, text);
  if (*out)
    return NULL;
  drawn *fresh = HSC_NEW(d->arena, drawn);
  const char *name = hsc_arena_strndup(d->arena, text.data ? text.data : "", text.size);
  HSC_TRY(hsc_arena_status(d->arena));
  *fresh = (drawn){.name = name, .stride = 1, .least = INFINITY, .most = -INFINITY};
  fresh->kept = hsc_alloc(MOST * sizeof *fresh->kept);
  if (!fresh->kept)
    return hsc_status_out_of_memory();
  *out = fresh;
  return hsc_map_put(d->by_name, (hsc_view){name, text.size}, fresh);
}

static void take(drawing *d, drawn *s, double number) {
  s->all++;
  s->least = fmin(s->least, number);
  s->most = fmax(s->most, number);
  if (s->in_stride == s->pick)
    s->kept[s->count++] = number;
  if (++s->in_stride < s->stride)
    return;
  if (s->count == MOST) {
    for (size_t i = 0; i < MOST / 2; i++)
      s->kept[i] = s->kept[2 * i + hsc_random_below(&d->random, 2)];
    s->count = MOST / 2;
    s->stride *= 2;
  }
  s->in_stride = 0;
  s->pick = hsc_random_below(&d->random, s->stride);
}

// What the folders say is no column of the files.
static const char *said_by_folders(const hsc_dataset_part *part, const char *name) {
  if (!strcmp(name, "host"))
    return part->host;
  if (!strcmp(name, "run"))
    return part->run;
  return !strcmp(name, "date") ? part->date : NULL;
}

static hsc_status *draw_part(void *user, const hsc_dataset_part *part) {
  drawing *d = user;
  const char *by = d->options->by ? d->options->by : "name";
  const char *column = d->options->column ? d->options->column : "duration_ns";
  const char *whole = said_by_folders(part, by);
  size_t value;
  size_t text = 0;
  drawn *series = NULL;
  HSC_TRY(hsc_dataset_column(part->file, column, &value));
  if (!whole)
    HSC_TRY(hsc_dataset_column(part->file, by, &text));
  if (part->rows > d->room) {
    hsc_free(d->texts);
    hsc_free(d->numbers);
    d->room = part->rows;
    d->texts = hsc_alloc(d->room * sizeof *d->texts);
    d->numbers = hsc_alloc(d->room * sizeof *d->numbers);
    if (!d->texts || !d->numbers)
      return hsc_status_out_of_memory();
  }
  HSC_TRY(hsc_parquet_group_doubles(part->file, part->group, value, d->numbers));
  if (whole)
    HSC_TRY(find(d, hsc_view_of(whole), &series));
  else
    HSC_TRY(hsc_parquet_group_texts(part->file, part->group, text, d->texts));
  hsc_view last = {0};
  for (size_t i = 0; i < part->rows; i++) {
    if (isnan(d->numbers[i]))  // an instant, a counter
      continue;
    // texts of a dictionary lie at one address each
    if (!whole && (!series || last.data != d->texts[i].data || last.size != d->texts[i].size))
      HSC_TRY(find(d, d->texts[i], &series));
    last = d->texts[i];
    take(d, series, d->numbers[i]);
  }
  return NULL;
}

static hsc_status *add_series(hsc_samples *set, const char *path, drawing *d, drawn *s) {
  hsc_sample_series *added = NULL;
  double *kept = s->kept;
  const char *column = d->options->column ? d->options->column : "duration_ns";
  s->kept = NULL;  // the set's, also on failure
  HSC_TRY(hsc__samples_add(set, s->name, hsc__unit_of_name(column), path, kept, s->count, NULL, 0,
                           d->options, &added));
  added->drawn_from = s->stride > 1 ? s->all : 0;
  added->least = s->least;
  added->most = s->most;
  return NULL;
}

hsc_status *hsc__samples_dataset(hsc_samples *set,
                                 const char *path,
                                 const hsc_samples_options *options) {
  drawing d = {.options = options};
  hsc_status *status = NULL;
  if (options->blocks)
    return hsc_status_at(
        HSC_ERR(UNIMPLEMENTED, "--blocks is not read of a folder of captures; --by run is"), path,
        0, 0, NULL);
  hsc_random_init(&d.random, 1);
  HSC_GOTO(hsc_arena_create(&d.arena));
  HSC_GOTO(hsc_map_create(&d.by_name));
  HSC_GOTO(hsc_dataset_each(path, draw_part, &d));
  for (size_t i = 0; i < hsc_map_count(d.by_name); i++)
    HSC_GOTO(add_series(set, path, &d, hsc_map_at(d.by_name, i, NULL)));
done:
  for (size_t i = 0; d.by_name && i < hsc_map_count(d.by_name); i++)
    hsc_free(((drawn *)hsc_map_at(d.by_name, i, NULL))->kept);
  if (d.by_name)
    hsc_map_destroy(d.by_name);
  if (d.arena)
    hsc_arena_destroy(d.arena);
  hsc_free(d.texts);
  hsc_free(d.numbers);
  return status;
}
