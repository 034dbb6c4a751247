// Printing against XLA's: modules that XLA printed, parsed and printed again, are the same bytes.
#include "hlo_snippets.h"

static char *source_dir;

static void assert_same_text(const char *name, const char *have, const char *want) {
  size_t at = 0;
  size_t line = 0;
  while (have[at] && have[at] == want[at])
    at++;
  if (!have[at] && !want[at])
    return;
  for (line = at; line > 0 && want[line - 1] != '\n';)
    line--;
  fail_msg("%s differs:\n  XLA:  %.*s\n  here: %.*s", name, (int)strcspn(want + line, "\n"),
           want + line, (int)strcspn(have + line, "\n"), have + line);
}

static void expect_same_print(const char *name, const char *text, size_t size) {
  hsc_module *module = NULL;
  hsc_bytes out = {0};
  EXPECT_OK(hsc_hlo_text_parse((hsc_view){text, size}, name, &module));
  EXPECT_OK(hsc_module_verify(module));
  hsc_module_print(module, NULL, &out);
  assert_same_text(name, hsc_bytes_text(&out), text);
  hsc_bytes_deinit(&out);
  hsc_module_destroy(module);
}

static void every_op_and_literal_prints_as_xla_prints_it(void **state) {
  static const char *const names[] = {"printed/every_op.hlo", "printed/attributes.hlo",
                                      "printed/literals.hlo"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    char *text = read_conformance(source_dir, names[i]);
    expect_same_print(names[i], text, strlen(text));
    hsc_free(text);
  }
}

static void models_print_as_xla_printed_them(void **state) {
  static const char *const names[] = {"patterns/tiny_scan.hlo",      "patterns/mlp_natural.hlo",
                                      "patterns/multihead_vmap.hlo", "patterns/deep_scan.hlo",
                                      "laplace_train.hlo.gz",        "resnet50_forward.hlo.gz",
                                      "resnet50_train.hlo.gz",       "transformer_train.hlo.gz"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    char path[512];
    hsc_bytes packed = {0};
    hsc_bytes text = {0};
    snprintf(path, sizeof path, "%s/models/%s", source_dir, names[i]);
    EXPECT_OK(hsc_file_read(path, &packed));
    EXPECT_OK(hsc_decompress(hsc_bytes_view(&packed), 1 << 30, &text));
    expect_same_print(names[i], hsc_bytes_text(&text), text.size);
    hsc_bytes_deinit(&packed);
    hsc_bytes_deinit(&text);
  }
}

static char *printed(const hsc_module *module, hsc_print_options options) {
  hsc_bytes out = {0};
  hsc_module_print(module, &options, &out);
  return hsc_bytes_take(&out);
}

static void options_leave_things_out(void **state) {
  static const char text[] =
      "HloModule m, entry_computation_layout={(f32[4,8]{1,0})->f32[12]{0}}\n\n"
      "ENTRY %main (a: f32[4,8]) -> f32[12] {\n"
      "  %a = f32[4,8]{1,0} parameter(0)\n"
      "  %n = f32[4,8]{1,0} negate(%a), metadata={op_name=\"x\"}, backend_config={\"k\":1}\n"
      "  %ten = f32[10]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})\n"
      "  ROOT %c = f32[12]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})\n"
      "}\n\n";
  static const struct {
    hsc_print_options options;
    const char *has, *has_not;
  } rows[] = {
      {{.no_metadata = true}, "negate(%a), backend_config", "metadata"},
      {{.no_backend_config = true}, "metadata={op_name=\"x\"}\n", "backend_config"},
      {{.no_layouts = true}, "%n = f32[4,8] negate(%a)", "f32[4,8]{1,0} negate"},
      {{.operand_shapes = true}, "negate(f32[4,8]{1,0} %a)", "negate(%a)"},
      {{.no_percent = true}, "  n = f32[4,8]{1,0} negate(a)", "%"},
      {{.elide_large_constants = true}, "constant({...})", "11, 12"},
      {{.elide_large_constants = true}, "constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})", "11, 12"},
  };
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(HSC_VIEW(text), NULL, &module));
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    char *out = printed(module, rows[i].options);
    if (!strstr(out, rows[i].has))
      fail_msg("%s is not in\n%s", rows[i].has, out);
    if (strstr(out, rows[i].has_not))
      fail_msg("%s is in\n%s", rows[i].has_not, out);
    hsc_free(out);
  }
  hsc_module_destroy(module);
}

// Nothing needs a parser: a module that was built prints with its entry's layouts.
static void built_modules_print(void **state) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_module_create("built", &module));
  hsc_builder b;
  hsc_builder_init(&b, module, "main");
  hsc_instr *x = hsc_build_parameter(
      &b, 0, hsc_shape_array(module->arena, HSC_TYPE_F32, 2, (int64_t[]){4, 8}), "x");
  hsc_instr *sum =
      hsc_build_reduce(&b, x, hsc_build_scalar(&b, HSC_TYPE_F32, 0), HSC_DIMS(module->arena, 1),
                       hsc_module_scalar_reducer(module, HSC_OP_ADD, HSC_TYPE_F32));
  EXPECT_OK(hsc_builder_finish(&b, sum, &module->entry));
  EXPECT_OK(hsc_module_sort(module));
  EXPECT_OK(hsc_module_verify(module));
  char *text = printed(module, (hsc_print_options){0});
  assert_string_equal(text,
                      "HloModule built, entry_computation_layout={(f32[4,8]{1,0})->f32[4]{0}}\n\n"
                      "%reducer_add_f32 (x.1: f32[], y: f32[]) -> f32[] {\n"
                      "  %x.1 = f32[] parameter(0)\n"
                      "  %y = f32[] parameter(1)\n"
                      "  ROOT %add = f32[] add(%x.1, %y)\n"
                      "}\n\n"
                      "ENTRY %main (x: f32[4,8]) -> f32[4] {\n"
                      "  %x = f32[4,8]{1,0} parameter(0)\n"
                      "  %constant = f32[] constant(0)\n"
                      "  ROOT %reduce = f32[4]{0} reduce(%x, %constant), dimensions={1}, "
                      "to_apply=%reducer_add_f32\n"
                      "}\n\n");
  hsc_free(text);
  hsc_module_destroy(module);
}

int main(int argc, char **argv) {
  (void)argc;
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_and_literal_prints_as_xla_prints_it),
      cmocka_unit_test(models_print_as_xla_printed_them),
      cmocka_unit_test(options_leave_things_out),
      cmocka_unit_test(built_modules_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
