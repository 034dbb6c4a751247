// conv_algorithm_picker.c - writes down for each convolution the algorithm that was fastest on this
// machine.
//
// The device measures (cpu/tune/tuner.h), or knows from before; the program's numbers change by
// rounding only, as algorithms sum in other orders. Without a device, and at autotune level 0,
// nothing happens. Cost: the measurement, once a shape and machine.
//
//   before   c = f32[8,56,56,64] convolution(x, k), window={size=3x3 pad=1_1x1_1},
//            dim_labels=b01f_01io->b01f
//   after    c = f32[8,56,56,64] convolution(x, k), ...,
//            backend_config={"algorithm":{"algo_id":"3","name":"rows-deep"}}
//
// XLA: xla/service/gpu/autotuning/conv_algorithm_picker.h
#include "passes/manager/passes_internal.h"

hsc_status *hsc__pass_conv_algorithm_picker(hsc_module *module, hsc_pass_context *cx) {
  return hsc__pick_algorithms(module, cx, HSC_OP_CONVOLUTION);
}
