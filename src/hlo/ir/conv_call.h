// conv_call.h - convolutions that are custom calls of a library: their window and dim_labels, which
// the call carries as raw attributes, and those of the forward convolution also in its gradients.
#pragma once

#include "hlo/ir/hlo.h"

enum { HSC_CONV_CALL_DIMS = 4, HSC_CONV_CALL_LABELS = 16 };

typedef struct hsc_conv_call {
  int rank;  // of the space
  int64_t size[HSC_CONV_CALL_DIMS], stride[HSC_CONV_CALL_DIMS], low[HSC_CONV_CALL_DIMS],
      high[HSC_CONV_CALL_DIMS], base[HSC_CONV_CALL_DIMS], dilate[HSC_CONV_CALL_DIMS],
      reversed[HSC_CONV_CALL_DIMS];
  char input[HSC_CONV_CALL_LABELS], kernel[HSC_CONV_CALL_LABELS], output[HSC_CONV_CALL_LABELS];
  int64_t feature_groups, batch_groups;  // 1 = none
} hsc_conv_call;

// False where the call carries no dim_labels, or more dimensions than these.
bool hsc_conv_call_read(const hsc_instr *call, hsc_conv_call *out);

// Where a label stands in labels such as "b01f"; -1 = nowhere.
int hsc_conv_call_dim(const char *labels, char label);
// The size of that dimension; 0 where the shape has none.
int64_t hsc_conv_call_extent(const hsc_shape *shape, const char *labels, char label);

// One raw attribute of an instruction with its value, "window={...}", into `out`; false where it
// has none, or one that is too long.
bool hsc_raw_attribute(const hsc_instr *instr, const char *name, char out[512]);
