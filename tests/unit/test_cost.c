// The cost model against XLA's HloCostAnalysis: op by op (tests/conformance/hlo/costs.txt) and on
// the 36 models (models/manifest.json).
#include "hlo_snippets.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "hlo/cost/least_work.h"

static char *source_dir;

static void every_op_counts_as_in_xla(void **state) {
  char *prelude = read_conformance(source_dir, "prelude.hlo");
  char *rows = read_conformance(source_dir, "costs.txt");
  char *at = rows;
  char *question;
  char *answer;
  int count = 0;
  for (; next_row(&at, &question, &answer); count++) {
    hsc_module *module = NULL;
    EXPECT_OK(parse_snippet(prelude, question, &module));
    EXPECT_OK(hsc_module_verify(module));
    hsc_cost cost, root;
    hsc_module_cost(module, &cost);
    hsc_instr_cost(module->entry->root, &root);
    double flops = strtod(answer, &answer);
    double transcendentals = strtod(answer, &answer);
    double bytes = strtod(answer, &answer);
    double written = strtod(answer, &answer);
    if (cost.flops != flops || cost.transcendentals != transcendentals ||
        cost.bytes_read + cost.bytes_written != bytes || cost.bytes_written != written)
      fail_msg("%s: %g flops, %g transcendentals, %g bytes, %g written; XLA counts %g, %g, %g, %g",
               question, cost.flops, cost.transcendentals, cost.bytes_read + cost.bytes_written,
               cost.bytes_written, flops, transcendentals, bytes, written);
    // Parameters cost nothing, so the root is all of it.
    assert_true(root.flops == flops && root.transcendentals == transcendentals &&
                root.bytes_read + root.bytes_written == bytes);
    hsc_module_destroy(module);
  }
  assert_true(count > 150);
  hsc_free(prelude);
  hsc_free(rows);
}

// XLA sums in float, so the last digits of large programs are noise.
static void assert_near(const char *name, const char *what, double have, double want) {
  if (fabs(have - want) > 1e-5 * (want + 1))
    fail_msg("%s: %s %.9g; XLA counts %.9g", name, what, have, want);
}

static void models_count_as_in_xla(void **state) {
  char path[512];
  snprintf(path, sizeof path, "%s/models/manifest.json", source_dir);
  json_t *manifest = json_load_file(path, 0, NULL);
  json_t *programs = json_is_array(manifest) ? manifest : json_object_get(manifest, "programs");
  assert_true(json_array_size(programs) >= 36);
  for (size_t i = 0; i < json_array_size(programs); i++) {
    json_t *row = json_array_get(programs, i);
    const char *name = json_string_value(json_object_get(row, "hlo"));
    hsc_bytes packed = {0};
    hsc_bytes text = {0};
    hsc_module *module = NULL;
    hsc_cost cost;
    snprintf(path, sizeof path, "%s/models/%s", source_dir, name);
    EXPECT_OK(hsc_file_read(path, &packed));
    EXPECT_OK(hsc_decompress(hsc_bytes_view(&packed), 1 << 30, &text));
    EXPECT_OK(hsc_hlo_text_parse(hsc_bytes_view(&text), path, &module));
    hsc_module_cost(module, &cost);
    assert_near(name, "flops", cost.flops, json_number_value(json_object_get(row, "flops")));
    assert_near(name, "transcendentals", cost.transcendentals,
                json_number_value(json_object_get(row, "transcendentals")));
    assert_near(name, "bytes", cost.bytes_read + cost.bytes_written,
                json_number_value(json_object_get(row, "bytes_accessed")));
    hsc_module_destroy(module);
    hsc_bytes_deinit(&packed);
    hsc_bytes_deinit(&text);
  }
  json_decref(manifest);
}

// What a limit is computed from: the work of the best known algorithm, where XLA counts another.
static void least_work_of_each_kind(void **state) {
  static const char add[] =
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n";
  static const char body[] =
      "body {\n  p = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  x = f32[8] get-tuple-element(p), index=1\n  one = s32[] constant(1)\n"
      "  j = s32[] add(i, one)\n  y = f32[8] multiply(x, x)\n"
      "  ROOT t = (s32[], f32[8]) tuple(j, y)\n}\n"
      "cond {\n  p = (s32[], f32[8]) parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
      "  n = s32[] constant(10)\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n";
  static const char branches[] =
      "much {\n  x = f32[8] parameter(0)\n  y = f32[8] multiply(x, x)\n"
      "  ROOT r = f32[8] add(y, x)\n}\nlittle {\n  ROOT x = f32[8] parameter(0)\n}\n";
  static const struct {
    const char *called, *entry;
    double flops;
  } cases[] = {
      // A cumulative sum: one addition for each result, where XLA counts 999 for each.
      {add,
       "  x = f32[1000] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[1000] "
       "reduce-window(x, z), window={size=1000 pad=999_0}, to_apply=add\n",
       1000},
      // A pool without overlap: as counted.
      {add,
       "  x = f32[1000] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[500] "
       "reduce-window(x, z), window={size=2 stride=2}, to_apply=add\n",
       500},
      {"",
       "  x = c64[4,8,16] parameter(0)\n  ROOT r = c64[4,8,16] fft(x), fft_type=FFT, "
       "fft_length={8,16}\n",
       34.0 / 9 * 512 * 7},
      {"",
       "  x = f32[4,8,16] parameter(0)\n  ROOT r = c64[4,8,9] fft(x), fft_type=RFFT, "
       "fft_length={8,16}\n",
       34.0 / 9 * 512 * 7 / 2},
      {"",
       "  a = f32[8,8] parameter(0)\n  b = f32[8,3] parameter(1)\n  ROOT r = f32[8,3] "
       "triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE\n",
       8 * 8 * 3},
      {body,
       "  x = f32[8] parameter(0)\n  z = s32[] constant(0)\n  t = (s32[], f32[8]) tuple(z, x)\n  "
       "ROOT w = (s32[], f32[8]) while(t), condition=cond, body=body\n",
       10 * (8 + 1 + 1)},
      {branches,
       "  p = pred[] parameter(0)\n  x = f32[8] parameter(1)\n  ROOT r = f32[8] conditional(p, x, "
       "x), true_computation=much, false_computation=little\n",
       0},
      {"",
       "  x = f32[8,4] parameter(0)\n  y = f32[4,2] parameter(1)\n  ROOT r = f32[8,2] dot(x, "
       "y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
       2 * 8 * 4 * 2},
  };
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    char text[2048];
    hsc_module *module = NULL;
    double least = -1;
    snprintf(text, sizeof text, "HloModule least\n%sENTRY main {\n%s}\n", cases[i].called,
             cases[i].entry);
    EXPECT_OK(hsc_hlo_text_parse(hsc_view_of(text), "least.hlo", &module));
    EXPECT_OK(hsc_module_least_flops(module, &least));
    if (fabs(least - cases[i].flops) > 1e-9 * cases[i].flops)
      fail_msg("%s: %g flops at least, not %g", cases[i].entry, least, cases[i].flops);
    hsc_module_destroy(module);
  }
}

int main(int argc, char **argv) {
  (void)argc;
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_counts_as_in_xla),
      cmocka_unit_test(models_count_as_in_xla),
      cmocka_unit_test(least_work_of_each_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
