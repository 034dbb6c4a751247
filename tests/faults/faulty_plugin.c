// faulty_plugin.c - the built-in device with a fault in its compiler, to measure how well failures
// are reduced. Tests only.
//
// It opens the real plugin (libhloscope_cpu_pjrt.so, two folders up) and is between: a program
// that is compiled is read, changed as the row of faults.def that HLOSCOPE_FAULT names says, and
// given on. A fault shows wherever its pattern is, as a rule of a compiler does.
#include <dlfcn.h>
#include <stdlib.h>

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

// Crashes: the pattern is all that counts.
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

typedef enum fault_kind { WRONG, CRASH } fault_kind;
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

static hsc_status *spoil(hsc_module *module, size_t fault) {
  int computations = module->computation_count;
  for (int c = 0; c < computations; c++) {
    hsc_computation *computation = module->computations[c];
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_builder b;
      hsc_instr *kept = instr->next;
      hsc_builder_at(&b, computation, kept);
      hsc_instr *by = FAULTS[fault].find(&b, instr);
      HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
      if (!by)
        continue;
      if (FAULTS[fault].kind == CRASH) {
        fprintf(stderr, "Check failed: %s != nullptr (faulty_rule.cc:%zu)\n", FAULTS[fault].name,
                100 + fault);
        abort();
      }
      HSC_TRY(hsc_instr_replace_uses(instr, by));
    }
  }
  return hsc_module_verify(module);
}

static hsc_status *spoiled(const PJRT_Program *program, size_t fault, hsc_bytes *out) {
  hsc_module *module = NULL;
  HSC_TRY(hsc_program_read((hsc_view){program->code, program->code_size}, "program", &module));
  hsc_status *status = spoil(module, fault);
  if (!status)
    status = hsc_program_write(module, HSC_FORMAT_HLO_TEXT, out);
  hsc_module_destroy(module);
  return status;
}

static PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  const char *wanted = getenv("HLOSCOPE_FAULT");
  hsc_bytes code = {0};
  for (size_t i = 0; wanted && i < HSC_COUNT_OF(FAULTS); i++) {
    if (strcmp(FAULTS[i].name, wanted) != 0)
      continue;
    hsc_status *status = spoiled(args->program, i, &code);
    if (status) {
      fprintf(stderr, "faulty plugin: %s\n", hsc_status_message(status));
      hsc_status_free(status);
      hsc_bytes_deinit(&code);
      break;
    }
    PJRT_Program other = *args->program;
    PJRT_Client_Compile_Args with = *args;
    other.code = code.data;
    other.code_size = code.size;
    other.format = (char *)(uintptr_t)"hlo";
    other.format_size = 3;
    with.program = &other;
    PJRT_Error *error = real->PJRT_Client_Compile(&with);
    args->executable = with.executable;
    hsc_bytes_deinit(&code);
    return error;
  }
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
  return &table;
}
