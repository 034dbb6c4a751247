// eval_compare.c - how far two results are apart: absolute, relative, and in units in the last
// place of the output's own type.
#include <math.h>

#include "hlo/ir/hlo.h"

// A number that counts representable values upwards from the most negative; both zeros are 0.
static int64_t ulp_position(hsc_type type, const unsigned char *data, int64_t index) {
  uint64_t bits = 0;
  size_t bytes = hsc_type_bytes(type);
  memcpy(&bits, data + (size_t)index * bytes, bytes);
  int width = hsc_type_bits(type);
  uint64_t sign = 1ull << (width - 1);
  uint64_t magnitude = bits & (sign - 1);
  return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
}

static uint64_t distance(int64_t a, int64_t b) {
  return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

typedef struct comparison {
  hsc_difference *out;
  int leaf;
  double worst;   // relative difference of the element that is named
  bool integers;  // of this leaf: steps are differences, across zero too
} comparison;

static void compare_numbers(comparison *c, int64_t index, double left, double right, uint64_t ulp) {
  hsc_difference *d = c->out;
  if (isnan(left) || isnan(right)) {
    if (isnan(left) && isnan(right))
      return;
    d->nan_mismatches++;
    if (c->worst < INFINITY) {
      c->worst = INFINITY;
      d->leaf = c->leaf;
      d->index = index;
      d->left = left;
      d->right = right;
    }
    return;
  }
  if (left == right)
    return;
  double absolute = fabs(left - right);
  double largest = fmax(fabs(left), fabs(right));
  double relative = absolute / largest;
  if (isinf(left) || isinf(right))
    relative = absolute = INFINITY;
  if (absolute > d->max_abs)
    d->max_abs = absolute;
  if (relative > d->max_rel)
    d->max_rel = relative;
  if (ulp > d->max_ulp)
    d->max_ulp = ulp;
  bool one_side = c->integers || (left > 0 && right > 0) || (left < 0 && right < 0);
  if (!one_side)
    d->across_zero++;
  else if (ulp > d->max_ulp_one_side)
    d->max_ulp_one_side = ulp;
  if (relative > c->worst) {
    c->worst = relative;
    d->leaf = c->leaf;
    d->index = index;
    d->left = left;
    d->right = right;
  }
}

static void compare_array(comparison *c, const hsc_literal *left, const hsc_literal *right) {
  hsc_type type = left->shape.type;
  hsc_type part = hsc_type_real_part(type);
  int64_t count = hsc_shape_elements(&left->shape);
  c->integers = !hsc_type_is_float(type) && !hsc_type_is_complex(type);
  for (int64_t i = 0; i < count; i++) {
    if (hsc_type_is_complex(type)) {
      // Each part on its own; a real and an imaginary part share the element.
      compare_numbers(
          c, i, hsc_literal_get_double(left, i), hsc_literal_get_double(right, i),
          distance(ulp_position(part, left->data, 2 * i), ulp_position(part, right->data, 2 * i)));
      compare_numbers(c, i, hsc_literal_get_imag(left, i), hsc_literal_get_imag(right, i),
                      distance(ulp_position(part, left->data, 2 * i + 1),
                               ulp_position(part, right->data, 2 * i + 1)));
    } else if (hsc_type_is_float(type)) {
      compare_numbers(
          c, i, hsc_literal_get_double(left, i), hsc_literal_get_double(right, i),
          distance(ulp_position(type, left->data, i), ulp_position(type, right->data, i)));
    } else {
      int64_t a = hsc_literal_get_int(left, i);
      int64_t b = hsc_literal_get_int(right, i);
      if (a == b)
        continue;
      bool is_unsigned = hsc_type_class_of(type) == HSC_CLASS_UNSIGNED;
      uint64_t ulp;
      if (is_unsigned) {
        if ((uint64_t)a > (uint64_t)b)
          ulp = (uint64_t)a - (uint64_t)b;
        else
          ulp = (uint64_t)b - (uint64_t)a;
      } else
        ulp = distance(a, b);
      double x = is_unsigned ? (double)(uint64_t)a : (double)a;
      double y = is_unsigned ? (double)(uint64_t)b : (double)b;
      // large integers that a double cannot tell apart
      if (x == y)
        y = nextafter(x, a > b ? -INFINITY : INFINITY);
      compare_numbers(c, i, x, y, ulp);
    }
  }
}

static hsc_status *compare(comparison *c, const hsc_literal *left, const hsc_literal *right) {
  if (hsc_shape_is_tuple(&left->shape)) {
    for (int32_t i = 0; i < left->shape.element_count; i++)
      HSC_TRY(compare(c, &left->elements[i], &right->elements[i]));
    return NULL;
  }
  if (left->elided || right->elided)
    return HSC_ERR(FAILED_PRECONDITION,
                   "output %d cannot be compared: its values were left out of the text", c->leaf);
  if (hsc_shape_is_array(&left->shape))
    compare_array(c, left, right);
  c->leaf++;
  return NULL;
}

hsc_status *hsc_literal_compare(const hsc_literal *left,
                                const hsc_literal *right,
                                hsc_difference *out_difference) {
  *out_difference = (hsc_difference){0};
  if (!hsc_shape_equal(&left->shape, &right->shape)) {
    hsc_bytes a = {0};
    hsc_bytes b = {0};
    hsc_shape_print(&left->shape, false, &a);
    hsc_shape_print(&right->shape, false, &b);
    hsc_status *status =
        HSC_ERR(INVALID_ARGUMENT, "results of different shapes cannot be compared: %s and %s",
                hsc_bytes_text(&a), hsc_bytes_text(&b));
    hsc_bytes_deinit(&a);
    hsc_bytes_deinit(&b);
    return status;
  }
  comparison c = {.out = out_difference, .worst = 0};
  return compare(&c, left, right);
}
