// bench_workers.c - what workers cost: from nothing to the first compiled program, our share of a
// warm compile, and what a second worker brings.
//
//   bench_workers [--quick] HLOSCOPE PROGRAM DEVICE...      devices that are not here are named and
//   left out
//   --quick: fewer samples, and the scaling once (half a minute a device becomes a quarter).
// Prints a Markdown table: medians, with the 10th and 90th percentile in brackets.
#include <stdlib.h>

#include "base/core/clock.h"
#include "lab/devices/devices.h"
#include "worker/lab_compile.h"

enum { COLD = 9, WARM = 40, MANY = 100, ROUNDS = 3 };

static const char *hloscope;
static int cold_count = COLD;
static int warm_count = WARM;
static int round_count = ROUNDS;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_figure(double *samples, int count, const char *unit) {
  qsort(samples, (size_t)count, sizeof *samples, by_value);
  printf(" %.3g %s (%.3g .. %.3g) |", samples[count / 2], unit, samples[count / 10],
         samples[count * 9 / 10]);
}

static hsc_lab_worker_options options_of(const hsc_device_spec *spec) {
  return (hsc_lab_worker_options){.device = spec, .executable = hloscope, .no_disk_cache = true};
}

static hsc_status *compile_once(hsc_lab_worker *worker,
                                const char *program,
                                double *out_call,
                                double *out_compile) {
  hsc_compiled c;
  HSC_TRY(hsc_lab_compile(worker, &(hsc_compile_request){.program = program}, &c));
  hsc_status *status = c.status;
  c.status = NULL;
  *out_call = (double)c.call_ns * 1e-9;
  *out_compile = (double)c.compile_ns * 1e-9;
  hsc_compiled_deinit(&c);
  return status;
}

// A worker that does not run yet: start, load, compile.
static hsc_status *cold(const hsc_device_spec *spec, const char *program) {
  double total[COLD], compile[COLD];
  for (int i = 0; i < cold_count; i++) {
    hsc_lab_worker_options options = options_of(spec);
    hsc_lab_worker *worker = NULL;
    HSC_TRY(hsc_lab_worker_create(&options, &worker));
    hsc_status *status = compile_once(worker, program, &total[i], &compile[i]);
    hsc_lab_worker_destroy(worker);
    HSC_TRY(status);
  }
  print_figure(total, cold_count, "s");
  print_figure(compile, cold_count, "s");
  return NULL;
}

static hsc_status *warm(const hsc_device_spec *spec, const char *program) {
  double compile[WARM], ours[WARM], first, ignored;
  hsc_lab_worker_options options = options_of(spec);
  hsc_lab_worker *worker = NULL;
  HSC_TRY(hsc_lab_worker_create(&options, &worker));
  hsc_status *status = compile_once(worker, program, &first, &ignored);
  for (int i = 0; i < warm_count && !status; i++) {
    double call;
    status = compile_once(worker, program, &call, &compile[i]);
    ours[i] = (call - compile[i]) * 1e3;
    compile[i] *= 1e3;
  }
  hsc_lab_worker_destroy(worker);
  HSC_TRY(status);
  print_figure(compile, warm_count, "ms");
  print_figure(ours, warm_count, "ms");
  return NULL;
}

static hsc_status *nothing(void *user, size_t index, hsc_compiled *compiled) {
  hsc_status *status = compiled->status;
  compiled->status = NULL;
  return status;
}

// One worker and two, in turn; the start of the workers is in it.
static hsc_status *scaling(const hsc_device_spec *spec, const char *program) {
  static hsc_compile_request requests[MANY];
  double ratios[ROUNDS], one[ROUNDS];
  hsc_lab_worker_options options = options_of(spec);
  for (int i = 0; i < MANY; i++)
    requests[i] = (hsc_compile_request){.program = program};
  for (int i = 0; i < round_count; i++) {
    double seconds[2];
    for (int jobs = 1; jobs <= 2; jobs++) {
      int64_t start = hsc_now_ns();
      HSC_TRY(hsc_compile_many(&options, jobs, requests, MANY, NULL, nothing, NULL));
      seconds[jobs - 1] = (double)(hsc_now_ns() - start) * 1e-9;
    }
    one[i] = seconds[0];
    ratios[i] = seconds[0] / seconds[1];
  }
  print_figure(one, round_count, "s");
  print_figure(ratios, round_count, "x");
  return NULL;
}

static hsc_status *measure(hsc_arena *arena, const char *device, const char *program) {
  hsc_device_spec spec;
  HSC_TRY(hsc_device_spec_parse(device, arena, &spec));
  printf("| %s |", device);
  HSC_TRY(cold(&spec, program));
  HSC_TRY(warm(&spec, program));
  HSC_TRY(scaling(&spec, program));
  printf("\n");
  fflush(stdout);
  return NULL;
}

int main(int argc, char **argv) {
  hsc_arena *arena = NULL;
  if (argc > 1 && !strcmp(argv[1], "--quick")) {
    cold_count = 5;
    warm_count = 20;
    round_count = 1;
    argc--;
    argv++;
  }
  if (argc < 4 || hsc_arena_create(&arena)) {
    fprintf(stderr, "usage: bench_workers [--quick] HLOSCOPE PROGRAM DEVICE...\n");
    return 2;
  }
  hloscope = argv[1];
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf(
      "| device | start to first compiled program | of it the compile | warm compile | our share | "
      "100 compiles, one worker | two workers |\n"
      "|---|---|---|---|---|---|---|\n");
  for (int i = 3; i < argc; i++) {
    hsc_status *status = measure(arena, argv[i], argv[2]);
    if (status)
      fprintf(stderr, "%s: left out: %s\n", argv[i], hsc_status_message(status));
    hsc_status_free(status);
  }
  hsc_arena_destroy(arena);
  return 0;
}
