#include "unit.h"

#include "formats/common/formats.h"
#include "lab/probe/probe_internal.h"

static const char text[] =
    "HloModule m\n"
    "cond { p = (s32[], f32[32,4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = "
    "s32[] constant(100)\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
    "body { p = (s32[], f32[32,4]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = "
    "f32[32,4] get-tuple-element(p), index=1\n one = s32[] constant(1)\n"
    " j = s32[] add(i, one)\n y = f32[32,4] add(x, x)\n ROOT r = (s32[], f32[32,4]) tuple(j, "
    "y)\n}\n"
    "ENTRY main { w = f32[4,4] parameter(0)\n x = f32[32,4] parameter(1)\n z = s32[] constant(0)\n "
    "t = (s32[], f32[32,4]) tuple(z, x)\n"
    " l = (s32[], f32[32,4]) while(t), condition=cond, body=body\n y = f32[32,4] "
    "get-tuple-element(l), index=1\n s = f32[128] reshape(y)\n"
    " d = f32[32,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = "
    "(f32[128], f32[32,4]) tuple(s, d)\n}\n";

static hsc_module *parse(const char *source) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(source), "m.hlo", &module));
  return module;
}

static void a_program_is_cut_in_three_ways(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_module *module = parse(text);
  hsc_module *small = NULL;
  hsc__probe_cut_result cut;
  EXPECT_OK(
      hsc__probe_cut_program(module, &(hsc__probe_cut){0.25, 0.1, true}, arena, &small, &cut));
  EXPECT_OK(hsc_module_verify(small));
  assert_int_equal(cut.batch_from, 32);
  assert_int_equal(cut.batch_to, 8);
  assert_int_equal(cut.trips_from, 100);
  assert_int_equal(cut.trips_to, 10);
  assert_int_equal(cut.outputs_from, 2);
  assert_null(cut.refused);
  assert_int_equal(small->entry->root->shape.dims[0], 32);  // 8 * 4: the product followed
  assert_true(hsc_module_instr_count(small) < hsc_module_instr_count(module));
  hsc_module_destroy(small);
  EXPECT_OK(hsc__probe_cut_program(module, &(hsc__probe_cut){1, 1, false}, arena, &small, &cut));
  hsc_hash128 a = hsc_module_fingerprint(module);
  hsc_hash128 b = hsc_module_fingerprint(small);
  assert_true(a.low == b.low && a.high == b.high);  // nothing was asked for, nothing changed
  hsc_module_destroy(small);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

// A constant of the batch's size cannot be made smaller: the program stays as it is, and the reason
// is reported.
static void what_cannot_be_cut_is_said(void **state) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  hsc_module *module = parse(
      "HloModule m\nENTRY main { x = f32[3] parameter(0)\n c = f32[3] constant({1, 2, 3})\n ROOT r "
      "= f32[3] add(x, c)\n}\n");
  hsc_module *small = NULL;
  hsc__probe_cut_result cut;
  EXPECT_OK(hsc__probe_cut_program(module, &(hsc__probe_cut){0.5, 0.5, true}, arena, &small, &cut));
  assert_int_equal(cut.batch_from, 0);
  assert_non_null(cut.refused);
  assert_int_equal(small->entry->root->shape.dims[0], 3);
  hsc_module_destroy(small);
  hsc_module_destroy(module);
  hsc_arena_destroy(arena);
}

static void the_ladder_grows(void **state) {
  double before = 0;
  for (int i = 0; i < HSC__PROBE_RUNGS; i++) {
    hsc_module *module = NULL;
    hsc_cost cost;
    EXPECT_OK(hsc__probe_patch_model(&hsc__probe_ladder[i], &module));
    EXPECT_OK(hsc_module_verify(module));
    hsc_module_cost(module, &cost);
    assert_true(cost.flops > 4 * before);
    before = cost.flops;
    hsc_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_is_cut_in_three_ways),
      cmocka_unit_test(what_cannot_be_cut_is_said),
      cmocka_unit_test(the_ladder_grows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
