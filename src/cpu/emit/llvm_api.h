// llvm_api.h - LLVM 19's C interface, loaded when the first kernel is compiled.
//
// libLLVM is large: opening it costs about 13 ms of relocations, which a process that only runs
// cached executables or library kernels never pays. So nothing links to it; its functions are
// called through hsc_ll: LLVMBuildFAdd(...) is hsc_ll.BuildFAdd(...).
#pragma once

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "base/core/status.h"

typedef struct hsc_llvm_functions {
#define FN(name) __typeof__(&LLVM##name) name;
#define TARGET_FN(name) void (*Initialize##name)(void);
#include "cpu/emit/llvm_functions.def"
#undef FN
#undef TARGET_FN
} hsc_llvm_functions;
extern hsc_llvm_functions hsc_ll;

// Opens the library once (thread-safe); later calls return the first result. $HLOSCOPE_LLVM_LIBRARY
// names another file to try first.
// Errors: UNAVAILABLE when it is not on this machine, with the package to install.
HSC_MUST_USE hsc_status *hsc_llvm_load(void);
