// bench_store.c - results of a large sweep: how fast a store takes them, how large it gets; and the
// same rows as a Parquet part. bench/sweep/store_queries.py asks both.
//
//   bench_store FOLDER ROWS     writes FOLDER/store.sqlite and FOLDER/part.parquet
//
// Rows are as `sweep run` keeps them: a task of a compile with its facts. One transaction a row, as
// a result must be safe before the next task begins.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/parquet/parquet.h"
#include "lab/store/store.h"

static double seconds_since(int64_t start_ns) {
  return (double)(hsc_now_ns() - start_ns) * 1e-9;
}

static double megabytes(const char *path) {
  struct stat info;
  return stat(path, &info) ? 0 : (double)info.st_size / 1e6;
}

static json_t *answer_of(int64_t i) {
  char hash[33];
  snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)(i * 0x9e3779b97f4a7c15ull),
           (unsigned long long)((i / 7) * 0xc2b2ae3d27d4eb4full));
  return json_pack("{s:s, s:s, s:f, s:f, s:{s:s, s:I, s:I, s:I}, s:I}", "outcome",
                   i % 97 ? "ok" : "abort", "host", i % 2 ? "node-1" : "node-2", "took_s",
                   0.001 * (double)(i % 1000), "compile_s", 0.0009 * (double)(i % 1000),
                   "optimized", "fingerprint", hash, "instructions", (json_int_t)(i % 5000),
                   "fusions", (json_int_t)(i % 300), "kernels", (json_int_t)(i % 400), "temp_bytes",
                   (json_int_t)(i % 100000));
}

static hsc_status *fill_store(const char *path, int64_t rows) {
  hsc_store *store = NULL;
  int64_t id = 0;
  json_t *empty = json_object();
  hsc_status *status = NULL;
  int64_t start_ns = hsc_now_ns();
  HSC_GOTO(hsc_store_open(path, &store));
  HSC_GOTO(hsc_store_begin(store,
                           &(hsc_experiment){.kind = "sweep",
                                             .command = "",
                                             .device = "cpu",
                                             .subject = "plan",
                                             .plan = "bench",
                                             .configuration = empty,
                                             .environment = empty},
                           &id));
  for (int64_t i = 0; i < rows && !status; i++) {
    char key[33];
    snprintf(key, sizeof key, "%032llx", (unsigned long long)(i * 0x9e3779b97f4a7c15ull));
    json_t *answer = answer_of(i);
    status = hsc_store_put_task(
        store, id, &(hsc_task){.key = key, .status = i % 97 ? "ok" : "abort", .answer = answer});
    json_decref(answer);
    if ((i + 1) % (rows / 10 ? rows / 10 : 1) == 0)
      printf("store    %10lld rows  %8.1f s  %8.0f rows/s  %8.1f MB\n", (long long)i + 1,
             seconds_since(start_ns), (double)(i + 1) / seconds_since(start_ns), megabytes(path));
    fflush(stdout);
  }
done:
  hsc_store_close(store);
  json_decref(empty);
  return status;
}

static hsc_status *write_bytes(void *user, hsc_view bytes) {
  return hsc_fd_write(*(int *)user, "part.parquet", bytes.data, bytes.size);
}

static hsc_status *fill_part(const char *path, int64_t rows) {
  static const hsc_parquet_column columns[] = {
      {"task", HSC_PARQUET_TEXT},         {"outcome", HSC_PARQUET_TEXT},
      {"host", HSC_PARQUET_TEXT},         {"took_s", HSC_PARQUET_DOUBLE},
      {"compile_s", HSC_PARQUET_DOUBLE},  {"fingerprint", HSC_PARQUET_TEXT},
      {"instructions", HSC_PARQUET_INT64}};
  hsc_parquet *file = NULL;
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  int64_t start_ns = hsc_now_ns();
  if (fd < 0)
    return HSC_ERR(NOT_FOUND, "cannot write %s", path);
  HSC_TRY(hsc_parquet_create(columns, HSC_COUNT_OF(columns), write_bytes, &fd, &file));
  for (int64_t i = 0; i < rows; i++) {
    char text[40];
    snprintf(text, sizeof text, "%032llx", (unsigned long long)(i * 0x9e3779b97f4a7c15ull));
    hsc_parquet_text(file, hsc_view_of(text));
    hsc_parquet_text(file, hsc_view_of(i % 97 ? "ok" : "abort"));
    hsc_parquet_text(file, hsc_view_of(i % 2 ? "node-1" : "node-2"));
    hsc_parquet_double(file, 0.001 * (double)(i % 1000));
    hsc_parquet_double(file, 0.0009 * (double)(i % 1000));
    snprintf(text, sizeof text, "%032llx", (unsigned long long)(i / 7 * 0xc2b2ae3d27d4eb4full));
    hsc_parquet_text(file, hsc_view_of(text));
    hsc_parquet_int(file, i % 5000);
  }
  hsc_status *status = hsc_parquet_finish(file);
  close(fd);
  printf("parquet  %10lld rows  %8.1f s  %8.0f rows/s  %8.1f MB\n", (long long)rows,
         seconds_since(start_ns), (double)rows / seconds_since(start_ns), megabytes(path));
  return status;
}

int main(int argc, char **argv) {
  char path[4200];
  int64_t rows = argc > 2 ? (int64_t)strtod(argv[2], NULL) : 0;
  if (argc < 3 || rows < 1) {
    fprintf(stderr, "bench_store FOLDER ROWS\n");
    return 2;
  }
  snprintf(path, sizeof path, "%s/part.parquet", argv[1]);
  hsc_status *status = fill_part(path, rows);
  snprintf(path, sizeof path, "%s/store.sqlite", argv[1]);
  if (!status)
    status = fill_store(path, rows);
  if (status)
    fprintf(stderr, "%s\n", hsc_status_message(status));
  hsc_status_free(status);
  return status != NULL;
}
