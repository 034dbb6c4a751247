// relocation.h - what differs between processors when machine code is put into memory: the stub
// that a call to outside goes through, and the relocations that LLVM's code generator asks for. All
// of it is here on every machine, so that tests of one say something of the other.
//
//   x86-64   32-bit relative, through the table (GOTPCREL*), 64-bit absolute
//   AArch64  calls and jumps of 26 bits, pages with offsets into them (ADRP and what follows), the
//            same through the table, 32-bit relative, 64-bit absolute
//
// Numbers and encodings: System V ABI for x86-64; "ELF for the Arm 64-bit Architecture".
#pragma once

#include "base/core/status.h"

// a stub: a jump through the address in its last 8 bytes, which is its entry of the table too
enum { HSC_CPU_STUB_BYTES = 16 };

typedef struct hsc_cpu_relocation {
  uint32_t type;
  uint8_t *image;        // starts at a page
  size_t place, symbol;  // offsets in the image: of what is changed, of what it refers to
  size_t place_bytes;    // from place on to the end of its section
  bool outside;          // the symbol is a stub
  int64_t addend;
} hsc_cpu_relocation;

// ELF's number (EM_X86_64) of the processor that this process is compiled for; EM_NONE: one that
// hloscope has no code generator for.
uint16_t hsc_cpu_machine(void);
// "x86-64"; for what is not in this file "another processor".
const char *hsc_cpu_machine_name(uint16_t machine);
void hsc_cpu_write_stub(uint16_t machine, uint8_t stub[HSC_CPU_STUB_BYTES], const void *address);
// Changes the image at r->place. Errors: DATA_LOSS (outside of the section, out of reach,
// not aligned), UNIMPLEMENTED (a type that is not in the list above, by number).
HSC_MUST_USE hsc_status *hsc_cpu_relocate(uint16_t machine, const hsc_cpu_relocation *r);
