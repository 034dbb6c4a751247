// narrow.c - see narrow.h: which unit a product takes, and the blocks around the kernels.
#include "base/core/ints.h"
#include "cpu/kernels/gemm/narrow.h"

#include <pthread.h>

#include "cpu/kernels/gemm/narrow_kernels.h"
#include "cpu/kernels/move/convert.h"

// ---- what this processor has --------------------------------------------------------------------

extern const hsc_narrow_kernels hsc_narrow_kernels_baseline;
#if defined(__x86_64__)
extern const hsc_narrow_kernels hsc_narrow_kernels_avx2, hsc_narrow_kernels_avx512;
#endif

enum { CODES = 256 };
static pthread_once_t once = PTHREAD_ONCE_INIT;
static hsc_narrow_kernels found[HSC_CPU_ISA_AVX512 + 1];
static uint16_t brains_of[HSC_TYPE_COUNT][CODES];

static bool is_coded(hsc_type type) {
  return hsc_type_is_float(type) && hsc_type_bits(type) <= 8;
}

#if defined(__x86_64__)
static void put(hsc_narrow_kernels *to, hsc_narrow_unit unit, const hsc_narrow_kernel *kernels) {
  to->rows[unit] = to->rows[HSC_NARROW_WORDS];
  memcpy(to->kernels[unit], kernels, sizeof to->kernels[unit]);
}
#endif

static void look(void) {
  uint8_t codes[CODES];
  for (int i = 0; i < CODES; i++)
    codes[i] = (uint8_t)i;
  for (int type = 0; type < HSC_TYPE_COUNT; type++)
    if (is_coded((hsc_type)type))
      hsc_convert_array((hsc_type)type, codes, HSC_TYPE_BF16, brains_of[type],
                        hsc_type_bits((hsc_type)type) < 8 ? 16 : CODES);
  found[HSC_CPU_ISA_BASELINE] = hsc_narrow_kernels_baseline;
#if defined(__x86_64__)
  found[HSC_CPU_ISA_AVX2] = hsc_narrow_kernels_avx2;
  found[HSC_CPU_ISA_AVX512] = hsc_narrow_kernels_avx512;
  if (hsc_cpu_has(HSC_CPU_AVX512_VNNI)) {
    put(&found[HSC_CPU_ISA_AVX512], HSC_NARROW_QUADS, hsc_narrow_avx512_vnni);
    put(&found[HSC_CPU_ISA_AVX512], HSC_NARROW_SHORTS, hsc_narrow_avx512_vnni_shorts);
  }
  if (hsc_cpu_has(HSC_CPU_AVX512_BF16))
    put(&found[HSC_CPU_ISA_AVX512], HSC_NARROW_BRAINS, hsc_narrow_avx512_bf16);
  if (hsc_cpu_has(HSC_CPU_AVX_VNNI))
    put(&found[HSC_CPU_ISA_AVX2], HSC_NARROW_QUADS, hsc_narrow_avx2_vnni);
#endif
}

const hsc_narrow_kernels *hsc_narrow_kernels_for(hsc_cpu_isa_level level) {
  pthread_once(&once, look);
  return found[level].width ? &found[level] : NULL;
}

// ---- units --------------------------------------------------------------------------------------

static bool is_byte(hsc_type type) {
  return hsc_type_is_integral(type) && hsc_type_bits(type) <= 8;
}

hsc_narrow_unit hsc_narrow_unit_of(const hsc_narrow_kernels *kernels,
                                   hsc_type a,
                                   hsc_type b,
                                   hsc_type sum) {
  hsc_narrow_unit wanted = HSC_NARROW_NONE;
  hsc_narrow_unit plain = HSC_NARROW_NONE;
  if (sum == HSC_TYPE_S32 && hsc_type_is_integral(a) && hsc_type_is_integral(b) &&
      hsc_type_bits(a) <= 32 && hsc_type_bits(b) <= 32) {
    plain = HSC_NARROW_WORDS;
    if (is_byte(a) && is_byte(b))
      wanted = HSC_NARROW_QUADS;
    else if (a == HSC_TYPE_S16 && b == HSC_TYPE_S16)
      wanted = HSC_NARROW_SHORTS;
  } else if (sum == HSC_TYPE_F32 && hsc_type_is_float(a) && hsc_type_is_float(b) &&
             hsc_type_bits(a) <= 32 && hsc_type_bits(b) <= 32) {
    plain = HSC_NARROW_FLOATS;
    if ((a == HSC_TYPE_BF16 || is_coded(a)) && (b == HSC_TYPE_BF16 || is_coded(b)))
      wanted = HSC_NARROW_BRAINS;
  }
  if (wanted != HSC_NARROW_NONE && kernels->rows[wanted])
    return wanted;
  return plain;
}

static hsc_narrow_source source_of(hsc_type type, hsc_narrow_unit unit, bool is_left) {
  hsc_narrow_source s = {.type = (int)type, .unit = unit};
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  if (unit == HSC_NARROW_QUADS && is_signed == is_left)
    s.flip = 0x80;
  s.is_signed = !is_left;
  if (is_coded(type))
    s.table = brains_of[type];
  return s;
}

// ---- blocks -------------------------------------------------------------------------------------

enum { STEPS_WANTED = 384, COLUMNS_WANTED = 512, ROWS_WANTED = 96 };

typedef struct blocks {
  int64_t k, n, m;  // elements of a block along each side
  int64_t steps;    // units of k
} blocks;

// A panel of B (steps x width x 4 bytes) stays in the first cache, the block in the second.
static blocks blocks_of(int64_t m, int64_t n, int64_t k, int per_unit, int width) {
  int64_t all = (k + per_unit - 1) / per_unit;
  int64_t parts = (all + STEPS_WANTED - 1) / STEPS_WANTED;
  blocks made = {.steps = parts ? (all + parts - 1) / parts : 1};
  made.k = made.steps * per_unit;
  made.n = hsc_min(hsc_round_up(n, width), COLUMNS_WANTED);
  made.m = hsc_min(m, ROWS_WANTED);
  return made;
}

int64_t hsc_narrow_scratch_bytes(const hsc_cpu_isa *isa, int64_t m, int64_t n, int64_t k) {
  const hsc_narrow_kernels *kernels = hsc_narrow_kernels_for(isa->level);
  blocks made = blocks_of(m, n, k, 1, kernels->width);
  int64_t units = hsc_min(k, STEPS_WANTED) * (made.n + made.m);
  return hsc_round_up(units * 4 + (made.n + made.m) * 4, 64) + 256;
}

typedef struct product {
  const hsc_narrow_kernels *kernels;
  hsc_narrow_unit unit;
  int per_unit, rows, width;
  bool lines;  // rows of A are packed one by one, units side by side
  hsc_narrow_source a, b;
  uint32_t *packed_a, *packed_b;
  int32_t *row_add, *column_add;
  int64_t steps;
} product;

// All rows of the block of A, tile after tile; what is to be added to each row of integers.
static int64_t pack_rows(
    product *p, const char *from, hsc_gemm_matrix strides, int64_t m, int64_t k) {
  int64_t tiles = (m + p->rows - 1) / p->rows;
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)p->a.type);
  for (int64_t t = 0; t < tiles; t++) {
    int64_t first = m * t / tiles;
    int rows = (int)(m * (t + 1) / tiles - first);
    bool unsigned_b = p->unit == HSC_NARROW_QUADS && p->b.flip;
    int32_t sums[HSC_NARROW_MAX_WIDTH];
    uint32_t *to = p->packed_a + first * p->steps;
    const char *at = from + first * strides.row * bytes;
    if (p->lines)
      p->kernels->pack_lines(&p->a, at, strides.row, k, rows, to, unsigned_b ? sums : NULL);
    else
      p->kernels->pack(&p->a, at, strides.row, strides.column, k, rows, rows, to,
                       unsigned_b ? sums : NULL);
    for (int i = 0; unsigned_b && i < rows; i++)
      p->row_add[first + i] =
          (int32_t)((uint32_t)sums[i] * 128u - (p->a.flip ? 128u * 128u * (uint32_t)k : 0));
  }
  return tiles;
}

static void pack_columns(
    product *p, const char *from, hsc_gemm_matrix strides, int64_t n, int64_t k) {
  int64_t bytes = (int64_t)hsc_type_bytes((hsc_type)p->b.type);
  bool signed_a = p->unit == HSC_NARROW_QUADS && p->a.flip;
  for (int64_t j = 0; j < n; j += p->width) {
    int32_t *sums = p->column_add + j;
    p->kernels->pack(&p->b, from + j * strides.column * bytes, strides.column, strides.row, k,
                     (int)hsc_min(n - j, p->width), p->width, p->packed_b + j * p->steps,
                     signed_a ? sums : NULL);
    for (int i = 0; signed_a && i < p->width; i++)
      sums[i] = (int32_t)((uint32_t)sums[i] * (uint32_t)-128);
  }
}

// One tile of C; the last columns go through a tile of our own, so that nothing outside is touched.
static void tile(const product *p,
                 int64_t first,
                 int rows,
                 int64_t j,
                 int64_t columns,
                 int32_t *c,
                 int64_t c_row,
                 bool accumulate) {
  const uint32_t *a = p->packed_a + first * p->steps;
  const uint32_t *b = p->packed_b + j * p->steps;
  bool quads = p->unit == HSC_NARROW_QUADS;
  const int32_t *row_add = quads && p->b.flip ? p->row_add + first : NULL;
  const int32_t *column_add = quads && p->a.flip ? p->column_add + j : NULL;
  hsc_narrow_kernel kernel = p->kernels->kernels[p->unit][rows];
  int64_t a_row = p->lines ? p->steps : 1;
  int64_t a_step = p->lines ? 1 : rows;
  int32_t *to = c + first * c_row + j;
  if (columns == p->width) {
    kernel(p->steps, a, a_row, a_step, b, to, c_row, accumulate, row_add, column_add);
    return;
  }
  int32_t own[HSC_NARROW_MAX_ROWS * HSC_NARROW_MAX_WIDTH];
  for (int i = 0; accumulate && i < rows; i++)
    memcpy(own + i * p->width, to + i * c_row, sizeof *own * (size_t)columns);
  // What lies after the columns is computed and not used.
  for (int i = 0; accumulate && i < rows; i++)
    memset(own + i * p->width + columns, 0, sizeof *own * (size_t)(p->width - columns));
  kernel(p->steps, a, a_row, a_step, b, own, p->width, accumulate, row_add, column_add);
  for (int i = 0; i < rows; i++)
    memcpy(to + i * c_row, own + i * p->width, sizeof *own * (size_t)columns);
}

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
                        void *scratch) {
  product p = {.kernels = hsc_narrow_kernels_for(isa->level)};
  p.unit = hsc_narrow_unit_of(p.kernels, a_type, b_type, sum);
  p.per_unit = hsc_narrow_per_unit(p.unit);
  p.rows = p.kernels->rows[p.unit];
  p.width = p.kernels->width;
  p.a = source_of(a_type, p.unit, true);
  p.b = source_of(b_type, p.unit, false);
  p.lines = a_strides.column == 1;
  int64_t a_bytes = (int64_t)hsc_type_bytes(a_type);
  int64_t b_bytes = (int64_t)hsc_type_bytes(b_type);
  int32_t *out = c;
  for (int64_t i = 0; k <= 0 && i < m; i++)
    memset(out + i * c_row, 0, sizeof *out * (size_t)n);
  blocks block = blocks_of(m, n, k, p.per_unit, p.width);
  p.packed_b = scratch;
  p.packed_a = p.packed_b + block.steps * block.n;
  p.column_add = (int32_t *)(p.packed_a + block.steps * block.m);
  p.row_add = p.column_add + block.n;
  for (int64_t k0 = 0; k0 < k; k0 += block.k) {
    int64_t k_count = hsc_min(k - k0, block.k);
    p.steps = (k_count + p.per_unit - 1) / p.per_unit;
    for (int64_t n0 = 0; n0 < n; n0 += block.n) {
      int64_t n_count = hsc_min(n - n0, block.n);
      pack_columns(&p, (const char *)b + (k0 * b_strides.row + n0 * b_strides.column) * b_bytes,
                   b_strides, n_count, k_count);
      for (int64_t m0 = 0; m0 < m; m0 += block.m) {
        int64_t m_count = hsc_min(m - m0, block.m);
        int64_t tiles =
            pack_rows(&p, (const char *)a + (m0 * a_strides.row + k0 * a_strides.column) * a_bytes,
                      a_strides, m_count, k_count);
        for (int64_t j = 0; j < n_count; j += p.width)
          for (int64_t t = 0; t < tiles; t++) {
            int64_t first = m_count * t / tiles;
            tile(&p, first, (int)(m_count * (t + 1) / tiles - first), j,
                 hsc_min(n_count - j, p.width), out + m0 * c_row + n0, c_row, k0 > 0);
          }
      }
    }
  }
}
