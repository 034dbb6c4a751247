// json_tree.c - jansson values through our JSON writer.
#include "base/core/memory.h"
#include "base/files/file_io.h"
#include "lab/run/json_tree.h"

#include <math.h>

void hsc_json_tree(hsc_json *json, const json_t *value) {
  if (!value) {
    hsc_json_null(json);
    return;
  }
  switch (json_typeof(value)) {
    case JSON_OBJECT: {
      const char *key;
      json_t *member;
      hsc_json_begin_object(json);
      json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
        hsc_json_key(json, key);
        hsc_json_tree(json, member);
      }
      hsc_json_end_object(json);
      break;
    }
    case JSON_ARRAY: {
      size_t i;
      json_t *item;
      hsc_json_begin_array(json);
      json_array_foreach (value, i, item)
        hsc_json_tree(json, item);
      hsc_json_end_array(json);
      break;
    }
    case JSON_STRING:
      hsc_json_string_n(json, json_string_value(value), json_string_length(value));
      break;
    case JSON_INTEGER:
      hsc_json_int(json, json_integer_value(value));
      break;
    case JSON_REAL:
      hsc_json_double(json, json_real_value(value));
      break;
    case JSON_TRUE:
      hsc_json_bool(json, true);
      break;
    case JSON_FALSE:
      hsc_json_bool(json, false);
      break;
    default:
      hsc_json_null(json);
  }
}

json_t *hsc_json_path(const json_t *tree, const char *key, ...) {
  va_list keys;
  va_start(keys, key);
  for (; tree && key; key = va_arg(keys, const char *))
    tree = json_object_get(tree, key);
  va_end(keys);
  return (json_t *)(uintptr_t)tree;
}

const char *hsc_json_text(const json_t *object, const char *key) {
  return json_string_value(json_object_get(object, key));
}

const char *hsc_json_text_or_empty(const json_t *object, const char *key) {
  const char *text = hsc_json_text(object, key);
  return text ? text : "";
}

double hsc_json_number(const json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

double *hsc_json_doubles(const json_t *array, size_t *out_count) {
  *out_count = json_array_size(array);
  if (*out_count == 0)
    return NULL;
  double *values = hsc_alloc(*out_count * sizeof(double));
  if (!values) {
    *out_count = 0;
    return NULL;
  }
  for (size_t i = 0; i < *out_count; i++)
    values[i] = hsc_json_number(json_array_get(array, i));
  return values;
}

double hsc_json_least(const json_t *array) {
  double least = INFINITY;
  json_t *value;
  size_t i;
  json_array_foreach (array, i, value)
    least = fmin(least, json_number_value(value));
  return least;
}

json_t *hsc_json_real(double value) {
  return isfinite(value) ? json_real(value) : json_null();
}

hsc_status *hsc_json_tree_save(const char *path, const json_t *value) {
  hsc_bytes text = {0};
  hsc_json json;
  hsc_json_init(&json, &text, 1);
  hsc_json_tree(&json, value);
  hsc_bytes_append_char(&text, '\n');
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    status = hsc_file_write_atomic(path, text.data, text.size);
  hsc_bytes_deinit(&text);
  return status;
}
