// timeline_page.h - the events of a capture or a profile as the report page's timeline takes them: arrays in base64, sorted by lane and start.
//
// {"tick_ns": t, "end_ticks": n, "names": [...], "lanes": [{"section", "name", "first", "count"}], "start": base64 of uint32 ticks, "duration": likewise,
//  "name": base64 of uint32 (index into names), "depth": base64 of uint8 (nesting in the lane), "details": [text] (small captures only), "note": text or null}
// A tick is the span of everything divided by 2^32, at least a picosecond: nothing is rounded to more than that.
#pragma once

#include "trace/capture.h"
#include "views/profile.h"

enum { HSC_TIMELINE_DETAILS = 20000, HSC_TIMELINE_EVENTS = 4000000 };   // events with details; events at most, the longest stay and the note says how many went

HSC_MUST_USE hsc_status *hsc_timeline_of_capture(const hsc_capture *capture, hsc_bytes *out_json);
HSC_MUST_USE hsc_status *hsc_timeline_of_profile(const hsc_profile *profile, hsc_bytes *out_json);
