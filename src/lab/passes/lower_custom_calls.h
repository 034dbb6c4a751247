// lower_custom_calls.h - lowers vendors' custom calls to plain HLO, so that a stage of a vendor's
// compile can run on another device.
//
// Known calls (rows of lower_custom_calls.c): __cublas$gemm and __cublas$lt$matmul
// (GemmBackendConfig: dimensions, alpha, beta, epilogue DEFAULT, BIAS, RELU, GELU, BIAS_RELU,
// BIAS_GELU), __cudnn$convForward, __cudnn$convBackwardInput, __cudnn$convBackwardFilter (without
// groups) and __cudnn$convBiasActivationForward with or without side input
// (CudnnConvBackendConfig; window and dim_labels are attributes of the call), __onednn$matmul
// without fused operations, __onednn$softmax over the last dimension, AllocateBuffer (as zeros: any
// value is right), X64SplitLow, X64SplitHigh and X64Combine of
// complex numbers and integers. Operations of mixed float
// types, as XLA:TPU has them, are written with their conversions. Sources:
// xla/service/gpu/backend_configs.proto, xla/service/cpu/ onednn_config.proto, cublas_cudnn.h.
#pragma once

#include "hlo/ir/hlo.h"

typedef struct hsc_lowered_calls {
  hsc_bytes text;  // HLO text without what was lowered
  int lowered;     // custom calls that were rewritten
  // What has no known meaning, separated by commas; empty = nothing: targets that stay and that the
  // evaluator and our device do not know either (hlo/ir/custom.h), attributes that no operation of
  // hlo_attrs.def has.
  hsc_bytes unknown;
} hsc_lowered_calls;
// Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_lower_custom_calls(const hsc_module *module, hsc_lowered_calls *out);
void hsc_lowered_calls_deinit(hsc_lowered_calls *lowered);
