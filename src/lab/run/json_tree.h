// json_tree.h - jansson values written with our JSON writer: shortest numbers that read back the
// same, stable order, indentation.
#pragma once

#include <jansson.h>

#include "base/core/status.h"
#include "base/json/json_write.h"

void hsc_json_tree(hsc_json *json, const json_t *value);  // NULL writes null
// Replaces the file in one go, indented by one space, with a newline at its end.
HSC_MUST_USE hsc_status *hsc_json_tree_save(const char *path, const json_t *value);
// {"a": {"b": ...}}: hsc_json_path(tree, "a", "b", NULL). NULL when a step is not there. Borrowed.
json_t *hsc_json_path(const json_t *tree, const char *key, ...) __attribute__((sentinel));
// The text at `key` of an object, borrowed; NULL for what is no text.
const char *hsc_json_text(const json_t *object, const char *key);
const char *hsc_json_text_or_empty(const json_t *object, const char *key);
double hsc_json_number(const json_t *value);  // NaN for what is no number
// An array of numbers as doubles, heap; *out_count 0 and NULL for what is none or empty. Elements
// that are no numbers become NaN.
double *hsc_json_doubles(const json_t *array, size_t *out_count);
// The least number of an array; infinity for none.
double hsc_json_least(const json_t *array);
json_t *hsc_json_real(double value);  // null for NaN and infinities
