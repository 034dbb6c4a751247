// kernel_case.c - see kernel_case.h.
#include "kernel_case.h"

#include <stdlib.h>

#include "formats/common/formats.h"

static hsc_cpu_device *device;

hsc_cpu_device *kernel_case_device(void) {
  if (!device)
    EXPECT_OK(hsc_cpu_device_create(&(hsc_cpu_device_options){.thread_count = 3}, &device));
  return device;
}

void kernel_case_end_all(void) {
  hsc_cpu_device_destroy(device);
  device = NULL;
}

void kernel_case_begin(kernel_case *c, uint64_t seed) {
  *c = (kernel_case){.seed = seed};
  hsc_random_init(&c->random, seed * 7919 + 13);
  EXPECT_OK(hsc_module_create("kernel_case", &c->module));
  hsc_builder_init(&c->b, c->module, "main");
}

int64_t kernel_case_below(kernel_case *c, int64_t bound) {
  return (int64_t)hsc_random_below(&c->random, (uint64_t)bound);
}

static void add_literal(kernel_case *c, hsc_shape shape, int range) {
  hsc_type type = shape.type;
  hsc_literal *literal = NULL;
  EXPECT_OK(hsc_literal_create(c->module->arena, &shape, &literal));
  bool is_unsigned = hsc_type_class_of(type) == HSC_CLASS_UNSIGNED || type == HSC_TYPE_PRED;
  for (int64_t i = 0; i < hsc_shape_elements(&shape); i++) {
    int64_t value =
        is_unsigned ? kernel_case_below(c, range + 1) : kernel_case_below(c, 2 * range + 1) - range;
    if (hsc_type_is_complex(type))
      hsc_literal_set_complex(literal, i, (double)value,
                              (double)(kernel_case_below(c, 2 * range + 1) - range));
    else if (hsc_type_is_float(type))
      hsc_literal_set_double(literal, i, (double)value);
    else
      hsc_literal_set_int(literal, i, value);
  }
  c->inputs[c->input_count++] = literal;
}

hsc_instr *kernel_case_input(
    kernel_case *c, hsc_type type, int rank, const int64_t *dims, int range) {
  hsc_shape shape = hsc_shape_array(c->module->arena, type, rank, dims);
  char name[16];
  snprintf(name, sizeof name, "x%d", c->input_count);
  hsc_instr *parameter = hsc_build_parameter(&c->b, c->input_count, shape, name);
  add_literal(c, shape, range);
  return parameter;
}

void kernel_case_begin_text(kernel_case *c, uint64_t seed, const char *text, int range) {
  *c = (kernel_case){.seed = seed};
  hsc_random_init(&c->random, seed * 7919 + 13);
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "case.hlo", &c->module));
  EXPECT_OK(hsc_module_verify(c->module));
  for (int p = 0; p < c->module->entry->parameter_count; p++)
    add_literal(c, c->module->entry->parameters[p]->shape, range);
}

static void fail_with_module(const kernel_case *c, const char *why) {
  hsc_bytes text = {0};
  hsc_module_print(c->module, NULL, &text);
  fail_msg("seed %llu: %s\n%s", (unsigned long long)c->seed, why, hsc_bytes_text(&text));
}

void kernel_case_check(kernel_case *c, hsc_instr *root, uint64_t max_ulp) {
  hsc_status *status = hsc_builder_finish(&c->b, root, &c->module->entry);
  if (status)
    fail_with_module(c, hsc_status_message(status));
  kernel_case_check_module(c, max_ulp);
}

void kernel_case_check_module(kernel_case *c, uint64_t max_ulp) {
  char why[512];
  const hsc_instr *root = c->module->entry->root;
  hsc_status *status;
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_literal *expected = NULL;
  hsc_literal *result = NULL;
  status = hsc_evaluate(c->module, c->input_count, c->inputs, arena, &expected);
  if (status)
    fail_with_module(c, hsc_status_message(status));
  hsc_cpu_executable *executable = NULL;
  status = hsc_cpu_compile(kernel_case_device(), c->module, NULL, &executable);
  if (status)
    fail_with_module(c, hsc_status_message(status));
  for (int32_t t = 0; t < executable->thunk_count; t++)
    if (executable->thunks[t].kind == HSC_CPU_THUNK_EVALUATOR && !c->may_use_evaluator)
      fail_with_module(c, "the evaluator ran it, no kernel did");
  EXPECT_OK(hsc_literal_create(arena, &root->shape, &result));
  const void *inputs[KERNEL_CASE_INPUTS] = {0};
  void *input_memory[KERNEL_CASE_INPUTS] = {0};
  void *outputs[KERNEL_CASE_INPUTS] = {0};
  for (int i = 0; i < c->input_count; i++) {
    size_t bytes = (size_t)hsc_shape_bytes(&c->inputs[i]->shape);
    assert_int_equal(posix_memalign(&input_memory[i], 64, bytes + 64), 0);
    if (bytes)
      memcpy(input_memory[i], c->inputs[i]->data, bytes);
    inputs[i] = input_memory[i];
  }
  int leaves = hsc_shape_leaf_count(&root->shape);
  assert_true(leaves <= KERNEL_CASE_INPUTS);
  for (int o = 0; o < leaves; o++) {
    size_t bytes = (size_t)hsc_shape_bytes(hsc_shape_leaf(&root->shape, o));
    assert_int_equal(posix_memalign(&outputs[o], 64, bytes + 64), 0);
    memset(outputs[o], 0xc5, bytes + 64);
  }
  // Twice: what is left over in scratch from the first run must not matter.
  for (int run = 0; run < 2; run++) {
    status = hsc_cpu_execute(executable, inputs, outputs);
    if (status)
      fail_with_module(c, hsc_status_message(status));
  }
  for (int o = 0; o < leaves; o++) {
    hsc_literal *leaf = hsc_shape_is_tuple(&root->shape) ? &result->elements[o] : result;
    size_t bytes = (size_t)hsc_shape_bytes(&leaf->shape);
    if (bytes)
      memcpy(leaf->data, outputs[o], bytes);
    for (int i = 0; i < 64; i++)
      if (((uint8_t *)outputs[o])[bytes + (size_t)i] != 0xc5)
        fail_with_module(c, "bytes past the output were written");
  }
  hsc_difference d = {0};
  EXPECT_OK(hsc_literal_compare(expected, result, &d));
  if ((d.max_ulp > max_ulp && d.max_abs > c->max_abs) || d.nan_mismatches) {
    snprintf(why, sizeof why, "output %d, element %lld: %.9g, the evaluator says %.9g", d.leaf,
             (long long)d.index, d.right, d.left);
    fail_with_module(c, why);
  }
  for (int i = 0; i < c->input_count; i++)
    free(input_memory[i]);
  for (int o = 0; o < leaves; o++)
    free(outputs[o]);
  hsc_cpu_executable_release(executable);
  hsc_arena_destroy(arena);
  hsc_module_destroy(c->module);
}
