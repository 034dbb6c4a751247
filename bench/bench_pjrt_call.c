// bench_pjrt_call.c - what one call costs: the phases of opening a plugin, and a run of a tiny program, in nanoseconds.
//
//   bench_pjrt_call [PLUGIN.so]      default: libhloscope_cpu_pjrt.so beside the build's root
// Prints one line a figure: name, median, 10th and 90th percentile over all samples, unit.
#include <stdlib.h>

#include "pjrt/client.h"

enum { BATCH = 200, BATCHES = 400 };

static const char add4[] = "HloModule add4\nENTRY main {\n  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  ROOT s = f32[4] add(x, y)\n}\n";

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_figure(const char *name, double *samples, int count, const char *unit) {
  qsort(samples, (size_t)count, sizeof *samples, by_value);
  printf("%-28s %10.1f  (%.1f .. %.1f) %s\n", name, samples[count / 2], samples[count / 10], samples[count * 9 / 10], unit);
}

static void print_phase(const char *name, int64_t start) {
  double us = (double)(hsc_now_ns() - start) * 1e-3;
  print_figure(name, &us, 1, "us");
}

static hsc_status *run_loop(hsc_execution *run, bool await_each, const char *name) {
  static double samples[BATCHES];
  for (int b = 0; b < BATCHES; b++) {
    int64_t start = hsc_now_ns();
    for (int i = 0; i < BATCH; i++) {
      HSC_TRY(hsc_execution_run(run));
      if (await_each) HSC_TRY(hsc_execution_await(run));
    }
    if (!await_each) HSC_TRY(hsc_execution_await(run));
    samples[b] = (double)(hsc_now_ns() - start) / BATCH;
  }
  print_figure(name, samples, BATCHES, "ns");
  return NULL;
}

static hsc_status *measure(const char *path) {
  hsc_status *status = NULL;
  hsc_plugin *plugin = NULL;
  hsc_client *client = NULL;
  hsc_executable *executable = NULL;
  hsc_buffer *x = NULL, *y = NULL;
  hsc_execution *run = NULL;
  hsc_bytes options = {0};
  static const int64_t dims[1] = {4};
  static const float data[4] = {1, 2, 3, 4};
  float result[4];
  const hsc_host_array array = {PJRT_Buffer_Type_F32, 1, dims, data};
  hsc_compile_options defaults = hsc_compile_options_default();
  HSC_GOTO(hsc_compile_options_write(&defaults, &options));
  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc_plugin_open(path, &plugin));
  print_phase("plugin_load", start);
  start = hsc_now_ns();
  HSC_GOTO(hsc_plugin_initialize(plugin));
  print_phase("plugin_initialize", start);
  start = hsc_now_ns();
  HSC_GOTO(hsc_client_create(plugin, NULL, 0, &client));
  print_phase("client_create", start);
  start = hsc_now_ns();
  HSC_GOTO(hsc_client_compile(client, hsc_view_of(add4), "hlo", hsc_bytes_view(&options), &executable));
  print_phase("compile", start);
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &x));
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &y));
  HSC_GOTO(hsc_execution_create(executable, 2, &run));
  hsc_execution_set_argument(run, 0, x);
  hsc_execution_set_argument(run, 1, y);
  start = hsc_now_ns();
  HSC_GOTO(hsc_execution_run(run));
  HSC_GOTO(hsc_execution_await(run));
  print_phase("first_run", start);
  HSC_GOTO(hsc_buffer_to_host(hsc_execution_output(run, 0), result, sizeof result));
  if (result[3] != 8.0f) HSC_GOTO(HSC_ERR(INTERNAL, "4 + 4 is %g", result[3]));
  HSC_GOTO(run_loop(run, true, "run and await"));
  hsc_execution_use_event(run, false);
  HSC_GOTO(run_loop(run, false, "run without event"));
done:
  hsc_execution_destroy(run);
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(y);
  hsc_executable_destroy(executable);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  hsc_bytes_deinit(&options);
  return status;
}

int main(int argc, char **argv) {
  char path[4200] = "";
  if (argc > 1) {
    snprintf(path, sizeof path, "%s", argv[1]);
  } else {
    char *dir = NULL;
    hsc_status_free(hsc_self_dir((void *)main, &dir));
    if (dir) snprintf(path, sizeof path, "%s/../libhloscope_cpu_pjrt.so", dir);
    hsc_free(dir);
  }
  hsc_status *status = measure(path);
  if (!status) return 0;
  fprintf(stderr, "bench_pjrt_call: %s\n%s\n", hsc_status_message(status), hsc_status_notes(status));
  hsc_status_free(status);
  return 1;
}
