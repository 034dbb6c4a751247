// log.h - log lines by domain and level.
#pragma once

#include "base/core/base.h"

// HLOSCOPE_LOG=worker=2,pass=1 (or a number for all). Goes to the sink, by default none in
// libraries; the CLI sets one to stderr.
typedef void (*hsc_log_sink)(void *user, const char *domain, int level, const char *text);
void hsc_log_set_sink(hsc_log_sink sink, void *user);
bool hsc_log_enabled(const char *domain, int level);
void hsc_log(const char *domain, int level, const char *format, ...) HSC_PRINTF(3, 4);
