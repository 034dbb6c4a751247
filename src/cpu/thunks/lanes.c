// lanes.c - see lanes.h. A kernel is made from a `map` over arrays, in a module of helpers that
// dies with the compilation.
#include "cpu/thunks/lanes.h"

#include "cpu/emit/emit.h"

static hsc_status *helpers(hsc_cpu_compiler *compiler, hsc_module **out_module) {
  if (!compiler->helpers)
    HSC_TRY(hsc_module_create("helpers", &compiler->helpers));
  *out_module = compiler->helpers;
  return NULL;
}

hsc_status *hsc__cpu_add_lanes(hsc_cpu_compiler *compiler,
                               const hsc_computation *computation,
                               int32_t *out_kernel) {
  *out_kernel = -1;
  if (!hsc_shape_is_scalar(&computation->root->shape) || computation->parameter_count < 1)
    return NULL;
  for (int p = 0; p < computation->parameter_count; p++)
    if (!hsc_shape_is_scalar(&computation->parameters[p]->shape))
      return NULL;
  hsc_module *module = NULL;
  HSC_TRY(helpers(compiler, &module));
  hsc_computation *clone = NULL;
  HSC_TRY(hsc_computation_clone(module, computation, NULL, true, &clone));
  hsc_builder b;
  hsc_builder_init(&b, module, "lanes");
  int64_t size = HSC_LANES;
  hsc_instr **parameters = HSC_NEW_ARRAY(module->arena, hsc_instr *, computation->parameter_count);
  HSC_TRY(hsc_arena_status(module->arena));
  for (int p = 0; p < computation->parameter_count; p++)
    parameters[p] = hsc_build_parameter(
        &b, p, hsc_shape_array(module->arena, computation->parameters[p]->shape.type, 1, &size),
        "lane");
  hsc_instr *map = hsc_build_calls(
      &b, HSC_OP_MAP, hsc_shape_array(module->arena, computation->root->shape.type, 1, &size),
      computation->parameter_count, parameters, 1, &clone);
  map->attr.dims.dims = HSC_DIMS(module->arena, 0);
  hsc_computation *done = NULL;
  HSC_TRY(hsc_builder_finish(&b, map, &done));
  hsc_kernel_plan plan = {0};
  uint64_t in_place[1];
  bool fits = false;
  HSC_TRY(hsc_kernel_plan_try(map, &compiler->device->isa, &plan, in_place, &fits));
  if (!fits)
    return NULL;
  return hsc__cpu_add_kernel(compiler, map, plan.code_size, out_kernel);
}

// ---- comparators --------------------------------------------------------------------------------

enum { MAX_KEY_DEPTH = 64, MAX_KEY_SIZE = 200 };

// Is the right side the same function of parameter 2 i + 1 as the left side is of 2 i? *operand is
// -1 until a parameter is met.
static bool same_function(const hsc_instr *left,
                          const hsc_instr *right,
                          int64_t *operand,
                          int depth) {
  if (depth > MAX_KEY_DEPTH || left->op != right->op)
    return false;
  if (left->op == HSC_OP_PARAMETER) {
    int64_t number = left->attr.index.value;
    if (number % 2 || right->attr.index.value != number + 1 ||
        (*operand >= 0 && *operand != number / 2))
      return false;
    *operand = number / 2;
    return true;
  }
  if (left == right && left->op == HSC_OP_CONSTANT)
    return true;
  if (left->called_count || !hsc_shape_equal(&left->shape, &right->shape) ||
      !hsc_attr_equal(left, right) || left->operand_count != right->operand_count)
    return false;
  for (int i = 0; i < left->operand_count; i++)
    if (!same_function(left->operands[i], right->operands[i], operand, depth + 1))
      return false;
  return true;
}

static hsc_instr *copy_function(hsc_builder *b, const hsc_instr *instr, hsc_instr *parameter) {
  if (instr->op == HSC_OP_PARAMETER)
    return parameter;
  hsc_instr *operands[8];
  for (int i = 0; i < instr->operand_count; i++)
    operands[i] = copy_function(b, instr->operands[i], parameter);
  return hsc_build_clone(b, instr, operands);
}

// Whether a function written out as a tree, as it is compared and copied, has at most *room
// instructions; what is left of them.
static bool is_small_function(const hsc_instr *instr, int depth, int *room) {
  if (depth > MAX_KEY_DEPTH || instr->operand_count > 8 || --*room < 0)
    return false;
  for (int i = 0; i < instr->operand_count; i++)
    if (!is_small_function(instr->operands[i], depth + 1, room))
      return false;
  return true;
}

hsc_status *hsc__cpu_find_key(hsc_cpu_compiler *compiler,
                              const hsc_computation *comparator,
                              hsc_cpu_key *out_key,
                              bool *out_found) {
  const hsc_instr *root = comparator->root;
  int64_t operand = -1;
  *out_found = false;
  if (root->op != HSC_OP_COMPARE ||
      (root->attr.compare.direction != HSC_LT && root->attr.compare.direction != HSC_GT))
    return NULL;
  const hsc_instr *left = root->operands[0];
  const hsc_instr *right = root->operands[1];
  // First: values that are used twice at each of many levels make a tree of exponential size.
  int room = MAX_KEY_SIZE;
  if (!is_small_function(left, 0, &room))
    return NULL;
  if (!same_function(left, right, &operand, 0) || operand < 0)
    return NULL;
  hsc_type type = left->shape.type;
  if (hsc_type_is_complex(type) || !hsc_shape_is_scalar(&left->shape))
    return NULL;
  if (hsc_type_is_float(type) && type != HSC_TYPE_F32 && type != HSC_TYPE_F64 &&
      type != HSC_TYPE_F16 && type != HSC_TYPE_BF16)
    return NULL;
  *out_key = (hsc_cpu_key){.operand = (int32_t)operand,
                           .descending = root->attr.compare.direction == HSC_GT,
                           .type = (int32_t)type,
                           .total_order = root->attr.compare.type == HSC_COMPARE_TOTALORDER,
                           .kernel = -1};
  if (left->op != HSC_OP_PARAMETER) {
    hsc_module *module = NULL;
    HSC_TRY(helpers(compiler, &module));
    hsc_builder b;
    hsc_computation *function = NULL;
    hsc_builder_init(&b, module, "key");
    hsc_instr *parameter =
        hsc_build_parameter(&b, 0, comparator->parameters[2 * operand]->shape, "x");
    HSC_TRY(hsc_builder_finish(&b, copy_function(&b, left, parameter), &function));
    HSC_TRY(hsc__cpu_add_lanes(compiler, function, &out_key->kernel));
    if (out_key->kernel < 0)
      return NULL;
  }
  *out_found = true;
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

bool hsc__lanes_fit(hsc_cpu_payload *payload,
                    int32_t kernel,
                    int64_t result_bytes,
                    int parameter_count,
                    const int64_t *parameter_bytes) {
  enum { MAX_PARAMETERS = 64 };
  int64_t words[2 + MAX_PARAMETERS] = {HSC_LANES, result_bytes};
  if (parameter_count > MAX_PARAMETERS)
    return false;
  for (int i = 0; i < parameter_count; i++)
    words[2 + i] = parameter_bytes[i];
  return hsc__payload_runs(payload, kernel, words, 2 + parameter_count);
}
