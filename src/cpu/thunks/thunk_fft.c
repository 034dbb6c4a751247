// thunk_fft.c - fft, ifft, rfft, irfft (see fft.h). Groups of lines are shared out to the threads;
// the lines of a group are transformed at once, interleaved (fft_kernels.h), and read so that each
// cache line is used whole. Single precision is computed in single precision, as XLA:CPU does; its
// tables are made in double.
#include <math.h>

#include "cpu/kernels/fft/fft_kernels.h"
#include "cpu/thunks/fft.h"
#include "cpu/thunks/lower.h"

typedef struct complex_double {
  double re, im;
} z128;

// Lines that are transformed at once: neighbours along the inner dimensions, or, where a line's
// elements are neighbours themselves, lines one after the other.
static int64_t lines_at_once(const hsc_fft_pass *pass) {
  int64_t most = pass->inner > 1 ? pass->inner : pass->outer;
  return most < HSC_FFT_LINES ? most : HSC_FFT_LINES;
}

// Elements of what is transformed.
static int64_t transform_length(const hsc_fft_pass *pass) {
  return pass->padded ? pass->padded : pass->length;
}

// Numbers are kept and computed in the precision of the result, which is that of the input too.
static hsc_fft_precision precision_of(const hsc_fft *f) {
  return f->out_type == HSC_TYPE_F32 || f->out_type == HSC_TYPE_C64 ? HSC_FFT_SINGLE
                                                                    : HSC_FFT_DOUBLE;
}
static int64_t complex_bytes(const hsc_fft *f) {
  return precision_of(f) == HSC_FFT_SINGLE ? 8 : 16;
}

// One copy of the lines of a group; halves of spectra have one row more.
static int64_t room_bytes(const hsc_fft *f, const hsc_fft_pass *pass) {
  int64_t rows = hsc__size_times(hsc__size_plus(transform_length(pass), 4), lines_at_once(pass));
  return hsc__size_times(rows, complex_bytes(f));
}

// Two copies, which the transform goes between; Bluestein's chirp is transformed there in double,
// one line.
static int64_t worker_bytes(const hsc_fft *f, const hsc_fft_pass *pass) {
  int64_t lines = hsc__size_times(2, room_bytes(f, pass));
  int64_t chirp = pass->padded ? hsc__size_times(pass->padded, 2 * (int64_t)sizeof(z128)) : 0;
  return lines > chirp ? lines : chirp;
}

// Roots, Bluestein's chirp and spectrum, and the roots that make a spectrum of two halves, as they
// are made, in double.
static int64_t table_bytes(const hsc_fft_pass *pass) {
  int64_t roots = transform_length(pass);
  int64_t more = pass->padded ? hsc__size_plus(pass->length, pass->padded) : 0;
  int64_t halves = pass->length < pass->n ? pass->length / 2 + 1 : 0;
  more = hsc__size_plus(more, halves);
  return hsc__size_times(hsc__size_plus(roots, more), (int64_t)sizeof(z128));
}

// ---- choosing -----------------------------------------------------------------------------------

// A prime factor from here on makes the length one of Bluestein's: it would cost that many
// operations an element.
enum { LARGE_PRIME = 37 };

static bool factor_length(hsc_fft_pass *pass, int64_t length) {
  int64_t rest = length;
  pass->factor_count = 0;
  for (int64_t radix = 4; rest > 1;) {
    if (rest % radix == 0) {
      if (pass->factor_count == HSC_FFT_MAX_FACTORS)
        return false;
      pass->factors[pass->factor_count++] = (int32_t)radix;
      rest /= radix;
      continue;
    }
    if (radix == 4)
      radix = 2;
    else if (radix == 2)
      radix = 3;
    else
      radix = radix + 2;
    if (radix > 3 && radix * radix > rest)
      radix = rest;
    if (radix > INT32_MAX)
      return false;
  }
  return true;
}

// The least length from `least` on that is made of twos and of few threes and fives.
static int64_t smooth_length(int64_t least) {
  enum { MOST_THREES = 4, MOST_FIVES = 2 };
  int64_t best = 0;
  int64_t threes = 1;
  for (int t = 0; t <= MOST_THREES; t++, threes *= 3) {
    int64_t length = threes;
    for (int f = 0; f <= MOST_FIVES; f++, length *= 5) {
      int64_t whole = length;
      while (whole < least)
        whole *= 2;
      if (best == 0 || whole < best)
        best = whole;
    }
  }
  return best;
}

static bool factor(hsc_fft_pass *pass) {
  pass->padded = 0;
  if (!factor_length(pass, pass->length))
    return false;
  if (pass->factor_count == 0 || pass->factors[pass->factor_count - 1] < LARGE_PRIME)
    return true;
  if (pass->length > (int64_t)1 << 40)
    return false;
  pass->padded = smooth_length(2 * pass->length);
  return factor_length(pass, pass->padded);
}

static bool usable(hsc_type type) {
  return type == HSC_TYPE_F32 || type == HSC_TYPE_F64 || type == HSC_TYPE_C64 ||
         type == HSC_TYPE_C128;
}

// Pass number k: from the last dimension to the first; back to a real array the last dimension
// comes last.
static bool plan_pass(const hsc_instr *instr, int k, hsc_fft_pass *pass) {
  const hsc_shape *in = &instr->operands[0]->shape;
  const hsc_shape *out = &instr->shape;
  hsc_fft_type kind = instr->attr.fft.type;
  int count = instr->attr.fft.length.count;
  int rank = in->rank;
  int dim = rank - 1 - k;
  if (kind == HSC_IRFFT)
    dim = k == count - 1 ? rank - 1 : rank - count + k;
  *pass =
      (hsc_fft_pass){.n = instr->attr.fft.length.v[dim - (rank - count)], .inner = 1, .outer = 1};
  bool last = dim == rank - 1;
  pass->in_length = last && kind == HSC_IRFFT ? pass->n / 2 + 1 : pass->n;
  pass->out_length = last && kind == HSC_RFFT ? pass->n / 2 + 1 : pass->n;
  bool real = last && (kind == HSC_RFFT || kind == HSC_IRFFT);
  pass->length = real && pass->n % 2 == 0 ? pass->n / 2 : pass->n;
  if (in->dims[dim] != pass->in_length || out->dims[dim] != pass->out_length || !factor(pass))
    return false;
  // The last dimension is half as long on the complex side, which every other pass sees.
  const hsc_shape *complex_side = kind == HSC_RFFT ? out : in;
  for (int i = 0; i < dim; i++)
    pass->outer *= in->dims[i];
  for (int i = dim + 1; i < rank; i++)
    pass->inner *= complex_side->dims[i];
  return true;
}

hsc_status *hsc__cpu_choose_fft(hsc_cpu_compiler *compiler,
                                hsc_cpu_step *step,
                                hsc_cpu_choice *choice,
                                bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  if (instr->op != HSC_OP_FFT || instr->attr.fft.length.count < 1 ||
      instr->attr.fft.length.count > HSC_FFT_MAX_DIMS)
    return NULL;
  const hsc_shape *in = &instr->operands[0]->shape;
  int count = instr->attr.fft.length.count;
  hsc_fft_type kind = instr->attr.fft.type;
  if (!usable(in->type) || !usable(instr->shape.type) || in->rank < count)
    return NULL;
  hsc_fft *f = HSC_NEW(compiler->arena, hsc_fft);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *f = (hsc_fft){.in_type = (int32_t)in->type,
                 .out_type = (int32_t)instr->shape.type,
                 .inverse = kind == HSC_IFFT || kind == HSC_IRFFT,
                 .to_real = kind == HSC_IRFFT,
                 .pass_count = count};
  int64_t scratch = 0;
  int64_t most = 0;
  int64_t between = 0;
  for (int k = 0; k < count; k++) {
    hsc_fft_pass *pass = &f->passes[k];
    if (!plan_pass(instr, k, pass))
      return NULL;
    pass->roots_offset = scratch;
    scratch += (table_bytes(pass) + 63) / 64 * 64;
    if (worker_bytes(f, pass) > most)
      most = worker_bytes(f, pass);
    int64_t elements = pass->outer * pass->inner * pass->out_length;
    if (k + 1 < count && elements > between)
      between = elements;
  }
  f->work_offset = scratch;
  step->scratch_bytes = scratch + between * complex_bytes(f);
  hsc__cpu_need_worker_scratch(compiler, most);
  choice->payload = f;
  choice->payload_bytes = sizeof *f;
  *out_chosen = true;
  return NULL;
}

// ---- lines of an array --------------------------------------------------------------------------

typedef struct fft_run {
  const hsc_fft *f;
  const hsc_fft_pass *pass;
  const hsc_cpu_frame *frame;
  hsc_fft_function lines;
  hsc_fft_job job;
  int32_t in_type, out_type;       // complex between passes
  int64_t groups;                  // of lines that are done at once, in a row of lines
  int64_t group_count, per_chunk;  // in all; for a chunk
} fft_run;

// Real numbers in twos, as complex ones.
static hsc_fft_place in_twos(hsc_fft_place place) {
  place.type = place.type == HSC_TYPE_F32 ? HSC_TYPE_C64 : HSC_TYPE_C128;
  place.at /= 2;
  place.line /= 2;
  return place;
}

static void do_group(const fft_run *r, int64_t group, int worker) {
  const hsc_fft_pass *pass = r->pass;
  bool across = pass->inner > 1;
  int64_t outer = across ? group / r->groups : group * HSC_FFT_LINES;
  int64_t first = across ? group % r->groups * HSC_FFT_LINES : 0;
  int64_t left = across ? pass->inner - first : pass->outer - outer;
  int64_t lines = left < HSC_FFT_LINES ? left : HSC_FFT_LINES;
  char *x = hsc__cpu_worker_scratch(r->frame, worker);
  char *y = x + room_bytes(r->f, pass);
  hsc_fft_place from = {.type = (hsc_type)r->in_type,
                        .at = outer * pass->in_length * pass->inner + first,
                        .step = pass->inner,
                        .line = across ? 1 : pass->in_length};
  hsc_fft_place to = {.type = (hsc_type)r->out_type,
                      .at = outer * pass->out_length * pass->inner + first,
                      .step = pass->inner,
                      .line = across ? 1 : pass->out_length};
  if (pass->length < pass->n && r->job.mirrors)
    to = in_twos(to);
  else if (pass->length < pass->n)
    from = in_twos(from);
  r->lines(&r->job, from, to, lines, x, y);
}

static void do_chunk(void *context, int64_t chunk, int worker) {
  const fft_run *r = context;
  int64_t end =
      (chunk + 1) * r->per_chunk < r->group_count ? (chunk + 1) * r->per_chunk : r->group_count;
  for (int64_t group = chunk * r->per_chunk; group < end; group++)
    do_group(r, group, worker);
}

// w_n^i as the product of two roots that the C library gives: within two roundings, and one call
// for each of the first and of every ROOT_STEP-th. Rounded once more to single precision.
enum { ROOT_STEP = 256 };

static hsc_fft_root root_of(int64_t n, bool inverse, int64_t i) {
  double turn = (inverse ? 2 : -2) * 3.14159265358979323846 / (double)n;
  return (hsc_fft_root){cos(turn * (double)i), sin(turn * (double)i)};
}

// The first `count` of them.
static void make_roots(
    int64_t n, int64_t count, bool inverse, hsc_fft_precision precision, void *roots) {
  hsc_fft_root first[ROOT_STEP];
  hsc_fft_root *wide = roots;
  float *narrow = roots;
  int64_t few = count < ROOT_STEP ? count : ROOT_STEP;
  for (int64_t i = 0; i < few; i++)
    first[i] = root_of(n, inverse, i);
  for (int64_t i = 0; i < count; i += ROOT_STEP) {
    hsc_fft_root base = root_of(n, inverse, i);
    int64_t end = count - i < ROOT_STEP ? count - i : ROOT_STEP;
    for (int64_t k = 0; k < end; k++) {
      hsc_fft_root w = {base.re * first[k].re - base.im * first[k].im,
                        base.re * first[k].im + base.im * first[k].re};
      if (precision == HSC_FFT_DOUBLE) {
        wide[i + k] = w;
        continue;
      }
      narrow[2 * (i + k)] = (float)w.re;
      narrow[2 * (i + k) + 1] = (float)w.im;
    }
  }
}

// Bluestein's tables in double: the roots, the chirp, the spectrum of its conjugate.
static void make_chirp(const fft_run *r, const hsc_fft_kernels *kernels, hsc_fft_root *roots) {
  const hsc_fft_pass *pass = r->pass;
  int64_t n = pass->length;
  int64_t m = pass->padded;
  hsc_fft_root *chirp = roots + m;
  hsc_fft_root *turns = chirp + n;  // where the spectrum will lie: there is room for 2 n
  make_roots(m, m, false, HSC_FFT_DOUBLE, roots);
  make_roots(2 * n, 2 * n, r->f->inverse, HSC_FFT_DOUBLE, turns);
  for (int64_t j = 0, square = 0; j < n; j++) {
    chirp[j] = turns[square];
    square += 2 * j + 1;
    if (square >= 2 * n)
      square -= 2 * n;
  }
  double *x = hsc__cpu_worker_scratch(r->frame, 0);
  double *y = x + 2 * m;
  memset(x, 0, sizeof *x * (size_t)(2 * m));
  for (int64_t j = 0; j < n; j++) {
    int64_t mirrored = j ? m - j : 0;
    x[j] = x[mirrored] = chirp[j].re;
    x[m + j] = x[m + mirrored] = -chirp[j].im;
  }
  const double *done = kernels->transform(pass->factors, pass->factor_count, m, roots, x, y);
  memcpy(turns, done, sizeof *done * (size_t)(2 * m));
}

// Each float lies at or before the double that it is made from.
static void narrow_in_place(void *table, int64_t count) {
  const char *from = table;
  char *to = table;
  for (int64_t i = 0; i < count; i++) {
    double wide;
    memcpy(&wide, from + i * (int64_t)sizeof wide, sizeof wide);
    float narrow = (float)wide;
    memcpy(to + i * (int64_t)sizeof narrow, &narrow, sizeof narrow);
  }
}

static void make_tables(const fft_run *r, const hsc_fft_kernels *kernels, char *tables) {
  const hsc_fft_pass *pass = r->pass;
  hsc_fft_precision precision = precision_of(r->f);
  int64_t made = transform_length(pass);
  if (pass->padded) {
    make_chirp(r, kernels, (hsc_fft_root *)(void *)tables);
    made += pass->length + pass->padded;
    if (precision == HSC_FFT_SINGLE)
      narrow_in_place(tables, 2 * made);
  } else
    make_roots(made, made, r->f->inverse, precision, tables);
  if (pass->length < pass->n)
    make_roots(pass->n, pass->length / 2 + 1, r->f->inverse, precision,
               tables + made * complex_bytes(r->f));
}

// A pass over one dimension: the k-th.
static void run_pass(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk, int k) {
  const hsc_fft *f = hsc__cpu_data(frame, thunk);
  const hsc_fft_pass *pass = &f->passes[k];
  const hsc_fft_kernels *kernels = hsc_fft_kernels_for(frame->executable->device->isa.level);
  char *scratch = hsc__cpu_scratch(frame, thunk);
  hsc_fft_precision precision = precision_of(f);
  int32_t between = precision == HSC_FFT_SINGLE ? HSC_TYPE_C64 : HSC_TYPE_C128;
  bool first = k == 0;
  bool last = k == f->pass_count - 1;
  double scale = pass->padded ? 1 / (double)pass->padded : 1;
  if (f->inverse)
    scale /= (double)pass->n;
  char *tables = scratch + pass->roots_offset;
  fft_run r = {.f = f,
               .pass = pass,
               .frame = frame,
               .lines = kernels->lines[precision],
               .in_type = first ? f->in_type : between,
               .out_type = last ? f->out_type : between,
               .job = {.factors = pass->factors,
                       .factor_count = pass->factor_count,
                       .inverse = f->inverse,
                       .mirrors = last && f->to_real,
                       .n = pass->length,
                       .padded = pass->padded,
                       .in_length = pass->in_length,
                       .out_length = pass->out_length,
                       .in = scratch + f->work_offset,
                       .out = scratch + f->work_offset,
                       .scale = scale,
                       .roots = tables}};
  if (first)
    r.job.in = hsc__cpu_input(frame, thunk, 0);
  if (last)
    r.job.out = hsc__cpu_output(frame, thunk, 0);
  make_tables(&r, kernels, tables);
  if (pass->length < pass->n)
    r.lines = kernels->halves[precision];
  int64_t row = pass->inner > 1 ? pass->inner : pass->outer;
  r.groups = (row + HSC_FFT_LINES - 1) / HSC_FFT_LINES;
  r.group_count = pass->inner > 1 ? pass->outer * r.groups : r.groups;
  // About 4096 elements a chunk: less is not worth a thread's while.
  r.per_chunk = 4096 / (pass->n * lines_at_once(pass)) + 1;
  hsc_cpu_pool_run(frame->pool, (r.group_count + r.per_chunk - 1) / r.per_chunk, do_chunk, &r);
}

hsc_status *hsc__cpu_run_fft(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_fft *f = hsc__cpu_data(frame, thunk);
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  if (slices[0].bytes == 0 || slices[1].bytes == 0)
    return NULL;
  for (int k = 0; k < f->pass_count; k++)
    run_pass(frame, thunk, k);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

// The lengths of a pass: its factors make n, so that every root that a radix asks for is there.
static bool factors_fit(const hsc_fft_pass *pass) {
  int64_t product = 1;
  if (pass->factor_count < 0 || pass->factor_count > HSC_FFT_MAX_FACTORS)
    return false;
  for (int32_t f = 0; f < pass->factor_count; f++) {
    if (pass->factors[f] < 2)
      return false;
    product = hsc__size_times(product, pass->factors[f]);
  }
  return product == transform_length(pass);
}

// What a pass reads or writes: all lines, `length` elements of each.
static int64_t side_bytes(const hsc_fft_pass *pass, int64_t length, int32_t type) {
  int64_t lines = hsc__size_times(pass->outer, pass->inner);
  return hsc__size_times(hsc__size_times(lines, length), (int64_t)hsc_type_bytes((hsc_type)type));
}

// Lines of real numbers, at one end: those of an even number are taken in twos, with half a
// spectrum at the other end.
static bool real_lines_fit(const hsc_fft *f, const hsc_fft_pass *pass, bool real_in, bool mirrors) {
  int64_t half = pass->n / 2 + 1;
  if ((real_in && pass->out_length > half) || (mirrors && pass->in_length != half))
    return false;
  if (pass->length == pass->n)
    return true;
  if (pass->n % 2 || pass->length != pass->n / 2 || pass->inner != 1 || real_in == mirrors)
    return false;
  if (mirrors)
    return pass->out_length == pass->n && hsc_type_is_float((hsc_type)f->out_type);
  return pass->in_length == pass->n && pass->out_length == half;
}

// Lengths, and what they say of tables and rooms.
static bool lengths_fit(const hsc_cpu_payload *p, const hsc_fft *f, const hsc_fft_pass *pass) {
  if (pass->n < 1 || pass->inner < 1 || pass->outer < 1 || pass->in_length < 0 ||
      pass->in_length > pass->n || pass->out_length < 0 || pass->out_length > pass->n)
    return false;
  // Bluestein's spectrum does not run into itself, and has room for the turns that it is made of.
  if (pass->padded && (pass->padded < 2 || pass->padded / 2 < pass->length))
    return false;
  return factors_fit(pass) && hsc__payload_scratch(p, pass->roots_offset, table_bytes(pass)) &&
         hsc__payload_worker_scratch(p, worker_bytes(f, pass));
}

static bool pass_fits(const hsc_cpu_payload *p, const hsc_fft *f, int32_t k) {
  const hsc_fft_pass *pass = &f->passes[k];
  bool first = k == 0;
  bool last = k == f->pass_count - 1;
  bool real_in = first && hsc_type_is_float((hsc_type)f->in_type);
  if (!real_lines_fit(f, pass, real_in, last && f->to_real) || !lengths_fit(p, f, pass))
    return false;
  int32_t between = precision_of(f) == HSC_FFT_SINGLE ? HSC_TYPE_C64 : HSC_TYPE_C128;
  int64_t in = side_bytes(pass, pass->in_length, first ? f->in_type : between);
  int64_t out = side_bytes(pass, pass->out_length, last ? f->out_type : between);
  return (first ? hsc__payload_reads(p, 0, in) : hsc__payload_scratch(p, f->work_offset, in)) &&
         (last ? hsc__payload_writes(p, 0, out) : hsc__payload_scratch(p, f->work_offset, out));
}

bool hsc__cpu_check_fft(hsc_cpu_payload *p) {
  const hsc_fft *f = p->data;
  if (!hsc__payload_is(p, sizeof *f, 1, 1) || f->pass_count < 1 || f->pass_count > HSC_FFT_MAX_DIMS)
    return false;
  if (p->inputs[0].bytes == 0 || p->outputs[0].bytes == 0)
    return true;  // nothing to do
  if (!hsc__is_element_type(f->in_type) || !usable((hsc_type)f->in_type) ||
      !hsc__is_element_type(f->out_type) || !usable((hsc_type)f->out_type))
    return false;
  for (int32_t k = 0; k < f->pass_count; k++)
    if (!pass_fits(p, f, k))
      return false;
  return true;
}
