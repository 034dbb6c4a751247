// recompile_options.h - what differs between the compile options of two compilations.
#pragma once

#include "base/core/bytes.h"

// Two CompileOptionsProto. Appends to `out` (may be NULL) what differs, in words: "option
// xla_cpu_enable_fast_math was not set, now true"; "device 0, now device 1". False: nothing
// differs, however the bytes are ordered (entries of a protobuf map come in any order).
bool hsc__recompile_options(hsc_view before, hsc_view now, hsc_bytes *out);
