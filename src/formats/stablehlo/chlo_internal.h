// chlo_internal.h - what the two halves of CHLO's import share: the operation being taken apart,
// and short words for building arithmetic.
#pragma once

#include <math.h>

#include "formats/stablehlo/stablehlo_internal.h"

typedef struct hsc__chlo {
  hsc__importer *im;
  hsc_builder *b;
  hsc__mlir_op *op;
  hsc_instr **operands;
} hsc__chlo;

// A number in the shape of `x`.
static inline hsc_instr *hsc__like(hsc__chlo *c, hsc_instr *x, double value) {
  hsc_instr *scalar = hsc_build_scalar(c->b, hsc_type_real_part(x->shape.type), value);
  if (hsc_type_is_complex(x->shape.type))
    scalar = hsc_build_convert(c->b, x->shape.type, scalar);
  return hsc_build_broadcast(c->b, scalar, x->shape, (hsc_dims){0});
}
static inline hsc_instr *hsc__un(hsc__chlo *c, hsc_op op, hsc_instr *x) {
  return hsc_build_unary(c->b, op, x);
}
static inline hsc_instr *hsc__bin(hsc__chlo *c, hsc_op op, hsc_instr *x, hsc_instr *y) {
  return hsc_build_binary(c->b, op, x, y);
}
static inline hsc_instr *hsc__cmp(hsc__chlo *c, hsc_direction d, hsc_instr *x, hsc_instr *y) {
  return hsc_build_compare(c->b, d, x, y);
}
static inline hsc_instr *hsc__sel(hsc__chlo *c, hsc_instr *p, hsc_instr *x, hsc_instr *y) {
  return hsc_build_select(c->b, p, x, y);
}

// Special functions of f32 and f64 (chlo_math.c); narrower floats are computed in f32 by the
// caller. Operands have one shape.
hsc_instr *hsc__chlo_erfc(hsc__chlo *c, hsc_instr *x);
hsc_instr *hsc__chlo_erf_inv(hsc__chlo *c, hsc_instr *x);
hsc_instr *hsc__chlo_bessel_i1e(hsc__chlo *c, hsc_instr *x);
hsc_instr *hsc__chlo_lgamma(hsc__chlo *c, hsc_instr *x);
hsc_instr *hsc__chlo_digamma(hsc__chlo *c, hsc_instr *x);
hsc_instr *hsc__chlo_zeta(hsc__chlo *c, hsc_instr *x, hsc_instr *q);
hsc_instr *hsc__chlo_polygamma(hsc__chlo *c, hsc_instr *n, hsc_instr *x);
// Of floats of any width; and of integers of 8 to 64 bits.
hsc_instr *hsc__chlo_next_after(hsc__chlo *c, hsc_instr *x, hsc_instr *y);
hsc_instr *hsc__chlo_mulhi(hsc__chlo *c, hsc_instr *x, hsc_instr *y);
