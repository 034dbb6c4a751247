// The HLO text parser: what XLA prints is read (instruction counts as jaxlib 0.10.2 counts them),
// mistakes are reported where they are.
#include "base/files/file_io.h"
#include "unit.h"

#include "formats/common/formats.h"

static char *source_dir;

static hsc_status *parse(const char *text, hsc_module **out_module) {
  return hsc_hlo_text_parse(hsc_view_of(text), "t.hlo", out_module);
}

static hsc_module *parse_ok(const char *text) {
  hsc_module *module = NULL;
  EXPECT_OK(parse(text, &module));
  return module;
}

static hsc_module *parse_file(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/models/%s", source_dir, name);
  hsc_bytes bytes = {0};
  hsc_bytes text = {0};
  EXPECT_OK(hsc_file_read(path, &bytes));
  EXPECT_OK(hsc_decompress(hsc_bytes_view(&bytes), 1 << 30, &text));
  hsc_module *module = NULL;
  EXPECT_OK(hsc_hlo_text_parse(hsc_bytes_view(&text), path, &module));
  hsc_bytes_deinit(&bytes);
  hsc_bytes_deinit(&text);
  return module;
}

// What newer compilers write in place of type=TOTALORDER.
static void the_order_of_a_comparison_is_read(void **state) {
  static const struct {
    const char *text;
    hsc_compare_type type;
  } cases[] = {
      {"ENTRY e { x = f32[] parameter(0) ROOT y = pred[] compare(x, x), direction=GT, order=TOTAL "
       "}",
       HSC_COMPARE_TOTALORDER},
      {"ENTRY e { x = f32[] parameter(0) ROOT y = pred[] compare(x, x), direction=GT, "
       "order=PARTIAL }",
       HSC_COMPARE_DEFAULT},
      {"ENTRY e { x = s32[] parameter(0) ROOT y = pred[] compare(x, x), direction=GT, order=TOTAL "
       "}",
       HSC_COMPARE_DEFAULT},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = parse_ok(cases[i].text);
    assert_int_equal(module->entry->root->attr.compare.type, cases[i].type);
    assert_null(module->entry->root->extra_attributes);
    hsc_module_destroy(module);
  }
  hsc_module *module = NULL;
  EXPECT_CODE(INVALID_ARGUMENT, parse("ENTRY e { x = f32[] parameter(0) ROOT y = pred[] compare(x, "
                                      "x), direction=GT, order=SOME }",
                                      &module));
}

static void models_have_the_instructions_that_xla_counts(void **state) {
  static const struct {
    const char *name;
    int computations, instructions;
  } models[] = {
      {"patterns/tiny_dependent.hlo", 1, 9},      {"patterns/tiny_scan.hlo", 6, 59},
      {"patterns/small_natural.hlo", 1, 21},      {"patterns/medium_vmap.hlo", 2, 22},
      {"patterns/large_scan.hlo", 7, 93},         {"patterns/wide_scan.hlo", 7, 82},
      {"patterns/deep_natural.hlo", 2, 117},      {"patterns/mlp_scan.hlo", 6, 90},
      {"patterns/multihead_natural.hlo", 1, 104}, {"laplace_train.hlo.gz", 95, 1335},
      {"resnet50_forward.hlo.gz", 110, 2240},     {"resnet50_train.hlo.gz", 589, 7579},
      {"transformer_train.hlo.gz", 115, 1627},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(models); i++) {
    hsc_module *module = parse_file(models[i].name);
    assert_int_equal(module->computation_count, models[i].computations);
    assert_int_equal(hsc_module_instr_count(module), models[i].instructions);
    assert_ptr_equal(module->entry, module->computations[module->computation_count - 1]);
    hsc_module_destroy(module);
  }
}

static void every_pattern_parses(void **state) {
  static const char *const graphs[] = {"tiny", "small", "medium", "large",
                                       "wide", "deep",  "mlp",    "multihead"};
  static const char *const patterns[] = {"natural", "dependent", "vmap", "scan"};
  for (size_t g = 0; g < HSC_COUNT_OF(graphs); g++) {
    for (size_t i = 0; i < HSC_COUNT_OF(patterns); i++) {
      char name[64];
      snprintf(name, sizeof name, "patterns/%s_%s.hlo", graphs[g], patterns[i]);
      hsc_module *module = parse_file(name);
      assert_true(module->entry->parameter_count > 0);
      assert_true(module->stack_index->frame_count > 0);
      hsc_module_destroy(module);
    }
  }
}

static void names_shapes_and_links(void **state) {
  hsc_module *m = parse_ok(
      "HloModule m, is_scheduled=true, entry_computation_layout={(f32[2,3]{0,1})->f32[]}, "
      "replica_count=2, custom_thing={a={b}}\n"
      "// a comment\n"
      "%sum (a: f32[], b: f32[]) -> f32[] {\n"
      "  %a = f32[] parameter(0)\n"
      "  %b = f32[] parameter(1)\n"
      "  ROOT %add = f32[] add(%a, %b)\n"
      "}\n"
      "ENTRY %main (x: f32[2,3]) -> f32[] {\n"
      "  %x = f32[2,3]{0,1:T(8,128)S(1)} parameter(0), sharding={replicated}, "
      "metadata={op_name=\"x \\\"q\\\"\" source_line=7 future=\"z\"}\n"
      "  %zero = f32[] constant(0)  /* here too */\n"
      "  ROOT %r = f32[] reduce(f32[2,3]{0,1} %x, f32[] %zero), dimensions={0,1}, to_apply=%sum, "
      "brand_new={1,{2}}, backend_config={\"k\":\"}\"}\n"
      "}\n");
  assert_true(m->is_scheduled);
  assert_int_equal(m->replica_count, 2);
  assert_string_equal(m->extra_attributes, "custom_thing={a={b}}");
  assert_string_equal(m->layout_text, "{(f32[2,3]{0,1})->f32[]}");
  hsc_instr *r = m->entry->root;
  hsc_instr *x = m->entry->parameters[0];
  assert_int_equal(r->op, HSC_OP_REDUCE);
  assert_int_equal(r->line, 11);
  assert_int_equal(r->column, 3);
  assert_ptr_equal(r->operands[0], x);
  assert_int_equal(x->user_count, 1);
  assert_ptr_equal(x->users[0], r);
  assert_string_equal(r->called[0]->name, "sum");
  assert_int_equal(r->attr.dims.dims.count, 2);
  assert_string_equal(r->extra_attributes, "brand_new={1,{2}}");
  assert_string_equal(r->backend_config, "{\"k\":\"}\"}");
  assert_string_equal(x->sharding, "{replicated}");
  assert_string_equal(x->metadata->op_name, "x \"q\"");
  assert_int_equal(x->metadata->source_line, 7);
  assert_string_equal(x->metadata->extra, "future=\"z\"");
  assert_string_equal(x->shape.layout->extra, "T(8,128)S(1)");
  assert_int_equal(x->shape.layout->minor_to_major[0], 0);
  hsc_module_destroy(m);
}

static void what_stands_later_is_found(void **state) {
  hsc_module *m = parse_ok(
      "ENTRY main {\n"
      "  r = f32[4] call(b, x), to_apply=later, control-predecessors={side}\n"
      "  b = f32[4] negate(x)\n"
      "  x = f32[4] parameter(0)\n"
      "  side = f32[4] abs(x)\n"
      "  ROOT out = f32[4] copy(r)\n"
      "}\n"
      "later {\n"
      "  p = f32[4] parameter(0)\n"
      "  q = f32[4] parameter(1)\n"
      "  ROOT s = f32[4] add(p, q)\n"
      "}\n");
  assert_string_equal(m->entry->name, "main");
  assert_string_equal(m->computations[0]->name, "later");
  assert_int_equal(m->entry->first->op, HSC_OP_PARAMETER);
  assert_int_equal(m->entry->instr_count, 5);
  int at = 0;
  int seen_side = -1;
  int seen_call = -1;
  HSC_FOR_EACH_INSTR_IN (m->entry, it) {
    if (it->op == HSC_OP_ABS)
      seen_side = at;
    if (it->op == HSC_OP_CALL)
      seen_call = at;
    at++;
  }
  assert_true(seen_side >= 0 && seen_side < seen_call);
  hsc_module_destroy(m);
}

static void shapes_are_inferred_and_operands_may_be_instructions(void **state) {
  hsc_module *m = parse_ok(
      "ENTRY main {\n  x = f32[8,2] parameter(0)\n  y = f32[8,2] parameter(1)\n  ROOT r = "
      "add(maximum(x, y), f32[8,2] negate(y))\n}\n");
  assert_int_equal(m->entry->root->operands[0]->op, HSC_OP_MAXIMUM);
  assert_int_equal(m->entry->root->operands[1]->op, HSC_OP_NEGATE);
  assert_int_equal(m->entry->root->shape.dims[0], 8);
  assert_int_equal(m->entry->instr_count, 5);
  hsc_module_destroy(m);
}

// libtpu's dumps name a tuple's elements in place: each is one get-tuple-element, made where it is
// first named.
static void elements_of_tuples_are_named_in_place(void **state) {
  hsc_module *m = parse_ok(
      "ENTRY main {\n  t = ((f32[8], s32[]), f32[8]) parameter(0)\n  a = f32[8] add(%t#0#0, t#1)\n "
      " ROOT r = f32[8] multiply(a, f32[8] t#1)\n}\n");
  hsc_instr *root = m->entry->root;
  hsc_instr *add = root->operands[0];
  hsc_instr *element = root->operands[1];
  assert_int_equal(element->op, HSC_OP_GET_TUPLE_ELEMENT);
  assert_int_equal(element->attr.index.value, 1);
  assert_ptr_equal(add->operands[1], element);
  assert_int_equal(add->operands[0]->operands[0]->op, HSC_OP_GET_TUPLE_ELEMENT);
  assert_int_equal(m->entry->instr_count, 6);
  EXPECT_OK(hsc_module_verify(m));
  hsc_module_destroy(m);
}

static void async_sugar_becomes_a_wrapped_computation(void **state) {
  hsc_module *m = parse_ok(
      "ENTRY main {\n  x = f32[8] parameter(0)\n"
      "  s = ((f32[8]), f32[4], u32[]) slice-start(x), slice={[0:4]}, metadata={op_name=\"a\"}, "
      "async_execution_thread=\"other\"\n"
      "  u = ((f32[8]), f32[4], u32[]) slice-update(s)\n"
      "  ROOT d = f32[4] slice-done(u)\n}\n");
  hsc_instr *done = m->entry->root;
  hsc_instr *update = done->operands[0];
  hsc_instr *start = update->operands[0];
  assert_int_equal(done->op, HSC_OP_ASYNC_DONE);
  assert_int_equal(update->op, HSC_OP_ASYNC_UPDATE);
  assert_int_equal(start->op, HSC_OP_ASYNC_START);
  assert_int_equal(start->called[0]->root->op, HSC_OP_SLICE);
  assert_int_equal(start->called[0]->root->attr.slice.limit.v[0], 4);
  assert_string_equal(start->called[0]->root->metadata->op_name, "a");
  assert_string_equal(start->extra_attributes, "async_execution_thread=\"other\"");
  hsc_module_destroy(m);
}

static uint32_t bits_of(const hsc_literal *literal, int index) {
  return ((const uint32_t *)literal->data)[index];
}

static const hsc_literal *constant_of(hsc_module *module) {
  return module->entry->root->attr.literal.value;
}

static hsc_module *parse_constant(const char *shape, const char *text) {
  char source[512];
  snprintf(source, sizeof source, "ENTRY e { ROOT c = %s constant(%s) }", shape, text);
  return parse_ok(source);
}

static void literals_have_the_bits_that_the_text_says(void **state) {
  hsc_module *m = parse_constant(
      "f32[2,4]",
      "{ { 1, -0.5, inf, -inf }, /*i0=1*/ { nan, -nan, nan(0x7fc001), 3.4028235e+38 } }");
  static const uint32_t want[] = {0x3f800000, 0xbf000000, 0x7f800000, 0xff800000,
                                  0x7fc00000, 0xffc00000, 0x7fffc001, 0x7f7fffff};
  for (int i = 0; i < 8; i++)
    assert_int_equal(bits_of(constant_of(m), i), want[i]);
  hsc_module_destroy(m);

  m = parse_constant("pred[4]", "{1, 0, true, false}");
  assert_memory_equal(constant_of(m)->data, "\1\0\1\0", 4);
  hsc_module_destroy(m);

  m = parse_constant("s4[3]", "{-8, 7, 0}");
  assert_memory_equal(constant_of(m)->data, "\xf8\x07\x00", 3);
  hsc_module_destroy(m);

  m = parse_constant("u64[2]", "{18446744073709551615, 0}");
  assert_true(((const uint64_t *)constant_of(m)->data)[0] == UINT64_MAX);
  hsc_module_destroy(m);

  m = parse_constant("c64[2]", "{(1, -2), (nan, inf)}");
  assert_int_equal(bits_of(constant_of(m), 1), 0xc0000000);
  assert_int_equal(bits_of(constant_of(m), 3), 0x7f800000);
  hsc_module_destroy(m);

  m = parse_constant("bf16[2]", "{0x1.8p1, 1e-3}");
  assert_memory_equal(constant_of(m)->data, "\x40\x40\x83\x3a", 4);
  hsc_module_destroy(m);

  m = parse_constant("(s32[], (f32[1], pred[]))", "(5, ({2.5}, true))");
  assert_int_equal(*(const int32_t *)constant_of(m)->elements[0].data, 5);
  assert_int_equal(bits_of(&constant_of(m)->elements[1].elements[0], 0), 0x40200000);
  hsc_module_destroy(m);

  m = parse_constant("f32[1000000]", "{...}");
  assert_true(constant_of(m)->elided);
  hsc_module_destroy(m);

  m = parse_constant("f32[0,3]", "{ }");
  assert_int_equal(hsc_shape_elements(&constant_of(m)->shape), 0);
  hsc_module_destroy(m);

  m = parse_constant("f64[3]", "{0.1, 1.7976931348623157e308, 4.9406564584124654e-324}");
  assert_true(((const double *)constant_of(m)->data)[0] == 0.1);
  assert_true(((const uint64_t *)constant_of(m)->data)[2] == 1);
  hsc_module_destroy(m);
}

static void mistakes_are_told_where_they_stand(void **state) {
  static const struct {
    const char *text;
    int line, column;
    const char *message;
  } cases[] = {
      {"", 1, 1, "expected HloModule, found the end of the text"},
      {"HloModule", 1, 10, "expected the name of the module, found the end of the text"},
      {"HloModule m\n", 2, 1, "expected a computation, found the end of the text"},
      {"ENTRY e { t = (f32[2]) parameter(0) ROOT x = f32[2] abs(t#1) }", 1, 58,
       "'t' has 1 elements, so there is none with the index 1"},
      {"ENTRY e { t = f32[2] parameter(0) ROOT x = f32[2] abs(t#0) }", 1, 56,
       "'t' is no tuple, so it has no element 0"},
      {"ENTRY e { ROOT x = f32[2] abs(t#0) t = (f32[2]) parameter(0) }", 1, 32,
       "'t#0' is an element of an instruction that is not defined before it"},
      {"ENTRY e { t = (f32[2]) parameter(0) ROOT x = f32[2] abs(t#x) }", 1, 59,
       "expected the index of a tuple's element after '#', found 'x'"},
      {"ENTRY e { ROOT x = f32[2] ad(x) }", 1, 27, "unknown operation 'ad'; did you mean 'add'?"},
      {"ENTRY e {\n  x = f32[2] exponentiol(y)\n}", 2, 14,
       "unknown operation 'exponentiol'; did you mean 'exponential'?"},
      {"ENTRY e {\n  x = f33[2] parameter(0)\n}", 2, 7,
       "unknown element type 'f33'; did you mean 'f32'?"},
      {"ENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] negate(xx)\n}", 3, 21,
       "the operand 'xx' is not defined in e; did you mean 'x'?"},
      {"ENTRY e {\n  first = f32[2] parameter(0)\n  y = f32[2] negate(frst)\n}", 3, 21,
       "the operand 'frst' is not defined in e; did you mean 'first'?"},
      {"ENTRY e {\n  x = f32[2] parameter(0)\n  x = f32[2] negate(x)\n}", 3, 3,
       "the name 'x' is taken: line 2"},
      {"ENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[3] negate(f32[3] x)\n}", 3, 28,
       "the operand 'x' is given as f32[3], its instruction has f32[2]"},
      {"ENTRY e {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] transpose(x), dimension={1,0}\n}", 3,
       30, "transpose: unknown attribute 'dimension'; did you mean 'dimensions'?"},
      {"ENTRY e {\n  x = f32[2,2] parameter(0)\n  y = f32[2,2] transpose(x)\n}", 3, 28,
       "transpose: the attribute 'dimensions' is missing"},
      {"ENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] call(x), to_apply=nothing\n}", 3, 32,
       "the computation 'nothing' is not defined in this module"},
      {"ENTRY e {\n  x = f32[2]{1} parameter(0)\n}", 2, 14,
       "the layout of a shape of rank 1 must be a permutation of 0 to 0"},
      {"ENTRY e { x = f32[2] constant({1, 2, 3}) }", 1, 38, "more than the 2 values of the shape"},
      {"ENTRY e { x = f32[3] constant({1, 2}) }", 1, 31,
       "the literal has 2 values, its shape has 3"},
      {"ENTRY e { x = s8[] constant(300) }", 1, 29, "300 does not fit in s8"},
      {"ENTRY e { x = f32[99999999999] constant({1}) }", 1, 41,
       "the literal's shape has 99999999999 elements, more than the text can hold"},
      {"ENTRY e { x = f32[99999999999,99999999999] parameter(0) }", 1, 15,
       "the shape is larger than 2^63 bytes"},
      {"ENTRY e { x = f32[2] parameter(1) }", 1, 36,
       "'e' has 1 parameter, so numbers go from 0 to 0; 'x' is parameter 1"},
      {"ENTRY e {\n  x = f32[] add(y, y)\n  y = f32[] add(x, x)\n}", 2, 3, "'x' depends on itself"},
      {"a { ROOT x = f32[] call(), to_apply=b }\nENTRY b { ROOT x = f32[] call(), to_apply=a }\n",
       3, 1, "the computation 'a' calls itself, by way of 'x.1' in 'b'"},
      {"ENTRY e (x: f32[2]) -> f32[3] {\n  x = f32[2] parameter(0)\n}", 1, 24,
       "the result of 'e' is given as f32[3], its root 'x' has f32[2]"},
      {"ENTRY e { x = f32[2] compare(y, y), direction=EQUAL }", 1, 47,
       "unknown comparison direction 'EQUAL'"},
      {"ENTRY e {\n  x = f32[2] parameter(0), metadata={op_name=\"abc}\n}", 2, 46,
       "the string has no closing quote"},
      {"HloModule m, input_output_alias={ {0}: (0, {}, maybe) }\nENTRY e { x = f32[2] parameter(0) "
       "}",
       1, 48, "expected may-alias or must-alias, found 'maybe'"},
      {"ENTRY e { x = f32[?] parameter(0) }", 1, 19,
       "a dimension without a bound: not built yet: shapes must have bounds"},
      // Just outside of what there is: indices, sizes, digits, ranges of types.
      {"ENTRY e { t = (f32[2], s32[]) parameter(0) ROOT x = f32[2] abs(t#2) }", 1, 65,
       "'t' has 2 elements, so there is none with the index 2"},
      {"ENTRY e { t = (f32[2], s32[]) parameter(0) ROOT x = f32[2] abs(t#-1) }", 1, 66,
       "expected the index of a tuple's element after '#', found '-1'"},
      {"ENTRY e { x = f32[-1] parameter(0) }", 1, 19, "a dimension cannot be negative"},
      {"ENTRY e { x = f32[2,2]{1,1} parameter(0) }", 1, 26,
       "the layout of a shape of rank 2 must be a permutation of 0 to 1"},
      {"ENTRY e { x = f32[2,2]{2,0} parameter(0) }", 1, 24,
       "the layout of a shape of rank 2 must be a permutation of 0 to 1"},
      {"ENTRY e { x = f32[2] parameter(-1) }", 1, 22, "the parameter number is out of range"},
      {"ENTRY e { x = f32[2] parameter(0) y = f32[2] parameter(0) }", 1, 60,
       "'e' has parameter 0 twice: 'x' and 'y'"},
      {"ENTRY e { ROOT y = f32[3] negate(f32[3] x) x = f32[2] parameter(0) }", 1, 41,
       "the operand 'x' is given as f32[3], its instruction has f32[2]"},
      {"ENTRY e { x = f32[] constant(nan(0x)) }", 1, 30, "expected a payload like nan(0x7fc001)"},
      {"ENTRY e { x = f32[] constant(nan(0xfffffff)) }", 1, 30,
       "the NaN payload 0xfffffff does not fit the type f32"},
      {"ENTRY e { x = f32[] constant(nan(0x7fg)) }", 1, 30,
       "expected a payload like nan(0x7fc001)"},
      {"ENTRY e { x = pred[] constant(2) }", 1, 31, "2 does not fit in pred"},
      {"ENTRY e { x = u8[] constant(256) }", 1, 29, "256 does not fit in u8"},
      {"ENTRY e { x = s4[] constant(8) }", 1, 29, "8 does not fit in s4"},
      {"ENTRY e { x = s4[] constant(-9) }", 1, 29, "-9 does not fit in s4"},
      {"ENTRY e { x = s64[] constant(9223372036854775808) }", 1, 30,
       "9223372036854775808 does not fit in s64"},
      {"ENTRY e { x = s64[] constant(-9223372036854775809) }", 1, 30,
       "-9223372036854775809 does not fit in s64"},
      {"ENTRY e { x = u64[] constant(18446744073709551616) }", 1, 30,
       "the integer does not fit in u64"},
      {"ENTRY e { x = f32[2,2] constant({1,2}) }", 1, 34,
       "the braces are nested 1 deep, the shape has 2 dimensions"},
      {"ENTRY e { x = f32[2] constant(1) }", 1, 31, "expected '{', found '1'"},
      {"HloModule m, replica_count=-1\nENTRY e { x = f32[2] parameter(0) }", 1, 28,
       "a count of devices cannot be negative"},
      {"ENTRY e { x = f32[99999999999999999999] parameter(0) }", 1, 19,
       "the integer does not fit in 64 bits"},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    hsc_module *module = NULL;
    hsc_status *status = parse(cases[i].text, &module);
    if (!status)
      fail_msg("parsed: %s", cases[i].text);
    assert_string_equal(hsc_status_message(status), cases[i].message);
    assert_string_equal(hsc_status_path(status), "t.hlo");
    if (hsc_status_line(status) != cases[i].line || hsc_status_column(status) != cases[i].column)
      fail_msg("%s: at %d:%d, not %d:%d", cases[i].message, hsc_status_line(status),
               hsc_status_column(status), cases[i].line, cases[i].column);
    hsc_status_free(status);
  }
}

// Programs as XLA prints them, with one bracket, comma, colon or equals sign missing: none is taken
// for what it was. (Some are programs still, with another meaning: "{1,0}" is "{10}" then.)
static void no_mark_may_be_missing(void **state) {
  static const char *const names[] = {"attributes", "every_op", "literals"};
  int wrong = 0;
  for (size_t n = 0; n < HSC_COUNT_OF(names); n++) {
    char path[512];
    hsc_bytes text = {0};
    hsc_bytes before = {0};
    hsc_module *module = NULL;
    snprintf(path, sizeof path, "%s/tests/conformance/hlo/printed/%s.hlo", source_dir, names[n]);
    EXPECT_OK(hsc_file_read(path, &text));
    EXPECT_OK(parse(hsc_bytes_text(&text), &module));
    EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &before));
    hsc_module_destroy(module);
    bool in_comment = false;
    for (size_t at = 0; at < text.size; at++) {
      char mark = text.data[at];
      in_comment |= mark == '/' && text.data[at + 1] == '*';
      in_comment &= !(mark == '/' && at > 0 && text.data[at - 1] == '*');
      // As in XLA, commas between the rows of a literal are for readers.
      bool between_rows = mark == ',' && at > 0 && text.data[at - 1] == '}';
      if (!mark || !strchr("{}[](),:=<", mark) || in_comment || between_rows)
        continue;
      text.data[at] = ' ';
      module = NULL;
      hsc_status *status = parse(hsc_bytes_text(&text), &module);
      if (!status) {
        hsc_bytes after = {0};
        EXPECT_OK(hsc_program_write(module, HSC_FORMAT_HLO_TEXT, &after));
        if (strcmp(hsc_bytes_text(&before), hsc_bytes_text(&after)) == 0) {
          wrong++;
          print_error("%s.hlo, byte %zu: '%c' is not missed: %.40s\n", names[n], at, mark,
                      text.data + (at > 20 ? at - 20 : 0));
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
  static const char *const opens[] = {"ENTRY e { x = ", "ENTRY e { x = f32[] add(",
                                      "ENTRY e { x = f32[] parameter(0), sharding="};
  static const char *const repeats[] = {"(", "add(", "{"};
  for (size_t i = 0; i < HSC_COUNT_OF(opens); i++) {
    hsc_bytes text = {0};
    hsc_bytes_append_text(&text, opens[i]);
    for (int k = 0; k < 100000; k++)
      hsc_bytes_append_text(&text, repeats[i]);
    hsc_module *module = NULL;
    EXPECT_CODE(INVALID_ARGUMENT, hsc_hlo_text_parse(hsc_bytes_view(&text), NULL, &module));
    hsc_bytes_deinit(&text);
  }
}

// Every allocation fails once; nothing leaks (under a sanitizer) and nothing crashes.
static void failing_allocations_are_errors(void **state) {
  const char *text =
      "HloModule m\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, "
      "b) }\n"
      "ENTRY e { x = f32[4] parameter(0), metadata={op_name=\"q\"}\n z = f32[] constant(0)\n ROOT "
      "r = f32[] reduce(x, zz), dimensions={0}, to_apply=sum\n zz = f32[] copy(z) }\n";
  for (uint64_t n = 1; n < 200; n++) {
    hsc_module *module = NULL;
    hsc_alloc_fail_after(n);
    hsc_status *status = parse(text, &module);
    hsc_alloc_fail_after(0);
    if (!status) {
      hsc_module_destroy(module);
      if (n > 5)
        return;
      fail_msg("allocation %d failed and nobody noticed", (int)n);
    }
    assert_int_equal(hsc_status_code(status), HSC_RESOURCE_EXHAUSTED);
    hsc_status_free(status);
  }
  fail_msg("the parser allocates without end");
}

int main(int argc, char **argv) {
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_have_the_instructions_that_xla_counts),
      cmocka_unit_test(the_order_of_a_comparison_is_read),
      cmocka_unit_test(every_pattern_parses),
      cmocka_unit_test(names_shapes_and_links),
      cmocka_unit_test(what_stands_later_is_found),
      cmocka_unit_test(shapes_are_inferred_and_operands_may_be_instructions),
      cmocka_unit_test(elements_of_tuples_are_named_in_place),
      cmocka_unit_test(async_sugar_becomes_a_wrapped_computation),
      cmocka_unit_test(literals_have_the_bits_that_the_text_says),
      cmocka_unit_test(mistakes_are_told_where_they_stand),
      cmocka_unit_test(no_mark_may_be_missing),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(failing_allocations_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
