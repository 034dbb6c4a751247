// small_linalg.h - linear algebra on matrices of at most HSC_SMALL_MATRIX rows and columns, f32 and
// f64: what LAPACK's routines of these names do, without a library's price of a call.
//
// Row-major, as programs have them. One matrix is done by plain loops; a batch is done a register's
// width at once, one matrix in each lane, so that a matrix's result does not depend on where in the
// batch it stands. Pivots are LAPACK's: the first of the largest absolute values. Compiled once per
// instruction set.
#pragma once

#include "cpu/core/isa.h"
#include "hlo/ir/hlo.h"

enum {
  HSC_SMALL_MATRIX = 48,
  HSC_SMALL_LINALG_ARRAYS = 3,  // most operands, and most results, of a routine
};

typedef enum hsc_small_routine {
  HSC_SMALL_GETRF,     // a [m][n] -> lu [m][n], pivots from 1 s32[min(m, n)], info s32
  HSC_SMALL_POTRF,     // a [m][m] -> factor, the other triangle as it was; info s32
  HSC_SMALL_CHOLESKY,  // as potrf; the other triangle 0; NaN where not positive definite; no info
  HSC_SMALL_TRSM,      // triangle a [k][k], b [m][n] -> x [m][n]
  HSC_SMALL_GEQRF,     // a [m][n] -> r and reflectors [m][n], tau [min(m, n)]
  HSC_SMALL_ORGQR,     // reflectors [m][n], tau [k] -> q [m][n]
  HSC_SMALL_ROUTINES
} hsc_small_routine;

// Eight bytes, so that generated code has it as one constant.
typedef struct hsc_small_linalg {
  uint8_t routine;
  uint8_t is_f64;
  uint8_t upper;
  uint8_t transposed;  // trsm
  uint8_t right_unit;  // trsm: bit 0: x a = b, else a x = b; bit 1: the diagonal is one
  uint8_t m, n, k;
} hsc_small_linalg;

// Elements of one matrix's operands and results; 0 = there is none.
typedef struct hsc_small_sizes {
  int32_t in[HSC_SMALL_LINALG_ARRAYS], out[HSC_SMALL_LINALG_ARRAYS];
  int32_t in_count, out_count;
} hsc_small_sizes;

// Whether `instr` (a custom call to LAPACK, cholesky, triangular-solve) is one of these on small
// matrices; its leaves have `*out_batches` times the elements of hsc_small_linalg_sizes then.
bool hsc_small_linalg_of(const hsc_instr *instr, hsc_small_linalg *out, int64_t *out_batches);
bool hsc_small_linalg_is_sound(const hsc_small_linalg *what);
hsc_small_sizes hsc_small_linalg_sizes(const hsc_small_linalg *what);
// Bytes of an element of result `o`.
int64_t hsc_small_linalg_bytes(const hsc_small_linalg *what, int o);

// Results may lie where operands of the same size lie. Unused pointers are NULL.
typedef void (*hsc_small_linalg_one)(
    uint64_t what, const void *a, const void *b, void *x, void *second, void *third);
typedef struct hsc_small_linalg_kernels {
  hsc_small_linalg_one one;
  // `count` matrices, at most hsc_small_linalg_lanes() of them; room: hsc_small_linalg_room()
  // bytes, aligned to 64.
  void (*lanes)(const hsc_small_linalg *what,
                int64_t count,
                const void *a,
                const void *b,
                void *x,
                void *second,
                void *third,
                void *room);
} hsc_small_linalg_kernels;
// NULL: the level is unknown.
const hsc_small_linalg_kernels *hsc_small_linalg_kernels_for(hsc_cpu_isa_level level);
int hsc_small_linalg_lanes(const hsc_small_linalg *what, const hsc_cpu_isa *isa);
int64_t hsc_small_linalg_room(const hsc_small_linalg *what, const hsc_cpu_isa *isa);

// The name by which generated code calls `one`.
#define HSC_SMALL_LINALG_SYMBOL "hsc_small_linalg"
