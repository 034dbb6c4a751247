// Shape inference against XLA's: every row of tests/conformance/hlo/shapes.txt is an instruction
// without a shape and what XLA makes of it.
#include "base/text/text.h"
#include "hlo_snippets.h"

static char *source_dir;

static char *shape_text(const hsc_shape *shape) {
  hsc_bytes bytes = {0};
  hsc_shape_print(shape, false, &bytes);
  return hsc_bytes_take(&bytes);
}

static void shapes_and_refusals_are_those_of_xla(void **state) {
  char *prelude = read_conformance(source_dir, "prelude.hlo");
  char *rows = read_conformance(source_dir, "shapes.txt");
  char *at = rows;
  char *question;
  char *answer;
  int accepted = 0;
  int rejected = 0;
  while (next_row(&at, &question, &answer)) {
    hsc_module *module = NULL;
    hsc_status *status = parse_snippet(prelude, question, &module);
    if (!status)
      status = hsc_module_verify(module);
    if (hsc_starts_with(answer, "rejected")) {
      if (!status)
        fail_msg("%s: taken, but XLA says: %s", question, answer);
      if (hsc_status_code(status) != HSC_INVALID_ARGUMENT)
        fail_msg("%s: %s", question, hsc_status_message(status));
      // The message starts with the op, or points at it (operand counts are the parser's).
      char op[64];
      snprintf(op, sizeof op, "%.*s:", (int)strcspn(question, "("), question);
      if (!strstr(hsc_status_message(status), op))
        fail_msg("%s: the message does not name the op: %s", question, hsc_status_message(status));
      rejected++;
    } else {
      if (status)
        fail_msg("%s: %s; XLA infers %s", question, hsc_status_message(status), answer);
      char *text = shape_text(&module->entry->root->shape);
      if (strcmp(text, answer) != 0)
        fail_msg("%s: inferred %s; XLA infers %s", question, text, answer);
      hsc_free(text);
      accepted++;
    }
    hsc_status_free(status);
    hsc_module_destroy(module);
  }
  assert_true(accepted > 90);
  assert_true(rejected > 90);
  hsc_free(prelude);
  hsc_free(rows);
}

// A product of two types that states none has the type that XLA takes.
static void dots_of_mixed_types_have_the_type_that_xla_takes(void **state) {
  char *rows = read_conformance(source_dir, "mixed_dots.txt");
  char *at = rows;
  char *question;
  char *answer;
  int seen = 0;
  while (next_row(&at, &question, &answer)) {
    hsc_module *module = NULL;
    hsc_bytes text = {0};
    size_t left = strcspn(question, " ");
    hsc_bytes_printf(&text,
                     "HloModule m\nENTRY %%e {\n  %%a = %.*s[2,3] parameter(0)\n  %%b = %s[3,4] "
                     "parameter(1)\n  ROOT %%r = dot(%%a, %%b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}\n}\n",
                     (int)left, question, question + left + 1);
    EXPECT_OK(hsc_hlo_text_parse(hsc_bytes_view(&text), "mixed", &module));
    EXPECT_OK(hsc_module_verify(module));
    const char *type = hsc_type_text(module->entry->root->shape.type);
    if (strcmp(type, answer) != 0)
      fail_msg("%s: %s; XLA takes %s", question, type, answer);
    hsc_module_destroy(module);
    hsc_bytes_deinit(&text);
    seen++;
  }
  assert_true(seen > 600);
  hsc_free(rows);
}

// Single changes of what XLA takes: taken with the shape that it infers, or refused as it does.
static void near_misses_are_taken_and_refused_as_by_xla(void **state) {
  char *prelude = read_conformance(source_dir, "prelude.hlo");
  char *rows = read_conformance(source_dir, "near_shapes.txt");
  char *at = rows;
  char *question;
  char *answer;
  int accepted = 0;
  int rejected = 0;
  int wrong = 0;
  while (next_row(&at, &question, &answer)) {
    hsc_module *module = NULL;
    char *shape = NULL;
    hsc_status *status = parse_snippet(prelude, question, &module);
    if (!status)
      status = hsc_module_verify(module);
    if (!status)
      shape = shape_text(&module->entry->root->shape);
    const char *said = shape ? shape : "rejected";
    if (strcmp(said, answer) != 0) {
      print_error("%s: %s (%s), XLA: %s\n", question, said,
                  status ? hsc_status_message(status) : "", answer);
      wrong++;
    }
    accepted += status == NULL;
    rejected += status != NULL;
    hsc_free(shape);
    hsc_status_free(status);
    hsc_module_destroy(module);
  }
  assert_int_equal(wrong, 0);
  assert_true(accepted > 100);
  assert_true(rejected > 800);
  hsc_free(prelude);
  hsc_free(rows);
}

// An instruction with a given shape is refused with a message that holds all of these words.
typedef struct refusal {
  const char *instruction, *words[3];
} refusal;

// What XLA's inference takes or dies of, and its verifier or backends refuse.
static void what_has_no_meaning_is_refused(void **state) {
  static const refusal rows[] = {
      {"f32[4] get-tuple-element(%tup), index=2", {"get-tuple-element", "index 2", "2 elements"}},
      {"f32[4] get-tuple-element(%a), index=0", {"get-tuple-element", "tuple", "f32[4,8]"}},
      {"f32[4,0] reduce-window(%a, %z), window={size=1x2 pad=0_0x-5_-5}, to_apply=%add",
       {"reduce-window", "negative padding"}},
      {"f32[4,8] add(%a, %d)", {"add", "f32[4,8]", "f64[4,8]"}},
      {"f32[4,8] shift-left(%a, %a)", {"shift-left", "integers", "f32[4,8]"}},
      {"c64[4,8] fft(%cx), fft_type=FFT, fft_length={4}", {"fft", "fft_length[0] = 4", "8"}},
      {"f32[5,3] gather(%a, %idx), offset_dims={1}, collapsed_slice_dims={}, start_index_map={1}, "
       "operand_batching_dims={0}, "
       "start_indices_batching_dims={0}, "
       "index_vector_dim=1, slice_sizes={1,3}",
       {"gather", "operand[0] = 4", "indices[0] = 5"}},
      {"f32[5,8] slice(%a), slice={[0:5], [0:8]}", {"slice", "dimension 0", "[0:5:1]"}},
      {"f32[0,8] slice(%a), slice={[3:2], [0:8]}", {"slice", "[3:2:1]"}},
      {"f32[2,8] slice(%a), slice={[0:2:0], [0:8]}", {"slice", "[0:2:0]"}},
      {"f32[2] slice(%a), slice={[0:2]}", {"slice", "1 starts", "2 dimensions"}},
      {"f32[5,8] dynamic-slice(%a, %i, %i), dynamic_slice_sizes={5,8}",
       {"dynamic-slice", "slice size 5", "dimension 0"}},
      {"f32[1,8] dynamic-slice(%a, %i), dynamic_slice_sizes={1,8}",
       {"dynamic-slice", "1 start indices", "2 dimensions"}},
      {"f32[1,8] dynamic-slice(%a, %z, %z), dynamic_slice_sizes={1,8}",
       {"dynamic-slice", "integer scalar", "f32[]"}},
      {"f32[1,8] dynamic-slice(%a, %i, %l64), dynamic_slice_sizes={1,8}",
       {"dynamic-slice", "start index 1", "s64[]"}},
      {"f32[1,8] dynamic-update-slice(%row, %a, %i, %i)",
       {"dynamic-update-slice", "f32[4,8] into f32[1,8]"}},
      {"f32[4,8] dynamic-update-slice(%a, %s, %i, %i)",
       {"dynamic-update-slice", "s32[4,8] into f32[4,8]"}},
      {"f32[4,8] reduce-precision(%s), exponent_bits=5, mantissa_bits=10",
       {"reduce-precision", "floats", "s32[4,8]"}},
      {"f32[4,8] reduce-precision(%a), exponent_bits=0, mantissa_bits=10",
       {"reduce-precision", "exponent", "0"}},
      {"f32[4,7] reshape(%a)", {"reshape", "f32[4,7] from f32[4,8]"}},
      {"f32[4,7] bitcast(%a)", {"bitcast", "bytes"}},
      {"f32[8,4] convert(%s)", {"convert", "f32[8,4] from s32[4,8]"}},
      {"f32[4,8] convert(%cx)", {"convert", "complex", "f32"}},
      {"f32[2,4,7] broadcast(%a), dimensions={1,2}", {"broadcast", "size 8", "size 7"}},
      {"f32[4,8,2] broadcast(%a), dimensions={0}", {"broadcast", "1 entries", "2 dimensions"}},
      {"f32[4,8,8] broadcast(%a), dimensions={0,0}", {"broadcast", "dimension 0 twice"}},
      {"s32[4] iota(), iota_dimension=1", {"iota", "dimension 1"}},
      {"pred[4] iota(), iota_dimension=0", {"iota", "numbers", "pred[4]"}},
      {"u8[4,8] bitcast-convert(%a)", {"gives u8[4,8,4]", "says u8[4,8]"}},
      {"c64[4,4] bitcast-convert(%a)", {"bitcast-convert", "complex"}},
      {"f32[8] all-gather(%b), replica_groups={{0,1}}, dimensions={1}",
       {"all-gather", "dimension 1"}},
      {"f32[7] all-gather(%b), replica_groups={{0,1}}, dimensions={0}",
       {"all-gather", "f32[7]", "whole factor"}},
      {"f32[3] reduce-scatter(%b), replica_groups={{0,1}}, dimensions={0}, to_apply=%add",
       {"reduce-scatter", "f32[3]"}},
      {"f32[4] rng(%z, %i), distribution=rng_uniform", {"rng", "operand 1", "s32[]"}},
      {"(u64[3], u32[4]) rng-bit-generator(%st), algorithm=rng_default",
       {"rng-bit-generator", "u64[2]"}},
      {"bf16[4,8] stochastic-convert(%a, %s)", {"stochastic-convert", "unsigned", "s32[4,8]"}},
      {"f32[4,7] add(%a, %a)", {"add: gives f32[4,8]", "says f32[4,7]"}},
      {"f32[4,8] compare(%a, %a), direction=LT", {"compare: gives pred[4,8]", "says f32[4,8]"}},
      {"pred[4,8] compare(%a, %a), direction=LT, type=SIGNED", {"compare", "SIGNED", "f32"}},
      {"pred[4,8] compare(%cx, %cx), direction=LT", {"compare", "complex", "LT"}},
      {"f32[4,8] fusion(%b), kind=kLoop, calls=%fused", {"fusion", "%fused is f32[4,8]", "f32[4]"}},
      {"f32[4] triangular-solve(%b, %b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE",
       {"triangular-solve", "square"}},
      {"f32[4] while(%b), condition=%cond, body=%body", {"while", "%cond", "f32[4]"}},
  };
  char *prelude = read_conformance(source_dir, "prelude.hlo");
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    hsc_module *module = NULL;
    hsc_status *status = parse_snippet(prelude, rows[i].instruction, &module);
    if (!status)
      status = hsc_module_verify(module);
    if (!status)
      fail_msg("%s: taken", rows[i].instruction);
    assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
    for (int w = 0; w < 3 && rows[i].words[w]; w++)
      if (!strstr(hsc_status_message(status), rows[i].words[w]))
        fail_msg("%s: '%s' is not in: %s", rows[i].instruction, rows[i].words[w],
                 hsc_status_message(status));
    hsc_status_free(status);
    hsc_module_destroy(module);
  }
  hsc_free(prelude);
}

int main(int argc, char **argv) {
  (void)argc;
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_and_refusals_are_those_of_xla),
      cmocka_unit_test(dots_of_mixed_types_have_the_type_that_xla_takes),
      cmocka_unit_test(near_misses_are_taken_and_refused_as_by_xla),
      cmocka_unit_test(what_has_no_meaning_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
