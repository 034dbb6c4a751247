// fft_kernels.c - see fft_kernels.h: the transform of fft_lines.inc in float and in double.
#include "cpu/kernels/fft/fft_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

// ---- eight lines at a time ----------------------------------------------------------------------

// Eight floats of each of eight lines; transposed, eight lines' first floats, and so on. Of complex
// lines these are real and imaginary parts by turns.
typedef float octet __attribute__((vector_size(32), aligned(4), may_alias));
enum { OCTET = 8 };

#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
static inline void transpose_octets(octet x[OCTET]) {
  octet pairs[OCTET];
  octet fours[OCTET];
  UNROLL
  for (int i = 0; i < OCTET; i += 2) {
    pairs[i] = SHUFFLE(x[i], x[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = SHUFFLE(x[i], x[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  UNROLL
  for (int i = 0; i < OCTET; i += 4) {
    fours[i] = SHUFFLE(pairs[i], pairs[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    fours[i + 1] = SHUFFLE(pairs[i], pairs[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    fours[i + 2] = SHUFFLE(pairs[i + 1], pairs[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    fours[i + 3] = SHUFFLE(pairs[i + 1], pairs[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  UNROLL
  for (int i = 0; i < OCTET / 2; i++) {
    x[i] = SHUFFLE(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    x[i + 4] = SHUFFLE(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}

// Floats of an element, where blocks can be used; else 0.
static int block_floats(const hsc_fft_place *p, int64_t lines) {
  if (lines != OCTET || p->step != 1 || (p->type != HSC_TYPE_F32 && p->type != HSC_TYPE_C64))
    return 0;
  return p->type == HSC_TYPE_C64 ? 2 : 1;
}

// Reads whole blocks; returns how many elements of each line.
static int64_t load_blocks_f32(const hsc_fft_place *p,
                               const void *array,
                               int64_t length,
                               int64_t lines,
                               float *re,
                               float *im) {
  int floats = block_floats(p, lines);
  if (floats == 0)
    return 0;
  const float *from = (const float *)array + p->at * floats;
  int64_t done = 0;
  for (; done + OCTET / floats <= length; done += OCTET / floats) {
    octet x[OCTET];
    for (int l = 0; l < OCTET; l++)
      x[l] = *(const octet *)(from + (done + l * p->line) * floats);
    transpose_octets(x);
    if (floats == 1) {
      for (int t = 0; t < OCTET; t++)
        *(octet *)(re + (done + t) * OCTET) = x[t];
      continue;
    }
    for (int t = 0; t < OCTET / 2; t++) {
      *(octet *)(re + (done + t) * OCTET) = x[2 * t];
      *(octet *)(im + (done + t) * OCTET) = x[2 * t + 1];
    }
  }
  return done;
}

static int64_t store_blocks_f32(const hsc_fft_place *p,
                                void *array,
                                int64_t length,
                                int64_t lines,
                                const float *re,
                                const float *im,
                                float scale) {
  int floats = block_floats(p, lines);
  if (floats == 0)
    return 0;
  float *to = (float *)array + p->at * floats;
  int64_t done = 0;
  for (; done + OCTET / floats <= length; done += OCTET / floats) {
    octet x[OCTET];
    for (int t = 0; t < OCTET / floats; t++) {
      x[floats * t] = *(const octet *)(re + (done + t) * OCTET) * scale;
      if (floats == 2)
        x[2 * t + 1] = *(const octet *)(im + (done + t) * OCTET) * scale;
    }
    transpose_octets(x);
    for (int l = 0; l < OCTET; l++)
      *(octet *)(to + (done + l * p->line) * floats) = x[l];
  }
  return done;
}

// Doubles go one by one.
static int64_t load_blocks_f64(const hsc_fft_place *p,
                               const void *array,
                               int64_t length,
                               int64_t lines,
                               double *re,
                               double *im) {
  return 0;
}

static int64_t store_blocks_f64(const hsc_fft_place *p,
                                void *array,
                                int64_t length,
                                int64_t lines,
                                const double *re,
                                const double *im,
                                double scale) {
  return 0;
}

// ---- both precisions ----------------------------------------------------------------------------

#define REAL float
#define VECTOR vector_f32
#define SUFFIX f32
#include "cpu/kernels/fft/fft_lines.inc"
#undef REAL
#undef VECTOR
#undef SUFFIX

#define REAL double
#define VECTOR vector_f64
#define SUFFIX f64
#include "cpu/kernels/fft/fft_lines.inc"

static double *transform(const int32_t *factors,
                         int factor_count,
                         int64_t n,
                         const hsc_fft_root *roots,
                         double *x,
                         double *y) {
  return transform_f64(factors, factor_count, n, 1, false, (const root_f64 *)(const void *)roots, x,
                       y);
}

extern const hsc_fft_kernels CONCAT(hsc_fft_kernels_, HSC_ISA);
const hsc_fft_kernels CONCAT(hsc_fft_kernels_, HSC_ISA) = {
    .lines = {lines_f32, lines_f64}, .halves = {halves_f32, halves_f64}, .transform = transform};
