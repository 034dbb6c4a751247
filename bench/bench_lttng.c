// bench_lttng.c - one begin+end pair with two attributes as tracepoints of LTTng-UST, beside
// bench_trace.c's. Prints one line of the same form.
//
// Built where Debian's liblttng-ust-dev is installed; the session (bench/trace_costs.py makes it)
// has the provider's events on.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng_probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 20000, BATCHES = 60 };

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(void) {
  static double samples[BATCHES];
  usleep(200000);  // until the session has found us
  for (int b = -5; b < BATCHES; b++) {
    struct timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    for (int i = 0; i < BATCH; i++) {
      lttng_ust_tracepoint(hloscope_bench, span_begin, 7, i, 0.5);
      lttng_ust_tracepoint(hloscope_bench, span_end, 7);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    if (b >= 0)
      samples[b] =
          ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
          BATCH;
  }
  qsort(samples, BATCHES, sizeof *samples, by_value);
  printf("%-44s %8.2f  (%.2f .. %.2f) ns\n", "LTTng-UST: begin+end, two attributes",
         samples[BATCHES / 2], samples[BATCHES / 10], samples[BATCHES * 9 / 10]);
  return 0;
}
