// bench_convolution.c - the ways to do a 3x3 convolution, side by side: processor time, and how far
// from a sum in f64.
//
//   bench_convolution [--threads N] [--rounds N] [--all] [BATCH,SIZE,FEATURES,COLUMNS]...
//
// Without shapes: the four of ResNet-50 at batch 8, forward and both gradients. Candidates take
// turns, one run each a round; the least and the median of a candidate are printed. GFLOP/s count
// the direct sum's operations, whatever the candidate does. --all: every candidate, not only the
// rule's direct one and winograd.
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/random.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/core/cpu.h"
#include "formats/common/formats.h"

enum { MAX_ROUNDS = 1001 };
enum { FORWARD, GRADIENT, FILTER, FORMS };

typedef struct candidate {
  hsc_cpu_executable *executable;
  double wall[MAX_ROUNDS], processor[MAX_ROUNDS];
} candidate;

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
  return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}

static hsc_status *compile(hsc_cpu_device *device,
                           const char *type,
                           const long long d[4],
                           int form,
                           int algorithm,
                           hsc_cpu_executable **out) {
  char text[1024];
  if (form == FILTER)
    snprintf(
        text, sizeof text,
        "HloModule c\nENTRY main {\n  x = %s[%lld,%lld,%lld,%lld] parameter(0)\n  k = "
        "%s[%lld,%lld,%lld,%lld] parameter(1)\n  ROOT c = %s[3,3,%lld,%lld] convolution(x, k), "
        "window={size=%lldx%lld pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, "
        "backend_config={\"algorithm\":{\"algo_id\":\"%d\"}}\n}\n",
        type, d[0], d[1], d[1], d[2], type, d[0], d[1], d[1], d[3], type, d[2], d[3], d[1], d[1],
        algorithm);
  else
    snprintf(
        text, sizeof text,
        "HloModule c\nENTRY main {\n  x = %s[%lld,%lld,%lld,%lld] parameter(0)\n  k = "
        "%s[3,3,%lld,%lld] parameter(1)\n  ROOT c = %s[%lld,%lld,%lld,%lld] convolution(x, k), "
        "window={size=3x3 pad=1_1x1_1%s}, dim_labels=b01f_01%s->b01f, "
        "backend_config={\"algorithm\":{\"algo_id\":\"%d\"}}\n}\n",
        type, d[0], d[1], d[1], d[2], type, form ? d[3] : d[2], form ? d[2] : d[3], type, d[0],
        d[1], d[1], d[3], form ? " rhs_reversal=1x1" : "", form ? "oi" : "io", algorithm);
  hsc_module *module = NULL;
  HSC_TRY(hsc_hlo_text_parse(hsc_view_of(text), "convolution", &module));
  hsc_status *status = hsc_cpu_compile(device, module, NULL, out);
  hsc_module_destroy(module);
  return status;
}

static hsc_status *run_shape(
    hsc_cpu_device *device, const long long d[4], int form, int rounds, bool all) {
  static candidate made[HSC_CONV_COUNT];
  static const char *const texts[] = {"forward", "gradient", "gradient of the kernel"};
  int64_t in = d[0] * d[1] * d[1] * d[2];
  int64_t kernel = 9 * d[2] * d[3];
  int64_t out = d[0] * d[1] * d[1] * d[3];
  double flops = 2.0 * (double)out * 9 * (double)d[2];
  if (form == FILTER) {
    int64_t keep = kernel;
    kernel = out;
    out = keep;
  }
  float *x = aligned_alloc(64, (size_t)(in * 4 + 64) / 64 * 64);
  float *k = aligned_alloc(64, (size_t)(kernel * 4 + 64) / 64 * 64);
  float *y = aligned_alloc(64, (size_t)(out * 4 + 64) / 64 * 64);
  double *wide_x = aligned_alloc(64, (size_t)(in * 8 + 64) / 64 * 64);
  double *wide_k = aligned_alloc(64, (size_t)(kernel * 8 + 64) / 64 * 64);
  double *exact = aligned_alloc(64, (size_t)(out * 8 + 64) / 64 * 64);
  if (!x || !k || !y || !wide_x || !wide_k || !exact)
    return hsc_status_out_of_memory();
  hsc_random random;
  hsc_random_init(&random, 1);
  // Activations after a relu, kernels of the usual size for them.
  for (int64_t i = 0; i < in; i++) {
    double value = 0.3;
    for (int j = 0; j < 12; j++)
      value += (double)hsc_random_below(&random, 1 << 20) / (1 << 20) - 0.5;
    wide_x[i] = x[i] = value > 0 ? (float)value : 0;
  }
  for (int64_t i = 0; i < kernel; i++)
    wide_k[i] = k[i] = (float)(((double)hsc_random_below(&random, 1 << 20) / (1 << 19) - 1) *
                               sqrt(6.0 / (9.0 * (double)d[2])));
  hsc_cpu_executable *reference = NULL;
  HSC_TRY(compile(device, "f64", d, form, 0, &reference));
  HSC_TRY(hsc_cpu_execute(reference, (const void *[]){wide_x, wide_k}, (void *[]){exact}));
  hsc_cpu_executable_release(reference);
  double size = 0;
  for (int64_t i = 0; i < out; i++)
    size += exact[i] * exact[i];
  size = sqrt(size / (double)out);
  for (int a = 0; a < HSC_CONV_COUNT; a++) {
    bool wanted = a == (form == FILTER ? HSC_CONV_PACKED : HSC_CONV_ROWS) ||
                  a == HSC_CONV_WINOGRAD_2 || a == HSC_CONV_WINOGRAD_4 ||
                  (all && a != HSC_CONV_CHANNELS);
    made[a].executable = NULL;
    if (wanted)
      HSC_TRY(compile(device, "f32", d, form, a, &made[a].executable));
  }
  for (int round = -1; round < rounds; round++)
    for (int a = 0; a < HSC_CONV_COUNT; a++) {
      if (!made[a].executable)
        continue;
      double wall = now(CLOCK_MONOTONIC);
      double processor = now(CLOCK_PROCESS_CPUTIME_ID);
      HSC_TRY(hsc_cpu_execute(made[a].executable, (const void *[]){x, k}, (void *[]){y}));
      if (round < 0)
        continue;
      made[a].processor[round] = now(CLOCK_PROCESS_CPUTIME_ID) - processor;
      made[a].wall[round] = now(CLOCK_MONOTONIC) - wall;
    }
  for (int a = 0; a < HSC_CONV_COUNT; a++) {
    if (!made[a].executable)
      continue;
    HSC_TRY(hsc_cpu_execute(made[a].executable, (const void *[]){x, k}, (void *[]){y}));
    double worst = 0;
    double sum = 0;
    for (int64_t i = 0; i < out; i++) {
      double e = fabs(y[i] - exact[i]);
      worst = e > worst ? e : worst;
      sum += e * e;
    }
    qsort(made[a].processor, (size_t)rounds, sizeof(double), by_value);
    qsort(made[a].wall, (size_t)rounds, sizeof(double), by_value);
    char shape[64];
    snprintf(shape, sizeof shape, "%lldx%lldx%lldx%lld->%lld", d[0], d[1], d[1], d[2], d[3]);
    printf("| %s | %s | %s | %.2f ms | %.2f ms | %.2f ms | %.0f | %.1e | %.1e |\n", shape,
           texts[form], hsc_conv_candidate_text((hsc_conv_candidate)a),
           made[a].wall[rounds / 2] * 1e3, made[a].processor[rounds / 2] * 1e3,
           made[a].processor[0] * 1e3, flops / made[a].processor[0] * 1e-9, worst / size,
           sqrt(sum / (double)out) / size);
    hsc_cpu_executable_release(made[a].executable);
  }
  fflush(stdout);
  free(x);
  free(k);
  free(y);
  free(wide_x);
  free(wide_k);
  free(exact);
  return NULL;
}

int main(int argc, char **argv) {
  static const char *const shapes[] = {"8,56,64,64", "8,28,128,128", "8,14,256,256", "8,7,512,512"};
  int threads = 0;
  int rounds = 15;
  int given = 0;
  bool all = false;
  hsc_status *status = NULL;
  hsc_cpu_device *device = NULL;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
      rounds = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--all"))
      all = true;
    else
      given++;
  }
  if (rounds < 1 || rounds > MAX_ROUNDS)
    rounds = 15;
  status = hsc_cpu_device_create(&(hsc_cpu_device_options){.thread_count = threads}, &device);
  if (!status) {
    printf(
        "%s\n\n| shape | form | algorithm | wall, median | processor, median | least | GFLOP/s of "
        "it | max error | RMS error |\n",
        hsc_cpu_device_description(device));
    printf("|---|---|---|---|---|---|---|---|---|\n");
    for (int i = given ? 1 : 0; !status && i < (given ? argc : (int)HSC_COUNT_OF(shapes)); i++) {
      const char *text = given ? argv[i] : shapes[i];
      long long d[4];
      if (given && !strncmp(text, "--", 2)) {
        i += strcmp(text, "--all") != 0;
        continue;
      }
      if (sscanf(text, "%lld,%lld,%lld,%lld", &d[0], &d[1], &d[2], &d[3]) != 4) {
        status = HSC_ERR(INVALID_ARGUMENT, "%s: expected BATCH,SIZE,FEATURES,COLUMNS", text);
        break;
      }
      for (int form = 0; !status && form < FORMS; form++)
        status = run_shape(device, d, form, rounds, all);
    }
  }
  if (status)
    fprintf(stderr, "bench_convolution: %s\n", hsc_status_message(status));
  hsc_cpu_device_destroy(device);
  int code = status ? 1 : 0;
  hsc_status_free(status);
  return code;
}
