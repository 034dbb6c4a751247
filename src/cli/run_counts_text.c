// run_counts_text.c - see run_counts_text.h.
#include "base/text/text.h"
#include "cli/run_counts_text.h"

#include "lab/run/json_tree.h"
#include "lab/run/run_counts.h"

enum { MOST_ROWS = 12 };

static void put_side(hsc_table *table, json_t *side) {
  static const char *const keys[] = {"runs", "flops", "bytes"};
  for (size_t i = 0; i < HSC_COUNT_OF(keys); i++)
    hsc_table_printf(table, "%.4g", hsc_json_number(json_object_get(side, keys[i])));
}

static void note_own(hsc_table *table, const char *name, json_t *counts) {
  const char *why = json_string_value(json_object_get(counts, "own_why"));
  double own[2];
  double of_program[2];
  static const char *const keys[] = {"flops", "bytes"};
  for (int i = 0; i < 2; i++) {
    own[i] = hsc_json_number(hsc_json_path(counts, "own", keys[i], NULL));
    of_program[i] = hsc_json_number(hsc_json_path(counts, "compiled", keys[i], NULL));
  }
  if (why && own[0] == of_program[0] && own[1] == of_program[1])
    hsc_table_note(table, "%s: %s", name, why);
  else if (why)
    hsc_table_note(table, "%s: %s: %.4g flops, %.4g bytes, where its program has %.4g and %.4g",
                   name, why, own[0], own[1], of_program[0], of_program[1]);
}

hsc_status *hsc_run_counts_print(hsc_cli *cli, json_t *device) {
  json_t *counts = json_object_get(device, "counts");
  json_t *rows = json_object_get(counts, "by_op");
  const char *name = json_string_value(json_object_get(device, "device"));
  const char *other = json_object_get(counts, "exact") ? "exact" : "compiled";
  hsc_table *table = NULL;
  json_t *row;
  size_t i;
  size_t shown = 0;
  long long differ = (long long)json_integer_value(json_object_get(counts, "differences"));
  if (!rows)
    return NULL;
  hsc_cli_print(cli, "\n");
  if (!differ) {
    hsc_cli_paragraph(cli, "%s: %s counts are those of the program's text, in all of %zu %s\n",
                      name, other, json_array_size(rows),
                      hsc_plural((double)json_array_size(rows), "operation", "operations"));
    return NULL;
  }
  HSC_TRY(hsc_table_create("counts", &table));
  hsc_table_column(table, "operation", "");
  static const char *const columns[] = {"runs", "flops", "bytes"};
  for (int side = 0; side < 2; side++)
    for (size_t k = 0; k < HSC_COUNT_OF(columns); k++)
      hsc_table_column(
          table, hsc_arena_printf(cli->arena, "%s %s", side ? other : "text", columns[k]), "");
  hsc_table_column(table, "why", "");
  HSC_TRY(hsc_arena_status(cli->arena));
  json_array_foreach (rows, i, row) {
    if (!json_is_string(json_object_get(row, "why")) || shown == MOST_ROWS)
      continue;
    shown++;
    hsc_table_row(table);
    hsc_table_text(table, json_string_value(json_object_get(row, "op")));
    put_side(table, json_object_get(row, "static"));
    put_side(table, json_object_get(row, other));
    hsc_table_text(table, json_string_value(json_object_get(row, "why")));
  }
  hsc_table_note(table, "%s: %lld of %zu %s%s", name, differ, json_array_size(rows),
                 hsc_plural((double)differ, "operations differs", "operations differ"),
                 (size_t)differ > shown ? "; the others: --format=json" : "");
  hsc_bytes uncounted = {0};
  if (hsc_say_uncounted(counts, &uncounted))
    hsc_table_note(table, "%s: %s", name, hsc_bytes_text(&uncounted));
  hsc_bytes_deinit(&uncounted);
  note_own(table, name, counts);
  return hsc_cli_table(cli, table);
}
