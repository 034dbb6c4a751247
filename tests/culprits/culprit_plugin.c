// culprit_plugin.c - the built-in device with a fault in one place, for tests of `blame`: it is
// linked from the same libraries, with the linker's --wrap around the passes, the reader of
// programs and the execution. The product has no such switch.
//
// HLOSCOPE_CULPRIT=PLACE:KIND[:N][;PLACE:KIND[:N]...]
//   PLACE  a pass, by XLA's name; "read" (the front end); "run" (the executable); a kind of thunk
//          ("contraction", "sort"); "link" (the loader of machine code); "pool" (the threads)
//   KIND   numbers  another program of the same shapes; of "run": another output; of a thunk:
//                   another first element; of "pool": the last chunk of a loop is not done
//          crash, hang, error, slow (half a second), slower (three halves of a second)
//          memory   of a pass: a temporary of 64 copies of the result
//          flaky    of "run": another output in every second execution
//          slight   of "run": an output 2^-16 of itself too large, less than its type's tolerance
//          last     of "run": the last bit of an output, which is no fault
//          flaky    of "pool": the last chunk is not done in some loops
//          nth      of "run": another output in every execution of an executable but its first
//          rare, dies  of "run": in one of N executions, by lot, another output, a crash
//          last_element  of "run" and of a thunk: the last element is another
//          negative  of a thunk: the first element below zero of a result of floats is another
//          flaky    of a pass: "numbers" in one of N compiles, by lot
//          precision  of a pass: the result goes through bf16
//          invalid  of a pass: a program that is none
//          retype   of a pass: the result is of f64
//          pair     of a pass: "numbers", where algsimp has changed the program before
//          numbers, crash, error  of "plan": two values share memory; while memory is planned
//   Legal choices, by which a compiler differs from another and nobody is at fault:
//          sums:short       products summed in shorter blocks of their inner dimension
//          winograd:never   convolutions as products; winograd:always  by Winograd's tiles
//   N      of a pass: at its N-th rewrite of a compile; 1 without
// Lots are drawn from the number of draws so far, which HLOSCOPE_CULPRIT_DRAWS, a file, holds for
// all processes: a test has the same luck every time. Without the file they are the clock's.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/ints.h"
#include "cpu/core/code.h"
#include "cpu/core/cpu_internal.h"
#include "cpu/kernels/conv/convolution.h"
#include "cpu/kernels/conv/winograd.h"
#include "cpu/kernels/gemm/gemm.h"
#include "formats/common/formats.h"
#include "culprit_kinds.h"
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

// From the N-th compile of the process on, in programs of a value of N elements: set by a compile.
static bool is_time = true;

bool hsc_culprit_wants(const char *place, const char *kind, int64_t *out_number) {
  for (const char *text = getenv("HLOSCOPE_CULPRIT"); text && is_time; text = strchr(text, ';')) {
    text += *text == ';';
    if (is_fault(text, place, kind, out_number))
      return true;
  }
  return false;
}

static bool wants(const char *place, const char *kind, int64_t *out_number) {
  return hsc_culprit_wants(place, kind, out_number);
}

static int64_t largest_value(const hsc_module *module) {
  int64_t most = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      most = hsc_max(most, hsc_shape_elements(&instr->shape));
  return most;
}

static void look_whether_it_is_time(const hsc_module *module) {
  static int64_t compiles;
  int64_t number = 0;
  is_time = true;
  compiles++;
  is_time = !(wants("when", "compile", &number) && compiles < number) &&
            !(wants("when", "elements", &number) && largest_value(module) < number);
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

// The result rounded to bf16: less than its type has, more than any bound.
static hsc_status *round_result(hsc_module *module) {
  hsc_instr *root = module->entry->root;
  hsc_builder b;
  if (!hsc_shape_is_array(&root->shape) || root->shape.type != HSC_TYPE_F32)
    return NULL;
  hsc_builder_at(&b, module->entry, NULL);
  hsc_instr *exponents = hsc_build_op(
      &b, HSC_OP_REDUCE_PRECISION, root->shape,
      &(hsc_attr){.precision = {.exponent_bits = 8, .mantissa_bits = 7}}, 1, &root, 0, NULL);
  HSC_TRY(hsc_builder_finish(&b, exponents, NULL));
  return hsc_module_sort(module);
}

static hsc_status *retype_result(hsc_module *module) {
  hsc_instr *root = module->entry->root;
  hsc_builder b;
  if (!hsc_shape_is_array(&root->shape))
    return NULL;
  hsc_builder_at(&b, module->entry, NULL);
  hsc_instr *wide = hsc_build_convert(&b, HSC_TYPE_F64, root);
  HSC_TRY(hsc_builder_finish(&b, wide, NULL));
  module->layout_text = NULL;
  return hsc_module_sort(module);
}

// How often a lot was drawn before, by any process: the file grows by a byte a draw. -1 = no file.
static int64_t draws_before(void) {
  const char *path = getenv("HLOSCOPE_CULPRIT_DRAWS");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (file < 0)
    return -1;
  // after an append the position is behind the byte that this process wrote, whoever else writes
  int64_t end = write(file, ".", 1) == 1 ? lseek(file, 0, SEEK_CUR) : 0;
  close(file);
  return end - 1;
}

// True once in every `one_of` draws, at a place in them that looks like chance: a question that is
// asked every second time has no rhythm to fall into.
static bool by_lot(int64_t one_of) {
  if (one_of < 2)
    return true;
  int64_t draw = draws_before();
  if (draw < 0)
    return hsc_now_ns() / 1000 % one_of == 0;
  uint64_t place = (uint64_t)(draw / one_of) * 0x9E3779B97F4A7C15u;
  return draw % one_of == (int64_t)((place >> 33) % (uint64_t)one_of);
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
static int64_t runs[HSC_PASS_COUNT];      // likewise

// Kinds that do not count rewrites: once a compile, at the first.
static hsc_status *with_kind(hsc_module *module, hsc_pass_id pass, const char *name) {
  int64_t number = 0;
  if (wants(name, "flaky", &number) && by_lot(number))
    spoil(module);
  if (wants(name, "pair", &number) && rewrites[HSC_PASS_algsimp] > 0 && pass != HSC_PASS_algsimp)
    spoil(module);
  if (wants(name, "precision", &number))
    return round_result(module);
  if (wants(name, "retype", &number))
    return retype_result(module);
  if (wants(name, "invalid", &number))
    module->entry->root->shape.type = HSC_TYPE_PRED;
  return NULL;
}

static hsc_status *with_culprit(hsc_module *module,
                                hsc_pass_context *cx,
                                hsc_pass_id pass,
                                const char *name,
                                hsc_status *(*real)(hsc_module *, hsc_pass_context *)) {
  static const char *const kinds[] = {"numbers", "crash", "hang",  "slow",
                                      "slower",  "error", "memory"};
  int64_t before = cx->rewrites;
  int64_t number = 0;
  HSC_TRY(hsc_culprit_enter(module, name));
  HSC_TRY(real(module, cx));
  int64_t had = rewrites[pass];
  rewrites[pass] += cx->rewrites - before;
  HSC_TRY(hsc_culprit_rewrite(module, name, ++runs[pass], had, rewrites[pass]));
  if (!had && rewrites[pass])
    HSC_TRY(with_kind(module, pass, name));
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
  memset(runs, 0, sizeof runs);
  look_whether_it_is_time(module);
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
typedef enum {
  SPOIL_WHOLLY,
  SPOIL_SLIGHTLY,
  SPOIL_LAST_BIT,
  SPOIL_END,  // the last element in place of the first
} spoiling;

static void spoil_outputs(hsc_cpu_executable *executable, void *const *outputs, spoiling how) {
  for (int i = 0; i < hsc_cpu_executable_output_count(executable); i++) {
    const hsc_shape *shape = hsc_cpu_executable_output_shape(executable, i);
    if (shape->type != HSC_TYPE_F32 || hsc_shape_elements(shape) < 1)
      continue;
    uint32_t bits;
    float value;
    char *element = outputs[i];
    if (how == SPOIL_END)
      element += (hsc_shape_elements(shape) - 1) * (int64_t)sizeof value;
    memcpy(&value, element, sizeof value);
    memcpy(&bits, element, sizeof bits);
    value = how == SPOIL_SLIGHTLY ? value * (1 + 0x1p-16f) : value * 2 + 1;
    bits ^= 1;
    memcpy(element, how == SPOIL_LAST_BIT ? (void *)&bits : (void *)&value, sizeof bits);
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
  static const hsc_cpu_executable *before;
  bool again = executable == before;
  int64_t number = 0;
  before = executable;
  HSC_TRY(misbehave("run"));
  if (wants("run", "dies", &number) && by_lot(number))
    abort();
  HSC_TRY(__real_hsc_cpu_execute(executable, inputs, outputs));
  executions++;
  if (wants("run", "numbers", &number) || (wants("run", "flaky", &number) && executions % 2 == 0))
    spoil_outputs(executable, outputs, SPOIL_WHOLLY);
  if ((wants("run", "nth", &number) && again) || (wants("run", "rare", &number) && by_lot(number)))
    spoil_outputs(executable, outputs, SPOIL_WHOLLY);
  if (wants("run", "last_element", &number))
    spoil_outputs(executable, outputs, SPOIL_END);
  if (wants("run", "slight", &number))
    spoil_outputs(executable, outputs, SPOIL_SLIGHTLY);
  if (wants("run", "last", &number))
    spoil_outputs(executable, outputs, SPOIL_LAST_BIT);
  hsc_culprit_outputs(executable, inputs, outputs);
  return NULL;
}

// ---- kernels: the steps of an executable --------------------------------------------------------

// The first element of a step's first result, when it is of floats or integers of 32 bits.
static void spoil_step(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  uint32_t bits;
  float value;
  void *result = hsc__cpu_output(frame, thunk, 0);
  memcpy(&bits, result, sizeof bits);
  memcpy(&value, result, sizeof value);
  value = value * 2 + 1;
  bits += 3;
  bool is_float = bits > (1u << 24);  // small integers are no numbers as floats
  memcpy(result, is_float ? (void *)&value : (void *)&bits, sizeof bits);
}

// Of a step's first result of floats: the last element, or the first that is below zero.
static void spoil_where(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk, bool negative) {
  float *result = hsc__cpu_output(frame, thunk, 0);
  const hsc_cpu_slice *slice = hsc__cpu_slices(frame, thunk) + thunk->input_count;
  int64_t count = slice->bytes / (int64_t)sizeof *result;
  int64_t at = negative ? 0 : count - 1;
  while (negative && at < count && !(result[at] < 0))
    at++;
  if (at < count && at >= 0)
    result[at] = result[at] * 2 + 1;
}

static hsc_status *step_with_culprit(const hsc_cpu_frame *frame,
                                     const hsc_cpu_thunk *thunk,
                                     const char *name,
                                     hsc_status *(*real)(const hsc_cpu_frame *,
                                                         const hsc_cpu_thunk *)) {
  int64_t number = 0;
  HSC_TRY(misbehave(name));
  HSC_TRY(real(frame, thunk));
  if (wants(name, "numbers", &number))
    spoil_step(frame, thunk);
  if (wants(name, "last_element", &number))
    spoil_where(frame, thunk, false);
  if (wants(name, "negative", &number))
    spoil_where(frame, thunk, true);
  return NULL;
}

#define THUNK(id, name, choose, module, doc) \
  hsc_status *__real_hsc__cpu_run_##name(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk); \
  hsc_status *__wrap_hsc__cpu_run_##name(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk); \
  hsc_status *__wrap_hsc__cpu_run_##name(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) { \
    return step_with_culprit(frame, thunk, #name, __real_hsc__cpu_run_##name); \
  }
#include "cpu/core/thunks.def"
#undef THUNK

// ---- the loader of machine code, the threads ----------------------------------------------------

hsc_status *__real_hsc_cpu_code_link(hsc_view object,
                                     const hsc_cpu_symbol *symbols,
                                     size_t symbol_count,
                                     hsc_cpu_code **out_code);
hsc_status *__wrap_hsc_cpu_code_link(hsc_view object,
                                     const hsc_cpu_symbol *symbols,
                                     size_t symbol_count,
                                     hsc_cpu_code **out_code);
hsc_status *__wrap_hsc_cpu_code_link(hsc_view object,
                                     const hsc_cpu_symbol *symbols,
                                     size_t symbol_count,
                                     hsc_cpu_code **out_code) {
  HSC_TRY(misbehave("link"));
  return __real_hsc_cpu_code_link(object, symbols, symbol_count, out_code);
}

void __real_hsc_cpu_pool_run(hsc_cpu_pool *pool,
                             int64_t chunk_count,
                             hsc_cpu_chunk_function function,
                             void *context);
void __wrap_hsc_cpu_pool_run(hsc_cpu_pool *pool,
                             int64_t chunk_count,
                             hsc_cpu_chunk_function function,
                             void *context);
void __wrap_hsc_cpu_pool_run(hsc_cpu_pool *pool,
                             int64_t chunk_count,
                             hsc_cpu_chunk_function function,
                             void *context) {
  int64_t number = 0;
  hsc_status_free(misbehave("pool"));
  bool leaves_out =
      wants("pool", "numbers", &number) || (wants("pool", "flaky", &number) && by_lot(2));
  __real_hsc_cpu_pool_run(pool, leaves_out ? chunk_count - 1 : chunk_count, function, context);
}

// ---- the plan of memory -------------------------------------------------------------------------

hsc_status *__real_hsc_cpu_plan_assign(hsc_cpu_plan *plan);
hsc_status *__wrap_hsc_cpu_plan_assign(hsc_cpu_plan *plan);
hsc_status *__wrap_hsc_cpu_plan_assign(hsc_cpu_plan *plan) {
  int64_t number = 0;
  int32_t other = -1;
  HSC_TRY(misbehave("plan"));
  HSC_TRY(__real_hsc_cpu_plan_assign(plan));
  for (int32_t i = 0; wants("plan", "numbers", &number) && i < plan->value_count; i++) {
    hsc_cpu_set *set = &plan->sets[i];
    if (set->joined >= 0 || set->first_value < 0 || set->base != HSC_CPU_BASE_TEMP || !set->bytes)
      continue;
    if (other >= 0 && plan->sets[other].bytes >= set->bytes)
      set->offset = plan->sets[other].offset;
    other = i;
  }
  return NULL;
}

// ---- what is legal ------------------------------------------------------------------------------

int __real_hsc_winograd_pays(const hsc_convolution *c);
int __wrap_hsc_winograd_pays(const hsc_convolution *c);
int __wrap_hsc_winograd_pays(const hsc_convolution *c) {
  int64_t number = 0;
  if (wants("winograd", "never", &number))
    return 0;
  return wants("winograd", "always", &number) ? 4 : __real_hsc_winograd_pays(c);
}

void __real_hsc_gemm_plan(const hsc_cpu_isa *isa,
                          int element_bytes,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          hsc_gemm_matrix a,
                          hsc_gemm_matrix b,
                          const hsc_gemm_wish *wish,
                          hsc_gemm_blocking *out_blocking);
void __wrap_hsc_gemm_plan(const hsc_cpu_isa *isa,
                          int element_bytes,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          hsc_gemm_matrix a,
                          hsc_gemm_matrix b,
                          const hsc_gemm_wish *wish,
                          hsc_gemm_blocking *out_blocking);
void __wrap_hsc_gemm_plan(const hsc_cpu_isa *isa,
                          int element_bytes,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          hsc_gemm_matrix a,
                          hsc_gemm_matrix b,
                          const hsc_gemm_wish *wish,
                          hsc_gemm_blocking *out_blocking) {
  int64_t number = 0;
  __real_hsc_gemm_plan(isa, element_bytes, m, n, k, a, b, wish, out_blocking);
  if (wants("sums", "short", &number) && out_blocking->k_block > 8)
    out_blocking->k_block = 8;  // the scratch was made for longer ones
}
