// json_write.h - streams JSON into a byte buffer.
#pragma once

#include "base/core/bytes.h"

// Streams JSON into a byte buffer, with commas, escapes and indentation done. Doubles in shortest
// form; NaN and infinities as null. Errors are sticky in the buffer. Reading JSON is jansson's.
typedef struct hsc_json {
  hsc_bytes *out;
  int depth;
  int indent;          // spaces per level; 0 = one line
  bool has_items[64];  // per level: a comma is due
  bool after_key;
} hsc_json;
void hsc_json_init(hsc_json *json, hsc_bytes *out, int indent);
void hsc_json_begin_object(hsc_json *json);
void hsc_json_end_object(hsc_json *json);
void hsc_json_begin_array(hsc_json *json);
void hsc_json_end_array(hsc_json *json);
void hsc_json_key(hsc_json *json, const char *key);
// NULL writes null; invalid UTF-8 is replaced by U+FFFD
void hsc_json_string(hsc_json *json, const char *text);
void hsc_json_string_n(hsc_json *json, const char *text, size_t length);
void hsc_json_int(hsc_json *json, int64_t value);
void hsc_json_uint(hsc_json *json, uint64_t value);
void hsc_json_double(hsc_json *json, double value);
void hsc_json_bool(hsc_json *json, bool value);
void hsc_json_null(hsc_json *json);
void hsc_json_raw(hsc_json *json, const char *json_text);  // already JSON; not checked
// key + value in one call
void hsc_json_kv_string(hsc_json *json, const char *key, const char *text);
void hsc_json_kv_int(hsc_json *json, const char *key, int64_t value);
void hsc_json_kv_double(hsc_json *json, const char *key, double value);
void hsc_json_kv_bool(hsc_json *json, const char *key, bool value);
