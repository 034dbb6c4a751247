// affine.c - see affine.h.
#include "cpu/emit/affine.h"

hsc_affine hsc_affine_constant(int64_t value) {
  hsc_affine a;
  a.constant = value;
  a.count = 0;
  return a;
}

hsc_affine hsc_affine_symbol(int32_t symbol) {
  hsc_affine a;
  a.constant = 0;
  a.count = 1;
  a.terms[0] = (hsc_affine_term){symbol, 1};
  return a;
}

bool hsc_affine_add(const hsc_affine *a, const hsc_affine *b, int64_t b_factor, hsc_affine *out) {
  hsc_affine sum;
  sum.constant = a->constant + b->constant * b_factor;
  sum.count = 0;
  int i = 0;
  int j = 0;
  while (b_factor == 0 ? i < a->count : (i < a->count || j < b->count)) {
    hsc_affine_term term;
    if (b_factor == 0 || j == b->count ||
        (i < a->count && a->terms[i].symbol < b->terms[j].symbol)) {
      term = a->terms[i++];
    } else if (i == a->count || b->terms[j].symbol < a->terms[i].symbol) {
      term = (hsc_affine_term){b->terms[j].symbol, b->terms[j].factor * b_factor};
      j++;
    } else {
      term =
          (hsc_affine_term){a->terms[i].symbol, a->terms[i].factor + b->terms[j].factor * b_factor};
      i++;
      j++;
    }
    if (term.factor == 0)
      continue;
    if (sum.count == HSC_AFFINE_MAX_TERMS)
      return false;
    sum.terms[sum.count++] = term;
  }
  *out = sum;
  return true;
}

hsc_affine hsc_affine_scale(const hsc_affine *a, int64_t factor) {
  hsc_affine scaled = *a;
  scaled.constant *= factor;
  if (factor == 0)
    scaled.count = 0;
  for (int i = 0; i < scaled.count; i++)
    scaled.terms[i].factor *= factor;
  return scaled;
}

bool hsc_affine_equal(const hsc_affine *a, const hsc_affine *b) {
  if (a->constant != b->constant || a->count != b->count)
    return false;
  for (int i = 0; i < a->count; i++)
    if (a->terms[i].symbol != b->terms[i].symbol || a->terms[i].factor != b->terms[i].factor)
      return false;
  return true;
}

int64_t hsc_affine_factor(const hsc_affine *a, int32_t symbol) {
  for (int i = 0; i < a->count; i++)
    if (a->terms[i].symbol == symbol)
      return a->terms[i].factor;
  return 0;
}

hsc_affine_range hsc_affine_range_of(const hsc_affine *a, const int64_t *symbol_sizes) {
  hsc_affine_range range = {a->constant, a->constant};
  for (int i = 0; i < a->count; i++) {
    int64_t reach = a->terms[i].factor * (symbol_sizes[a->terms[i].symbol] - 1);
    if (reach > 0)
      range.high += reach;
    else
      range.low += reach;
  }
  return range;
}

static int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && a < 0);
}

bool hsc_affine_divide(const hsc_affine *a,
                       int64_t divisor,
                       const int64_t *symbol_sizes,
                       hsc_affine *out_quotient,
                       hsc_affine *out_remainder,
                       int32_t *out_symbol,
                       int64_t *out_inner) {
  hsc_affine quotient = hsc_affine_constant(0);
  hsc_affine rest = hsc_affine_constant(a->constant);
  *out_symbol = -1;
  *out_inner = 0;
  for (int i = 0; i < a->count; i++) {
    hsc_affine_term term = a->terms[i];
    if (term.factor % divisor == 0) {
      term.factor /= divisor;
      quotient.terms[quotient.count++] = term;
    } else {
      rest.terms[rest.count++] = term;
    }
  }
  hsc_affine_range range = hsc_affine_range_of(&rest, symbol_sizes);
  int64_t whole = floor_divide(range.low, divisor);
  if (floor_divide(range.high, divisor) == whole) {
    quotient.constant = whole;
    rest.constant -= whole * divisor;
    *out_quotient = quotient;
    *out_remainder = rest;
    return true;
  }
  for (int i = 0; i < rest.count; i++) {
    hsc_affine_term term = rest.terms[i];
    if (term.factor <= 0 || divisor % term.factor != 0)
      continue;
    int64_t inner = divisor / term.factor;
    int64_t size = symbol_sizes[term.symbol];
    if (inner > 1 && inner < size && size % inner == 0) {
      *out_symbol = term.symbol;
      *out_inner = inner;
      break;
    }
  }
  return false;
}
