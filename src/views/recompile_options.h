// recompile_options.h - what differs between the compile options of two compilations.
#pragma once

#include "base/core/bytes.h"

// The options by name of a CompileOptionsProto (env_option_overrides: what a framework was given as
// compiler options), the `index`-th of them: "NAME=VALUE" appended to `out`. False: there are not
// so many.
bool hsc_compile_option(hsc_view options, size_t index, hsc_bytes *out);

// Two CompileOptionsProto. Appends to `out` (may be NULL) what differs, in words: "option
// xla_cpu_enable_fast_math was not set, now true"; "device 0, now device 1". False: nothing
// differs, however the bytes are ordered (entries of a protobuf map come in any order).
bool hsc__recompile_options(hsc_view before, hsc_view now, hsc_bytes *out);
