// thunk_fft.c - fft, ifft, rfft, irfft (see fft.h). Lines are shared out to the threads; where a
// line's elements lie apart, neighbouring lines are read together, so that each cache line is used
// whole.
#include <math.h>

#include "cpu/thunks/fft.h"
#include "cpu/thunks/lower.h"

typedef struct complex_double {
  double re, im;
} z128;

// ---- choosing -----------------------------------------------------------------------------------

static bool factor(hsc_fft_pass *pass) {
  int64_t rest = pass->n;
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
  int64_t longest = 1;
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
    scratch += (pass->n * (int64_t)sizeof(z128) + 63) / 64 * 64;
    if (pass->n > longest)
      longest = pass->n;
    int64_t elements = pass->outer * pass->inner * pass->out_length;
    if (k + 1 < count && elements > between)
      between = elements;
  }
  f->work_offset = scratch;
  step->scratch_bytes = scratch + between * (int64_t)sizeof(z128);
  hsc__cpu_need_worker_scratch(compiler, (HSC_FFT_LINES + 2) * longest * (int64_t)sizeof(z128));
  choice->payload = f;
  choice->payload_bytes = sizeof *f;
  *out_chosen = true;
  return NULL;
}

// ---- one line -----------------------------------------------------------------------------------

static inline z128 add(z128 a, z128 b) {
  return (z128){a.re + b.re, a.im + b.im};
}
static inline z128 subtract(z128 a, z128 b) {
  return (z128){a.re - b.re, a.im - b.im};
}
static inline z128 multiply(z128 a, z128 b) {
  return (z128){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// One pass: y[q + s (r p + j)] = w^(p j) sum over k of x[q + s (p + k m)] w_r^(j k), for sequences
// of length m r that are s apart. roots[i] = w_n^i.
static void radix_4(int64_t m, int64_t s, bool inverse, const z128 *roots, const z128 *x, z128 *y) {
  double sign = inverse ? -1 : 1;
  for (int64_t p = 0; p < m; p++) {
    z128 w1 = roots[p * s];
    z128 w2 = roots[2 * p * s];
    z128 w3 = roots[3 * p * s];
    const z128 *a = x + s * p;
    const z128 *b = a + s * m;
    const z128 *c = b + s * m;
    const z128 *d = c + s * m;
    z128 *to = y + 4 * s * p;
    for (int64_t q = 0; q < s; q++) {
      z128 ac = add(a[q], c[q]);
      z128 a_c = subtract(a[q], c[q]);
      z128 bd = add(b[q], d[q]);
      z128 b_d = subtract(b[q], d[q]);
      z128 turned = {sign * b_d.im, -sign * b_d.re};
      to[q] = add(ac, bd);
      to[q + s] = multiply(w1, add(a_c, turned));
      to[q + 2 * s] = multiply(w2, subtract(ac, bd));
      to[q + 3 * s] = multiply(w3, subtract(a_c, turned));
    }
  }
}

static void radix_2(int64_t m, int64_t s, const z128 *roots, const z128 *x, z128 *y) {
  for (int64_t p = 0; p < m; p++)
    for (int64_t q = 0; q < s; q++) {
      z128 a = x[q + s * p];
      z128 b = x[q + s * (p + m)];
      y[q + 2 * s * p] = add(a, b);
      y[q + s * (2 * p + 1)] = multiply(roots[p * s], subtract(a, b));
    }
}

static void radix_any(
    int64_t r, int64_t m, int64_t s, int64_t n, const z128 *roots, const z128 *x, z128 *y) {
  int64_t step = n / r;
  for (int64_t p = 0; p < m; p++)
    for (int64_t j = 0; j < r; j++) {
      z128 w = roots[p * j * s];
      for (int64_t q = 0; q < s; q++) {
        z128 sum = x[q + s * p];
        for (int64_t k = 1, turn = j; k < r; k++) {
          sum = add(sum, multiply(x[q + s * (p + k * m)], roots[turn * step]));
          turn += j;
          if (turn >= r)
            turn -= r;
        }
        y[q + s * (r * p + j)] = multiply(w, sum);
      }
    }
}

// Returns the one of x and y that holds the result.
static z128 *transform(
    const hsc_fft_pass *pass, bool inverse, const z128 *roots, z128 *x, z128 *y) {
  int64_t s = 1;
  int64_t length = pass->n;
  for (int f = 0; f < pass->factor_count; f++) {
    int64_t r = pass->factors[f];
    int64_t m = length / r;
    if (r == 4)
      radix_4(m, s, inverse, roots, x, y);
    else if (r == 2)
      radix_2(m, s, roots, x, y);
    else
      radix_any(r, m, s, pass->n, roots, x, y);
    z128 *keep = x;
    x = y;
    y = keep;
    s *= r;
    length = m;
  }
  return x;
}

// ---- lines of an array --------------------------------------------------------------------------

typedef struct fft_run {
  const hsc_fft *f;
  const hsc_fft_pass *pass;
  const hsc_cpu_frame *frame;
  int32_t in_type, out_type;  // HSC_TYPE_C128 between passes
  const void *in;
  void *out;
  z128 *roots;
  bool mirrors;                    // the last pass back to a real array
  int64_t groups;                  // of neighbouring lines in a row of lines
  int64_t group_count, per_chunk;  // in all; for a chunk
} fft_run;

static void load(
    int32_t type, const void *from, int64_t at, int64_t step, int64_t count, z128 *to) {
  switch ((hsc_type)type) {
    case HSC_TYPE_F32:
      for (int64_t i = 0; i < count; i++)
        to[i] = (z128){((const float *)from)[at + i * step], 0};
      break;
    case HSC_TYPE_F64:
      for (int64_t i = 0; i < count; i++)
        to[i] = (z128){((const double *)from)[at + i * step], 0};
      break;
    case HSC_TYPE_C64:
      for (int64_t i = 0; i < count; i++)
        to[i] = (z128){((const float *)from)[2 * (at + i * step)],
                       ((const float *)from)[2 * (at + i * step) + 1]};
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        to[i] = ((const z128 *)from)[at + i * step];
      break;
  }
}

static void store(int32_t type,
                  void *to,
                  int64_t at,
                  int64_t step,
                  int64_t count,
                  const z128 *from,
                  double scale) {
  switch ((hsc_type)type) {
    case HSC_TYPE_F32:
      for (int64_t i = 0; i < count; i++)
        ((float *)to)[at + i * step] = (float)(from[i].re * scale);
      break;
    case HSC_TYPE_F64:
      for (int64_t i = 0; i < count; i++)
        ((double *)to)[at + i * step] = from[i].re * scale;
      break;
    case HSC_TYPE_C64:
      for (int64_t i = 0; i < count; i++) {
        ((float *)to)[2 * (at + i * step)] = (float)(from[i].re * scale);
        ((float *)to)[2 * (at + i * step) + 1] = (float)(from[i].im * scale);
      }
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        ((z128 *)to)[at + i * step] = (z128){from[i].re * scale, from[i].im * scale};
      break;
  }
}

static void do_group(const fft_run *r, int64_t group, int worker) {
  const hsc_fft_pass *pass = r->pass;
  int64_t outer = group / r->groups;
  int64_t first = group % r->groups * HSC_FFT_LINES;
  int64_t n = pass->n;
  int64_t count = pass->inner - first < HSC_FFT_LINES ? pass->inner - first : HSC_FFT_LINES;
  z128 *lines = (z128 *)(void *)hsc__cpu_worker_scratch(r->frame, worker);
  z128 *x = lines + HSC_FFT_LINES * n;
  z128 *y = x + n;
  int64_t in_at = outer * pass->in_length * pass->inner + first;
  int64_t out_at = outer * pass->out_length * pass->inner + first;
  double scale = r->f->inverse ? 1 / (double)n : 1;
  // Element by element of all lines when they are neighbours, so that both sides are walked along
  // their memory.
  if (count > 1)
    for (int64_t t = 0; t < pass->in_length; t++) {
      z128 row[HSC_FFT_LINES];
      load(r->in_type, r->in, in_at + t * pass->inner, 1, count, row);
      for (int64_t l = 0; l < count; l++)
        lines[l * n + t] = row[l];
    }
  for (int64_t l = 0; l < count; l++) {
    if (count > 1)
      memcpy(x, lines + l * n, sizeof(z128) * (size_t)pass->in_length);
    else
      load(r->in_type, r->in, in_at, pass->inner, pass->in_length, x);
    if (r->mirrors) {
      // A real signal's spectrum: what its edges hold beside that is ignored.
      x[0].im = 0;
      if (n % 2 == 0)
        x[n / 2].im = 0;
      for (int64_t k = n / 2 + 1; k < n; k++)
        x[k] = (z128){x[n - k].re, -x[n - k].im};
    }
    z128 *done = transform(pass, r->f->inverse, r->roots, x, y);
    if (count > 1)
      memcpy(lines + l * n, done, sizeof(z128) * (size_t)n);
    else
      store(r->out_type, r->out, out_at, pass->inner, pass->out_length, done, scale);
  }
  if (count > 1)
    for (int64_t t = 0; t < pass->out_length; t++) {
      z128 row[HSC_FFT_LINES];
      for (int64_t l = 0; l < count; l++)
        row[l] = lines[l * n + t];
      store(r->out_type, r->out, out_at + t * pass->inner, 1, count, row, scale);
    }
}

static void do_chunk(void *context, int64_t chunk, int worker) {
  const fft_run *r = context;
  int64_t end =
      (chunk + 1) * r->per_chunk < r->group_count ? (chunk + 1) * r->per_chunk : r->group_count;
  for (int64_t group = chunk * r->per_chunk; group < end; group++)
    do_group(r, group, worker);
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
                 .in_type = HSC_TYPE_C128,
                 .out_type = HSC_TYPE_C128,
                 .in = scratch + f->work_offset,
                 .out = scratch + f->work_offset};
    r.roots = (z128 *)(void *)(scratch + pass->roots_offset);
    double turn = (f->inverse ? 2 : -2) * 3.14159265358979323846 / (double)pass->n;
    for (int64_t i = 0; i < pass->n; i++)
      r.roots[i] = (z128){cos(turn * (double)i), sin(turn * (double)i)};
    if (k == 0) {
      r.in = hsc__cpu_input(frame, thunk, 0);
      r.in_type = f->in_type;
    }
    if (k == f->pass_count - 1) {
      r.out = hsc__cpu_output(frame, thunk, 0);
      r.out_type = f->out_type;
      r.mirrors = f->to_real;
    }
    r.groups = (pass->inner + HSC_FFT_LINES - 1) / HSC_FFT_LINES;
    r.group_count = pass->outer * r.groups;
    // About 4096 elements a chunk: less is not worth a thread's while.
    r.per_chunk =
        4096 / (pass->n * (pass->inner < HSC_FFT_LINES ? pass->inner : HSC_FFT_LINES)) + 1;
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
  return product == pass->n;
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
  if (pass->n < 1 || pass->inner < 1 || pass->outer < 0 || pass->in_length < least ||
      pass->in_length > pass->n || pass->out_length < 0 || pass->out_length > pass->n)
    return false;
  if (!factors_fit(pass) ||
      !hsc__payload_scratch(p, pass->roots_offset, hsc__size_times(pass->n, sizeof(z128))))
    return false;
  int64_t lines = hsc__size_times(pass->n, (HSC_FFT_LINES + 2) * (int64_t)sizeof(z128));
  if (!hsc__payload_worker_scratch(p, lines))
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
