// narrow.h - C = A·B for operands narrower than a register lane: s8, u8, s16, s32 summed in s32;
// bf16, f16, f8, f4 summed in f32.
//
// What a 32-bit lane holds is a unit: four bytes (VNNI, or what stands for it), two halves, or one
// word. Both operands are packed into panels of units, block by block, and converted while they
// are; nothing of their size is made. A kernel is one instruction for each lane and unit.
//
//   unit     operands            one step of a lane                       instruction
//   quads    s8 u8 s4 u4 pred    four products, unsigned times signed     vpdpbusd, else vpmaddwd
//   shorts   s16                 two products                             vpdpwssd, else vpmaddwd
//   brains   bf16 f8 f4          two products, summed in f32              vdpbf16ps
//   words    integers            one product                              vpmulld
//   floats   all floats          one product                              vfmadd
//
// A quad of A is unsigned and one of B signed: 128 is added to signed elements of A and taken from
// unsigned ones of B, and sums of rows and columns put that right, exactly, modulo 2^32. vdpbf16ps
// takes denormal numbers for zero; every other way keeps them.
#pragma once

#include "cpu/kernels/gemm/gemm.h"
#include "hlo/ir/hlo.h"

typedef enum hsc_narrow_unit {
  HSC_NARROW_QUADS,
  HSC_NARROW_SHORTS,
  HSC_NARROW_BRAINS,
  HSC_NARROW_WORDS,
  HSC_NARROW_FLOATS,
  HSC_NARROW_UNIT_COUNT,
  HSC_NARROW_NONE = -1
} hsc_narrow_unit;

enum { HSC_NARROW_MAX_ROWS = 12, HSC_NARROW_MAX_WIDTH = 32 };

// C[rows][width] (+)= over `steps` units: unit s of row i is a[i * a_row + s * a_step], b is
// [steps][width] units, width two registers. row_add and column_add (NULL = none) are added to
// integers. c_row in lanes.
typedef void (*hsc_narrow_kernel)(int64_t steps,
                                  const uint32_t *a,
                                  int64_t a_row,
                                  int64_t a_step,
                                  const uint32_t *b,
                                  void *c,
                                  int64_t c_row,
                                  bool accumulate,
                                  const int32_t *row_add,
                                  const int32_t *column_add);

// How elements of one operand become those of units.
typedef struct hsc_narrow_source {
  int type;               // hsc_type
  hsc_narrow_unit unit;   // what they become
  uint8_t flip;           // QUADS: 0x80 turns signed into unsigned and back
  bool is_signed;         // QUADS: whether packed elements are signed (those of B)
  const uint16_t *table;  // BRAINS, FLOATS from 8 bits and fewer: bf16 by code; NULL = none
} hsc_narrow_source;

typedef struct hsc_narrow_kernels {
  int width;                        // lanes of two registers
  int rows[HSC_NARROW_UNIT_COUNT];  // of the tallest kernel; 0 = the unit is not there
  hsc_narrow_kernel kernels[HSC_NARROW_UNIT_COUNT][HSC_NARROW_MAX_ROWS + 1];
  // Units of a panel: `count` (at most `width`) lines of k_count elements, stride_line and stride_k
  // elements apart, into to[steps][width]; what is missing is zero. sums (NULL = none): [width] of
  // each line of QUADS as packed.
  void (*pack)(const hsc_narrow_source *source,
               const void *from,
               int64_t stride_line,
               int64_t stride_k,
               int64_t k_count,
               int count,
               int width,
               uint32_t *to,
               int32_t *sums);
  // The same with the units of a line side by side: to[count][steps]; for lines whose elements are.
  void (*pack_lines)(const hsc_narrow_source *source,
                     const void *from,
                     int64_t stride_line,
                     int64_t k_count,
                     int count,
                     uint32_t *to,
                     int32_t *sums);
  // to the nearest, ties to even; round_f16 NULL = the processor has no instruction for it
  void (*round_bf16)(const float *from, uint16_t *to, int64_t count);
  void (*round_f16)(const float *from, uint16_t *to, int64_t count);
} hsc_narrow_kernels;

// The kernels for a level, with the units that this processor has; NULL = none.
const hsc_narrow_kernels *hsc_narrow_kernels_for(hsc_cpu_isa_level level);
// The unit for a product of these types that is summed in `sum` (s32 or f32); NONE = none.
hsc_narrow_unit hsc_narrow_unit_of(const hsc_narrow_kernels *kernels,
                                   hsc_type a,
                                   hsc_type b,
                                   hsc_type sum);
// Scratch of one product of at most m x n x k on one thread.
int64_t hsc_narrow_scratch_bytes(const hsc_cpu_isa *isa, int64_t m, int64_t n, int64_t k);
// One product on one thread; strides in elements, c in lanes of 4 bytes with rows c_row apart;
// scratch aligned to 64 bytes. k = 0 stores zeros.
void hsc_narrow_product(const hsc_cpu_isa *isa,
                        hsc_type a_type,
                        hsc_type b_type,
                        hsc_type sum,
                        int64_t m,
                        int64_t n,
                        int64_t k,
                        const void *a,
                        hsc_gemm_matrix a_strides,
                        const void *b,
                        hsc_gemm_matrix b_strides,
                        void *c,
                        int64_t c_row,
                        void *scratch);
