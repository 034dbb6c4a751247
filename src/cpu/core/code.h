// code.h - machine code in memory: links one relocatable ELF object (what LLVM's code generator
// writes) and gives the addresses of its functions.
//
// Far less than a dynamic linker: one object, code and read-only data, calls to a known table of
// functions. It needs nothing of LLVM, so a cached executable runs without loading it. x86-64 and
// AArch64.
#pragma once

#include "base/core/bytes.h"
#include "base/core/status.h"

typedef struct hsc_cpu_code hsc_cpu_code;

typedef struct hsc_cpu_symbol {
  const char *name;
  void *address;
} hsc_cpu_symbol;

// Maps, relocates and makes executable. `symbols` are what the object may refer to. The bytes are
// checked: no offset or size of them is trusted.
// Errors: DATA_LOSS (not such an object), NOT_FOUND (an unknown symbol, by name), UNIMPLEMENTED (a
// relocation type, by number).
HSC_MUST_USE hsc_status *hsc_cpu_code_link(hsc_view object,
                                           const hsc_cpu_symbol *symbols,
                                           size_t symbol_count,
                                           hsc_cpu_code **out_code);
void hsc_cpu_code_destroy(hsc_cpu_code *code);
// The function of that name; NULL when there is none.
void *hsc_cpu_code_find(const hsc_cpu_code *code, const char *name);
// Whether an address lies in it.
bool hsc_cpu_code_holds(const hsc_cpu_code *code, const void *address);
int64_t hsc_cpu_code_bytes(const hsc_cpu_code *code);
