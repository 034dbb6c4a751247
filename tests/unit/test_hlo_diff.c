// test_hlo_diff.c - modules aligned by instruction identity.
#include "formats/common/formats.h"
#include "lab/passes/hlo_diff.h"
#include "unit.h"

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &module));
  return module;
}

static const char before_text[] =
    "HloModule m\nENTRY main {\n  p = f32[4] parameter(0)\n  a = f32[4] add(p, p)\n  b = f32[4] "
    "multiply(a, p)\n  c = f32[4] negate(b)\n"
    "  gone = f32[4] sine(p)\n  ROOT r = f32[4] add(c, gone)\n}\n";
// a and b were fused, c kept its name, sine became cosine, an abs is new before the root.
static const char after_text[] =
    "HloModule m\nfused {\n  q = f32[4] parameter(0)\n  a = f32[4] add(q, q)\n  ROOT b = f32[4] "
    "multiply(a, q)\n}\nENTRY main {\n  p = f32[4] parameter(0)\n"
    "  f = f32[4] fusion(p), kind=kLoop, calls=fused\n  c = f32[4] negate(f)\n  fresh = f32[4] "
    "cosine(p)\n  new = f32[4] abs(fresh)\n  ROOT r = f32[4] add(c, new)\n}\n";

static const hsc_diff_row *row_of(const hsc_diff *diff, const char *name) {
  for (size_t i = 0; i < diff->row_count; i++)
    if (!strcmp((diff->rows[i].right ? diff->rows[i].right : diff->rows[i].left)->name, name))
      return &diff->rows[i];
  fail_msg("no row for %s", name);
  return NULL;
}

static void states_are_found(void **state) {
  hsc_module *left = parse(before_text);
  hsc_module *right = parse(after_text);
  hsc_diff diff;
  EXPECT_OK(hsc_diff_modules(left, right, &diff));
  assert_int_equal(row_of(&diff, "a")->state, HSC_DIFF_FUSED);
  assert_int_equal(row_of(&diff, "b")->state, HSC_DIFF_FUSED);
  assert_string_equal(row_of(&diff, "a")->into->name, "f");
  assert_int_equal(row_of(&diff, "c")->state, HSC_DIFF_CHANGED);  // its operand is the fusion now
  assert_string_equal(row_of(&diff, "c")->what, "operands");
  assert_int_equal(row_of(&diff, "gone")->state, HSC_DIFF_REMOVED);
  assert_int_equal(row_of(&diff, "fresh")->state, HSC_DIFF_ADDED);
  assert_int_equal(row_of(&diff, "p")->state, HSC_DIFF_KEPT);
  hsc_bytes text = {0};
  hsc_diff_text(&diff, NULL, 0, &text);
  assert_non_null(strstr(hsc_bytes_text(&text), "fused, of f\n> a = f32[4]{0} add(q, q)\n"));
  assert_non_null(strstr(hsc_bytes_text(&text), "- gone = "));
  hsc_bytes_deinit(&text);
  json_t *document = NULL;
  EXPECT_OK(hsc_diff_json(&diff, false, &document));
  assert_int_equal(
      json_integer_value(json_object_get(json_object_get(document, "summary"), "fused")), 2);
  json_decref(document);
  hsc_diff_deinit(&diff);
  hsc_module_destroy(left);
  hsc_module_destroy(right);
}

// Names do not count where meaning and place in the user's program agree; structure finds the rest.
static void renamed_instructions_are_the_same(void **state) {
  hsc_module *left = parse(
      "HloModule m\nENTRY main {\n  p = f32[4] parameter(0)\n  a = f32[4] add(p, p), "
      "metadata={op_name=\"f/x\"}\n  b = f32[4] add(a, p), metadata={op_name=\"f/y\"}\n"
      "  ROOT r = f32[4] sine(b)\n}\n");
  hsc_module *right = parse(
      "HloModule m\nENTRY other {\n  p.1 = f32[4] parameter(0)\n  u = f32[4] add(p.1, p.1), "
      "metadata={op_name=\"f/x\"}\n  v = f32[4] add(u, p.1), metadata={op_name=\"f/y\"}\n"
      "  ROOT w = f32[4] sine(v)\n}\n");
  hsc_diff diff;
  EXPECT_OK(hsc_diff_modules(left, right, &diff));
  assert_int_equal(diff.counts[HSC_DIFF_KEPT], 4);
  assert_string_equal(row_of(&diff, "u")->left->name, "a");
  assert_string_equal(row_of(&diff, "v")->left->name, "b");
  hsc_diff_deinit(&diff);
  hsc_module_destroy(left);
  hsc_module_destroy(right);
}

static void kept_ones_are_listed_on_request(void **state) {
  hsc_module *left = parse("HloModule m\nENTRY main {\n  ROOT p = f32[4] parameter(0)\n}\n");
  hsc_module *right = parse("HloModule m\nENTRY main {\n  ROOT p = f32[4] parameter(0)\n}\n");
  hsc_diff diff;
  EXPECT_OK(hsc_diff_modules(left, right, &diff));
  for (int kept_too = 0; kept_too < 2; kept_too++) {
    json_t *document = NULL;
    EXPECT_OK(hsc_diff_json(&diff, kept_too, &document));
    assert_int_equal(json_array_size(json_object_get(document, "instructions")), kept_too);
    json_decref(document);
  }
  hsc_diff_deinit(&diff);
  hsc_module_destroy(left);
  hsc_module_destroy(right);
}

// 20,000 instructions a side in under half a second (a debug build under sanitizers gets more).
static void large_modules_are_quick(void **state) {
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, "HloModule m\nENTRY main {\n  i0 = f32[8] parameter(0)\n");
  for (int i = 1; i < 20000; i++)
    hsc_bytes_printf(&text, "  i%d = f32[8] add(i%d, i%d)\n", i, i - 1, i / 2);
  hsc_bytes_append_text(&text, "  ROOT r = f32[8] negate(i19999)\n}\n");
  hsc_module *left = parse(hsc_bytes_text(&text));
  hsc_module *right = parse(hsc_bytes_text(&text));
  hsc_diff diff;
  int64_t start = cpu_ns();
  EXPECT_OK(hsc_diff_modules(left, right, &diff));
  int64_t spent = cpu_ns() - start;
  assert_int_equal(diff.counts[HSC_DIFF_KEPT], 20001);
  assert_true(spent < INT64_C(2500000000));  // half a second on a machine that does nothing else
  hsc_diff_deinit(&diff);
  hsc_module_destroy(left);
  hsc_module_destroy(right);
  hsc_bytes_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_are_found), cmocka_unit_test(renamed_instructions_are_the_same),
      cmocka_unit_test(kept_ones_are_listed_on_request), cmocka_unit_test(large_modules_are_quick)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
