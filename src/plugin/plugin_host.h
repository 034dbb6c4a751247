// plugin_host.h - what a host in the same process may bring: functions of Python that a program
// calls back, and routines of LAPACK.
//
// The Python package finds the exported functions (plugin_entry.c) in the shared library; they are
// no part of the PJRT C API. A program calls back by the custom call "hloscope_host_callback" with
// {id = N : ui64}; its operands and results without tokens are the function's.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/status.h"

// `type` is PJRT's number; rank dims; data is dense and row-major. Operands are only read.
typedef struct hloscope_host_array {
  int32_t type, rank;
  const int64_t *dims;
  void *data;
} hloscope_host_array;

// `id` is the program's name for the function. Returns 0, or another number with a text (NUL at the
// end) in `message`. Runs on the thread that executes the program.
typedef int32_t (*hloscope_host_function)(uint64_t id,
                                          int32_t operand_count,
                                          const hloscope_host_array *operands,
                                          int32_t result_count,
                                          const hloscope_host_array *results,
                                          char *message,
                                          size_t message_bytes);

// Tells the functions that look at shardings (HSC_INSPECT_SHARDING) what those are, as one operand
// of u8, and takes their calls out of the program. Errors: UNIMPLEMENTED without a host's function;
// INTERNAL with the function's message.
struct hsc_module;
struct hsc_status *hsc__host_tell_shardings(struct hsc_module *module);

// All return 0 or an error code of PJRT. A second function replaces the first.
int32_t hsc__host_set_function(hloscope_host_function function);
// A handler of XLA's FFI (plugin_ffi.c) under a custom call's target; stages that it does not have
// are NULL, execute must be there.
int32_t hsc__host_register_ffi(
    const char *target, void *instantiate, void *prepare, void *initialize, void *execute);
// A type that handlers keep their state in: *type_id is 0 and is set, or is what it must be.
// `type_info`: XLA_FFI_TypeInfo or NULL.
int32_t hsc__host_register_ffi_type(const char *name, int64_t *type_id, const void *type_info);
// see hsc_lapack_provide in hlo/ir/custom.h
int32_t hsc__host_provide_lapack(const char *name, void *function);
