// The cost model against XLA's HloCostAnalysis: op by op (tests/conformance/hlo/costs.txt) and on
// the 36 models (models/manifest.json).
#include "hlo_snippets.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

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

int main(int argc, char **argv) {
  (void)argc;
  source_dir = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_counts_as_in_xla),
      cmocka_unit_test(models_count_as_in_xla),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
