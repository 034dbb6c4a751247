// eval_fft.c - fft, ifft, rfft, irfft of any length over the last dimensions, in double: a mixed
// radix transform, one dimension at a time. Lengths with a large prime factor p cost p times their
// length; that is slow and exact enough for an oracle.
#include <complex.h>
#include <math.h>

#include "hlo/eval/eval_internal.h"

typedef double complex z128;

// X[k] = sum x[t] w^(t k), w = exp(sign 2 pi i / n), of `n` elements that are `step` apart.
// roots[j] = exp(sign 2 pi i j / total), total = n * step.
static void transform(int64_t n,
                      int64_t step,
                      int64_t total,
                      const z128 *x,
                      z128 *out,
                      z128 *scratch,
                      const z128 *roots) {
  if (n == 1) {
    out[0] = x[0];
    return;
  }
  int64_t radix = n;
  for (int64_t p = 2; p * p <= n; p++)
    if (n % p == 0) {
      radix = p;
      break;
    }
  int64_t m = n / radix;
  for (int64_t r = 0; r < radix; r++)
    transform(m, step * radix, total, x + r * step, scratch + r * m, out + r * m, roots);
  for (int64_t k = 0; k < n; k++) {
    z128 sum = 0;
    for (int64_t r = 0; r < radix; r++)
      sum += scratch[r * m + k % m] * roots[r * k % n * (total / n)];
    out[k] = sum;
  }
}

// One dimension of a dense complex array, in place.
static hsc_status *transform_dimension(
    z128 *data, int rank, const int64_t *dims, int dimension, bool inverse) {
  int64_t n = dims[dimension];
  int64_t inner = 1;
  int64_t outer = 1;
  for (int i = dimension + 1; i < rank; i++)
    inner *= dims[i];
  for (int i = 0; i < dimension; i++)
    outer *= dims[i];
  z128 *memory = hsc_alloc((size_t)n * 4 * sizeof(z128));
  if (!memory)
    return hsc_status_out_of_memory();
  z128 *x = memory;
  z128 *out = memory + n;
  z128 *scratch = memory + 2 * n;
  z128 *roots = memory + 3 * n;
  for (int64_t j = 0; j < n; j++) {
    double angle = (inverse ? 2 : -2) * 3.14159265358979323846 * (double)j / (double)n;
    roots[j] = __builtin_complex(cos(angle), sin(angle));
  }
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      z128 *line = data + o * n * inner + i;
      for (int64_t t = 0; t < n; t++)
        x[t] = line[t * inner];
      transform(n, 1, n, x, out, scratch, roots);
      for (int64_t t = 0; t < n; t++)
        line[t * inner] = inverse ? out[t] / (double)n : out[t];
    }
  hsc_free(memory);
  return NULL;
}

// Copies the corner that both arrays have in common.
static void copy_corner(
    int rank, const int64_t *from_dims, const z128 *from, const int64_t *to_dims, z128 *to) {
  int64_t dims[HSC_MAX_RANK];
  int64_t from_strides[HSC_MAX_RANK];
  int64_t to_strides[HSC_MAX_RANK];
  int64_t from_stride = 1;
  int64_t to_stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    dims[i] = from_dims[i] < to_dims[i] ? from_dims[i] : to_dims[i];
    from_strides[i] = from_stride;
    to_strides[i] = to_stride;
    from_stride *= from_dims[i];
    to_stride *= to_dims[i];
  }
  if (from_stride > 0 && to_stride > 0)
    hsc__copy_strided(rank, dims, sizeof(z128), (unsigned char *)to, to_strides,
                      (const unsigned char *)from, from_strides);
}

// The half spectrum of a real signal to the whole one: X[k] = conj(X[-k]) in all transformed
// dimensions. The last one has `full` elements.
static void mirror(int rank, const int64_t *dims, int first, z128 *data) {
  int64_t strides[HSC_MAX_RANK];
  int64_t index[HSC_MAX_RANK] = {0};
  int64_t stride = 1;
  int64_t full = dims[rank - 1];
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= dims[i];
  }
  int64_t at = 0;
  do {
    if (index[rank - 1] > full / 2) {
      int64_t from = 0;
      for (int i = 0; i < rank; i++)
        from += (i >= first ? (dims[i] - index[i]) % dims[i] : index[i]) * strides[i];
      data[at] = conj(data[from]);
    }
    at++;
  } while (hsc__next_index(rank, dims, index));
}

hsc_status *hsc__eval_fft(hsc__eval *cx,
                          const hsc_instr *instr,
                          hsc__value **operands,
                          hsc__value **out_value) {
  (void)cx;
  const hsc_shape *in = &operands[0]->shape;
  const hsc_shape *out = &instr->shape;
  int rank = in->rank;
  int dimensions = instr->attr.fft.length.count;
  int first = rank - dimensions;
  hsc_fft_type kind = instr->attr.fft.type;
  bool inverse = kind == HSC_IFFT || kind == HSC_IRFFT;
  int64_t dims[HSC_MAX_RANK];
  int64_t total = 1;
  for (int i = 0; i < rank; i++)
    total *= dims[i] = i >= first ? instr->attr.fft.length.v[i - first] : in->dims[i];
  HSC_TRY(hsc__value_array(out, out_value));
  if (total == 0 || hsc_shape_elements(out) == 0)
    return NULL;
  hsc_status *status = NULL;
  z128 *wide = NULL;
  z128 *cut = NULL;
  z128 *work = hsc_alloc((size_t)total * sizeof(z128));
  if (!work)
    HSC_GOTO(hsc_status_out_of_memory());
  HSC_GOTO(hsc__widened(in->type, operands[0]->data, hsc_shape_elements(in), HSC_TYPE_C128,
                        (void **)&wide));
  copy_corner(rank, in->dims, wide, dims, work);
  if (kind == HSC_IRFFT) {
    // A real signal's spectrum: what its edges hold beside that is ignored.
    int64_t half = dims[rank - 1] / 2;
    if (dimensions == 1)
      for (int64_t row = 0; row < total / dims[rank - 1]; row++) {
        z128 *line = work + row * dims[rank - 1];
        line[0] = creal(line[0]);
        if (dims[rank - 1] % 2 == 0)
          line[half] = creal(line[half]);
      }
    // The leading dimensions first, on the half spectrum; then the last one from its mirror.
    for (int i = first; i < rank - 1; i++)
      HSC_GOTO(transform_dimension(work, rank, dims, i, true));
    mirror(rank, dims, rank - 1, work);
    HSC_GOTO(transform_dimension(work, rank, dims, rank - 1, true));
  } else {
    for (int i = rank - 1; i >= first; i--)
      HSC_GOTO(transform_dimension(work, rank, dims, i, inverse));
  }
  int64_t count = hsc_shape_elements(out);
  cut = hsc_alloc((size_t)count * sizeof(z128));
  if (!cut)
    HSC_GOTO(hsc_status_out_of_memory());
  copy_corner(rank, dims, work, out->dims, cut);
  _Alignas(16) unsigned char lanes[HSC__LANE_BYTES];
  for (int64_t at = 0; at < count; at += HSC__LANES) {
    int64_t n = count - at < HSC__LANES ? count - at : HSC__LANES;
    hsc__lane_convert(HSC_TYPE_C128, cut + at, out->type, n, lanes);
    hsc__lane_store(out->type, lanes, n,
                    (*out_value)->data + (size_t)at * hsc_type_bytes(out->type));
  }
done:
  hsc_free(wide);
  hsc_free(work);
  hsc_free(cut);
  return status;
}
