// Two profiles of the same work: operators are matched by name, then by the framework's name, then
// by what they compute; intervals need steps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/file_io.h"
#include "base/wire/wire.h"
#include "formats/common/formats.h"
#include "lab/run/profile_diff.h"
#include "trace/xspace.h"
#include "unit.h"

static const hsc_cell *cell(const hsc_table *table, size_t row, const char *column) {
  for (size_t c = 0; c < hsc_table_column_count(table); c++)
    if (!strcmp(hsc_table_column_name(table, c), column))
      return hsc_table_cell(table, row, c);
  fail_msg("no column %s", column);
  return NULL;
}

static const char *text_of(const hsc_table *table, const char *name, const char *column) {
  for (size_t i = 0; i < hsc_table_row_count(table); i++)
    if (!strcmp(cell(table, i, "operator")->text, name))
      return cell(table, i, column)->text;
  fail_msg("no row %s", name);
  return NULL;
}

typedef struct run {
  const char *hlo, *ops[4];
  int64_t us[4];
} run;

// A program on a thread of XLA:CPU, `steps` times, each time a little longer.
static hsc_profile *profile_of(const run *r, int steps, hsc_bytes *bytes) {
  char path[] = "/tmp/hloscope-diff-XXXXXX.xplane.pb";
  hsc_xwriter w;
  hsc_module *module = NULL;
  hsc_bytes proto = {0};
  EXPECT_OK(hsc_program_read_as(HSC_FORMAT_HLO_TEXT, hsc_view_of(r->hlo), "test", &module));
  size_t mark = hsc_wire_begin(&proto, 1);
  EXPECT_OK(hsc_hlo_proto_write(module, &proto));
  hsc_wire_end(&proto, mark);
  hsc_module_destroy(module);
  EXPECT_OK(hsc_xwriter_init(&w, bytes));
  hsc_xwriter_begin_plane(&w, 1, "/host:metadata");
  hsc_xwriter_begin_event_meta(&w, 5, "f(5)", NULL);
  hsc_xwriter_stat_bytes(&w, "Hlo Proto", hsc_bytes_view(&proto));
  hsc_xwriter_end_event_meta(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_begin_plane(&w, 2, "/host:CPU");
  int64_t meta = hsc_xwriter_begin_event_meta(&w, 0, "thunk", NULL);
  hsc_xwriter_end_event_meta(&w);
  hsc_xwriter_begin_line(&w, 1, "thread", 0);
  for (int s = 0; s < steps; s++) {
    int64_t at = 1000000000 * (int64_t)s;
    hsc_xwriter_begin_event(&w, meta, at, 900000000);
    hsc_xwriter_stat_int(&w, "step_num", s);
    hsc_xwriter_end_event(&w);
    for (int i = 0; i < 4 && r->ops[i]; i++) {
      hsc_xwriter_begin_event(&w, meta, at, (r->us[i] * 1000 + s) * 1000);
      hsc_xwriter_stat_text(&w, "hlo_op", hsc_view_of(r->ops[i]));
      hsc_xwriter_stat_text(&w, "hlo_module", HSC_VIEW("f"));
      hsc_xwriter_stat_int(&w, "program_id", 5);
      hsc_xwriter_end_event(&w);
      at += r->us[i] * 1000000 + 1000000;
    }
  }
  hsc_xwriter_end_line(&w);
  hsc_xwriter_end_plane(&w);
  hsc_xwriter_deinit(&w);
  EXPECT_OK(hsc_bytes_status(bytes));
  int file = mkstemps(path, 10);
  assert_true(file >= 0);
  close(file);
  EXPECT_OK(hsc_file_write_atomic(path, bytes->data, bytes->size));
  hsc_profile *profile = NULL;
  EXPECT_OK(hsc_profile_open_detailed(path, &profile));
  unlink(path);
  hsc_bytes_deinit(&proto);
  return profile;
}

static const run before = {.hlo =
                               "HloModule f\nENTRY e { x = f32[8,8] parameter(0)\n"
                               " same = f32[8,8] add(x, x)\n named = f32[8,8] multiply(same, x), "
                               "metadata={op_name=\"jit(f)/layer/mul\"}\n"
                               " shaped = f32[8,8] dot(named, x), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}\n ROOT gone = f32[8,8] negate(shaped) }",
                           .ops = {"same", "named", "shaped", "gone"},
                           .us = {10, 20, 30, 5}};
static const run after = {
    .hlo =
        "HloModule f\nENTRY e { x = f32[8,8] parameter(0)\n"
        " same = f32[8,8] add(x, x)\n other.1 = f32[8,8] multiply(same, x), "
        "metadata={op_name=\"jit(f)/layer/mul\"}\n"
        " other.2 = f32[8,8] dot(other.1, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n "
        "ROOT new = f32[8,8] exponential(other.2) }",
    .ops = {"same", "other.1", "other.2", "new"},
    .us = {10, 40, 15, 7}};

static void test_three_ways_of_matching(void **state) {
  hsc_bytes a = {0};
  hsc_bytes b = {0};
  hsc_profile *x = profile_of(&before, 6, &a);
  hsc_profile *y = profile_of(&after, 6, &b);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_diff(x, y, 0, &table));
  assert_int_equal(hsc_table_row_count(table), 6);  // all, three pairs, gone, new
  assert_string_equal(text_of(table, "same", "matched_by"), "name");
  assert_string_equal(text_of(table, "named", "matched_by"), "metadata");
  assert_string_equal(text_of(table, "named", "in_b"), "other.1");
  assert_string_equal(text_of(table, "shaped", "matched_by"), "structure");
  assert_string_equal(text_of(table, "shaped", "in_b"), "other.2");
  assert_string_equal(text_of(table, "gone", "matched_by"), "only in A");
  assert_string_equal(text_of(table, "new", "matched_by"), "only in B");
  assert_true(fabs(cell(table, 0, "change")->number - 7000) < 10);  // 20 - 15 + 2 us
  for (size_t i = 0; i < 6; i++)
    if (!strcmp(cell(table, i, "operator")->text, "named"))
      assert_true(fabs(cell(table, i, "ratio")->number - 2) < 0.01);
  hsc_table_destroy(table);
  hsc_profile_close(x);
  hsc_profile_close(y);
  hsc_bytes_deinit(&a);
  hsc_bytes_deinit(&b);
}

static void test_no_verdict_from_one_process_a_side(void **state) {
  hsc_bytes a = {0};
  hsc_bytes b = {0};
  hsc_profile *x = profile_of(&before, 1, &a);
  hsc_profile *y = profile_of(&after, 6, &b);
  hsc_table *table = NULL;
  EXPECT_OK(hsc_profile_diff(x, y, 0, &table));
  for (size_t c = 0; c < hsc_table_column_count(table); c++) {
    assert_string_not_equal(hsc_table_column_name(table, c), "verdict");
    assert_string_not_equal(hsc_table_column_name(table, c), "low");
  }
  hsc_table_destroy(table);
  hsc_profile_close(x);
  hsc_profile_close(y);
  hsc_bytes_deinit(&a);
  hsc_bytes_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_three_ways_of_matching),
      cmocka_unit_test(test_no_verdict_from_one_process_a_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
