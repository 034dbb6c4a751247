// test_reduce.c - every rule that makes programs smaller, on a program of its own; cuts; the values
// that parameters get.
#include "unit.h"

#include "formats/common/formats.h"
#include "transform/reduce/reduce.h"

typedef struct rule_case {
  const char *rule;
  int place;  // that is changed; -1 = all
  const char *before, *after;
} rule_case;

#define LOOP_BODY \
  "body { p = (s32[], f32[4], f32[8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n " \
  "x = f32[4] get-tuple-element(p), index=1\n u = f32[8] get-tuple-element(p), index=2\n " \
  "one = s32[] constant(1)\n j = s32[] add(i, one)\n y = f32[4] add(x, x)\n v = f32[8] " \
  "negate(u)\n ROOT r = (s32[], f32[4], f32[8]) tuple(j, y, v)\n}\n"
#define LOOP_CONDITION(bound) \
  "cond { p = (s32[], f32[4], f32[8]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n " \
  "n = s32[] constant(" bound ")\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
#define LOOP_ENTRY \
  "ENTRY e { x = f32[4] parameter(0)\n u = f32[8] parameter(1)\n z = s32[] constant(0)\n " \
  "t = (s32[], f32[4], f32[8]) tuple(z, x, u)\n " \
  "l = (s32[], f32[4], f32[8]) while(t), condition=cond, body=body\n " \
  "ROOT r = f32[4] get-tuple-element(l), index=1\n}\n"

// clang-format off
static const rule_case CASES[] = {
    {"unused", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " c = f32[4] tanh(b)\n ROOT r = f32[4] add(a, a)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT r = f32[4] add(a, a)\n}\n"},
    {"unused", 1,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " c = f32[4] tanh(b)\n ROOT r = f32[4] add(a, a)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " ROOT r = f32[4] add(a, a)\n}\n"},
    {"outputs", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " c = f32[4] tanh(a)\n ROOT r = (f32[4], f32[4]) tuple(b, c)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] tanh(a)\n}\n"},
    {"roots", 1,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " c = f32[4] tanh(a)\n ROOT r = f32[4] add(b, c)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] tanh(a)\n}\n"},
    {"parameters", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " ROOT c = f32[4] tanh(b)\n}\n",
     "HloModule m\nENTRY e { b = f32[4] parameter(0)\n ROOT c = f32[4] tanh(b)\n}\n"},
    {"constants", 0,
     "HloModule m\nENTRY e { a = f32[2] parameter(0)\n b = f32[2] negate(a)\n"
     " ROOT c = f32[2] add(b, a)\n}\n",
     "HloModule m\nENTRY e { a = f32[2] parameter(0)\n b = f32[2] constant({0, 0})\n"
     " ROOT c = f32[2] add(b, a)\n}\n"},
    {"operands", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n"
     " ROOT c = f32[4] tanh(b)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] tanh(a)\n}\n"},
    {"inline", 0,
     "HloModule m\nf { a = f32[4] parameter(0)\n ROOT b = f32[4] tanh(a)\n}\n"
     "ENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] call(a), to_apply=f\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] tanh(a)\n}\n"},
    {"loops", 0, "HloModule m\n" LOOP_CONDITION("100") LOOP_BODY LOOP_ENTRY,
     "HloModule m\n" LOOP_CONDITION("1") LOOP_BODY LOOP_ENTRY},
    {"carried", 0, "HloModule m\n" LOOP_CONDITION("3") LOOP_BODY LOOP_ENTRY,
     "HloModule m\n"
     "cond { p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
     " n = s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
     "body { p = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
     " x = f32[4] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
     " j = s32[] add(i, one)\n y = f32[4] add(x, x)\n ROOT r = (s32[], f32[4]) tuple(j, y)\n}\n"
     "ENTRY e { x = f32[4] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[4]) tuple(z, x)\n"
     " l = (s32[], f32[4]) while(t), condition=cond, body=body\n"
     " ROOT r = f32[4] get-tuple-element(l), index=1\n}\n"},
    {"tuples", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n t = (f32[4], f32[4]) tuple(a, a)\n"
     " b = f32[4] get-tuple-element(t), index=1\n ROOT c = f32[4] tanh(b)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT c = f32[4] tanh(a)\n}\n"},
    {"merge", 0,
     "HloModule m\nENTRY e { a = f32[] constant(1)\n b = f32[] constant(2)\n"
     " ROOT c = f32[] add(a, b)\n}\n",
     "HloModule m\nENTRY e { a = f32[] constant(1)\n ROOT c = f32[] add(a, a)\n}\n"},
    {"dimensions", 11,  // 4 -> 2, and with it the 128 of the reshape
     "HloModule m\nENTRY e { x = f32[32,4] parameter(0)\n w = f32[4,4] parameter(1)\n"
     " d = f32[32,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT r = f32[128] reshape(d)\n}\n",
     "HloModule m\nENTRY e { x = f32[32,2] parameter(0)\n w = f32[2,2] parameter(1)\n"
     " d = f32[32,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     " ROOT r = f32[64] reshape(d)\n}\n"},
    {"types", 0,
     "HloModule m\nENTRY e { a = bf16[4] parameter(0)\n"
     " k = bf16[4] constant({1, 2, 3, 4})\n ROOT b = bf16[4] add(a, k)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n k = f32[4] constant({1, 2, 3, 4})\n"
     " ROOT b = f32[4] add(a, k)\n}\n"},
    {"attributes", 0,
     "HloModule m\nENTRY e { a = f32[4] parameter(0), sharding={replicated}\n"
     " ROOT b = f32[4] tanh(a)\n}\n",
     "HloModule m\nENTRY e { a = f32[4] parameter(0)\n ROOT b = f32[4] tanh(a)\n}\n"},
};
// clang-format on

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "m.hlo", &module));
  return module;
}

static bool same(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

static void apply(const hsc_module *module, const char *rule, int place, hsc_reduced *out) {
  int64_t places = 0;
  const hsc_reduce_rule *row = hsc_reduce_rule_get(rule);
  assert_non_null(row);
  EXPECT_OK(hsc_reduce_places(row, module, &places));
  assert_true(places > (place < 0 ? 0 : place));
  bool *chosen = hsc_alloc((size_t)places);
  for (int64_t i = 0; i < places; i++)
    chosen[i] = place < 0 || i == place;
  EXPECT_OK(hsc_reduce_apply(row, module, chosen, places, out));
  hsc_free(chosen);
}

static void each_rule_does_what_its_row_says(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(CASES); i++) {
    hsc_module *before = parse(CASES[i].before);
    hsc_module *after = parse(CASES[i].after);
    hsc_reduced reduced;
    apply(before, CASES[i].rule, CASES[i].place, &reduced);
    if (!reduced.module)
      fail_msg("%s made nothing", CASES[i].rule);
    if (!same(reduced.module, after)) {
      hsc_bytes text = {0};
      hsc_module_print(reduced.module, NULL, &text);
      print_message("%s made\n%s\n", CASES[i].rule, hsc_bytes_text(&text));
      hsc_bytes_deinit(&text);
      fail();
    }
    hsc_reduced_deinit(&reduced);
    hsc_module_destroy(before);
    hsc_module_destroy(after);
  }
}

static void each_rule_has_a_case(void **state) {
  for (size_t r = 0; r < hsc_reduce_rule_count(); r++) {
    bool found = false;
    for (size_t i = 0; i < HSC_COUNT_OF(CASES); i++)
      found |= !strcmp(CASES[i].rule, hsc_reduce_rule_at(r)->name);
    if (!found)
      fail_msg("rule %s has no case", hsc_reduce_rule_at(r)->name);
  }
}

static void nothing_chosen_is_no_program(void **state) {
  bool none[64] = {false};
  for (size_t i = 0; i < HSC_COUNT_OF(CASES); i++) {
    hsc_module *before = parse(CASES[i].before);
    hsc_reduced reduced;
    EXPECT_OK(hsc_reduce_apply(hsc_reduce_rule_get(CASES[i].rule), before, none, 64, &reduced));
    assert_null(reduced.module);
    hsc_module_destroy(before);
  }
}

// Parameters that stay keep their values whatever their new number; a new one gets the value of the
// instruction that it stands for.
static void inputs_say_where_values_come_from(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] parameter(1)\n c = f32[4] "
      "negate(a)\n ROOT d = f32[4] add(c, b)\n}\n");
  hsc_reduced reduced;
  apply(module, "parameters", 0, &reduced);
  assert_int_equal(reduced.module->entry->parameter_count, 2);
  assert_int_equal(reduced.inputs[0].parameter, 1);
  assert_int_equal(reduced.inputs[1].parameter, -1);
  assert_string_equal(reduced.inputs[1].value_of->name, "c");
  hsc_reduced_deinit(&reduced);
  hsc_module_destroy(module);
}

static void cuts_keep_one_side(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n c = f32[4] "
      "tanh(b)\n d = f32[4] add(c, b)\n ROOT r = f32[4] exponential(d)\n}\n");
  hsc_module *first = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n c = f32[4] "
      "tanh(b)\n ROOT r = (f32[4], f32[4]) tuple(b, c)\n}\n");
  hsc_module *last = parse(
      "HloModule m\nENTRY e { b = f32[4] parameter(1)\n c = f32[4] parameter(0)\n d = f32[4] "
      "add(c, b)\n ROOT r = f32[4] exponential(d)\n}\n");
  hsc_reduced reduced;
  assert_int_equal(hsc_reduce_entry_count(module), 4);
  EXPECT_OK(hsc_reduce_keep_first(module, 2, &reduced));
  assert_true(same(reduced.module, first));
  hsc_reduced_deinit(&reduced);
  EXPECT_OK(hsc_reduce_drop_first(module, 2, &reduced));
  assert_int_equal(reduced.module->entry->parameter_count, 2);
  assert_int_equal(hsc_module_instr_count(reduced.module), hsc_module_instr_count(last));
  hsc_reduced_deinit(&reduced);
  hsc_module_destroy(module);
  hsc_module_destroy(first);
  hsc_module_destroy(last);
}

// From the last instruction backwards: what is further away than was asked for becomes parameters,
// other results go; tuples are passed through.
static void a_neighbourhood_has_its_distance(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n c = f32[4] "
      "tanh(b)\n k = f32[4] constant({1, 2, 3, 4})\n d = f32[4] add(c, k)\n"
      " s = f32[4] sine(a)\n e = f32[4] exponential(d)\n ROOT r = (f32[4], f32[4]) tuple(s, e)\n"
      "}\n");
  static const int64_t counts[][2] = {{0, 2}, {1, 4}, {2, 5}, {3, 6}, {9, 6}};
  for (size_t i = 0; i < HSC_COUNT_OF(counts); i++) {
    hsc_reduced reduced;
    EXPECT_OK(hsc_reduce_around_last(module, counts[i][0], &reduced));
    assert_non_null(reduced.module);
    assert_int_equal(hsc_module_instr_count(reduced.module), counts[i][1]);
    assert_int_equal(reduced.module->entry->root->op, HSC_OP_EXP);
    assert_int_equal(reduced.inputs[0].parameter, i < 3 ? -1 : 0);
    hsc_reduced_deinit(&reduced);
  }
  hsc_module_destroy(module);
}

// A rule that is about something else leaves what nothing used before, and takes with it what its
// own change leaves without use.
static void what_was_unused_stays(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n c = f32[4] "
      "tanh(b)\n d = f32[4] cosine(a)\n ROOT r = f32[4] add(d, a)\n}\n");
  hsc_module *all = parse(
      "HloModule m\nENTRY e { a = f32[4] parameter(0)\n b = f32[4] negate(a)\n c = f32[4] "
      "tanh(b)\n ROOT r = f32[4] add(a, a)\n}\n");
  hsc_reduced reduced;
  apply(module, "operands", 2, &reduced);
  assert_non_null(reduced.module);
  assert_int_equal(hsc_module_instr_count(reduced.module), hsc_module_instr_count(all));
  hsc_reduced_deinit(&reduced);
  hsc_module_destroy(module);
  hsc_module_destroy(all);
}

static void tuples_are_flattened(void **state) {
  hsc_module *module = parse(
      "HloModule m\nENTRY e { t = (f32[4], (s32[], f32[2])) parameter(0)\n a = f32[4] "
      "get-tuple-element(t), index=0\n u = (s32[], f32[2]) get-tuple-element(t), index=1\n ROOT r "
      "= ((s32[], f32[2]), f32[4]) tuple(u, a)\n}\n");
  hsc_reduced reduced;
  EXPECT_OK(hsc_reduce_flatten(module, &reduced));
  assert_int_equal(reduced.module->entry->parameter_count, 3);
  assert_int_equal(reduced.module->entry->root->shape.element_count, 3);
  assert_int_equal(reduced.module->entry->root->shape.elements[2].rank, 1);
  hsc_reduced_deinit(&reduced);
  hsc_module_destroy(module);
}

static void values_are_cut_and_converted(void **state) {
  hsc_arena *arena = NULL;
  hsc_literal *old = NULL;
  hsc_literal *value = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_shape from = hsc_shape_array(arena, HSC_TYPE_F32, 2, (int64_t[]){2, 3});
  hsc_shape to = hsc_shape_array(arena, HSC_TYPE_S32, 2, (int64_t[]){2, 2});
  EXPECT_OK(hsc_literal_create(arena, &from, &old));
  for (int i = 0; i < 6; i++)
    hsc_literal_set_double(old, i, i);
  EXPECT_OK(hsc_reduce_value(old, &to, arena, &value));
  assert_int_equal(hsc_literal_get_int(value, 0), 0);
  assert_int_equal(hsc_literal_get_int(value, 1), 1);
  assert_int_equal(hsc_literal_get_int(value, 2), 3);
  assert_int_equal(hsc_literal_get_int(value, 3), 4);
  hsc_arena_destroy(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_rule_does_what_its_row_says),
      cmocka_unit_test(each_rule_has_a_case),
      cmocka_unit_test(nothing_chosen_is_no_program),
      cmocka_unit_test(inputs_say_where_values_come_from),
      cmocka_unit_test(cuts_keep_one_side),
      cmocka_unit_test(a_neighbourhood_has_its_distance),
      cmocka_unit_test(what_was_unused_stays),
      cmocka_unit_test(tuples_are_flattened),
      cmocka_unit_test(values_are_cut_and_converted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
