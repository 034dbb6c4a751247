// text_error.c - an error at a place of a program's text: path, line, column and the source line.
#include "formats/common/formats_internal.h"

void hsc__text_error(hsc_status **slot,
                     const char *path,
                     const char *begin,
                     const char *end,
                     const char *at,
                     const char *format,
                     va_list args) {
  if (*slot)
    return;
  hsc_status *status = hsc_status_make_v(HSC_INVALID_ARGUMENT, __FILE__, __LINE__, format, args);
  int line = 1;
  const char *line_start = begin;
  for (const char *newline;
       line_start < at && (newline = memchr(line_start, '\n', (size_t)(at - line_start))) != NULL;
       line_start = newline + 1)
    line++;
  const char *line_end = memchr(line_start, '\n', (size_t)(end - line_start));
  if (!line_end)
    line_end = end;
  // A line of megabytes is cut to what surrounds the place.
  const char *from = at - line_start > 160 ? at - 120 : line_start;
  size_t length = (size_t)(line_end - from) > 240 ? 240 : (size_t)(line_end - from);
  char *source_line = hsc_alloc(length + 1);
  if (source_line)
    memcpy(source_line, from, length);
  *slot = hsc_status_at(status, path, line, (int)(at - line_start) + 1, source_line);
  hsc_free(source_line);
}

hsc_status *hsc__text_unsupported(hsc_status *status) {
  if (!status || hsc_status_code(status) != HSC_INVALID_ARGUMENT)
    return status;
  hsc_status *fresh = HSC_ERR(UNIMPLEMENTED, "%s", hsc_status_message(status));
  fresh = hsc_status_at(fresh, hsc_status_path(status), hsc_status_line(status),
                        hsc_status_column(status), hsc_status_source_line(status));
  hsc_status_free(status);
  return fresh;
}
