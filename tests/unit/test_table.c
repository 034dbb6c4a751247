#include "base/core/random.h"
#include "base/text/text.h"
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

static void check(const hsc_table *table,
                  hsc_output_format form,
                  const hsc_text_style *style,
                  const char *expected) {
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
  check(table, HSC_FORMAT_CSV, NULL,
        "graph,compile_time,runs,rate,ok\r\ntiny|a,0.0123456,10,1500000000,true\r\n\"mlp, "
        "\"\"big\"\"\",,12345,,\r\n");
  check(table, HSC_FORMAT_JSONL, NULL,
        "{\"graph\": \"tiny|a\", \"compile_time\": 0.0123456, \"runs\": 10, \"rate\": 1500000000, "
        "\"ok\": true}\n"
        "{\"graph\": \"mlp, \\\"big\\\"\", \"compile_time\": null, \"runs\": 12345, \"rate\": "
        "null, \"ok\": null}\n");
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 0);
  hsc_table_json(table, &json);
  assert_true(hsc_starts_with(hsc_bytes_text(&out),
                              "{\"view\": \"patterns\", \"columns\": [{\"name\": \"graph\", "
                              "\"unit\": \"\"}, {\"name\": \"compile_time\", \"unit\": \"s\"}"));
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
        "{\n  \"view\": \"t\",\n  \"columns\": [\n    {\n      \"name\": \"size\",\n      "
        "\"unit\": \"bytes\"\n    }\n  ],\n"
        "  \"rows\": [\n    {\n      \"size\": 2048\n    },\n    {\n      \"size\": null\n    }\n  "
        "],\n  \"notes\": []\n}\n");
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
  check(
      table, HSC_FORMAT_MARKDOWN, NULL,
      "| graph | compile time | runs | rate [flop/s] | ok |\n|---|---:|---:|---:|---|\n| tiny\\|a "
      "| 12.3 ms | 10 | 1.50 G | yes |\n"
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
  check(table, HSC_FORMAT_TEXT, &(hsc_text_style){.width = 25},
        "name                    n\n----------------  -------\na_very_long_n...  1234567\n");
  check(table, HSC_FORMAT_TEXT, &(hsc_text_style){.width = 25, .unicode = true},
        "name                    n\n"
        "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2"
        "\x94\x80"
        "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2"
        "\x94\x80"
        "  "
        "\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\xe2\x94\x80\na_"
        "very_long_nam\xe2\x80\xa6  1234567\n");
  hsc_table_destroy(table);
}

static void wide_characters_are_counted(void **state) {
  assert_int_equal(hsc_text_width("abc", 3), 3);
  assert_int_equal(hsc_text_width("\xc2\xb5s", 3), 2);
  assert_int_equal(hsc_text_width("\xe6\x97\xa5\xe6\x9c\xac", 6), 4);  // two East Asian characters
  assert_int_equal(hsc_text_width("e\xcc\x81", 3), 1);                 // a combining accent
  assert_int_equal(hsc_text_width("\xff\xfe", 2), 2);                  // not UTF-8
}

static void quantities_read_well(void **state) {
  static const struct {
    double value;
    const char *unit, *text;
  } cases[] = {
      {0, "s", "0 s"},
      {2.71e-5, "s", "27.1 us"},
      {0.0123, "s", "12.3 ms"},
      {1, "s", "1 s"},
      {0.9996, "s", "1.00 s"},
      {9.3e-4, "s", "930 us"},
      {123.4, "s", "123 s"},
      {4e-10, "s", "0.400 ns"},
      {-0.5, "s", "-500 ms"},
      {1500, "ns", "1.50 us"},
      {86400, "s", "86400 s"},
      {0, "bytes", "0 B"},
      {512, "bytes", "512 B"},
      {1536, "bytes", "1.50 KiB"},
      {1 << 20, "bytes", "1 MiB"},
      {2.5e12, "flops", "2.50 T"},
      {999, "flops", "999"},
      {1.2345, "ratio", "1.23x"},
      {250, "ratio", "250x"},
      {12.5, "percent", "12.5 %"},
      {0.125, "fraction", "12.5 %"},
      {42, "", "42"},
      {1.23456, "", "1.23"},
      {0.00012, "", "0.00012"},
      {3e20, "", "3e+20"},
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
    if (n < 5)
      assert_non_null(status);
    if (status)
      EXPECT_CODE(RESOURCE_EXHAUSTED, status);
    else
      assert_non_null(strstr(hsc_bytes_text(&out), "\n19\n\nnote\n"));
    hsc_table_destroy(table);
    hsc_bytes_deinit(&out);
  }
}

// ---- rows on demand -----------------------------------------------------------------------------

static const char *const hard_texts[] = {"",
                                         "plain",
                                         "with, comma",
                                         "a \"quoted\" one",
                                         "tab\there",
                                         "\xc3\xa9\xe2\x89\xa5",
                                         "back\\slash",
                                         "bad \xff byte",
                                         "line\nbreak"};

static void make_row(hsc_table *table, size_t row, void *user) {
  hsc_table_text(table, row % 10 == 9 ? NULL : hard_texts[row % 10]);
  hsc_table_hex(table, row * 0x9E3779B97F4A7C15ull);
  hsc_table_int(table, row % 3 ? (int64_t)(row * row * 7919) : INT64_MIN + (int64_t)row);
  hsc_table_double(table, row % 4 == 3 ? NAN : (double)row * 1.37e-3 - 2);
  hsc_table_bool(table, row % 2);
  if (row % 5)
    hsc_table_int(table, (int64_t)row * 1234567);  // else not given: missing
}

static void note_release(void *user) {
  *(bool *)user = true;
}

static hsc_table *many_rows(bool on_demand, bool *released) {
  hsc_table *table = NULL;
  EXPECT_OK(hsc_table_create("many", &table));
  static const char *const names[] = {"text", "hex", "int", "double", "bool", "time"};
  for (size_t c = 0; c < HSC_COUNT_OF(names); c++)
    hsc_table_column(table, names[c], c == 5 ? "ns" : "");
  enum { ROWS = 1000 };
  if (on_demand) {
    hsc_arena *arena = NULL;
    EXPECT_OK(hsc_arena_create(&arena));
    hsc_table_rows_on_demand(table, ROWS, make_row, released, note_release, arena);
  }
  for (size_t r = 0; r < ROWS && !on_demand; r++) {
    hsc_table_row(table);
    make_row(table, r, NULL);
  }
  hsc_table_note(table, "a note");
  return table;
}

static void rows_on_demand_print_as_kept_ones(void **state) {
  static const hsc_output_format forms[] = {HSC_FORMAT_TEXT,  HSC_FORMAT_JSON,
                                            HSC_FORMAT_JSONL, HSC_FORMAT_MARKDOWN,
                                            HSC_FORMAT_CSV,   HSC_FORMAT_PARQUET};
  bool released = false;
  hsc_table *kept = many_rows(false, NULL);
  hsc_table *made = many_rows(true, &released);
  for (size_t f = 0; f < HSC_COUNT_OF(forms); f++) {
    hsc_bytes a = {0};
    hsc_bytes b = {0};
    EXPECT_OK(hsc_table_print(kept, forms[f], NULL, &a));
    EXPECT_OK(hsc_table_print(made, forms[f], NULL, &b));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    hsc_bytes_deinit(&a);
    hsc_bytes_deinit(&b);
  }
  // A row is what it was, whatever was read in between.
  assert_int_equal(hsc_table_row_count(made), 1000);
  assert_string_equal(hsc_table_cell(made, 2, 0)->text, "with, comma");
  assert_string_equal(hsc_table_cell(made, 1, 1)->text, "9e3779b97f4a7c15");
  assert_string_equal(hsc_table_cell(made, 2, 0)->text, "with, comma");
  assert_int_equal(hsc_table_cell(made, 5, 5)->kind, HSC_CELL_MISSING);
  assert_int_equal(hsc_table_column_kind(made, 5), HSC_CELL_INT);
  assert_int_equal(hsc_table_column_kind(made, 4), HSC_CELL_BOOL);
  hsc_table_destroy(kept);
  assert_false(released);
  hsc_table_destroy(made);
  assert_true(released);
}

// Each allocation of a form fails in turn: no memory, or every byte of it.
static void forms_without_memory_are_told(void **state) {
  static const hsc_output_format forms[] = {HSC_FORMAT_TEXT,  HSC_FORMAT_JSON,
                                            HSC_FORMAT_JSONL, HSC_FORMAT_MARKDOWN,
                                            HSC_FORMAT_CSV,   HSC_FORMAT_PARQUET};
  hsc_table *table = many_rows(false, NULL);
  for (size_t f = 0; f < HSC_COUNT_OF(forms); f++) {
    hsc_bytes wanted = {0};
    EXPECT_OK(hsc_table_print(table, forms[f], NULL, &wanted));
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
      hsc_bytes out = {0};
      hsc_alloc_fail_after(n);
      hsc_status *status = hsc_table_print(table, forms[f], NULL, &out);
      hsc_alloc_fail_after(0);
      done = !status;
      if (status)
        EXPECT_CODE(RESOURCE_EXHAUSTED, status);
      else
        assert_true(out.size == wanted.size && !memcmp(out.data, wanted.data, out.size));
      hsc_bytes_deinit(&out);
    }
    hsc_bytes_deinit(&wanted);
  }
  hsc_table_destroy(table);
}

// Three digits, rounded as printf rounds: also at ties and next to them.
static void quantities_round_as_printf_does(void **state) {
  hsc_random random;
  hsc_random_init(&random, 5);
  for (int i = 0; i < 20000; i++) {
    double value = i % 3 ? hsc_random_double(&random) * (i % 7 ? 150 : 1500)
                         : (double)(hsc_random_below(&random, 200000)) / 2000;
    char got[32], want[32];
    hsc_format_quantity(value, "s", false, got);
    if (value < 1 || value == floor(value) || value >= 1e6)
      continue;
    snprintf(want, sizeof want, "%.*f s", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
    assert_string_equal(got, want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_on_demand_print_as_kept_ones),
      cmocka_unit_test(quantities_round_as_printf_does),
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
      cmocka_unit_test(forms_without_memory_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
