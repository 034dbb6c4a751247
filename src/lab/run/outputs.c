// outputs.c - outputs of a program as files, compared element by element.
#include "base/text/text.h"
#include "base/files/file_io.h"
#include "lab/run/outputs.h"

#include <math.h>
#include <stdlib.h>

#include "lab/run/json_tree.h"

hsc_status *hsc_output_read(json_t *output, hsc_arena *arena, hsc_literal **out_literal) {
  const char *text = json_string_value(json_object_get(output, "shape"));
  const char *path = json_string_value(json_object_get(output, "file"));
  if (!text || !path)
    return HSC_ERR(INTERNAL, "an output without shape or file");
  size_t name = strcspn(text, "[");
  hsc_type type;
  int64_t dims[HSC_MAX_RANK];
  int rank = 0;
  if (!hsc_type_parse((hsc_view){text, name}, &type))
    return HSC_ERR(INTERNAL, "an output of unknown type: %s", text);
  for (const char *at = text + name + (text[name] == '[');
       *at && *at != ']' && rank < HSC_MAX_RANK;) {
    char *end;
    dims[rank++] = strtoll(at, &end, 10);
    at = *end == ',' ? end + 1 : end;
  }
  hsc_shape shape = hsc_shape_array(arena, type, rank, dims);
  hsc_bytes data = {0};
  HSC_TRY(hsc_literal_create(arena, &shape, out_literal));
  hsc_status *status = hsc_file_read(path, &data);
  if (!status && data.size != (size_t)hsc_shape_bytes(&shape))
    status = HSC_ERR(INTERNAL, "%s has %zu bytes, not those of %s", path, data.size, text);
  if (!status && data.size)
    memcpy((*out_literal)->data, data.data, data.size);
  hsc_bytes_deinit(&data);
  return status;
}

// How far apart two results may lie and still be the same computation in another order: a multiple
// of the type's precision, of the largest value (*out_scale, finite values only).
static double tolerance_of(const hsc_literal *literal, double *out_scale) {
  *out_scale = 0;
  int64_t n = hsc_shape_elements(&literal->shape);
  for (int64_t i = 0; i < n; i++) {
    double value = fabs(hsc_literal_get_double(literal, i));
    if (isfinite(value) && value > *out_scale)
      *out_scale = value;
  }
  switch (literal->shape.type) {
    case HSC_TYPE_F64:
    case HSC_TYPE_C128:
      return 1e-12;
    case HSC_TYPE_F32:
    case HSC_TYPE_C64:
      return 1e-5;
    case HSC_TYPE_F16:
      return 5e-3;
    case HSC_TYPE_BF16:
      return 3e-2;
    default:
      return hsc_type_is_float(literal->shape.type) ? 0.25 : 0;
  }
}

double hsc_outputs_allowed(const hsc_literal *literal, double factor) {
  double scale;
  double tolerance = tolerance_of(literal, &scale);
  bool is_double = hsc_type_real_part(literal->shape.type) == HSC_TYPE_F64;
  double flushed = is_double ? 0x1p-1022 : 0x1p-126;
  return factor * tolerance * scale + (tolerance > 0 ? flushed : 0);
}

// ---- within bounds ------------------------------------------------------------------------------

static double distance_at(const hsc_literal *x, const hsc_literal *y, int64_t i) {
  double a = hsc_literal_get_double(x, i);
  double b = hsc_literal_get_double(y, i);
  bool same = a == b || (isnan(a) && isnan(b));
  if (!hsc_type_is_complex(x->shape.type))
    return same ? 0 : fabs(a - b);
  double ai = hsc_literal_get_imag(x, i);
  double bi = hsc_literal_get_imag(y, i);
  bool same_imaginary = ai == bi || (isnan(ai) && isnan(bi));
  if (same && same_imaginary)
    return 0;
  return hypot(same ? 0 : a - b, same_imaginary ? 0 : ai - bi);
}

// How far the furthest element is beyond its bound, and what has no bound.
typedef struct within {
  double share, share_abs, share_bound, unjudged_abs;
  int64_t unjudged, unjudged_nans, boundless;
} within;

static within look_within(const hsc_literal *x, const hsc_literal *y, const double *bounds) {
  within w = {.share = 0};
  int64_t count = hsc_shape_elements(&x->shape);
  for (int64_t i = 0; i < count; i++) {
    double distance = distance_at(x, y, i);
    w.unjudged += isnan(bounds[i]);
    w.boundless += distance != 0 && isinf(bounds[i]);
    if (distance == 0 || isinf(bounds[i]))
      continue;
    if (isnan(bounds[i])) {
      w.unjudged_nans += isnan(distance);
      w.unjudged_abs = fmax(w.unjudged_abs, distance);
      continue;
    }
    // NaN on one side only, and anything beside an exact value, is infinitely far off
    double share = isnan(distance) || bounds[i] == 0 ? INFINITY : distance / bounds[i];
    if (share > w.share || (share == w.share && distance > w.share_abs)) {
      w.share = share;
      w.share_abs = distance;
      w.share_bound = bounds[i];
    }
  }
  return w;
}

static hsc_status *add_bounds(json_t *row,
                              const char *path,
                              const hsc_literal *x,
                              const hsc_literal *y) {
  hsc_bytes data = {0};
  HSC_TRY(hsc_file_read(path, &data));
  hsc_status *status = NULL;
  if (data.size != (size_t)hsc_shape_elements(&x->shape) * sizeof(double)) {
    status = HSC_ERR(INTERNAL, "%s has %zu bytes, not a double an element", path, data.size);
  } else {
    within w = look_within(x, y, (const double *)(const void *)data.data);
    json_object_set_new(row, "share", hsc_json_real(w.share));
    json_object_set_new(row, "share_abs", hsc_json_real(w.share_abs));
    json_object_set_new(row, "share_bound", hsc_json_real(w.share_bound));
    json_object_set_new(row, "unjudged", json_integer((json_int_t)w.unjudged));
    json_object_set_new(row, "unjudged_abs", hsc_json_real(w.unjudged_abs));
    json_object_set_new(row, "unjudged_nans", json_integer((json_int_t)w.unjudged_nans));
    json_object_set_new(row, "boundless", json_integer((json_int_t)w.boundless));
  }
  hsc_bytes_deinit(&data);
  return status;
}

// ---- outputs ------------------------------------------------------------------------------------

hsc_status *hsc_compare_outputs(
    json_t *left, json_t *right, const char *left_name, const char *right_name, json_t *out_rows) {
  json_t *a = left;
  json_t *b = right;
  size_t count = json_array_size(a);
  if (count != json_array_size(b))
    return HSC_ERR(INVALID_ARGUMENT, "%s has %zu output%s and %s %zu", left_name, count,
                   hsc_plural((double)count, "", "s"), right_name, json_array_size(b));
  for (size_t i = 0; i < count; i++) {
    hsc_arena *arena = NULL;
    hsc_literal *x = NULL;
    hsc_literal *y = NULL;
    hsc_difference d = {0};
    HSC_TRY(hsc_arena_create(&arena));
    hsc_status *status = hsc_output_read(json_array_get(a, i), arena, &x);
    if (!status)
      status = hsc_output_read(json_array_get(b, i), arena, &y);
    if (!status)
      status = hsc_literal_compare(x, y, &d);
    if (!status) {
      double scale;
      double tolerance = tolerance_of(x, &scale);
      bool equal = d.max_ulp == 0 && d.nan_mismatches == 0 && d.max_abs == 0;
      double allowed = hsc_outputs_allowed(x, 1);
      bool close = d.nan_mismatches == 0 && d.max_abs <= allowed;
      // a distance in steps that is only known across zero is none
      json_t *ulp = json_null();
      if (d.max_ulp_one_side > INT64_MAX)
        ulp = json_integer(INT64_MAX);
      else if (d.max_ulp_one_side > 0 || d.across_zero == 0)
        ulp = json_integer((json_int_t)d.max_ulp_one_side);
      const char *verdict = close ? "close" : "different";
      json_array_append_new(
          out_rows,
          json_pack("{s:s, s:s, s:I, s:O, s:o, s:o, s:o, s:I, s:I, s:f, s:f, s:f, s:s}", "device",
                    right_name, "against", left_name, "output", (json_int_t)i, "shape",
                    json_object_get(json_array_get(a, i), "shape"), "max_abs",
                    hsc_json_real(d.max_abs), "max_rel", hsc_json_real(d.max_rel), "max_ulp", ulp,
                    "across_zero", (json_int_t)d.across_zero, "nan_mismatches",
                    (json_int_t)d.nan_mismatches, "largest_value", scale, "tolerance", tolerance,
                    "allowed", allowed, "verdict", equal ? "equal" : verdict));
    }
    const char *bound = json_string_value(json_object_get(json_array_get(a, i), "bound"));
    if (!status && bound)
      status = add_bounds(json_array_get(out_rows, json_array_size(out_rows) - 1), bound, x, y);
    hsc_arena_destroy(arena);
    HSC_TRY(status);
  }
  return NULL;
}

bool hsc_any_difference(json_t *rows) {
  json_t *row;
  size_t i;
  json_array_foreach (rows, i, row)
    if (strcmp(json_string_value(json_object_get(row, "verdict")), "equal") != 0)
      return true;
  return false;
}

bool hsc_outputs_same(json_t *left, json_t *right, const char *key) {
  if (json_array_size(left) != json_array_size(right))
    return false;
  for (size_t i = 0; i < json_array_size(left); i++)
    if (!json_equal(json_object_get(json_array_get(left, i), key),
                    json_object_get(json_array_get(right, i), key)))
      return false;
  return true;
}
