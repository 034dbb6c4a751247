// test_mutate.c - programs that are said to compute the same do: random programs, rewritten,
// against the evaluator's values of what they were.
#include <math.h>

#include "unit.h"
#include "passes/manager/passes.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "random_module.h"
#include "transform/mutate/mutate.h"

enum { SEEDS = 100, SEEDS_OF_ONE = 500 };

// What the rows of mutations.def put in, and take out.
static const hsc_op put_in[] = {
    HSC_OP_NEGATE,      HSC_OP_MULTIPLY,    HSC_OP_SELECT,  HSC_OP_TRANSPOSE,
    HSC_OP_RESHAPE,     HSC_OP_CONCATENATE, HSC_OP_REVERSE, HSC_OP_DYNAMIC_UPDATE_SLICE,
    HSC_OP_OPT_BARRIER, HSC_OP_CONVERT,     HSC_OP_REDUCE,  HSC_OP_DOT,
};
static long more[HSC_OP_COUNT];

static void count_ops(const hsc_module *module, long by) {
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      more[instr->op] += by;
}

static bool is_same_text(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  return x.low == y.low && x.high == y.high;
}

// Something of each kind that a row is for; the sum does not begin at 0, and each result is one of
// few steps, so that what is off shows.
static const char program[] =
    "HloModule kinds\n"
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    "greatest {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT s = f32[] maximum(a, b)\n}\n"
    "ENTRY main {\n"
    "  x = f32[7,6] parameter(0)\n"
    "  y = f32[6,5] parameter(1)\n"
    "  seven = f32[] constant(7)\n"
    "  product = f32[7,5] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  sum = f32[5] reduce(product, seven), dimensions={0}, to_apply=add\n"
    "  most = f32[5] reduce(product, seven), dimensions={0}, to_apply=greatest\n"
    "  difference = f32[5] subtract(sum, most)\n"
    "  three = f32[5] add(difference, most)\n"
    "  four = f32[5] add(three, sum)\n"
    "  narrow = bf16[7,6] convert(x)\n"
    "  wide = f32[7,6] convert(narrow)\n"
    "  is = pred[7,6] compare(wide, x), direction=LT\n"
    "  both = pred[7,6] and(is, is)\n"
    "  ROOT r = (f32[5], f32[5], pred[7,6], f32[7,6], f32[7,5]) tuple(four, most, both, wide, "
    "product)\n"
    "}\n";

// Compares what `module` computes before and after rewrites drawn with the seed. apart: how far a
// number may be off, in units of the larger of it and 1, beyond what random_results_agree allows.
// Takes the module; returns whether it was changed.
static bool rewrite_and_compare(hsc_module *module, uint64_t seed, double apart) {
  hsc_module *mutant = NULL;
  hsc_arena *arena = NULL;
  hsc_literal *before = NULL;
  hsc_literal *after = NULL;
  hsc_random random;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_module_clone(module, &mutant));
  hsc_random_init(&random, seed);
  EXPECT_OK(hsc_transform_mutate(mutant, &random));
  EXPECT_OK(random_module_evaluate(module, seed, arena, &before));
  EXPECT_OK(random_module_evaluate(mutant, seed, arena, &after));
  hsc_difference where;
  hsc_status *error = NULL;
  if (!random_results_agree(before, after, &where, &error))
    fail_msg("seed %d: %s: output %d element %lld is %g, was %g", (int)seed,
             error ? hsc_status_message(error) : "another result", where.leaf,
             (long long)where.index, where.right, where.left);
  if (fabs(where.left - where.right) > apart * fmax(1, fabs(where.left)))
    fail_msg("seed %d: output %d element %lld is %.9g, was %.9g", (int)seed, where.leaf,
             (long long)where.index, where.right, where.left);
  bool changed = !is_same_text(module, mutant);
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));  // a mutant has nothing dead
  count_ops(module, -1);
  count_ops(mutant, 1);
  hsc_module_destroy(module);
  hsc_module_destroy(mutant);
  hsc_arena_destroy(arena);
  return changed;
}

static void rewrites_leave_what_is_computed(void **state) {
  (void)state;
  int changed = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    random_module_options options = random_module_options_varied(seed);
    hsc_module *module = NULL;
    EXPECT_OK(random_module_create(seed, &options, &module));
    changed += rewrite_and_compare(module, seed, INFINITY);
  }
  assert_true(changed > SEEDS * 9 / 10);
}

static void every_row_has_something_to_do(void **state) {
  (void)state;
  memset(more, 0, sizeof more);
  for (uint64_t seed = 1; seed <= SEEDS_OF_ONE; seed++) {
    hsc_module *module = NULL;
    EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_view_of(program), NULL, &module));
    rewrite_and_compare(module, seed, 4e-6);
  }
  for (size_t i = 0; i < HSC_COUNT_OF(put_in); i++)
    if (more[put_in[i]] < 5)
      fail_msg("hardly a %s was put in", hsc_op_text(put_in[i]));
  assert_true(more[HSC_OP_SUBTRACT] < 0);  // a + -b
}

static void the_same_seed_makes_the_same_mutant(void **state) {
  (void)state;
  random_module_options options = random_module_options_varied(5);
  hsc_module *made[3] = {NULL};
  for (int i = 0; i < 3; i++) {
    hsc_random random;
    hsc_random_init(&random, i == 2 ? 8 : 7);
    EXPECT_OK(random_module_create(5, &options, &made[i]));
    EXPECT_OK(hsc_transform_mutate(made[i], &random));
  }
  assert_true(is_same_text(made[0], made[1]));
  assert_false(is_same_text(made[0], made[2]));
  for (int i = 0; i < 3; i++)
    hsc_module_destroy(made[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rewrites_leave_what_is_computed),
      cmocka_unit_test(every_row_has_something_to_do),
      cmocka_unit_test(the_same_seed_makes_the_same_mutant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
