// dataset_files.c - the Parquet files of a data set, and what their folders' names say
// (run=..., host=..., date=...).
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/files/file_io.h"
#include "base/parquet/parquet_read.h"
#include "base/text/text.h"
#include "views/dataset.h"

hsc_status *hsc_dataset_column(const hsc_parquet_file *file, const char *name, size_t *out) {
  for (*out = 0; *out < hsc_parquet_column_count(file); ++*out)
    if (!strcmp(hsc_parquet_column_name(file, *out), name))
      return NULL;
  return HSC_ERR(INVALID_ARGUMENT, "no column %s: not a file that export --to=parquet made", name);
}

typedef struct walker {
  hsc_status *(*visit)(void *user, const hsc_dataset_part *part);
  void *user;
  int64_t files;
} walker;

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static hsc_status *read_file(walker *w, const char *path, hsc_dataset_part part) {
  hsc_view bytes;
  HSC_TRY(hsc_file_map(path, &bytes));
  part.path = path;
  part.number = ++w->files;
  hsc_status *status = hsc_parquet_open(bytes, &part.file);
  for (part.group = 0; !status && part.group < hsc_parquet_group_count(part.file); part.group++) {
    part.rows = hsc_parquet_group_rows(part.file, part.group);
    status = w->visit(w->user, &part);
    hsc_parquet_forget_texts(part.file);
  }
  hsc_parquet_close(part.file);
  hsc_file_unmap(bytes);
  return hsc_status_note(status, "reading %s", path);
}

// `part` has what the folders above say.
static hsc_status *walk(walker *w, const char *path, int depth, hsc_dataset_part part) {
  enum { MOST_DEPTH = 8 };
  struct dirent **entries = NULL;
  hsc_status *status = NULL;
  int count = depth < MOST_DEPTH ? scandir(path, &entries, NULL, by_name) : 0;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    hsc_bytes inside = {0};
    struct stat info;
    hsc_bytes_printf(&inside, "%s/%s", path, name);
    if (!status)
      status = hsc_bytes_status(&inside);
    if (!status && name[0] != '.' && stat(hsc_bytes_text(&inside), &info) == 0) {
      hsc_dataset_part below = part;
      if (hsc_starts_with(name, "run="))
        below.run = name + 4;
      else if (hsc_starts_with(name, "host="))
        below.host = name + 5;
      else if (hsc_starts_with(name, "date="))
        below.date = name + 5;
      if (S_ISDIR(info.st_mode))
        status = walk(w, hsc_bytes_text(&inside), depth + 1, below);
      else if (hsc_ends_with(name, ".parquet"))
        status = read_file(w, hsc_bytes_text(&inside), part);
    }
    hsc_bytes_deinit(&inside);
    free(entries[i]);
  }
  free(entries);
  return status;
}

hsc_status *hsc_dataset_each(const char *path,
                             hsc_status *(*visit)(void *user, const hsc_dataset_part *part),
                             void *user) {
  walker w = {visit, user, 0};
  HSC_TRY(walk(&w, path, 0, (hsc_dataset_part){.run = "", .host = "", .date = ""}));
  return w.files ? NULL : HSC_ERR(NOT_FOUND, "%s holds no Parquet file", path);
}
