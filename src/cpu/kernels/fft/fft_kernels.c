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

// w_3 = -1/2 -+ i sqrt(3)/2
#define RADIX_3(T) \
  { \
    T a_re = AT(T, re), b_re = AT(T, re + part), c_re = AT(T, re + 2 * part); \
    T a_im = AT(T, im), b_im = AT(T, im + part), c_im = AT(T, im + 2 * part); \
    T sum_re = b_re + c_re, sum_im = b_im + c_im; \
    T mid_re = a_re - 0.5 * sum_re, mid_im = a_im - 0.5 * sum_im; \
    T turned_re = half * (b_im - c_im), turned_im = half * (c_re - b_re); \
    PUT(T, to_re, a_re + sum_re); \
    PUT(T, to_im, a_im + sum_im); \
    PUT_TURNED(T, s, w1, (mid_re + turned_re), (mid_im + turned_im)) \
    PUT_TURNED(T, 2 * s, w2, (mid_re - turned_re), (mid_im - turned_im)) \
  }

static void radix_3(const pass *z, double sign, const double *x, double *y) {
  int64_t s = z->s;
  int64_t part = s * z->m;
  double half = sign * 0.86602540378443864676;
  for (int64_t p = 0; p < z->m; p++) {
    hsc_fft_root w1 = z->roots[p * z->turn];
    hsc_fft_root w2 = z->roots[2 * p * z->turn];
    const double *re = x + s * p;
    const double *im = re + z->plane;
    double *to_re = y + 3 * s * p;
    double *to_im = to_re + z->plane;
    EACH_Q(RADIX_3)
  }
}

// cos and sin of one and two fifths of a turn
#define RADIX_5(T) \
  { \
    T a_re = AT(T, re), b_re = AT(T, re + part), c_re = AT(T, re + 2 * part); \
    T d_re = AT(T, re + 3 * part), e_re = AT(T, re + 4 * part); \
    T a_im = AT(T, im), b_im = AT(T, im + part), c_im = AT(T, im + 2 * part); \
    T d_im = AT(T, im + 3 * part), e_im = AT(T, im + 4 * part); \
    T be_re = b_re + e_re, be_im = b_im + e_im, cd_re = c_re + d_re, cd_im = c_im + d_im; \
    T b_e_re = b_re - e_re, b_e_im = b_im - e_im, c_d_re = c_re - d_re, c_d_im = c_im - d_im; \
    T one_re = a_re + c1 * be_re + c2 * cd_re, one_im = a_im + c1 * be_im + c2 * cd_im; \
    T two_re = a_re + c2 * be_re + c1 * cd_re, two_im = a_im + c2 * be_im + c1 * cd_im; \
    T side_re = s1 * b_e_im + s2 * c_d_im, side_im = -(s1 * b_e_re + s2 * c_d_re); \
    T back_re = s2 * b_e_im - s1 * c_d_im, back_im = -(s2 * b_e_re - s1 * c_d_re); \
    PUT(T, to_re, a_re + be_re + cd_re); \
    PUT(T, to_im, a_im + be_im + cd_im); \
    PUT_TURNED(T, s, w1, (one_re + side_re), (one_im + side_im)) \
    PUT_TURNED(T, 2 * s, w2, (two_re + back_re), (two_im + back_im)) \
    PUT_TURNED(T, 3 * s, w3, (two_re - back_re), (two_im - back_im)) \
    PUT_TURNED(T, 4 * s, w4, (one_re - side_re), (one_im - side_im)) \
  }

static void radix_5(const pass *z, double sign, const double *x, double *y) {
  int64_t s = z->s;
  int64_t part = s * z->m;
  double c1 = 0.30901699437494742410;
  double c2 = -0.80901699437494742410;
  double s1 = sign * 0.95105651629515357212;
  double s2 = sign * 0.58778525229247312917;
  for (int64_t p = 0; p < z->m; p++) {
    hsc_fft_root w1 = z->roots[p * z->turn];
    hsc_fft_root w2 = z->roots[2 * p * z->turn];
    hsc_fft_root w3 = z->roots[3 * p * z->turn];
    hsc_fft_root w4 = z->roots[4 * p * z->turn];
    const double *re = x + s * p;
    const double *im = re + z->plane;
    double *to_re = y + 5 * s * p;
    double *to_im = to_re + z->plane;
    EACH_Q(RADIX_5)
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
    else if (r == 3)
      radix_3(&z, inverse ? -1 : 1, x, y);
    else if (r == 5)
      radix_5(&z, inverse ? -1 : 1, x, y);
    else
      radix_any(&z, r, x, y);
    double *keep = x;
    x = y;
    y = keep;
    turn *= r;
  }
  return x;
}

// ---- rows ---------------------------------------------------------------------------------------

static void turn(int64_t rows,
                 int64_t lines,
                 const double *by_re,
                 const double *by_im,
                 int64_t by_step,
                 const double *re,
                 const double *im,
                 double *to_re,
                 double *to_im) {
  for (int64_t t = 0; t < rows; t++) {
    double w_re = by_re[t * by_step];
    double w_im = by_im[t * by_step];
    for (int64_t i = t * lines; i < (t + 1) * lines; i++) {
      double x_re = re[i];
      double x_im = im[i];
      to_re[i] = x_re * w_re - x_im * w_im;
      to_im[i] = x_re * w_im + x_im * w_re;
    }
  }
}

static void part(int64_t n, int64_t lines, const double *z, double *first, double *second) {
  int64_t half = (n / 2 + 1) * lines;
  const double *im = z + n * lines;
  for (int64_t k = 0; k <= n / 2; k++) {
    int64_t a = k * lines;
    int64_t b = (k ? n - k : 0) * lines;
    for (int64_t l = 0; l < lines; l++) {
      first[a + l] = 0.5 * (z[a + l] + z[b + l]);
      first[half + a + l] = 0.5 * (im[a + l] - im[b + l]);
      second[a + l] = 0.5 * (im[a + l] + im[b + l]);
      second[half + a + l] = 0.5 * (z[b + l] - z[a + l]);
    }
  }
}

// What the edges of a real signal's spectrum hold beside a real number is ignored.
static void pair(int64_t n, int64_t lines, const double *first, const double *second, double *z) {
  int64_t half = (n / 2 + 1) * lines;
  double *im = z + n * lines;
  for (int64_t k = 0; k <= n / 2; k++) {
    bool edge = k == 0 || 2 * k == n;
    int64_t a = k * lines;
    int64_t b = (n - k) * lines;
    for (int64_t l = 0; l < lines; l++) {
      double f_re = first[a + l];
      double s_re = second[a + l];
      double f_im = edge ? 0 : first[half + a + l];
      double s_im = edge ? 0 : second[half + a + l];
      z[a + l] = f_re - s_im;
      im[a + l] = f_im + s_re;
      if (edge)
        continue;
      z[b + l] = f_re + s_im;
      im[b + l] = s_re - f_im;
    }
  }
}

// ---- arrays -------------------------------------------------------------------------------------

// Lines that are neighbours are read and written in vectors.
#define EACH_ELEMENT(BODY) \
  if (p->line == 1) { \
    for (int64_t t = 0; t < length; t++) { \
      int64_t first = p->at + t * p->step; \
      int64_t row = t * lines; \
      for (int64_t l = 0; l < lines; l++) { \
        int64_t i = first + l; \
        int64_t o = row + l; \
        BODY \
      } \
    } \
    break; \
  } \
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
const hsc_fft_kernels CONCAT(hsc_fft_kernels_, HSC_ISA) = {load, store, transform,
                                                           turn, part,  pair};
