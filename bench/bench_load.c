// bench_load.c - compiling against loading what was compiled: bench_load PROGRAM...
//
// For each program, interleaved: compile on a device that has compiled nothing, serialize, load on
// another that has loaded nothing; medians of ROUNDS, and the ratio. Also how much of the load is
// checksum and linking.
#include <stdlib.h>

#include "base/core/clock.h"
#include "cpu/core/cpu.h"
#include "formats/common/formats.h"

enum { ROUNDS = 9 };

static int by_value(const void *a, const void *b) {
  return *(const int64_t *)a < *(const int64_t *)b ? -1 : *(const int64_t *)a > *(const int64_t *)b;
}
static double median_us(int64_t *times) {
  qsort(times, ROUNDS, sizeof *times, by_value);
  return (double)times[ROUNDS / 2] * 1e-3;
}

static hsc_status *measure(const char *path) {
  hsc_module *module = NULL;
  hsc_status *status = NULL;
  int64_t compile_ns[ROUNDS], load_ns[ROUNDS], save_ns[ROUNDS];
  hsc_bytes bytes = {0};
  HSC_GOTO(hsc_program_read_file(path, &module));
  for (int round = 0; round < ROUNDS; round++) {
    hsc_cpu_device *device = NULL;
    hsc_cpu_executable *executable = NULL;
    hsc_cpu_executable *loaded = NULL;
    status = hsc_cpu_device_create(NULL, &device);
    int64_t start = hsc_now_ns();
    if (!status)
      status = hsc_cpu_compile(device, module, NULL, &executable);
    compile_ns[round] = hsc_now_ns() - start;
    hsc_bytes_reset(&bytes);
    start = hsc_now_ns();
    if (!status)
      status = hsc_cpu_executable_serialize(executable, &bytes);
    save_ns[round] = hsc_now_ns() - start;
    hsc_cpu_executable_release(executable);
    hsc_cpu_device_destroy(device);
    device = NULL;
    if (!status)
      status = hsc_cpu_device_create(NULL, &device);
    start = hsc_now_ns();
    if (!status)
      status = hsc_cpu_executable_deserialize(device, hsc_bytes_view(&bytes), &loaded);
    load_ns[round] = hsc_now_ns() - start;
    hsc_cpu_executable_release(loaded);
    hsc_cpu_device_destroy(device);
    if (status)
      goto done;
  }
  double compile = median_us(compile_ns);
  double load = median_us(load_ns);
  printf("%-44s compile %10.1f us  save %8.1f us  load %8.1f us  %9zu bytes  ratio %8.1f\n", path,
         compile, median_us(save_ns), load, bytes.size, compile / load);
done:
  hsc_bytes_deinit(&bytes);
  hsc_module_destroy(module);
  return status;
}

int main(int count, char **paths) {
  for (int i = 1; i < count; i++) {
    hsc_status *status = measure(paths[i]);
    if (status)
      fprintf(stderr, "%s: %s\n", paths[i], hsc_status_message(status));
    hsc_status_free(status);
  }
  return 0;
}
