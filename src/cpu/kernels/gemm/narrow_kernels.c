// narrow_kernels.c - the inner kernels and the packing of narrow.h. Compiled once per instruction
// set like gemm_kernels.c; what only some processors of a set have (VNNI, bf16) is compiled beside
// it and put into the table by narrow.c after a look at the processor.
#include "cpu/kernels/gemm/narrow_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef int32_t lanes __attribute__((vector_size(HSC_ISA_BYTES), aligned(4), may_alias));
enum { LANES = HSC_ISA_BYTES / 4, WIDTH = 2 * LANES };

// ---- one step of a lane -------------------------------------------------------------------------

#if HSC_ISA_BYTES == 64
#define REGISTER __m512i
#define OP(name) _mm512_##name
#elif defined(__x86_64__) && HSC_ISA_BYTES == 32
#define REGISTER __m256i
#define OP(name) _mm256_##name
#elif defined(__x86_64__)
#define REGISTER __m128i
#define OP(name) _mm_##name
#endif

#if defined(__x86_64__)
// Bytes as shorts, the even ones and the odd ones, so that no sum saturates.
static inline lanes step_quads(lanes sum, lanes a, lanes b) {
  REGISTER x = (REGISTER)a;
  REGISTER y = (REGISTER)b;
  REGISTER even =
      OP(madd_epi16)((REGISTER)(a & 0x00ff00ff), OP(srai_epi16)(OP(slli_epi16)(y, 8), 8));
  REGISTER odd = OP(madd_epi16)(OP(srli_epi16)(x, 8), OP(srai_epi16)(y, 8));
  return sum + (lanes)even + (lanes)odd;
}
static inline lanes step_shorts(lanes sum, lanes a, lanes b) {
  return sum + (lanes)OP(madd_epi16)((REGISTER)a, (REGISTER)b);
}
#endif
static inline lanes step_words(lanes sum, lanes a, lanes b) {
  return sum + a * b;
}
static inline lanes step_floats(lanes sum, lanes a, lanes b) {
  return (lanes)((vector_f32)sum + (vector_f32)a * (vector_f32)b);
}

static inline lanes add_words(lanes a, lanes b) {
  return a + b;
}
static inline lanes add_floats(lanes a, lanes b) {
  return (lanes)((vector_f32)a + (vector_f32)b);
}

// ---- kernels ------------------------------------------------------------------------------------

// TARGET: what the function may use beyond the set; ADD: to what is there.
#define KERNEL(TARGET, NAME, STEP, ADD, ROWS) \
  TARGET static void kernel_##NAME##_##ROWS( \
      int64_t steps, const uint32_t *a, int64_t a_row, int64_t a_step, const uint32_t *b, void *c, \
      int64_t c_row, bool accumulate, const int32_t *row_add, const int32_t *column_add) { \
    lanes sum[ROWS][2]; \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < 2; j++) sum[i][j] = \
        (lanes){0}; \
    for (int64_t s = 0; s < steps; s++) { \
      lanes row[2]; \
      UNROLL for (int j = 0; j < 2; j++) row[j] = *(const lanes *)(b + j * LANES); \
      UNROLL for (int i = 0; i < ROWS; i++) { \
        lanes value = (lanes){0} + (int32_t)a[i * a_row]; \
        UNROLL for (int j = 0; j < 2; j++) sum[i][j] = STEP(sum[i][j], value, row[j]); \
      } \
      a += a_step; \
      b += WIDTH; \
    } \
    UNROLL for (int i = 0; i < ROWS; i++) UNROLL for (int j = 0; j < 2; j++) { \
      lanes *at = (lanes *)((int32_t *)c + i * c_row + j * LANES); \
      lanes made = sum[i][j]; \
      if (row_add) \
        made += row_add[i]; \
      if (column_add) \
        made += *(const lanes *)(column_add + j * LANES); \
      if (accumulate) \
        made = ADD(made, *at); \
      *at = made; \
    } \
  }
#define EACH_6(X, ...) \
  X(__VA_ARGS__, 1) \
  X(__VA_ARGS__, 2) \
  X(__VA_ARGS__, 3) \
  X(__VA_ARGS__, 4) \
  X(__VA_ARGS__, 5) \
  X(__VA_ARGS__, 6)
#if HSC_ISA_BYTES == 64
#define EACH_ROWS(X, ...) \
  EACH_6(X, __VA_ARGS__) \
  X(__VA_ARGS__, 7) \
  X(__VA_ARGS__, 8) \
  X(__VA_ARGS__, 9) \
  X(__VA_ARGS__, 10) \
  X(__VA_ARGS__, 11) \
  X(__VA_ARGS__, 12)
enum { ROWS = 12 };
#else
#define EACH_ROWS EACH_6
enum { ROWS = 6 };
#endif
#define ENTRY(NAME, ROWS_) [ROWS_] = kernel_##NAME##_##ROWS_,

#if defined(__x86_64__)
EACH_ROWS(KERNEL, , quads, step_quads, add_words)
EACH_ROWS(KERNEL, , shorts, step_shorts, add_words)
#endif
EACH_ROWS(KERNEL, , words, step_words, add_words)
EACH_ROWS(KERNEL, , floats, step_floats, add_floats)

#if HSC_ISA_BYTES == 64
#define VNNI __attribute__((target("avx512vnni")))
#define STEP_VNNI(sum, a, b) (lanes) _mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b))
#define STEP_VNNI_SHORTS(sum, a, b) \
  (lanes) _mm512_dpwssd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b))
EACH_ROWS(KERNEL, VNNI, vnni, STEP_VNNI, add_words)
EACH_ROWS(KERNEL, VNNI, vnni_shorts, STEP_VNNI_SHORTS, add_words)
#define BF16 __attribute__((target("avx512bf16")))
#define STEP_BRAINS(sum, a, b) (lanes) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(a), (__m512bh)(b))
EACH_ROWS(KERNEL, BF16, brains, STEP_BRAINS, add_floats)
const hsc_narrow_kernel hsc_narrow_avx512_vnni[HSC_NARROW_MAX_ROWS + 1] = {EACH_ROWS(ENTRY, vnni)};
const hsc_narrow_kernel hsc_narrow_avx512_vnni_shorts[HSC_NARROW_MAX_ROWS + 1] = {
    EACH_ROWS(ENTRY, vnni_shorts)};
const hsc_narrow_kernel hsc_narrow_avx512_bf16[HSC_NARROW_MAX_ROWS + 1] = {
    EACH_ROWS(ENTRY, brains)};
#elif HSC_ISA_BYTES == 32
#define VNNI __attribute__((target("avxvnni")))
#define STEP_VNNI(sum, a, b) \
  (lanes) _mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(a), (__m256i)(b))
EACH_ROWS(KERNEL, VNNI, vnni, STEP_VNNI, add_words)
const hsc_narrow_kernel hsc_narrow_avx2_vnni[HSC_NARROW_MAX_ROWS + 1] = {EACH_ROWS(ENTRY, vnni)};
#endif

// ---- packing ------------------------------------------------------------------------------------

static inline float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

#define READ(TO, FROM, EXPRESSION) \
  for (int64_t i = 0; i < count; i++) { \
    FROM x = ((const FROM *)from)[i * stride]; \
    ((TO *)to)[i] = (TO)(EXPRESSION); \
  } \
  break;
// A stride of 1 as a constant, so that the loop becomes vectors.
#define READ_BOTH(TO, FROM, EXPRESSION) \
  if (stride == 1) { \
    for (int64_t i = 0; i < count; i++) { \
      FROM x = ((const FROM *)from)[i]; \
      ((TO *)to)[i] = (TO)(EXPRESSION); \
    } \
    break; \
  } \
  READ(TO, FROM, EXPRESSION)

static void read_words(int type, const void *from, int64_t stride, int64_t count, void *to) {
  switch (type) {
    case HSC_TYPE_S8:
    case HSC_TYPE_S4:
    case HSC_TYPE_S2:
    case HSC_TYPE_S1:
      READ_BOTH(int32_t, int8_t, x)
    case HSC_TYPE_U8:
    case HSC_TYPE_U4:
    case HSC_TYPE_U2:
    case HSC_TYPE_U1:
    case HSC_TYPE_PRED:
      READ_BOTH(int32_t, uint8_t, x)
    case HSC_TYPE_S16:
      READ_BOTH(int32_t, int16_t, x)
    case HSC_TYPE_U16:
      READ_BOTH(int32_t, uint16_t, x)
    default:
      READ_BOTH(int32_t, int32_t, x)
  }
}

#if defined(__F16C__)
static void read_halves(const uint16_t *from, int64_t stride, int64_t count, float *to) {
  int64_t i = 0;
  for (; stride == 1 && i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
  for (; i < count; i++)
    to[i] = _cvtsh_ss(from[i * stride]);
}
#else
static void read_halves(const uint16_t *from, int64_t stride, int64_t count, float *to) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t x = from[i * stride];
    uint32_t magnitude = x & 0x7fff;
    // Denormal ones come right by the multiplication; infinities and NaN get the full exponent.
    float value = float_of(magnitude << 13) * 0x1p112f;
    if (magnitude >= 0x7c00)
      value = float_of(magnitude << 13 | 0x7f800000);
    to[i] = x & 0x8000 ? -value : value;
  }
}
#endif

static void read_floats(
    const hsc_narrow_source *s, const void *from, int64_t stride, int64_t count, void *to) {
  switch (s->type) {
    case HSC_TYPE_F16:
      read_halves(from, stride, count, to);
      break;
    case HSC_TYPE_BF16:
      READ_BOTH(float, uint16_t, float_of((uint32_t)x << 16))
    case HSC_TYPE_F32:
      READ_BOTH(float, float, x)
    default:
      READ(float, uint8_t, float_of((uint32_t)s->table[x] << 16))
  }
}

// `count` elements, `stride` apart, as those of units.
static void read_run(
    const hsc_narrow_source *s, const void *from, int64_t stride, int64_t count, void *to) {
  switch (s->unit) {
    case HSC_NARROW_QUADS:
      READ_BOTH(uint8_t, uint8_t, x ^ s->flip)
    case HSC_NARROW_SHORTS:
      READ_BOTH(uint16_t, uint16_t, x)
    case HSC_NARROW_BRAINS:
      if (s->table) {
        READ(uint16_t, uint8_t, s->table[x])
      }
      READ_BOTH(uint16_t, uint16_t, x)
    case HSC_NARROW_WORDS:
      read_words(s->type, from, stride, count, to);
      break;
    default:
      read_floats(s, from, stride, count, to);
      break;
  }
}

static int64_t element_bytes(const hsc_narrow_source *s) {
  switch (s->type) {
    case HSC_TYPE_F32:
    case HSC_TYPE_S32:
    case HSC_TYPE_U32:
      return 4;
    case HSC_TYPE_BF16:
    case HSC_TYPE_F16:
    case HSC_TYPE_S16:
    case HSC_TYPE_U16:
      return 2;
    default:
      return 1;
  }
}

enum { RUN = 256 };  // units that are read along k at once

// Lines lie side by side: a few steps of k are read along them and interleaved.
static void pack_across(const hsc_narrow_source *s,
                        const char *from,
                        int64_t stride_line,
                        int64_t stride_k,
                        int64_t k_count,
                        int count,
                        int width,
                        int per_unit,
                        uint32_t *to) {
  uint32_t rows[4][HSC_NARROW_MAX_WIDTH];
  int64_t bytes = element_bytes(s);
  for (int64_t k = 0; k < k_count; k += per_unit, to += width) {
    memset(rows, 0, sizeof rows);
    for (int q = 0; q < per_unit && k + q < k_count; q++)
      read_run(s, from + (k + q) * stride_k * bytes, stride_line, count, rows[q]);
    if (per_unit == 1) {
      memcpy(to, rows[0], sizeof(uint32_t) * (size_t)width);
    } else if (per_unit == 2) {
      for (int j = 0; j < width; j++)
        to[j] = ((uint16_t *)rows[0])[j] | (uint32_t)((uint16_t *)rows[1])[j] << 16;
    } else {
      for (int j = 0; j < width; j++)
        to[j] = ((uint8_t *)rows[0])[j] | (uint32_t)((uint8_t *)rows[1])[j] << 8 |
                (uint32_t)((uint8_t *)rows[2])[j] << 16 | (uint32_t)((uint8_t *)rows[3])[j] << 24;
    }
  }
}

// Elements of a line lie side by side: runs along k, whose units go where the line is.
static void pack_along(const hsc_narrow_source *s,
                       const char *from,
                       int64_t stride_line,
                       int64_t stride_k,
                       int64_t k_count,
                       int count,
                       int width,
                       int per_unit,
                       uint32_t *to) {
  int64_t bytes = element_bytes(s);
  for (int64_t k = 0; k < k_count; k += RUN * per_unit) {
    int64_t part = k_count - k < RUN * per_unit ? k_count - k : RUN * per_unit;
    int64_t steps = (part + per_unit - 1) / per_unit;
    for (int j = 0; j < width; j++) {
      uint32_t run[RUN];
      if (j < count) {
        run[steps - 1] = 0;
        read_run(s, from + (j * stride_line + k * stride_k) * bytes, stride_k, part, run);
      } else {
        memset(run, 0, sizeof run);
      }
      for (int64_t i = 0; i < steps; i++)
        to[i * width + j] = run[i];
    }
    to += steps * width;
  }
}

static int32_t sum_of_quad(const hsc_narrow_source *s, uint32_t x) {
  if (s->is_signed)
    return (int8_t)x + (int8_t)(x >> 8) + (int8_t)(x >> 16) + (int8_t)(x >> 24);
  return (int32_t)((x & 255) + (x >> 8 & 255) + (x >> 16 & 255) + (x >> 24));
}

static void pack(const hsc_narrow_source *s,
                 const void *from,
                 int64_t stride_line,
                 int64_t stride_k,
                 int64_t k_count,
                 int count,
                 int width,
                 uint32_t *to,
                 int32_t *sums) {
  int per_unit = hsc_narrow_per_unit(s->unit);
  if (stride_k == 1 && stride_line != 1)
    pack_along(s, from, stride_line, stride_k, k_count, count, width, per_unit, to);
  else
    pack_across(s, from, stride_line, stride_k, k_count, count, width, per_unit, to);
  if (!sums)
    return;
  int64_t steps = (k_count + per_unit - 1) / per_unit;
  for (int j = 0; j < width; j++)
    sums[j] = 0;
  for (int64_t i = 0; i < steps; i++)
    for (int j = 0; j < width; j++)
      sums[j] += sum_of_quad(s, to[i * width + j]);
}

static void pack_lines(const hsc_narrow_source *s,
                       const void *from,
                       int64_t stride_line,
                       int64_t k_count,
                       int count,
                       uint32_t *to,
                       int32_t *sums) {
  int per_unit = hsc_narrow_per_unit(s->unit);
  int64_t steps = (k_count + per_unit - 1) / per_unit;
  for (int j = 0; j < count; j++, to += steps) {
    to[steps - 1] = 0;
    read_run(s, (const char *)from + j * stride_line * element_bytes(s), 1, k_count, to);
    if (!sums)
      continue;
    sums[j] = 0;
    for (int64_t i = 0; i < steps; i++)
      sums[j] += sum_of_quad(s, to[i]);
  }
}

static void round_bf16(const float *from, uint16_t *to, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, from + i, sizeof bits);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    to[i] = (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 | 0x40) : rounded);
  }
}

#if defined(__F16C__)
static void round_f16(const float *from, uint16_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((__m128i *)(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < count; i++)
    to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}
#endif

extern const hsc_narrow_kernels CONCAT(hsc_narrow_kernels_, HSC_ISA);
const hsc_narrow_kernels CONCAT(hsc_narrow_kernels_, HSC_ISA) = {
    .width = WIDTH,
    .pack = pack,
    .pack_lines = pack_lines,
    .round_bf16 = round_bf16,
#if defined(__F16C__)
    .round_f16 = round_f16,
#endif
#if defined(__x86_64__)
    .rows = {ROWS, ROWS, 0, ROWS, ROWS},
    .kernels = {[HSC_NARROW_QUADS] = {EACH_ROWS(ENTRY, quads)},
                [HSC_NARROW_SHORTS] = {EACH_ROWS(ENTRY, shorts)},
#else
    .rows = {0, 0, 0, ROWS, ROWS},
    .kernels =
        {
#endif
                [HSC_NARROW_WORDS] = {EACH_ROWS(ENTRY, words)},
                [HSC_NARROW_FLOATS] = {EACH_ROWS(ENTRY, floats)}},
};
