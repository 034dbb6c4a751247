// What converting must not change: the numbers. Random modules go through every format and on
// through another, and the evaluator says the same as before, to the bit; what HLO says besides is
// kept, or its place is named in an error.
#include "unit.h"

#include <stdlib.h>

#include "formats/common/formats.h"
#include "random_module.h"

static int seeds = 120;  // random modules; more by the second argument

typedef struct way {
  const char *name;
  hsc_format format;
  hsc_write_options options;
} way;
static const way ways[] = {
    {"HLO text", HSC_FORMAT_HLO_TEXT, {{0}, false, false}},
    {"HLO proto", HSC_FORMAT_HLO_PROTO, {{0}, false, false}},
    {"MLIR text", HSC_FORMAT_MLIR_TEXT, {{0}, false, false}},
    {"MLIR text, generic, with locations", HSC_FORMAT_MLIR_TEXT, {{0}, true, true}},
    {"StableHLO 1.20.0", HSC_FORMAT_MLIR_BYTECODE, {{1, 20, 0}, false, false}},
    {"StableHLO 1.4.0", HSC_FORMAT_MLIR_BYTECODE, {{1, 4, 0}, false, false}},
    {"StableHLO 0.14.0", HSC_FORMAT_MLIR_BYTECODE, {{0, 14, 0}, false, false}},
    {"StableHLO 0.9.0", HSC_FORMAT_MLIR_BYTECODE, {{0, 9, 0}, false, false}},
};
enum { WAYS = HSC_COUNT_OF(ways) };

static hsc_literal *evaluate(const hsc_module *module, uint64_t seed, hsc_arena *arena) {
  hsc_literal *arguments[64];
  hsc_literal *result = NULL;
  int count = module->entry->parameter_count;
  assert_true(count <= 64);
  for (int i = 0; i < count; i++) {
    EXPECT_OK(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  EXPECT_OK(hsc_evaluate(module, count, arguments, arena, &result));
  return result;
}

// NULL when the format cannot say it (older StableHLO has no tan and no batching dimensions).
static hsc_module *through(const hsc_module *module, const way *by) {
  hsc_bytes bytes = {0};
  hsc_module *again = NULL;
  hsc_status *status = hsc_program_write_with(module, by->format, &by->options, NULL, &bytes);
  if (status) {
    assert_int_equal(hsc_status_code(status), HSC_UNIMPLEMENTED);
    if (!strstr(hsc_status_message(status), " needs StableHLO 1."))
      fail_msg("%s: %s", by->name, hsc_status_message(status));
    hsc_status_free(status);
  } else {
    hsc_format found;
    assert_true(hsc_format_detect(hsc_bytes_view(&bytes), NULL, &found));
    assert_int_equal(found, by->format);
    status = hsc_program_read(hsc_bytes_view(&bytes), by->name, &again);
    if (status)
      fail_msg("%s: %s %s", by->name, hsc_status_message(status), hsc_status_notes(status));
  }
  hsc_bytes_deinit(&bytes);
  return again;
}

static hsc_module *random_one(int seed) {
  hsc_module *module = NULL;
  random_module_options options = random_module_options_default();
  options.unbounded = seed % 4 == 1;
  if (seed % 5 == 0)
    options.features = RANDOM_ALL;
  EXPECT_OK(random_module_create((uint64_t)seed, &options, &module));
  return module;
}

static void expect_same_numbers(const hsc_literal *want,
                                const hsc_module *module,
                                uint64_t seed,
                                hsc_arena *arena,
                                const char *first,
                                const char *second) {
  hsc_difference d;
  EXPECT_OK(hsc_literal_compare(want, evaluate(module, seed, arena), &d));
  if (d.max_ulp || d.nan_mismatches)
    fail_msg("seed %d through %s and %s: output %d element %d is %g, was %g", (int)seed, first,
             second, d.leaf, (int)d.index, d.right, d.left);
}

static void any_pair_of_formats_keeps_the_numbers(void **state) {
  int converted = 0;
  for (int seed = 0; seed < seeds; seed++) {
    hsc_arena *arena = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    hsc_module *module = random_one(seed);
    const hsc_literal *want = evaluate(module, (uint64_t)seed, arena);
    for (int i = 0; i < WAYS; i++) {
      hsc_module *first = through(module, &ways[i]);
      if (!first)
        continue;
      const way *on = &ways[(i + 1 + seed % (WAYS - 1)) % WAYS];
      expect_same_numbers(want, first, (uint64_t)seed, arena, ways[i].name, "nothing else");
      hsc_module *second = through(first, on);
      if (second)
        expect_same_numbers(want, second, (uint64_t)seed, arena, ways[i].name, on->name);
      converted += second != NULL;
      hsc_module_destroy(first);
      hsc_module_destroy(second);
    }
    hsc_module_destroy(module);
    hsc_arena_destroy(arena);
  }
  assert_true(converted > seeds * (int)WAYS * 3 / 4);
}

// The first conversion may inline and take tuples apart; from then on nothing changes.
static void what_is_read_is_written_the_same(void **state) {
  for (int seed = 0; seed < seeds; seed++) {
    hsc_module *module = random_one(seed);
    for (int i = 2; i < WAYS; i++) {
      hsc_module *once = through(module, &ways[i]);
      hsc_module *twice = once ? through(once, &ways[i]) : NULL;
      if (!twice)
        continue;
      hsc_bytes first = {0};
      hsc_bytes second = {0};
      hsc_module *thrice = through(twice, &ways[i]);
      EXPECT_OK(hsc_program_write(twice, HSC_FORMAT_HLO_TEXT, &first));
      EXPECT_OK(hsc_program_write(thrice, HSC_FORMAT_HLO_TEXT, &second));
      assert_string_equal(hsc_bytes_text(&first), hsc_bytes_text(&second));
      hsc_bytes_deinit(&first);
      hsc_bytes_deinit(&second);
      hsc_module_destroy(once);
      hsc_module_destroy(twice);
      hsc_module_destroy(thrice);
    }
    hsc_module_destroy(module);
  }
}

static hsc_module *parse(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_view_of(text), "test.hlo", &module));
  return module;
}

static const char everything[] =
    "HloModule everything, input_output_alias={ {0}: (0, {}, may-alias) }, buffer_donor={ (1, {}) "
    "}, replica_count=2, num_partitions=2\n"
    "add { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n"
    "twice { p = f32[8,4] parameter(0)\n  ROOT d = f32[8,4] add(p, p) }\n"
    "ENTRY e {\n"
    "  x = f32[8,4] parameter(0), sharding={devices=[2,1]<=[2]}\n"
    "  y = f32[8,4] parameter(1)\n"
    "  b = bf16[8,4] convert(y), frontend_attributes={note=\"a \\\"quoted\\\" one\",other=\"1\"}\n"
    "  d = f32[8,8] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "operand_precision={high,highest}\n"
    "  q = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
    "algorithm=dot_bf16_bf16_f32_x3\n"
    "  r = f32[8,8] exponential(d), result_accuracy={tolerance={atol=0.5,rtol=0.25,ulps=3}}, "
    "backend_config={\"a\":\"b\"}\n"
    "  h = f32[8,8] tanh(q), result_accuracy={mode=highest}\n"
    "  g = f32[8,4] all-reduce(x), channel_id=3, replica_groups={{0,1},{2,3}}, "
    "use_global_device_ids=true, to_apply=add\n"
    "  ag = f32[16,4] all-gather(y), replica_groups={{0,2},{1,3}}, dimensions={0}\n"
    "  stay = f32[8,4] collective-permute(g), source_target_pairs={{0,0},{1,1}}\n"
    "  cp = f32[8,4] collective-permute(stay), source_target_pairs={{0,1},{1,0}}\n"
    "  c = f32[8,4] call(cp), to_apply=twice, sharding={replicated}\n"
    "  cc = (f32[8,4]{0,1}, s32[2]{0}) custom-call(c, x), custom_call_target=\"some.target\", "
    "operand_layout_constraints={f32[8,4]{0,1}, f32[8,4]{1,0}},"
    " custom_call_has_side_effect=true, output_to_operand_aliasing={{0}: (1, {})}, "
    "backend_config=\"k = 3 : \\\"i\\\"\"\n"
    "  tc = f32[8,4] custom-call(x), custom_call_target=\"typed\", "
    "api_version=API_VERSION_TYPED_FFI, backend_config={a = 1 : i32, b = [1.5 : f32, \"t\"], c = "
    "array<i64: 1, 2>, d = true}\n"
    "  v = f32[8,4]{0,1} get-tuple-element(cc), index=0\n"
    "  k = (f32[8,2], s32[8,2]) topk(x), k=2, largest=false\n"
    "  kv = f32[8,2] get-tuple-element(k), index=0\n"
    "  lt = pred[8,4] compare(x, y), direction=GE, type=TOTALORDER\n"
    "  ROOT t = (f32[8,4], f32[8,8], f32[8,8], f32[16,4], f32[8,2], pred[8,4]) tuple(v, r, h, ag, "
    "kv, lt)\n"
    "}\n";

static void count_attributes(const hsc_module *module,
                             const char *const *needles,
                             size_t count,
                             const char *way_name) {
  hsc_bytes text = {0};
  EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &text));
  for (size_t i = 0; i < count; i++)
    if (!strstr(hsc_bytes_text(&text), needles[i]))
      fail_msg("%s: lost %s in\n%s", way_name, needles[i], hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
}

static void what_hlo_says_besides_is_kept(void **state) {
  static const char *const needles[] = {
      "input_output_alias={ {0}: (0, {}, may-alias) }",
      "buffer_donor={ (1, {}) }",
      "replica_count=2",
      "num_partitions=2",
      "sharding={devices=[2,1]<=[2]}",
      "note=\"a \\\"quoted\\\" one\",other=\"1\"",
      "operand_precision={high,highest}",
      "algorithm=dot_bf16_bf16_f32_x3",
      "result_accuracy={tolerance={atol=0.5,rtol=0.25,ulps=3}}",
      "backend_config={\"a\":\"b\"}",
      "result_accuracy={mode=highest}",
      "channel_id=3",
      "replica_groups={{0,1},{2,3}}",
      "use_global_device_ids=true",
      "replica_groups={{0,2},{1,3}}",
      "source_target_pairs={{0,1},{1,0}}",
      "to_apply=%twice",
      "sharding={replicated}",
      "(f32[8,4]{0,1}, s32[2]{0}) custom-call",
      "custom_call_target=\"some.target\"",
      "operand_layout_constraints={f32[8,4]{0,1}, f32[8,4]{1,0}}",
      "custom_call_has_side_effect=true",
      "output_to_operand_aliasing={{0}: (1, {})}",
      "api_version=API_VERSION_TYPED_FFI",
      "backend_config={a = 1 : i32, b = [1.5 : f32, \"t\"], c = array<i64: 1, 2>, d = true}",
      "backend_config=\"k = 3 : \\\"i\\\"\"",
      "k=2, largest=false",
      "type=TOTALORDER"};
  hsc_module *module = parse(everything);
  count_attributes(module, needles, HSC_COUNT_OF(needles), "itself");
  for (int i = 0; i < 5; i++) {  // all of it needs a new StableHLO
    hsc_module *again = through(module, &ways[i]);
    count_attributes(again, needles, HSC_COUNT_OF(needles), ways[i].name);
    hsc_module_destroy(again);
  }
  hsc_module_destroy(module);
}

static void tuples_of_the_entry_are_remembered(void **state) {
  static const char *const bodies[] = {
      "x = f32[2] parameter(0)\n  n = f32[2] negate(x)\n  ROOT t = (f32[2]) tuple(n)",
      "x = f32[2] parameter(0)\n  ROOT t = () tuple()",
      ("p = (f32[2], (s32[], f32[])) parameter(0)\n  q = s32[] parameter(1)\n  a = f32[2] "
       "get-tuple-element(p), index=0\n  b = (s32[], f32[]) get-tuple-element(p), index=1\n"
       "  c = s32[] get-tuple-element(b), index=0\n  d = s32[] add(c, q)\n  e = () tuple()\n  ROOT "
       "t = ((s32[], f32[]), s32[], f32[2], ()) tuple(b, d, a, e)"),
  };
  for (size_t k = 0; k < HSC_COUNT_OF(bodies); k++) {
    char text[600];
    snprintf(text, sizeof text, "HloModule m%s\nENTRY e {\n  %s\n}\n",
             k == 2
                 ? ", input_output_alias={ {2}: (0, {0}, may-alias), {0,0}: (0, {1,0}, may-alias) }"
                 : "",
             bodies[k]);
    hsc_module *module = parse(text);
    for (int i = 2; i < WAYS; i++) {
      hsc_module *again = through(module, &ways[i]);
      assert_true(hsc_shape_equal(&again->entry->root->shape, &module->entry->root->shape));
      assert_int_equal(again->entry->parameter_count, module->entry->parameter_count);
      for (int p = 0; p < module->entry->parameter_count; p++)
        assert_true(hsc_shape_equal(&again->entry->parameters[p]->shape,
                                    &module->entry->parameters[p]->shape));
      assert_int_equal(again->alias_count, module->alias_count);
      hsc_arena *arena = NULL;
      EXPECT_OK(hsc_arena_create(&arena));
      expect_same_numbers(evaluate(module, i, arena), again, i, arena, ways[i].name, bodies[k]);
      hsc_arena_destroy(arena);
      hsc_module_destroy(again);
    }
    hsc_module_destroy(module);
  }
}

static void what_a_version_lacks_is_named(void **state) {
  static const struct {
    const char *shape, *instr;
    hsc_stablehlo_version version;
    const char *message;
  } cases[] = {
      {"f32[4]",
       "tan(x)",
       {1, 3, 0},
       "stablehlo.tan: it needs StableHLO 1.4.0; this artifact is for 1.3.0"},
      {"f32[4]",
       "exponential(x), result_accuracy={mode=highest}",
       {1, 8, 0},
       "stablehlo.exponential: result_accuracy needs StableHLO 1.9.0; this artifact is for 1.8.0"},
      {"f4e2m1fn[4]",
       "negate(x)",
       {1, 7, 0},
       "f4e2m1fn needs StableHLO 1.8.0; this artifact is for 1.7.0"},
      {"f32[]",
       "dot(x, x), algorithm=dot_f32_f32_f32",
       {1, 5, 0},
       "needs StableHLO 1.6.0; this artifact is for 1.5.0"},
      {"f32[4]",
       "collective-broadcast(x), replica_groups={{0}}",
       {0, 15, 0},
       "stablehlo.collective_broadcast: it needs StableHLO 0.16.0; this artifact is for 0.15.0"},
      {"f32[4]", "bitcast(x)", {0}, NULL},
      {"f32[4]", "copy(x)", {0}, NULL},
      {"s32[4]",
       "rng-get-and-update-state(), delta=1",
       {0},
       "rng-get-and-update-state: there is no such operation in StableHLO"},
      {"u1[4]", "not(x)", {0}, "the type u1 has no form in StableHLO"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char text[400];
    const char *from = strstr(cases[i].instr, "rng-get") ? "u64[2]" : cases[i].shape;
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n  x = %s parameter(0)\n  ROOT r = %s %s\n}\n", cases[i].shape,
             from, cases[i].instr);
    hsc_module *module = parse(text);
    hsc_bytes out = {0};
    hsc_write_options options = {.stablehlo_version = cases[i].version};
    hsc_status *status =
        hsc_program_write_with(module, HSC_FORMAT_MLIR_BYTECODE, &options, NULL, &out);
    if (!cases[i].message) {
      EXPECT_OK(status);
    } else {
      assert_int_equal(hsc_status_code(status), HSC_UNIMPLEMENTED);
      if (!strstr(hsc_status_message(status), cases[i].message))
        fail_msg("'%s' is not in '%s'", cases[i].message, hsc_status_message(status));
      hsc_status_free(status);
    }
    hsc_bytes_deinit(&out);
    hsc_module_destroy(module);
  }
  hsc_stablehlo_version v;
  EXPECT_OK(hsc_stablehlo_version_parse(HSC_VIEW("1.9.2"), &v));
  assert_true(v.major == 1 && v.minor == 9 && v.patch == 2);
  EXPECT_CODE(INVALID_ARGUMENT, hsc_stablehlo_version_parse(HSC_VIEW("1.9"), &v));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_stablehlo_version_parse(HSC_VIEW("0.8.9"), &v));
  EXPECT_CODE(INVALID_ARGUMENT, hsc_stablehlo_version_parse(HSC_VIEW("1.21.0"), &v));
}

static void what_is_left_out_is_said(void **state) {
  hsc_module *module = parse(
      "HloModule m, is_scheduled=true\nENTRY e {\n  x = f32[2,3] parameter(0)\n  a = f32[2,3]{0,1} "
      "negate(x)\n"
      "  ROOT r = f32[2,3] abs(a), control-predecessors={x}\n}\n");
  hsc_bytes notes = {0};
  hsc_bytes out = {0};
  EXPECT_OK(hsc_program_write_with(module, HSC_FORMAT_MLIR_TEXT, NULL, &notes, &out));
  assert_string_equal(hsc_bytes_text(&notes),
                      "layouts of instructions\ncontrol dependencies\nthe schedule\n");
  hsc_bytes_deinit(&notes);
  hsc_bytes_deinit(&out);
  hsc_module_destroy(module);
}

// Bitcasts go by the bytes in memory: a transposed layout, another width.
static void bitcasts_keep_their_bytes(void **state) {
  static const char *const bodies[] = {
      "x = f32[2,3]{0,1} parameter(0)\n  ROOT r = f32[3,2]{1,0} bitcast(x)",
      "x = f32[2,3,4]{0,2,1} parameter(0)\n  ROOT r = f32[4,6]{0,1} bitcast(x)",
      "x = f32[6] parameter(0)\n  ROOT r = u16[2,6]{0,1} bitcast(x)",
      "x = s8[2,4]{1,0} parameter(0)\n  ROOT r = s32[2] bitcast(x)",
      "x = f32[2,3] parameter(0)\n  ROOT r = s32[6] bitcast(x)",
  };
  for (size_t i = 0; i < HSC_COUNT_OF(bodies); i++) {
    char text[300];
    hsc_arena *arena = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    snprintf(text, sizeof text, "HloModule m\nENTRY e {\n  %s\n}\n", bodies[i]);
    hsc_module *module = parse(text);
    const hsc_literal *want = evaluate(module, i, arena);
    for (int k = 2; k < WAYS; k++) {
      hsc_module *again = through(module, &ways[k]);
      expect_same_numbers(want, again, i, arena, ways[k].name, bodies[i]);
      hsc_module_destroy(again);
    }
    hsc_module_destroy(module);
    hsc_arena_destroy(arena);
  }
}

// A composite stays one in every form that has them, with its attributes; in HLO it is a call that
// says so.
static void composites_stay_composites(void **state) {
  (void)state;
  static const char text[] =
      "module @m {\n"
      "  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "    %0 = stablehlo.composite \"my.op\" %a {composite_attributes = {n = 3 : i64, s = \"x\"}, "
      "decomposition = @impl, version = 2 : i32, mhlo.frontend_attributes = {z = \"1\"}} : "
      "(tensor<4xf32>) -> tensor<4xf32>\n"
      "    return %0 : tensor<4xf32>\n"
      "  }\n"
      "  func.func private @impl(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "    %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "    return %0 : tensor<4xf32>\n"
      "  }\n"
      "}\n";
  hsc_module *module, *again;
  EXPECT_OK(hsc_program_read(hsc_view_of(text), "composite", &module));
  hsc_hash128 before = hsc_module_fingerprint(module);
  hsc_bytes out = {0};
  EXPECT_OK(hsc_program_write(module, HSC_FORMAT_MLIR_TEXT, &out));
  assert_non_null(strstr(hsc_bytes_text(&out),
                         "stablehlo.composite \"my.op\" %arg0 {composite_attributes = {n = 3 : "
                         "i64, s = \"x\"}, decomposition = @impl, version = 2 : i32, "
                         "mhlo.frontend_attributes = {z = \"1\"}}"));
  hsc_bytes_deinit(&out);
  for (int i = 0; i < 6; i++) {  // the first versions have no composites
    again = through(module, &ways[i]);
    hsc_hash128 after = hsc_module_fingerprint(again);
    if (before.low != after.low || before.high != after.high)
      fail_msg("%s: it is another program", ways[i].name);
    hsc_module_destroy(again);
  }
  hsc_module_destroy(module);
}

// Whatever an operation says besides its own attributes comes out again, under its name, from every
// format.
static void unknown_attributes_are_kept(void **state) {
  (void)state;
  static const char *const values[] = {"1 : i64",
                                       "-7 : i32",
                                       "2.5 : f32",
                                       "true",
                                       "\"text\"",
                                       "unit",
                                       "[1, 2]",
                                       "{a = 1 : i64}",
                                       "@symbol",
                                       "array<i64: 1, 2>",
                                       "dense<3> : tensor<2xi32>",
                                       "f32",
                                       "#x.y<z>"};
  static const char *const ops[] = {"stablehlo.add %a, %a", "stablehlo.exponential %a",
                                    "stablehlo.negate %a"};
  for (size_t v = 0; v < HSC_COUNT_OF(values); v++)
    for (size_t o = 0; o < HSC_COUNT_OF(ops); o++) {
      char text[600], wanted[64];
      hsc_module *module;
      snprintf(text, sizeof text,
               "func.func @main(%%a: tensor<4xf32> {own.arg%zu = %s}) -> tensor<4xf32> {\n  %%0 = "
               "%s {own.key%zu = %s} : tensor<4xf32>\n  return %%0 : tensor<4xf32>\n}\n",
               v, values[v], ops[o], v, values[v]);
      hsc_status *status =
          hsc_program_read_as(HSC_FORMAT_MLIR_TEXT, hsc_view_of(text), "unknown", &module);
      if (status)
        fail_msg("%s\n%s", hsc_status_message(status), text);
      for (size_t i = 0; i < WAYS; i++) {
        hsc_bytes out = {0};
        hsc_module *again = through(module, &ways[i]);
        EXPECT_OK(hsc_program_write(again, HSC_FORMAT_HLO_TEXT, &out));
        for (int k = 0; k < 2; k++) {
          snprintf(wanted, sizeof wanted, "own.%s%zu=", k ? "arg" : "key", v);
          if (!strstr(hsc_bytes_text(&out), wanted))
            fail_msg("%s: %s is gone from\n%s", ways[i].name, wanted, hsc_bytes_text(&out));
        }
        hsc_bytes_deinit(&out);
        hsc_module_destroy(again);
      }
      hsc_module_destroy(module);
    }
}

int main(int argc, char **argv) {
  if (argc > 2 && atoi(argv[2]) > 0)
    seeds = atoi(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composites_stay_composites),
      cmocka_unit_test(unknown_attributes_are_kept),
      cmocka_unit_test(any_pair_of_formats_keeps_the_numbers),
      cmocka_unit_test(what_is_read_is_written_the_same),
      cmocka_unit_test(what_hlo_says_besides_is_kept),
      cmocka_unit_test(tuples_of_the_entry_are_remembered),
      cmocka_unit_test(what_a_version_lacks_is_named),
      cmocka_unit_test(what_is_left_out_is_said),
      cmocka_unit_test(bitcasts_keep_their_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
