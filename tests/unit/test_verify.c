// The verifier refuses each kind of breakage, and its message names the op, what is wrong and
// where.
//
// Shapes against operands are in test_infer.c; here are links, order, names, parameters,
// computations, aliases.
#include "unit.h"

#include "formats/common/formats.h"

static const char program[] =
    "HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }\n"
    "%inner (p: f32[4]) -> f32[4] {\n"
    "  %p = f32[4] parameter(0)\n"
    "  ROOT %r = f32[4] negate(%p)\n"
    "}\n"
    "ENTRY %main (x: f32[4], y: f32[4]) -> (f32[4], f32[4]) {\n"
    "  %x = f32[4] parameter(0)\n"
    "  %y = f32[4] parameter(1)\n"
    "  %sum = f32[4] add(%x, %y)\n"
    "  %twice = f32[4] multiply(%sum, %sum)\n"
    "  %call = f32[4] call(%twice), to_apply=%inner\n"
    "  %after = f32[4] sine(%x), control-predecessors={%sum}\n"
    "  ROOT %result = (f32[4], f32[4]) tuple(%call, %after)\n"
    "}\n";

static hsc_module *m;
static hsc_instr *x, *y, *sum, *twice, *call, *after, *result;

static int setup(void **state) {
  hsc_status *status = hsc_hlo_text_parse(HSC_VIEW(program), "broken.hlo", &m);
  if (!status) {
    hsc_instr **const names[] = {&x, &y, &sum, &twice, &call, &after, &result};
    hsc_instr *instr = m->entry->first;
    for (size_t i = 0; i < HSC_COUNT_OF(names); i++, instr = instr->next)
      *names[i] = instr;
    status = hsc_module_verify(m);
  }
  hsc_status_free(status);
  return status != NULL;
}

static int teardown(void **state) {
  hsc_module_destroy(m);
  return 0;
}

// Fails with words in its message; `line` is where the status points in the program, 0 = nowhere.
static void expect_broken(hsc_code code, int line, const char *word, const char *more) {
  hsc_status *status = hsc_module_verify(m);
  if (!status)
    fail_msg("taken; '%s' was expected", word);
  const char *message = hsc_status_message(status);
  if (!strstr(message, word) || (more && !strstr(message, more)))
    fail_msg("'%s' and '%s' are not in: %s", word, more ? more : "", message);
  if (hsc_status_code(status) != code)
    fail_msg("code %s: %s", hsc_code_name(hsc_status_code(status)), message);
  if (hsc_status_line(status) != line)
    fail_msg("line %d, not %d: %s", hsc_status_line(status), line, message);
  if (line) {
    assert_string_equal(hsc_status_path(status), "broken.hlo");
    assert_non_null(strstr(hsc_status_notes(status), "of computation %main"));
  }
  hsc_status_free(status);
}

static void operands(void **state) {
  hsc_instr *inner = m->computations[0]->root;
  twice->operands[1] = inner;
  expect_broken(HSC_INTERNAL, 10, "multiply: operand 1, %r,", "is not in its computation");
  twice->operands[1] = call;
  expect_broken(HSC_INTERNAL, 10, "multiply: operand 1, %call,", "comes after it");
  twice->operands[1] = NULL;
  expect_broken(HSC_INTERNAL, 10, "multiply: operand 1 is missing", NULL);
  twice->operands[1] = sum;
  twice->operand_count = 1;
  expect_broken(HSC_INVALID_ARGUMENT, 10, "multiply: takes 2 operands, has 1", NULL);
}

static void users(void **state) {
  sum->user_count = 1;
  expect_broken(HSC_INTERNAL, 9, "add: its list of 1 users", "2 operands");
  sum->user_count = 2;
  sum->users[0] = call;  // as many, but another
  expect_broken(HSC_INTERNAL, 9, "add: its list of 2 users", "2 operands");
  sum->users[0] = twice;
  x->control_successor_count = 1;
  expect_broken(HSC_INTERNAL, 7, "parameter: counts 1 control successors, 0 name it", NULL);
}

static void control_edges(void **state) {
  after->control_predecessors[0] = result;
  expect_broken(HSC_INTERNAL, 12, "sine: control predecessor 0, %result, comes after it", NULL);
  after->control_predecessors[0] = m->computations[0]->root;
  expect_broken(HSC_INTERNAL, 12, "sine: control predecessor 0, %r, is not in its computation",
                NULL);
}

static void names(void **state) {
  const char *name = sum->name;
  sum->name = "nobody";
  expect_broken(HSC_INTERNAL, 9, "add: its name is not registered", NULL);
  sum->name = twice->name;
  expect_broken(HSC_INTERNAL, 9, "add: its name is not registered", NULL);
  sum->name = NULL;
  expect_broken(HSC_INTERNAL, 9, "add: has no name", NULL);
  sum->name = name;
  sum->op = (hsc_op)9999;
  expect_broken(HSC_INTERNAL, 9, "%sum: unknown op 9999", NULL);
}

static void lists(void **state) {
  hsc_instr *prev = twice->prev;
  twice->prev = y;
  expect_broken(HSC_INTERNAL, 0, "computation %main: its list of instructions is broken at %twice",
                NULL);
  twice->prev = prev;
  m->entry->instr_count++;
  expect_broken(HSC_INTERNAL, 0, "computation %main: holds 7 instructions, counts 8", NULL);
  m->entry->instr_count--;
  m->entry->last = after;
  expect_broken(HSC_INTERNAL, 0, "computation %main: holds 7 instructions, counts 7", NULL);
}

static void parameters(void **state) {
  y->attr.index.value = 0;
  expect_broken(HSC_INTERNAL, 8, "parameter: number 0 is not this instruction", NULL);
  y->attr.index.value = 7;
  expect_broken(HSC_INTERNAL, 8, "parameter: number 7 is not this instruction", NULL);
  y->attr.index.value = 1;
  m->entry->parameters[1] = NULL;
  expect_broken(HSC_INTERNAL, 8, "parameter: number 1 is not this instruction", NULL);
}

static void missing_parameters(void **state) {
  hsc_instr_replace_uses(x, y) ? fail() : (void)0;
  hsc_instr_remove(x);
  expect_broken(HSC_INVALID_ARGUMENT, 0, "computation %main: parameter 0 is missing", NULL);
}

static void roots(void **state) {
  m->entry->root = NULL;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "computation %main: has no root", NULL);
  m->entry->root = m->computations[0]->root;
  expect_broken(HSC_INTERNAL, 0, "computation %main: its root %r is not in it", NULL);
  m->entry->root = result;
  m->computations[0]->root = NULL;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "computation %inner: has no root", NULL);
}

static void calls(void **state) {
  hsc_computation *inner = call->called[0];
  call->called[0] = NULL;
  expect_broken(HSC_INTERNAL, 11, "call: called computation 0 is missing", NULL);
  call->called[0] = inner;
  hsc_instr_set_called(twice, 1, &inner);
  expect_broken(HSC_INVALID_ARGUMENT, 10, "multiply: calls computation %inner; this op calls none",
                NULL);
  hsc_instr_set_called(twice, 0, NULL);
  m->computation_count = 1;
  m->computations[0] = m->entry;  // %inner is not listed any more
  expect_broken(HSC_INTERNAL, 11, "call: called computation %inner is not in the module's list",
                NULL);
}

static void modules(void **state) {
  hsc_computation *entry = m->entry;
  m->entry = NULL;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "module m: has no entry computation", NULL);
  m->entry = entry;
  m->computations[1] = m->computations[0];
  expect_broken(HSC_INTERNAL, 0, "module m: lists computation %inner twice", NULL);
  m->computation_count = 1;
  expect_broken(HSC_INTERNAL, 0, "module m: its entry %main is not in its list", NULL);
}

static void shapes(void **state) {
  hsc_shape good = sum->shape;
  sum->shape.dims = (int64_t[]){-4};
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: dimension 0 of its shape is negative: -4", NULL);
  sum->shape.rank = HSC_MAX_RANK + 1;
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: its shape has 33 dimensions", NULL);
  sum->shape = good;
  sum->shape.type = HSC_TYPE_INVALID;
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: its shape has no valid type", NULL);
  sum->shape = good;
  sum->shape.dims = (int64_t[]){INT64_MAX};
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: its shape is larger than any memory", NULL);
  sum->shape = good;
  sum->shape.layout = &(hsc_layout){.rank = 2, .minor_to_major = (int64_t[]){1, 0}};
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: a layout of 2 dimensions for a shape of 1", NULL);
  sum->shape.layout = &(hsc_layout){.rank = 1, .minor_to_major = (int64_t[]){1}};
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: the layout is not a permutation of 1 dimensions",
                NULL);
  sum->shape = hsc_shape_with_type(good, HSC_TYPE_F64);
  expect_broken(HSC_INVALID_ARGUMENT, 9, "add: gives f32[4], but says f64[4]", NULL);
  sum->shape = good;
  hsc_shape nested = good;
  for (int i = 0; i < HSC_MAX_TUPLE_DEPTH + 1; i++)
    nested = hsc_shape_tuple(m->arena, 1, &nested);
  x->shape = nested;
  expect_broken(HSC_INVALID_ARGUMENT, 7, "parameter: tuples nest deeper than 64", NULL);
}

static void aliases(void **state) {
  hsc_alias alias = m->aliases[0];
  m->aliases = &alias;
  alias.parameter = 2;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "module m: input_output_alias 0 names parameter 2 of 2",
                NULL);
  alias.parameter = 0;
  alias.output_index = (hsc_dims){1, (int64_t[]){2}};
  expect_broken(HSC_INVALID_ARGUMENT, 0,
                "module m: input_output_alias 0 names a part that is not there", NULL);
  alias.output_index = (hsc_dims){0};
  expect_broken(HSC_INVALID_ARGUMENT, 0, "module m: input_output_alias 0 joins 16 bytes with 32",
                NULL);
  m->alias_count = 0;
  m->donors = &(hsc_alias){.parameter = 1, .parameter_index = {1, (int64_t[]){0}}};
  m->donor_count = 1;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "module m: buffer_donor 0 names a part that is not there",
                NULL);
}

// A chain of calls that is too deep for those who walk it recursively.
static void depth(void **state) {
  hsc_module_destroy(m);
  EXPECT_OK(hsc_module_create("deep", &m));
  hsc_shape shape = hsc_shape_scalar(HSC_TYPE_F32);
  hsc_computation *last = NULL;
  for (int i = 0; i < 513; i++) {
    if (i == 512) {
      m->entry = last;
      EXPECT_OK(hsc_module_verify(m));
    }
    hsc_builder b;
    hsc_builder_init(&b, m, "c");
    hsc_instr *p = hsc_build_parameter(&b, 0, shape, "p");
    EXPECT_OK(hsc_builder_finish(&b, last ? hsc_build_call(&b, last, 1, &p) : p, &last));
  }
  m->entry = last;
  expect_broken(HSC_INVALID_ARGUMENT, 0, "calls nest deeper than 512", NULL);
  hsc_module_destroy(m);
  EXPECT_OK(hsc_hlo_text_parse(HSC_VIEW(program), NULL, &m));  // teardown's
}

static void one_instruction_is_checked_alone(void **state) {
  EXPECT_OK(hsc_instr_verify(sum));
  sum->shape = hsc_shape_scalar(HSC_TYPE_F32);
  hsc_status *status = hsc_instr_verify(sum);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  assert_int_equal(hsc_status_line(status), 9);
  assert_string_equal(hsc_status_source_line(status), "%sum = f32[] add(%x, %y)");
  hsc_status_free(status);
}

// 20,000 instructions verify in milliseconds; the limit is for a slow machine under a sanitizer.
static void large_modules_are_quick(void **state) {
  hsc_builder b;
  hsc_builder_at(&b, m->entry, result);
  hsc_instr *value = x;
  for (int i = 0; i < 20000; i++)
    value = hsc_build_binary(&b, HSC_OP_ADD, value, x);
  EXPECT_OK(hsc_builder_finish(&b, NULL, NULL));
  int64_t start_ns = cpu_ns();
  EXPECT_OK(hsc_module_verify(m));
  assert_true(cpu_ns() - start_ns < 1000000000);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(operands),
      TEST(users),
      TEST(control_edges),
      TEST(names),
      TEST(lists),
      TEST(parameters),
      TEST(missing_parameters),
      TEST(roots),
      TEST(calls),
      TEST(modules),
      TEST(shapes),
      TEST(aliases),
      TEST(depth),
      TEST(one_instruction_is_checked_alone),
      TEST(large_modules_are_quick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
