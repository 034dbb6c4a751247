// report_sums.h - what tables and charts of the report page add up: the page prints numbers that
// were computed here, once.
#pragma once

#include <jansson.h>

#include "base/core/bytes.h"

// Appends the sums of a document of the kind (a kind of the report page; `document` is borrowed and
// may lack or misname anything) as one JSON object, or nothing for kinds that have none:
//   passes_list  {"passes": [{"pass", "runs", "changed", "pipelines", "instructions", "seconds"}],
//                 "time": box}
//   passes_time  {"time": box}
//   patterns     {"shares": {configuration: {phase: share}}, "sampling": text or null}
// A profile's are hsc_cli_profile_lead's, which has its operators at hand:
//   profile      {"uncounted": {"operators", "share" of all operators' time}}
// A box is {"name", "value" in seconds, "children": [box]}: one inside the other, as a compile's
// pipelines and passes are. Failures of memory are sticky in `out`.
void hsc_report_sums(const char *kind, const json_t *document, hsc_bytes *out);
