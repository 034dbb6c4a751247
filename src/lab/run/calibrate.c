// calibrate.c - peaks of this machine, by programs that the device runs as it runs any other.
#include "base/files/file_io.h"
#include "lab/run/calibrate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/run/json_tree.h"
#include "lab/devices/devices.h"
#include "worker/worker_client.h"

enum { RUNS = 12 };

// The shortest of several runs of a program, in seconds.
static hsc_status *shortest(hsc_lab_worker *worker,
                            const char *directory,
                            const char *name,
                            const char *text,
                            double *out_s) {
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/%s.hlo", directory, name);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_write_atomic(path.data, text, strlen(text));
  hsc_answer answer = {0};
  json_t *request = status ? NULL
                           : json_pack("{s:s, s:s, s:i, s:b, s:[s]}", "job", "run", "program",
                                       path.data, "series", RUNS, "fetch", 0, "cache", "memory");
  if (!status && !request)
    status = hsc_status_out_of_memory();
  if (!status)
    status = hsc_lab_worker_call(worker, request, 120 * HSC_SECOND_NS, &answer);
  if (!status && answer.outcome != HSC_OUTCOME_OK)
    status = hsc_answer_take_status(&answer);
  if (!status) {
    size_t n;
    double *ns = hsc_json_doubles(hsc_json_path(answer.body, "series", "run_ns", NULL), &n);
    *out_s = INFINITY;
    for (size_t i = 0; i < n; i++)
      *out_s = fmin(*out_s, ns[i] / 1e9);
    hsc_free(ns);
    if (!(*out_s > 0) || isinf(*out_s))
      status = HSC_ERR(INTERNAL, "calibration: %s gave no times", name);
  }
  hsc_answer_deinit(&answer);
  json_decref(request);
  if (path.data)
    unlink(path.data);
  hsc_bytes_deinit(&path);
  return status;
}

static hsc_status *measure(hsc_lab_worker *worker, const char *directory, hsc_peaks *peaks) {
  static const int sizes[] = {512, 1024, 1536};
  char text[1024];
  double seconds;
  for (size_t i = 0; i < HSC_COUNT_OF(sizes); i++) {
    int n = sizes[i];
    snprintf(
        text, sizeof text,
        "HloModule product\nENTRY main {\n  a = f32[%d,%d] parameter(0)\n  b = f32[%d,%d] "
        "parameter(1)\n"
        "  ROOT d = f32[%d,%d] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n",
        n, n, n, n, n, n);
    char name[32];
    snprintf(name, sizeof name, "product_%d", n);  // a worker reads a path once
    HSC_TRY(shortest(worker, directory, name, text, &seconds));
    peaks->flops = fmax(peaks->flops, 2.0 * n * n * n / seconds);
  }
  const int64_t elements = 24 << 20;  // 96 MiB each
  snprintf(text, sizeof text,
           "HloModule stream\nENTRY main {\n  a = f32[%lld] parameter(0)\n  b = f32[%lld] "
           "parameter(1)\n  ROOT s = f32[%lld] add(a, b)\n}\n",
           (long long)elements, (long long)elements, (long long)elements);
  HSC_TRY(shortest(worker, directory, "stream", text, &seconds));
  peaks->bytes = 3.0 * 4 * (double)elements / seconds;
  return NULL;
}

hsc_status *hsc_calibrate(const char *device, hsc_peaks *out_peaks) {
  hsc_arena *arena = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_device_spec spec;
  char *cache = NULL;
  char *text = NULL;
  hsc_bytes path = {0};
  json_t *document = NULL;
  hsc_status *status = NULL;
  *out_peaks = (hsc_peaks){0};
  snprintf(out_peaks->device, sizeof out_peaks->device, "%s", device ? device : "cpu");
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_device_spec_parse(out_peaks->device, arena, &spec));
  HSC_GOTO(hsc_cache_dir(&cache));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec, .no_disk_cache = true},
                                 &worker));
  HSC_GOTO(measure(worker, cache, out_peaks));
  document = json_pack("{s:s, s:f, s:f}", "device", out_peaks->device, "flops", out_peaks->flops,
                       "bytes", out_peaks->bytes);
  text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
  hsc_bytes_printf(&path, "%s/peaks.json", cache);
  HSC_GOTO(text ? hsc_bytes_status(&path) : hsc_status_out_of_memory());
  HSC_GOTO(hsc_file_write_atomic(path.data, text, strlen(text)));
done:
  free(text);
  json_decref(document);
  hsc_bytes_deinit(&path);
  hsc_free(cache);
  hsc_lab_worker_destroy(worker);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_peaks_load(hsc_peaks *out_peaks) {
  char *cache = NULL;
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  json_t *document = NULL;
  *out_peaks = (hsc_peaks){0};
  HSC_TRY(hsc_cache_dir(&cache));
  hsc_bytes_printf(&path, "%s/peaks.json", cache);
  document = path.data ? json_load_file(path.data, 0, NULL) : NULL;
  out_peaks->flops = hsc_json_number(json_object_get(document, "flops"));
  out_peaks->bytes = hsc_json_number(json_object_get(document, "bytes"));
  const char *device = json_string_value(json_object_get(document, "device"));
  snprintf(out_peaks->device, sizeof out_peaks->device, "%s", device ? device : "");
  if (!(out_peaks->flops > 0) || !(out_peaks->bytes > 0))
    status = hsc_status_hint(HSC_ERR(NOT_FOUND, "the peaks of this machine are not known"),
                             "hloscope devices --calibrate measures them");
  json_decref(document);
  hsc_bytes_deinit(&path);
  hsc_free(cache);
  return status;
}
