// bytes.h - borrowed runs of bytes, and a growing buffer.
#pragma once

#include "base/core/status.h"

// A borrowed run of bytes. Not NUL-terminated.
typedef struct hsc_view {
  const char *data;
  size_t size;
} hsc_view;
#define HSC_VIEW(literal) ((hsc_view){(literal), sizeof(literal) - 1})
hsc_view hsc_view_of(const char *text);  // NULL gives the empty view
bool hsc_view_equals(hsc_view a, hsc_view b);
bool hsc_view_equals_text(hsc_view a, const char *text);
// Bytes of a view that a message of limited size shows: the precision of "%.*s".
int hsc_view_shown(hsc_view view, int most);

// A growing byte buffer with a sticky error: after an allocation fails, appends do nothing and
// hsc_bytes_status tells. Always NUL-terminated (data is never NULL after the first append;
// hsc_bytes_text gives "" before).
typedef struct hsc_bytes {
  char *data;
  size_t size;
  size_t capacity;
  bool failed;
} hsc_bytes;
void hsc_bytes_deinit(hsc_bytes *bytes);
void hsc_bytes_reset(hsc_bytes *bytes);  // size 0, keeps capacity
void hsc_bytes_append(hsc_bytes *bytes, const void *data, size_t size);
void hsc_bytes_append_text(hsc_bytes *bytes, const char *text);
void hsc_bytes_append_char(hsc_bytes *bytes, char c);
void hsc_bytes_printf(hsc_bytes *bytes, const char *format, ...) HSC_PRINTF(2, 3);
void hsc_bytes_printf_v(hsc_bytes *bytes, const char *format, va_list args) HSC_PRINTF(2, 0);
// with & < > " as HTML and XML write them
void hsc_bytes_append_markup(hsc_bytes *bytes, const char *text);
// so many more bytes will come: exactly that room at once, where there is memory
void hsc_bytes_reserve(hsc_bytes *bytes, size_t size);
// uninitialised room at the end; NULL on failure
void *hsc_bytes_extend(hsc_bytes *bytes, size_t size);
const char *hsc_bytes_text(const hsc_bytes *bytes);
hsc_view hsc_bytes_view(const hsc_bytes *bytes);
char *hsc_bytes_take(hsc_bytes *bytes);  // heap string, free with hsc_free; NULL on failure
HSC_MUST_USE hsc_status *hsc_bytes_status(const hsc_bytes *bytes);
