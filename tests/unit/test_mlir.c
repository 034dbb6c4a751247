// MLIR: pretty and generic text and bytecode of a program become the same HLO, which computes what
// XLA's own translation to HLO computes; mistakes are reported where they are. The files of
// tests/conformance/formats are made by JAX (export.py there).
#include "base/files/file_io.h"
#include "unit.h"

#include "formats/common/formats.h"
#include "formats/mlir/mlir_op_rows.h"

static char *source_dir;

static hsc_status *read_path(const char *folder, const char *name, hsc_module **out_module) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/%s", source_dir, folder, name);
  return hsc_program_read_file(path, out_module);
}

static hsc_module *read_module(const char *folder, const char *name) {
  hsc_module *module = NULL;
  EXPECT_OK(read_path(folder, name, &module));
  return module;
}

static void expect_same_meaning(const hsc_module *a, const hsc_module *b, const char *what) {
  hsc_hash128 x = hsc_module_fingerprint(a);
  hsc_hash128 y = hsc_module_fingerprint(b);
  if (x.low != y.low || x.high != y.high)
    fail_msg("%s: the fingerprints differ", what);
}

static void expect_same_numbers(const hsc_module *a, const hsc_module *b, const char *what) {
  hsc_arena *arena = NULL;
  EXPECT_OK(hsc_arena_create(&arena));
  int count = a->entry->parameter_count;
  assert_int_equal(b->entry->parameter_count, count);
  hsc_literal **arguments = HSC_NEW_ARRAY(arena, hsc_literal *, count + 1);
  hsc_literal *x;
  hsc_literal *y;
  for (int i = 0; i < count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &a->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], 7, (uint32_t)i);
  }
  EXPECT_OK(hsc_evaluate(a, count, arguments, arena, &x));
  EXPECT_OK(hsc_evaluate(b, count, arguments, arena, &y));
  hsc_difference difference;
  EXPECT_OK(hsc_literal_compare(x, y, &difference));
  if (difference.max_ulp != 0 || difference.nan_mismatches != 0)
    fail_msg("%s: %g apart in leaf %d", what, difference.max_abs, difference.leaf);
  hsc_arena_destroy(arena);
}

static const char *const programs[] = {"control_flow", "indexing", "narrow_types", "network"};

static void all_forms_of_a_program_mean_the_same(void **state) {
  for (size_t i = 0; i < HSC_COUNT_OF(programs); i++) {
    char name[96];
    snprintf(name, sizeof name, "stablehlo_%s.mlir", programs[i]);
    hsc_module *pretty = read_module("tests/conformance/formats", name);
    snprintf(name, sizeof name, "stablehlo_%s.generic.mlir", programs[i]);
    hsc_module *generic = read_module("tests/conformance/formats", name);
    expect_same_meaning(pretty, generic, name);
    hsc_module_destroy(generic);
    if (strcmp(programs[i], "indexing") != 0) {  // chlo.top_k has no portable form
      snprintf(name, sizeof name, "stablehlo_%s.mlirbc", programs[i]);
      hsc_module *bytecode = read_module("tests/conformance/formats", name);
      expect_same_meaning(pretty, bytecode, name);
      hsc_module_destroy(bytecode);
    }
    snprintf(name, sizeof name, "stablehlo_%s.hlo", programs[i]);
    hsc_module *hlo = read_module("tests/conformance/formats", name);
    expect_same_numbers(hlo, pretty, name);
    hsc_module_destroy(hlo);
    hsc_module_destroy(pretty);
  }
}

static void the_patterns_compute_what_their_hlo_computes(void **state) {
  static const char *const names[] = {"tiny_natural", "tiny_dependent", "tiny_vmap",
                                      "tiny_scan",    "small_scan",     "multihead_dependent"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    char name[64];
    snprintf(name, sizeof name, "patterns/%s.mlir", names[i]);
    hsc_module *mlir = read_module("models", name);
    snprintf(name, sizeof name, "patterns/%s.hlo", names[i]);
    hsc_module *hlo = read_module("models", name);
    expect_same_numbers(hlo, mlir, name);
    hsc_module_destroy(mlir);
    hsc_module_destroy(hlo);
  }
}

static void the_models_are_read(void **state) {
  static const char *const names[] = {"laplace_train.mlir.gz", "resnet50_forward.mlir.gz",
                                      "resnet50_train.mlir.gz", "transformer_train.mlir.gz"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    hsc_module *module = read_module("models", names[i]);
    assert_true(hsc_module_instr_count(module) > 1000);
    hsc_module_destroy(module);
  }
}

static hsc_module *read_text(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_view_of(text), "t.mlir", &module));
  return module;
}

static const hsc_literal *constant_of(const hsc_module *module) {
  for (const hsc_instr *it = module->entry->first; it; it = it->next)
    if (it->op == HSC_OP_CONSTANT)
      return it->attr.literal.value;
  return NULL;
}

static void tensors_have_the_bits_that_the_text_says(void **state) {
  static const struct {
    const char *text;
    size_t size;
    const char *bytes;
  } cases[] = {
      {"dense<[[1.0, -2.5], [0x7F800000, 0x7FC00001]]> : tensor<2x2xf32>", 16,
       "\0\0\x80\x3f\0\0\x20\xc0\0\0\x80\x7f\x01\0\xc0\x7f"},
      {"dense<[true, false, true]> : tensor<3xi1>", 3, "\1\0\1"},
      {"dense<\"0x0100000002000000\"> : tensor<2xi32>", 8, "\1\0\0\0\2\0\0\0"},
      {"dense<[-8, 7]> : tensor<2xi4>", 2, "\xf8\x07"},
      {"dense<[255, 0]> : tensor<2xui8>", 2, "\xff\0"},
      {"dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>", 8, "\0\0\x80\x3f\0\0\0\xc0"},
      {"dense<-1> : tensor<i64>", 8, "\xff\xff\xff\xff\xff\xff\xff\xff"},
      {"dense<1.5> : tensor<bf16>", 2, "\xc0\x3f"},
      {"dense<> : tensor<0x3xf32>", 0, ""},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char source[512];
    const char *type = strstr(cases[i].text, ": ") + 2;
    snprintf(source, sizeof source,
             "func.func @main() -> %s {\n  %%0 = stablehlo.constant %s\n  return %%0 : %s\n}", type,
             cases[i].text, type);
    hsc_module *module = read_text(source);
    const hsc_literal *literal = constant_of(module);
    assert_int_equal(hsc_shape_bytes(&literal->shape), cases[i].size);
    if (cases[i].size)
      assert_memory_equal(literal->data, cases[i].bytes, cases[i].size);
    hsc_module_destroy(module);
  }
}

static void what_the_text_names_is_kept(void **state) {
  hsc_module *m = read_text(
      "#loc1 = loc(\"x.py\":7:3)\n"
      "!state = tensor<2x3xf32>\n"
      "module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {\n"
      "  func.func public @main(%arg0: !state {jax.buffer_donor = true} loc(\"x\"), %arg1: "
      "tensor<3x4xf32>) -> (tensor<2x4xf32> {jax.result_info = \"r\"}) {\n"
      "    %0 = call @f(%arg0) : (!state) -> tensor<2x3xf32> loc(#loc2)\n"
      "    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0], precision = [HIGH, "
      "DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>\n"
      "    return %1 : tensor<2x4xf32>\n"
      "  }\n"
      "  func.func private @f(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> { // a comment\n"
      "    %0:2 = \"stablehlo.sort\"(%arg0, %arg0) <{dimension = 1 : i64, is_stable = true}> ({\n"
      "    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):\n"
      "      %9 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> "
      "tensor<i1>\n"
      "      stablehlo.return %9 : tensor<i1>\n"
      "    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)\n"
      "    return %0#1 : tensor<2x3xf32>\n"
      "  }\n"
      "}\n"
      "#loc2 = loc(\"jit(f)/sort\"(#loc1))\n");
  assert_string_equal(m->name, "jit_f");
  assert_int_equal(m->replica_count, 2);
  assert_int_equal(m->donor_count, 1);
  const hsc_instr *dot = m->entry->root;
  const hsc_instr *call = dot->operands[0];
  assert_int_equal(dot->op, HSC_OP_DOT);
  assert_int_equal(dot->attr.dot.precision.v[0], 1);
  assert_int_equal(call->op, HSC_OP_CALL);
  assert_string_equal(call->metadata->op_name, "jit(f)/sort");
  assert_string_equal(call->metadata->source_file, "x.py");
  assert_int_equal(call->metadata->source_line, 7);
  const hsc_instr *element = call->called[0]->root;
  const hsc_instr *sort = element->operands[0];
  assert_int_equal(element->attr.index.value, 1);
  assert_int_equal(sort->op, HSC_OP_SORT);
  assert_true(sort->attr.dims.is_stable);
  assert_int_equal(sort->called[0]->root->attr.compare.type, HSC_COMPARE_TOTALORDER);
  hsc_module_destroy(m);
}

static void resources_behind_the_module_are_found(void **state) {
  hsc_module *m = read_text(
      "func.func @main() -> tensor<2xf32> {\n  %0 = stablehlo.constant dense_resource<big> : "
      "tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
      "{-#\n  dialect_resources: {\n    builtin: {\n      big: \"0x040000000000803F00000040\"\n    "
      "}\n  }\n#-}\n");
  assert_memory_equal(constant_of(m)->data, "\0\0\x80\x3f\0\0\0\x40", 8);
  hsc_module_destroy(m);
}

static void chlo_is_taken_apart(void **state) {
  hsc_module *m = read_text(
      "func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>, tensor<2xf32>, "
      "tensor<2xi32>) {\n"
      "  %0 = chlo.square %a : tensor<4xf32> -> tensor<4xf32>\n"
      "  %1 = chlo.is_inf %a : tensor<4xf32> -> tensor<4xi1>\n"
      "  %2:2 = chlo.top_k(%0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)\n"
      "  return %0, %1, %2#0, %2#1 : tensor<4xf32>, tensor<4xi1>, tensor<2xf32>, "
      "tensor<2xi32>\n}\n");
  hsc_arena *arena = NULL;
  hsc_literal *x, *result;
  EXPECT_OK(hsc_arena_create(&arena));
  EXPECT_OK(hsc_literal_create(arena, &m->entry->parameters[0]->shape, &x));
  const double values[] = {1, -3, 0.5, 2};
  for (int i = 0; i < 4; i++)
    hsc_literal_set_double(x, i, values[i]);
  EXPECT_OK(hsc_evaluate(m, 1, &x, arena, &result));
  assert_true(hsc_literal_get_double(&result->elements[0], 1) == 9);
  assert_int_equal(hsc_literal_get_int(&result->elements[1], 0), 0);
  assert_true(hsc_literal_get_double(&result->elements[2], 0) == 9);
  assert_int_equal(hsc_literal_get_int(&result->elements[3], 1), 3);
  hsc_module_destroy(m);
  hsc_arena_destroy(arena);
}

#define IN_MAIN(body) "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n" body "\n}\n"

static void mistakes_are_told_where_they_stand(void **state) {
  static const struct {
    const char *text;
    int line, column;
    const char *message;
  } cases[] = {
      {"", 1, 1, "expected a module, found the end of the text"},
      {"modul {}", 1, 1,
       "expected an operation like stablehlo.add or \"stablehlo.add\", found 'modul'"},
      {IN_MAIN("  return %b : tensor<4xf32>"), 2, 10, "the value %b is not defined here"},
      {IN_MAIN("  %first = stablehlo.abs %a : tensor<4xf32>\n  return %frst : tensor<4xf32>"), 3,
       10, "the value %frst is not defined here; did you mean %first?"},
      {IN_MAIN("  %0 = stablehlo.abs %a : tensor<5xf32>\n  return %0 : tensor<5xf32>"), 2, 27,
       "operand 0 has another type"},
      {IN_MAIN("  %0 = stablehlo.abs %a : tensor<4xf33>"), 2, 36,
       "unknown element type 'f33'; did you mean 'f32'?"},
      {IN_MAIN("  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<4xf32>"), 2, 33,
       "2 values for a tensor of 4 elements"},
      {IN_MAIN("  %0 = stablehlo.constant dense<[300]> : tensor<1xi8>"), 2, 34,
       "the value does not fit in s8"},
      {IN_MAIN("  %0 = stablehlo.constant dense<[1]> : tensor<9999999999xi8>"), 2, 33,
       "the tensor has 9999999999 elements, more than the text can hold"},
      {IN_MAIN(
           "  %0 = stablehlo.compare LTT, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"),
       2, 26, "unknown comparison_direction 'LTT'"},
      {IN_MAIN("  %0 = \"stablehlo.compare\"(%a, %a) {comparison_direction = "
               "#stablehlo<comparison_direction LLT>} : (tensor<4xf32>, tensor<4xf32>) -> "
               "tensor<4xi1>"),
       2, 92, "unknown comparison_direction 'LLT'; did you mean 'LT'?"},
      {IN_MAIN("  %0:2 = stablehlo.abs %a : tensor<4xf32>"), 2, 3,
       "stablehlo.abs has 1 result, more are named"},
      {IN_MAIN("  %a = stablehlo.abs %a : tensor<4xf32>"), 2, 4, "the value %a is defined twice"},
      {IN_MAIN("  %0 = stablehlo.slice %a [0:2 : (tensor<4xf32>) -> tensor<2xf32>"), 2, 34,
       "expected an integer, found '('"},
      {IN_MAIN(
           "  %0 = call @g(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>"),
       2, 3, "there is no function @g"},
      {IN_MAIN("  %0 = foo.bar %a : tensor<4xf32>\n  return %0 : tensor<4xf32>"), 2, 3,
       "foo.bar: not built yet: importing this operation"},
      {IN_MAIN("  cf.br ^bb1\n^bb1:\n  return %a : tensor<4xf32>"), 2, 3,
       "not built yet: the custom form of 'cf.br'; write it in the generic form, \"cf.br\"(...)"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = NULL;
    hsc_status *status =
        hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_view_of(cases[i].text), "t.mlir", &module);
    if (!status)
      fail_msg("parsed: %s", cases[i].text);
    assert_string_equal(hsc_status_message(status), cases[i].message);
    assert_string_equal(hsc_status_path(status), "t.mlir");
    if (hsc_status_line(status) != cases[i].line || hsc_status_column(status) != cases[i].column)
      fail_msg("%s: at %d:%d, not %d:%d", cases[i].message, hsc_status_line(status),
               hsc_status_column(status), cases[i].line, cases[i].column);
    hsc_status_free(status);
  }
}

// The same with one bracket, comma or the like missing: an error, or another program.
static void no_mark_may_be_missing(void **state) {
  int wrong = 0;
  for (size_t n = 0; n < 2 * HSC_COUNT_OF(programs); n++) {
    char path[512];
    hsc_bytes text = {0};
    hsc_bytes before = {0};
    hsc_module *module = NULL;
    bool in_text = false;
    int tried = 0;
    snprintf(path, sizeof path, "%s/tests/conformance/formats/stablehlo_%s%s.mlir", source_dir,
             programs[n / 2], n % 2 ? ".generic" : "");
    EXPECT_OK(hsc_file_read(path, &text));
    EXPECT_OK(hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_bytes_view(&text), "t.mlir", &module));
    EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &before));
    hsc_module_destroy(module);
    for (size_t at = 0; at < text.size; at++) {
      char mark = text.data[at];
      in_text ^= mark == '"' && (at == 0 || text.data[at - 1] != '\\');
      if (in_text || !mark || !strchr("{}[](),:=<>", mark) || tried++ % cases_of(5, 1) != 0)
        continue;
      text.data[at] = ' ';
      module = NULL;
      hsc_status *status =
          hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_bytes_view(&text), "t.mlir", &module);
      if (!status) {
        hsc_bytes after = {0};
        EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &after));
        if (strcmp(hsc_bytes_text(&before), hsc_bytes_text(&after)) == 0) {
          wrong++;
          print_error("%s, byte %zu: '%c' is not missed: %.50s\n", path + strlen(source_dir), at,
                      mark, text.data + (at > 25 ? at - 25 : 0));
        }
        hsc_bytes_deinit(&after);
      }
      hsc_status_free(status);
      hsc_module_destroy(module);
      text.data[at] = mark;
    }
    hsc_bytes_deinit(&before);
    hsc_bytes_deinit(&text);
  }
  assert_int_equal(wrong, 0);
}

static void nesting_is_bounded(void **state) {
  static const char *const repeats[] = {"module {", "\"a.b\"() ({", "#a = [[", "!t = tuple<tuple<",
                                        "#l = loc(\"a\"(\"b\"("};
  for (size_t i = 0; i < HSC_COUNT_OF(repeats); i++) {
    hsc_bytes text = {0};
    hsc_module *module = NULL;
    const char *again;
    if (i < 2)
      again = repeats[i];
    else if (i == 2)
      again = "[";
    else if (i == 3)
      again = "tuple<";
    else
      again = "\"c\"(";
    hsc_bytes_append_text(&text, repeats[i]);
    for (int k = 0; k < 100000; k++)
      hsc_bytes_append_text(&text, again);
    EXPECT_CODE(INVALID_ARGUMENT,
                hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_bytes_view(&text), NULL, &module));
    hsc_bytes_deinit(&text);
  }
}

// JAX's program for eight devices: a mesh, shardings of arguments and results, a constraint, a
// manual computation.
static void programs_for_several_devices_read_alike(void **state) {
  hsc_module *pretty = read_module("tests/conformance/formats", "stablehlo_devices.mlir");
  hsc_module *generic = read_module("tests/conformance/formats", "stablehlo_devices.generic.mlir");
  hsc_module *bytecode = read_module("tests/conformance/formats", "stablehlo_devices.mlirbc");
  assert_int_equal(pretty->num_partitions, 8);
  assert_string_equal(pretty->entry->parameters[0]->sharding, "{devices=[2,4]0,1,2,3,4,5,6,7}");
  assert_int_equal(pretty->entry->parameters[0]->shape.dims[0], 4);
  expect_same_meaning(pretty, generic, "generic");
  expect_same_meaning(pretty, bytecode, "bytecode");
  hsc_module_destroy(pretty);
  hsc_module_destroy(generic);
  hsc_module_destroy(bytecode);
}

// Groups by the axes of a mesh become lists, the same in every encoding; what they are was made
// with NumPy's reshape and transpose.
static void groups_by_axes_are_listed(void **state) {
  static const char *const files[] = {"mesh_groups.mlir", "mesh_groups.mlirbc",
                                      "mesh_groups.native.mlirbc"};
  static const char *const wanted[] = {"{{0,1,2,3},{4,5,6,7}}", "{{0,4,1,5,2,6,3,7}}",
                                       "{{0,4,1,5},{2,6,3,7}}", "{{7,3},{6,2},{5,1},{4,0}}"};
  for (size_t i = 0; i < HSC_COUNT_OF(files); i++) {
    hsc_module *module = read_module("tests/conformance/formats", files[i]);
    size_t at = 0;
    for (hsc_instr *instr = module->entry->first; instr; instr = instr->next)
      if (instr->op == HSC_OP_ALL_REDUCE)
        assert_string_equal(instr->attr.collective.replica_groups, wanted[at++]);
    assert_int_equal(at, HSC_COUNT_OF(wanted));
    hsc_module_destroy(module);
  }
}

// The lookup is a bisection, and bytecode has its properties in the order of their names.
static void rows_and_their_properties_are_sorted(void **state) {
  (void)state;
  for (int i = 0; i < hsc__mlir_op_row_count; i++) {
    const hsc__mlir_op_row *row = &hsc__mlir_op_rows[i];
    assert_int_equal(hsc__mlir_op_row_number(row->name), i);
    int newest = 0;
    for (const hsc__mlir_properties *p = row->properties; p->attributes; p++) {
      if (p->version && p->version <= newest)
        fail_msg("%s: version %d comes after %d", row->name, p->version, newest);
      newest = p->version;
      char last[64] = "";
      for (const char *at = p->attributes; *at; at += strspn(at, " ")) {
        at += *at == '?';
        size_t length = strcspn(at, " ");
        char name[64];
        assert_true(length && length < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (strcmp(name, last) <= 0)
          fail_msg("%s: %s comes after %s", row->name, name, last);
        memcpy(last, name, sizeof last);
        at += length;
      }
    }
  }
  assert_int_equal(hsc__mlir_op_row_number("no_such_operation"), -1);
}

int main(int argc, char **argv) {
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_forms_of_a_program_mean_the_same),
      cmocka_unit_test(programs_for_several_devices_read_alike),
      cmocka_unit_test(groups_by_axes_are_listed),
      cmocka_unit_test(the_patterns_compute_what_their_hlo_computes),
      cmocka_unit_test(the_models_are_read),
      cmocka_unit_test(tensors_have_the_bits_that_the_text_says),
      cmocka_unit_test(what_the_text_names_is_kept),
      cmocka_unit_test(resources_behind_the_module_are_found),
      cmocka_unit_test(chlo_is_taken_apart),
      cmocka_unit_test(mistakes_are_told_where_they_stand),
      cmocka_unit_test(no_mark_may_be_missing),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(rows_and_their_properties_are_sorted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
