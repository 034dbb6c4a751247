// status.h - errors as values: a code, a message, a place in the user's input, a hint.
#pragma once

#include "base/core/base.h"

typedef enum hsc_code {
#define CODE(id, number, text, advice) HSC_##id = number,
#include "base/core/codes.def"
#undef CODE
} hsc_code;

// An error: code, message, where in hloscope it was made, where in the user's input it points
// (optional), and notes added on the way up. Out of memory is a static status whose free does
// nothing.
typedef struct hsc_status hsc_status;

#define HSC_ERR(code, ...) hsc_status_make(HSC_##code, __FILE__, __LINE__, __VA_ARGS__)
#define HSC_TRY(expr) \
  do { \
    hsc_status *hsc_try_status = (expr); \
    if (hsc_try_status) \
      return hsc_try_status; \
  } while (0)
#define HSC_TRY_NOTE(expr, ...) \
  do { \
    hsc_status *hsc_try_status = (expr); \
    if (hsc_try_status) \
      return hsc_status_note(hsc_try_status, __VA_ARGS__); \
  } while (0)
// For functions with one `done:` label and a local `hsc_status *status`.
#define HSC_GOTO(expr) \
  do { \
    status = (expr); \
    if (status) \
      goto done; \
  } while (0)

HSC_MUST_USE hsc_status *hsc_status_make(
    hsc_code code, const char *file, int line, const char *format, ...) HSC_PRINTF(4, 5);
HSC_MUST_USE hsc_status *hsc_status_make_v(
    hsc_code code, const char *file, int line, const char *format, va_list args) HSC_PRINTF(4, 0);
HSC_MUST_USE hsc_status *hsc_status_out_of_memory(void);
// Adds a line of context ("while: compiling module x"). Returns `status` itself, so that it can be
// used in a return. NULL stays NULL.
HSC_MUST_USE hsc_status *hsc_status_note(hsc_status *status, const char *format, ...)
    HSC_PRINTF(2, 3);
// Points the status at the user's input. `path` may be NULL; line and column count from 1, 0 =
// unknown. `source_line` (may be NULL) is the text of the line.
HSC_MUST_USE hsc_status *hsc_status_at(
    hsc_status *status, const char *path, int line, int column, const char *source_line);
// What the user should do ("hloscope devices lists what is here"). Replaces an earlier hint.
HSC_MUST_USE hsc_status *hsc_status_hint(hsc_status *status, const char *format, ...)
    HSC_PRINTF(2, 3);
// The user asked for something that does not exist by that name (a graph, a pattern, a device): the
// command line ends with the code of a usage error.
HSC_MUST_USE hsc_status *hsc_status_usage(hsc_status *status);
// "PATH: WHAT: strerror", with the code that fits `error` (ENOENT is NOT_FOUND, EACCES is
// PERMISSION_DENIED, ...).
HSC_MUST_USE hsc_status *hsc_status_errno(int error, const char *what, const char *path);
void hsc_status_free(hsc_status *status);

bool hsc_status_is_usage(const hsc_status *status);
hsc_code hsc_status_code(const hsc_status *status);            // HSC_OK for NULL
const char *hsc_status_message(const hsc_status *status);      // "" for NULL; borrowed
const char *hsc_status_path(const hsc_status *status);         // NULL when it points nowhere
int hsc_status_line(const hsc_status *status);                 // 0 = unknown
int hsc_status_column(const hsc_status *status);               // 0 = unknown
const char *hsc_status_source_line(const hsc_status *status);  // NULL = unknown
const char *hsc_status_hint_text(const hsc_status *status);    // NULL = none
// newline-separated, outermost last; "" = none
const char *hsc_status_notes(const hsc_status *status);
// Where in hloscope it was made: the source file ("" for NULL) and, when out_line is not NULL, its
// line. For logs and bug reports.
const char *hsc_status_made_at(const hsc_status *status, int *out_line);
const char *hsc_code_text(hsc_code code);  // "not found"
const char *hsc_code_name(hsc_code code);  // "NOT_FOUND"
// HSC_UNKNOWN where there is none of that name, or NULL
hsc_code hsc_code_of_name(const char *name);
const char *hsc_code_advice(hsc_code code);
