// table_print.c - a table in the form that is asked for.
#include "report/table_internal.h"

static hsc_status *write_json(const hsc_table *table, hsc_json *json, hsc_table__stream *stream) {
  hsc_json_begin_object(json);
  hsc_json_kv_string(json, "view", table->view);
  hsc_json_key(json, "columns");
  hsc_json_begin_array(json);
  for (size_t c = 0; c < hsc_table_column_count(table); c++) {
    hsc_json_begin_object(json);
    hsc_json_kv_string(json, "name", hsc_table__column(table, c)->name);
    hsc_json_kv_string(json, "unit", hsc_table__column(table, c)->unit);
    hsc_json_end_object(json);
  }
  hsc_json_end_array(json);
  hsc_json_key(json, "rows");
  hsc_json_begin_array(json);
  hsc_status *status = hsc_table__rows_json(table, json->indent, json->depth, stream);
  if (table->row_count)
    json->has_items[json->depth] = true;
  hsc_json_end_array(json);
  hsc_json_key(json, "notes");
  hsc_json_begin_array(json);
  for (size_t n = 0; n < hsc_table_note_count(table); n++)
    hsc_json_string(json, hsc_table_note_text(table, n));
  hsc_json_end_array(json);
  hsc_json_end_object(json);
  return status;
}

void hsc_table_json(const hsc_table *table, hsc_json *json) {
  hsc_status *status = write_json(table, json, &(hsc_table__stream){.out = json->out});
  if (status)
    json->out->failed = true;  // no memory
  hsc_status_free(status);
}

static hsc_status *print(const hsc_table *table,
                         hsc_output_format format,
                         const hsc_text_style *style,
                         hsc_table__stream *stream) {
  static const hsc_text_style plain = {0};
  HSC_TRY(hsc_arena_status(table->arena));
  HSC_TRY(hsc_bytes_status(&table->columns));
  HSC_TRY(hsc_bytes_status(&table->cells));
  HSC_TRY(hsc_bytes_status(&table->notes));
  if (table->misused)
    return HSC_ERR(
        INTERNAL,
        "table '%s': a row has more cells than there are columns, or a column came after a row",
        table->view);
  hsc_json json;
  switch (format) {
    case HSC_FORMAT_TEXT:
      HSC_TRY(hsc_table__print_text(table, style ? style : &plain, stream));
      break;
    case HSC_FORMAT_MARKDOWN:
      hsc_table__print_markdown(table, stream->out);
      break;
    case HSC_FORMAT_CSV:
      HSC_TRY(hsc_table__csv(table, stream));
      break;
    case HSC_FORMAT_PARQUET:
      HSC_TRY(hsc_table__print_parquet(table, stream));
      break;
    case HSC_FORMAT_JSON:
      hsc_json_init(&json, stream->out, 2);
      HSC_TRY(write_json(table, &json, stream));
      hsc_bytes_append_char(stream->out, '\n');
      break;
    case HSC_FORMAT_JSONL:
      HSC_TRY(hsc_table__rows_jsonl(table, stream));
      break;
  }
  return hsc_bytes_status(stream->out);
}

hsc_status *hsc_table_print(const hsc_table *table,
                            hsc_output_format format,
                            const hsc_text_style *style,
                            hsc_bytes *out) {
  return print(table, format, style, &(hsc_table__stream){.out = out});
}

hsc_status *hsc_table_write(const hsc_table *table,
                            hsc_output_format format,
                            const hsc_text_style *style,
                            hsc_status *(*write)(void *user, hsc_view bytes),
                            void *user) {
  hsc_bytes out = {0};
  hsc_status *status = print(table, format, style, &(hsc_table__stream){&out, write, user});
  if (!status && out.size)
    status = write(user, hsc_bytes_view(&out));
  hsc_bytes_deinit(&out);
  return status;
}
