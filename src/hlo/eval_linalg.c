// eval_linalg.c - cholesky and triangular-solve of the last two dimensions, batched over the others, computed in double complex.
#include <complex.h>
#include <math.h>

#include "hlo/eval_internal.h"

typedef double complex z128;

static hsc_status *widen(const hsc__value *value, z128 **out) { return hsc__widened(value->shape.type, value->data, hsc_shape_elements(&value->shape), HSC_TYPE_C128, (void **)out); }

static hsc_status *narrow(const z128 *values, const hsc_shape *shape, hsc__value **out_value) {
  HSC_TRY(hsc__value_array(shape, out_value));
  _Alignas(16) unsigned char lanes[HSC__LANE_BYTES];
  int64_t count = hsc_shape_elements(shape);
  for (int64_t at = 0; at < count; at += HSC__LANES) {
    int64_t n = count - at < HSC__LANES ? count - at : HSC__LANES;
    hsc__lane_convert(HSC_TYPE_C128, values + at, shape->type, n, lanes);
    hsc__lane_store(shape->type, lanes, n, (*out_value)->data + (size_t)at * hsc_type_bytes(shape->type));
  }
  return NULL;
}

// Element (i, j) of the triangle that the op names: for upper the transposed conjugate is read and written.
static z128 *at(z128 *a, int64_t n, bool lower, int64_t i, int64_t j) { return lower ? &a[i * n + j] : &a[j * n + i]; }

// In place; the other triangle becomes zero. A matrix that is not positive definite gives NaN everywhere.
static void factor(z128 *a, int64_t n, bool lower) {
  bool failed = false;
  for (int64_t j = 0; j < n && !failed; j++) {
    double diagonal = creal(*at(a, n, lower, j, j));
    for (int64_t k = 0; k < j; k++) diagonal -= creal(*at(a, n, lower, j, k) * conj(*at(a, n, lower, j, k)));
    if (!(diagonal > 0)) failed = true;
    double root = sqrt(diagonal);
    *at(a, n, lower, j, j) = root;
    for (int64_t i = j + 1; i < n; i++) {
      z128 sum = *at(a, n, lower, i, j);
      // For upper, a[j][i] holds conj(L[i][j]), and so do both sides of the recurrence.
      for (int64_t k = 0; k < j; k++) sum -= *at(a, n, lower, i, k) * conj(*at(a, n, lower, j, k));
      *at(a, n, lower, i, j) = sum / root;
    }
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (failed) a[i * n + j] = NAN;
      else if (lower ? j > i : j < i) a[i * n + j] = 0;
}

hsc_status *hsc__eval_cholesky(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &operands[0]->shape;
  int64_t n = shape->dims[shape->rank - 1], batches = n ? hsc_shape_elements(shape) / (n * n) : 0;
  z128 *a = NULL;
  HSC_TRY(widen(operands[0], &a));
  for (int64_t b = 0; b < batches; b++) factor(a + b * n * n, n, instr->attr.cholesky.lower);
  hsc_status *status = narrow(a, &instr->shape, out_value);
  hsc_free(a);
  return status;
}

// op(A)[i][j] of the triangle, where the unit diagonal is one whatever is stored.
typedef struct triangle {
  const z128 *a;
  int64_t n;
  bool lower, unit;
  hsc_transpose transpose;
} triangle;

static z128 element(const triangle *t, int64_t i, int64_t j) {
  int64_t r = t->transpose == HSC_NO_TRANSPOSE ? i : j, c = t->transpose == HSC_NO_TRANSPOSE ? j : i;
  if (r == c && t->unit) return 1;
  if (t->lower ? c > r : c < r) return 0;
  z128 v = t->a[r * t->n + c];
  return t->transpose == HSC_ADJOINT ? conj(v) : v;
}

// op(A) x = b in place, x elements `step` apart.
static void solve(const triangle *t, z128 *x, int64_t step) {
  bool forward = t->lower == (t->transpose == HSC_NO_TRANSPOSE);  // op(A) is lower
  for (int64_t k = 0; k < t->n; k++) {
    int64_t i = forward ? k : t->n - 1 - k;
    z128 sum = x[i * step];
    for (int64_t done = 0; done < k; done++) {
      int64_t j = forward ? done : t->n - 1 - done;
      sum -= element(t, i, j) * x[j * step];
    }
    x[i * step] = t->unit ? sum : sum / element(t, i, i);
  }
}

hsc_status *hsc__eval_triangular_solve(hsc__eval *cx, const hsc_instr *instr, hsc__value **operands, hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &operands[0]->shape, *right = &operands[1]->shape;
  int64_t n = shape->dims[shape->rank - 1], rows = right->dims[right->rank - 2], columns = right->dims[right->rank - 1];
  int64_t batches = rows > 0 && columns > 0 ? hsc_shape_elements(right) / (rows * columns) : 0;
  z128 *a = NULL, *b = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(widen(operands[0], &a));
  HSC_GOTO(widen(operands[1], &b));
  for (int64_t batch = 0; batch < batches; batch++) {
    triangle t = {.a = a + batch * n * n, .n = n, .lower = instr->attr.triangular.lower, .unit = instr->attr.triangular.unit_diagonal, .transpose = instr->attr.triangular.transpose_a};
    z128 *x = b + batch * rows * columns;
    if (instr->attr.triangular.left_side) {
      for (int64_t c = 0; c < columns; c++) solve(&t, x + c, columns);
    } else {
      // x op(A) = b is op(A)^T x^T = b^T, row by row.
      for (int64_t r = 0; r < rows; r++) {
        z128 *row = x + r * columns;
        bool forward = !(t.lower == (t.transpose == HSC_NO_TRANSPOSE));
        for (int64_t k = 0; k < n; k++) {
          int64_t i = forward ? k : n - 1 - k;
          z128 sum = row[i];
          for (int64_t done = 0; done < k; done++) {
            int64_t j = forward ? done : n - 1 - done;
            sum -= element(&t, j, i) * row[j];
          }
          row[i] = t.unit ? sum : sum / element(&t, i, i);
        }
      }
    }
  }
  HSC_GOTO(narrow(b, &instr->shape, out_value));
done:
  hsc_free(a);
  hsc_free(b);
  return status;
}
