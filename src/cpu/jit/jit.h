// jit.h - compiling kernels: from instructions to machine code in memory, with LLVM, on several
// threads; and the store of compiled kernels.
//
// A unit is one object file, linked: the kernels that one thread compiled in one go. Executables
// hold references to the units that they call into. Kernels are found again by fingerprint as long
// as some executable holds their unit, so a program with the same kernels compiles nothing.
#pragma once

#include "cpu/core/code.h"
#include "cpu/core/isa.h"
#include "cpu/core/pool.h"
#include "hlo/ir/hlo.h"

typedef struct hsc_cpu_jit hsc_cpu_jit;

typedef struct hsc_cpu_stored hsc_cpu_stored;

typedef struct hsc_cpu_unit {
  int reference_count;  // under the store's lock
  hsc_cpu_jit *jit;
  hsc_cpu_code *code;
  hsc_bytes object;        // what it was linked from
  hsc_cpu_stored *stored;  // its kernels in the store
} hsc_cpu_unit;

typedef struct hsc_cpu_jit_kernel {
  const hsc_instr *instr;
  hsc_hash128 key;  // of the instruction and everything that the code depends on
  double size;      // estimate, to share work out
  // results
  hsc_cpu_unit *unit;  // a reference for the caller
  void *function;
  void *combine;  // NULL = none
} hsc_cpu_jit_kernel;

HSC_MUST_USE hsc_status *hsc_cpu_jit_create(const hsc_cpu_isa *isa,
                                            int optimization_level,
                                            hsc_cpu_jit **out_jit);
void hsc_cpu_jit_destroy(hsc_cpu_jit *jit);  // NULL is fine; all units must be gone
// Finds or compiles each kernel. codegen_ns and link_ns are added to. Thread-safe. Errors leave no
// references after.
HSC_MUST_USE hsc_status *hsc_cpu_jit_compile(hsc_cpu_jit *jit,
                                             hsc_cpu_pool *pool,
                                             hsc_cpu_jit_kernel *kernels,
                                             int count,
                                             int64_t *codegen_ns,
                                             int64_t *link_ns);
// Looks a kernel up by its key alone: fills unit (a reference), function, combine. False when no
// executable holds it.
bool hsc_cpu_jit_find(hsc_cpu_jit *jit, hsc_cpu_jit_kernel *kernel);
// A unit from an object that was compiled before (same machine, same version); `keys` are its
// kernels. Errors: DATA_LOSS when one is not in it.
HSC_MUST_USE hsc_status *hsc_cpu_unit_link(hsc_cpu_jit *jit,
                                           hsc_view object,
                                           const hsc_hash128 *keys,
                                           int key_count,
                                           hsc_cpu_unit **out_unit);
void hsc_cpu_unit_release(hsc_cpu_unit *unit);
