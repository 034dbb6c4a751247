// compiler_flags.h - the options of a compiler, by its own description of them.
//
// XLA's options are fields of a protobuf message (DebugOptions; libtpu's also
// TpuCompilationEnvironment), and a library that holds such a message holds its descriptor: names,
// types, the values of enumerations. That is read from the file, nothing is loaded or run, so every
// release of every compiler tells what it has, also what its --help leaves out.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"
#include "worker/device_spec.h"

typedef enum hsc_flag_type {
  HSC_FLAG_BOOL,
  HSC_FLAG_INT,
  HSC_FLAG_REAL,
  HSC_FLAG_TEXT,
  HSC_FLAG_ENUM,
  HSC_FLAG_MESSAGE,  // cannot be set as an option
} hsc_flag_type;

typedef struct hsc_flag {
  const char *name;
  hsc_flag_type type;
  bool repeated;       // a list, written with commas
  bool deprecated;     // by the descriptor
  int32_t number;      // of the field
  const char **names;  // [value_count] of an enumeration
  int32_t *values;     // [value_count] their numbers
  size_t value_count;
  // as text: "true", "8", "NAME"; lists with commas. NULL = the compiler did not tell
  const char *preset;
} hsc_flag;

typedef struct hsc_flags {
  hsc_flag *items;  // in the order of the description
  size_t count, capacity;
} hsc_flags;

// The options in the bytes of a library, appended. Everything lies in `arena`; `library` need not
// stay. *out_found: how many messages of options were there. Errors: no memory.
HSC_MUST_USE hsc_status *hsc_flags_scan(hsc_view library,
                                        hsc_arena *arena,
                                        hsc_flags *flags,
                                        int *out_found);
// The same of a file. Errors: NOT_FOUND, no memory.
HSC_MUST_USE hsc_status *hsc_flags_read(const char *path, hsc_arena *arena, hsc_flags *flags);
hsc_flag *hsc_flags_find(const hsc_flags *flags, const char *name);  // NULL = there is none

// What the compiler's own settings are, put beside the options: text as its dumps have it (a line
// "name: value" each, however deep; what is missing stays untold), or a serialised DebugOptions,
// where what is missing is zero.
HSC_MUST_USE hsc_status *hsc_flags_take_text(hsc_flags *flags, hsc_view text, hsc_arena *arena);
HSC_MUST_USE hsc_status *hsc_flags_take_wire(hsc_flags *flags, hsc_view message, hsc_arena *arena);
// What is still untold is its type's zero: for messages that hold only what differs from it.
void hsc_flags_rest_is_zero(hsc_flags *flags);

// What the compiler of a device that jaxlib gives can be told, and what it is set to where nobody
// told it anything: its library's description beside the DebugOptions of fresh CompileOptions.
// `scratch`: a folder, for two files that its Python writes. *out_library: the library's path; NULL
// = it has none. *out_untold: why what options are set to is not known; NULL = it is.
// Errors: its Python does not start, no memory.
HSC_MUST_USE hsc_status *hsc_flags_of_jaxlib(const hsc_device_spec *device,
                                             const char *scratch,
                                             hsc_arena *arena,
                                             hsc_flags *flags,
                                             const char **out_library,
                                             const char **out_untold);
