// formats.h - program formats in and out. One reader and one writer a format; this is the door.
#pragma once

#include "hlo/hlo.h"

// FORMAT(id, text, extensions, doc) rows make the enum, the names, the detection by extension and the help.
typedef enum hsc_format {
#define FORMAT(id, text, extensions, doc) HSC_FORMAT_##id,
#include "formats/formats.def"
#undef FORMAT
  HSC_FORMAT_COUNT
} hsc_format;
const char *hsc_format_text(hsc_format format);
bool hsc_format_parse(hsc_view text, hsc_format *out_format);
// Guesses from the first bytes (magic numbers, "HloModule", "module"/"func", protobuf tags) and, when they do not tell, from the extension.
bool hsc_format_detect(hsc_view bytes, const char *path, hsc_format *out_format);

// Reads a program. `path` (may be NULL) is for messages only. gzip and zstd are unpacked first. The module is verified.
// Errors: INVALID_ARGUMENT pointing at path:line:column with what was expected; UNIMPLEMENTED for a format or op that is not built yet.
HSC_MUST_USE hsc_status *hsc_program_read(hsc_view bytes, const char *path, hsc_module **out_module);
HSC_MUST_USE hsc_status *hsc_program_read_as(hsc_format format, hsc_view bytes, const char *path, hsc_module **out_module);
HSC_MUST_USE hsc_status *hsc_program_read_file(const char *path, hsc_module **out_module);   // "-" reads standard input
HSC_MUST_USE hsc_status *hsc_program_write(const hsc_module *module, hsc_format format, hsc_bytes *out_bytes);

// The readers themselves.
HSC_MUST_USE hsc_status *hsc_hlo_text_parse(hsc_view text, const char *path, hsc_module **out_module);
