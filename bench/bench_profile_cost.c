// bench_profile_cost.c - what a profiler session of the built-in device costs a program:
// bench_profile_cost PLUGIN PROGRAM [ROUNDS [STEPS]]
//
// In one process and on one executable, rounds of STEPS steps take turns: without a session, with
// one, in an order that changes. Each round gives the ratio of its halves by the shortest step of
// each; what is printed is the median ratio, its spread, and the shortest steps of all. Starting
// and collecting a session are outside of the steps. The same for the processor time of the
// process, which a busy machine disturbs less.
#include <stdlib.h>
#include <time.h>

#include "base/core/clock.h"
#include "formats/common/formats.h"
#include "pjrt/client.h"

enum { ROUNDS_MAX = 1000, PARAMETERS_MAX = 1024 };

static int by_value(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static PJRT_Buffer_Type buffer_type(hsc_type type) {
  for (int p = PJRT_Buffer_Type_INVALID + 1; p < 64; p++)
    if (!strcmp(hsc_type_text(type), hsc_pjrt_type_text((PJRT_Buffer_Type)p)))
      return (PJRT_Buffer_Type)p;
  return PJRT_Buffer_Type_INVALID;
}

typedef struct cost {
  double wall, cpu;  // seconds, each the least of some steps
} cost;

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static hsc_status *steps(hsc_execution *execution, int count, cost *out_least) {
  *out_least = (cost){1e30, 1e30};
  for (int i = 0; i < count; i++) {
    int64_t start = hsc_now_ns();
    double cpu_start = cpu_seconds();
    HSC_TRY(hsc_execution_run(execution));
    HSC_TRY(hsc_execution_await(execution));
    double wall = (double)(hsc_now_ns() - start) * 1e-9;
    double cpu = cpu_seconds() - cpu_start;
    if (wall < out_least->wall)
      out_least->wall = wall;
    if (cpu < out_least->cpu)
      out_least->cpu = cpu;
  }
  return NULL;
}

// Sorts all three; the ratios are of the halves of a round.
static void say(const char *what, double *plain, double *with, double *ratio, size_t rounds) {
  for (size_t i = 0; i < rounds; i++)
    ratio[i] = with[i] / plain[i];
  qsort(ratio, rounds, sizeof *ratio, by_value);
  qsort(plain, rounds, sizeof *plain, by_value);
  qsort(with, rounds, sizeof *with, by_value);
  printf(
      "  %s: with a session %.4f of the time without (middle half of the rounds %.4f to %.4f); "
      "least %.3f ms without, %.3f ms with (%.4f)\n",
      what, ratio[rounds / 2], ratio[rounds / 4], ratio[3 * rounds / 4], plain[0] * 1e3,
      with[0] * 1e3, with[0] / plain[0]);
}

static hsc_status *recorded_steps(
    hsc_plugin *plugin, hsc_execution *execution, int count, cost *out_least, size_t *out_bytes) {
  hsc_profiler *profiler = NULL;
  hsc_bytes space = {0};
  HSC_TRY(hsc_profiler_create(plugin, (hsc_view){0}, &profiler));
  hsc_status *status = hsc_profiler_start(profiler);
  if (!status)
    status = steps(execution, count, out_least);
  if (!status)
    status = hsc_profiler_stop(profiler);
  if (!status)
    status = hsc_profiler_collect(profiler, &space);
  *out_bytes = space.size;
  hsc_bytes_deinit(&space);
  hsc_profiler_destroy(profiler);
  return status;
}

static hsc_status *measure(const char *library, const char *path, int rounds, int count) {
  static double plain[2][ROUNDS_MAX], with[2][ROUNDS_MAX], ratio[ROUNDS_MAX];
  hsc_plugin *plugin = NULL;
  hsc_client *client = NULL;
  hsc_module *module = NULL;
  hsc_executable *executable = NULL;
  hsc_execution *execution = NULL;
  hsc_buffer *inputs[PARAMETERS_MAX] = {0};
  hsc_bytes code = {0};
  size_t space_bytes = 0;
  int parameter_count = 0;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_plugin_open(library, &plugin));
  HSC_GOTO(hsc_plugin_initialize(plugin));
  HSC_GOTO(hsc_client_create(plugin, NULL, 0, &client));
  HSC_GOTO(hsc_program_read_file(path, &module));
  HSC_GOTO(hsc_hlo_proto_write(module, &code));
  HSC_GOTO(hsc_client_compile(client, hsc_bytes_view(&code), "hlo", (hsc_view){0}, &executable));
  parameter_count = module->entry->parameter_count;
  if (parameter_count > PARAMETERS_MAX)
    HSC_GOTO(HSC_ERR(UNIMPLEMENTED, "%s has %d parameters", path, parameter_count));
  HSC_GOTO(hsc_execution_create(executable, (size_t)parameter_count, &execution));
  for (int p = 0; p < parameter_count; p++) {
    const hsc_shape *shape = &module->entry->parameters[p]->shape;
    hsc_literal *literal = NULL;
    HSC_GOTO(hsc_literal_create(module->arena, shape, &literal));
    hsc_literal_fill(literal, 1, (uint32_t)p);
    hsc_host_array array = {buffer_type(shape->type), (size_t)shape->rank, shape->dims,
                            literal->data};
    status = hsc_buffer_from_host(client, 0, &array, HSC_HOST_COPY, NULL, &inputs[p]);
    if (status)
      goto done;
    hsc_execution_set_argument(execution, (size_t)p, inputs[p]);
  }
  cost least;
  HSC_GOTO(steps(execution, 2, &least));
  for (int round = 0; round < rounds; round++)
    for (int half = 0; half < 2; half++) {
      bool recorded = (round & 1) != half;
      HSC_GOTO(recorded ? recorded_steps(plugin, execution, count, &least, &space_bytes)
                        : steps(execution, count, &least));
      (recorded ? with : plain)[0][round] = least.wall;
      (recorded ? with : plain)[1][round] = least.cpu;
    }
  printf("%s: %d rounds of %d steps, %zu bytes a session\n", path, rounds, count, space_bytes);
  say("wall", plain[0], with[0], ratio, (size_t)rounds);
  say("cpu", plain[1], with[1], ratio, (size_t)rounds);
done:
  hsc_execution_destroy(execution);
  for (int p = 0; p < parameter_count && p < PARAMETERS_MAX; p++)
    hsc_buffer_destroy(inputs[p]);
  hsc_executable_destroy(executable);
  hsc_module_destroy(module);
  hsc_client_destroy(client);
  hsc_plugin_close(plugin);
  hsc_bytes_deinit(&code);
  return status;
}

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "bench_profile_cost PLUGIN PROGRAM [ROUNDS [STEPS]]\n");
    return 2;
  }
  int rounds = count > 3 ? atoi(arguments[3]) : 30;
  int each = count > 4 ? atoi(arguments[4]) : 3;
  hsc_status *status = measure(arguments[1], arguments[2],
                               rounds < 1            ? 1
                               : rounds > ROUNDS_MAX ? ROUNDS_MAX
                                                     : rounds,
                               each < 1 ? 1 : each);
  if (status)
    fprintf(stderr, "%s: %s\n", arguments[2], hsc_status_message(status));
  int failed = status != NULL;
  hsc_status_free(status);
  return failed;
}
