// lapack_shapes.c - the shapes that LAPACK's routines read and write without asking: a program's
// text may claim any, so each routine says here what it wants, beside lapack.def.
//
// A function a routine, fits_<run>. The caller has checked how many operands and results there are,
// that all share the batch, and that sides fit an int.
#include "hlo/eval/eval_internal.h"
#include "hlo/ir/custom.h"

typedef struct call_shapes {
  const hsc_literal *in, *out;
  int batch;  // dimensions before a matrix's
  hsc_type type;
  hsc_type real;     // of the same precision
  hsc_type complex;  // likewise
  bool is_complex;
  int64_t m, n, k;  // rows and columns of the first operand, the smaller of the two
} call_shapes;

static bool is_array(const call_shapes *s, const hsc_literal *x, int rank, hsc_type type) {
  return x->shape.type == type && x->shape.rank == s->batch + rank;
}

static bool is_info(const call_shapes *s, const hsc_literal *x) {
  return is_array(s, x, 0, HSC_TYPE_S32);
}

static bool is_vector(const call_shapes *s, const hsc_literal *x, int64_t count, hsc_type type) {
  return is_array(s, x, 1, type) && x->shape.dims[s->batch] == count;
}

static bool is_matrix(
    const call_shapes *s, const hsc_literal *x, int64_t rows, int64_t columns, hsc_type type) {
  return is_array(s, x, 2, type) && x->shape.dims[s->batch] == rows &&
         x->shape.dims[s->batch + 1] == columns;
}

// As large as the first operand.
static bool is_whole(const call_shapes *s, const hsc_literal *x) {
  return is_matrix(s, x, s->m, s->n, s->type);
}

static bool fits_potrf(const call_shapes *s) {
  return s->m == s->n && is_whole(s, &s->out[0]) && is_info(s, &s->out[1]);
}

static bool fits_getrf(const call_shapes *s) {
  return is_whole(s, &s->out[0]) && is_vector(s, &s->out[1], s->k, HSC_TYPE_S32) &&
         is_info(s, &s->out[2]);
}

static bool fits_geqrf(const call_shapes *s) {
  return is_whole(s, &s->out[0]) && is_vector(s, &s->out[1], s->k, s->type);
}

static bool fits_geqp3(const call_shapes *s) {
  return is_vector(s, &s->in[1], s->n, HSC_TYPE_S32) && is_whole(s, &s->out[0]) &&
         is_vector(s, &s->out[1], s->n, HSC_TYPE_S32) && is_vector(s, &s->out[2], s->k, s->type);
}

static bool fits_orgqr(const call_shapes *s) {
  return is_array(s, &s->in[1], 1, s->type) && s->in[1].shape.dims[s->batch] <= s->n &&
         s->n <= s->m && is_whole(s, &s->out[0]);
}

static bool fits_ormqr(const call_shapes *s) {
  if (!is_array(s, &s->in[2], 2, s->type) || !is_array(s, &s->in[1], 1, s->type))
    return false;
  int64_t order = s->in[2].shape.dims[s->batch];
  int64_t columns = s->in[2].shape.dims[s->batch + 1];
  return (s->m == order || s->m == columns) && s->in[1].shape.dims[s->batch] <= s->n &&
         is_matrix(s, &s->out[0], order, columns, s->type);
}

static bool fits_syevd(const call_shapes *s) {
  return s->m == s->n && is_whole(s, &s->out[0]) && is_vector(s, &s->out[1], s->n, s->real) &&
         is_info(s, &s->out[2]);
}

// Real types have the eigenvalues in two arrays, so what comes after stands one further.
static bool fits_geev(const call_shapes *s) {
  const hsc_literal *after = s->out + (s->is_complex ? 1 : 2);
  return s->m == s->n && is_vector(s, &s->out[0], s->n, s->type) &&
         (s->is_complex || is_vector(s, &s->out[1], s->n, s->type)) &&
         is_matrix(s, &after[0], s->n, s->n, s->complex) &&
         is_matrix(s, &after[1], s->n, s->n, s->complex) && is_info(s, &after[2]);
}

static bool fits_gesdd(const call_shapes *s) {
  bool all = is_matrix(s, &s->out[2], s->m, s->m, s->type) &&
             is_matrix(s, &s->out[3], s->n, s->n, s->type);
  bool thin = is_matrix(s, &s->out[2], s->m, s->k, s->type) &&
              is_matrix(s, &s->out[3], s->k, s->n, s->type);
  return is_whole(s, &s->out[0]) && is_vector(s, &s->out[1], s->k, s->real) && (all || thin) &&
         is_info(s, &s->out[4]);
}

static bool fits_gesvd(const call_shapes *s) {
  return fits_gesdd(s);
}

static bool fits_gees(const call_shapes *s) {
  const hsc_literal *after = s->out + (s->is_complex ? 3 : 4);
  return s->m == s->n && is_whole(s, &s->out[0]) && is_whole(s, &s->out[1]) &&
         is_vector(s, &s->out[2], s->n, s->type) &&
         (s->is_complex || is_vector(s, &s->out[3], s->n, s->type)) && is_info(s, &after[0]) &&
         is_info(s, &after[1]);
}

static int64_t one_less(int64_t n) {
  return n > 0 ? n - 1 : 0;
}

static bool fits_gehrd(const call_shapes *s) {
  return s->m == s->n && is_whole(s, &s->out[0]) &&
         is_vector(s, &s->out[1], one_less(s->n), s->type) && is_info(s, &s->out[2]);
}

static bool fits_sytrd(const call_shapes *s) {
  return s->m == s->n && is_whole(s, &s->out[0]) && is_vector(s, &s->out[1], s->n, s->real) &&
         is_vector(s, &s->out[2], one_less(s->n), s->real) &&
         is_vector(s, &s->out[3], one_less(s->n), s->type) && is_info(s, &s->out[4]);
}

static bool fits_gtsv(const call_shapes *s) {
  for (int i = 0; i < 3; i++)
    if (!is_vector(s, &s->in[i], s->n, s->type) || !is_vector(s, &s->out[i], s->n, s->type))
      return false;
  if (!is_array(s, &s->in[3], 2, s->type))
    return false;
  int64_t right_sides = s->in[3].shape.dims[s->batch + 1];
  return is_matrix(s, &s->in[3], s->n, right_sides, s->type) &&
         is_matrix(s, &s->out[3], s->n, right_sides, s->type) && is_info(s, &s->out[4]);
}

static bool fits_trsm(const call_shapes *s) {
  if (s->m != s->n || !is_array(s, &s->in[1], 2, s->type))
    return false;
  int64_t rows = s->in[1].shape.dims[s->batch];
  int64_t columns = s->in[1].shape.dims[s->batch + 1];
  return (rows == s->n || columns == s->n) && is_matrix(s, &s->out[0], rows, columns, s->type);
}

static bool (*const fits[])(const call_shapes *) = {
#define LAPACK(routine, run, operands, results, doc) fits_##run,
#include "hlo/eval/lapack.def"
#undef LAPACK
};

bool hsc__lapack_shapes_fit(const hsc_custom_call *call, int row, hsc_type type, int batch_rank) {
  bool is_complex = type == HSC_TYPE_C64 || type == HSC_TYPE_C128;
  bool is_double = type == HSC_TYPE_F64 || type == HSC_TYPE_C128;
  const hsc_shape *first = &call->operands[0].shape;
  call_shapes s = {.in = call->operands,
                   .out = call->results,
                   .batch = batch_rank,
                   .type = type,
                   .real = is_double ? HSC_TYPE_F64 : HSC_TYPE_F32,
                   .complex = is_double ? HSC_TYPE_C128 : HSC_TYPE_C64,
                   .is_complex = is_complex,
                   .m = first->rank == batch_rank + 2 ? first->dims[batch_rank] : 0,
                   .n = first->dims[first->rank - 1]};
  s.k = s.m < s.n ? s.m : s.n;
  return fits[row](&s);
}
