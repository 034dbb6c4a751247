// lapack.c - linear algebra through LAPACK: finds the routines, turns row-major batches into
// LAPACK's columns and back, asks for work space.
//
// Each run_<routine> does one matrix of the batch. Arguments of routines:
// https://www.netlib.org/lapack/explore-html (all by reference; the lengths of characters that
// Fortran compilers add are left out, as all C callers of these libraries do). Outputs of the
// custom calls: jax/_src/lax/linalg.py.
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "base/files/places.h"
#include "hlo/ir/custom.h"
#include "hlo/eval/eval_internal.h"

typedef void any_function(void);

// ---- finding routines ---------------------------------------------------------------------------

enum { MAX_PROVIDED = 256 };
static struct {
  char name[16];
  void *function;
} provided[MAX_PROVIDED];
static int provided_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *libraries[2];
static void (*set_threads)(int);  // OpenBLAS's; NULL = another library
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;

// OpenBLAS's threads are awake for a while before and after a call, and wait for each other: where
// cores are shared, a system of 300 took 82 ms with them and 0.6 ms without. Matrices of fewer rows
// and columns are done before that could be worth it.
enum { THREADED_ORDER = 1024 };

static int processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

// OpenBLAS's threads spin for a while after each call: small matrices are done without them.
static void open_libraries(void) {
  static const char *const openblas[] = {"libopenblas.so.0", NULL};
  libraries[0] =
      hsc_place_open("libhloscope_openblas.so", openblas, RTLD_NOW | RTLD_LOCAL, NULL, 0);
  libraries[1] = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  void *found = libraries[0] ? dlsym(libraries[0], "openblas_set_num_threads") : NULL;
  memcpy(&set_threads, &found, sizeof found);
  if (set_threads)
    set_threads(1);
}

hsc_status *hsc_lapack_provide(const char *name, void *function) {
  if (strlen(name) >= sizeof provided[0].name)
    return HSC_ERR(INVALID_ARGUMENT, "LAPACK has no routine '%s'", name);
  pthread_mutex_lock(&lock);
  int at = 0;
  while (at < provided_count && strcmp(provided[at].name, name) != 0)
    at++;
  bool room = at < MAX_PROVIDED;
  if (room) {
    memcpy(provided[at].name, name, strlen(name) + 1);
    provided[at].function = function;
    if (at == provided_count)
      provided_count++;
  }
  pthread_mutex_unlock(&lock);
  return room ? NULL
              : HSC_ERR(RESOURCE_EXHAUSTED, "more than %d routines of LAPACK provided",
                        MAX_PROVIDED);
}

static hsc_status *find(const char *name, any_function **out_function) {
  char symbol[24];
  void *found = NULL;
  pthread_once(&once, open_libraries);
  snprintf(symbol, sizeof symbol, "%s_", name);
  for (size_t i = 0; i < HSC_COUNT_OF(libraries) && !found; i++)
    if (libraries[i])
      found = dlsym(libraries[i], symbol);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < provided_count && !found; i++)
    if (strcmp(provided[i].name, name) == 0)
      found = provided[i].function;
  pthread_mutex_unlock(&lock);
  if (!found)
    return hsc_status_hint(
        HSC_ERR(UNIMPLEMENTED, "custom-call: LAPACK's routine %s is needed and not on this machine",
                name),
        "install OpenBLAS (Debian: libopenblas0)");
  memcpy(out_function, &found, sizeof found);
  return NULL;
}

// ---- one call -----------------------------------------------------------------------------------

typedef struct job {
  const hsc_custom_call *call;
  const hsc_config *config;
  any_function *routine;
  hsc_arena *arena;  // reset for each matrix
  int64_t batch;
  size_t bytes;  // of an element
  bool is_complex, is_double;
  int m, n;  // of operand 0's matrices
} job;

static int least(int a, int b) {
  return a < b ? a : b;
}
static int at_least_one(int a) {
  return a > 0 ? a : 1;
}
static int rows_of(const hsc_literal *x) {
  return (int)x->shape.dims[x->shape.rank - 2];
}
static int columns_of(const hsc_literal *x) {
  return (int)x->shape.dims[x->shape.rank - 1];
}

static size_t size_of(const hsc_literal *x) {
  return hsc_type_bytes(x->shape.type);
}

// What belongs to the current matrix in an array whose last `dims` dimensions are one matrix's.
static unsigned char *part(const job *j, const hsc_literal *x, int dims) {
  int64_t elements = 1;
  for (int i = x->shape.rank - dims; i < x->shape.rank; i++)
    elements *= x->shape.dims[i];
  return (unsigned char *)x->data + (size_t)(j->batch * elements) * size_of(x);
}

enum { TILE = 16 };

static void transpose(
    size_t bytes, int64_t rows, int64_t columns, const unsigned char *from, unsigned char *to) {
// By tiles: of whole rows, each element would be written to a cache line of its own.
#define TRANSPOSE(type) \
  for (int64_t r0 = 0; r0 < rows; r0 += TILE) \
    for (int64_t c0 = 0; c0 < columns; c0 += TILE) \
      for (int64_t r = r0; r < r0 + TILE && r < rows; r++) \
        for (int64_t c = c0; c < c0 + TILE && c < columns; c++) \
  ((type *)(void *)to)[c * rows + r] = ((const type *)(const void *)from)[r * columns + c]
  typedef struct pair {
    uint64_t a, b;
  } pair;
  switch (bytes) {
    case 4:
      TRANSPOSE(uint32_t);
      break;
    case 8:
      TRANSPOSE(uint64_t);
      break;
    default:
      TRANSPOSE(pair);
      break;
  }
#undef TRANSPOSE
}

static void *space(job *j, size_t bytes) {
  return hsc_arena_alloc(j->arena, bytes ? bytes : 16);
}

// The current matrix of operand i by columns.
static void *matrix(job *j, int i) {
  const hsc_literal *x = &j->call->operands[i];
  int rows = rows_of(x);
  int columns = columns_of(x);
  unsigned char *out = space(j, (size_t)rows * (size_t)columns * size_of(x));
  if (out)
    transpose(size_of(x), rows, columns, part(j, x, 2), out);
  return out;
}

static void *new_matrix(job *j, int64_t rows, int64_t columns) {
  return space(j, (size_t)(rows * columns) * j->bytes);
}

// Stores a matrix that lies by columns; its leading dimension is the result's number of rows.
static void give(job *j, int i, const void *columns_first) {
  hsc_literal *x = &j->call->results[i];
  transpose(size_of(x), columns_of(x), rows_of(x), columns_first, part(j, x, 2));
}

static void give_info(job *j, int i, int info) {
  ((int32_t *)j->call->results[i].data)[j->batch] = info;
}
static void *vector(job *j, int i) {
  return part(j, &j->call->results[i], 1);
}
static char letter(const job *j, const char *name, char otherwise) {
  return (char)hsc_config_int(j->config, name, otherwise);
}

// The size that a routine wrote into the first element of its work space, and the space.
static int asked(const job *j, const void *answer) {
  double size = 0;
  float narrow;
  if (j->is_double) {
    memcpy(&size, answer, sizeof size);
  } else {
    memcpy(&narrow, answer, sizeof narrow);
    size = (double)nextafterf(narrow, INFINITY);  // a float that was rounded down
  }
  if (size < 1)
    return 1;
  if (size > INT_MAX)
    return INT_MAX;
  return (int)size;
}

// Calls `CALL` twice: with `lwork` -1 to ask, then with that much in `work`.
#define WITH_WORK(CALL) \
  do { \
    unsigned char answer_[16] = {0}; \
    void *work = answer_; \
    int lwork = -1; \
    CALL; \
    lwork = asked(j, answer_); \
    work = space(j, (size_t)lwork * j->bytes); \
    HSC_TRY(hsc_arena_status(j->arena)); \
    CALL; \
  } while (0)

#define ROUTINE(...) ((void (*)(__VA_ARGS__))j->routine)
typedef const char *C;
typedef const int *I;
typedef void *P;
typedef int *O;

static hsc_status *run_potrf(job *j) {
  char uplo = letter(j, "uplo", 'L');
  int info = 0;
  int lda = at_least_one(j->n);
  P a = matrix(j, 0);
  HSC_TRY(hsc_arena_status(j->arena));
  ROUTINE(C, I, P, I, O)(&uplo, &j->n, a, &lda, &info);
  give(j, 0, a);
  give_info(j, 1, info);
  return NULL;
}

static hsc_status *run_getrf(job *j) {
  int info = 0;
  int lda = at_least_one(j->m);
  P a = matrix(j, 0);
  HSC_TRY(hsc_arena_status(j->arena));
  ROUTINE(I, I, P, I, O, O)(&j->m, &j->n, a, &lda, vector(j, 1), &info);
  give(j, 0, a);
  give_info(j, 2, info);
  return NULL;
}

static hsc_status *run_geqrf(job *j) {
  int info = 0;
  int lda = at_least_one(j->m);
  P a = matrix(j, 0);
  WITH_WORK(
      ROUTINE(I, I, P, I, P, P, I, O)(&j->m, &j->n, a, &lda, vector(j, 1), work, &lwork, &info));
  give(j, 0, a);
  return NULL;
}

static hsc_status *run_geqp3(job *j) {
  int info = 0;
  int lda = at_least_one(j->m);
  P a = matrix(j, 0);
  P pivots = vector(j, 1);
  P tau = vector(j, 2);
  P real_work = space(j, (size_t)j->n * 2 * j->bytes);
  memcpy(pivots, part(j, &j->call->operands[1], 1), (size_t)j->n * sizeof(int32_t));
  if (j->is_complex)
    WITH_WORK(ROUTINE(I, I, P, I, O, P, P, I, P, O)(&j->m, &j->n, a, &lda, pivots, tau, work,
                                                    &lwork, real_work, &info));
  else
    WITH_WORK(ROUTINE(I, I, P, I, O, P, P, I, O)(&j->m, &j->n, a, &lda, pivots, tau, work, &lwork,
                                                 &info));
  give(j, 0, a);
  return NULL;
}

static hsc_status *run_orgqr(job *j) {
  int info = 0;
  int lda = at_least_one(j->m);
  int k = columns_of(&j->call->operands[1]);
  P a = matrix(j, 0);
  P tau = part(j, &j->call->operands[1], 1);
  WITH_WORK(
      ROUTINE(I, I, I, P, I, P, P, I, O)(&j->m, &j->n, &k, a, &lda, tau, work, &lwork, &info));
  give(j, 0, a);
  return info
             ? HSC_ERR(INVALID_ARGUMENT, "custom-call %s: argument %d of LAPACK's routine is wrong",
                       j->call->target, -info)
             : NULL;
}

static hsc_status *run_ormqr(job *j) {
  const hsc_literal *right = &j->call->operands[2];
  char side = hsc_config_int(j->config, "left", 1) ? 'L' : 'R';
  char transposed;
  if (!hsc_config_int(j->config, "transpose", 0))
    transposed = 'N';
  else if (j->is_complex)
    transposed = 'C';
  else
    transposed = 'T';
  int info = 0;
  int lda = at_least_one(j->m);
  int k = columns_of(&j->call->operands[1]);
  int rows = rows_of(right);
  int columns = columns_of(right);
  int ldc = at_least_one(rows);
  P a = matrix(j, 0);
  P tau = part(j, &j->call->operands[1], 1);
  P c = matrix(j, 2);
  WITH_WORK(ROUTINE(C, C, I, I, I, P, I, P, P, I, P, I, O)(
      &side, &transposed, &rows, &columns, &k, a, &lda, tau, c, &ldc, work, &lwork, &info));
  give(j, 0, c);
  return info
             ? HSC_ERR(INVALID_ARGUMENT, "custom-call %s: argument %d of LAPACK's routine is wrong",
                       j->call->target, -info)
             : NULL;
}

static hsc_status *run_syevd(job *j) {
  char mode = letter(j, "mode", 'V');
  char uplo = letter(j, "uplo", 'L');
  int info = 0;
  int n = j->n;
  int lda = at_least_one(n);
  int int_answer = 0;
  int minus = -1;
  int lwork = -1;
  int real_count;
  unsigned char answer[16] = {0};
  unsigned char real_answer[16] = {0};
  P a = matrix(j, 0);
  P w = vector(j, 1);
  HSC_TRY(hsc_arena_status(j->arena));
  if (j->is_complex)
    ROUTINE(C, C, I, P, I, P, P, I, P, I, O, I, O)(&mode, &uplo, &n, a, &lda, w, answer, &minus,
                                                   real_answer, &minus, &int_answer, &minus, &info);
  else
    ROUTINE(C, C, I, P, I, P, P, I, O, I, O)(&mode, &uplo, &n, a, &lda, w, answer, &minus,
                                             &int_answer, &minus, &info);
  lwork = asked(j, answer);
  real_count = asked(j, real_answer);
  P work = space(j, (size_t)lwork * j->bytes);
  P real_work = space(j, (size_t)real_count * j->bytes);
  P int_work = space(j, (size_t)int_answer * sizeof(int));
  HSC_TRY(hsc_arena_status(j->arena));
  if (j->is_complex)
    ROUTINE(C, C, I, P, I, P, P, I, P, I, O, I, O)(&mode, &uplo, &n, a, &lda, w, work, &lwork,
                                                   real_work, &real_count, int_work, &int_answer,
                                                   &info);
  else
    ROUTINE(C, C, I, P, I, P, P, I, O, I, O)(&mode, &uplo, &n, a, &lda, w, work, &lwork, int_work,
                                             &int_answer, &info);
  give(j, 0, a);
  give_info(j, 2, info);
  return NULL;
}

static double real_at(const job *j, const void *array, int64_t i) {
  return j->is_double ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static bool is_finite(const job *j) {
  const hsc_literal *x = &j->call->operands[0];
  int64_t count = (int64_t)j->m * j->n * (j->is_complex ? 2 : 1);
  const void *data = part(j, x, 2);
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(real_at(j, data, i)))
      return false;
  return true;
}

// Real eigenvectors come as columns: v for a real eigenvalue, re and im for a pair. The result is
// complex.
static void give_pairs(job *j, int result, const void *v, const void *imaginary) {
  int n = j->n;
  unsigned char *to = part(j, &j->call->results[result], 2);
  for (int c = 0; c < n; c++) {
    bool pair = real_at(j, imaginary, c) != 0 && c + 1 < n;
    for (int r = 0; r < n; r++) {
      double re = real_at(j, v, (int64_t)c * n + r);
      double im = pair ? real_at(j, v, (int64_t)(c + 1) * n + r) : 0;
      for (int k = 0; k <= (pair ? 1 : 0); k++) {
        int64_t at = 2 * ((int64_t)r * n + c + k);
        if (j->is_double) {
          ((double *)(void *)to)[at] = re;
          ((double *)(void *)to)[at + 1] = k ? -im : im;
        } else {
          ((float *)(void *)to)[at] = (float)re;
          ((float *)(void *)to)[at + 1] = (float)(k ? -im : im);
        }
      }
    }
    if (pair)
      c++;
  }
}

static hsc_status *run_geev(job *j) {
  char left = letter(j, "compute_left", 'V');
  char right = letter(j, "compute_right", 'V');
  // the first of the eigenvectors' results
  int info = 0;
  int n = j->n;
  int lda = at_least_one(n);
  int first = j->is_complex ? 1 : 2;
  P a = matrix(j, 0);
  P w = vector(j, 0);
  P vl = new_matrix(j, n, n);
  P vr = new_matrix(j, n, n);
  if (!is_finite(j)) {  // iterations on NaN need not end
    give_info(j, first + 2, -4);
    return NULL;
  }
  if (j->is_complex) {
    P real_work = space(j, (size_t)n * 2 * j->bytes);
    WITH_WORK(ROUTINE(C, C, I, P, I, P, P, I, P, I, P, I, P, O)(
        &left, &right, &n, a, &lda, w, vl, &lda, vr, &lda, work, &lwork, real_work, &info));
    if (left == 'V')
      give(j, 1, vl);
    if (right == 'V')
      give(j, 2, vr);
  } else {
    P imaginary = vector(j, 1);
    WITH_WORK(ROUTINE(C, C, I, P, I, P, P, P, I, P, I, P, I, O)(
        &left, &right, &n, a, &lda, w, imaginary, vl, &lda, vr, &lda, work, &lwork, &info));
    if (left == 'V')
      give_pairs(j, 2, vl, imaginary);
    if (right == 'V')
      give_pairs(j, 3, vr, imaginary);
  }
  give_info(j, first + 2, info);
  return NULL;
}

typedef struct svd_space {
  char mode;
  int lda, u_rows, vt_rows;
  P a, s, u, vt;
} svd_space;

static void begin_svd(job *j, svd_space *x) {
  x->mode = letter(j, "mode", 'A');
  x->lda = at_least_one(j->m);
  x->a = matrix(j, 0);
  x->s = vector(j, 1);
  x->u_rows = at_least_one(rows_of(&j->call->results[2]));
  x->vt_rows = at_least_one(rows_of(&j->call->results[3]));
  x->u = new_matrix(j, rows_of(&j->call->results[2]), columns_of(&j->call->results[2]));
  x->vt = new_matrix(j, rows_of(&j->call->results[3]), columns_of(&j->call->results[3]));
}

static void end_svd(job *j, const svd_space *x, int info) {
  give(j, 0, x->a);
  if (x->mode != 'N') {
    give(j, 2, x->u);
    give(j, 3, x->vt);
  }
  give_info(j, 4, info);
}

static hsc_status *run_gesdd(job *j) {
  svd_space x;
  begin_svd(j, &x);
  int info = 0;
  size_t small = (size_t)least(j->m, j->n);
  size_t large = (size_t)(j->m > j->n ? j->m : j->n);
  size_t square = 5 * small * small + 7 * small;
  size_t wide = 2 * large * small + 2 * small * small + small;
  P int_work = space(j, 8 * small * sizeof(int));
  size_t real_count = square > wide ? square : wide;
  P real_work = space(j, j->is_complex ? real_count * j->bytes : 0);
  if (j->is_complex)
    WITH_WORK(ROUTINE(C, I, I, P, I, P, P, I, P, I, P, I, P, O, O)(
        &x.mode, &j->m, &j->n, x.a, &x.lda, x.s, x.u, &x.u_rows, x.vt, &x.vt_rows, work, &lwork,
        real_work, int_work, &info));
  else
    WITH_WORK(ROUTINE(C, I, I, P, I, P, P, I, P, I, P, I, O, O)(
        &x.mode, &j->m, &j->n, x.a, &x.lda, x.s, x.u, &x.u_rows, x.vt, &x.vt_rows, work, &lwork,
        int_work, &info));
  end_svd(j, &x, info);
  return NULL;
}

static hsc_status *run_gesvd(job *j) {
  svd_space x;
  begin_svd(j, &x);
  int info = 0;
  P real_work = space(j, 5 * (size_t)least(j->m, j->n) * j->bytes);
  if (j->is_complex)
    WITH_WORK(ROUTINE(C, C, I, I, P, I, P, P, I, P, I, P, I, P, O)(
        &x.mode, &x.mode, &j->m, &j->n, x.a, &x.lda, x.s, x.u, &x.u_rows, x.vt, &x.vt_rows, work,
        &lwork, real_work, &info));
  else
    WITH_WORK(ROUTINE(C, C, I, I, P, I, P, P, I, P, I, P, I, O)(&x.mode, &x.mode, &j->m, &j->n, x.a,
                                                                &x.lda, x.s, x.u, &x.u_rows, x.vt,
                                                                &x.vt_rows, work, &lwork, &info));
  end_svd(j, &x, info);
  return NULL;
}

static hsc_status *run_gees(job *j) {
  char mode = letter(j, "mode", 'V');
  char sort = 'N';
  int info = 0;
  int selected = 0;
  int n = j->n;
  int lda = at_least_one(n);
  int last = j->is_complex ? 3 : 4;
  P a = matrix(j, 0);
  P vectors = new_matrix(j, n, n);
  P w = vector(j, 2);
  P flags = space(j, (size_t)n * sizeof(int));
  if (j->is_complex) {
    P real_work = space(j, (size_t)n * j->bytes);
    WITH_WORK(ROUTINE(C, C, P, I, P, I, O, P, P, I, P, I, P, O, O)(
        &mode, &sort, NULL, &n, a, &lda, &selected, w, vectors, &lda, work, &lwork, real_work,
        flags, &info));
  } else {
    P imaginary = vector(j, 3);
    WITH_WORK(ROUTINE(C, C, P, I, P, I, O, P, P, P, I, P, I, O, O)(
        &mode, &sort, NULL, &n, a, &lda, &selected, w, imaginary, vectors, &lda, work, &lwork,
        flags, &info));
  }
  give(j, 0, a);
  if (mode == 'V')
    give(j, 1, vectors);
  give_info(j, last, selected);
  give_info(j, last + 1, info);
  return NULL;
}

static hsc_status *run_gehrd(job *j) {
  int info = 0;
  int n = j->n;
  int lda = at_least_one(n);
  int low = (int)hsc_config_int(j->config, "low", 1);
  int high = (int)hsc_config_int(j->config, "high", n);
  P a = matrix(j, 0);
  WITH_WORK(ROUTINE(I, I, I, P, I, P, P, I, O)(&n, &low, &high, a, &lda, vector(j, 1), work, &lwork,
                                               &info));
  give(j, 0, a);
  give_info(j, 2, info);
  return NULL;
}

static hsc_status *run_sytrd(job *j) {
  char uplo = letter(j, "uplo", 'L');
  int info = 0;
  int n = j->n;
  int lda = at_least_one(n);
  P a = matrix(j, 0);
  WITH_WORK(ROUTINE(C, I, P, I, P, P, P, P, I, O)(&uplo, &n, a, &lda, vector(j, 1), vector(j, 2),
                                                  vector(j, 3), work, &lwork, &info));
  give(j, 0, a);
  give_info(j, 4, info);
  return NULL;
}

static hsc_status *run_gtsv(job *j) {
  const hsc_literal *right = &j->call->operands[3];
  int info = 0;
  int n = rows_of(right);
  int columns = columns_of(right);
  int ldb = at_least_one(n);
  P b = matrix(j, 3);
  HSC_TRY(hsc_arena_status(j->arena));
  for (int i = 0; i < 3; i++)
    memcpy(vector(j, i), part(j, &j->call->operands[i], 1), (size_t)n * j->bytes);
  // JAX keeps the lower diagonal's first element for nothing; LAPACK begins with its second.
  ROUTINE(I, I, P, P, P, P, I, O)(&n, &columns, (unsigned char *)vector(j, 0) + j->bytes,
                                  vector(j, 1), vector(j, 2), b, &ldb, &info);
  give(j, 3, b);
  give_info(j, 4, info);
  return NULL;
}

static hsc_status *run_trsm(job *j) {
  const hsc_literal *right = &j->call->operands[1];
  char side = letter(j, "side", 'L');
  char uplo = letter(j, "uplo", 'L');
  char transposed = letter(j, "trans_x", 'N');
  char diagonal = letter(j, "diag", 'N');
  int m = rows_of(right);
  int n = columns_of(right);
  int lda = at_least_one(j->n);
  int ldb = at_least_one(m);
  union {
    float f[2];
    double d[2];
  } one = {{0}};
  if (j->is_double)
    one.d[0] = 1;
  else
    one.f[0] = 1;
  P a = matrix(j, 0);
  P b = matrix(j, 1);
  HSC_TRY(hsc_arena_status(j->arena));
  ROUTINE(C, C, C, C, I, I, P, P, I, P, I)(&side, &uplo, &transposed, &diagonal, &m, &n, &one, a,
                                           &lda, b, &ldb);
  give(j, 0, b);
  return NULL;
}

// ---- the table ----------------------------------------------------------------------------------

static const struct {
  const char *routine;
  hsc_status *(*run)(job *j);
  int operands, results;  // results 0: 4 or 5, 5 or 6, more by one for real types
} rows[] = {
#define LAPACK(routine, run, operands, results, doc) {#routine, run_##run, operands, results},
#include "hlo/eval/lapack.def"
#undef LAPACK
};

static int find_row(const char *target, char *out_letter) {
  if (strncmp(target, "lapack_", 7) != 0 || !target[7] || !strchr("sdcz", target[7]))
    return -1;
  *out_letter = target[7];
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    size_t size = strlen(rows[i].routine);
    if (strncmp(target + 8, rows[i].routine, size) == 0 && strcmp(target + 8 + size, "_ffi") == 0)
      return (int)i;
  }
  return -1;
}

bool hsc__lapack_is_target(const char *target) {
  char letter_of_type;
  return find_row(target, &letter_of_type) >= 0;
}

static hsc_status *wrong_shapes(const hsc_custom_call *call) {
  return HSC_ERR(INVALID_ARGUMENT,
                 "custom-call %s: operands or results of other shapes than LAPACK's routine wants",
                 call->target);
}

// All arrays share the batch; matrices have sides that an int holds. What else a routine wants of
// sides is checked by row.
static hsc_status *check(const hsc_custom_call *call,
                         int row,
                         hsc_type type,
                         int *out_batch_rank,
                         int64_t *out_batches) {
  int results = rows[row].results;
  bool is_complex = type == HSC_TYPE_C64 || type == HSC_TYPE_C128;
  if (results == 0)
    results = (strcmp(rows[row].routine, "gees") == 0 ? 5 : 4) + (is_complex ? 0 : 1);
  if (call->operand_count != rows[row].operands || call->result_count != results ||
      call->operands[0].shape.type != type)
    return wrong_shapes(call);
  int batch_rank = rows[row].run == run_gtsv ? call->operands[0].shape.rank - 1
                                             : call->operands[0].shape.rank - 2;
  if (batch_rank < 0)
    return wrong_shapes(call);
  *out_batch_rank = batch_rank;
  *out_batches = 1;
  for (int i = 0; i < batch_rank; i++)
    *out_batches *= call->operands[0].shape.dims[i];
  for (int i = 0; i < call->operand_count + call->result_count; i++) {
    const hsc_shape *shape = i < call->operand_count
                                 ? &call->operands[i].shape
                                 : &call->results[i - call->operand_count].shape;
    if (shape->rank < batch_rank || shape->rank > batch_rank + 2)
      return wrong_shapes(call);
    for (int d = 0; d < shape->rank; d++)
      if (d < batch_rank ? shape->dims[d] != call->operands[0].shape.dims[d]
                         : shape->dims[d] > INT_MAX)
        return wrong_shapes(call);
  }
  return NULL;
}

// What attributes must agree with shapes in, beyond hsc__lapack_shapes_fit.
static bool attributes_fit(const job *j, int row) {
  if (rows[row].run == run_trsm)
    return (letter(j, "side", 'L') == 'L' ? rows_of(&j->call->operands[1])
                                          : columns_of(&j->call->operands[1])) == j->n;
  if (rows[row].run == run_ormqr)
    return (hsc_config_int(j->config, "left", 1) ? rows_of(&j->call->operands[2])
                                                 : columns_of(&j->call->operands[2])) == j->m;
  if (rows[row].run == run_gehrd)
    return hsc_config_int(j->config, "low", 1) >= 1 &&
           hsc_config_int(j->config, "high", j->n) <= j->n;
  if (rows[row].run == run_gesdd || rows[row].run == run_gesvd) {
    char mode = letter(j, "mode", 'A');
    int u = columns_of(&j->call->results[2]);
    return mode == 'N' || (mode == 'A' && u == j->m && rows_of(&j->call->results[3]) == j->n) ||
           (mode == 'S' && u == least(j->m, j->n));
  }
  return true;
}

static hsc_status *run_batch(job *j, int row, int64_t batches) {
  hsc_status *status = NULL;
  // The number of threads is the library's, not the call's.
  bool threaded = set_threads && batches > 0 && least(j->m, j->n) >= THREADED_ORDER;
  if (threaded) {
    pthread_mutex_lock(&threads_lock);
    set_threads(processors());
  }
  for (j->batch = 0; j->batch < batches; j->batch++) {
    hsc_arena_reset(j->arena);
    HSC_GOTO(rows[row].run(j));
    HSC_GOTO(hsc_arena_status(j->arena));
  }
done:
  if (threaded) {
    set_threads(1);
    pthread_mutex_unlock(&threads_lock);
  }
  return status;
}

hsc_status *hsc__lapack_run(void *user, const hsc_custom_call *call) {
  (void)user;
  char type_letter, name[16];
  int row = find_row(call->target, &type_letter);
  hsc_type type;
  if (type_letter == 's')
    type = HSC_TYPE_F32;
  else if (type_letter == 'd')
    type = HSC_TYPE_F64;
  else if (type_letter == 'c')
    type = HSC_TYPE_C64;
  else
    type = HSC_TYPE_C128;
  int64_t batches = 0;
  int batch_rank = 0;
  HSC_TRY(check(call, row, type, &batch_rank, &batches));
  if (!hsc__lapack_shapes_fit(call, row, type, batch_rank))
    return wrong_shapes(call);
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  hsc_arena *scratch = NULL;
  job j = {.call = call,
           .bytes = hsc_type_bytes(type),
           .is_complex = type_letter == 'c' || type_letter == 'z',
           .is_double = type_letter == 'd' || type_letter == 'z'};
  j.n = columns_of(&call->operands[0]);
  j.m = rows[row].run == run_gtsv ? 0 : rows_of(&call->operands[0]);
  snprintf(name, sizeof name, "%c%s", type_letter, rows[row].routine);
  HSC_GOTO(find(name, &j.routine));
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_arena_create(&scratch));
  j.arena = scratch;
  HSC_GOTO(hsc_config_parse(call->config, arena, &j.config));
  if (!attributes_fit(&j, row))
    HSC_GOTO(wrong_shapes(call));
  // Nothing to compute where a side is zero: results are zeros, info is 0.
  if (j.n == 0 || (j.m == 0 && rows[row].run != run_gtsv))
    batches = 0;
  HSC_GOTO(run_batch(&j, row, batches));
done:
  hsc_arena_destroy(scratch);
  hsc_arena_destroy(arena);
  return status;
}
