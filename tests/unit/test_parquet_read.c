// test_parquet_read.c - Parquet files of pyarrow (the fuzz corpus) and of our own writer, and
// damaged ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "base/parquet/parquet.h"
#include "base/parquet/parquet_read.h"

static const char *root;

static void assert_ok(hsc_status *status) {
  if (status)
    fail_msg("%s", hsc_status_message(status));
}

static size_t column_of(const hsc_parquet_file *file, const char *name) {
  for (size_t c = 0; c < hsc_parquet_column_count(file); c++)
    if (!strcmp(hsc_parquet_column_name(file, c), name))
      return c;
  fail_msg("no column %s", name);
  return 0;
}

// 60 rows in groups of 25: variant main, new, null in turn; time_us 100 + i % 7 / 2, null every
// tenth; i; b; f = i % 5; l is a list.
static void test_files_of_pyarrow(void **state) {
  static const char *const names[] = {"snappy_1_dictionary", "gzip_2_plain", "zstd_2_dictionary",
                                      "none_1_plain"};
  for (size_t k = 0; k < HSC_COUNT_OF(names); k++) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/parquet/%s.parquet", root, names[k]);
    hsc_bytes bytes = {0};
    assert_ok(hsc_file_read(path, &bytes));
    hsc_parquet_file *file = NULL;
    assert_ok(hsc_parquet_open(hsc_bytes_view(&bytes), &file));
    assert_int_equal(hsc_parquet_row_count(file), 60);
    double time[60], i32[60], b[60], f[60];
    hsc_view variant[60];
    assert_ok(hsc_parquet_read_doubles(file, column_of(file, "time_us"), time));
    assert_ok(hsc_parquet_read_doubles(file, column_of(file, "i"), i32));
    assert_ok(hsc_parquet_read_doubles(file, column_of(file, "b"), b));
    assert_ok(hsc_parquet_read_doubles(file, column_of(file, "f"), f));
    assert_ok(hsc_parquet_read_texts(file, column_of(file, "variant"), variant));
    for (int i = 0; i < 60; i++) {
      assert_true(i % 10 ? time[i] == 100 + i % 7 * 0.5 : isnan(time[i]));
      assert_true(i32[i] == i && b[i] == (i % 2 == 0) && f[i] == i % 5);
      static const char *const texts[] = {"main", "new"};
      if (i % 3 == 2)
        assert_null(variant[i].data);
      else
        assert_true(hsc_view_equals_text(variant[i], texts[i % 3]));
    }
    // A list is distinguished and refused.
    size_t list = hsc_parquet_column_count(file) - 1;
    assert_int_equal(hsc_parquet_column_kind(file, list), HSC_PARQUET_KIND_OTHER);
    hsc_status *status = hsc_parquet_read_doubles(file, list, time);
    assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
    hsc_status_free(status);
    hsc_parquet_close(file);
    // Cut anywhere, it is an error and nothing worse.
    for (size_t cut = 0; cut < bytes.size; cut += 7) {
      status = hsc_parquet_open((hsc_view){(const char *)bytes.data, cut}, &file);
      assert_non_null(status);
      hsc_status_free(status);
    }
    hsc_bytes_deinit(&bytes);
  }
}

static hsc_status *append(void *user, hsc_view bytes) {
  hsc_bytes_append(user, bytes.data, bytes.size);
  return NULL;
}

static void test_what_we_write_comes_back(void **state) {
  enum { ROWS = 300000 };  // three row groups
  hsc_bytes bytes = {0};
  hsc_parquet *out = NULL;
  assert_ok(hsc_parquet_create((hsc_parquet_column[]){{"name", HSC_PARQUET_TEXT},
                                                      {"n", HSC_PARQUET_INT64},
                                                      {"x", HSC_PARQUET_DOUBLE},
                                                      {"yes", HSC_PARQUET_BOOL}},
                               4, append, &bytes, &out));
  hsc_parquet_metadata(out, "hloscope.unit.x", "s");
  for (int i = 0; i < ROWS; i++) {
    char text[16];
    int length = snprintf(text, sizeof text, "op %d", i % 100);
    hsc_parquet_text(out, (hsc_view){text, (size_t)length});
    if (i % 11)
      hsc_parquet_int(out, -i);
    else
      hsc_parquet_null(out);
    hsc_parquet_double(out, i / 8.0);
    hsc_parquet_bool(out, i % 3 == 0);
  }
  assert_ok(hsc_parquet_finish(out));
  hsc_parquet_file *file = NULL;
  assert_ok(hsc_parquet_open(hsc_bytes_view(&bytes), &file));
  assert_int_equal(hsc_parquet_row_count(file), ROWS);
  assert_string_equal(hsc_parquet_get_metadata(file, "hloscope.unit.x"), "s");
  assert_null(hsc_parquet_get_metadata(file, "nothing"));
  double *n = hsc_alloc(ROWS * sizeof(double));
  double *x = hsc_alloc(ROWS * sizeof(double));
  double *yes = hsc_alloc(ROWS * sizeof(double));
  hsc_view *name = hsc_alloc(ROWS * sizeof *name);
  assert_ok(hsc_parquet_read_texts(file, 0, name));
  assert_ok(hsc_parquet_read_doubles(file, 1, n));
  assert_ok(hsc_parquet_read_doubles(file, 2, x));
  assert_ok(hsc_parquet_read_doubles(file, 3, yes));
  for (int i = 0; i < ROWS; i++) {
    char text[16];
    snprintf(text, sizeof text, "op %d", i % 100);
    assert_true(hsc_view_equals_text(name[i], text) && (i % 11 ? n[i] == -i : isnan(n[i])) &&
                x[i] == i / 8.0 && yes[i] == (i % 3 == 0));
  }
  size_t row = 0;
  assert_int_equal(hsc_parquet_group_count(file), 3);
  for (size_t g = 0; g < 3; g++) {
    size_t rows = hsc_parquet_group_rows(file, g);
    assert_true(row + rows <= ROWS);
    assert_ok(hsc_parquet_group_texts(file, g, 0, name));
    assert_ok(hsc_parquet_group_doubles(file, g, 2, yes));
    for (size_t i = 0; i < rows; i++, row++) {
      char text[16];
      snprintf(text, sizeof text, "op %zu", row % 100);
      assert_true(hsc_view_equals_text(name[i], text) && yes[i] == x[row]);
    }
    hsc_parquet_forget_texts(file);
  }
  assert_int_equal(row, ROWS);
  hsc_status *status = hsc_parquet_group_texts(file, 0, 2, name);
  assert_int_equal(hsc_status_code(status), HSC_INVALID_ARGUMENT);
  hsc_status_free(status);
  hsc_free(n);
  hsc_free(x);
  hsc_free(yes);
  hsc_free(name);
  hsc_parquet_close(file);
  hsc_bytes_deinit(&bytes);
}

int main(int argc, char **argv) {
  root = argc > 1 ? argv[1] : ".";
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_files_of_pyarrow),
                                     cmocka_unit_test(test_what_we_write_comes_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
