// bridge.h - vendors' custom calls written as the HLO that they mean, so that a stage of a vendor's
// compile can be run elsewhere.
//
// Known meanings (rows of bridge.c): __cublas$gemm and __cublas$lt$matmul (GemmBackendConfig:
// dimensions, alpha, beta, epilogue DEFAULT, BIAS, RELU, GELU, BIAS_RELU, BIAS_GELU),
// __cudnn$convForward, __cudnn$convBackwardInput, __cudnn$convBackwardFilter (without groups) and
// __cudnn$convBiasActivationForward with or without side input (CudnnConvBackendConfig; window and
// dim_labels stand on the call), __onednn$matmul without fused operations, __onednn$softmax over
// the last dimension, AllocateBuffer (zeros, for any value is right). Operations of mixed float
// types, as XLA:TPU has them, are written with their conversions. Sources:
// xla/service/gpu/backend_configs.proto, xla/service/cpu/ onednn_config.proto, cublas_cudnn.h.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct hsc_bridged {
  hsc_bytes text;     // HLO text without what was bridged
  int bridged;        // custom calls that were rewritten
  hsc_bytes unknown;  // targets that stay, separated by commas; empty = none
} hsc_bridged;
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_bridge_custom_calls(const hsc_module *module, hsc_bridged *out);
void hsc_bridged_deinit(hsc_bridged *bridged);
