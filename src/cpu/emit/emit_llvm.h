// emit_llvm.h - emission proper: the part of emit.h that speaks of LLVM.
#pragma once

#include "cpu/emit/emit.h"
#include "cpu/emit/llvm_api.h"

// Adds the function `name` for `instr` to the module. The same analysis as in hsc_kernel_plan_try
// is made again.
HSC_MUST_USE hsc_status *hsc_kernel_emit(const hsc_instr *instr,
                                         const hsc_cpu_isa *isa,
                                         LLVMContextRef context,
                                         LLVMModuleRef module,
                                         LLVMBuilderRef builder,
                                         const char *name);
