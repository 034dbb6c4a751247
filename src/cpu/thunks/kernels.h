// kernels.h - the payload of KERNEL thunks, and what thunks with generated epilogues share with
// them.
#pragma once

#include "cpu/core/cpu_internal.h"
#include "cpu/emit/emit.h"
#include "cpu/thunks/thunk_kinds.h"

typedef struct hsc_cpu_kernel_call {
  int64_t count;               // of the outermost loop
  int64_t chunk;               // trips of it per call; >= count: one call on the calling thread
  int64_t partials;            // > 0: a reduction in parts; afterwards they are combined
  int64_t partial_offset[64];  // where each output's parts lie in scratch
} hsc_cpu_kernel_call;

// The kernel of an instruction in this compilation; the same number for the same form.
HSC_MUST_USE hsc_status *hsc__cpu_add_kernel(hsc_cpu_compiler *compiler,
                                             const hsc_instr *instr,
                                             double size,
                                             int32_t *out_number);
// Whether a while becomes one kernel: its state is a few small arrays (emit_small.c), and compiling
// it pays.
bool hsc__cpu_is_small_loop(const hsc_cpu_isa *isa, const hsc_instr *loop);

// What is after a product in its fusion, for products that end with code of their own
// (contraction, convolution).
typedef struct hsc_cpu_epilogue {
  // panel by panel as the product makes them; else over the whole result
  bool by_panels;
  int64_t count, chunk;  // of the kernel's outermost loop, as in hsc_cpu_kernel_call
} hsc_cpu_epilogue;
// Makes it a kernel of this compilation, *out_number. *out_fits false: the device has no kernel for
// it.
HSC_MUST_USE hsc_status *hsc__cpu_add_epilogue(hsc_cpu_compiler *compiler,
                                               const hsc_instr *fusion,
                                               hsc_cpu_epilogue *out_epilogue,
                                               int32_t *out_number,
                                               bool *out_fits);
// Whether the fusion is [relu] [product + broadcast of a parameter], which kernels have in
// registers; *out_spread the broadcast, NULL when nothing is added.
bool hsc__cpu_reads_as_bias(const hsc_instr *fusion,
                            const hsc_instr *product,
                            bool *out_relu,
                            const hsc_instr **out_spread);

void hsc__cpu_run_pieces(hsc_cpu_pool *pool,
                         hsc_cpu_kernel_function function,
                         void **buffers,
                         int64_t count,
                         int64_t chunk);
// Whether what follows a product (hsc_contraction_epilogue) was made for a product of this size:
// count and chunk of WHOLE. `product_bytes`: of the slot that the product lies in.
bool hsc__epilogue_fits(hsc_cpu_payload *payload,
                        int32_t epilogue,
                        int64_t rows,
                        int64_t columns,
                        int64_t count,
                        int64_t chunk,
                        int64_t product_bytes);
