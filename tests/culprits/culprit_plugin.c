// culprit_plugin.c - the built-in device with a fault in one place, for tests of `blame`: it is
// linked from the same libraries, with the linker's --wrap around the passes, the reader of
// programs and the execution. The product has no such switch.
//
// HLOSCOPE_CULPRIT=PLACE:KIND[:N]
//   PLACE  a pass, by XLA's name; "read" (the front end); "run" (the executable)
//   KIND   numbers  another program of the same shapes; of "run": another output
//          crash, hang, error, slow (half a second)
//          flaky    of "run": another output in every second execution
//          last     of "run": the last bit of an output, which is no fault
//   N      of a pass: at its N-th rewrite of a compile; 1 without
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cpu/core/cpu.h"
#include "formats/common/formats.h"
#include "passes/manager/passes_internal.h"

static bool wants(const char *place, const char *kind, int64_t *out_number) {
  const char *text = getenv("HLOSCOPE_CULPRIT");
  size_t length = strlen(place);
  if (!text || strncmp(text, place, length) != 0 || text[length] != ':')
    return false;
  text += length + 1;
  length = strlen(kind);
  if (strncmp(text, kind, length) != 0 || (text[length] && text[length] != ':'))
    return false;
  *out_number = text[length] ? strtoll(text + length + 1, NULL, 10) : 1;
  return true;
}

static hsc_status *misbehave(const char *place) {
  int64_t number = 0;
  if (wants(place, "crash", &number)) {
    signal(SIGABRT, SIG_DFL);
    fprintf(stderr, "F0000 00:00:00.000000 1 culprit.cc:7] Check failed: told to crash in %s\n",
            place);
    abort();
  }
  while (wants(place, "hang", &number))
    usleep(100000);
  if (wants(place, "slow", &number))
    usleep(500000);
  if (wants(place, "error", &number))
    return HSC_ERR(INTERNAL, "told to fail in %s", place);
  return NULL;
}

// ---- other programs of the same shapes ----------------------------------------------------------

static hsc_op other_op(hsc_op op) {
  switch (op) {
    case HSC_OP_ADD:
    case HSC_OP_MULTIPLY:
      return HSC_OP_SUBTRACT;
    case HSC_OP_SUBTRACT:
    case HSC_OP_DIVIDE:
      return HSC_OP_ADD;
    case HSC_OP_MAXIMUM:
      return HSC_OP_MINIMUM;
    case HSC_OP_MINIMUM:
      return HSC_OP_MAXIMUM;
    case HSC_OP_TANH:
    case HSC_OP_EXP:
    case HSC_OP_LOGISTIC:
      return HSC_OP_NEGATE;
    case HSC_OP_NEGATE:
      return HSC_OP_ABS;
    default:
      return op;
  }
}

// The last instruction on arrays of floats that has another; values that reach the result sooner
// are seen sooner.
static void spoil(hsc_module *module) {
  for (int c = module->computation_count - 1; c >= 0; c--) {
    hsc_instr *last = NULL;
    HSC_FOR_EACH_INSTR_IN (module->computations[c], instr) {
      bool array = hsc_shape_is_array(&instr->shape) && hsc_type_is_float(instr->shape.type);
      if (array && other_op(instr->op) != instr->op)
        last = instr;
    }
    if (last) {
      last->op = other_op(last->op);
      return;
    }
  }
}

// ---- passes -------------------------------------------------------------------------------------

static int64_t rewrites[HSC_PASS_COUNT];  // of this compile so far

static hsc_status *with_culprit(hsc_module *module,
                                hsc_pass_context *cx,
                                hsc_pass_id pass,
                                const char *name,
                                hsc_status *(*real)(hsc_module *, hsc_pass_context *)) {
  static const char *const kinds[] = {"numbers", "crash", "hang", "slow", "error"};
  int64_t before = cx->rewrites;
  int64_t number = 0;
  HSC_TRY(real(module, cx));
  int64_t had = rewrites[pass];
  rewrites[pass] += cx->rewrites - before;
  for (size_t k = 0; k < HSC_COUNT_OF(kinds); k++) {
    if (!wants(name, kinds[k], &number) || had >= number || rewrites[pass] < number)
      continue;
    if (k == 0)
      spoil(module);
    else
      HSC_TRY(misbehave(name));
  }
  return NULL;
}

#define PASS(id, text, room, doc) \
  hsc_status *__real_hsc__pass_##id(hsc_module *module, hsc_pass_context *cx); \
  hsc_status *__wrap_hsc__pass_##id(hsc_module *module, hsc_pass_context *cx); \
  hsc_status *__wrap_hsc__pass_##id(hsc_module *module, hsc_pass_context *cx) { \
    return with_culprit(module, cx, HSC_PASS_##id, text, __real_hsc__pass_##id); \
  }
#include "passes/manager/passes.def"
#undef PASS

hsc_status *__real_hsc_cpu_compile(hsc_cpu_device *device,
                                   const hsc_module *module,
                                   const hsc_cpu_compile_options *options,
                                   hsc_cpu_executable **out_executable);
hsc_status *__wrap_hsc_cpu_compile(hsc_cpu_device *device,
                                   const hsc_module *module,
                                   const hsc_cpu_compile_options *options,
                                   hsc_cpu_executable **out_executable);
hsc_status *__wrap_hsc_cpu_compile(hsc_cpu_device *device,
                                   const hsc_module *module,
                                   const hsc_cpu_compile_options *options,
                                   hsc_cpu_executable **out_executable) {
  memset(rewrites, 0, sizeof rewrites);
  return __real_hsc_cpu_compile(device, module, options, out_executable);
}

// ---- the front end ------------------------------------------------------------------------------

hsc_status *__real_hsc_program_read_for(hsc_view bytes,
                                        const char *path,
                                        int partition_count,
                                        hsc_module **out_module);
hsc_status *__wrap_hsc_program_read_for(hsc_view bytes,
                                        const char *path,
                                        int partition_count,
                                        hsc_module **out_module);
hsc_status *__wrap_hsc_program_read_for(hsc_view bytes,
                                        const char *path,
                                        int partition_count,
                                        hsc_module **out_module) {
  int64_t number = 0;
  HSC_TRY(misbehave("read"));
  HSC_TRY(__real_hsc_program_read_for(bytes, path, partition_count, out_module));
  if (wants("read", "numbers", &number))
    spoil(*out_module);
  return NULL;
}

// ---- the executable -----------------------------------------------------------------------------

// Element 0 of the first output of floats of 32 bits.
static void spoil_outputs(hsc_cpu_executable *executable, void *const *outputs, bool last_bit) {
  for (int i = 0; i < hsc_cpu_executable_output_count(executable); i++) {
    const hsc_shape *shape = hsc_cpu_executable_output_shape(executable, i);
    if (shape->type != HSC_TYPE_F32 || hsc_shape_elements(shape) < 1)
      continue;
    uint32_t bits;
    float value;
    memcpy(&value, outputs[i], sizeof value);
    memcpy(&bits, outputs[i], sizeof bits);
    value = value * 2 + 1;
    bits ^= 1;
    memcpy(outputs[i], last_bit ? (void *)&bits : (void *)&value, sizeof bits);
    return;
  }
}

hsc_status *__real_hsc_cpu_execute(hsc_cpu_executable *executable,
                                   const void *const *inputs,
                                   void *const *outputs);
hsc_status *__wrap_hsc_cpu_execute(hsc_cpu_executable *executable,
                                   const void *const *inputs,
                                   void *const *outputs);
hsc_status *__wrap_hsc_cpu_execute(hsc_cpu_executable *executable,
                                   const void *const *inputs,
                                   void *const *outputs) {
  static int executions;
  int64_t number = 0;
  HSC_TRY(misbehave("run"));
  HSC_TRY(__real_hsc_cpu_execute(executable, inputs, outputs));
  executions++;
  if (wants("run", "numbers", &number) || (wants("run", "flaky", &number) && executions % 2 == 0))
    spoil_outputs(executable, outputs, false);
  if (wants("run", "last", &number))
    spoil_outputs(executable, outputs, true);
  return NULL;
}
