// pattern.h - POSIX extended expressions that users write, compiled in bounded time and memory.
//
// The C library writes {N} out N times, those within others as often again: forty characters ask
// for all memory there is.
#pragma once

#include <regex.h>

#include "base/core/status.h"

// *out is for regexec without positions (REG_NOSUB); free it with regfree. Errors: INVALID_ARGUMENT
// for what is no expression, or longer than 1,000 bytes, or whose repetitions multiply to over
// 1,000.
HSC_MUST_USE hsc_status *hsc_pattern_compile(const char *text, regex_t *out);
