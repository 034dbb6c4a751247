// stablehlo_frame.h - one StableHLO operation while it is imported, and what the files of imports
// share.
#pragma once

#include "formats/stablehlo/stablehlo_internal.h"

typedef struct hsc__frame {
  hsc__importer *im;
  hsc_builder *b;
  hsc__mlir_op *op;
  hsc_op hlo;
  hsc_shape shape;       // of the result
  hsc_instr **operands;  // [count], at first op->operand_count
  int count;
  hsc_instr *instr;  // what was built
  bool results_set;  // op->results have their instructions already
  // attributes that come as operands, from number late_from on; NULL = none
  const char *const *late;
  int late_from, late_count;
} hsc__frame;

static inline hsc_arena *hsc__frame_arena(const hsc__frame *f) {
  return f->im->module->arena;
}
// An integer attribute.
static inline int64_t hsc__frame_int(hsc__frame *f, const char *name, int64_t missing) {
  return hsc__import_int(f->op, name, missing);
}

// Builds f->instr of f's op, shape and operands.
hsc_instr *hsc__frame_build(hsc__frame *f);
// The same, calling the computations of all regions of the operation.
HSC_MUST_USE hsc_status *hsc__frame_build_calls(hsc__frame *f);

// Builds a compare, with the direction and type of the attributes.
HSC_MUST_USE hsc_status *hsc__frame_compare(hsc__frame *f);

// stablehlo_devices.c
HSC_MUST_USE hsc_status *hsc__import_infeed(hsc__frame *f);
HSC_MUST_USE hsc_status *hsc__import_outfeed(hsc__frame *f);
HSC_MUST_USE hsc_status *hsc__import_send(hsc__frame *f);
HSC_MUST_USE hsc_status *hsc__import_recv(hsc__frame *f);
HSC_MUST_USE hsc_status *hsc__import_collective(hsc__frame *f);
HSC_MUST_USE hsc_status *hsc__import_all_to_all(hsc__frame *f);
// stablehlo_custom_calls.c
HSC_MUST_USE hsc_status *hsc__import_custom_call(hsc__frame *f);
