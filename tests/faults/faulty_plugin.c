// faulty_plugin.c - the built-in device with a fault in its compiler, to measure how well failures
// are reduced. Tests only.
//
// It opens the real plugin (libhloscope_cpu_pjrt.so, two folders up) and is between: a program
// that is compiled is read, changed as the row of faults.def that HLOSCOPE_FAULT names says, and
// given on. A fault shows wherever its pattern is, as a rule of a compiler does. What makes a
// program slow or large is in the calls around its executable, which the list `marked` knows.
// HLOSCOPE_FAULT_CHANCE names a folder: any program is slow then the first time that it is compiled
// by whatever process, as on a machine that has other things to do.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "pjrt/abi.h"

static PJRT_Api table;
static const PJRT_Api *real;

// ---- patterns -----------------------------------------------------------------------------------

static bool is_float(const hsc_instr *instr) {
  return hsc_shape_is_array(&instr->shape) && hsc_type_is_float(instr->shape.type);
}

static bool operand_is(const hsc_instr *instr, int i, hsc_op op) {
  return i < instr->operand_count && instr->operands[i]->op == op;
}

// `instr` times a number, for all its users.
static hsc_instr *scaled(hsc_builder *b, hsc_instr *instr, double by) {
  hsc_instr *number = hsc_build_scalar(b, instr->shape.type, by);
  hsc_instr *factor =
      instr->shape.rank == 0 ? number : hsc_build_broadcast(b, number, instr->shape, (hsc_dims){0});
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr, factor);
}

// A pattern: the instruction that takes the place of `instr` (built after it), NULL = it is none.
typedef hsc_instr *(*pattern)(hsc_builder *b, hsc_instr *instr);

static hsc_instr *subtract_broadcast(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_SUBTRACT || !operand_is(instr, 1, HSC_OP_BROADCAST))
    return NULL;
  return hsc_build_binary(b, HSC_OP_ADD, instr->operands[0], instr->operands[1]);
}
static hsc_instr *divide_broadcast(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_DIVIDE || !operand_is(instr, 1, HSC_OP_BROADCAST) || !is_float(instr))
    return NULL;
  return hsc_build_binary(b, HSC_OP_MULTIPLY, instr->operands[0], instr->operands[1]);
}
static hsc_instr *transpose_rank3(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_TRANSPOSE || instr->shape.rank < 3 || !is_float(instr))
    return NULL;
  return hsc_build_unary(b, HSC_OP_NEGATE, instr);
}
static hsc_instr *select_compare(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  if (instr->op != HSC_OP_SELECT || !operand_is(instr, 0, HSC_OP_COMPARE) || !is_float(instr))
    return NULL;
  return instr->operands[1];
}
static hsc_instr *dot_lhs_first(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_DOT || instr->attr.dot.lhs_contracting.count != 1 ||
      instr->attr.dot.lhs_contracting.v[0] != 0 || !is_float(instr))
    return NULL;
  return scaled(b, instr, 1.01);
}
static hsc_instr *tanh_of_add(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_TANH || !operand_is(instr, 0, HSC_OP_ADD))
    return NULL;
  return scaled(b, instr, 1.001);
}
static hsc_instr *multiply_reduce(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_REDUCE || instr->operand_count != 2 ||
      !operand_is(instr, 0, HSC_OP_MULTIPLY))
    return NULL;
  return hsc_build_reduce(b, instr->operands[0]->operands[0], instr->operands[1],
                          instr->attr.dims.dims, instr->called[0]);
}
static hsc_instr *dynamic_slice(hsc_builder *b, hsc_instr *instr) {
  hsc_instr *indices[HSC_MAX_RANK];
  if (instr->op != HSC_OP_DYNAMIC_SLICE || instr->operands[1]->op == HSC_OP_CONSTANT)
    return NULL;
  for (int i = 1; i < instr->operand_count; i++)
    indices[i - 1] = instr->operands[i];
  indices[0] = hsc_build_scalar(b, instr->operands[1]->shape.type, 0);
  return hsc_build_dynamic_slice(b, instr->operands[0], instr->operand_count - 1, indices,
                                 instr->attr.slice_sizes.sizes);
}
static hsc_instr *update_slice(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_DYNAMIC_UPDATE_SLICE ? instr->operands[0] : NULL;
}
static hsc_instr *maximum_zero(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  if (instr->op != HSC_OP_MAXIMUM || !operand_is(instr, 1, HSC_OP_BROADCAST))
    return NULL;
  return instr->operands[0];
}
static hsc_instr *convert_down(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_CONVERT ||
      hsc_type_is_float(instr->operands[0]->shape.type) == hsc_type_is_float(instr->shape.type))
    return NULL;
  hsc_instr *zero = hsc_build_scalar(b, instr->shape.type, 0);
  return instr->shape.rank == 0 ? zero : hsc_build_broadcast(b, zero, instr->shape, (hsc_dims){0});
}
static hsc_instr *concatenate_two(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_CONCATENATE || instr->operand_count != 2 ||
      !hsc_shape_equal(&instr->operands[0]->shape, &instr->operands[1]->shape))
    return NULL;
  hsc_instr *const swapped[] = {instr->operands[1], instr->operands[0]};
  return hsc_build_concatenate(b, 2, swapped, instr->attr.dims.dims.v[0]);
}
static hsc_instr *rsqrt_of_add(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_RSQRT || !operand_is(instr, 0, HSC_OP_ADD))
    return NULL;
  return hsc_build_unary(b, HSC_OP_SQRT, instr->operands[0]);
}

static hsc_instr *exp_last_places(hsc_builder *b, hsc_instr *instr) {
  if (instr->op != HSC_OP_EXP || instr->shape.type != HSC_TYPE_F32)
    return NULL;
  return scaled(b, instr, 1 + 0x1p-18);
}

// All other kinds: the pattern is all that counts.
static hsc_instr *if_operand(hsc_instr *instr, hsc_op op, hsc_op operand) {
  if (instr->op != op)
    return NULL;
  for (int i = 0; i < instr->operand_count; i++)
    if (instr->operands[i]->op == operand)
      return instr;
  return NULL;
}
static hsc_instr *add_of_dot(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_ADD, HSC_OP_DOT);
}
static hsc_instr *add_of_broadcast(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_ADD, HSC_OP_BROADCAST);
}
static hsc_instr *slice_of_any(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_DYNAMIC_SLICE ? instr : NULL;
}
static hsc_instr *add_of_multiply(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_ADD, HSC_OP_MULTIPLY);
}
static hsc_instr *broadcast_of_reduce(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_BROADCAST, HSC_OP_REDUCE);
}
static hsc_instr *exp_of_anything(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_EXP ? instr : NULL;
}
static hsc_instr *dot_of_broadcast(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_DOT, HSC_OP_BROADCAST);
}
static hsc_instr *multiply_of_multiply(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_MULTIPLY, HSC_OP_MULTIPLY);
}
static hsc_instr *select_of_broadcast(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return if_operand(instr, HSC_OP_SELECT, HSC_OP_BROADCAST);
}
static hsc_instr *reduce_add(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_REDUCE && instr->called[0]->root->op == HSC_OP_ADD ? instr : NULL;
}
static hsc_instr *transpose_of_any(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_TRANSPOSE ? instr : NULL;
}
static hsc_instr *exp_of_subtract(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_EXP && operand_is(instr, 0, HSC_OP_SUBTRACT) ? instr : NULL;
}
static hsc_instr *reduce_maximum(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_REDUCE && instr->called[0]->root->op == HSC_OP_MAXIMUM ? instr : NULL;
}
static hsc_instr *loop_update(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  if (instr->op != HSC_OP_WHILE)
    return NULL;
  for (hsc_instr *inner = instr->called[1]->first; inner; inner = inner->next)
    if (inner->op == HSC_OP_DYNAMIC_UPDATE_SLICE)
      return instr;
  return NULL;
}
static hsc_instr *dot_of_transpose(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  if (instr->op != HSC_OP_DOT)
    return NULL;
  return operand_is(instr, 0, HSC_OP_TRANSPOSE) || operand_is(instr, 1, HSC_OP_TRANSPOSE) ? instr
                                                                                          : NULL;
}
static hsc_instr *xor_of_shift(hsc_builder *b, hsc_instr *instr) {
  (void)b;
  return instr->op == HSC_OP_OR && operand_is(instr, 0, HSC_OP_SHIFT_LEFT) ? instr : NULL;
}

typedef enum fault_kind { WRONG, CRASH, HANG, SLOW, COMPILE, MEMORY } fault_kind;
static const struct {
  const char *name;
  fault_kind kind;
  pattern find;
} FAULTS[] = {
#define FAULT(id, name, kind, doc) {name, kind, id},
#include "faults.def"
#undef FAULT
};

// ---- programs -----------------------------------------------------------------------------------

static void die(size_t fault) {
  fprintf(stderr, "Check failed: %s != nullptr (faulty_rule.cc:%zu)\n", FAULTS[fault].name,
          100 + fault);
  abort();
}

static hsc_status *spoil(hsc_module *module, size_t fault, bool *out_found) {
  int computations = module->computation_count;
  for (int c = 0; c < computations; c++) {
    hsc_computation *computation = module->computations[c];
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_builder b;
      hsc_builder_at(&b, computation, instr->next);
      hsc_instr *by = FAULTS[fault].find(&b, instr);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      *out_found |= by != NULL;
      if (by && FAULTS[fault].kind == CRASH)
        die(fault);
      if (by && FAULTS[fault].kind == WRONG)
        HSC_TRY(hsc_instr_replace_uses(instr, by));
    }
  }
  return hsc_module_verify(module);
}

static hsc_status *spoiled(const PJRT_Program *program,
                           size_t fault,
                           bool *out_found,
                           hsc_bytes *out) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read((hsc_view){program->code, program->code_size}, "program", &module));
  hsc_status *status = spoil(module, fault, out_found);
  if (!status)
    status = hsc_program_write(module, HSC_FORMAT_HLO_TEXT, out);
  hsc_module_destroy(module);
  return status;
}

// ---- executables that are slow or large ---------------------------------------------------------

enum { MOST_MARKED = 64, MOST_DEVICES = 8, TIMES = 12, LEAST_NS = 500000 };

// Loaded executables and their executables alike; the oldest goes when there are too many.
static struct {
  pthread_mutex_t lock;
  const void *items[MOST_MARKED];
  size_t next;
  fault_kind kind;  // of the fault that marks: a process has one
} marked = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set_mark(const void *executable) {
  pthread_mutex_lock(&marked.lock);
  marked.items[marked.next++ % MOST_MARKED] = executable;
  pthread_mutex_unlock(&marked.lock);
}

// Whether it has a mark; `take`: not any more.
static bool has_mark(const void *executable, bool take) {
  bool found = false;
  pthread_mutex_lock(&marked.lock);
  for (size_t i = 0; i < MOST_MARKED; i++) {
    bool same = marked.items[i] == executable;
    found |= same;
    if (same && take)
      marked.items[i] = NULL;
  }
  pthread_mutex_unlock(&marked.lock);
  return found;
}

static void linger(int64_t start_ns) {
  int64_t took_ns = hsc_now_ns() - start_ns;
  int64_t wanted_ns = (took_ns < LEAST_NS ? LEAST_NS : took_ns) * (TIMES - 1);
  struct timespec rest = {wanted_ns / 1000000000, wanted_ns % 1000000000};
  nanosleep(&rest, NULL);
}

static void free_error(PJRT_Error *error) {
  PJRT_Error_Destroy_Args args = {.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE,
                                  .error = error};
  if (error)
    real->PJRT_Error_Destroy(&args);
}

static void wait_for(PJRT_Event *event, bool destroy) {
  PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE, .event = event};
  PJRT_Event_Destroy_Args end = {.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE,
                                 .event = event};
  free_error(real->PJRT_Event_Await(&await));
  if (destroy)
    free_error(real->PJRT_Event_Destroy(&end));
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  int64_t start_ns = hsc_now_ns();
  PJRT_Event *done[MOST_DEVICES] = {0};
  PJRT_LoadedExecutable_Execute_Args with = *args;
  bool slow =
      marked.kind == SLOW && has_mark(args->executable, false) && args->num_devices <= MOST_DEVICES;
  if (!slow)
    return real->PJRT_LoadedExecutable_Execute(args);
  if (!args->device_complete_events)
    with.device_complete_events = done;
  PJRT_Error *error = real->PJRT_LoadedExecutable_Execute(&with);
  for (size_t i = 0; !error && i < args->num_devices; i++)
    wait_for(with.device_complete_events[i], !args->device_complete_events);
  if (!error)
    linger(start_ns);
  return error;
}

static PJRT_Error *get_executable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  PJRT_Error *error = real->PJRT_LoadedExecutable_GetExecutable(args);
  if (!error && has_mark(args->loaded_executable, false))
    set_mark(args->executable);
  return error;
}

static PJRT_Error *memory_of(PJRT_Executable_GetCompiledMemoryStats_Args *args) {
  PJRT_Error *error = real->PJRT_Executable_GetCompiledMemoryStats(args);
  if (!error && marked.kind == MEMORY && has_mark(args->executable, false))
    args->temp_size_in_bytes = TIMES * (args->temp_size_in_bytes + (1 << 20));
  return error;
}

static PJRT_Error *destroy_loaded(PJRT_LoadedExecutable_Destroy_Args *args) {
  has_mark(args->executable, true);
  return real->PJRT_LoadedExecutable_Destroy(args);
}

static PJRT_Error *destroy_executable(PJRT_Executable_Destroy_Args *args) {
  has_mark(args->executable, true);
  return real->PJRT_Executable_Destroy(args);
}

// ---- compiling ----------------------------------------------------------------------------------

static PJRT_Error *compile_as(PJRT_Client_Compile_Args *args, hsc_bytes *code) {
  PJRT_Program other = *args->program;
  PJRT_Client_Compile_Args with = *args;
  other.code = code->data;
  other.code_size = code->size;
  other.format = (char *)(uintptr_t)"hlo";
  other.format_size = 3;
  with.program = &other;
  PJRT_Error *error = real->PJRT_Client_Compile(&with);
  args->executable = with.executable;
  return error;
}

// Whether HLOSCOPE_FAULT_CHANCE makes it slow: its mark in that folder is made by whoever is first.
static bool is_slow_by_chance(const hsc_bytes *code) {
  const char *folder = getenv("HLOSCOPE_FAULT_CHANCE");
  char name[33];
  char path[4096];
  if (!folder)
    return false;
  hsc_hash128_hex(hsc_hash128_of(code->data, code->size, 0), name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0)
    close(file);
  return file >= 0;
}

static PJRT_Error *compile_with_fault(PJRT_Client_Compile_Args *args, size_t fault) {
  hsc_bytes code = {0};
  bool found = false;
  int64_t start_ns = hsc_now_ns();
  marked.kind = FAULTS[fault].kind;
  hsc_status *status = spoiled(args->program, fault, &found, &code);
  if (status) {
    fprintf(stderr, "faulty plugin: %s\n", hsc_status_message(status));
    hsc_status_free(status);
    hsc_bytes_deinit(&code);
    return real->PJRT_Client_Compile(args);
  }
  while (found && FAULTS[fault].kind == HANG)
    pause();
  found |= FAULTS[fault].kind == SLOW && is_slow_by_chance(&code);
  PJRT_Error *error = compile_as(args, &code);
  hsc_bytes_deinit(&code);
  bool marks = FAULTS[fault].kind == SLOW || FAULTS[fault].kind == MEMORY;
  if (found && !error && marks)
    set_mark(args->executable);
  if (found && FAULTS[fault].kind == COMPILE)
    linger(start_ns);
  return error;
}

static PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  const char *wanted = getenv("HLOSCOPE_FAULT");
  for (size_t i = 0; wanted && i < HSC_COUNT_OF(FAULTS); i++)
    if (!strcmp(FAULTS[i].name, wanted))
      return compile_with_fault(args, i);
  return real->PJRT_Client_Compile(args);
}

__attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) {
  char path[4096];
  char *here = NULL;
  if (real)
    return &table;
  if (hsc_self_dir((const void *)(uintptr_t)&GetPjrtApi, &here))
    return NULL;
  snprintf(path, sizeof path, "%s/../../libhloscope_cpu_pjrt.so", here);
  hsc_free(here);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const PJRT_Api *(*get)(void) = NULL;
  if (library)
    *(void **)&get = dlsym(library, "GetPjrtApi");
  if (!get)
    return NULL;
  real = get();
  table = *real;
  table.PJRT_Client_Compile = compile;
  table.PJRT_LoadedExecutable_Execute = execute;
  table.PJRT_LoadedExecutable_GetExecutable = get_executable;
  table.PJRT_LoadedExecutable_Destroy = destroy_loaded;
  table.PJRT_Executable_Destroy = destroy_executable;
  table.PJRT_Executable_GetCompiledMemoryStats = memory_of;
  return &table;
}
