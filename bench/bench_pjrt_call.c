// bench_pjrt_call.c - what one call costs: the phases of opening a plugin, and a run of a tiny
// program, in nanoseconds.
//
//   bench_pjrt_call [PLUGIN.so]      default: libhloscope_cpu_pjrt.so beside the build's root
// Prints one line a figure: name, median, 10th and 90th percentile over all samples, unit.
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "pjrt/client.h"

enum { BATCH = 200, BATCHES = 400 };

// Programs of two arguments f32[2,2]: nothing but a copy (what a call costs by itself), one
// operation, and eight results.
static const struct {
  const char *name, *text;
} programs[] = {
    {"copy",
     "HloModule copy\nENTRY main {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n  "
     "ROOT c = f32[2,2] copy(x)\n}\n"},
    {"add",
     "HloModule add\nENTRY main {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n  "
     "ROOT s = f32[2,2] add(x, y)\n}\n"},
    {"dot",
     "HloModule dot\nENTRY main {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n"
     "  ROOT d = f32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"},
    {"eight results",
     "HloModule eight\nENTRY main {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] parameter(1)\n  "
     "ROOT t = (f32[2,2], f32[2,2], f32[2,2], "
     "f32[2,2], f32[2,2], f32[2,2], f32[2,2], f32[2,2]) tuple(x, y, x, y, x, y, x, y)\n}\n"},
};

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_figure(const char *name, double *samples, int count, const char *unit) {
  qsort(samples, (size_t)count, sizeof *samples, by_value);
  printf("%-24s %10.1f  (%.1f .. %.1f) %s\n", name, samples[count / 2], samples[count / 10],
         samples[count * 9 / 10], unit);
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
      if (await_each)
        HSC_TRY(hsc_execution_await(run));
    }
    if (!await_each)
      HSC_TRY(hsc_execution_await(run));
    samples[b] = (double)(hsc_now_ns() - start) / BATCH;
  }
  print_figure(name, samples, BATCHES, "ns");
  return NULL;
}

static hsc_status *measure_program(hsc_client *client, int program, hsc_buffer *x, hsc_buffer *y) {
  hsc_status *status = NULL;
  hsc_executable *executable = NULL;
  hsc_execution *run = NULL;
  hsc_bytes options = {0};
  float result[4];
  hsc_compile_options defaults = hsc_compile_options_default();
  HSC_GOTO(hsc_compile_options_write(&defaults, &options));
  printf("%s\n", programs[program].name);
  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc_client_compile(client, hsc_view_of(programs[program].text), "hlo",
                              hsc_bytes_view(&options), &executable));
  print_phase("  compile", start);
  HSC_GOTO(hsc_execution_create(executable, 2, &run));
  hsc_execution_set_argument(run, 0, x);
  hsc_execution_set_argument(run, 1, y);
  start = hsc_now_ns();
  HSC_GOTO(hsc_execution_run(run));
  HSC_GOTO(hsc_execution_await(run));
  print_phase("  first run", start);
  HSC_GOTO(hsc_buffer_to_host(hsc_execution_output(run, 0), result, sizeof result));
  HSC_GOTO(run_loop(run, true, "  run and await"));
  hsc_execution_use_event(run, false);
  HSC_GOTO(run_loop(run, false, "  run without event"));
done:
  hsc_execution_destroy(run);
  hsc_executable_destroy(executable);
  hsc_bytes_deinit(&options);
  return status;
}

static hsc_status *measure(const char *path) {
  hsc_status *status = NULL;
  hsc_plugin *plugin = NULL;
  hsc_client *client = NULL;
  hsc_buffer *x = NULL;
  hsc_buffer *y = NULL;
  static const int64_t dims[2] = {2, 2};
  static const float data[4] = {1, 2, 3, 4};
  const hsc_host_array array = {PJRT_Buffer_Type_F32, 2, dims, data};
  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc_plugin_open(path, &plugin));
  print_phase("plugin load", start);
  start = hsc_now_ns();
  HSC_GOTO(hsc_plugin_initialize(plugin));
  print_phase("plugin initialize", start);
  start = hsc_now_ns();
  HSC_GOTO(hsc_client_create(plugin, NULL, 0, &client));
  print_phase("client create", start);
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &x));
  HSC_GOTO(hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &y));
  for (size_t i = 0; i < HSC_COUNT_OF(programs); i++)
    HSC_GOTO(measure_program(client, (int)i, x, y));
done:
  hsc_buffer_destroy(x);
  hsc_buffer_destroy(y);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  return status;
}

int main(int argc, char **argv) {
  char path[4200] = "";
  if (argc > 1) {
    snprintf(path, sizeof path, "%s", argv[1]);
  } else {
    char *dir = NULL;
    hsc_status_free(hsc_self_dir((void *)main, &dir));
    if (dir)
      snprintf(path, sizeof path, "%s/../libhloscope_cpu_pjrt.so", dir);
    hsc_free(dir);
  }
  hsc_status *status = measure(path);
  if (!status)
    return 0;
  fprintf(stderr, "bench_pjrt_call: %s\n%s\n", hsc_status_message(status),
          hsc_status_notes(status));
  hsc_status_free(status);
  return 1;
}
