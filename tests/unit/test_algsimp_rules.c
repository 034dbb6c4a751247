// Every rule of src/passes/algsimp/rules.def: what the algebraic simplifier makes of its
// example is written down in algsimp_rules.after.txt, and computes the same, also of NaN, infinity,
// signed zeros and the limits of integers where no option says otherwise.
//
//   build/tests/unit/test_algsimp_rules . --update     writes the file anew; read the difference
#include <math.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "passes/algsimp/rules.h"
#include "unit.h"

static const char *source_root;
static bool update;

static hsc_module *module_of(size_t example) {
  hsc_rule_example e = hsc_rule_example_get(example);
  hsc_bytes text = {0};
  hsc_module *module = NULL;
  hsc_rule_example_print(&e, &text);
  hsc_status *status = hsc_hlo_text_parse(hsc_bytes_view(&text), hsc_op_text(e.op), &module);
  if (!status)
    status = hsc_module_verify(module);
  if (status)
    fail_msg("%s, %s: %s", hsc_op_text(e.op), e.text, hsc_status_message(status));
  hsc_bytes_deinit(&text);
  return module;
}

// `disable`: names of rules; NULL = none.
static void simplify(hsc_module *module, size_t example, const char *disable, hsc_pass_log *log) {
  hsc_pass_options options = {.fuel = -1,
                              .verify = true,
                              .disable = disable,
                              .record_rewrites = true,
                              .algsimp = hsc_rule_example_get(example).options};
  EXPECT_OK(hsc_passes_run(module, "algsimp", &options, log));
  EXPECT_OK(hsc_passes_run(module, "dce", NULL, NULL));
}

static void each_rule_rewrites_as_written_down(void **state) {
  hsc_bytes text = {0};
  hsc_bytes expected = {0};
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/unit/algsimp_rules.after.txt", source_root);
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_module *module = module_of(i);
    simplify(module, i, NULL, NULL);
    hsc_rule_example e = hsc_rule_example_get(i);
    hsc_bytes_printf(&text, "%s: %s\n", hsc_op_text(e.op), e.text);
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
static hsc_difference before_and_after(size_t i, uint64_t seed, bool limits, const char *disable) {
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
  simplify(module, i, disable, NULL);
  EXPECT_OK(hsc_evaluate(module, module->entry->parameter_count, arguments, arena, &after));
  EXPECT_OK(hsc_literal_compare(before, after, &d));
  hsc_arena_destroy(arena);
  hsc_module_destroy(module);
  return d;
}

// Whether a rewrite by that rule is in the log.
static bool fired(const hsc_pass_log *log, int32_t rule) {
  for (int32_t i = 0; i < log->rewrite_count; i++)
    if (log->rewrites[i].rule == rule)
      return true;
  return false;
}

// What is wrong with what the log says of the example, as a line; whether the rule is `on`.
static void check_fired(const hsc_rule_example *e,
                        const hsc_pass_log *log,
                        bool on,
                        hsc_bytes *out) {
  const char *first = log->rewrite_count ? hsc_rule_get(log->rewrites[0].rule)->name : "nothing";
  if (e->rule < 0) {
    if (log->rewrite_count > 0)
      hsc_bytes_printf(out, "'%s' is not here, and yet %s fired\n", e->text, first);
    return;
  }
  const char *name = hsc_rule_get(e->rule)->name;
  if (on && !fired(log, e->rule))
    hsc_bytes_printf(out, "%s did not fire on its example '%s', but %s\n", name, e->text, first);
  if (!on && fired(log, e->rule))
    hsc_bytes_printf(out, "%s fires while it is switched off\n", name);
}

static void each_rule_fires_on_its_examples(void **state) {
  hsc_bytes wrong = {0};
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_rule_example e = hsc_rule_example_get(i);
    for (int off = 0; off < (e.rule < 0 ? 1 : 2); off++) {
      hsc_module *module = module_of(i);
      hsc_pass_log log = {0};
      simplify(module, i, off ? hsc_rule_get(e.rule)->name : NULL, &log);
      check_fired(&e, &log, !off, &wrong);
      hsc_pass_log_deinit(&log);
      hsc_module_destroy(module);
    }
  }
  if (wrong.size)
    fail_msg("%s", hsc_bytes_text(&wrong));
  hsc_bytes_deinit(&wrong);
}

// The rules that come after one that is off must not count on what it would have done: every
// example of the same operation keeps its numbers.
static void rules_do_not_lean_on_each_other(void **state) {
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_rule_example off = hsc_rule_example_get(i);
    for (size_t k = 0; k < hsc_rule_example_count() && off.rule >= 0; k++) {
      if (hsc_rule_example_get(k).op != off.op)
        continue;
      hsc_difference d = before_and_after(k, 3, false, hsc_rule_get(off.rule)->name);
      if (d.max_ulp > 64 && d.max_abs > 1e-5)
        fail_msg("without %s, of '%s' element %lld is %.9g, was %.9g", hsc_rule_get(off.rule)->name,
                 hsc_rule_example_get(k).text, (long long)d.index, d.right, d.left);
    }
  }
}

static void run_with(size_t example, const hsc_pass_options *options, hsc_pass_log *log) {
  hsc_module *module = module_of(example);
  EXPECT_OK(hsc_passes_run(module, "algsimp", options, log));
  hsc_module_destroy(module);
}

static void rules_have_fuel_and_may_be_the_only_ones(void **state) {
  int32_t zero = hsc_rule_find(hsc_view_of("algsimp/add-zero"));
  assert_true(zero >= 0);
  assert_int_equal(hsc_rule_find(hsc_view_of("add-zero")), -1);
  size_t example = 0;
  while (hsc_rule_example_get(example).rule != zero)
    example++;
  hsc_pass_log log = {0};
  run_with(
      example,
      &(hsc_pass_options){.fuel = -1, .record_rewrites = true, .pass_fuel = "algsimp/add-zero=0"},
      &log);
  assert_int_equal(log.rewrite_count, 0);
  run_with(
      example,
      &(hsc_pass_options){.fuel = -1, .record_rewrites = true, .pass_fuel = "algsimp/add-zero=1"},
      &log);
  assert_int_equal(log.rewrite_count, 1);
  assert_string_equal(log.rewrites[0].instr, "a");
  hsc_pass_log_deinit(&log);
  run_with(
      example,
      &(hsc_pass_options){.fuel = -1, .record_rewrites = true, .enable_only = "algsimp/add-zero"},
      &log);
  assert_true(fired(&log, zero));
  hsc_pass_log_deinit(&log);
  run_with(example,
           &(hsc_pass_options){
               .fuel = -1, .record_rewrites = true, .enable_only = "algsimp/add-negated"},
           &log);
  assert_int_equal(log.run_count, 1);
  assert_int_equal(log.rewrite_count, 0);
  hsc_pass_log_deinit(&log);
  hsc_module *module = module_of(example);
  hsc_status *status = hsc_passes_run(
      module, "algsimp", &(hsc_pass_options){.fuel = -1, .pass_fuel = "algsimp/ad-zero=1"}, NULL);
  assert_non_null(status);
  assert_string_equal(hsc_status_message(status), "unknown pass or pipeline 'algsimp/ad-zero'");
  assert_string_equal(hsc_status_hint_text(status), "did you mean 'algsimp/add-zero'?");
  hsc_status_free(status);
  hsc_module_destroy(module);
}

static void each_rule_keeps_the_numbers(void **state) {
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    hsc_difference d = before_and_after(i, 3, false, NULL);
    // NaN where a root or a power of a negative number was: the rule may know better, as XLA's
    // does.
    if (d.max_ulp > 64 && d.max_abs > 1e-5)
      fail_msg("%s, %s: element %lld is %.9g, was %.9g", hsc_op_text(hsc_rule_example_get(i).op),
               hsc_rule_example_get(i).text, (long long)d.index, d.right, d.left);
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
  for (size_t i = 0; i < hsc_rule_example_count(); i++) {
    bool differs = false;
    for (uint64_t seed = 0; seed < 40 && !hsc_rule_example_get(i).options; seed++) {
      hsc_difference d = before_and_after(i, seed, true, NULL);
      size_t known = 0;
      while (known < HSC_COUNT_OF(exceptions) &&
             strncmp(hsc_rule_example_get(i).text, exceptions[known].rule,
                     strlen(exceptions[known].rule)) != 0)
        known++;
      differs = d.nan_mismatches || (d.max_ulp > 64 && d.max_abs > 1e-5);
      if (differs && known == HSC_COUNT_OF(exceptions))
        fail_msg("%s, %s: element %lld is %.9g, was %.9g", hsc_op_text(hsc_rule_example_get(i).op),
                 hsc_rule_example_get(i).text, (long long)d.index, d.right, d.left);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_rule_fires_on_its_examples),
                                     cmocka_unit_test(rules_do_not_lean_on_each_other),
                                     cmocka_unit_test(rules_have_fuel_and_may_be_the_only_ones),
                                     cmocka_unit_test(each_rule_rewrites_as_written_down),
                                     cmocka_unit_test(each_rule_keeps_the_numbers),
                                     cmocka_unit_test(each_rule_keeps_the_limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
