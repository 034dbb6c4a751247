// serial_format.h - compiled executables as bytes: what a file holds, for the writer, the reader
// and their tests.
//
//   header       fixed size: magic, sizes, checksum, who made it (build, processor), numbers
//   sections     in the order of the enumeration, each from a multiple of 16 bytes: name, module,
//                interface, arrays, constants, kernels, code
//
// Nothing in it is an address: thunks name slots by base and offset, kernels by number; machine
// code is what LLVM wrote, relocatable ELF objects that code.c links wherever they come to lie.
// Numbers are little-endian, as the machine has them.
//
// What is checked on loading: every size and number before it is used, the checksum over all bytes
// (torn and damaged files), the build and the processor (FAILED_PRECONDITION). Machine code itself
// can only be trusted: a cache directory is as private as a directory of programs. Programs that
// call functions of the host's process are not written: the functions have numbers there and
// nowhere else. The module is only read when somebody asks for it: running does not need it, unless
// the evaluator has a part.
#pragma once

#include "cpu/core/cpu_internal.h"

enum { HSC_SERIAL_VERSION = 2, HSC_SERIAL_BUILD_BYTES = 48 };
#define HSC_SERIAL_MAGIC "HSCEXEC"

typedef enum hsc_serial_section {
  HSC_SERIAL_NAME,    // text, NUL at the end
  HSC_SERIAL_MODULE,  // HloModuleProto of the optimised module
  HSC_SERIAL_LAYOUT,  // entry layout as text, "{(f32[4]{0})->f32[4]{0}}", NUL at the end
  HSC_SERIAL_ALIAS,   // int32_t [output_count]
  HSC_SERIAL_THUNKS,  // hsc_cpu_thunk [ ]
  HSC_SERIAL_SLICES,  // hsc_cpu_slice [ ]
  HSC_SERIAL_DATA,    // payloads of the thunks
  HSC_SERIAL_CONSTANTS,
  HSC_SERIAL_KERNELS,  // hsc_serial_kernel [ ]
  HSC_SERIAL_UNITS,    // hsc_serial_range [ ], in CODE
  HSC_SERIAL_CODE,     // object files, each from a multiple of 16 bytes
  HSC_SERIAL_SECTIONS
} hsc_serial_section;

typedef struct hsc_serial_range {
  uint64_t offset, bytes;
} hsc_serial_range;

typedef struct hsc_serial_kernel {
  hsc_hash128 key;
  int32_t unit;
  int32_t has_combine;
  uint64_t extent;  // what it was made for (thunk_kinds.h); 0: no step calls it
} hsc_serial_kernel;

typedef struct hsc_serial_header {
  char magic[8];  // HSC_SERIAL_MAGIC
  // HSC_SERIAL_VERSION; these first fields are the same in every version
  uint32_t version;
  uint32_t header_bytes;
  uint64_t total_bytes;
  hsc_hash128 checksum;                // of the fields above and all bytes after it
  char build[HSC_SERIAL_BUILD_BYTES];  // hsc_build_id of the writer
  uint32_t features[HSC_CPU_FEATURE_WORDS];
  int32_t isa_level;
  int32_t optimization_level;
  hsc_hash128 fingerprint;
  double flops, transcendentals, bytes_read, bytes_written;
  int64_t temp_bytes, worker_scratch_bytes;
  int64_t instruction_count, fusion_count;
  int64_t compile_ns;                              // what compiling took
  hsc_serial_range sections[HSC_SERIAL_SECTIONS];  // from the file's begin
} hsc_serial_header;

static inline hsc_view hsc__serial_section(hsc_view bytes,
                                           const hsc_serial_header *header,
                                           hsc_serial_section section) {
  return (hsc_view){bytes.data + header->sections[section].offset,
                    (size_t)header->sections[section].bytes};
}
// Puts the right checksum into bytes that begin with a header (tests change files on purpose).
void hsc__serial_seal(char *bytes, size_t size);
// Every number in thunks, slices and payloads against what it counts (serial_check.c). extents:
// [kernel_count] what the kernels were made for; `records`: they are 0, and are filled in from what
// the steps say (an executable of our own, before it is written). DATA_LOSS with what is wrong.
HSC_MUST_USE hsc_status *hsc__serial_check(const hsc_cpu_executable *executable,
                                           uint64_t *extents,
                                           bool records);
