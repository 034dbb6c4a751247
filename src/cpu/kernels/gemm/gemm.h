// gemm.h - C = A·B (or C += A·B) for f32 and f64: our own kernels, one set per instruction set, and
// the blocking around them.
//
// A may have any strides; B any strides (it is packed where its columns do not lie side by side or
// would collide in the first cache); the rows of C are contiguous. Everything here runs on one
// thread: contraction.c cuts a product into tasks. Kernels are C with vector extensions, compiled
// once per instruction set (gemm_kernels.c), and reach 80-95% of a core's peak from 32x64x64 up.
// Design after Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
// 34(3), 2008, and BLIS.
#pragma once

#include "cpu/core/isa.h"

enum { HSC_GEMM_MAX_ROWS = 16, HSC_GEMM_MAX_VECTORS = 4, HSC_GEMM_FEW = 4 };

// What is done to the result before it is stored: + bias (one value per column, NULL = none), then
// max(0, .) (NaN stays).
typedef struct hsc_gemm_epilogue {
  const void *bias;
  bool relu;
} hsc_gemm_epilogue;

// acc[row_count][vectors] over k_count steps; row_count and vectors are fixed per kernel. Strides
// in elements.
typedef void (*hsc_gemm_kernel_f32)(int64_t k_count,
                                    const float *a,
                                    int64_t a_row,
                                    int64_t a_k,
                                    const float *b,
                                    int64_t b_k,
                                    float *c,
                                    int64_t c_row,
                                    bool accumulate,
                                    const float *bias,
                                    bool relu);
typedef void (*hsc_gemm_kernel_f64)(int64_t k_count,
                                    const double *a,
                                    int64_t a_row,
                                    int64_t a_k,
                                    const double *b,
                                    int64_t b_k,
                                    double *c,
                                    int64_t c_row,
                                    bool accumulate,
                                    const double *bias,
                                    bool relu);

typedef struct hsc_gemm_kernels {
  int vector_f32, vector_f64;              // elements of a register
  int max_rows[HSC_GEMM_MAX_VECTORS + 1];  // by number of vectors: the tallest kernel, 0 = none
  hsc_gemm_kernel_f32 f32[HSC_GEMM_MAX_VECTORS + 1][HSC_GEMM_MAX_ROWS + 1];
  hsc_gemm_kernel_f64 f64[HSC_GEMM_MAX_VECTORS + 1][HSC_GEMM_MAX_ROWS + 1];
  // Few vectors against rows along k, each read once: y[i * y_row + j * y_column] = sum over k of
  // a[i * a_row + k] * x[j * x_row + k], i in [0, rows), j in [0, count), count <= HSC_GEMM_FEW.
  void (*dots_f32)(int64_t rows,
                   int64_t k_count,
                   const float *a,
                   int64_t a_row,
                   const float *x,
                   int64_t x_row,
                   int count,
                   float *y,
                   int64_t y_row,
                   int64_t y_column);
  void (*dots_f64)(int64_t rows,
                   int64_t k_count,
                   const double *a,
                   int64_t a_row,
                   const double *x,
                   int64_t x_row,
                   int count,
                   double *y,
                   int64_t y_row,
                   int64_t y_column);
  // Few rows against a matrix whose rows are added up, read in order: c[i * c_row + j] += sum over
  // k of a[i * a_row + k * a_k] * b[k * b_k + j], rows <= HSC_GEMM_FEW.
  void (*stream_f32)(int rows,
                     int64_t columns,
                     int64_t k_count,
                     const float *a,
                     int64_t a_row,
                     int64_t a_k,
                     const float *b,
                     int64_t b_k,
                     float *c,
                     int64_t c_row);
  void (*stream_f64)(int rows,
                     int64_t columns,
                     int64_t k_count,
                     const double *a,
                     int64_t a_row,
                     int64_t a_k,
                     const double *b,
                     int64_t b_k,
                     double *c,
                     int64_t c_row);
} hsc_gemm_kernels;

// The kernels for a level, NULL when this build does not have them (another architecture).
const hsc_gemm_kernels *hsc_gemm_kernels_for(hsc_cpu_isa_level level);

typedef struct hsc_gemm_matrix {
  int64_t row, column;  // strides in elements
} hsc_gemm_matrix;

typedef struct hsc_gemm_blocking {
  int64_t k_block, n_block, m_block;
  int vectors;  // width of a panel in registers
  bool pack_a, pack_b;
  int64_t scratch_bytes;  // per thread
} hsc_gemm_blocking;

// What an algorithm wants other than the rule.
typedef struct hsc_gemm_wish {
  int k_factor;  // times the rule's length of a block of k; 1 = as it is
  int pack;      // 1: always; -1: only where it must be; 0: by rule
} hsc_gemm_wish;
// Blocks for a product (or a task of one) of m x n x k elements of `element_bytes` (4 or 8). wish
// NULL = by rule.
void hsc_gemm_plan(const hsc_cpu_isa *isa,
                   int element_bytes,
                   int64_t m,
                   int64_t n,
                   int64_t k,
                   hsc_gemm_matrix a,
                   hsc_gemm_matrix b,
                   const hsc_gemm_wish *wish,
                   hsc_gemm_blocking *out_blocking);

// scratch: blocking->scratch_bytes, aligned to 64 bytes. m, n, k may be smaller than what the
// blocking was made for. k = 0 stores zeros.
void hsc_gemm_f32(const hsc_gemm_kernels *kernels,
                  const hsc_gemm_blocking *blocking,
                  int64_t m,
                  int64_t n,
                  int64_t k,
                  const float *a,
                  hsc_gemm_matrix a_strides,
                  const float *b,
                  hsc_gemm_matrix b_strides,
                  float *c,
                  int64_t c_row,
                  bool accumulate,
                  hsc_gemm_epilogue epilogue,
                  void *scratch);
void hsc_gemm_f64(const hsc_gemm_kernels *kernels,
                  const hsc_gemm_blocking *blocking,
                  int64_t m,
                  int64_t n,
                  int64_t k,
                  const double *a,
                  hsc_gemm_matrix a_strides,
                  const double *b,
                  hsc_gemm_matrix b_strides,
                  double *c,
                  int64_t c_row,
                  bool accumulate,
                  hsc_gemm_epilogue epilogue,
                  void *scratch);
