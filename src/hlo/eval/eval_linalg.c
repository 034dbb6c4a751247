// eval_linalg.c - cholesky, triangular-solve and QR of the last two dimensions, batched over the
// others, computed in double complex.
//
// How to read: widen and narrow carry a matrix to double complex and back; each operation is one
// textbook algorithm on it, written out plainly, for this is what kernels are held against.
#include <complex.h>
#include <math.h>

#include "hlo/eval/eval_internal.h"

typedef double complex z128;

static hsc_status *widen(const hsc__value *value, z128 **out) {
  return hsc__widened(value->shape.type, value->data, hsc_shape_elements(&value->shape),
                      HSC_TYPE_C128, (void **)out);
}

static hsc_status *narrow(const z128 *values, const hsc_shape *shape, hsc__value **out_value) {
  HSC_TRY(hsc__value_array(shape, out_value));
  _Alignas(16) unsigned char lanes[HSC__LANE_BYTES];
  int64_t count = hsc_shape_elements(shape);
  for (int64_t at = 0; at < count; at += HSC__LANES) {
    int64_t n = count - at < HSC__LANES ? count - at : HSC__LANES;
    hsc__lane_convert(HSC_TYPE_C128, values + at, shape->type, n, lanes);
    hsc__lane_store(shape->type, lanes, n,
                    (*out_value)->data + (size_t)at * hsc_type_bytes(shape->type));
  }
  return NULL;
}

// Element (i, j) of the triangle that the op names: for upper the transposed conjugate is read and
// written.
static z128 *at(z128 *a, int64_t n, bool lower, int64_t i, int64_t j) {
  return lower ? &a[i * n + j] : &a[j * n + i];
}

// In place; the other triangle becomes zero. A matrix that is not positive definite gives NaN
// everywhere.
static void factor(z128 *a, int64_t n, bool lower) {
  bool failed = false;
  for (int64_t j = 0; j < n && !failed; j++) {
    double diagonal = creal(*at(a, n, lower, j, j));
    for (int64_t k = 0; k < j; k++)
      diagonal -= creal(*at(a, n, lower, j, k) * conj(*at(a, n, lower, j, k)));
    if (!(diagonal > 0))
      failed = true;
    double root = sqrt(diagonal);
    *at(a, n, lower, j, j) = root;
    for (int64_t i = j + 1; i < n; i++) {
      z128 sum = *at(a, n, lower, i, j);
      // For upper, a[j][i] holds conj(L[i][j]), and so do both sides of the recurrence.
      for (int64_t k = 0; k < j; k++)
        sum -= *at(a, n, lower, i, k) * conj(*at(a, n, lower, j, k));
      *at(a, n, lower, i, j) = sum / root;
    }
  }
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      if (failed)
        a[i * n + j] = NAN;
      else if (lower ? j > i : j < i)
        a[i * n + j] = 0;
}

hsc_status *hsc__eval_cholesky(hsc__eval *cx,
                               const hsc_instr *instr,
                               hsc__value **operands,
                               hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &operands[0]->shape;
  int64_t n = shape->dims[shape->rank - 1];
  int64_t batches = n ? hsc_shape_elements(shape) / (n * n) : 0;
  z128 *a = NULL;
  HSC_TRY(widen(operands[0], &a));
  for (int64_t b = 0; b < batches; b++)
    factor(a + b * n * n, n, instr->attr.cholesky.lower);
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
  int64_t r = t->transpose == HSC_NO_TRANSPOSE ? i : j;
  int64_t c = t->transpose == HSC_NO_TRANSPOSE ? j : i;
  if (r == c && t->unit)
    return 1;
  if (t->lower ? c > r : c < r)
    return 0;
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

hsc_status *hsc__eval_triangular_solve(hsc__eval *cx,
                                       const hsc_instr *instr,
                                       hsc__value **operands,
                                       hsc__value **out_value) {
  (void)cx;
  const hsc_shape *shape = &operands[0]->shape;
  const hsc_shape *right = &operands[1]->shape;
  int64_t n = shape->dims[shape->rank - 1];
  int64_t rows = right->dims[right->rank - 2];
  int64_t columns = right->dims[right->rank - 1];
  int64_t batches = rows > 0 && columns > 0 ? hsc_shape_elements(right) / (rows * columns) : 0;
  z128 *a = NULL;
  z128 *b = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(widen(operands[0], &a));
  HSC_GOTO(widen(operands[1], &b));
  for (int64_t batch = 0; batch < batches; batch++) {
    triangle t = {.a = a + batch * n * n,
                  .n = n,
                  .lower = instr->attr.triangular.lower,
                  .unit = instr->attr.triangular.unit_diagonal,
                  .transpose = instr->attr.triangular.transpose_a};
    z128 *x = b + batch * rows * columns;
    if (instr->attr.triangular.left_side) {
      for (int64_t c = 0; c < columns; c++)
        solve(&t, x + c, columns);
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

// ---- QR -----------------------------------------------------------------------------------------

// R above the diagonal, reflectors v (v[0] = 1 left out) below, Q = H0 H1 ... with H = I - tau v
// v^H: LAPACK's convention (xGEQR2, xLARFG), which XLA's Qr shares.
static void reflect(z128 *a, int64_t m, int64_t n, int64_t j, z128 *out_tau) {
  double below = 0;
  z128 alpha = a[j * n + j];
  for (int64_t i = j + 1; i < m; i++)
    below += creal(a[i * n + j] * conj(a[i * n + j]));
  *out_tau = 0;
  if (below == 0 && cimag(alpha) == 0)
    return;
  double beta = -copysign(sqrt(creal(alpha * conj(alpha)) + below), creal(alpha));
  z128 tau = (beta - alpha) / beta;
  for (int64_t i = j + 1; i < m; i++)
    a[i * n + j] /= alpha - beta;
  a[j * n + j] = beta;
  for (int64_t c = j + 1; c < n; c++) {
    z128 sum = a[j * n + c];
    for (int64_t i = j + 1; i < m; i++)
      sum += conj(a[i * n + j]) * a[i * n + c];
    sum *= conj(tau);
    a[j * n + c] -= sum;
    for (int64_t i = j + 1; i < m; i++)
      a[i * n + c] -= a[i * n + j] * sum;
  }
  *out_tau = tau;
}

// Custom call Qr(a) = (a with R and reflectors, tau).
hsc_status *hsc__eval_qr(hsc__eval *cx,
                         const hsc_instr *instr,
                         hsc__value **operands,
                         hsc__value **out_value) {
  (void)cx;
  const hsc_shape *from = &operands[0]->shape;
  const hsc_shape *shape = &instr->shape;
  bool good = instr->operand_count == 1 && from->rank >= 2 && hsc_shape_is_tuple(shape) &&
              shape->element_count == 2 && hsc_shape_equal(&shape->elements[0], from) &&
              shape->elements[1].rank == from->rank - 1 && shape->elements[1].type == from->type;
  int64_t m = good ? from->dims[from->rank - 2] : 0;
  int64_t n = good ? from->dims[from->rank - 1] : 0;
  int64_t k = m < n ? m : n;
  int64_t batches = m > 0 && n > 0 ? hsc_shape_elements(from) / (m * n) : 0;
  if (!good || hsc_shape_elements(&shape->elements[1]) != batches * k)
    return HSC_ERR(INVALID_ARGUMENT,
                   "custom-call %s: its shape is not (matrices, tau) of its operand",
                   instr->attr.custom.target);
  z128 *a = NULL;
  z128 *tau = NULL;
  hsc__value *parts[2] = {NULL, NULL};
  hsc_status *status = NULL;
  HSC_GOTO(widen(operands[0], &a));
  tau = hsc_alloc(((size_t)(batches * k) + 1) * sizeof *tau);
  if (!tau)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t b = 0; b < batches; b++)
    for (int64_t j = 0; j < k; j++)
      reflect(a + b * m * n, m, n, j, &tau[b * k + j]);
  HSC_GOTO(narrow(a, &shape->elements[0], &parts[0]));
  HSC_GOTO(narrow(tau, &shape->elements[1], &parts[1]));
  HSC_GOTO(hsc__value_tuple(shape, parts, out_value));
done:
  hsc__value_release(parts[0]);
  hsc__value_release(parts[1]);
  hsc_free(a);
  hsc_free(tau);
  return status;
}

// ---- eigenvalues of symmetric matrices ----------------------------------------------------------

// Jacobi's rotations, row by row, until nothing is left beside the diagonal. v: rows are
// eigenvectors, not in any order.
static void rotate_to_diagonal(double *a, double *v, int64_t n) {
  for (int64_t i = 0; i < n * n; i++)
    v[i] = i / n == i % n;
  for (int sweep = 0; sweep < 60; sweep++) {
    double beside = 0;
    double all = 0;
    for (int64_t i = 0; i < n * n; i++) {
      all += a[i] * a[i];
      if (i / n != i % n)
        beside += a[i] * a[i];
    }
    if (!(beside > all * 1e-34))
      return;
    for (int64_t p = 0; p < n; p++)
      for (int64_t q = p + 1; q < n; q++) {
        double apq = a[p * n + q];
        if (apq == 0)
          continue;
        double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
        double t = copysign(1, theta) / (fabs(theta) + sqrt(1 + theta * theta));
        double c = 1 / sqrt(1 + t * t);
        double s = t * c;
        for (int64_t k = 0; k < n; k++) {
          double x = a[p * n + k];
          double y = a[q * n + k];
          a[p * n + k] = c * x - s * y;
          a[q * n + k] = s * x + c * y;
          x = v[p * n + k];
          y = v[q * n + k];
          v[p * n + k] = c * x - s * y;
          v[q * n + k] = s * x + c * y;
        }
        for (int64_t k = 0; k < n; k++) {
          double x = a[k * n + p];
          double y = a[k * n + q];
          a[k * n + p] = c * x - s * y;
          a[k * n + q] = s * x + c * y;
        }
      }
  }
}

// What Eigh's configuration says: "lower,sort,max_iter,tol", in quotes or not.
typedef struct eigh_config {
  int lower;  // which triangle is read
  int sorts;  // eigenvalues in rising order
} eigh_config;

static eigh_config eigh_config_of(const hsc_instr *instr) {
  eigh_config config = {.lower = 1, .sorts = 1};
  const char *text = instr->attr.custom.opaque;
  if (!text)
    text = instr->backend_config;
  if (text)
    sscanf(text + (*text == '"'), "%d,%d", &config.lower, &config.sorts);
  return config;
}

// (eigenvectors, eigenvalues) of square real matrices, batched alike.
static bool eigh_shapes_fit(const hsc_instr *instr, const hsc_shape *from) {
  const hsc_shape *shape = &instr->shape;
  if (instr->operand_count != 1 || from->rank < 2 || !hsc_type_is_float(from->type) ||
      !hsc_shape_is_tuple(shape) || shape->element_count != 2)
    return false;
  const hsc_shape *values = &shape->elements[1];
  int64_t n = from->dims[from->rank - 1];
  int64_t batches = n > 0 ? hsc_shape_elements(from) / (n * n) : 0;
  return from->dims[from->rank - 2] == n && hsc_shape_equal(&shape->elements[0], from) &&
         values->rank == from->rank - 1 && values->type == from->type &&
         hsc_shape_elements(values) == batches * n;
}

// Room for one matrix; the caller's, who frees its three members.
typedef struct eigh_room {
  double *matrix;   // n x n; its diagonal holds the eigenvalues in the end
  double *vectors;  // n x n, a row each
  int64_t *order;   // n: which eigenvalue comes first, second, ...
} eigh_room;

// One matrix: v becomes n x n, an eigenvector a column, w its n eigenvalues.
static void eigh_one(
    z128 *a, int64_t n, eigh_config config, const eigh_room *room, z128 *v, z128 *w) {
  double *matrix = room->matrix;
  int64_t *order = room->order;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      matrix[i * n + j] = creal(*at(a, n, config.lower != 0, i > j ? i : j, i > j ? j : i));
  rotate_to_diagonal(matrix, room->vectors, n);
  // sorted by insertion, which leaves equal values in their order
  for (int64_t i = 0; i < n; i++) {
    int64_t k = i;
    for (; config.sorts && k > 0 && matrix[order[k - 1] * n + order[k - 1]] > matrix[i * n + i];
         k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
  for (int64_t i = 0; i < n; i++) {
    w[i] = matrix[order[i] * n + order[i]];
    for (int64_t k = 0; k < n; k++)
      v[k * n + i] = room->vectors[order[i] * n + k];
  }
}

// Custom call Eigh(a) = (eigenvectors as columns, eigenvalues); opaque "lower,sort,max_iter,tol"
// (xla/hlo/builder/lib/self_adjoint_eig.cc).
hsc_status *hsc__eval_eigh(hsc__eval *cx,
                           const hsc_instr *instr,
                           hsc__value **operands,
                           hsc__value **out_value) {
  (void)cx;
  const hsc_shape *from = &operands[0]->shape;
  const hsc_shape *shape = &instr->shape;
  if (!eigh_shapes_fit(instr, from))
    return HSC_ERR(INVALID_ARGUMENT,
                   "custom-call Eigh: its shape is not (eigenvectors, eigenvalues) of its operand, "
                   "real square matrices");
  int64_t n = from->dims[from->rank - 1];
  int64_t batches = n > 0 ? hsc_shape_elements(from) / (n * n) : 0;
  eigh_config config = eigh_config_of(instr);
  size_t square = (size_t)(n * n) + 1;
  z128 *a = NULL;
  z128 *v = hsc_alloc(((size_t)(batches * n * n) + 1) * sizeof *v);
  z128 *w = hsc_alloc(((size_t)(batches * n) + 1) * sizeof *w);
  eigh_room room = {hsc_alloc(square * sizeof(double)), hsc_alloc(square * sizeof(double)),
                    hsc_alloc(((size_t)n + 1) * sizeof(int64_t))};
  hsc__value *parts[2] = {NULL, NULL};
  hsc_status *status = NULL;
  HSC_GOTO(widen(operands[0], &a));
  if (!room.matrix || !room.vectors || !room.order || !v || !w)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t b = 0; b < batches; b++)
    eigh_one(a + b * n * n, n, config, &room, v + b * n * n, w + b * n);
  HSC_GOTO(narrow(v, &shape->elements[0], &parts[0]));
  HSC_GOTO(narrow(w, &shape->elements[1], &parts[1]));
  HSC_GOTO(hsc__value_tuple(shape, parts, out_value));
done:
  hsc__value_release(parts[0]);
  hsc__value_release(parts[1]);
  hsc_free(a);
  hsc_free(v);
  hsc_free(w);
  hsc_free(room.matrix);
  hsc_free(room.vectors);
  hsc_free(room.order);
  return status;
}

// Custom call ProductOfElementaryHouseholderReflectors(a, tau): the first columns of Q.
hsc_status *hsc__eval_householder_product(hsc__eval *cx,
                                          const hsc_instr *instr,
                                          hsc__value **operands,
                                          hsc__value **out_value) {
  (void)cx;
  const hsc_shape *from = &operands[0]->shape;
  const hsc_shape *taus = instr->operand_count == 2 ? &operands[1]->shape : NULL;
  bool good = taus && from->rank >= 2 && hsc_shape_equal(&instr->shape, from) &&
              taus->rank == from->rank - 1 && taus->type == from->type;
  int64_t m = good ? from->dims[from->rank - 2] : 0;
  int64_t n = good ? from->dims[from->rank - 1] : 0;
  int64_t k = good ? taus->dims[taus->rank - 1] : 0;
  int64_t batches = m > 0 && n > 0 ? hsc_shape_elements(from) / (m * n) : 0;
  size_t elements = (size_t)(batches * m * n) + 1;
  if (!good || k > n || k > m || hsc_shape_elements(taus) != batches * k)
    return HSC_ERR(INVALID_ARGUMENT, "custom-call %s: its operands are not (matrices, tau)",
                   instr->attr.custom.target);
  z128 *a = NULL;
  z128 *tau = NULL;
  z128 *q = NULL;
  hsc_status *status = NULL;
  HSC_GOTO(widen(operands[0], &a));
  HSC_GOTO(widen(operands[1], &tau));
  q = hsc_alloc(elements * sizeof *q);
  if (!q)
    HSC_GOTO(hsc_status_out_of_memory());
  memset(q, 0, elements * sizeof *q);
  for (int64_t b = 0; b < batches; b++) {
    const z128 *v = a + b * m * n;
    z128 *out = q + b * m * n;
    for (int64_t i = 0; i < m && i < n; i++)
      out[i * n + i] = 1;
    for (int64_t j = k - 1; j >= 0; j--) {
      for (int64_t c = j; c < n; c++) {
        z128 sum = out[j * n + c];
        for (int64_t i = j + 1; i < m; i++)
          sum += conj(v[i * n + j]) * out[i * n + c];
        sum *= tau[b * k + j];
        out[j * n + c] -= sum;
        for (int64_t i = j + 1; i < m; i++)
          out[i * n + c] -= v[i * n + j] * sum;
      }
    }
  }
  HSC_GOTO(narrow(q, &instr->shape, out_value));
done:
  hsc_free(a);
  hsc_free(tau);
  hsc_free(q);
  return status;
}

// ---- tridiagonal systems ------------------------------------------------------------------------

static z128 away_from_zero(z128 pivot, double least) {
  double size = cabs(pivot);
  if (size >= least)
    return pivot;
  return size > 0 ? pivot / size * least : least;
}

// Gaussian elimination with row exchanges on the rows (dl, d, du), which it destroys: two diagonals
// above the pivot. Pivots nearer to zero than `least` are moved to it, so that a singular matrix
// gives a large, finite answer.
static void solve_tridiagonal(
    z128 *dl, z128 *d, z128 *du, z128 *second, z128 *b, int64_t n, int64_t columns, double least) {
  for (int64_t i = 0; i + 1 < n; i++) {
    second[i] = 0;
    if (cabs(dl[i + 1]) > cabs(d[i])) {  // the next row leads
      z128 factor = d[i] / dl[i + 1];
      z128 above = du[i];
      d[i] = dl[i + 1];
      du[i] = d[i + 1];
      second[i] = i + 2 < n ? du[i + 1] : 0;
      d[i + 1] = above - factor * du[i];
      if (i + 2 < n)
        du[i + 1] = -factor * second[i];
      for (int64_t c = 0; c < columns; c++) {
        z128 upper = b[i * columns + c];
        b[i * columns + c] = b[(i + 1) * columns + c];
        b[(i + 1) * columns + c] = upper - factor * b[i * columns + c];
      }
    } else {
      d[i] = away_from_zero(d[i], least);
      z128 factor = dl[i + 1] / d[i];
      d[i + 1] -= factor * du[i];
      for (int64_t c = 0; c < columns; c++)
        b[(i + 1) * columns + c] -= factor * b[i * columns + c];
    }
  }
  d[n - 1] = away_from_zero(d[n - 1], least);
  for (int64_t i = n - 1; i >= 0; i--)
    for (int64_t c = 0; c < columns; c++) {
      z128 sum = b[i * columns + c];
      if (i + 1 < n)
        sum -= du[i] * b[(i + 1) * columns + c];
      if (i + 2 < n)
        sum -= second[i] * b[(i + 2) * columns + c];
      b[i * columns + c] = sum / d[i];
    }
}

// Custom call tridiagonal_solve_perturbed_ffi(dl, d, du, b): pivots are kept at eps times the
// largest entry at least (jax.lax.linalg.tridiagonal_solve with perturb_singular).
hsc_status *hsc__eval_tridiagonal_perturbed(hsc__eval *cx,
                                            const hsc_instr *instr,
                                            hsc__value **operands,
                                            hsc__value **out_value) {
  (void)cx;
  bool good = instr->operand_count == 4 && operands[3]->shape.rank >= 2 &&
              hsc_shape_equal(&instr->shape, &operands[3]->shape);
  const hsc_shape *right = good ? &operands[3]->shape : NULL;
  int64_t n = good ? right->dims[right->rank - 2] : 0;
  int64_t columns = good ? right->dims[right->rank - 1] : 0;
  int64_t batches = n > 0 && columns > 0 ? hsc_shape_elements(right) / (n * columns) : 0;
  for (int i = 0; good && i < 3; i++)
    good = operands[i]->shape.type == right->type && operands[i]->shape.rank == right->rank - 1 &&
           (batches == 0 || hsc_shape_elements(&operands[i]->shape) == batches * n);
  if (!good)
    return HSC_ERR(INVALID_ARGUMENT,
                   "custom-call %s: its operands are not (lower, diagonal, upper, right sides)",
                   instr->attr.custom.target);
  bool is_double = right->type == HSC_TYPE_F64 || right->type == HSC_TYPE_C128;
  z128 *parts[4] = {NULL};
  z128 *second = NULL;
  hsc_status *status = NULL;
  for (int i = 0; i < 4; i++)
    HSC_GOTO(widen(operands[i], &parts[i]));
  second = hsc_alloc(((size_t)n + 1) * sizeof *second);
  if (!second)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t batch = 0; batch < batches; batch++) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
      largest = fmax(largest, cabs(parts[1][batch * n + i]));
      if (i > 0)
        largest = fmax(largest, cabs(parts[0][batch * n + i]));
      if (i + 1 < n)
        largest = fmax(largest, cabs(parts[2][batch * n + i]));
    }
    double least = (is_double ? 0x1p-52 : 0x1p-23) * (largest > 0 ? largest : 1);
    solve_tridiagonal(parts[0] + batch * n, parts[1] + batch * n, parts[2] + batch * n, second,
                      parts[3] + batch * n * columns, n, columns, least);
  }
  HSC_GOTO(narrow(parts[3], &instr->shape, out_value));
done:
  for (int i = 0; i < 4; i++)
    hsc_free(parts[i]);
  hsc_free(second);
  return status;
}
