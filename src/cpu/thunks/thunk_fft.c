// thunk_fft.c - fft, ifft, rfft, irfft (see fft.h). Groups of lines are shared out to the threads;
// the lines of a group are transformed at once, interleaved (fft_kernels.h), and read so that each
// cache line is used whole.
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
  return pass->padded ? pass->padded : pass->n;
}

// Two copies of the lines of a group, which the transform goes between; halves of spectra have one
// row more.
static int64_t worker_bytes(const hsc_fft_pass *pass) {
  int64_t rows = hsc__size_times(hsc__size_plus(transform_length(pass), 4), lines_at_once(pass));
  return hsc__size_times(rows, 2 * (int64_t)sizeof(z128));
}

// Roots, and Bluestein's chirp and spectrum.
static int64_t table_bytes(const hsc_fft_pass *pass) {
  int64_t roots = transform_length(pass);
  int64_t more = pass->padded ? hsc__size_plus(pass->n, pass->padded) : 0;
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
  if (!factor_length(pass, pass->n))
    return false;
  if (pass->factor_count == 0 || pass->factors[pass->factor_count - 1] < LARGE_PRIME)
    return true;
  if (pass->n > (int64_t)1 << 40)
    return false;
  pass->padded = smooth_length(2 * pass->n);
  return factor_length(pass, pass->padded);
}

static bool usable(hsc_type type) {
  return type == HSC_TYPE_F32 || type == HSC_TYPE_F64 || type == HSC_TYPE_C64 ||
         type == HSC_TYPE_C128;
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
  const hsc_shape *out = &instr->shape;
  int count = instr->attr.fft.length.count;
  int rank = in->rank;
  hsc_fft_type kind = instr->attr.fft.type;
  if (!usable(in->type) || !usable(out->type) || rank < count)
    return NULL;
  hsc_fft *f = HSC_NEW(compiler->arena, hsc_fft);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *f = (hsc_fft){.in_type = (int32_t)in->type,
                 .out_type = (int32_t)out->type,
                 .inverse = kind == HSC_IFFT || kind == HSC_IRFFT,
                 .to_real = kind == HSC_IRFFT,
                 .pass_count = count};
  int64_t scratch = 0;
  int64_t most = 0;
  int64_t between = 0;
  for (int k = 0; k < count; k++) {
    // From the last dimension to the first; back to a real array the last dimension comes last.
    int dim;
    if (kind == HSC_IRFFT) {
      if (k == count - 1)
        dim = rank - 1;
      else
        dim = rank - count + k;
    } else
      dim = rank - 1 - k;
    hsc_fft_pass *pass = &f->passes[k];
    *pass =
        (hsc_fft_pass){.n = instr->attr.fft.length.v[dim - (rank - count)], .inner = 1, .outer = 1};
    bool last = dim == rank - 1;
    pass->in_length = last && kind == HSC_IRFFT ? pass->n / 2 + 1 : pass->n;
    pass->out_length = last && kind == HSC_RFFT ? pass->n / 2 + 1 : pass->n;
    if (in->dims[dim] != pass->in_length || out->dims[dim] != pass->out_length || !factor(pass))
      return NULL;
    // The last dimension is half as long on the complex side, which every other pass sees.
    const hsc_shape *complex_side = kind == HSC_RFFT ? out : in;
    for (int i = 0; i < dim; i++)
      pass->outer *= in->dims[i];
    for (int i = dim + 1; i < rank; i++)
      pass->inner *= complex_side->dims[i];
    pass->roots_offset = scratch;
    scratch += (table_bytes(pass) + 63) / 64 * 64;
    if (worker_bytes(pass) > most)
      most = worker_bytes(pass);
    int64_t elements = pass->outer * pass->inner * pass->out_length;
    if (k + 1 < count && elements > between)
      between = elements;
  }
  f->work_offset = scratch;
  step->scratch_bytes = scratch + between * (int64_t)sizeof(z128);
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
  const hsc_fft_kernels *kernels;
  int32_t in_type, out_type;  // HSC_TYPE_C128 between passes
  const void *in;
  void *out;
  hsc_fft_root *roots;
  bool mirrors;                    // the last pass back to a real array
  bool pairs;                      // of real lines are transformed as one
  int64_t groups;                  // of lines that are done at once, in a row of lines
  int64_t group_count, per_chunk;  // in all; for a chunk
} fft_run;

// A real signal's spectrum from its first half: what its edges hold beside that is ignored.
static void mirror(int64_t n, int64_t lines, double *re, double *im) {
  for (int64_t l = 0; l < lines; l++) {
    im[l] = 0;
    if (n % 2 == 0)
      im[n / 2 * lines + l] = 0;
  }
  for (int64_t k = n / 2 + 1; k < n; k++)
    for (int64_t l = 0; l < lines; l++) {
      re[k * lines + l] = re[(n - k) * lines + l];
      im[k * lines + l] = -im[(n - k) * lines + l];
    }
}

// The transform of `lines` lines that lie in x; returns where the result lies. Bluestein's: x_j w_j
// convolved with the conjugate of w, times w_k, where w_j = exp(-+ i pi j^2 / n). The transform
// back is the forward one of the exchanged parts, exchanged.
static double *transform(const fft_run *r, int64_t lines, double *x, double *y) {
  const hsc_fft_pass *pass = r->pass;
  const hsc_fft_kernels *kernels = r->kernels;
  int64_t n = pass->n;
  int64_t m = pass->padded;
  if (m == 0)
    return kernels->transform(pass->factors, pass->factor_count, n, lines, r->f->inverse, r->roots,
                              x, y);
  const double *chirp = (const double *)(const void *)(r->roots + m);
  const double *spectrum = chirp + 2 * n;
  double *re = x;
  double *im = x + m * lines;
  kernels->turn(n, lines, chirp, chirp + 1, 2, re, im, re, im);
  memset(re + n * lines, 0, sizeof *re * (size_t)((m - n) * lines));
  memset(im + n * lines, 0, sizeof *im * (size_t)((m - n) * lines));
  double *z =
      kernels->transform(pass->factors, pass->factor_count, m, lines, false, r->roots, x, y);
  double *other = z == x ? y : x;
  kernels->turn(m, lines, spectrum, spectrum + m, 1, z, z + m * lines, z + m * lines, z);
  double *back =
      kernels->transform(pass->factors, pass->factor_count, m, lines, false, r->roots, z, other);
  kernels->turn(n, lines, chirp, chirp + 1, 2, back + m * lines, back, back, back + m * lines);
  return back;
}

// Lines of complex numbers, or real ones without a neighbour.
static void do_lines(
    const fft_run *r, hsc_fft_place from, hsc_fft_place to, int64_t lines, double *x, double *y) {
  const hsc_fft_pass *pass = r->pass;
  int64_t n = pass->n;
  int64_t plane = transform_length(pass) * lines;
  double scale = pass->padded ? 1 / (double)pass->padded : 1;
  if (r->f->inverse)
    scale /= (double)n;
  r->kernels->load(&from, r->in, pass->in_length, lines, x, x + plane);
  if (r->mirrors)
    mirror(n, lines, x, x + plane);
  const double *done = transform(r, lines, x, y);
  r->kernels->store(&to, r->out, pass->out_length, lines, done, done + plane, scale);
}

// Twice as many lines of real numbers, at one end of the transform: each two are the parts of one.
static void do_pairs(
    const fft_run *r, hsc_fft_place from, hsc_fft_place to, int64_t lines, double *x, double *y) {
  const hsc_fft_pass *pass = r->pass;
  int64_t n = pass->n;
  int64_t plane = transform_length(pass) * lines;
  double scale = pass->padded ? 1 / (double)pass->padded : 1;
  int64_t half = (n / 2 + 1) * lines;
  hsc_fft_place from_other = from;
  hsc_fft_place to_other = to;
  from_other.at += from.line;
  to_other.at += to.line;
  from.line = from_other.line = 2 * from.line;
  to.line = to_other.line = 2 * to.line;
  if (r->mirrors) {
    double *second = y + 2 * half;
    r->kernels->load(&from, r->in, pass->in_length, lines, y, y + half);
    r->kernels->load(&from_other, r->in, pass->in_length, lines, second, second + half);
    r->kernels->pair(n, lines, y, second, x);
    if (pass->padded)
      memmove(x + plane, x + n * lines, sizeof *x * (size_t)(n * lines));
    const double *done = transform(r, lines, x, y);
    r->kernels->store(&to, r->out, pass->out_length, lines, done, done, scale / (double)n);
    r->kernels->store(&to_other, r->out, pass->out_length, lines, done + plane, done,
                      scale / (double)n);
    return;
  }
  r->kernels->load(&from, r->in, pass->in_length, lines, x, y);
  r->kernels->load(&from_other, r->in, pass->in_length, lines, x + plane, y);
  double *done = transform(r, lines, x, y);
  double *first = done == x ? y : x;
  if (pass->padded)
    memmove(done + n * lines, done + plane, sizeof *done * (size_t)(n * lines));
  double *second = first + 2 * half;
  r->kernels->part(n, lines, done, first, second);
  r->kernels->store(&to, r->out, pass->out_length, lines, first, first + half, scale);
  r->kernels->store(&to_other, r->out, pass->out_length, lines, second, second + half, scale);
}

static void do_group(const fft_run *r, int64_t group, int worker) {
  const hsc_fft_pass *pass = r->pass;
  bool across = pass->inner > 1;
  int64_t together = r->pairs ? 2 * HSC_FFT_LINES : HSC_FFT_LINES;
  int64_t outer = across ? group / r->groups : group * together;
  int64_t first = across ? group % r->groups * together : 0;
  int64_t left = across ? pass->inner - first : pass->outer - outer;
  int64_t lines = left < together ? left : together;
  double *x = hsc__cpu_worker_scratch(r->frame, worker);
  double *y = x + 2 * (transform_length(pass) + 4) * lines_at_once(pass);
  hsc_fft_place from = {.type = (hsc_type)r->in_type,
                        .at = outer * pass->in_length * pass->inner + first,
                        .step = pass->inner,
                        .line = across ? 1 : pass->in_length};
  hsc_fft_place to = {.type = (hsc_type)r->out_type,
                      .at = outer * pass->out_length * pass->inner + first,
                      .step = pass->inner,
                      .line = across ? 1 : pass->out_length};
  if (!r->pairs) {
    do_lines(r, from, to, lines, x, y);
    return;
  }
  if (lines > 1)
    do_pairs(r, from, to, lines / 2, x, y);
  if (lines % 2 == 0)
    return;
  from.at += (lines - 1) * from.line;
  to.at += (lines - 1) * to.line;
  do_lines(r, from, to, 1, x, y);
}

static void do_chunk(void *context, int64_t chunk, int worker) {
  const fft_run *r = context;
  int64_t end =
      (chunk + 1) * r->per_chunk < r->group_count ? (chunk + 1) * r->per_chunk : r->group_count;
  for (int64_t group = chunk * r->per_chunk; group < end; group++)
    do_group(r, group, worker);
}

// w_n^i as the product of two roots that the C library gives: within two roundings, and one call
// for each of the first and of every ROOT_STEP-th.
enum { ROOT_STEP = 256 };

static void make_roots(int64_t n, bool inverse, hsc_fft_root *roots) {
  double turn = (inverse ? 2 : -2) * 3.14159265358979323846 / (double)n;
  int64_t few = n < ROOT_STEP ? n : ROOT_STEP;
  for (int64_t i = 0; i < few; i++)
    roots[i] = (hsc_fft_root){cos(turn * (double)i), sin(turn * (double)i)};
  for (int64_t i = ROOT_STEP; i < n; i += ROOT_STEP) {
    hsc_fft_root base = {cos(turn * (double)i), sin(turn * (double)i)};
    int64_t end = n - i < ROOT_STEP ? n - i : ROOT_STEP;
    for (int64_t k = 0; k < end; k++)
      roots[i + k] = (hsc_fft_root){base.re * roots[k].re - base.im * roots[k].im,
                                    base.re * roots[k].im + base.im * roots[k].re};
  }
}

// Roots of the transform; for Bluestein's the chirp and the spectrum of its conjugate too.
static void make_tables(const fft_run *r) {
  const hsc_fft_pass *pass = r->pass;
  int64_t n = pass->n;
  int64_t m = pass->padded;
  if (m == 0) {
    make_roots(n, r->f->inverse, r->roots);
    return;
  }
  hsc_fft_root *chirp = r->roots + m;
  hsc_fft_root *turns = chirp + n;  // where the spectrum will lie: there is room for 2 n
  make_roots(2 * n, r->f->inverse, turns);
  for (int64_t j = 0, square = 0; j < n; j++) {
    chirp[j] = turns[square];
    square = (square + 2 * j + 1) % (2 * n);
  }
  make_roots(m, false, r->roots);
  double *x = hsc__cpu_worker_scratch(r->frame, 0);
  double *y = x + 2 * (m + 4) * lines_at_once(pass);
  memset(x, 0, sizeof *x * (size_t)(2 * m));
  for (int64_t j = 0; j < n; j++) {
    int64_t mirrored = j ? m - j : 0;
    x[j] = x[mirrored] = chirp[j].re;
    x[m + j] = x[m + mirrored] = -chirp[j].im;
  }
  const double *done =
      r->kernels->transform(pass->factors, pass->factor_count, m, 1, false, r->roots, x, y);
  memcpy(turns, done, sizeof *done * (size_t)(2 * m));
}

hsc_status *hsc__cpu_run_fft(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_fft *f = hsc__cpu_data(frame, thunk);
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  if (slices[0].bytes == 0 || slices[1].bytes == 0)
    return NULL;
  char *scratch = hsc__cpu_scratch(frame, thunk);
  for (int k = 0; k < f->pass_count; k++) {
    const hsc_fft_pass *pass = &f->passes[k];
    fft_run r = {.f = f,
                 .pass = pass,
                 .frame = frame,
                 .kernels = hsc_fft_kernels_for(frame->executable->device->isa.level),
                 .in_type = HSC_TYPE_C128,
                 .out_type = HSC_TYPE_C128,
                 .in = scratch + f->work_offset,
                 .out = scratch + f->work_offset};
    r.roots = (hsc_fft_root *)(void *)(scratch + pass->roots_offset);
    if (k == 0) {
      r.in = hsc__cpu_input(frame, thunk, 0);
      r.in_type = f->in_type;
    }
    if (k == f->pass_count - 1) {
      r.out = hsc__cpu_output(frame, thunk, 0);
      r.out_type = f->out_type;
      r.mirrors = f->to_real;
    }
    make_tables(&r);
    bool reals = r.mirrors || r.in_type == HSC_TYPE_F32 || r.in_type == HSC_TYPE_F64;
    r.pairs = reals && pass->inner == 1 && pass->outer > 1 && pass->n > 1;
    int64_t together = r.pairs ? 2 * HSC_FFT_LINES : HSC_FFT_LINES;
    int64_t row = pass->inner > 1 ? pass->inner : pass->outer;
    r.groups = (row + together - 1) / together;
    r.group_count = pass->inner > 1 ? pass->outer * r.groups : r.groups;
    // About 4096 elements a chunk: less is not worth a thread's while.
    r.per_chunk = 4096 / (pass->n * lines_at_once(pass)) + 1;
    hsc_cpu_pool_run(frame->pool, (r.group_count + r.per_chunk - 1) / r.per_chunk, do_chunk, &r);
  }
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

static bool pass_fits(const hsc_cpu_payload *p, const hsc_fft *f, int32_t k) {
  const hsc_fft_pass *pass = &f->passes[k];
  bool first = k == 0;
  bool last = k == f->pass_count - 1;
  int64_t least = last && f->to_real ? pass->n / 2 + 1 : 0;
  if (pass->n < 1 || pass->inner < 1 || pass->outer < 1 || pass->in_length < least ||
      pass->in_length > pass->n || pass->out_length < 0 || pass->out_length > pass->n)
    return false;
  // Real lines are done in pairs, with room for half a spectrum each.
  bool real_in = first && hsc_type_is_float((hsc_type)f->in_type);
  if ((real_in && pass->out_length > pass->n / 2 + 1) ||
      (last && f->to_real && pass->in_length != pass->n / 2 + 1))
    return false;
  // Bluestein's spectrum does not run into itself, and has room for the turns that it is made of.
  if (pass->padded && (pass->padded < 2 || pass->padded / 2 < pass->n))
    return false;
  if (!factors_fit(pass) || !hsc__payload_scratch(p, pass->roots_offset, table_bytes(pass)))
    return false;
  if (!hsc__payload_worker_scratch(p, worker_bytes(pass)))
    return false;
  int64_t in = side_bytes(pass, pass->in_length, first ? f->in_type : HSC_TYPE_C128);
  int64_t out = side_bytes(pass, pass->out_length, last ? f->out_type : HSC_TYPE_C128);
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
