// status.c - errors as values: a code, a message, a place in the user's input, a hint and the notes
// added on the way up.
//
// Making a status may itself run out of memory; then the static out-of-memory status is used, and
// what cannot be added is left out.
#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

struct hsc_status {
  hsc_code code;
  const char *file;  // where in hloscope it was made; a string literal
  int file_line;
  char *message;
  char *path;         // where in the user's input, NULL = nowhere
  int line, column;   // from 1, 0 = unknown
  char *source_line;  // the text of that line, NULL = unknown
  char *hint;
  char *notes;  // newline-separated, outermost last
  bool is_usage;
};

static char out_of_memory_text[] = "out of memory";
static hsc_status out_of_memory = {
    .code = HSC_RESOURCE_EXHAUSTED, .file = "", .message = out_of_memory_text};

hsc_status *hsc_status_usage(hsc_status *status) {
  if (status && status != &out_of_memory)
    status->is_usage = true;
  return status;
}

bool hsc_status_is_usage(const hsc_status *status) {
  return status && status->is_usage;
}

hsc_status *hsc_status_out_of_memory(void) {
  return &out_of_memory;
}

// NULL when memory ran out.
static char *format_text(const char *format, va_list args) {
  hsc_bytes text = {0};
  hsc_bytes_printf_v(&text, format, args);
  return hsc_bytes_take(&text);
}

hsc_status *hsc_status_make_v(
    hsc_code code, const char *file, int line, const char *format, va_list args) {
  hsc_status *status = hsc_alloc(sizeof *status);
  if (!status)
    return &out_of_memory;
  status->code = code;
  status->file = file;
  status->file_line = line;
  status->message = format_text(format, args);
  if (!status->message) {
    hsc_free(status);
    return &out_of_memory;
  }
  return status;
}

hsc_status *hsc_status_make(hsc_code code, const char *file, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  hsc_status *status = hsc_status_make_v(code, file, line, format, args);
  va_end(args);
  return status;
}

hsc_status *hsc_status_note(hsc_status *status, const char *format, ...) {
  if (!status || status == &out_of_memory)
    return status;
  va_list args;
  va_start(args, format);
  hsc_bytes notes = {0};
  if (status->notes) {
    hsc_bytes_append_text(&notes, status->notes);
    hsc_bytes_append_char(&notes, '\n');
  }
  hsc_bytes_printf_v(&notes, format, args);
  va_end(args);
  char *text = hsc_bytes_take(&notes);
  if (text) {
    hsc_free(status->notes);
    status->notes = text;
  }
  return status;
}

hsc_status *hsc_status_at(
    hsc_status *status, const char *path, int line, int column, const char *source_line) {
  if (!status || status == &out_of_memory)
    return status;
  hsc_free(status->path);
  hsc_free(status->source_line);
  status->path = path ? hsc_strdup(path) : NULL;
  status->source_line = source_line ? hsc_strdup(source_line) : NULL;
  status->line = line;
  status->column = column;
  return status;
}

hsc_status *hsc_status_hint(hsc_status *status, const char *format, ...) {
  if (!status || status == &out_of_memory)
    return status;
  va_list args;
  va_start(args, format);
  char *text = format_text(format, args);
  va_end(args);
  if (text) {
    hsc_free(status->hint);
    status->hint = text;
  }
  return status;
}

void hsc_status_free(hsc_status *status) {
  if (!status || status == &out_of_memory)
    return;
  hsc_free(status->message);
  hsc_free(status->path);
  hsc_free(status->source_line);
  hsc_free(status->hint);
  hsc_free(status->notes);
  hsc_free(status);
}

hsc_code hsc_status_code(const hsc_status *status) {
  return status ? status->code : HSC_OK;
}
const char *hsc_status_message(const hsc_status *status) {
  return status ? status->message : "";
}
const char *hsc_status_path(const hsc_status *status) {
  return status ? status->path : NULL;
}
int hsc_status_line(const hsc_status *status) {
  return status ? status->line : 0;
}
int hsc_status_column(const hsc_status *status) {
  return status ? status->column : 0;
}
const char *hsc_status_source_line(const hsc_status *status) {
  return status ? status->source_line : NULL;
}
const char *hsc_status_hint_text(const hsc_status *status) {
  return status ? status->hint : NULL;
}
const char *hsc_status_notes(const hsc_status *status) {
  return status && status->notes ? status->notes : "";
}

const char *hsc_status_made_at(const hsc_status *status, int *out_line) {
  if (out_line)
    *out_line = status ? status->file_line : 0;
  return status ? status->file : "";
}

const char *hsc_code_text(hsc_code code) {
  switch (code) {
#define CODE(id, number, text, advice) \
  case HSC_##id: \
    return text;
#include "base/core/codes.def"
#undef CODE
  }
  return "unknown";
}

const char *hsc_code_name(hsc_code code) {
  switch (code) {
#define CODE(id, number, text, advice) \
  case HSC_##id: \
    return #id;
#include "base/core/codes.def"
#undef CODE
  }
  return "UNKNOWN";
}

hsc_code hsc_code_of_name(const char *name) {
  static const hsc_code codes[] = {
#define CODE(id, number, text, advice) HSC_##id,
#include "base/core/codes.def"
#undef CODE
  };
  for (size_t i = 0; name && i < HSC_COUNT_OF(codes); i++)
    if (!strcmp(hsc_code_name(codes[i]), name))
      return codes[i];
  return HSC_UNKNOWN;
}

const char *hsc_code_advice(hsc_code code) {
  switch (code) {
#define CODE(id, number, text, advice) \
  case HSC_##id: \
    return advice;
#include "base/core/codes.def"
#undef CODE
  }
  return "";
}
