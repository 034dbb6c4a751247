// sweep_shard.c - the file that one process appends its results to, and reading those of all.
//
// One line is one write(2) with O_APPEND, after which nothing is kept back: what a process wrote
// survives its death by any signal. The line that it died in, if any, has no end and is left out by
// readers. A power cut may take the last lines of a machine; their tasks are then done again.
#include "base/core/clock.h"
#include "base/files/file_io.h"
#include "lab/sweep/sweep_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/store/environment.h"

// ---- writing ------------------------------------------------------------------------------------

static hsc_status *write_error(hsc__shard *shard, int error) {
  bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  shard->full = shard->full || full;
  hsc_status *status = hsc_status_errno(error, "cannot write", shard->path);
  if (!full)
    return status;
  hsc_status_free(status);
  return HSC_ERR(RESOURCE_EXHAUSTED, "%s: no room to write: %s", shard->path, strerror(error));
}

// `object` and a newline, or nothing of it.
static hsc_status *append_line(hsc__shard *shard, const json_t *object) {
  char *text = json_dumps(object, JSON_COMPACT);
  if (!text)
    return hsc_status_out_of_memory();
  size_t size = strlen(text);
  off_t before = lseek(shard->fd, 0, SEEK_END);
  text[size] = '\n';  // in place of its end
  ssize_t written = write(shard->fd, text, size + 1);
  int error = written < 0 ? errno : ENOSPC;  // a short write of a file is a full disk
  free(text);
  if (written == (ssize_t)size + 1)
    return NULL;
  if (before >= 0 && ftruncate(shard->fd, before) != 0)
    error = errno;
  return write_error(shard, error);
}

hsc_status *hsc__shard_open(const char *folder, const json_t *identity, hsc__shard *out_shard) {
  hsc_bytes path = {0};
  json_t *first = json_deep_copy(identity);
  json_t *environment = NULL;
  hsc_status *status = NULL;
  *out_shard = (hsc__shard){.fd = -1};
  HSC_GOTO(hsc_dir_make(folder));
  HSC_GOTO(hsc_environment_capture(true, &environment));
  json_object_set(first, "environment", environment);
  json_object_set_new(first, "started_ns", json_integer(hsc_wall_ns()));
  hsc_bytes_printf(&path, "%s/%s-%d-%llx.jsonl", folder, hsc__sweep_text(identity, "host"),
                   (int)getpid(), (unsigned long long)hsc_wall_ns());
  HSC_GOTO(hsc_bytes_status(&path));
  out_shard->path = hsc_bytes_take(&path);
  out_shard->rows = json_array();
  out_shard->fd = open(out_shard->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  status = out_shard->fd < 0 ? write_error(out_shard, errno) : append_line(out_shard, first);
done:
  json_decref(environment);
  json_decref(first);
  hsc_bytes_deinit(&path);
  return status;
}

hsc_status *hsc__shard_append(hsc__shard *shard, json_t *row) {
  HSC_TRY(append_line(shard, row));
  return json_array_append(shard->rows, row) ? hsc_status_out_of_memory() : NULL;
}

static hsc_status *write_part(void *user, hsc_view bytes) {
  const hsc__shard *shard = user;
  return hsc_fd_write(shard->fd, shard->path, bytes.data, bytes.size);
}

// The rows beside the lines, for DuckDB, Polars and Spark.
static hsc_status *write_parquet(const hsc__shard *shard, const hsc_sweep *sweep) {
  hsc_sweep_results own = {.rows = hsc_alloc(((size_t)sweep->count + 1) * sizeof(json_t *))};
  hsc_table *table = NULL;
  hsc__shard part = {.fd = -1};
  hsc_bytes path = {0};
  json_t *row;
  size_t i;
  hsc_status *status = own.rows ? NULL : hsc_status_out_of_memory();
  json_array_foreach (shard->rows, i, row) {
    const hsc_sweep_task *task =
        hsc_map_get(sweep->numbers, hsc_view_of(hsc__sweep_text(row, "task")));
    if (task && own.rows)
      own.rows[task - sweep->tasks] = row;
  }
  if (!status)
    status = hsc_sweep_table(sweep, &own, HSC_SWEEP_TIMES, &table);
  hsc_bytes_printf(&path, "%.*s.parquet", (int)(strlen(shard->path) - 6), shard->path);
  if (!status)
    status = hsc_bytes_status(&path);
  if (!status) {
    part.path = hsc_bytes_take(&path);
    part.fd = open(part.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    status = part.fd < 0 ? write_error(&part, errno)
                         : hsc_table_write(table, HSC_FORMAT_PARQUET, NULL, write_part, &part);
    if (part.fd >= 0)
      close(part.fd);
    if (status)
      unlink(part.path);
    hsc_free(part.path);
  }
  hsc_bytes_deinit(&path);
  hsc_table_destroy(table);
  hsc_free(own.rows);
  return status;
}

hsc_status *hsc__shard_close(hsc__shard *shard, const hsc_sweep *sweep) {
  hsc_status *status = NULL;
  if (shard->fd >= 0) {
    if (!shard->full && json_array_size(shard->rows))
      status = write_parquet(shard, sweep);
    if (fsync(shard->fd) != 0 && !status && errno != EINVAL)
      status = write_error(shard, errno);
    close(shard->fd);
    if (!json_array_size(shard->rows))
      unlink(shard->path);  // it says who was there, and nothing came of it
  }
  json_decref(shard->rows);
  hsc_free(shard->path);
  *shard = (hsc__shard){.fd = -1};
  return status;
}

// ---- reading ------------------------------------------------------------------------------------

// Which of two lines of one task counts: the same whatever the order in which they are read.
static bool is_better(const json_t *a, const json_t *b) {
  if (!b || hsc_sweep_is_result(a) != hsc_sweep_is_result(b))
    return !b || hsc_sweep_is_result(a);
  int64_t at_a = json_integer_value(json_object_get(a, "started_ns"));
  int64_t at_b = json_integer_value(json_object_get(b, "started_ns"));
  if (at_a != at_b)
    return at_a < at_b;
  return strcmp(hsc__sweep_text(a, "host"), hsc__sweep_text(b, "host")) < 0;
}

static void take_row(const hsc_sweep *sweep, hsc_sweep_results *results, json_t *row) {
  const hsc_sweep_task *task =
      hsc_map_get(sweep->numbers, hsc_view_of(hsc__sweep_text(row, "task")));
  results->lines++;
  if (!task) {
    results->foreign++;
    return;
  }
  json_t **best = &results->rows[task - sweep->tasks];
  if (!is_better(row, *best))
    return;
  results->done += hsc_sweep_is_result(row) - hsc_sweep_is_result(*best);
  json_decref(*best);
  *best = json_incref(row);
}

static hsc_status *read_shard(const hsc_sweep *sweep,
                              const char *path,
                              hsc_sweep_results *results) {
  hsc_bytes text = {0};
  bool first = true;
  bool ours = false;
  hsc_status *status = hsc_file_read_regular(path, &text);
  const char *end = text.data + text.size;
  for (const char *at = text.data; !status && at && at < end;) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    json_t *line = stop ? json_loadb(at, (size_t)(stop - at), 0, NULL) : NULL;
    if (!json_is_object(line)) {
      results->torn++;
    } else if (first) {
      ours = !strcmp(hsc__sweep_text(line, "plan"), sweep->id);
      if (ours)
        json_array_append(results->processes, line);
    } else if (ours) {
      take_row(sweep, results, line);
    } else {
      results->foreign++;
    }
    json_decref(line);
    first = false;
    at = stop ? stop + 1 : end;
  }
  results->files += ours;
  hsc_bytes_deinit(&text);
  return status;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shard(const struct dirent *entry) {
  size_t length = strlen(entry->d_name);
  return entry->d_name[0] != '.' && length > 6 && !strcmp(entry->d_name + length - 6, ".jsonl");
}

hsc_status *hsc_sweep_results_read(const hsc_sweep *sweep, hsc_sweep_results *out_results) {
  struct dirent **entries = NULL;
  hsc_status *status = NULL;
  char path[4400];
  *out_results = (hsc_sweep_results){
      .rows = hsc_alloc(((size_t)sweep->count + 1) * sizeof(json_t *)), .processes = json_array()};
  if (!out_results->rows || !out_results->processes)
    status = hsc_status_out_of_memory();
  snprintf(path, sizeof path, "%s/results", sweep->folder);
  int count = scandir(path, &entries, is_shard, by_name);
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/results/%s", sweep->folder, entries[i]->d_name);
    if (!status)
      status = read_shard(sweep, path, out_results);
    free(entries[i]);
  }
  free(entries);
  if (status)
    hsc_sweep_results_deinit(sweep, out_results);
  return status;
}

void hsc_sweep_results_deinit(const hsc_sweep *sweep, hsc_sweep_results *results) {
  for (int64_t i = 0; results->rows && i < sweep->count; i++)
    json_decref(results->rows[i]);
  hsc_free(results->rows);
  json_decref(results->processes);
  *results = (hsc_sweep_results){0};
}
