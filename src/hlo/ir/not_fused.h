// not_fused.h - why kernels were left apart, as an optimized program of the built-in device carries
// it: each kernel has, for each of its operands that another kernel computes, the reasons of the
// passes that were asked, as a frontend attribute.
//
//   fusion.3 = ... fusion(exp.1, p), ..., frontend_attributes={not_fused_0="other_readers small"}
//
// Written by the passes (hsc_pass_options.record_fusion) where a compilation asks for it.
#pragma once

#include "hlo/ir/hlo.h"

typedef enum hsc_not_fused {
#define REASON(id, text, pass, doc) HSC_NOT_FUSED_##id,
#include "hlo/ir/not_fused.def"
#undef REASON
  HSC_NOT_FUSED_COUNT,
  HSC_FUSED = -1  // no reason against it
} hsc_not_fused;

// "other_readers"
const char *hsc_not_fused_text(hsc_not_fused reason);
// The pass that decided, "" = none was asked.
const char *hsc_not_fused_pass(hsc_not_fused reason);
// One clause, without a full stop.
const char *hsc_not_fused_doc(hsc_not_fused reason);

// What the attribute is called, before the operand's number.
#define HSC_NOT_FUSED_ATTRIBUTE "not_fused_"

// Whether an instruction of this op is a kernel of its own where it stands outside of fusions: not
// what names or regroups values, and not what calls kernels.
bool hsc_op_is_kernel(hsc_op op);
// What computes a value: the instruction behind elements of tuples and other views of its memory.
const hsc_instr *hsc_instr_computed(const hsc_instr *value);

// The reasons that `reader` carries for an operand, in the order in which passes gave them; how
// many, at most `most`. 0: none is recorded.
int hsc_not_fused_read(const hsc_instr *reader, int operand, hsc_not_fused *out, int most);
