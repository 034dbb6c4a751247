// Every rule of src/cli/algsimp_rules.def: what the algebraic simplifier makes of its example is written down in algsimp_rules.after.txt, and computes the same.
//
//   build/tests/unit/test_algsimp_rules . --update     writes the file anew; read the difference
#include "formats/formats.h"
#include "passes/passes.h"
#include "unit.h"

static const char *source_root;
static bool update;

static const struct {
  const char *op, *options, *what, *example;
} rules[] = {
#define RULE(op, what, example) {op, NULL, what, example},
#define RULE_WITH(op, options, what, example) {op, options, what, example},
#include "cli/algsimp_rules.def"
#undef RULE
#undef RULE_WITH
};

static hsc_module *module_of(size_t rule) {
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_bytes_printf(&text,
                   "HloModule example\nplus {\n p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT s = f32[] add(p, q)\n}\n"
                   "less {\n lp = f32[] parameter(0)\n lq = f32[] parameter(1)\n ROOT lr = pred[] compare(lp, lq), direction=LT\n}\nENTRY example {\n %s\n}\n",
                   rules[rule].example);
  hsc_status *status = hsc_hlo_text_parse(hsc_bytes_view(&text), rules[rule].op, &module);
  if (!status) status = hsc_module_verify(module);
  if (status) fail_msg("%s, %s: %s", rules[rule].op, rules[rule].what, hsc_status_message(status));
  hsc_bytes_deinit(&text);
  return module;
}

static void simplify(hsc_module *module, size_t rule) {
  EXPECT_OK(hsc_passes_run(module, "algsimp", &(hsc_pass_options){.fuel = -1, .verify = true, .algsimp = rules[rule].options}, NULL));
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
}

static void each_rule_rewrites_as_written_down(void **state) {
  hsc_bytes text = {0}, expected = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/unit/algsimp_rules.after.txt", source_root);
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    hsc_module *module = module_of(i);
    simplify(module, i);
    hsc_bytes_printf(&text, "%s: %s\n", rules[i].op, rules[i].what);
    hsc_computation_print(module->entry, &(hsc_print_options){.no_metadata = true, .no_layouts = true, .no_percent = true}, &text);
    hsc_bytes_append_char(&text, '\n');
    hsc_module_destroy(module);
  }
  if (update) EXPECT_OK(hsc_file_write_atomic(path, text.data, text.size));
  EXPECT_OK(hsc_file_read(path, &expected));
  const char *now = hsc_bytes_text(&text), *then = hsc_bytes_text(&expected);
  size_t at = 0, line = 0;
  for (; now[at] && now[at] == then[at]; at++)
    if (now[at] == '\n') line = at + 1;
  if (now[at] != then[at]) fail_msg("what a rule makes of its example is no longer what %s says, from here on:\n%.600s", path, now + line);
  hsc_bytes_deinit(&text);
  hsc_bytes_deinit(&expected);
}

static void each_rule_keeps_the_numbers(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(rules); i++) {
    hsc_module *module = module_of(i);
    hsc_arena *arena = NULL;
    hsc_literal *arguments[8], *before = NULL, *after = NULL;
    hsc_difference d;
    EXPECT_OK(hsc_arena_create(&arena));
    for (int p = 0; p < module->entry->parameter_count; p++) {
      EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[p]->shape, &arguments[p]));
      hsc_literal_fill(arguments[p], 3, (uint32_t)p);
    }
    EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &before));
    simplify(module, i);
    EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &after));
    EXPECT_OK(hsc_literal_compare(before, after, &d));
    // NaN where a root or a power of a negative number was: the rule may know better, as XLA's does.
    if (d.max_ulp > 64 && d.max_abs > 1e-5) fail_msg("%s, %s: element %lld is %.9g, was %.9g", rules[i].op, rules[i].what, (long long)d.index, d.right, d.left);
    hsc_arena_destroy(arena);
    hsc_module_destroy(module);
  }
}

int main(int argc, char **argv) {
  source_root = argc > 1 ? argv[1] : ".";
  update = argc > 2 && !strcmp(argv[2], "--update");
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_rule_rewrites_as_written_down), cmocka_unit_test(each_rule_keeps_the_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
