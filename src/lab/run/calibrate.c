// calibrate.c - peaks of this machine, by programs that the device runs as it runs any other.
#include "base/files/file_io.h"
#include "lab/run/calibrate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "lab/run/json_tree.h"
#include "lab/devices/devices.h"
#include "lab/store/environment.h"
#include "worker/worker_client.h"

enum { RUNS = 12, CACHES = 4 };
static const int64_t MOST_NS = 10 * HSC_SECOND_NS;
static const double GROWS = 1.02;  // a round that finds less than this more was the last
static const int64_t LEAST_STREAM = 48 << 20;
static const int64_t MOST_STREAM = 288 << 20;

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

// Of the three arrays of the stream together: as little as surely does not fit into the caches. A
// short run has a better chance of not being interrupted.
static int64_t stream_bytes(void) {
  int64_t last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  int64_t bytes = last_cache > 0 ? CACHES * last_cache : MOST_STREAM;
  if (bytes < LEAST_STREAM)
    return LEAST_STREAM;
  return bytes > MOST_STREAM ? MOST_STREAM : bytes;
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
  const int64_t elements = stream_bytes() / 3 / (int64_t)sizeof(float);
  snprintf(text, sizeof text,
           "HloModule stream\nENTRY main {\n  a = f32[%lld] parameter(0)\n  b = f32[%lld] "
           "parameter(1)\n  ROOT s = f32[%lld] add(a, b)\n}\n",
           (long long)elements, (long long)elements, (long long)elements);
  HSC_TRY(shortest(worker, directory, "stream", text, &seconds));
  peaks->bytes = fmax(peaks->bytes, 3.0 * sizeof(float) * (double)elements / seconds);
  return NULL;
}

// Until they no longer grow: what interrupts a run on a busy machine does not interrupt each.
static hsc_status *measure_rounds(hsc_lab_worker *worker,
                                  const char *directory,
                                  hsc_calibration how_long,
                                  hsc_peaks *peaks) {
  int64_t start_ns = hsc_now_ns();
  bool grows = true;  // the first round does, from nothing
  while (grows) {
    hsc_peaks before = *peaks;
    HSC_TRY(measure(worker, directory, peaks));
    grows = how_long == HSC_CALIBRATE_STEADY && hsc_now_ns() - start_ns < MOST_NS &&
            (peaks->flops > before.flops * GROWS || peaks->bytes > before.bytes * GROWS);
  }
  return NULL;
}

// What the machine's other work takes now, and the processor's name.
static hsc_status *look_at_machine(double *out_lost, char *out_cpu, size_t size) {
  json_t *environment = NULL;
  HSC_TRY(hsc_environment_capture(true, &environment));
  *out_lost = hsc_json_number(hsc_json_path(environment, "noise", "lost_fraction", NULL));
  const char *cpu = json_string_value(json_object_get(environment, "cpu"));
  snprintf(out_cpu, size, "%s", cpu ? cpu : "");
  json_decref(environment);
  return NULL;
}

// Takes over what is higher in an earlier calibration of the same device and processor.
static void take_higher(json_t *kept, const char *cpu, hsc_peaks *peaks) {
  const char *kept_cpu = json_string_value(json_object_get(kept, "cpu"));
  const char *kept_device = json_string_value(json_object_get(kept, "device"));
  double lost = hsc_json_number(json_object_get(kept, "lost"));
  if (!kept_cpu || strcmp(kept_cpu, cpu) != 0 || !kept_device ||
      strcmp(kept_device, peaks->device) != 0)
    return;
  peaks->flops = fmax(peaks->flops, hsc_json_number(json_object_get(kept, "flops")));
  peaks->bytes = fmax(peaks->bytes, hsc_json_number(json_object_get(kept, "bytes")));
  peaks->lost = fmin(peaks->lost, lost);
}

// *out_kept NULL = none, or none that can be read.
static hsc_status *read_kept(hsc_bytes *out_path, json_t **out_kept) {
  char *cache = NULL;
  HSC_TRY(hsc_cache_dir(&cache));
  hsc_bytes_printf(out_path, "%s/peaks.json", cache);
  hsc_free(cache);
  HSC_TRY(hsc_bytes_status(out_path));
  *out_kept = json_load_file(out_path->data, 0, NULL);
  return NULL;
}

// Into the file, with what an earlier calibration found higher.
static hsc_status *keep(const char *cpu, hsc_peaks *peaks) {
  hsc_bytes path = {0};
  json_t *kept = NULL;
  json_t *document = NULL;
  char *text = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(read_kept(&path, &kept));
  take_higher(kept, cpu, peaks);
  document = json_pack("{s:s, s:s, s:f, s:f, s:f}", "device", peaks->device, "cpu", cpu, "flops",
                       peaks->flops, "bytes", peaks->bytes, "lost", peaks->lost);
  text = document ? json_dumps(document, JSON_INDENT(2)) : NULL;
  HSC_GOTO(text ? NULL : hsc_status_out_of_memory());
  HSC_GOTO(hsc_file_write_atomic(path.data, text, strlen(text)));
done:
  free(text);
  json_decref(document);
  json_decref(kept);
  hsc_bytes_deinit(&path);
  return status;
}

hsc_status *hsc_calibrate(const char *device, hsc_calibration how_long, hsc_peaks *out_peaks) {
  hsc_arena *arena = NULL;
  hsc_lab_worker *worker = NULL;
  hsc_device_spec spec;
  char *cache = NULL;
  char cpu[160];
  double lost_after = 0;
  hsc_status *status = NULL;
  *out_peaks = (hsc_peaks){0};
  snprintf(out_peaks->device, sizeof out_peaks->device, "%s", device ? device : "cpu");
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc_device_spec_parse(out_peaks->device, arena, &spec));
  HSC_GOTO(hsc_cache_dir(&cache));
  HSC_GOTO(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec, .no_disk_cache = true},
                                 &worker));
  HSC_GOTO(look_at_machine(&out_peaks->lost, cpu, sizeof cpu));
  HSC_GOTO(measure_rounds(worker, cache, how_long, out_peaks));
  HSC_GOTO(look_at_machine(&lost_after, cpu, sizeof cpu));
  out_peaks->lost = (out_peaks->lost + lost_after) / 2;
  HSC_GOTO(keep(cpu, out_peaks));
done:
  hsc_free(cache);
  hsc_lab_worker_destroy(worker);
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_peaks_load(hsc_peaks *out_peaks) {
  hsc_bytes path = {0};
  json_t *document = NULL;
  *out_peaks = (hsc_peaks){0};
  hsc_status *status = read_kept(&path, &document);
  hsc_bytes_deinit(&path);
  HSC_TRY(status);
  out_peaks->flops = hsc_json_number(json_object_get(document, "flops"));
  out_peaks->bytes = hsc_json_number(json_object_get(document, "bytes"));
  out_peaks->lost = hsc_json_number(json_object_get(document, "lost"));
  const char *device = json_string_value(json_object_get(document, "device"));
  snprintf(out_peaks->device, sizeof out_peaks->device, "%s", device ? device : "");
  json_decref(document);
  if (!(out_peaks->flops > 0) || !(out_peaks->bytes > 0))
    return hsc_status_hint(HSC_ERR(NOT_FOUND, "the peaks of this machine are not known"),
                           "hloscope devices --calibrate measures them");
  return NULL;
}
