// error_units.c - the errors of one operation that every rule counts in: the unit of a type, what
// rounding once costs, and what is not known.
#include "hlo/error/error_internal.h"

bool hsc__is_exact(const hsc_bounded *b) {
  for (int i = 0; b->elements && i < b->value->shape.element_count; i++)
    if (!hsc__is_exact(b->elements[i]))
      return false;
  return !b->error;
}

double hsc_type_unit(hsc_type type) {
  hsc_type real = hsc_type_real_part(type);
  if (!hsc_type_is_float(real))
    return 0;
  double place = 1;
  // the first power of two that 1 can no longer take up; of f64 that a double cannot either
  while (1 + place > 1 && hsc_float_decode(real, hsc_float_encode(real, 1 + place)) == 1 + place)
    place /= 2;
  return place;
}

double hsc_bounded_relative(const hsc_bounded *b) {
  double error = 0;
  double size = 0;
  if (!b->error)
    return 0;
  int64_t count = hsc_shape_elements(&b->value->shape);
  for (int64_t i = 0; i < count; i++) {
    double value = fabs(hsc_literal_get_double(b->value, i));
    if (isfinite(value))
      size = fmax(size, value);
    error = hsc__worse(error, b->error[i]);
  }
  if (error == 0)
    return 0;
  return size > 0 ? error / size : INFINITY;
}

static const double PLACES[HSC_OP_COUNT] = {
#define ACCURACY(op, places, why) [HSC_OP_##op] = places,
#include "hlo/error/op_accuracy.def"
#undef ACCURACY
};

double hsc__op_places(hsc_op op) {
  return PLACES[op] > 0 ? PLACES[op] : 0.5;
}

double hsc__least_normal(hsc_type type) {
  return hsc_type_real_part(type) == HSC_TYPE_F64 ? 0x1p-1022 : 0x1p-126;
}

bool hsc_is_denormal(hsc_type type, double value) {
  return value != 0 && fabs(value) < hsc__least_normal(type);
}

double hsc__rounding(const hsc__error_site *site, double value) {
  return 2 * site->unit * fabs(value) + site->tiny;
}

hsc_status *hsc__error_unknown(const hsc__error_site *site, double *error) {
  for (int64_t i = 0; i < site->count; i++)
    error[i] = NAN;
  return NULL;
}
