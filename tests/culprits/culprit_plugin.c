// culprit_plugin.c - the built-in device with a fault in one place, for tests of `blame`: it is
// linked from the same libraries, with the linker's --wrap around the passes, the reader of
// programs and the execution. The product has no such switch.
//
// HLOSCOPE_CULPRIT=PLACE:KIND[:N][;PLACE:KIND[:N]...]
//   PLACE  a pass, by XLA's name; "read" (the front end); "run" (the executable)
//   KIND   numbers  another program of the same shapes; of "run": another output
//          crash, hang, error, slow (half a second), slower (three halves of a second)
//          memory   of a pass: a temporary of 64 copies of the result
//          flaky    of "run": another output in every second execution
//          slight   of "run": an output 2^-16 of itself too large, less than its type's tolerance
//          last     of "run": the last bit of an output, which is no fault
//   N      of a pass: at its N-th rewrite of a compile; 1 without
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cpu/core/cpu.h"
#include "formats/common/formats.h"
#include "passes/manager/passes_internal.h"

static bool is_fault(const char *text, const char *place, const char *kind, int64_t *out_number) {
  size_t length = strlen(place);
  if (strncmp(text, place, length) != 0 || text[length] != ':')
    return false;
  text += length + 1;
  length = strlen(kind);
  if (strncmp(text, kind, length) != 0 || !strchr(":;", text[length]))
    return false;
  *out_number = text[length] == ':' ? strtoll(text + length + 1, NULL, 10) : 1;
  return true;
}

static bool wants(const char *place, const char *kind, int64_t *out_number) {
  for (const char *text = getenv("HLOSCOPE_CULPRIT"); text; text = strchr(text, ';')) {
    text += *text == ';';
    if (is_fault(text, place, kind, out_number))
      return true;
  }
  return false;
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
  if (wants(place, "slower", &number))
    usleep(1500000);
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

// A temporary of 64 copies of the result, of which one is used: sorted, so that none is like
// another to the passes that follow.
static hsc_status *waste(hsc_module *module) {
  hsc_computation *entry = module->entry;
  hsc_instr *root = entry->root;
  int64_t dims[HSC_MAX_RANK] = {64};
  int64_t zeros[HSC_MAX_RANK] = {0};
  int64_t ones[HSC_MAX_RANK];
  int64_t from[HSC_MAX_RANK];
  hsc_builder b;
  int rank = root->shape.rank;
  if (!hsc_shape_is_array(&root->shape) || root->shape.type != HSC_TYPE_F32 ||
      rank + 1 >= HSC_MAX_RANK)
    return NULL;
  for (int i = 0; i < rank; i++) {
    dims[i + 1] = root->shape.dims[i];
    from[i] = i + 1;
  }
  for (int i = 0; i <= rank; i++)
    ones[i] = 1;
  hsc_builder_at(&b, entry, NULL);
  hsc_arena *arena = module->arena;
  hsc_instr *copies =
      hsc_build_broadcast(&b, root, hsc_shape_array(arena, HSC_TYPE_F32, rank + 1, dims),
                          hsc_dims_copy(arena, rank, from));
  hsc_attr along = {.dims = {.dims = HSC_DIMS(arena, 0)}};
  hsc_computation *less = hsc_module_add_computation(module, "less");
  if (!less)
    return hsc_status_out_of_memory();
  hsc_builder in;
  hsc_builder_at(&in, less, NULL);
  hsc_shape scalar = hsc_shape_array(arena, HSC_TYPE_F32, 0, NULL);
  hsc_instr *x = hsc_build_parameter(&in, 0, scalar, "x");
  hsc_instr *y = hsc_build_parameter(&in, 1, scalar, "y");
  HSC_TRY(hsc_builder_finish(&in, hsc_build_compare(&in, HSC_LT, x, y), NULL));
  hsc_instr *sorted = hsc_build_op(&b, HSC_OP_SORT, (hsc_shape){0}, &along, 1, &copies, 1, &less);
  dims[0] = 1;
  hsc_instr *one =
      hsc_build_slice(&b, sorted, hsc_dims_copy(arena, rank + 1, zeros),
                      hsc_dims_copy(arena, rank + 1, dims), hsc_dims_copy(arena, rank + 1, ones));
  hsc_instr *back = hsc_build_reshape(&b, one, rank, root->shape.dims);
  HSC_TRY(hsc_builder_finish(&b, back, NULL));
  return hsc_module_sort(module);
}

// ---- passes -------------------------------------------------------------------------------------

static int64_t rewrites[HSC_PASS_COUNT];  // of this compile so far

static hsc_status *with_culprit(hsc_module *module,
                                hsc_pass_context *cx,
                                hsc_pass_id pass,
                                const char *name,
                                hsc_status *(*real)(hsc_module *, hsc_pass_context *)) {
  static const char *const kinds[] = {"numbers", "crash", "hang",  "slow",
                                      "slower",  "error", "memory"};
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
    else if (!strcmp(kinds[k], "memory"))
      HSC_TRY(waste(module));
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
typedef enum { SPOIL_WHOLLY, SPOIL_SLIGHTLY, SPOIL_LAST_BIT } spoiling;

static void spoil_outputs(hsc_cpu_executable *executable, void *const *outputs, spoiling how) {
  for (int i = 0; i < hsc_cpu_executable_output_count(executable); i++) {
    const hsc_shape *shape = hsc_cpu_executable_output_shape(executable, i);
    if (shape->type != HSC_TYPE_F32 || hsc_shape_elements(shape) < 1)
      continue;
    uint32_t bits;
    float value;
    memcpy(&value, outputs[i], sizeof value);
    memcpy(&bits, outputs[i], sizeof bits);
    value = how == SPOIL_SLIGHTLY ? value * (1 + 0x1p-16f) : value * 2 + 1;
    bits ^= 1;
    memcpy(outputs[i], how == SPOIL_LAST_BIT ? (void *)&bits : (void *)&value, sizeof bits);
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
    spoil_outputs(executable, outputs, SPOIL_WHOLLY);
  if (wants("run", "slight", &number))
    spoil_outputs(executable, outputs, SPOIL_SLIGHTLY);
  if (wants("run", "last", &number))
    spoil_outputs(executable, outputs, SPOIL_LAST_BIT);
  return NULL;
}
