// worker_counts.h - what programs compute, by operation, as JSON: in a worker's answers, and for
// the lab where a worker cannot count.
#pragma once

#include "base/json/json_write.h"
#include "hlo/ir/hlo.h"

// "key": {"flops", "bytes", "transcendentals"}; with custom calls that are not counted also
// "uncounted_calls", how often they run
void hsc_write_cost(hsc_json *json, const char *key, const hsc_cost *cost);
// "key": {"dot": {"runs", "flops", "bytes", "transcendentals", "guessed"}, ...}, the operations
// that cost something
void hsc_write_op_costs(hsc_json *json, const char *key, const hsc_op_costs *costs);
// "uncounted": "target, target", in the object that is open, where the module has such calls.
HSC_MUST_USE hsc_status *hsc_write_uncounted(hsc_json *json, const hsc_module *module);
// "key": what the module's text says that one run costs, in all and by operation; "loops_once":
// with every loop as one trip.
HSC_MUST_USE hsc_status *hsc_write_module_count(hsc_json *json,
                                                const char *key,
                                                const hsc_module *module,
                                                bool open_fusions);
