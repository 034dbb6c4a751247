// test_layouts.c - layout-assignment and layout_normalization together: which transposes go, which
// stay, that nothing keeps an order, and the numbers.
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "unit.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "test.hlo", &module));
  EXPECT_OK(hsc_module_verify(module));
  return module;
}

static void evaluate(const hsc_module *module, hsc_arena *arena, hsc_literal **out) {
  hsc_literal *arguments[8];
  for (int i = 0; i < module->entry->parameter_count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], 7, (uint32_t)i);
  }
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, out));
}

#define SUM "sum { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] add(p, q) }\n"

static const struct {
  const char *what, *text;
  int transposes;  // that are left
} cases[] = {
    {"to a dot's contracting dimension",
     "HloModule t\nENTRY e { x = f32[8,4] parameter(0)\n y = f32[8,3] parameter(1)\n t = f32[4,8] "
     "transpose(x), dimensions={1,0}\n"
     " n = f32[4,8] tanh(t)\n ROOT d = f32[4,3] dot(n, y), lhs_contracting_dims={1}, "
     "rhs_contracting_dims={0} }",
     0},
    {"free dimensions would change places",
     "HloModule t\nENTRY e { x = f32[8,4,5] parameter(0)\n y = f32[8,3] parameter(1)\n t = "
     "f32[5,4,8] transpose(x), dimensions={2,1,0}\n"
     " n = f32[5,4,8] tanh(t)\n ROOT d = f32[5,4,3] dot(n, y), lhs_contracting_dims={2}, "
     "rhs_contracting_dims={0} }",
     1},
    {"to a reduction of the first dimension",
     "HloModule t\n" SUM "ENTRY e { x = f32[8,4,2] parameter(0)\n z = f32[] constant(0)\n t = "
     "f32[2,8,4] transpose(x), dimensions={2,0,1}\n"
     " n = f32[2,8,4] exponential(t)\n ROOT r = f32[8,4] reduce(n, z), dimensions={0}, "
     "to_apply=sum }",
     0},
    {"the reduction's result would be in another order",
     "HloModule t\n" SUM "ENTRY e { x = f32[8,4,2] parameter(0)\n z = f32[] constant(0)\n t = "
     "f32[4,8,2] transpose(x), dimensions={1,0,2}\n"
     " n = f32[4,8,2] exponential(t)\n ROOT r = f32[4,8] reduce(n, z), dimensions={2}, "
     "to_apply=sum }",
     1},
    {"two transposed operands",
     "HloModule t\n" SUM "ENTRY e { x = f32[8,4] parameter(0)\n y = f32[8,4] parameter(1)\n z = "
     "f32[] constant(0)\n t = f32[4,8] transpose(x), dimensions={1,0}\n"
     " u = f32[4,8] transpose(y), dimensions={1,0}\n n = f32[4,8] multiply(t, u)\n ROOT r = f32[4] "
     "reduce(n, z), dimensions={1}, to_apply=sum }",
     0},
    {"one transposed operand, one that is not",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[8,4] parameter(0)\n y = f32[4,8] parameter(1)\n z = f32[] constant(0)\n"
     " t = f32[4,8] transpose(x), dimensions={1,0}\n"
     " n = f32[4,8] multiply(t, y)\n ROOT r = f32[4] reduce(n, z), dimensions={1}, to_apply=sum }",
     1},
    {"one reader of two wants rows",
     "HloModule t\n" SUM "ENTRY e { x = f32[8,4] parameter(0)\n z = f32[] constant(0)\n t = "
     "f32[4,8] transpose(x), dimensions={1,0}\n"
     " n = f32[4,8] tanh(t)\n r = f32[4] reduce(n, z), dimensions={1}, to_apply=sum\n ROOT o = "
     "(f32[4], f32[4,8]) tuple(r, n) }",
     1},
    {"back again",
     "HloModule t\nENTRY e { x = f32[8,4,2] parameter(0)\n t = f32[2,8,4] transpose(x), "
     "dimensions={2,0,1}\n n = f32[2,8,4] tanh(t)\n"
     " ROOT r = f32[8,4,2] transpose(n), dimensions={1,2,0} }",
     0},
    {"a product that is only read transposed",
     "HloModule t\nENTRY e { x = f32[3,8,4] parameter(0)\n y = f32[3,4,5] parameter(1)\n"
     " d = f32[3,8,5] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}\n ROOT t = f32[3,5,8] transpose(d), dimensions={0,2,1} }",
     0},
    {"a product that is read both ways",
     "HloModule t\nENTRY e { x = f32[8,4] parameter(0)\n y = f32[4,5] parameter(1)\n"
     " d = f32[8,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n t = f32[5,8] "
     "transpose(d), dimensions={1,0}\n ROOT r = (f32[5,8], f32[8,5]) tuple(t, d) }",
     1},
    {"a convolution gets its features last",
     "HloModule t\nENTRY e { x = f32[2,6,6,4] parameter(0)\n k = f32[3,3,4,5] parameter(1)\n t = "
     "f32[2,4,6,6] transpose(x), dimensions={0,3,1,2}\n"
     " n = f32[2,4,6,6] tanh(t)\n u = f32[5,4,3,3] transpose(k), dimensions={3,2,0,1}\n"
     " ROOT c = f32[2,6,6,5] convolution(n, u), window={size=3x3 pad=1_1x1_1}, "
     "dim_labels=bf01_oi01->b01f }",
     0},
    {"a convolution that has them last keeps them there",
     "HloModule t\nENTRY e { x = f32[2,4,6,6] parameter(0)\n k = f32[3,3,4,5] parameter(1)\n"
     " t = f32[2,6,6,4] transpose(x), dimensions={0,2,3,1}\n ROOT c = f32[2,6,6,5] convolution(t, "
     "k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f }",
     1},
    {"a selection between a transposed array and a constant",
     "HloModule t\n" SUM
     "ENTRY e { x = f32[8,4] parameter(0)\n p = pred[8,4] parameter(1)\n z = f32[] constant(0)\n"
     " w = f32[4,8] broadcast(z), dimensions={}\n t = f32[4,8] transpose(x), dimensions={1,0}\n q "
     "= pred[4,8] transpose(p), dimensions={1,0}\n s = f32[4,8] select(q, t, w)\n"
     " ROOT r = f32[4] reduce(s, z), dimensions={1}, to_apply=sum }",
     0},
    {"orders that a frontend wrote down, and that mean nothing",
     "HloModule t\nENTRY e { x = f32[8,4]{1,0} parameter(0)\n t = f32[4,8]{0,1} transpose(x), "
     "dimensions={1,0}\n"
     " n = f32[4,8]{0,1} negate(t)\n m = f32[4,8]{0,1} add(n, n)\n ROOT r = (f32[4,8]{1,0}) "
     "tuple(m) }",
     1},
    {"bitcasts between orders move nothing",
     "HloModule t\nENTRY e { x = f32[8,4]{1,0} parameter(0)\n b = f32[4,8]{0,1} bitcast(x)\n ROOT "
     "c = f32[2,4,4]{2,1,0} bitcast(b) }",
     0},
    {"a bitcast of a value in rows to columns, read as rows",
     "HloModule t\nENTRY e { x = f32[8,4]{1,0} parameter(0)\n b = f32[4,8]{0,1} bitcast(x)\n n = "
     "f32[4,8]{1,0} negate(b)\n"
     " ROOT r = (f32[4,8]{1,0}) tuple(n) }",
     1},
};

static void transposes_go_where_nothing_is_lost(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = parse(cases[i].text);
    hsc_arena *arena = NULL;
    hsc_literal *before = NULL;
    hsc_literal *after = NULL;
    hsc_difference d;
    hsc_pass_options options = {.fuel = -1, .verify = true};
    EXPECT_OK(hsc_arena_create(&arena));
    evaluate(module, arena, &before);
    EXPECT_OK(hsc_passes_run(module, "layout-assignment", &options, NULL));
    evaluate(module, arena, &after);
    EXPECT_OK(hsc_literal_compare(before, after, &d));
    if (d.max_ulp > 16 && d.max_abs > 1e-5)
      fail_msg("%s: %g became %g by the assignment", cases[i].what, d.left, d.right);
    EXPECT_OK(hsc_passes_run(module, "layout_normalization", &options, NULL));
    EXPECT_OK(hsc_passes_run(module, "dce", &options, NULL));
    evaluate(module, arena, &after);
    EXPECT_OK(hsc_literal_compare(before, after, &d));
    if (d.max_ulp > 16 && d.max_abs > 1e-5)
      fail_msg("%s: %g became %g by the normalization", cases[i].what, d.left, d.right);
    int transposes = 0;
    for (const hsc_instr *instr = module->entry->first; instr; instr = instr->next) {
      transposes += instr->op == HSC_OP_TRANSPOSE;
      if (hsc_shape_is_array(&instr->shape) && !hsc_layout_is_default(&instr->shape))
        fail_msg("%s: %s keeps an order", cases[i].what, instr->name);
    }
    if (transposes != cases[i].transposes)
      fail_msg("%s: %d transposes are left", cases[i].what, transposes);
    hsc_arena_destroy(arena);
    hsc_module_destroy(module);
  }
}

// Any amount of fuel leaves a right program.
static void fuel_may_end_anywhere(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++)
    for (int fuel = 0; fuel < 8; fuel++) {
      hsc_module *module = parse(cases[i].text);
      hsc_arena *arena = NULL;
      hsc_literal *before = NULL;
      hsc_literal *after = NULL;
      hsc_difference d;
      hsc_pass_options options = {.fuel = fuel, .verify = true};
      EXPECT_OK(hsc_arena_create(&arena));
      evaluate(module, arena, &before);
      EXPECT_OK(hsc_passes_run(module, "layout-assignment", &options, NULL));
      EXPECT_OK(hsc_passes_run(module, "layout_normalization", &options, NULL));
      evaluate(module, arena, &after);
      EXPECT_OK(hsc_literal_compare(before, after, &d));
      if (d.max_ulp > 16 && d.max_abs > 1e-5)
        fail_msg("%s, fuel %d: %g became %g", cases[i].what, fuel, d.left, d.right);
      hsc_arena_destroy(arena);
      hsc_module_destroy(module);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(transposes_go_where_nothing_is_lost),
                                     cmocka_unit_test(fuel_may_end_anywhere)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
