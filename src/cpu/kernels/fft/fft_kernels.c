// fft_kernels.c - see fft_kernels.h.
#include "cpu/kernels/fft/fft_kernels.h"
#include "cpu/kernels/kernel_vectors.h"

// ---- passes -------------------------------------------------------------------------------------

// One pass: y[q + s (r p + j)] = w^(p j) sum over k of x[q + s (p + k m)] w_r^(j k), for sequences
// of length m r that are s apart. Roots are `turn` apart for each p.
typedef struct pass {
  int64_t m, s, turn, n, plane;  // plane: elements from real to imaginary parts
  const hsc_fft_root *roots;
} pass;

// The loops over q: registers full of lines, then one by one.
enum { WIDTH = HSC_ISA_BYTES / sizeof(double) };
#define EACH_Q(BODY) \
  { \
    int64_t q = 0; \
    for (; q + WIDTH <= s; q += WIDTH) \
      BODY(vector_f64) \
    for (; q < s; q++) \
      BODY(double) \
  }
#define AT(T, from) (*(const T *)((from) + q))
#define PUT(T, to, value) (*(T *)((to) + q) = (value))
#define PUT_TURNED(T, at, w, x_re, x_im) \
  PUT(T, to_re + (at), (w).re * (x_re) - (w).im * (x_im)); \
  PUT(T, to_im + (at), (w).re * (x_im) + (w).im * (x_re));

#define RADIX_4(T) \
  { \
    T a_re = AT(T, re), b_re = AT(T, re + part); \
    T c_re = AT(T, re + 2 * part), d_re = AT(T, re + 3 * part); \
    T a_im = AT(T, im), b_im = AT(T, im + part); \
    T c_im = AT(T, im + 2 * part), d_im = AT(T, im + 3 * part); \
    T ac_re = a_re + c_re, ac_im = a_im + c_im; \
    T less_re = a_re - c_re, less_im = a_im - c_im; \
    T bd_re = b_re + d_re, bd_im = b_im + d_im; \
    T turned_re = sign * (b_im - d_im), turned_im = sign * (d_re - b_re); \
    PUT(T, to_re, ac_re + bd_re); \
    PUT(T, to_im, ac_im + bd_im); \
    PUT_TURNED(T, s, w1, (less_re + turned_re), (less_im + turned_im)) \
    PUT_TURNED(T, 2 * s, w2, (ac_re - bd_re), (ac_im - bd_im)) \
    PUT_TURNED(T, 3 * s, w3, (less_re - turned_re), (less_im - turned_im)) \
  }

static void radix_4(const pass *z, double sign, const double *x, double *y) {
  int64_t s = z->s;
  int64_t part = s * z->m;
  for (int64_t p = 0; p < z->m; p++) {
    hsc_fft_root w1 = z->roots[p * z->turn];
    hsc_fft_root w2 = z->roots[2 * p * z->turn];
    hsc_fft_root w3 = z->roots[3 * p * z->turn];
    const double *re = x + s * p;
    const double *im = re + z->plane;
    double *to_re = y + 4 * s * p;
    double *to_im = to_re + z->plane;
    EACH_Q(RADIX_4)
  }
}

#define RADIX_2(T) \
  { \
    T a_re = AT(T, re), b_re = AT(T, re + part); \
    T a_im = AT(T, im), b_im = AT(T, im + part); \
    PUT(T, to_re, a_re + b_re); \
    PUT(T, to_im, a_im + b_im); \
    PUT_TURNED(T, s, w, (a_re - b_re), (a_im - b_im)) \
  }

static void radix_2(const pass *z, const double *x, double *y) {
  int64_t s = z->s;
  int64_t part = s * z->m;
  for (int64_t p = 0; p < z->m; p++) {
    hsc_fft_root w = z->roots[p * z->turn];
    const double *re = x + s * p;
    const double *im = re + z->plane;
    double *to_re = y + 2 * s * p;
    double *to_im = to_re + z->plane;
    EACH_Q(RADIX_2)
  }
}

#define RADIX_ANY(T) \
  { \
    T sum_re = AT(T, from); \
    T sum_im = AT(T, from + z->plane); \
    for (int64_t k = 1, turn = j; k < r; k++) { \
      hsc_fft_root root = z->roots[turn * step]; \
      T x_re = AT(T, from + k * part); \
      T x_im = AT(T, from + k * part + z->plane); \
      sum_re += x_re * root.re - x_im * root.im; \
      sum_im += x_re * root.im + x_im * root.re; \
      turn += j; \
      if (turn >= r) \
        turn -= r; \
    } \
    PUT_TURNED(T, 0, w, sum_re, sum_im) \
  }

static void radix_any(const pass *z, int64_t r, const double *x, double *y) {
  int64_t s = z->s;
  int64_t part = s * z->m;
  int64_t step = z->n / r;
  for (int64_t p = 0; p < z->m; p++)
    for (int64_t j = 0; j < r; j++) {
      hsc_fft_root w = z->roots[p * j * z->turn];
      const double *from = x + s * p;
      double *to_re = y + s * (r * p + j);
      double *to_im = to_re + z->plane;
      EACH_Q(RADIX_ANY)
    }
}

static double *transform(const int32_t *factors,
                         int factor_count,
                         int64_t n,
                         int64_t lines,
                         bool inverse,
                         const hsc_fft_root *roots,
                         double *x,
                         double *y) {
  int64_t turn = 1;
  int64_t length = n;
  for (int f = 0; f < factor_count; f++) {
    int64_t r = factors[f];
    length /= r;
    pass z = {
        .m = length, .s = turn * lines, .turn = turn, .n = n, .plane = n * lines, .roots = roots};
    if (r == 4)
      radix_4(&z, inverse ? -1 : 1, x, y);
    else if (r == 2)
      radix_2(&z, x, y);
    else
      radix_any(&z, r, x, y);
    double *keep = x;
    x = y;
    y = keep;
    turn *= r;
  }
  return x;
}

// ---- arrays -------------------------------------------------------------------------------------

#define EACH_ELEMENT(BODY) \
  for (int64_t t = 0; t < length; t++) \
    for (int64_t l = 0; l < lines; l++) { \
      int64_t i = p->at + t * p->step + l * p->line; \
      int64_t o = t * lines + l; \
      BODY \
    } \
  break;

static void load(const hsc_fft_place *p,
                 const void *array,
                 int64_t length,
                 int64_t lines,
                 double *restrict re,
                 double *restrict im) {
  switch (p->type) {
    case HSC_TYPE_F32:
      EACH_ELEMENT(re[o] = ((const float *)array)[i]; im[o] = 0;)
    case HSC_TYPE_F64:
      EACH_ELEMENT(re[o] = ((const double *)array)[i]; im[o] = 0;)
    case HSC_TYPE_C64:
      EACH_ELEMENT(re[o] = ((const float *)array)[2 * i];
                   im[o] = ((const float *)array)[2 * i + 1];)
    default:
      EACH_ELEMENT(re[o] = ((const double *)array)[2 * i];
                   im[o] = ((const double *)array)[2 * i + 1];)
  }
}

static void store(const hsc_fft_place *p,
                  void *array,
                  int64_t length,
                  int64_t lines,
                  const double *restrict re,
                  const double *restrict im,
                  double scale) {
  switch (p->type) {
    case HSC_TYPE_F32:
      EACH_ELEMENT(((float *)array)[i] = (float)(re[o] * scale);)
    case HSC_TYPE_F64:
      EACH_ELEMENT(((double *)array)[i] = re[o] * scale;)
    case HSC_TYPE_C64:
      EACH_ELEMENT(((float *)array)[2 * i] = (float)(re[o] * scale);
                   ((float *)array)[2 * i + 1] = (float)(im[o] * scale);)
    default:
      EACH_ELEMENT(((double *)array)[2 * i] = re[o] * scale;
                   ((double *)array)[2 * i + 1] = im[o] * scale;)
  }
}

extern const hsc_fft_kernels CONCAT(hsc_fft_kernels_, HSC_ISA);
const hsc_fft_kernels CONCAT(hsc_fft_kernels_, HSC_ISA) = {load, store, transform};
