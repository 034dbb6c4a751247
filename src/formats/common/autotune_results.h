// autotune_results.h - what an autotuner found: XLA's AutotuneResult, in the two files in which XLA
// keeps them.
//
//   AutotuneResults   the winner of each product, to be loaded again:
//      results { device: ".." hlo: ".." result { gemm { algorithm: 2 } .. } }
//   AutotuningLogs   every candidate of each product, failures too:
//      logs { fusion_name: ".." results { .. failure { kind: WRONG_RESULT .. } } .. }
//
// A dot's algorithm is in gemm { algorithm }, a convolution's in algorithm { algo_id }.
// Everything read lives in the arena.
// Sources: xla/autotuning.proto, xla/autotune_results.proto (version 3),
// xla/tsl/protobuf/dnn.proto.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef enum hsc_autotune_failure {
  HSC_AUTOTUNE_OK = -1,
  HSC_AUTOTUNE_UNKNOWN = 0,
  HSC_AUTOTUNE_REDZONE_MODIFIED = 1,  // it wrote outside of its output
  HSC_AUTOTUNE_WRONG_RESULT = 2,      // its output differs from the reference's
  HSC_AUTOTUNE_DISQUALIFIED = 3,      // it refused, or a list says that it must not run
} hsc_autotune_failure;
const char *hsc_autotune_failure_text(hsc_autotune_failure failure);  // "WRONG_RESULT"; "" of OK

typedef struct hsc_autotune_result {
  int64_t algorithm;
  int64_t scratch_bytes;
  int64_t run_time_ns;  // 0 = not timed
  hsc_autotune_failure failure;
  const char *message;  // of a failure; NULL = none
  int64_t reference;    // WRONG_RESULT: the algorithm that it was compared with
  // REDZONE_MODIFIED: offset of the first byte after the block's start; 0 = none
  int64_t buffer_address;
} hsc_autotune_result;

typedef struct hsc_autotune_entry {
  const char *device;  // what it was measured on
  const char *hlo;     // the product's text: shapes and attributes, no names
  bool is_conv;
  int32_t best;  // in results; -1 = none could be taken
  int32_t result_count;
  const hsc_autotune_result *results;  // [result_count]
} hsc_autotune_entry;

// Appends AutotuneResults: of each entry its best result; entries without one are left out.
void hsc_autotune_results_write(const hsc_autotune_entry *entries, int count, hsc_bytes *out);
// Appends AutotuningLogs: every result of each entry; selected_backend is the number of the best.
void hsc_autotune_logs_write(const hsc_autotune_entry *entries, int count, hsc_bytes *out);
// Reads either of the two. Errors: INVALID_ARGUMENT at path:line:column, or for an entry without
// hlo, result or algorithm; UNIMPLEMENTED for versions other than 3, and for results of kinds that
// only GPUs have.
HSC_MUST_USE hsc_status *hsc_autotune_read(hsc_view text,
                                           const char *path,
                                           hsc_arena *arena,
                                           hsc_autotune_entry **out_entries,
                                           int *out_count);

// AlgorithmDenylist: products that must not run by some algorithms. Entries that name a GPU (cc), a
// cuDNN or a cuBLAS version are for those alone.
typedef struct hsc_autotune_denied {
  const char *hlo;
  int64_t algorithm;
} hsc_autotune_denied;
HSC_MUST_USE hsc_status *hsc_autotune_denylist_read(hsc_view text,
                                                    const char *path,
                                                    hsc_arena *arena,
                                                    hsc_autotune_denied **out_denied,
                                                    int *out_count);
