// gemm.c - see gemm.h. The blocking is written once in gemm_blocked.inc and made for float and
// double here.
#include "base/core/ints.h"
#include "cpu/kernels/gemm/gemm.h"

#include "cpu/kernels/move/copy_rows.h"

// Products with a side so short that the matrix on the other is used only a few times.
typedef enum hsc_gemm_few {
  HSC_GEMM_MANY,
  HSC_GEMM_FEW_COLUMNS,      // rows of A lie along k
  HSC_GEMM_FEW_ROWS,         // columns of B lie along k
  HSC_GEMM_FEW_ROWS_ALONG,   // rows of B lie along n
  HSC_GEMM_ONE_COLUMN_ALONG  // columns of A lie along m, C is one column without gaps
} hsc_gemm_few;
enum {
  FEW_LEAST = 64,    // of the sides that are not short
  SHORT_LEAST = 16,  // of k, for each line of the short side
};

// Whether products along k, each folded across lanes at its end, take less than packing the long
// side does: for a few elements of k too where they are folded for one or two lines.
static bool pays_along_k(int64_t few, int64_t k) {
  return few <= 2 * HSC_GEMM_FEW && (k >= FEW_LEAST || k >= SHORT_LEAST * few);
}

static hsc_gemm_few hsc__gemm_few_of(
    int64_t m, int64_t n, int64_t k, hsc_gemm_matrix a, hsc_gemm_matrix b) {
  if (pays_along_k(n, k) && a.column == 1 && m >= n)
    return HSC_GEMM_FEW_COLUMNS;
  if (pays_along_k(m, k) && b.row == 1)
    return HSC_GEMM_FEW_ROWS;
  if (m <= HSC_GEMM_FEW && n >= FEW_LEAST && b.column == 1)
    return HSC_GEMM_FEW_ROWS_ALONG;
  if (n == 1 && m >= FEW_LEAST && a.row == 1)
    return HSC_GEMM_ONE_COLUMN_ALONG;
  return HSC_GEMM_MANY;
}

#define TYPE float
#define NAME f32
#include "cpu/kernels/gemm/gemm_blocked.inc"
#undef TYPE
#undef NAME
#define TYPE double
#define NAME f64
#include "cpu/kernels/gemm/gemm_blocked.inc"
#undef TYPE
#undef NAME

extern const hsc_gemm_kernels hsc_gemm_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_gemm_kernels hsc_gemm_kernels_avx2, hsc_gemm_kernels_avx512;
#endif

const hsc_gemm_kernels *hsc_gemm_kernels_for(hsc_cpu_isa_level level) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return &hsc_gemm_kernels_avx512;
  if (level == HSC_CPU_ISA_AVX2)
    return &hsc_gemm_kernels_avx2;
#endif
  return level == HSC_CPU_ISA_BASELINE ? &hsc_gemm_kernels_baseline : NULL;
}

// A panel of B (k_block x width) should take half of the first cache, a block of A half of the
// second, the packed block of B the other half.
static void plan_blocks(const hsc_cpu_isa *isa,
                        int element_bytes,
                        int64_t m,
                        int64_t n,
                        int64_t k,
                        int k_factor,
                        hsc_gemm_blocking *blocking) {
  const hsc_gemm_kernels *kernels = hsc_gemm_kernels_for(isa->level);
  int64_t vector = isa->vector_bytes / element_bytes;
  blocking->vectors = n > vector ? 2 : 1;
  if (m <= kernels->max_rows[4] && n >= 4 * vector)
    blocking->vectors = 4;
  int64_t width = vector * blocking->vectors;
  int64_t tallest = kernels->max_rows[blocking->vectors];
  int64_t k_wanted = isa->l1_bytes / 2 / (width * element_bytes);
  // Few rows use a panel few times: longer blocks of k then save passes over C.
  if (m <= 2 * tallest)
    k_wanted *= 4;
  k_wanted *= k_factor;
  int64_t k_blocks = (k + k_wanted - 1) / (k_wanted ? k_wanted : 1);
  if (k_blocks <= 1)
    blocking->k_block = k > 0 ? k : 1;
  else
    blocking->k_block = (k + k_blocks - 1) / k_blocks;
  int64_t line_bytes = blocking->k_block * element_bytes;  // a column of B, a row of A
  blocking->n_block =
      hsc_min(hsc_round_up(n, width), hsc_round_up(isa->l2_bytes / 2 / line_bytes, width));
  if (blocking->n_block < width)
    blocking->n_block = width;
  blocking->m_block = hsc_min(m, hsc_round_up(isa->l2_bytes / 4 / line_bytes, tallest));
  if (blocking->m_block < 1)
    blocking->m_block = 1;
}

void hsc_gemm_plan(const hsc_cpu_isa *isa,
                   int element_bytes,
                   int64_t m,
                   int64_t n,
                   int64_t k,
                   hsc_gemm_matrix a,
                   hsc_gemm_matrix b,
                   const hsc_gemm_wish *wish,
                   hsc_gemm_blocking *out_blocking) {
  hsc_gemm_blocking blocking = {0};
  plan_blocks(isa, element_bytes, m, n, k, wish ? wish->k_factor : 1, &blocking);
  int64_t width = isa->vector_bytes / element_bytes * blocking.vectors;
  int64_t tallest = hsc_gemm_kernels_for(isa->level)->max_rows[blocking.vectors];
  // Rows of B that are a large power of two apart fall into the same few sets of the first cache.
  bool collides = b.row * element_bytes % 1024 == 0 && k > 8;
  bool many_rows = m > 2 * tallest;
  blocking.pack_b = b.column != 1 || (many_rows && (collides || m > 8 * tallest));
  blocking.pack_a = n > 4 * width && m > tallest &&
                    (a.column != 1 || (a.row * element_bytes % 4096 == 0 && m > 8 * tallest));
  if (wish && wish->pack) {
    blocking.pack_b = wish->pack > 0 || b.column != 1;
    blocking.pack_a = wish->pack > 0;
  }
  int64_t b_elements = blocking.pack_b ? blocking.k_block * hsc_round_up(blocking.n_block, width)
                                       : blocking.k_block * width;
  // The place of packed A is computed from n_block, so the room for B is always that of a whole
  // block when A is packed.
  if (blocking.pack_a)
    b_elements = blocking.k_block * hsc_round_up(blocking.n_block, width);
  int64_t a_elements =
      blocking.pack_a ? hsc_round_up(blocking.m_block, tallest) * blocking.k_block : 0;
  // The short side as vectors along k.
  int64_t few_elements = 0;
  hsc_gemm_few few = hsc__gemm_few_of(m, n, k, a, b);
  if (few == HSC_GEMM_FEW_COLUMNS)
    few_elements = n * k;
  else if (few == HSC_GEMM_FEW_ROWS)
    few_elements = m * k;
  if (few_elements < b_elements + a_elements)
    few_elements = b_elements + a_elements;
  blocking.scratch_bytes = hsc_round_up(few_elements * element_bytes, 64);
  *out_blocking = blocking;
}
