// probe_growth.c - tables of exponents.
#include "cli/probe_growth.h"

#include "lab/run/json_tree.h"

enum { MOST_PARTS = 8 };  // of operators, of passes; all are in JSON

static void put_exponent(hsc_table *table, json_t *row, const char *key) {
  hsc_table_double(table, hsc_json_number(json_object_get(row, key)));
  hsc_table_double(table, hsc_json_number(json_object_get(row, "low")));
  hsc_table_double(table, hsc_json_number(json_object_get(row, "high")));
  json_t *values = json_object_get(row, "values");
  hsc_table_double(table, hsc_json_number(json_array_get(values, 0)));
  hsc_table_double(table, hsc_json_number(json_array_get(values, json_array_size(values) - 1)));
}

static void put_parts(hsc_table *table, json_t *document, const char *key) {
  json_t *row;
  size_t i;
  json_array_foreach (json_object_get(document, key), i, row) {
    if (i == MOST_PARTS || hsc_json_number(json_object_get(row, "growth_share")) < 0.01)
      break;
    if (!(hsc_json_number(json_object_get(row, "low")) > 0))
      continue;  // it may not grow at all
    hsc_table_row(table);
    hsc_table_text(table, json_string_value(json_object_get(row, "name")));
    put_exponent(table, row, "exponent");
    hsc_table_double(table, 100 * hsc_json_number(json_object_get(row, "growth_share")));
  }
}

hsc_status *hsc_cli_print_growth(json_t *document, hsc_cli *cli) {
  static const char *const columns[][2] = {{"of", ""},        {"exponent", ""}, {"low", ""},
                                           {"high", ""},      {"smallest", ""}, {"largest", ""},
                                           {"of growth", "%"}};
  hsc_table *table = NULL;
  const char *key;
  json_t *row;
  hsc_cli_paragraph(cli, "%s\n", json_string_value(json_object_get(document, "headline")));
  hsc_cli_print(cli, "\n");
  HSC_TRY(hsc_table_create("growth", &table));
  for (size_t i = 0; i < HSC_COUNT_OF(columns); i++)
    hsc_table_column(table, columns[i][0], columns[i][1]);
  json_object_foreach (json_object_get(document, "exponents"), key, row) {
    if (!json_is_object(row))
      continue;
    hsc_table_row(table);
    hsc_table_text(table, key);
    put_exponent(table, row, "value");
    hsc_table_double(table, 100);
  }
  put_parts(table, document, "operators");
  put_parts(table, document, "passes");
  json_object_foreach (json_object_get(document, "not_measured"), key, row)
    hsc_table_note(table, "%s: not measured: %s", key, json_string_value(row));
  hsc_table_note(table,
                 "operators and passes that surely grow; processor seconds of the worker "
                 "(operators, passes: wall), bytes, flops; 95 %% intervals over %d rounds; "
                 "flops and bytes are the program's as given, loops by their bounds",
                 (int)json_integer_value(json_object_get(document, "rounds")));
  return hsc_cli_table(cli, table);
}
