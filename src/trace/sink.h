// sink.h - exports: a sink is a function from a capture to a stream of bytes. Output is
// deterministic: the same capture gives the same bytes.
#pragma once

#include "trace/capture.h"

typedef enum hsc_sink_id {
#define SINK(id, text, extension, doc) HSC_SINK_##id,
#include "trace/sinks.def"
#undef SINK
  HSC_SINK_COUNT
} hsc_sink_id;
const char *hsc_sink_name(hsc_sink_id sink);
const char *hsc_sink_extension(hsc_sink_id sink);
bool hsc_sink_of_name(const char *name, hsc_sink_id *out_sink);

// Where the bytes go. Called with pieces of up to a few hundred kilobytes, in order.
typedef hsc_status *(*hsc_sink_write)(void *user, hsc_view bytes);
HSC_MUST_USE hsc_status *hsc_capture_export(const hsc_capture *capture,
                                            hsc_sink_id sink,
                                            hsc_sink_write write,
                                            void *user);
// The same into a file, which is put in place when it is whole.
HSC_MUST_USE hsc_status *hsc_capture_export_file_to(const hsc_capture *capture,
                                                    hsc_sink_id sink,
                                                    const char *path);
// The same for a file in folders run=ID/host=NAME/date=DAY: a table has the rows of this host alone
// (by its host_number), and no columns for what the folders' names say, which pandas takes for a
// contradiction. Other forms have all hosts.
HSC_MUST_USE hsc_status *hsc_capture_export_part_to(const hsc_capture *capture,
                                                    hsc_sink_id sink,
                                                    int host,
                                                    const char *path);
