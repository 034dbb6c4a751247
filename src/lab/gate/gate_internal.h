// gate_internal.h - what the parts of the gate share.
#pragma once

#include "lab/gate/gate.h"
#include "lab/verdict/agreement.h"
#include "worker/worker_client.h"

enum { HSC__GATE_LOOKS = 3, HSC__GATE_MOST = 192, HSC__GATE_KEPT_ELEMENTS = 4096 };

// What several processes gave of one program.
typedef struct hsc__gate_seen {
  double run_s[HSC__GATE_MOST], compile_s[HSC__GATE_MOST];
  size_t run_count, compile_count;
  double memory_bytes;  // NaN = not reported
  json_t *outputs;      // of the first process, as the baseline keeps them; NULL = it cannot run
  json_t *moved;        // outputs on inputs that are moved by their last place; NULL = not asked
  json_t *structure;    // {"instructions", "fusions"}, null where it is not reported
  char *fingerprint;    // of the program
  char *failure;        // why it does not run or compile; NULL = it does
} hsc__gate_seen;
void hsc__gate_seen_deinit(hsc__gate_seen *seen);

// One more process of a device. Errors: no process, no memory; what the program does is in `seen`.
HSC_MUST_USE hsc_status *hsc__gate_look(const hsc_gate_options *o,
                                        const hsc_device_spec *spec,
                                        const char *program,
                                        hsc__gate_seen *seen);

// Outputs with their kept elements, now against before. Puts each into the agreement.
HSC_MUST_USE hsc_status *hsc__gate_compare_outputs(json_t *before,
                                                   json_t *now,
                                                   json_t *moved,
                                                   hsc_agreement *agreement);
