// samples_internal.h - what the readers of samples share: a set of series, and a frame of columns
// that becomes series.
#pragma once

#include "base/core/map.h"
#include "base/core/memory.h"
#include "lab/run/samples.h"

struct hsc_samples {
  hsc_arena *arena;  // names, sizes, causes
  hsc_sample_series *items;
  size_t count, room;
  char grade[2];
};

// Adds a series and takes `samples` (heap), also on failure. block_sizes is copied; NULL = one
// block.
HSC_MUST_USE hsc_status *hsc__samples_add(hsc_samples *set,
                                          const char *name,
                                          const char *unit,
                                          const char *source,
                                          double *samples,
                                          size_t count,
                                          const size_t *block_sizes,
                                          size_t block_count,
                                          const hsc_samples_options *options,
                                          hsc_sample_series **out_series);

// A column of a table: numbers, or texts as codes into names.
typedef struct hsc__frame_column {
  const char *name, *unit;
  bool is_text, is_decided;
  double *numbers;
  uint32_t *codes;
  size_t room;
  hsc_map *names;  // text -> code + 1, in order of appearance
} hsc__frame_column;

typedef struct hsc__frame {
  hsc_arena *arena;
  hsc__frame_column *columns;
  size_t column_count, row_count;
} hsc__frame;

HSC_MUST_USE hsc_status *hsc__frame_create(size_t column_count, hsc__frame *out_frame);
void hsc__frame_deinit(hsc__frame *frame);
// The cell of the row that is being filled. A column takes the kind of its first cell; false: this
// text is not a number where numbers were before.
HSC_MUST_USE hsc_status *hsc__frame_number(hsc__frame *frame, size_t column, double value);
HSC_MUST_USE hsc_status *hsc__frame_text(hsc__frame *frame, size_t column, hsc_view text);
// Series of a frame, as `options` say: a number column is a series each; with one text column
// beside one number column, or `by`, a series for each text.
HSC_MUST_USE hsc_status *hsc__frame_series(hsc_samples *set,
                                           hsc__frame *frame,
                                           const char *path,
                                           const hsc_samples_options *options);

// The unit that a name ends in, "" when it tells none.
const char *hsc__unit_of_name(const char *name);
// A number at the start of [at, end): its end, or NULL when there is none. nan, inf, infinity in
// any case with sign count.
const char *hsc__parse_number(const char *at, const char *end, double *out_value);

HSC_MUST_USE hsc_status *hsc__samples_json(hsc_samples *set,
                                           const char *path,
                                           hsc_view text,
                                           const hsc_samples_options *options);
HSC_MUST_USE hsc_status *hsc__samples_text(hsc_samples *set,
                                           const char *path,
                                           hsc_view text,
                                           const hsc_samples_options *options);
HSC_MUST_USE hsc_status *hsc__samples_parquet(hsc_samples *set,
                                              const char *path,
                                              hsc_view bytes,
                                              const hsc_samples_options *options);
// samples_dataset.c: a folder of Parquet files, a group of rows at a time.
HSC_MUST_USE hsc_status *hsc__samples_dataset(hsc_samples *set,
                                              const char *path,
                                              const hsc_samples_options *options);
