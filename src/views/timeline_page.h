// timeline_page.h - the events of a capture or a profile as the report page's timeline takes them:
// arrays in base64, sorted by lane and start.
//
// {"tick_ns": t, "end_ticks": n, "names": [...], "lanes": [{"section", "name", "first", "count"}],
// "start": base64 of uint32 ticks, "duration": likewise,
//  "name": base64 of uint32 (index into names), "depth": base64 of uint8 (nesting in the lane),
//  "details": [text] (small captures only), "note": text or null}
// A tick is the span of everything divided by 2^32, at least a picosecond: nothing is rounded to
// more than that.
#pragma once

#include "trace/capture.h"
#include "views/profile.h"

// A timeline that does not fit a file stays in memory and is asked for pieces: hsc_timeline_slice
// gives the same document with, for each lane and depth, no more events than pixels, chosen as the
// page chooses them; "remote" says where the next piece is asked for, "depths" of a lane how many
// rows it has. events with details; events at most, the longest stay and the note says how many
// went
enum { HSC_TIMELINE_DETAILS = 20000, HSC_TIMELINE_EVENTS = 4000000 };

HSC_MUST_USE hsc_status *hsc_timeline_of_capture(const hsc_capture *capture, hsc_bytes *out_json);
// Calls of Python that ended before the first step or began after the last one are left out, and
// counted in the note, unless `outside_too`: importing JAX is 60,000 of them.
HSC_MUST_USE hsc_status *hsc_timeline_of_profile(const hsc_profile *profile,
                                                 bool outside_too,
                                                 hsc_bytes *out_json);

typedef struct hsc_timeline hsc_timeline;
// Every event, however many. Names are copied: the source may be closed afterwards. Errors:
// RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_timeline_open_capture(const hsc_capture *capture,
                                                   hsc_timeline **out_timeline);
HSC_MUST_USE hsc_status *hsc_timeline_open_profile(const hsc_profile *profile,
                                                   hsc_timeline **out_timeline);
void hsc_timeline_close(hsc_timeline *timeline);  // NULL is fine
// What of [from, to] ticks can be seen on `pixels` pixels: O(rows * pixels * log events). The whole
// is 0 to end_ticks; a range outside or upside down is cut to it; pixels are cut to [16, 16384].
// `remote` may be NULL.
HSC_MUST_USE hsc_status *hsc_timeline_slice(const hsc_timeline *timeline,
                                            double from,
                                            double to,
                                            int pixels,
                                            const char *remote,
                                            hsc_bytes *out_json);
