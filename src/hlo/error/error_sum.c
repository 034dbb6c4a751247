// error_sum.c - errors of sums of many terms, in whatever order they are added: products of
// matrices, convolutions, reductions, Fourier transforms.
//
// A sum of n terms in any order is off by at most n units of the sum of their magnitudes, and so is
// the evaluator's own. Where all terms are multiples of one power of two and the sum of their
// magnitudes fits the mantissa, no order rounds at all: whole numbers in floats tell a fault from
// rounding exactly.
#include "hlo/error/error_internal.h"

// The largest power of two that divides every element; 0: some element is not finite.
static double grid_of(const hsc_bounded *b) {
  int64_t count = hsc_shape_elements(&b->value->shape);
  double grid = INFINITY;
  for (int64_t i = 0; i < count; i++) {
    double value = hsc_literal_get_double(b->value, i);
    int exponent = 0;
    if (!isfinite(value))
      return 0;
    if (value == 0)
      continue;
    // 53 bits as an integer; its lowest set bit is the place
    int64_t bits = (int64_t)(frexp(fabs(value), &exponent) * 0x1p53);
    double place = ldexp((double)(bits & -bits), exponent - 53);
    grid = fmin(grid, place);
  }
  return grid;
}

static double most_of(const double *x, int64_t count) {
  double most = 0;
  for (int64_t i = 0; i < count; i++)
    most = hsc__worse(most, x[i]);
  return most;
}

// The unit of the running sum: that of the type, but narrow ones are added up in f32.
static double sum_unit(const hsc__error_site *site, bool product) {
  double single = 0x1p-24;
  return product && site->unit > single ? single : site->unit;
}

// Whether sums of magnitudes up to `most`, of terms on this grid, are exact in any order.
static bool fits(double most, double grid, double unit) {
  return grid > 0 && isfinite(most) && most * unit * 2 <= grid;
}

static bool is_default_precision(const hsc__error_site *site) {
  hsc_dims p = site->instr->op == HSC_OP_DOT ? site->instr->attr.dot.precision
                                             : site->instr->attr.conv.precision;
  for (int i = 0; i < p.count; i++)
    if (p.v[i] != 0)
      return false;
  return site->instr->op != HSC_OP_DOT || site->instr->attr.dot.algorithm == 0;
}

// Winograd's and Fourier's convolutions mix neighbours: an output is off by a share of the largest.
static bool mixes_neighbours(const hsc_instr *instr) {
  return instr->op == HSC_OP_CONVOLUTION && instr->attr.conv.window.rank > 1 &&
         instr->attr.conv.window.dims[0].size > 1;
}

// What |a| |b| times is lost by F(4, 3) in two dimensions, in units.
static const double MIXED_UNITS = 200;

static hsc_status *products(const hsc__error_site *site, double terms, double *error) {
  hsc__error_walk *w = site->walk;
  bool exact = hsc__is_exact(site->operands[0]) && hsc__is_exact(site->operands[1]);
  double unit = sum_unit(site, true);
  double *plain[2];
  double *wide[2];
  double *sums = NULL;
  double *moved = NULL;
  if (site->instr->operand_count != 2)
    return hsc__error_unknown(site, error);
  for (int k = 0; k < 2; k++) {
    plain[k] = hsc__magnitudes(site, k, 0);
    wide[k] = exact ? plain[k] : hsc__magnitudes(site, k, 1);
  }
  HSC_TRY(hsc_arena_status(w->arena));
  HSC_TRY(hsc__error_replay(site, plain, NULL, &sums));
  moved = sums;
  if (!exact)
    HSC_TRY(hsc__error_replay(site, wide, NULL, &moved));
  double most = most_of(sums, site->count);
  bool mixed = mixes_neighbours(site->instr);
  bool shortened = w->options->factor_unit > unit && site->instr->shape.type == HSC_TYPE_F32 &&
                   is_default_precision(site);
  double factor = shortened ? 2 * w->options->factor_unit : 0;
  double grid = grid_of(site->operands[0]) * grid_of(site->operands[1]);
  bool whole = exact && !mixed && !shortened && fits(most, grid, unit);
  double own_units = mixed ? MIXED_UNITS : 1;
  for (int64_t i = 0; i < site->count; i++) {
    double size = mixed ? most : sums[i];
    double rounding = whole ? 0 : 2 * (terms + own_units) * unit * size;
    // the subtraction of two sums in doubles, and their own rounding
    double carried = exact ? 0 : moved[i] - sums[i] + 0x1p-45 * moved[i];
    error[i] = carried + rounding + factor * size;
    double value = hsc_literal_get_double(site->value, i);
    if (error[i] > 0 || site->unit > unit)
      error[i] += hsc__rounding(site, value);
  }
  return NULL;
}

hsc_status *hsc__error_dot(const hsc__error_site *site, double *error) {
  const hsc_shape *lhs = &site->operands[0]->value->shape;
  hsc_dims dims = site->instr->attr.dot.lhs_contracting;
  double terms = 1;
  for (int i = 0; i < dims.count; i++)
    terms *= (double)lhs->dims[dims.v[i]];
  return products(site, hsc_type_is_complex(lhs->type) ? 4 * terms : terms, error);
}

hsc_status *hsc__error_convolution(const hsc__error_site *site, double *error) {
  const hsc_shape *kernel = &site->operands[1]->value->shape;
  double outputs = (double)kernel->dims[site->instr->attr.conv.dims.kernel_output];
  double terms = (double)hsc_shape_elements(kernel) / fmax(outputs, 1);
  return products(site, hsc_type_is_complex(kernel->type) ? 4 * terms : terms, error);
}

// ---- reductions ---------------------------------------------------------------------------------

static double terms_of(const hsc__error_site *site) {
  double terms = 1;
  if (site->instr->op == HSC_OP_REDUCE_WINDOW) {
    for (int i = 0; i < site->instr->attr.window.window.rank; i++)
      terms *= (double)site->instr->attr.window.window.dims[i].size;
    return terms;
  }
  double elements = (double)hsc_shape_elements(&site->operands[0]->value->shape);
  return elements / fmax((double)site->count, 1);
}

static hsc_status *replay_reduction(const hsc__error_site *site,
                                    double scale,
                                    hsc_op op,
                                    double **out) {
  double *doubles[2];
  for (int k = 0; k < 2; k++)
    doubles[k] = hsc__magnitudes(site, k, scale);
  HSC_TRY(hsc_arena_status(site->walk->arena));
  return hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, op), out);
}

// The largest error of what each result was picked from.
static hsc_status *picked(const hsc__error_site *site, double *error) {
  double *doubles[2];
  double *moved = NULL;
  for (int k = 0; k < 2; k++) {
    const hsc_bounded *b = site->operands[k];
    int64_t count = hsc_shape_elements(&b->value->shape);
    doubles[k] = b->error ? b->error : HSC_NEW_ARRAY(site->walk->arena, double, count + 1);
  }
  HSC_TRY(hsc_arena_status(site->walk->arena));
  HSC_TRY(
      hsc__error_replay(site, doubles, hsc__double_reducer(site->walk, HSC_OP_MAXIMUM), &moved));
  memcpy(error, moved, (size_t)site->count * sizeof *error);
  return NULL;
}

hsc_status *hsc__error_reduce(const hsc__error_site *site, double *error) {
  hsc_op op = HSC_OP_COUNT;
  bool simple =
      site->instr->operand_count == 2 && hsc_is_simple_reducer(site->instr->called[0], &op);
  double *sums = NULL;
  double *moved = NULL;
  if (!simple || hsc_type_is_complex(site->instr->shape.type))
    return hsc__error_unknown(site, error);
  if (op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM)
    return picked(site, error);
  if (op != HSC_OP_ADD && op != HSC_OP_MULTIPLY)
    return hsc__error_unknown(site, error);
  bool exact = hsc__is_exact(site->operands[0]) && hsc__is_exact(site->operands[1]);
  HSC_TRY(replay_reduction(site, 0, op, &sums));
  moved = sums;
  if (!exact)
    HSC_TRY(replay_reduction(site, 1, op, &moved));
  double grid = fmin(grid_of(site->operands[0]), grid_of(site->operands[1]));
  bool whole = exact && op == HSC_OP_ADD && fits(most_of(sums, site->count), grid, site->unit);
  double terms = terms_of(site);
  for (int64_t i = 0; i < site->count && !whole; i++)
    error[i] = (exact ? 0 : moved[i] - sums[i] + 0x1p-45 * moved[i]) +
               2 * terms * site->unit * sums[i] + site->tiny;
  return NULL;
}

// ---- Fourier transforms -------------------------------------------------------------------------

// A transform is a sum of every element of its line, times numbers of modulus 1; the fast one adds
// log2(n) rounding errors of it.
hsc_status *hsc__error_fft(const hsc__error_site *site, double *error) {
  const hsc_bounded *b = site->operands[0];
  hsc_dims length = site->instr->attr.fft.length;
  double *sizes = hsc__magnitudes(site, 0, 0);
  double points = 1;
  int64_t in_line = 1;
  int64_t out_line = 1;
  HSC_TRY(hsc_arena_status(site->walk->arena));
  for (int i = 0; i < length.count; i++) {
    points *= (double)length.v[i];
    in_line *= b->value->shape.dims[b->value->shape.rank - 1 - i];
    out_line *= site->value->shape.dims[site->value->shape.rank - 1 - i];
  }
  bool inverse = site->instr->attr.fft.type == HSC_IFFT || site->instr->attr.fft.type == HSC_IRFFT;
  // half of a real signal's spectrum stands for both halves
  double scale = (site->instr->attr.fft.type == HSC_IRFFT ? 2 : 1) / (inverse ? points : 1);
  double units = 16 * (2 + log2(fmax(points, 2))) * site->unit;
  for (int64_t at = 0; at < site->count && out_line > 0; at += out_line) {
    double sum = 0;
    double carried = 0;
    int64_t from = at / out_line * in_line;
    for (int64_t i = from; i < from + in_line; i++) {
      sum += sizes[i];
      carried += hsc__error_at(b, i);
    }
    for (int64_t i = at; i < at + out_line; i++)
      error[i] = scale * (carried + units * (sum + carried)) + site->tiny;
  }
  return NULL;
}
