// executable.c - the compiled program as an object: its life, what it is put together from, and
// what can be asked of it.
//
// compile.c makes one from a module, serialize.c from bytes; both use what is here and nothing of
// each other.
#include <stdlib.h>

#include "base/core/memory.h"
#include "cpu/core/cpu_internal.h"
#include "cpu/jit/jit.h"

static void destroy(hsc_cpu_executable *executable) {
  if (!executable)
    return;
  free(executable->constants);
  for (int32_t u = 0; u < executable->unit_count; u++)
    hsc_cpu_unit_release(executable->units[u]);
  hsc_module_destroy(executable->module);
  pthread_mutex_destroy(&executable->module_lock);
  hsc_arena_destroy(executable->arena);
  hsc_cpu_device_destroy(executable->device);
  hsc_free(executable);
}

void hsc_cpu_executable_retain(hsc_cpu_executable *executable) {
  atomic_fetch_add_explicit(&executable->reference_count, 1, memory_order_relaxed);
}

void hsc_cpu_executable_release(hsc_cpu_executable *executable) {
  if (executable &&
      atomic_fetch_sub_explicit(&executable->reference_count, 1, memory_order_acq_rel) == 1)
    destroy(executable);
}

hsc_status *hsc__cpu_executable_create(hsc_cpu_device *device,
                                       hsc_cpu_executable **out_executable) {
  hsc_cpu_executable *executable = *out_executable = hsc_alloc(sizeof *executable);
  if (!executable)
    return hsc_status_out_of_memory();
  atomic_init(&executable->reference_count, 1);
  pthread_mutex_init(&executable->module_lock, NULL);
  executable->device = device;
  hsc__cpu_device_retain(device);
  hsc_status *status = hsc_arena_create(&executable->arena);
  if (status) {
    destroy(executable);
    *out_executable = NULL;
  }
  return status;
}

void hsc__cpu_executable_add_kernel(hsc_cpu_executable *executable,
                                    int32_t number,
                                    const hsc_cpu_jit_kernel *found) {
  executable->kernels[number] = (hsc_cpu_kernel){.address = found->function,
                                                 .combine = (hsc_cpu_kernel_function)found->combine,
                                                 .key = found->key};
  for (int32_t u = 0; u < executable->unit_count; u++)
    if (executable->units[u] == found->unit) {
      hsc_cpu_unit_release(found->unit);  // one reference a unit is enough
      return;
    }
  executable->units[executable->unit_count++] = found->unit;
  executable->stats.code_bytes += hsc_cpu_code_bytes(found->unit->code);
}

hsc_status *hsc__cpu_executable_number_instrs(hsc_cpu_executable *executable) {
  const hsc_module *module = executable->module;
  executable->instr_count = (int32_t)hsc_module_instr_count(module);
  executable->instrs =
      HSC_NEW_ARRAY(executable->arena, const hsc_instr *, executable->instr_count + 1);
  HSC_TRY(hsc_arena_status(executable->arena));
  int32_t number = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      instr->index = number;
      executable->instrs[number++] = instr;
    }
  return NULL;
}

void hsc__cpu_need_worker_scratch(hsc_cpu_compiler *compiler, int64_t bytes) {
  int64_t rounded = (bytes + HSC_CPU_ALIGNMENT - 1) / HSC_CPU_ALIGNMENT * HSC_CPU_ALIGNMENT;
  if (rounded > compiler->executable->worker_scratch_bytes)
    compiler->executable->worker_scratch_bytes = rounded;
}

void hsc__cpu_executable_count(hsc_cpu_executable *executable) {
  hsc_cpu_stats *stats = &executable->stats;
  for (int i = 0; i < executable->input_count; i++)
    stats->argument_bytes += hsc_shape_bytes(executable->input_shapes[i]);
  for (int o = 0; o < executable->output_count; o++) {
    stats->output_bytes += hsc_shape_bytes(executable->output_shapes[o]);
    if (executable->output_alias[o] >= 0)
      stats->alias_bytes += hsc_shape_bytes(executable->output_shapes[o]);
  }
  stats->temp_bytes = executable->temp_bytes;
  stats->constant_bytes = executable->constant_bytes;
  stats->peak_bytes = stats->argument_bytes + stats->output_bytes - stats->alias_bytes +
                      stats->temp_bytes + stats->constant_bytes;
  stats->thunk_count = executable->thunk_count;
  stats->kernel_count = executable->kernel_count;
  stats->phases = executable->phases;
}

// ---- questions ----------------------------------------------------------------------------------

const char *hsc_cpu_executable_name(const hsc_cpu_executable *executable) {
  return executable->name;
}
int hsc_cpu_executable_input_count(const hsc_cpu_executable *executable) {
  return executable->input_count;
}
const hsc_shape *hsc_cpu_executable_input_shape(const hsc_cpu_executable *executable, int input) {
  return executable->input_shapes[input];
}
int hsc_cpu_executable_output_count(const hsc_cpu_executable *executable) {
  return executable->output_count;
}
const hsc_shape *hsc_cpu_executable_output_shape(const hsc_cpu_executable *executable, int output) {
  return executable->output_shapes[output];
}
int hsc_cpu_executable_output_alias(const hsc_cpu_executable *executable, int output) {
  return executable->output_alias[output];
}
const hsc_cpu_stats *hsc_cpu_executable_stats(const hsc_cpu_executable *executable) {
  return &executable->stats;
}
const hsc_cost *hsc_cpu_executable_cost(const hsc_cpu_executable *executable) {
  return &executable->cost;
}
hsc_hash128 hsc_cpu_executable_fingerprint(const hsc_cpu_executable *executable) {
  return executable->fingerprint;
}
