// samples_read.c - which reader a file of samples gets.
#include "base/files/file_io.h"
#include "lab/run/samples_internal.h"
#include "views/dataset.h"

#include <sys/stat.h>

enum { LOOK_BYTES = 4096 };

// No text has a zero byte.
static bool has_zeros(hsc_view text) {
  return memchr(text.data ? text.data : "", 0, text.size < LOOK_BYTES ? text.size : LOOK_BYTES);
}

static hsc_status *neither(const char *path) {
  return hsc_status_hint(
      hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "this is neither text nor Parquet"), path, 0, 0,
                    NULL),
      "stats takes JSON, CSV, bare numbers and Parquet; `hloscope tables CAPTURE events "
      "--format=csv` makes such of a capture");
}

// What is no file of samples is refused before all of it is read, however large it is.
static hsc_status *look(const char *path) {
  char head[LOOK_BYTES];
  struct stat info;
  size_t size = 0;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
    return NULL;  // it is told, or read, with the rest
  HSC_TRY(hsc_file_head(path, head, sizeof head, &size));
  hsc_view view = {head, size};
  // of these their readers say what is wrong
  bool is_known = size && head[0] && (strchr("{[ \t\r\n", head[0]) || !memcmp(head, "PAR1", 4));
  return is_known || hsc_is_packed(view) || !has_zeros(view) ? NULL : neither(path);
}

hsc_status *hsc_samples_read(hsc_samples *set,
                             const char *path,
                             const hsc_samples_options *options) {
  hsc_bytes bytes = {0};
  if (hsc_dataset_is_at(path))
    return hsc__samples_dataset(set, path, options);
  HSC_TRY(look(path));
  hsc_status *status = hsc_file_read_unpacked(path, INT32_MAX, &bytes);
  if (status) {
    hsc_bytes_deinit(&bytes);
    return status;
  }
  hsc_view text = hsc_text_after_mark(hsc_bytes_view(&bytes));
  size_t before = set->count;
  size_t at = 0;
  while (at < text.size && text.data[at] && strchr(" \t\r\n", text.data[at]))
    at++;
  if (text.size >= 4 && !memcmp(text.data, "PAR1", 4))
    status = hsc__samples_parquet(set, path, text, options);
  else if (at < text.size && (text.data[at] == '{' || text.data[at] == '['))
    status = hsc__samples_json(set, path, text, options);
  else if (has_zeros(text))
    status = neither(path);
  else
    status = hsc__samples_text(set, path, text, options);
  hsc_bytes_deinit(&bytes);
  if (!status && set->count == before) {
    if (options->column)
      status = hsc_status_at(HSC_ERR(NOT_FOUND, "no column or series '%s'", options->column), path,
                             0, 0, NULL);
    else
      status = hsc_status_hint(
          hsc_status_at(HSC_ERR(INVALID_ARGUMENT, "there are no samples in it"), path, 0, 0, NULL),
          "samples are numbers: a list in JSON, lines or columns in text");
  }
  return status;
}
