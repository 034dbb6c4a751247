// json_write.c - writes JSON (RFC 8259) into a byte buffer: commas, indentation, escapes and
// numbers are done here.
#include "base/core/bytes.h"
#include "base/json/json_write.h"
#include "base/text/text.h"

#include <math.h>

void hsc_json_init(hsc_json *json, hsc_bytes *out, int indent) {
  *json = (hsc_json){.out = out, .indent = indent};
}

static void new_line(hsc_json *json) {
  if (json->indent <= 0)
    return;
  hsc_bytes_append_char(json->out, '\n');
  for (int i = 0; i < json->depth * json->indent; i++)
    hsc_bytes_append_char(json->out, ' ');
}

// The comma and the line break that are due before an item.
static void before_item(hsc_json *json) {
  if (json->depth == 0)
    return;
  if (json->has_items[json->depth])
    hsc_bytes_append_text(json->out, json->indent > 0 ? "," : ", ");
  json->has_items[json->depth] = true;
  new_line(json);
}

static void before_value(hsc_json *json) {
  if (json->after_key)
    json->after_key = false;
  else
    before_item(json);
}

static void begin(hsc_json *json, char bracket) {
  before_value(json);
  hsc_bytes_append_char(json->out, bracket);
  if (json->depth + 1 >= (int)HSC_COUNT_OF(json->has_items)) {
    json->out->failed = true;  // deeper than any document of ours; depth stays inside the table
    return;
  }
  json->has_items[++json->depth] = false;
}

static void end(hsc_json *json, char bracket) {
  if (json->depth == 0)
    return;
  bool had_items = json->has_items[json->depth--];
  if (had_items)
    new_line(json);
  hsc_bytes_append_char(json->out, bracket);
}

void hsc_json_begin_object(hsc_json *json) {
  begin(json, '{');
}
void hsc_json_end_object(hsc_json *json) {
  end(json, '}');
}
void hsc_json_begin_array(hsc_json *json) {
  begin(json, '[');
}
void hsc_json_end_array(hsc_json *json) {
  end(json, ']');
}

// Length of the well-formed UTF-8 sequence at `at` (Unicode 15, table 3-7), 0 when it is not one.
static size_t utf8_length(const unsigned char *at, size_t left) {
  unsigned char lead = at[0];
  size_t length;
  if (lead < 0x80)
    length = 1;
  else if (lead < 0xc2)
    length = 0;
  else if (lead < 0xe0)
    length = 2;
  else if (lead < 0xf0)
    length = 3;
  else if (lead < 0xf5)
    length = 4;
  else
    length = 0;
  if (length == 0 || length > left)
    return 0;
  for (size_t i = 1; i < length; i++)
    if ((at[i] & 0xc0) != 0x80)
      return 0;
  if (lead == 0xe0 && at[1] < 0xa0)
    return 0;  // overlong
  if (lead == 0xed && at[1] >= 0xa0)
    return 0;  // surrogate
  if (lead == 0xf0 && at[1] < 0x90)
    return 0;  // overlong
  if (lead == 0xf4 && at[1] >= 0x90)
    return 0;  // over U+10FFFF
  return length;
}

static void write_escape(hsc_bytes *out, unsigned char c) {
  switch (c) {
    case '"':
      hsc_bytes_append_text(out, "\\\"");
      break;
    case '\\':
      hsc_bytes_append_text(out, "\\\\");
      break;
    case '\n':
      hsc_bytes_append_text(out, "\\n");
      break;
    case '\r':
      hsc_bytes_append_text(out, "\\r");
      break;
    case '\t':
      hsc_bytes_append_text(out, "\\t");
      break;
    default:
      hsc_bytes_printf(out, "\\u%04x", c);
  }
}

static void write_string(hsc_bytes *out, const char *text, size_t length) {
  const unsigned char *at = (const unsigned char *)text;
  const unsigned char *end_of_text = at + length;
  const unsigned char *plain = at;
  hsc_bytes_append_char(out, '"');
  while (at < end_of_text) {
    if (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\') {
      at++;
      continue;
    }
    size_t sequence = utf8_length(at, (size_t)(end_of_text - at));
    if (sequence > 1) {
      at += sequence;
      continue;
    }
    hsc_bytes_append(out, plain, (size_t)(at - plain));
    if (sequence == 1)
      write_escape(out, *at);
    else
      hsc_bytes_append_text(out, "\xef\xbf\xbd");
    plain = ++at;
  }
  hsc_bytes_append(out, plain, (size_t)(at - plain));
  hsc_bytes_append_char(out, '"');
}

void hsc_json_key(hsc_json *json, const char *key) {
  before_item(json);
  write_string(json->out, key, strlen(key));
  hsc_bytes_append_text(json->out, ": ");
  json->after_key = true;
}

void hsc_json_string_n(hsc_json *json, const char *text, size_t length) {
  before_value(json);
  write_string(json->out, text, length);
}

void hsc_json_string(hsc_json *json, const char *text) {
  if (text)
    hsc_json_string_n(json, text, strlen(text));
  else
    hsc_json_null(json);
}

void hsc_json_raw(hsc_json *json, const char *json_text) {
  before_value(json);
  hsc_bytes_append_text(json->out, json_text);
}

void hsc_json_int(hsc_json *json, int64_t value) {
  before_value(json);
  hsc_bytes_printf(json->out, "%lld", (long long)value);
}

void hsc_json_uint(hsc_json *json, uint64_t value) {
  before_value(json);
  hsc_bytes_printf(json->out, "%llu", (unsigned long long)value);
}

void hsc_json_double(hsc_json *json, double value) {
  char text[32];
  if (isfinite(value))
    hsc_format_double(value, text);
  else
    memcpy(text, "null", 5);
  hsc_json_raw(json, text);
}

void hsc_json_bool(hsc_json *json, bool value) {
  hsc_json_raw(json, value ? "true" : "false");
}
void hsc_json_null(hsc_json *json) {
  hsc_json_raw(json, "null");
}

void hsc_json_kv_string(hsc_json *json, const char *key, const char *text) {
  hsc_json_key(json, key);
  hsc_json_string(json, text);
}

void hsc_json_kv_int(hsc_json *json, const char *key, int64_t value) {
  hsc_json_key(json, key);
  hsc_json_int(json, value);
}

void hsc_json_kv_double(hsc_json *json, const char *key, double value) {
  hsc_json_key(json, key);
  hsc_json_double(json, value);
}

void hsc_json_kv_bool(hsc_json *json, const char *key, bool value) {
  hsc_json_key(json, key);
  hsc_json_bool(json, value);
}
