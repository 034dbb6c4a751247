// Properties that hold for any module, on random ones: it verifies; clones, sorted and re-read
// modules mean and print the same; every pass-like edit leaves links right.
#include "unit.h"

#include "formats/common/formats.h"
#include "random_module.h"

enum { SEEDS = 150 };

static random_module_options options_of(int seed) {
  random_module_options options = random_module_options_default();
  options.unbounded = seed % 3 == 1;
  options.smooth = seed % 3 == 2;
  if (seed % 5 == 0)
    options.features = RANDOM_ALL;
  return options;
}

static hsc_module *make(int seed) {
  hsc_module *module = NULL;
  random_module_options options = options_of(seed);
  EXPECT_OK(random_module_create((uint64_t)seed, &options, &module));
  return module;
}

static char *text_of(const hsc_module *module) {
  hsc_bytes bytes = {0};
  hsc_module_print(module, NULL, &bytes);
  EXPECT_OK(hsc_bytes_status(&bytes));
  return hsc_bytes_take(&bytes);
}

static void assert_same_meaning(const hsc_module *a, const hsc_module *b) {
  hsc_hash128 of_a = hsc_module_fingerprint(a);
  hsc_hash128 of_b = hsc_module_fingerprint(b);
  assert_true(of_a.low == of_b.low && of_a.high == of_b.high);
}

static void seeds_give_valid_modules_that_repeat(void **state) {
  for (int seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = make(seed);
    hsc_module *again = make(seed);
    EXPECT_OK(hsc_module_verify(module));
    char *text = text_of(module);
    char *text_again = text_of(again);
    assert_string_equal(text, text_again);
    hsc_free(text);
    hsc_free(text_again);
    hsc_module_destroy(module);
    hsc_module_destroy(again);
  }
}

static void printed_text_parses_to_the_same_module(void **state) {
  for (int seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = make(seed);
    hsc_module *read = NULL;
    char *text = text_of(module);
    EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &read));
    EXPECT_OK(hsc_module_verify(read));
    char *text_again = text_of(read);
    assert_string_equal(text, text_again);
    assert_same_meaning(module, read);
    hsc_free(text);
    hsc_free(text_again);
    hsc_module_destroy(module);
    hsc_module_destroy(read);
  }
}

// Through HloModuleProto and back: every name, layout and attribute is the same in the text.
static void protos_hold_all_that_text_says(void **state) {
  for (int seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = make(seed);
    hsc_module *read = NULL;
    hsc_module *again = NULL;
    hsc_bytes proto = {0};
    char *text = text_of(module);
    EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), NULL, &read));
    EXPECT_OK(hsc_hlo_proto_write(read, &proto));
    EXPECT_OK(hsc_hlo_proto_read(hsc_bytes_view(&proto), "proto", &again));
    char *text_again = text_of(again);
    assert_string_equal(text, text_again);
    assert_same_meaning(read, again);
    hsc_free(text);
    hsc_free(text_again);
    hsc_bytes_deinit(&proto);
    hsc_module_destroy(module);
    hsc_module_destroy(read);
    hsc_module_destroy(again);
  }
}

static void clones_are_whole_and_sorting_keeps_them(void **state) {
  for (int seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = make(seed);
    hsc_module *clone = NULL;
    char *text = text_of(module);
    EXPECT_OK(hsc_module_clone(module, &clone));
    assert_same_meaning(module, clone);
    hsc_module_destroy(module);  // the clone shares nothing with it
    EXPECT_OK(hsc_module_verify(clone));
    EXPECT_OK(hsc_module_sort(clone));
    char *of_clone = text_of(clone);
    assert_string_equal(text, of_clone);
    hsc_free(text);
    hsc_free(of_clone);
    hsc_module_destroy(clone);
  }
}

// Dead code goes, every live value is replaced by a copy of itself, and the links stay right.
static void edits_keep_links(void **state) {
  for (int seed = 0; seed < SEEDS; seed++) {
    hsc_module *module = make(seed);
    HSC_FOR_EACH_COMPUTATION (module, computation) {
      for (hsc_instr *instr = computation->last, *previous; instr; instr = previous) {
        previous = instr->prev;
        if (hsc_instr_is_dead(instr))
          hsc_instr_remove(instr);
      }
      HSC_FOR_EACH_INSTR_IN (computation, instr) {
        if (instr->op == HSC_OP_PARAMETER || seed % 2)
          continue;
        hsc_builder b;
        hsc_builder_at(&b, computation, instr);
        hsc_instr *copy = hsc_build_clone(&b, instr, instr->operands);
        EXPECT_OK(hsc_instr_replace_uses(instr, copy));
        if (computation->root == copy)
          EXPECT_OK(hsc_builder_finish(&b, copy, NULL));
        hsc_instr_remove(instr);
      }
    }
    EXPECT_OK(hsc_module_verify(module));
    hsc_module_destroy(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seeds_give_valid_modules_that_repeat),
      cmocka_unit_test(printed_text_parses_to_the_same_module),
      cmocka_unit_test(protos_hold_all_that_text_says),
      cmocka_unit_test(clones_are_whole_and_sorting_keeps_them),
      cmocka_unit_test(edits_keep_links),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
