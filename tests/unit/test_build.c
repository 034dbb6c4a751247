// Building and editing modules: sticky errors, names, links, clones, order of computations,
// fingerprints.
#include "unit.h"

#include "hlo/ir/hlo.h"

static hsc_module *module;
static hsc_builder b;
static hsc_shape f32_4;

static int setup(void **state) {
  hsc_status *status = hsc_module_create("test", &module);
  if (!status) {
    hsc_builder_init(&b, module, "main");
    f32_4 = hsc_shape_array(module->arena, HSC_TYPE_F32, 1, (int64_t[]){4});
  }
  hsc_status_free(status);
  return status != NULL;
}

static int teardown(void **state) {
  hsc_status_free(b.status);
  hsc_module_destroy(module);
  return 0;
}

static hsc_instr *parameter(int number) {
  return hsc_build_parameter(&b, number, f32_4, "x");
}

static void expect_finish_fails(const char *word) {
  hsc_status *status = hsc_builder_finish(&b, NULL, NULL);
  assert_non_null(status);
  if (!strstr(hsc_status_message(status), word))
    fail_msg("'%s' is not in: %s", word, hsc_status_message(status));
  hsc_status_free(status);
}

// ---- errors -------------------------------------------------------------------------------------

static void the_first_error_stays_and_later_calls_are_harmless(void **state) {
  hsc_instr *x = parameter(0);
  hsc_instr *scalar = hsc_build_scalar(&b, HSC_TYPE_F32, 1);
  hsc_instr *bad = hsc_build_binary(&b, HSC_OP_ADD, x, scalar);
  int count = b.computation->instr_count;
  // What follows must neither crash nor add anything, whatever it looks at.
  hsc_instr *after = hsc_build_dot(&b, bad, bad, (hsc_dot_dims){0});
  after = hsc_build_reshape(&b, after, 1, &bad->shape.dims[7]);
  after = hsc_build_get_tuple_element(&b, hsc_build_tuple(&b, 2, (hsc_instr *[]){after, bad}), 1);
  after = hsc_build_constant(&b, &(hsc_literal){.shape = hsc_shape_scalar(HSC_TYPE_S32)});
  after = hsc_build_while(&b, NULL, NULL, after);
  after = hsc_build_clone(&b, x, NULL);
  hsc_build_parameter(&b, 0, f32_4, "again");
  assert_non_null(after);
  assert_int_equal(b.computation->instr_count, count);
  expect_finish_fails("add: operands differ: operand 0 is f32[4], operand 1 is f32[]");
}

static void what_is_wrong_with_operands_is_said(void **state) {
  hsc_instr *x = parameter(0);
  hsc_build(&b, HSC_OP_ADD, f32_4, 1, &x);
  expect_finish_fails("add: takes 2 operands, was given 1");
  hsc_build(&b, HSC_OP_ADD, f32_4, 2, (hsc_instr *[]){x, NULL});
  expect_finish_fails("add: operand 1 is missing");
  hsc_builder other;
  hsc_builder_init(&other, module, "other");
  hsc_instr *y = hsc_build_parameter(&other, 0, f32_4, "y");
  EXPECT_OK(hsc_builder_finish(&other, y, NULL));
  hsc_build_binary(&b, HSC_OP_ADD, x, y);
  expect_finish_fails("add: operand 1, %y, is not in computation %main");
  hsc_build_parameter(&b, 0, f32_4, "x");
  expect_finish_fails("already has a parameter number 0");
  hsc_build_parameter(&b, -1, f32_4, "x");
  expect_finish_fails("cannot have a parameter number -1");
  hsc_build_scalar(&b, HSC_TYPE_TOKEN, 0);
  expect_finish_fails("constant: no scalar of type token");
  expect_finish_fails("has no root");
  EXPECT_CODE(INVALID_ARGUMENT, hsc_builder_finish(&b, y, NULL));
}

// Whatever allocation fails, the answer is a status, and destroying frees all there is (the
// sanitizer builds see to that).
static hsc_status *build_print_and_clone(void) {
  hsc_module *m = NULL;
  hsc_module *clone = NULL;
  hsc_bytes text = {0};
  hsc_status *status = NULL;
  HSC_GOTO(hsc_module_create("m", &m));
  hsc_builder builder;
  hsc_builder_init(&builder, m, "main");
  hsc_shape shape = hsc_shape_array(m->arena, HSC_TYPE_F32, 2, (int64_t[]){4, 8});
  hsc_instr *x = hsc_build_parameter(&builder, 0, shape, "x");
  for (int i = 0; i < 60; i++)
    x = hsc_build_binary(&builder, HSC_OP_ADD, x, x);
  x = hsc_build_reduce(&builder, x, hsc_build_scalar(&builder, HSC_TYPE_F32, 0),
                       HSC_DIMS(m->arena, 0),
                       hsc_module_scalar_reducer(m, HSC_OP_ADD, HSC_TYPE_F32));
  HSC_GOTO(hsc_builder_finish(&builder, x, &m->entry));
  HSC_GOTO(hsc_module_sort(m));
  HSC_GOTO(hsc_module_verify(m));
  HSC_GOTO(hsc_module_clone(m, &clone));
  hsc_module_fingerprint(clone);
  hsc_module_print(clone, NULL, &text);
  HSC_GOTO(hsc_bytes_status(&text));
done:
  hsc_bytes_deinit(&text);
  hsc_module_destroy(clone);
  hsc_module_destroy(m);
  return status;
}

static void running_out_of_memory_is_a_status(void **state) {
  uint64_t n = 1;
  for (;; n++) {
    hsc_alloc_fail_after(n);
    hsc_status *status = build_print_and_clone();
    hsc_alloc_fail_after(0);
    if (!status)
      break;
    if (hsc_status_code(status) != HSC_RESOURCE_EXHAUSTED &&
        hsc_status_code(status) != HSC_INVALID_ARGUMENT)
      fail_msg("allocation %llu: %s", (unsigned long long)n, hsc_status_message(status));
    hsc_status_free(status);
    assert_true(n < 10000);
  }
  assert_true(n > 20);
}

// ---- names --------------------------------------------------------------------------------------

static void names_are_made_legal_and_unique(void **state) {
  static const struct {
    const char *wanted, *given;
  } rows[] = {
      {"x", "x"},      {"x", "x.1"},       {"x.1", "x.2"},     {"x.7", "x.7"},
      {"x.7", "x.3"},  {"a b/c", "a_b_c"}, {"0x", "_0x"},      {"-", "_-"},
      {"f32", "f32_"}, {"s4", "s4_"},      {"tuple", "tuple"}, {"f32.1", "f32.1"},
      {".5", "_.5"},   {"", "parameter"},  {"x.y", "x.y"},     {"x.y", "x.y.1"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++)
    assert_string_equal(hsc_build_parameter(&b, (int64_t)i, f32_4, rows[i].wanted)->name,
                        rows[i].given);
  hsc_instr *first = b.computation->parameters[0];
  hsc_instr *last = b.computation->parameters[HSC_COUNT_OF(rows) - 1];
  EXPECT_OK(hsc_instr_set_name(last, "x"));
  assert_string_equal(last->name, "x.4");
  EXPECT_OK(hsc_instr_set_name(first, "renamed"));
  EXPECT_OK(hsc_instr_set_name(last, "x"));  // free again
  assert_string_equal(last->name, "x");
  EXPECT_OK(hsc_instr_set_name(last, "x"));
  assert_string_equal(last->name, "x");
  // Instructions and computations have names of their own.
  assert_string_equal(hsc_module_add_computation(module, "x")->name, "x");
  assert_string_equal(hsc_module_add_computation(module, "x")->name, "x.5");
  assert_ptr_equal(hsc_module_find(module, "main"), b.computation);
  assert_null(hsc_module_find(module, "nobody"));
}

static void the_name_of_a_removed_instruction_is_free(void **state) {
  hsc_instr *x = parameter(0);
  hsc_instr *old = hsc_build_unary(&b, HSC_OP_NEGATE, x);
  hsc_instr *by = hsc_build_unary(&b, HSC_OP_SINE, x);
  EXPECT_OK(hsc_instr_set_name(old, "kept"));
  EXPECT_OK(hsc_builder_finish(&b, old, &module->entry));
  EXPECT_OK(hsc_instr_replace_uses(old, by));
  hsc_instr_remove(old);
  EXPECT_OK(hsc_instr_set_name(by, "kept"));
  assert_string_equal(by->name, "kept");
  EXPECT_OK(hsc_module_verify(module));
}

// ---- links --------------------------------------------------------------------------------------

static void replacing_moves_uses_and_the_root(void **state) {
  hsc_instr *x = parameter(0);
  hsc_instr *y = parameter(1);
  hsc_instr *twice = hsc_build_binary(&b, HSC_OP_ADD, x, x);
  hsc_instr *root = hsc_build_binary(&b, HSC_OP_MULTIPLY, x, twice);
  EXPECT_OK(hsc_builder_finish(&b, root, &module->entry));
  EXPECT_OK(hsc_instr_replace_uses(x, y));
  assert_int_equal(x->user_count, 0);
  assert_int_equal(y->user_count, 3);
  assert_ptr_equal(twice->operands[1], y);
  EXPECT_OK(hsc_instr_replace_uses(root, twice));
  assert_ptr_equal(module->entry->root, twice);
  hsc_instr_remove(root);
  // x -> negate(x): the replacement keeps its own use.
  hsc_builder_at(&b, module->entry, twice);
  hsc_instr *negated = hsc_build_unary(&b, HSC_OP_NEGATE, y);
  EXPECT_OK(hsc_instr_replace_uses(y, negated));
  assert_ptr_equal(negated->operands[0], y);
  assert_int_equal(y->user_count, 1);
  assert_int_equal(negated->user_count, 2);
  EXPECT_OK(hsc_module_verify(module));
  hsc_builder_at(&b, module->entry, NULL);
  hsc_instr *scalar = hsc_build_scalar(&b, HSC_TYPE_F32, 0);
  EXPECT_CODE(INVALID_ARGUMENT, hsc_instr_replace_uses(negated, scalar));
}

static void operands_and_order_change(void **state) {
  hsc_instr *x = parameter(0);
  hsc_instr *y = parameter(1);
  hsc_instr *z = parameter(2);
  hsc_instr *tuple = hsc_build_tuple(&b, 2, (hsc_instr *[]){x, y});
  EXPECT_OK(hsc_builder_finish(&b, tuple, &module->entry));
  hsc_instr_set_operand(tuple, 0, y);
  assert_int_equal(x->user_count, 0);
  assert_int_equal(y->user_count, 2);
  EXPECT_OK(hsc_module_verify(module));
  hsc_instr_set_operands(tuple, 3, (hsc_instr *[]){z, x, z});
  tuple->shape = hsc_shape_tuple(module->arena, 3, (hsc_shape[]){f32_4, f32_4, f32_4});
  assert_int_equal(z->user_count, 2);
  assert_int_equal(y->user_count, 0);
  EXPECT_OK(hsc_module_verify(module));
  hsc_instr_move_before(z, x);
  assert_ptr_equal(module->entry->first, z);
  hsc_instr_move_before(z, NULL);
  assert_ptr_equal(module->entry->last, z);
  EXPECT_CODE(INTERNAL, hsc_module_verify(module));  // now it comes after its user
  hsc_instr_move_before(z, tuple);
  EXPECT_OK(hsc_module_verify(module));
}

// With 20,000 users, removal in any sensible order must not look at all of them each time.
static void many_users_come_and_go_quickly(void **state) {
  enum { COUNT = 20000 };
  hsc_instr *x = parameter(0);
  EXPECT_OK(hsc_builder_finish(&b, x, &module->entry));
  for (int order = 0; order < 2; order++) {
    hsc_builder_at(&b, module->entry, NULL);
    for (int i = 0; i < COUNT; i++)
      hsc_build_unary(&b, HSC_OP_NEGATE, x);
    EXPECT_OK(hsc_builder_finish(&b, NULL, NULL));
    assert_int_equal(x->user_count, COUNT);
    int64_t start_ns = cpu_ns();
    for (hsc_instr *instr = order ? module->entry->last : x->next, *next; instr && instr != x;
         instr = next) {
      next = order ? instr->prev : instr->next;
      hsc_instr_remove(instr);
    }
    assert_int_equal(x->user_count, 0);
    assert_true(cpu_ns() - start_ns < 500000000);  // quadratic would be seconds
    EXPECT_OK(hsc_module_verify(module));
  }
}

static void effects_and_control_edges_keep_instructions_alive(void **state) {
  hsc_instr *x = parameter(0);
  hsc_instr *dead = hsc_build_unary(&b, HSC_OP_NEGATE, x);
  hsc_instr *before = hsc_build_unary(&b, HSC_OP_SINE, x);
  hsc_instr *after = hsc_build_unary(&b, HSC_OP_COSINE, x);
  hsc_instr *zero = hsc_build_scalar(&b, HSC_TYPE_F32, 0);
  hsc_instr *random =
      hsc_build_op(&b, HSC_OP_RNG, f32_4, &(hsc_attr){.rng = {.distribution = HSC_RNG_UNIFORM}}, 2,
                   (hsc_instr *[]){zero, zero}, 0, NULL);
  hsc_instr *called = hsc_build(&b, HSC_OP_CUSTOM_CALL, f32_4, 1, &x);
  called->attr.custom.target = "t";
  hsc_instr_add_control_predecessor(after, before);
  hsc_instr_add_control_predecessor(after, before);  // once
  assert_int_equal(after->control_count, 1);
  EXPECT_OK(hsc_builder_finish(&b, x, &module->entry));
  assert_true(hsc_instr_is_dead(dead) && hsc_instr_is_dead(called));
  assert_false(hsc_instr_is_dead(x) || hsc_instr_is_dead(before) || hsc_instr_is_dead(after) ||
               hsc_instr_is_dead(random));
  called->attr.custom.has_side_effect = true;
  assert_true(hsc_instr_has_effect(called) && !hsc_instr_is_dead(called));
  hsc_instr_drop_control(after);
  assert_true(hsc_instr_is_dead(before) && hsc_instr_is_dead(after));
  double value;
  hsc_instr *spread = hsc_build_broadcast(&b, zero, f32_4, (hsc_dims){0});
  assert_true(hsc_instr_is_scalar_constant(spread, &value) && value == 0);
  assert_false(hsc_instr_is_scalar_constant(x, &value));
}

// An effect deep inside a call counts for the call.
static void effects_are_seen_through_calls(void **state) {
  hsc_builder inner;
  hsc_builder_init(&inner, module, "draws");
  hsc_instr *p = hsc_build_parameter(&inner, 0, f32_4, "p");
  hsc_instr *zero = hsc_build_scalar(&inner, HSC_TYPE_F32, 0);
  hsc_build_op(&inner, HSC_OP_RNG, f32_4, &(hsc_attr){.rng = {.distribution = HSC_RNG_NORMAL}}, 2,
               (hsc_instr *[]){zero, zero}, 0, NULL);
  hsc_computation *draws = NULL;
  EXPECT_OK(hsc_builder_finish(&inner, p, &draws));
  hsc_instr *x = parameter(0);
  hsc_instr *call = hsc_build_call(&b, draws, 1, &x);
  EXPECT_OK(hsc_builder_finish(&b, x, &module->entry));
  assert_true(hsc_instr_has_effect(call));
  assert_false(hsc_instr_is_dead(call));
}

// ---- clones, order, fingerprints ----------------------------------------------------------------

static hsc_computation *unary_computation(const char *name, hsc_op op) {
  hsc_builder inner;
  hsc_computation *computation = NULL;
  hsc_builder_init(&inner, module, name);
  hsc_instr *p = hsc_build_parameter(&inner, 0, f32_4, "p");
  EXPECT_OK(hsc_builder_finish(&inner, hsc_build_unary(&inner, op, p), &computation));
  return computation;
}

static void sorting_orders_and_drops(void **state) {
  hsc_computation *unused = unary_computation("unused", HSC_OP_SINE);
  hsc_computation *late = unary_computation("late", HSC_OP_COSINE);
  hsc_instr *x = parameter(0);
  hsc_instr *call = hsc_build_call(&b, late, 1, &x);
  EXPECT_OK(hsc_builder_finish(&b, call, &module->entry));
  assert_ptr_equal(module->computations[0], module->entry);
  EXPECT_OK(hsc_module_sort(module));
  assert_int_equal(module->computation_count, 2);
  assert_ptr_equal(module->computations[0], late);
  assert_ptr_equal(module->computations[1], module->entry);
  assert_null(hsc_module_find(module, "unused"));
  assert_null(unused->module);
  EXPECT_OK(hsc_module_verify(module));
  // Recursion is refused.
  hsc_builder inner;
  hsc_builder_at(&inner, late, NULL);
  hsc_build_call(&inner, module->entry, 1, &late->parameters[0]);
  EXPECT_OK(hsc_builder_finish(&inner, NULL, NULL));
  EXPECT_CODE(FAILED_PRECONDITION, hsc_module_sort(module));
  EXPECT_CODE(FAILED_PRECONDITION, hsc_module_verify(module));
}

static bool same(hsc_hash128 x, hsc_hash128 y) {
  return x.low == y.low && x.high == y.high;
}

static void fingerprints_see_meaning(void **state) {
  hsc_computation *sine = unary_computation("sine", HSC_OP_SINE);
  hsc_computation *again = unary_computation("other_name", HSC_OP_SINE);
  hsc_computation *cosine = unary_computation("cosine", HSC_OP_COSINE);
  assert_true(same(hsc_computation_fingerprint(sine), hsc_computation_fingerprint(again)));
  assert_false(same(hsc_computation_fingerprint(sine), hsc_computation_fingerprint(cosine)));
  hsc_instr *x = parameter(0);
  hsc_instr *y = parameter(1);
  hsc_instr *call = hsc_build_call(&b, sine, 1, &x);
  hsc_instr *sum = hsc_build_binary(&b, HSC_OP_ADD, call, y);
  EXPECT_OK(hsc_builder_finish(&b, sum, &module->entry));
  hsc_hash128 start = hsc_module_fingerprint(module);
  // Not: names, metadata, ids, places in the text, which of two equal computations is called, the
  // order of independent instructions.
  EXPECT_OK(hsc_instr_set_name(sum, "renamed"));
  sum->metadata = &(hsc_metadata){.op_name = "somewhere"};
  sum->line = 7;
  sum->id += 1000;
  hsc_instr_set_called(call, 1, &again);
  hsc_instr_move_before(y, x);
  assert_true(same(start, hsc_module_fingerprint(module)));
  // But: operands, called computations, attributes, constants, layouts, a second copy, control
  // edges.
  hsc_instr_set_called(call, 1, &cosine);
  assert_false(same(start, hsc_module_fingerprint(module)));
  hsc_instr_set_called(call, 1, &sine);
  hsc_instr_set_operand(sum, 1, call);
  assert_false(same(start, hsc_module_fingerprint(module)));
  hsc_instr_set_operand(sum, 1, y);
  sum->frontend_attributes = "{k=\"v\"}";
  assert_false(same(start, hsc_module_fingerprint(module)));
  sum->frontend_attributes = NULL;
  hsc_instr_add_control_predecessor(sum, x);
  assert_false(same(start, hsc_module_fingerprint(module)));
  hsc_instr_drop_control(sum);
  module->donors = &(hsc_alias){.parameter = 1};
  module->donor_count = 1;
  assert_false(same(start, hsc_module_fingerprint(module)));
  module->donor_count = 0;
  assert_true(same(start, hsc_module_fingerprint(module)));
  hsc_builder_at(&b, module->entry, sum);
  hsc_instr *copy = hsc_build_call(&b, sine, 1, &x);
  assert_false(same(start, hsc_module_fingerprint(module)));
  hsc_instr_remove(copy);
  assert_true(same(start, hsc_module_fingerprint(module)));
}

static void attributes_compare(void **state) {
  hsc_shape matrix = hsc_shape_array(module->arena, HSC_TYPE_F32, 2, (int64_t[]){4, 4});
  hsc_instr *x = hsc_build_parameter(&b, 0, matrix, "x");
  hsc_instr *t1 = hsc_build_transpose(&b, x, HSC_DIMS(module->arena, 1, 0));
  hsc_instr *t2 = hsc_build_transpose(&b, x, HSC_DIMS(module->arena, 1, 0));
  hsc_instr *t3 = hsc_build_transpose(&b, x, HSC_DIMS(module->arena, 0, 1));
  hsc_instr *n = hsc_build_unary(&b, HSC_OP_NEGATE, x);
  assert_true(hsc_attr_equal(t1, t2));
  assert_false(hsc_attr_equal(t1, t3) || hsc_attr_equal(t1, n));
  t2->backend_config = "{}";
  assert_false(hsc_attr_equal(t1, t2));
  hsc_computation *add = hsc_module_scalar_reducer(module, HSC_OP_ADD, HSC_TYPE_F32);
  hsc_computation *mul = hsc_module_scalar_reducer(module, HSC_OP_MULTIPLY, HSC_TYPE_F32);
  hsc_computation *add_copy = NULL;
  assert_ptr_equal(add, hsc_module_scalar_reducer(module, HSC_OP_ADD, HSC_TYPE_F32));
  EXPECT_OK(hsc_computation_clone(module, add, "copy", true, &add_copy));
  assert_string_equal(add_copy->name, "reducer_add_f32.copy");
  hsc_instr *zero = hsc_build_scalar(&b, HSC_TYPE_F32, 0);
  hsc_instr *r1 = hsc_build_reduce(&b, x, zero, HSC_DIMS(module->arena, 0), add);
  hsc_instr *r2 = hsc_build_reduce(&b, x, zero, HSC_DIMS(module->arena, 0), add_copy);
  hsc_instr *r3 = hsc_build_reduce(&b, x, zero, HSC_DIMS(module->arena, 0), mul);
  assert_true(hsc_attr_equal(r1, r2));
  assert_false(hsc_attr_equal(r1, r3));
}

static void clones_cross_modules(void **state) {
  hsc_computation *sine = unary_computation("sine", HSC_OP_SINE);
  hsc_computation *copy = NULL;
  hsc_instr *x = parameter(0);
  hsc_instr *call = hsc_build_call(&b, sine, 1, &x);
  hsc_computation *caller = NULL;
  EXPECT_OK(hsc_builder_finish(&b, call, &caller));
  hsc_module *other = NULL;
  EXPECT_OK(hsc_module_create("other", &other));
  EXPECT_CODE(FAILED_PRECONDITION, hsc_computation_clone(other, caller, NULL, false, &copy));
  EXPECT_OK(hsc_computation_clone(other, caller, "c", true, &copy));
  other->entry = copy;
  module->entry = caller;
  hsc_hash128 mine = hsc_computation_fingerprint(caller);
  hsc_module_destroy(module);
  module = other;  // teardown's
  EXPECT_OK(hsc_module_sort(other));
  EXPECT_OK(hsc_module_verify(other));
  assert_true(same(mine, hsc_computation_fingerprint(copy)));
  assert_string_equal(copy->name, "main.c");
  assert_string_equal(copy->root->called[0]->name, "sine.c");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(the_first_error_stays_and_later_calls_are_harmless),
      TEST(what_is_wrong_with_operands_is_said),
      cmocka_unit_test(running_out_of_memory_is_a_status),
      TEST(names_are_made_legal_and_unique),
      TEST(the_name_of_a_removed_instruction_is_free),
      TEST(replacing_moves_uses_and_the_root),
      TEST(operands_and_order_change),
      TEST(many_users_come_and_go_quickly),
      TEST(effects_and_control_edges_keep_instructions_alive),
      TEST(effects_are_seen_through_calls),
      TEST(sorting_orders_and_drops),
      TEST(fingerprints_see_meaning),
      TEST(attributes_compare),
      TEST(clones_cross_modules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
