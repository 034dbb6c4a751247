// bench_trace.c - what recording costs, and what reading and exporting a capture of a million spans
// costs.
//
//   bench_trace record [THREADS]          nanoseconds of one begin+end pair with two attributes,
//   beside a clock read twice; switched off; on many threads
//   bench_trace make DIR [SPANS]          a capture of so many spans (1,000,000) with attributes,
//   for bench/trace_exports.py
// Prints one line a figure: name, median, 10th and 90th percentile over batches that take turns,
// unit. LTTng-UST's pair is in bench_lttng.c.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/status.h"
#include "hloscope/trace.h"

enum { BATCH = 20000, BATCHES = 60, MOST_THREADS = 64 };

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_figure(const char *name, double *samples, int count, const char *unit) {
  qsort(samples, (size_t)count, sizeof *samples, by_value);
  printf("%-44s %8.2f  (%.2f .. %.2f) %s\n", name, samples[count / 2], samples[count / 10],
         samples[count * 9 / 10], unit);
}

static hsc_recorder *recorder, *off;
static uint32_t name_number, key_a, key_b;

// Processor time of the thread, so that other programs on the machine do not count.
static int64_t thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pairs(hsc_recorder *r, int count) {
  for (int i = 0; i < count; i++) {
    hsc_trace_attr attrs[2] = {{.key = key_a, .type = HSC_ATTR_INT, .value.i = i},
                               {.key = key_b, .type = HSC_ATTR_DOUBLE, .value.d = 0.5}};
    uint64_t span = hsc_span_begin(r, HSC_CATEGORY_USER, name_number, attrs, 2);
    hsc_span_end(r, span, NULL, 0);
  }
}

static void clocks(int count, clockid_t clock) {
  volatile int64_t sum = 0;
  for (int i = 0; i < 2 * count; i++) {
    struct timespec t;
    clock_gettime(clock, &t);
    sum = t.tv_nsec;
  }
  (void)sum;
}

static double timed(void (*work)(void *), void *user) {
  int64_t start = thread_ns();
  work(user);
  return (double)(thread_ns() - start) / BATCH;
}
static void work_pairs(void *r) {
  pairs(r, BATCH);
}
static void work_clock(void *unused) {
  clocks(BATCH, CLOCK_MONOTONIC);
}

static void *thread_pairs(void *out) {
  pairs(recorder, BATCH);  // its first chunk
  int64_t start = thread_ns();
  for (int i = 0; i < 10; i++)
    pairs(recorder, BATCH);
  *(double *)out = (double)(thread_ns() - start) / (10.0 * BATCH);
  return NULL;
}

static hsc_status *record(const char *directory, int threads) {
  HSC_TRY(hsc_recorder_open(&(hsc_recorder_options){.path = directory, .max_bytes = 32 << 20},
                            &recorder));
  HSC_TRY(hsc_recorder_open(
      &(hsc_recorder_options){
          .path = directory, .max_bytes = 1 << 20, .categories = HSC_CATEGORY_COMPILE},
      &off));
  name_number = hsc_recorder_intern(recorder, "span");
  key_a = hsc_recorder_intern(recorder, "i");
  key_b = hsc_recorder_intern(recorder, "x");
  static double on_ns[BATCHES], off_ns[BATCHES], none_ns[BATCHES], clock_ns[BATCHES];
  // the ring is full and goes round: no page is touched for the first time
  pairs(recorder, 20 * BATCH);
  for (int b = 0; b < BATCHES; b++) {
    on_ns[b] = timed(work_pairs, recorder);
    off_ns[b] = timed(work_pairs, off);
    none_ns[b] = timed(work_pairs, NULL);
    clock_ns[b] = timed(work_clock, NULL);
  }
  print_figure("begin+end, two attributes", on_ns, BATCHES, "ns");
  print_figure("  the category switched off", off_ns, BATCHES, "ns");
  print_figure("  no recorder", none_ns, BATCHES, "ns");
  print_figure("clock_gettime twice", clock_ns, BATCHES, "ns");
  pthread_t handles[MOST_THREADS];
  static double each[MOST_THREADS];
  for (int t = 0; t < threads; t++)
    pthread_create(&handles[t], NULL, thread_pairs, &each[t]);
  for (int t = 0; t < threads; t++)
    pthread_join(handles[t], NULL);
  char text[64];
  snprintf(text, sizeof text, "begin+end on each of %d threads at once", threads);
  print_figure(text, each, threads, "ns");
  hsc_recorder_close(recorder);
  hsc_recorder_close(off);
  return NULL;
}

// Steps with operators in them, transfers with bytes, a counter now and then: what a traced
// training looks like.
static hsc_status *make(const char *directory, int64_t spans) {
  HSC_TRY(hsc_recorder_open(&(hsc_recorder_options){.path = directory, .max_bytes = 1ull << 32},
                            &recorder));
  uint32_t execute = hsc_recorder_intern(recorder, "execute");
  uint32_t transfer = hsc_recorder_intern(recorder, "host to device");
  uint32_t bytes = hsc_recorder_intern(recorder, "bytes");
  uint32_t executable = hsc_recorder_intern(recorder, "executable");
  uint32_t run = hsc_recorder_intern(recorder, "run_id");
  uint32_t memory = hsc_recorder_intern(recorder, "device bytes");
  uint32_t programs[50];
  for (int i = 0; i < 50; i++) {
    char text[32];
    snprintf(text, sizeof text, "jit_step_%d", i);
    programs[i] = hsc_recorder_intern(recorder, text);
  }
  for (int64_t i = 0; i < spans; i += 2) {
    hsc_trace_attr of_run[2] = {
        {.key = executable, .type = HSC_ATTR_STRING, .value.string = programs[i % 50]},
        {.key = run, .type = HSC_ATTR_INT, .value.i = i / 2 + 1}};
    uint64_t outer = hsc_span_begin(recorder, HSC_CATEGORY_EXECUTE, execute, of_run, 2);
    hsc_trace_attr size = {.key = bytes, .type = HSC_ATTR_INT, .value.i = i % 4096};
    hsc_span_end(recorder, hsc_span_begin(recorder, HSC_CATEGORY_TRANSFER, transfer, NULL, 0),
                 &size, 1);
    hsc_span_end(recorder, outer, NULL, 0);
    if (i % 100 == 0)
      hsc_trace_counter(recorder, HSC_CATEGORY_MEMORY, memory, (double)(i % 100000));
  }
  hsc_recorder_close(recorder);
  return NULL;
}

int main(int argc, char **argv) {
  hsc_status *status = NULL;
  if (argc > 2 && !strcmp(argv[1], "make")) {
    status = make(argv[2], argc > 3 ? strtoll(argv[3], NULL, 10) : 1000000);
  } else if (argc > 1 && !strcmp(argv[1], "record")) {
    int threads = argc > 2 ? atoi(argv[2]) : 16;
    char directory[] = "/tmp/hloscope-bench-XXXXXX";
    char command[64];
    if (!mkdtemp(directory))
      return 1;
    status = record(directory, threads > 0 && threads <= MOST_THREADS ? threads : 16);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    if (system(command))
      return 1;
  } else {
    fputs("usage: bench_trace record [THREADS] | bench_trace make DIR [SPANS]\n", stderr);
    return 2;
  }
  if (status)
    fprintf(stderr, "%s\n", hsc_status_message(status));
  int code = status != NULL;
  hsc_status_free(status);
  return code;
}
