// pjrt_values.c - named values in both directions.
#include "pjrt/pjrt_internal.h"

const hsc_named_value *hsc_named_value_find(const hsc_named_value *values,
                                            size_t count,
                                            const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(values[i].name, name) == 0)
      return &values[i];
  return NULL;
}

static size_t value_count(const PJRT_NamedValue *value) {
  if (value->type == PJRT_NamedValue_kString)
    return value->string_value ? value->value_size : 0;
  if (value->type == PJRT_NamedValue_kInt64List)
    return value->int64_array_value ? value->value_size : 0;
  return 1;
}

hsc_status *hsc__values_copy(hsc_arena *arena,
                             const PJRT_NamedValue *values,
                             size_t count,
                             const hsc_named_value **out_values) {
  *out_values = NULL;
  if (count == 0 || !values)
    return NULL;
  hsc_named_value *copies = HSC_NEW_ARRAY(arena, hsc_named_value, count);
  if (!copies)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    const PJRT_NamedValue *from = &values[i];
    hsc_named_value *to = &copies[i];
    size_t size = value_count(from);
    to->name =
        hsc_arena_strndup(arena, from->name ? from->name : "", from->name ? from->name_size : 0);
    to->type = from->type;
    to->text = "";
    switch (from->type) {
      case PJRT_NamedValue_kString:
        to->text = hsc_arena_strndup(arena, from->string_value ? from->string_value : "", size);
        to->text_size = size;
        break;
      case PJRT_NamedValue_kInt64:
        to->integer = from->int64_value;
        break;
      case PJRT_NamedValue_kInt64List:
        to->list =
            size ? hsc_arena_copy(arena, from->int64_array_value, size * sizeof(int64_t)) : NULL;
        to->list_count = size;
        break;
      case PJRT_NamedValue_kFloat:
        to->real = from->float_value;
        break;
      case PJRT_NamedValue_kBool:
        to->boolean = from->bool_value;
        break;
    }
  }
  HSC_TRY(hsc_arena_status(arena));
  *out_values = copies;
  return NULL;
}

hsc_status *hsc__values_to_plugin(hsc_arena *arena,
                                  const hsc_named_value *values,
                                  size_t count,
                                  PJRT_NamedValue **out_values) {
  *out_values = NULL;
  if (count == 0)
    return NULL;
  PJRT_NamedValue *copies = HSC_NEW_ARRAY(arena, PJRT_NamedValue, count);
  if (!copies)
    return hsc_status_out_of_memory();
  for (size_t i = 0; i < count; i++) {
    const hsc_named_value *from = &values[i];
    PJRT_NamedValue *to = &copies[i];
    to->struct_size = PJRT_NamedValue_STRUCT_SIZE;
    to->name = from->name;
    to->name_size = strlen(from->name);
    to->type = from->type;
    to->value_size = 1;
    switch (from->type) {
      case PJRT_NamedValue_kString:
        to->string_value = from->text ? from->text : "";
        to->value_size = from->text_size ? from->text_size : strlen(to->string_value);
        break;
      case PJRT_NamedValue_kInt64:
        to->int64_value = from->integer;
        break;
      case PJRT_NamedValue_kInt64List:
        to->int64_array_value = from->list;
        to->value_size = from->list_count;
        break;
      case PJRT_NamedValue_kFloat:
        to->float_value = (float)from->real;
        break;
      case PJRT_NamedValue_kBool:
        to->bool_value = from->boolean;
        break;
    }
  }
  HSC_TRY(hsc_arena_status(arena));
  *out_values = copies;
  return NULL;
}
