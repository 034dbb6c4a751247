// openblas.c - see openblas.h. The library's own threads collapse when cores are shared, so it is
// set to one thread and called from ours.
#include "cpu/kernels/gemm/openblas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>

#include "base/files/places.h"

typedef void (*sgemm_function)(int order,
                               int transpose_a,
                               int transpose_b,
                               int m,
                               int n,
                               int k,
                               float alpha,
                               const float *a,
                               int lda,
                               const float *b,
                               int ldb,
                               float beta,
                               float *c,
                               int ldc);
typedef void (*dgemm_function)(int order,
                               int transpose_a,
                               int transpose_b,
                               int m,
                               int n,
                               int k,
                               double alpha,
                               const double *a,
                               int lda,
                               const double *b,
                               int ldb,
                               double beta,
                               double *c,
                               int ldc);
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_function sgemm;
static dgemm_function dgemm;

static void load(void) {
  static const char *const system[] = {"libopenblas.so.0", NULL};
  void *library = hsc_place_open("libhloscope_openblas.so", system, RTLD_NOW | RTLD_LOCAL, NULL, 0);
  if (!library)
    return;
  void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
  if (!set_threads)
    return;
  set_threads(1);
  sgemm = (sgemm_function)dlsym(library, "cblas_sgemm");
  dgemm = (dgemm_function)dlsym(library, "cblas_dgemm");
}

static bool leading(
    hsc_gemm_matrix strides, int64_t rows, int64_t columns, int *out_transpose, int *out_leading) {
  bool transposed = strides.column != 1;
  if (transposed && strides.row != 1)
    return false;
  int64_t stride = transposed ? strides.column : strides.row;
  int64_t least = transposed ? rows : columns;
  if (stride < least)
    stride = least;
  if (stride > INT_MAX)
    return false;
  *out_transpose = transposed ? TRANSPOSE : NO_TRANSPOSE;
  *out_leading = stride > 0 ? (int)stride : 1;
  return true;
}

bool hsc_openblas_there(void) {
  pthread_once(&once, load);
  return sgemm && dgemm;
}

bool hsc_openblas_product(hsc_type type,
                          int64_t m,
                          int64_t n,
                          int64_t k,
                          const void *a,
                          hsc_gemm_matrix a_strides,
                          const void *b,
                          hsc_gemm_matrix b_strides,
                          void *c,
                          int64_t c_row) {
  pthread_once(&once, load);
  int transpose_a, lda, transpose_b, ldb;
  if (m > INT_MAX || n > INT_MAX || k > INT_MAX || c_row > INT_MAX || k < 1)
    return false;
  if (!leading(a_strides, m, k, &transpose_a, &lda) ||
      !leading(b_strides, k, n, &transpose_b, &ldb))
    return false;
  if (type == HSC_TYPE_F32 && sgemm) {
    sgemm(ROW_MAJOR, transpose_a, transpose_b, (int)m, (int)n, (int)k, 1, a, lda, b, ldb, 0, c,
          (int)c_row);
    return true;
  }
  if (type == HSC_TYPE_F64 && dgemm) {
    dgemm(ROW_MAJOR, transpose_a, transpose_b, (int)m, (int)n, (int)k, 1, a, lda, b, ldb, 0, c,
          (int)c_row);
    return true;
  }
  return false;
}
