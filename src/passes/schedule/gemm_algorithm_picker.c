// gemm_algorithm_picker.c - writes down for each matrix product the algorithm that was fastest on
// this machine.
//
// As conv_algorithm_picker, for dots.
//
//   before   d = f32[256,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
//   after    d = f32[256,512] dot(x, w), ...,
//            backend_config={"algorithm":{"algo_id":"2","name":"openblas"}}
//
// XLA: xla/service/gpu/autotuning/gemm_algorithm_picker.h
#include "passes/manager/passes_internal.h"

hsc_status *hsc__pass_gemm_algorithm_picker(hsc_module *module, hsc_pass_context *cx) {
  return hsc__pick_algorithms(module, cx, HSC_OP_DOT);
}
