#include "unit.h"

#include <math.h>

#include "report/table.h"

static hsc_table *example(void) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_table_create("patterns", &table));
  hsc_table_column(table, "graph", "");
  hsc_table_column(table, "compile_time", "s");
  hsc_table_column(table, "runs", "count");
  hsc_table_column(table, "rate", "flop/s");
  hsc_table_column(table, "ok", "");
  hsc_table_row(table);
  hsc_table_text(table, "tiny|a");
  hsc_table_double(table, 0.0123456);
  hsc_table_int(table, 10);
  hsc_table_double(table, 1.5e9);
  hsc_table_bool(table, true);
  hsc_table_row(table);
  hsc_table_printf(table, "mlp, \"%s\"", "big");
  hsc_table_double(table, NAN);
  hsc_table_int(table, 12345);
  hsc_table_note(table, "%d of 2 shown", 2);
  return table;
}

static void check(const hsc_table *table, hsc_output_format form, const hsc_text_style *style, const char *expected) {
  hsc_bytes out = {0};
  EXPECT_OK(hsc_table_print(table, form, style, &out));
  assert_string_equal(hsc_bytes_text(&out), expected);
  hsc_bytes_deinit(&out);
}

static void text_is_aligned(void **state) {
  hsc_table *table = example();
  check(table, HSC_FORMAT_TEXT, NULL,
        "graph       compile time   runs  rate [flop/s]  ok\n"
        "----------  ------------  -----  -------------  ---\n"
        "tiny|a           12.3 ms     10         1.50 G  yes\n"
        "mlp, \"big\"             -  12345              -  -\n"
        "\n2 of 2 shown\n");
  hsc_table_destroy(table);
}

static void programs_get_full_precision(void **state) {
  hsc_table *table = example();
  check(table, HSC_FORMAT_CSV, NULL, "graph,compile_time,runs,rate,ok\r\ntiny|a,0.0123456,10,1500000000,true\r\n\"mlp, \"\"big\"\"\",,12345,,\r\n");
  check(table, HSC_FORMAT_JSONL, NULL,
        "{\"graph\": \"tiny|a\", \"compile_time\": 0.0123456, \"runs\": 10, \"rate\": 1500000000, \"ok\": true}\n"
        "{\"graph\": \"mlp, \\\"big\\\"\", \"compile_time\": null, \"runs\": 12345, \"rate\": null, \"ok\": null}\n");
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  hsc_table_json(table, &json);
  assert_true(hsc_starts_with(hsc_bytes_text(&out), "{\"view\": \"patterns\", \"columns\": [{\"name\": \"graph\", \"unit\": \"\"}, {\"name\": \"compile_time\", \"unit\": \"s\"}"));
  assert_true(hsc_ends_with(hsc_bytes_text(&out), "], \"notes\": [\"2 of 2 shown\"]}"));
  hsc_bytes_deinit(&out);
  assert_int_equal(hsc_table_row_count(table), 2);
  hsc_table_destroy(table);
}

static void json_has_columns_rows_and_notes(void **state) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_table_create("t", &table));
  hsc_table_column(table, "size", "bytes");
  hsc_table_row(table);
  hsc_table_int(table, 2048);
  hsc_table_row(table);
  hsc_table_text(table, NULL);
  check(table, HSC_FORMAT_JSON, NULL,
        "{\n  \"view\": \"t\",\n  \"columns\": [\n    {\n      \"name\": \"size\",\n      \"unit\": \"bytes\"\n    }\n  ],\n"
        "  \"rows\": [\n    {\n      \"size\": 2048\n    },\n    {\n      \"size\": null\n    }\n  ],\n  \"notes\": []\n}\n");
  check(table, HSC_FORMAT_TEXT, NULL, " size\n-----\n2 KiB\n    -\n");
  hsc_table_destroy(table);
}

static void format_names_go_both_ways(void **state) {
  static const char *const names[] = {"text", "json", "jsonl", "markdown", "csv"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++) {
    hsc_output_format format;
    assert_true(hsc_output_format_of_name(names[i], &format));
    assert_string_equal(hsc_output_format_name(format), names[i]);
  }
  hsc_output_format format = HSC_FORMAT_TEXT;
  assert_false(hsc_output_format_of_name("xml", &format));
}

static void markdown_escapes_bars(void **state) {
  hsc_table *table = example();
  check(table, HSC_FORMAT_MARKDOWN, NULL,
        "| graph | compile time | runs | rate [flop/s] | ok |\n|---|---:|---:|---:|---|\n| tiny\\|a | 12.3 ms | 10 | 1.50 G | yes |\n"
        "| mlp, \"big\" | \xe2\x80\x93 | 12345 | \xe2\x80\x93 | \xe2\x80\x93 |\n\n2 of 2 shown  \n");
  hsc_table_destroy(table);
}

static void narrow_terminals_cut_texts_not_numbers(void **state) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_table_create("t", &table));
  hsc_table_column(table, "name", "");
  hsc_table_column(table, "n", "");
  hsc_table_row(table);
  hsc_table_text(table, "a_very_long_name_of_a_kernel_that_does_not_fit");
  hsc_table_int(table, 1234567);
  check(table, HSC_FORMAT_TEXT, &(hsc_text_style){.width = 25}, "name                    n\n----------------  -------\na_very_long_n...  1234567\n");
  check(table, HSC_FORMAT_TEXT, &(hsc_text_style){.width = 25, .unicode = true},
        "name                    n\n"
        "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
        "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80"
        "  \xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\na_very_long_nam\xe2\x80\xa6  1234567\n");
  hsc_table_destroy(table);
}

static void wide_characters_are_counted(void **state) {
  assert_int_equal(hsc_text_width("abc", 3), 3);
  assert_int_equal(hsc_text_width("\xc2\xb5s", 3), 2);
  assert_int_equal(hsc_text_width("\xe6\x97\xa5\xe6\x9c\xac", 6), 4);   // two East Asian characters
  assert_int_equal(hsc_text_width("e\xcc\x81", 3), 1);                  // a combining accent
  assert_int_equal(hsc_text_width("\xff\xfe", 2), 2);                   // not UTF-8
}

static void quantities_read_well(void **state) {
  static const struct {
    double value;
    const char *unit, *text;
  } cases[] = {
      {0, "s", "0 s"}, {2.71e-5, "s", "27.1 us"}, {0.0123, "s", "12.3 ms"}, {1, "s", "1 s"}, {0.9996, "s", "1.00 s"}, {9.3e-4, "s", "930 us"}, {123.4, "s", "123 s"},
      {4e-10, "s", "0.400 ns"}, {-0.5, "s", "-500 ms"}, {1500, "ns", "1.50 us"}, {86400, "s", "86400 s"}, {0, "bytes", "0 B"}, {512, "bytes", "512 B"},
      {1536, "bytes", "1.50 KiB"}, {1 << 20, "bytes", "1 MiB"}, {2.5e12, "flops", "2.50 T"}, {999, "flops", "999"}, {1.2345, "ratio", "1.23x"}, {250, "ratio", "250x"},
      {12.5, "percent", "12.5 %"}, {0.125, "fraction", "12.5 %"}, {42, "", "42"}, {1.23456, "", "1.23"}, {0.00012, "", "0.00012"}, {3e20, "", "3e+20"},
  };
  char text[32];
  for (size_t i = 0; i < HSC_COUNT_OF(cases); i++) {
    int length = hsc_format_quantity(cases[i].value, cases[i].unit, false, text);
    assert_string_equal(text, cases[i].text);
    assert_int_equal(length, strlen(text));
  }
  hsc_format_quantity(2.71e-5, "s", true, text);
  assert_string_equal(text, "27.1 \xc2\xb5s");
}

static void misuse_is_told_not_hidden(void **state) {
  hsc_table *table = NULL;
  hsc_bytes out = {0};
  EXPECT_OK(hsc_table_create("t", &table));
  hsc_table_column(table, "a", "");
  hsc_table_row(table);
  hsc_table_int(table, 1);
  hsc_table_int(table, 2);
  EXPECT_CODE(INTERNAL, hsc_table_print(table, HSC_FORMAT_TEXT, NULL, &out));
  hsc_table_destroy(table);
  hsc_bytes_deinit(&out);
}

static void failing_allocations_are_told(void **state) {
  for (uint64_t n = 1; n < 60; n++) {
    hsc_table *table = NULL;
    hsc_bytes out = {0};
    hsc_alloc_fail_after(n);
    hsc_status *status = hsc_table_create("t", &table);
    if (!status) {
      hsc_table_column(table, "a", "s");
      for (int i = 0; i < 20; i++) {
        hsc_table_row(table);
        hsc_table_printf(table, "%d", i);
      }
      hsc_table_note(table, "note");
      status = hsc_table_print(table, HSC_FORMAT_TEXT, NULL, &out);
    }
    hsc_alloc_fail_after(0);
    if (n < 5) assert_non_null(status);
    if (status)
      EXPECT_CODE(RESOURCE_EXHAUSTED, status);
    else
      assert_non_null(strstr(hsc_bytes_text(&out), "\n19\n\nnote\n"));
    hsc_table_destroy(table);
    hsc_bytes_deinit(&out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_is_aligned),
      cmocka_unit_test(programs_get_full_precision),
      cmocka_unit_test(json_has_columns_rows_and_notes),
      cmocka_unit_test(format_names_go_both_ways),
      cmocka_unit_test(markdown_escapes_bars),
      cmocka_unit_test(narrow_terminals_cut_texts_not_numbers),
      cmocka_unit_test(wide_characters_are_counted),
      cmocka_unit_test(quantities_read_well),
      cmocka_unit_test(misuse_is_told_not_hidden),
      cmocka_unit_test(failing_allocations_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
