// hlo_text_header.c - the first line of HLO text and the tables after it:
//
//   HloModule name, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}},
//   input_output_alias={ {}: (0, {}, may-alias) }
//   FileNames        1 "a.py"
//   FunctionNames    1 "main"
//   FileLocations    1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=2 end_column=9}
//   StackFrames      1 {file_location_id=1 parent_frame_id=1}
//
// The text counts parents one too high (0 would be unset there): parent_frame_id=1 is "no parent",
// as in XLA's printer.
#include "formats/hlo_text/hlo_text_internal.h"

static bool parse_path(hsc__hlo_parser *p, hsc_dims *out_path) {
  return hsc__hlo_dims(p, out_path);
}

typedef struct alias_list {
  hsc_alias *items;
  size_t count, capacity;
} alias_list;

static bool alias_add(hsc__hlo_parser *p, alias_list *list, hsc_alias alias) {
  if (!HSC_GROW(list->items, list->count, list->capacity))
    return hsc__hlo_out_of_memory(p);
  list->items[list->count++] = alias;
  return true;
}

// "{ {0}: (1, {}, may-alias), ... }", or for donors "{ (1, {}), ... }".
// "{0}: (1, {}, may-alias)"; of a donor what is in the parentheses alone.
static bool parse_alias(hsc__hlo_parser *p, bool donor, hsc_alias *out_alias) {
  if (!donor && (!parse_path(p, &out_alias->output_index) ||
                 !hsc__hlo_expect(p, ':', "after the output index")))
    return false;
  if (!hsc__hlo_expect(p, '(', "before the parameter number") ||
      !hsc__hlo_int(p, &out_alias->parameter) ||
      !hsc__hlo_expect(p, ',', "after the parameter number") ||
      !parse_path(p, &out_alias->parameter_index))
    return false;
  if (out_alias->parameter < 0)
    return hsc__hlo_error(p, p->p, "the parameter number is negative");
  if (!donor && hsc__hlo_accept(p, ',')) {
    out_alias->must_alias = hsc__hlo_accept_word(p, "must-alias");
    if (!out_alias->must_alias && !hsc__hlo_accept_word(p, "may-alias"))
      return hsc__hlo_expected(p, "may-alias or must-alias");
  }
  return hsc__hlo_expect(p, ')', "after the parameter index");
}

static bool parse_aliases(hsc__hlo_parser *p,
                          bool donors,
                          const hsc_alias **out_aliases,
                          int32_t *out_count) {
  alias_list list = {0};
  bool ok = hsc__hlo_expect(p, '{', donors ? "before the buffer donors" : "before the aliases");
  if (ok && !hsc__hlo_accept(p, '}')) {
    do {
      hsc_alias alias = {0};
      ok = parse_alias(p, donors, &alias) && alias_add(p, &list, alias);
    } while (ok && hsc__hlo_accept(p, ','));
    ok = ok &&
         hsc__hlo_expect(p, '}', donors ? "or ',' in the buffer donors" : "or ',' in the aliases");
  }
  if (ok && list.count) {
    *out_aliases = hsc_arena_copy(p->arena, list.items, list.count * sizeof *list.items);
    *out_count = (int32_t)list.count;
    if (!*out_aliases)
      ok = hsc__hlo_out_of_memory(p);
  }
  hsc_free(list.items);
  return ok;
}

// "{(shapes)->shape}". The shapes are thrown away when `out_parameters` is NULL.
static bool parse_layout_shapes(hsc__hlo_parser *p,
                                int *out_count,
                                hsc_shape **out_parameters,
                                hsc_shape *out_result) {
  hsc_bytes shapes = {0};
  hsc_shape shape;
  bool ok = hsc__hlo_expect(p, '{', "before the entry layout") &&
            hsc__hlo_expect(p, '(', "before the shapes of the parameters");
  if (ok && !hsc__hlo_accept(p, ')')) {
    do {
      ok = hsc__hlo_shape(p, &shape);
      if (ok && out_parameters)
        hsc_bytes_append(&shapes, &shape, sizeof shape);
    } while (ok && hsc__hlo_accept(p, ','));
    ok = ok && hsc__hlo_expect(p, ')', "or ',' in the shapes of the parameters");
  }
  if (ok) {
    hsc__hlo_skip_space(p);
    ok = (p->p[0] == '-' && p->p[1] == '>') ||
         hsc__hlo_expected(p, "'->' and the shape of the result");
  }
  if (ok)
    p->p += 2;
  ok = ok && hsc__hlo_shape(p, out_result) && hsc__hlo_expect(p, '}', "after the entry layout");
  if (ok && shapes.failed)
    ok = hsc__hlo_out_of_memory(p);
  if (ok && out_parameters) {
    *out_count = (int)(shapes.size / sizeof shape);
    *out_parameters = hsc_arena_copy(p->arena, shapes.data, shapes.size);
  }
  hsc_bytes_deinit(&shapes);
  return ok;
}

hsc_status *hsc_hlo_text_parse_entry_layout(hsc_arena *arena,
                                            hsc_view text,
                                            int *out_count,
                                            hsc_shape **out_parameters,
                                            hsc_shape *out_result) {
  hsc__hlo_parser *p;
  HSC_TRY(hsc__hlo_parser_init(&p, arena, text));
  parse_layout_shapes(p, out_count, out_parameters, out_result);
  hsc_status *status = hsc__hlo_parser_deinit(p);
  return status ? status : hsc_arena_status(arena);
}

// Kept as text; read once to find mistakes where they are.
static bool parse_entry_layout(hsc__hlo_parser *p) {
  hsc_shape result;
  hsc__hlo_skip_space(p);
  const char *start = p->p;
  if (!parse_layout_shapes(p, NULL, NULL, &result))
    return false;
  p->module->layout_text = hsc_arena_strndup(p->arena, start, (size_t)(p->p - start));
  return p->module->layout_text ? true : hsc__hlo_out_of_memory(p);
}

// Zero is what XLA writes for "not set".
static bool count_of_devices(hsc__hlo_parser *p, int32_t *out_count) {
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  if (!hsc__hlo_int32(p, out_count))
    return false;
  return *out_count >= 0 || hsc__hlo_error(p, at, "a count of devices cannot be negative");
}

static bool parse_attribute(hsc__hlo_parser *p) {
  hsc_module *module = p->module;
  hsc_view name;
  if (!hsc__hlo_word(p, "an attribute of the module", &name) ||
      !hsc__hlo_expect(p, '=', "after the name of the attribute"))
    return false;
  if (hsc_view_equals_text(name, "is_scheduled"))
    return hsc__hlo_bool(p, &module->is_scheduled);
  if (hsc_view_equals_text(name, "entry_computation_layout"))
    return parse_entry_layout(p);
  if (hsc_view_equals_text(name, "input_output_alias"))
    return parse_aliases(p, false, &module->aliases, &module->alias_count);
  if (hsc_view_equals_text(name, "buffer_donor"))
    return parse_aliases(p, true, &module->donors, &module->donor_count);
  if (hsc_view_equals_text(name, "num_partitions"))
    return count_of_devices(p, &module->num_partitions);
  if (hsc_view_equals_text(name, "replica_count"))
    return count_of_devices(p, &module->replica_count);
  hsc_view raw;
  if (!hsc__hlo_raw_value(p, &raw))
    return false;
  const char *before = module->extra_attributes;
  module->extra_attributes =
      hsc_arena_printf(p->arena, "%s%s%.*s=%.*s", before ? before : "", before ? ", " : "",
                       (int)name.size, name.data, (int)raw.size, raw.data);
  return module->extra_attributes ? true : hsc__hlo_out_of_memory(p);
}

// ---- stack tables -------------------------------------------------------------------------------

static bool parse_number(hsc__hlo_parser *p, bool *out_more) {
  int64_t number;
  hsc__hlo_skip_space(p);
  *out_more = *p->p >= '0' && *p->p <= '9';
  return !*out_more || hsc__hlo_int(p, &number);
}

static bool parse_strings(hsc__hlo_parser *p, const char *const **out_strings, int32_t *out_count) {
  hsc_bytes pointers = {0};
  bool ok = true;
  bool more;
  while ((ok = parse_number(p, &more)) && more) {
    const char *text;
    ok = hsc__hlo_string(p, &text);
    if (!ok)
      break;
    hsc_bytes_append(&pointers, &text, sizeof text);
    ++*out_count;
  }
  if (ok && pointers.failed)
    ok = hsc__hlo_out_of_memory(p);
  if (ok && *out_count)
    *out_strings = hsc_arena_copy(p->arena, pointers.data, pointers.size);
  hsc_bytes_deinit(&pointers);
  return ok;
}

// "{name=1 name=2}" into the int32 fields of a struct.
static bool parse_fields(hsc__hlo_parser *p,
                         const char *const *names,
                         size_t count,
                         int32_t *fields) {
  if (!hsc__hlo_expect(p, '{', "before the fields"))
    return false;
  while (!hsc__hlo_accept(p, '}')) {
    hsc_view word;
    if (!hsc__hlo_word(p, "a field", &word) || !hsc__hlo_expect(p, '=', "after the field's name"))
      return false;
    size_t i = 0;
    while (i < count && !hsc_view_equals_text(word, names[i]))
      i++;
    if (i == count)
      return hsc__hlo_error(p, word.data,
                            "unknown field '%.*s'; the first of those that may be here is '%s'",
                            (int)word.size, word.data, names[0]);
    if (!hsc__hlo_int32(p, &fields[i]))
      return false;
    hsc__hlo_accept(p, ',');
  }
  return true;
}

static bool parse_records(hsc__hlo_parser *p,
                          const char *const *names,
                          size_t field_count,
                          const void **out_records,
                          int32_t *out_count) {
  hsc_bytes records = {0};
  bool ok = true;
  bool more;
  while ((ok = parse_number(p, &more)) && more) {
    int32_t fields[8] = {0};
    ok = parse_fields(p, names, field_count, fields);
    if (!ok)
      break;
    hsc_bytes_append(&records, fields, field_count * sizeof *fields);
    ++*out_count;
  }
  if (ok && records.failed)
    ok = hsc__hlo_out_of_memory(p);
  if (ok && *out_count)
    *out_records = hsc_arena_copy(p->arena, records.data, records.size);
  hsc_bytes_deinit(&records);
  return ok;
}

static bool parse_stack_index(hsc__hlo_parser *p) {
  static const char *const location_fields[] = {"file_name_id", "function_name_id", "line",
                                                "end_line",     "column",           "end_column"};
  static const char *const frame_fields[] = {"file_location_id", "parent_frame_id"};
  _Static_assert(sizeof(hsc_file_location) == 6 * sizeof(int32_t) &&
                     sizeof(hsc_stack_frame) == 2 * sizeof(int32_t),
                 "records are arrays of int32");
  if (!hsc__hlo_accept_word(p, "FileNames"))
    return true;
  hsc_stack_index *index = HSC_NEW(p->arena, hsc_stack_index);
  const void *locations = NULL;
  const void *frames = NULL;
  if (!parse_strings(p, &index->file_names, &index->file_name_count))
    return false;
  if (!hsc__hlo_accept_word(p, "FunctionNames"))
    return hsc__hlo_expected(p, "FunctionNames");
  if (!parse_strings(p, &index->function_names, &index->function_name_count))
    return false;
  if (!hsc__hlo_accept_word(p, "FileLocations"))
    return hsc__hlo_expected(p, "FileLocations");
  if (!parse_records(p, location_fields, HSC_COUNT_OF(location_fields), &locations,
                     &index->location_count))
    return false;
  if (!hsc__hlo_accept_word(p, "StackFrames"))
    return hsc__hlo_expected(p, "StackFrames");
  if (!parse_records(p, frame_fields, HSC_COUNT_OF(frame_fields), &frames, &index->frame_count))
    return false;
  for (int i = 0; i < index->frame_count; i++) {
    hsc_stack_frame *frame = (hsc_stack_frame *)frames + i;
    if (frame->parent > 0)
      frame->parent--;
  }
  index->locations = locations;
  index->frames = frames;
  p->module->stack_index = index;
  return true;
}

bool hsc__hlo_header(hsc__hlo_parser *p) {
  hsc_module *module = p->module;
  if (hsc__hlo_accept_word(p, "HloModule")) {
    hsc__hlo_skip_space(p);
    const char *start = p->p;
    while (*p->p > ' ' && *p->p != ',' && *p->p != '{' && *p->p != '"')
      p->p++;
    if (p->p == start)
      return hsc__hlo_expected(p, "the name of the module");
    module->name = hsc_arena_strndup(p->arena, start, (size_t)(p->p - start));
    while (hsc__hlo_accept(p, ','))
      if (!parse_attribute(p))
        return false;
  } else {
    hsc__hlo_skip_space(p);
    if (p->p >= p->end)
      return hsc__hlo_expected(p, "HloModule");
    module->name = "module";
  }
  if (module->num_partitions < 1)
    module->num_partitions = 1;
  if (module->replica_count < 1)
    module->replica_count = 1;
  return parse_stack_index(p);
}
