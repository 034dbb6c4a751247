// blame_capture.h - the call of a capture (`hloscope trace`) that failed: what `blame` needs to go
// on from there.
#pragma once

#include <jansson.h>

#include "base/core/memory.h"
#include "base/core/status.h"

typedef struct hsc_failed_call {
  const char *program;  // path, in the capture
  json_t *data;         // its inputs, as jobs take them; NULL = not kept. A new reference
  json_t *overrides;    // its compile options by name; NULL = none. A new reference
  // what happened: "compile failed: INTERNAL: ...", "the process ended in execute"
  const char *words;
} hsc_failed_call;

// Whether this is a folder, as a capture is and no program.
bool hsc_is_capture(const char *path);
// The last compilation or execution of the capture that gave an error or never came back. Texts are
// in `arena`. Errors: those of hsc_capture_open; NOT_FOUND where every call came back well.
HSC_MUST_USE hsc_status *hsc_failed_call_of(const char *capture,
                                            hsc_arena *arena,
                                            hsc_failed_call *out_call);
