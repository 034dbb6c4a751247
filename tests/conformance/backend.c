// backend.c - one way to run a module on the evaluator and on the built-in device.
#include "base/core/clock.h"
#include "backend.h"

#include "cpu/core/cpu.h"

#include <stdlib.h>

enum { THREADS = 2, UNWRITTEN = 0xA5 };

struct backend {
  const char *name;
  hsc_cpu_device *device;  // NULL: the evaluator
};

hsc_status *backend_open(const char *name, backend **out_backend) {
  bool is_cpu = strcmp(name, "cpu") == 0;
  if (!is_cpu && strcmp(name, "evaluator") != 0)
    return HSC_ERR(INVALID_ARGUMENT, "unknown backend '%s'; there are evaluator and cpu", name);
  backend *opened = hsc_alloc(sizeof *opened);
  if (!opened)
    return hsc_status_out_of_memory();
  opened->name = is_cpu ? "cpu" : "evaluator";
  hsc_cpu_device_options options = {.thread_count = THREADS};
  hsc_status *status = is_cpu ? hsc_cpu_device_create(&options, &opened->device) : NULL;
  if (status) {
    hsc_free(opened);
    return status;
  }
  *out_backend = opened;
  return NULL;
}

void backend_close(backend *target) {
  if (!target)
    return;
  if (target->device)
    hsc_cpu_device_destroy(target->device);
  hsc_free(target);
}

const char *backend_name(const backend *target) {
  return target->name;
}

static void collect(hsc_literal *literal, hsc_literal **leaves, int *count) {
  if (literal->shape.type != HSC_TYPE_TUPLE) {
    leaves[(*count)++] = literal;
    return;
  }
  for (int i = 0; i < literal->shape.element_count; i++)
    collect(&literal->elements[i], leaves, count);
}

// The device wants more alignment than an arena gives. The pattern shows what an execution leaves
// unwritten.
static void *aligned_buffer(const hsc_shape *shape) {
  size_t bytes = ((size_t)hsc_shape_bytes(shape) / HSC_CPU_ALIGNMENT + 1) * HSC_CPU_ALIGNMENT;
  void *buffer = aligned_alloc(HSC_CPU_ALIGNMENT, bytes);
  if (buffer)
    memset(buffer, UNWRITTEN, bytes);
  return buffer;
}

struct backend_program {
  const hsc_module *module;
  hsc_cpu_executable *executable;  // NULL: the evaluator
};

hsc_status *backend_compile(backend *target,
                            const hsc_module *module,
                            const char *flags,
                            backend_program **out_program) {
  backend_program *program = hsc_alloc(sizeof *program);
  if (!program)
    return hsc_status_out_of_memory();
  *program = (backend_program){.module = module};
  hsc_cpu_compile_options options = hsc_cpu_compile_options_default();
  hsc_status *status =
      target->device ? hsc_cpu_compile_options_parse_flags(flags, module->arena, &options) : NULL;
  if (!status && target->device)
    status = hsc_cpu_compile(target->device, module, &options, &program->executable);
  if (status)
    backend_program_release(program);
  else
    *out_program = program;
  return status;
}

void backend_program_release(backend_program *program) {
  if (!program)
    return;
  if (program->executable)
    hsc_cpu_executable_release(program->executable);
  hsc_free(program);
}

const hsc_module *backend_program_module(const backend_program *program) {
  return program->executable ? hsc_cpu_executable_module(program->executable) : program->module;
}

static hsc_status *run_on_device(hsc_cpu_executable *executable,
                                 int input_count,
                                 hsc_literal **inputs,
                                 int output_count,
                                 hsc_literal **outputs,
                                 int64_t *out_ns) {
  if (hsc_cpu_executable_input_count(executable) != input_count ||
      hsc_cpu_executable_output_count(executable) != output_count)
    return HSC_ERR(INTERNAL, "the executable has %d inputs and %d outputs, the program %d and %d",
                   hsc_cpu_executable_input_count(executable),
                   hsc_cpu_executable_output_count(executable), input_count, output_count);
  hsc_status *status = NULL;
  void **buffers = hsc_alloc((size_t)(input_count + output_count + 1) * sizeof *buffers);
  if (!buffers)
    return hsc_status_out_of_memory();
  for (int i = 0; i < input_count + output_count; i++) {
    const hsc_literal *literal = i < input_count ? inputs[i] : outputs[i - input_count];
    buffers[i] = aligned_buffer(&literal->shape);
    if (!buffers[i])
      HSC_GOTO(hsc_status_out_of_memory());
    if (i < input_count && literal->data)
      memcpy(buffers[i], literal->data, (size_t)hsc_shape_bytes(&literal->shape));
  }
  int64_t start = hsc_now_ns();
  HSC_GOTO(hsc_cpu_execute(executable, (const void *const *)buffers, buffers + input_count));
  if (out_ns)
    *out_ns = hsc_now_ns() - start;
  for (int i = 0; i < output_count; i++)
    if (outputs[i]->data)
      memcpy(outputs[i]->data, buffers[input_count + i],
             (size_t)hsc_shape_bytes(&outputs[i]->shape));
done:
  for (int i = 0; i < input_count + output_count; i++)
    free(buffers[i]);
  hsc_free(buffers);
  return status;
}

hsc_status *backend_program_run(backend_program *program,
                                int argument_count,
                                hsc_literal *const *arguments,
                                hsc_arena *arena,
                                hsc_literal **out_result,
                                int64_t *out_ns) {
  if (!program->executable) {
    int64_t start = hsc_now_ns();
    hsc_status *status =
        hsc_evaluate(program->module, argument_count, arguments, arena, out_result);
    if (out_ns)
      *out_ns = hsc_now_ns() - start;
    return status;
  }
  const hsc_shape *result_shape = &program->module->entry->root->shape;
  int input_count = 0;
  int output_count = 0;
  int input_room = 0;
  for (int i = 0; i < argument_count; i++)
    input_room += hsc_shape_leaf_count(&arguments[i]->shape);
  hsc_literal **inputs = HSC_NEW_ARRAY(arena, hsc_literal *, input_room + 1);
  hsc_literal **outputs =
      HSC_NEW_ARRAY(arena, hsc_literal *, hsc_shape_leaf_count(result_shape) + 1);
  HSC_TRY(hsc_literal_create(arena, result_shape, out_result));
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < argument_count; i++)
    collect(arguments[i], inputs, &input_count);
  collect(*out_result, outputs, &output_count);
  return run_on_device(program->executable, input_count, inputs, output_count, outputs, out_ns);
}

hsc_status *backend_run(backend *target,
                        const hsc_module *module,
                        int argument_count,
                        hsc_literal *const *arguments,
                        hsc_arena *arena,
                        hsc_literal **out_result,
                        int64_t *out_ns) {
  backend_program *program = NULL;
  HSC_TRY(backend_compile(target, module, getenv("XLA_FLAGS"), &program));
  hsc_status *status =
      backend_program_run(program, argument_count, arguments, arena, out_result, out_ns);
  backend_program_release(program);
  return status;
}
