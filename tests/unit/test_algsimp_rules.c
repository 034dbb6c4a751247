// Every rule of src/passes/algsimp/algsimp_rules.def: what the algebraic simplifier makes of its
// example is written down in algsimp_rules.after.txt, and computes the same, also of NaN, infinity,
// signed zeros and the limits of integers where no option says otherwise.
//
//   build/tests/unit/test_algsimp_rules . --update     writes the file anew; read the difference
#include <math.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "passes/manager/passes.h"
#include "unit.h"

static const char *source_root;
static bool update;

static const struct {
  const char *op, *options, *what, *example;
} rules[] = {
#define RULE(op, what, example) {op, NULL, what, example},
#define RULE_WITH(op, options, what, example) {op, options, what, example},
#include "passes/algsimp/algsimp_rules.def"
#undef RULE
#undef RULE_WITH
};

static hsc_module *module_of(size_t rule) {
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_bytes_printf(&text,
                   "HloModule example\nplus {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n "
                   "ROOT s = f32[] add(p, q)\n}\n"
                   "less {\n lp = f32[] parameter(0)\n lq = f32[] parameter(1)\n ROOT lr = pred[] "
                   "compare(lp, lq), direction=LT\n}\nENTRY example {\n %s\n}\n",
                   rules[rule].example);
  hsc_status *status = hsc_hlo_text_parse(hsc_bytes_view(&text), rules[rule].op, &module);
  if (!status)
    status = hsc_module_verify(module);
  if (status)
    fail_msg("%s, %s: %s", rules[rule].op, rules[rule].what, hsc_status_message(status));
  hsc_bytes_deinit(&text);
  return module;
}

static void simplify(hsc_module *module, size_t rule) {
  EXPECT_OK(hsc_passes_run(
      module, "algsimp",
      &(hsc_pass_options){.fuel = -1, .verify = true, .algsimp = rules[rule].options}, NULL));
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
}

static void each_rule_rewrites_as_written_down(void **state) {
  hsc_bytes text = {0};
  hsc_bytes expected = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/unit/algsimp_rules.after.txt", source_root);
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    hsc_module *module = module_of(i);
    simplify(module, i);
    hsc_bytes_printf(&text, "%s: %s\n", rules[i].op, rules[i].what);
    hsc_computation_print(
        module->entry,
        &(hsc_print_options){.no_metadata = true, .no_layouts = true, .no_percent = true}, &text);
    hsc_bytes_append_char(&text, '\n');
    hsc_module_destroy(module);
  }
  if (update)
    EXPECT_OK(hsc_file_write_atomic(path, text.data, text.size));
  EXPECT_OK(hsc_file_read(path, &expected));
  const char *now = hsc_bytes_text(&text);
  const char *then = hsc_bytes_text(&expected);
  size_t at = 0;
  size_t line = 0;
  for (; now[at] && now[at] == then[at]; at++)
    if (now[at] == '\n')
      line = at + 1;
  if (now[at] != then[at])
    fail_msg("what a rule makes of its example is no longer what %s says, from here on:\n%.600s",
             path, now + line);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&expected);
}

static void fill_with_limits(hsc_literal *literal, uint64_t seed, uint32_t parameter) {
  static const double floats[] = {0.0, -0.0, 1,    -1,    INFINITY, -INFINITY, NAN,
                                  2.5, -3,   1e30, -1e30, 1e-30,    88.9,      -200};
  static const int64_t integers[] = {0,         1,         -1, 127, -128, 3,  -7,
                                     INT32_MAX, INT32_MIN, 5,  8,   16,   -16};
  for (int64_t i = 0; i < hsc_shape_elements(&literal->shape); i++) {
    uint64_t k = (uint64_t)i * 3 + parameter * 5 + seed;
    if (hsc_type_is_float(literal->shape.type))
      hsc_literal_set_double(literal, i, floats[k % HSC_COUNT_OF(floats)]);
    else if (hsc_type_is_integral(literal->shape.type))
      hsc_literal_set_int(literal, i, integers[k % HSC_COUNT_OF(integers)]);
  }
}

// Rule i on arguments by the seed, with `limits` of NaN, infinity, zeros of both signs and the
// limits of integers: what comes of the example before and after.
static hsc_difference before_and_after(size_t i, uint64_t seed, bool limits) {
  hsc_module *module = module_of(i);
  hsc_arena *arena = NULL;
  hsc_literal *arguments[8];
  hsc_literal *before = NULL;
  hsc_literal *after = NULL;
  hsc_difference d;
  EXPECT_OK(hsc_arena_create(&arena));
  for (int p = 0; p < module->entry->parameter_count; p++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &arguments[p]));
    hsc_literal_fill(arguments[p], seed, (uint32_t)p);
    if (limits)
      fill_with_limits(arguments[p], seed, (uint32_t)p);
  }
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &before));
  simplify(module, i);
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &after));
  EXPECT_OK(hsc_literal_compare(before, after, &d));
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
  return d;
}

static void each_rule_keeps_the_numbers(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    hsc_difference d = before_and_after(i, 3, false);
    // NaN where a root or a power of a negative number was: the rule may know better, as XLA's
    // does.
    if (d.max_ulp > 64 && d.max_abs > 1e-5)
      fail_msg("%s, %s: element %lld is %.9g, was %.9g", rules[i].op, rules[i].what,
               (long long)d.index, d.right, d.left);
  }
}

// Rules of the device's default that change what comes of NaN, infinity or overflow, as XLA's do.
static const struct {
  const char *rule, *why;
} exceptions[] = {{"log(A^B) => B * log(A)", "A^B may overflow where its logarithm does not"},
                  {"rsqrt(A^-2) => |A|", "A^-2 may overflow where A does not"},
                  {"of a kernel spread by padding: window dilation",
                   "what lies between is not multiplied with infinity"}};

// NaN, infinity, zeros of both signs, the limits of integers: rules that options switch need not
// keep them.
static void each_rule_keeps_the_limits(void **state) {
  bool seen[HSC_COUNT_OF(exceptions)] = {false};
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    bool differs = false;
    for (uint64_t seed = 0; seed < 40 && !rules[i].options; seed++) {
      hsc_difference d = before_and_after(i, seed, true);
      size_t known = 0;
      while (known < HSC_COUNT_OF(exceptions) &&
             strncmp(rules[i].what, exceptions[known].rule, strlen(exceptions[known].rule)) != 0)
        known++;
      differs = d.nan_mismatches || (d.max_ulp > 64 && d.max_abs > 1e-5);
      if (differs && known == HSC_COUNT_OF(exceptions))
        fail_msg("%s, %s: element %lld is %.9g, was %.9g", rules[i].op, rules[i].what,
                 (long long)d.index, d.right, d.left);
      if (differs)
        seen[known] = true;
    }
  }
  for (size_t i = 0; i < HSC_COUNT_OF(exceptions); i++)
    if (!seen[i])
      fail_msg("%s: keeps its limits now, and need not be an exception", exceptions[i].rule);
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  update = argc > 2 && !strcmp(argv[2], "--update");
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_rule_rewrites_as_written_down),
                                     cmocka_unit_test(each_rule_keeps_the_numbers),
                                     cmocka_unit_test(each_rule_keeps_the_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
