// table_arrow.c - a table as Arrow arrays. All memory of a schema or an array is one arena, which
// its release function frees.
#include "base/text/text.h"
#include "report/arrow.h"

static void release_schema(struct ArrowSchema *schema) {
  hsc_arena *arena = schema->private_data;
  for (int64_t c = 0; c < schema->n_children; c++)
    if (schema->children[c]->release)
      schema->children[c]->release(schema->children[c]);
  schema->release = NULL;
  if (arena)
    hsc_arena_destroy(arena);
}

static void release_array(struct ArrowArray *array) {
  hsc_arena *arena = array->private_data;
  for (int64_t c = 0; c < array->n_children; c++)
    if (array->children[c]->release)
      array->children[c]->release(array->children[c]);
  array->release = NULL;
  if (arena)
    hsc_arena_destroy(arena);
}

static const char *format_of(hsc_cell_kind kind) {
  switch (kind) {
    case HSC_CELL_INT:
      return "l";
    case HSC_CELL_DOUBLE:
      return "g";
    case HSC_CELL_BOOL:
      return "b";
    default:
      return "U";
  }
}

static int cell_text(const hsc_cell *cell, char number[32], const char **out_text) {
  *out_text = number;
  switch (cell->kind) {
    case HSC_CELL_TEXT:
      *out_text = cell->text;
      return (int)strlen(cell->text);
    case HSC_CELL_INT:
      return snprintf(number, 32, "%lld", (long long)cell->integer);
    case HSC_CELL_BOOL:
      return snprintf(number, 32, "%s", cell->integer ? "true" : "false");
    case HSC_CELL_DOUBLE:
      return hsc_format_double(cell->number, number);
    case HSC_CELL_MISSING:
      break;
  }
  return 0;
}

// Offsets of 64 bits, then the characters. NULL when memory ran out.
static const void **text_buffers(hsc_arena *arena,
                                 const hsc_table *table,
                                 size_t column,
                                 size_t rows) {
  const void **buffers = HSC_NEW_ARRAY(arena, const void *, 3);
  int64_t *offsets = HSC_NEW_ARRAY(arena, int64_t, rows + 1);
  if (!buffers || !offsets)
    return NULL;
  char number[32];
  const char *text;
  for (size_t r = 0; r < rows; r++)
    offsets[r + 1] = offsets[r] + cell_text(hsc_table_cell(table, r, column), number, &text);
  char *data = hsc_arena_alloc(arena, (size_t)offsets[rows] + 1);
  if (!data)
    return NULL;
  for (size_t r = 0; r < rows; r++) {
    int size = cell_text(hsc_table_cell(table, r, column), number, &text);
    memcpy(data + offsets[r], text, (size_t)size);
  }
  buffers[1] = offsets;
  buffers[2] = data;
  return buffers;
}

static const void **value_buffers(
    hsc_arena *arena, const hsc_table *table, size_t column, size_t rows, hsc_cell_kind kind) {
  const void **buffers = HSC_NEW_ARRAY(arena, const void *, 2);
  uint8_t *data = hsc_arena_alloc(arena, kind == HSC_CELL_BOOL ? rows / 8 + 8 : rows * 8 + 8);
  if (!buffers || !data)
    return NULL;
  for (size_t r = 0; r < rows; r++) {
    const hsc_cell *cell = hsc_table_cell(table, r, column);
    if (cell->kind == HSC_CELL_MISSING)
      continue;
    double number = cell->kind == HSC_CELL_INT ? (double)cell->integer : cell->number;
    if (kind == HSC_CELL_BOOL)
      data[r / 8] |= (uint8_t)((cell->integer != 0) << (r % 8));
    else
      memcpy(data + r * 8,
             kind == HSC_CELL_DOUBLE ? (const void *)&number : (const void *)&cell->integer, 8);
  }
  buffers[1] = data;
  return buffers;
}

static hsc_status *fill_column(hsc_arena *arena,
                               const hsc_table *table,
                               size_t column,
                               struct ArrowSchema *schema,
                               struct ArrowArray *array,
                               hsc_arena *schema_arena) {
  size_t rows = hsc_table_row_count(table);
  hsc_cell_kind kind = hsc_table_column_kind(table, column);
  bool text = kind == HSC_CELL_TEXT || kind == HSC_CELL_MISSING;
  *schema = (struct ArrowSchema){
      .format = format_of(kind),
      .name = hsc_arena_strdup(schema_arena, hsc_table_column_name(table, column)),
      .flags = ARROW_FLAG_NULLABLE,
      .release = release_schema};
  const void **buffers = text ? text_buffers(arena, table, column, rows)
                              : value_buffers(arena, table, column, rows, kind);
  uint8_t *valid = hsc_arena_alloc(arena, rows / 8 + 8);
  if (!buffers || !valid || !schema->name)
    return hsc_status_out_of_memory();
  int64_t nulls = 0;
  for (size_t r = 0; r < rows; r++) {
    bool present = hsc_table_cell(table, r, column)->kind != HSC_CELL_MISSING;
    valid[r / 8] |= (uint8_t)(present << (r % 8));
    nulls += !present;
  }
  buffers[0] = nulls ? valid : NULL;
  *array = (struct ArrowArray){.length = (int64_t)rows,
                               .null_count = nulls,
                               .n_buffers = text ? 3 : 2,
                               .buffers = buffers,
                               .release = release_array};
  return NULL;
}

hsc_status *hsc_table_to_arrow(const hsc_table *table,
                               struct ArrowSchema *out_schema,
                               struct ArrowArray *out_array) {
  size_t columns = hsc_table_column_count(table);
  hsc_arena *of_schema = NULL;
  hsc_arena *of_array = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(hsc_arena_create(&of_schema));
  HSC_GOTO(hsc_arena_create(&of_array));
  struct ArrowSchema *schemas = HSC_NEW_ARRAY(of_schema, struct ArrowSchema, columns + 1);
  struct ArrowSchema **schema_list = HSC_NEW_ARRAY(of_schema, struct ArrowSchema *, columns + 1);
  struct ArrowArray *arrays = HSC_NEW_ARRAY(of_array, struct ArrowArray, columns + 1);
  struct ArrowArray **array_list = HSC_NEW_ARRAY(of_array, struct ArrowArray *, columns + 1);
  const void **no_validity = HSC_NEW_ARRAY(of_array, const void *, 1);
  if (!schemas || !schema_list || !arrays || !array_list || !no_validity)
    HSC_GOTO(hsc_status_out_of_memory());
  for (size_t c = 0; c < columns; c++) {
    HSC_GOTO(fill_column(of_array, table, c, &schemas[c], &arrays[c], of_schema));
    schema_list[c] = &schemas[c];
    array_list[c] = &arrays[c];
  }
  HSC_GOTO(hsc_arena_status(of_schema));
  HSC_GOTO(hsc_arena_status(of_array));
  *out_schema = (struct ArrowSchema){.format = "+s",
                                     .name = "",
                                     .n_children = (int64_t)columns,
                                     .children = schema_list,
                                     .release = release_schema,
                                     .private_data = of_schema};
  *out_array = (struct ArrowArray){.length = (int64_t)hsc_table_row_count(table),
                                   .n_buffers = 1,
                                   .buffers = no_validity,
                                   .n_children = (int64_t)columns,
                                   .children = array_list,
                                   .release = release_array,
                                   .private_data = of_array};
  return NULL;
done:
  if (of_schema)
    hsc_arena_destroy(of_schema);
  if (of_array)
    hsc_arena_destroy(of_array);
  return status;
}
