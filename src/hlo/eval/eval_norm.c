// eval_norm.c - batch normalisation: inference, training and gradient, over every dimension but the
// feature's. Statistics are summed in double.
#include <math.h>

#include "hlo/eval/eval_internal.h"

// Every array as doubles, and how elements belong to features.
typedef struct norm {
  int64_t total, features, inner;  // feature of element i: i / inner % features
  double epsilon;
  double *arrays[5];
} norm;

static void norm_deinit(norm *n) {
  for (int i = 0; i < 5; i++)
    hsc_free(n->arrays[i]);
}

static hsc_status *norm_init(norm *n, const hsc_instr *instr, hsc__value **operands) {
  const hsc_shape *shape = &operands[0]->shape;
  int64_t feature = instr->attr.batch_norm.feature_index;
  *n = (norm){.total = hsc_shape_elements(shape),
              .features = shape->dims[feature],
              .inner = 1,
              .epsilon = (double)instr->attr.batch_norm.epsilon};
  for (int i = (int)feature + 1; i < shape->rank; i++)
    n->inner *= shape->dims[i];
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_status *status =
        hsc__widened(operands[i]->shape.type, operands[i]->data,
                     hsc_shape_elements(&operands[i]->shape), HSC_TYPE_F64, (void **)&n->arrays[i]);
    if (status) {
      norm_deinit(n);
      return status;
    }
  }
  return NULL;
}

static int64_t feature_of(const norm *n, int64_t i) {
  return i / n->inner % n->features;
}

static void store_doubles(const double *values, int64_t count, hsc__value *to) {
  _Alignas(16) unsigned char lanes[HSC__LANE_BYTES];
  hsc_type type = to->shape.type;
  for (int64_t at = 0; at < count; at += HSC__LANES) {
    int64_t m = count - at < HSC__LANES ? count - at : HSC__LANES;
    hsc__lane_convert(HSC_TYPE_F64, values + at, type, m, lanes);
    hsc__lane_store(type, lanes, m, to->data + (size_t)at * hsc_type_bytes(type));
  }
}

hsc_status *hsc__eval_batch_norm_inference(hsc__eval *cx,
                                           const hsc_instr *instr,
                                           hsc__value **operands,
                                           hsc__value **out_value) {
  (void)cx;
  norm n;
  HSC_TRY(norm_init(&n, instr, operands));
  double *x = n.arrays[0];
  double *scale = n.arrays[1];
  double *offset = n.arrays[2];
  double *mean = n.arrays[3];
  double *variance = n.arrays[4];
  for (int64_t i = 0; i < n.total; i++) {
    int64_t f = feature_of(&n, i);
    x[i] = (x[i] - mean[f]) / sqrt(variance[f] + n.epsilon) * scale[f] + offset[f];
  }
  hsc_status *status = hsc__value_array(&instr->shape, out_value);
  if (!status)
    store_doubles(x, n.total, *out_value);
  norm_deinit(&n);
  return status;
}

hsc_status *hsc__eval_batch_norm_training(hsc__eval *cx,
                                          const hsc_instr *instr,
                                          hsc__value **operands,
                                          hsc__value **out_value) {
  (void)cx;
  norm n;
  HSC_TRY(norm_init(&n, instr, operands));
  hsc_status *status = NULL;
  double *x = n.arrays[0];
  double *scale = n.arrays[1];
  double *offset = n.arrays[2];
  double *mean = hsc_alloc((size_t)n.features * sizeof(double));
  double *variance = hsc_alloc((size_t)n.features * sizeof(double));
  double count = n.features ? (double)n.total / (double)n.features : 0;
  if (!mean || !variance)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t i = 0; i < n.total; i++)
    mean[feature_of(&n, i)] += x[i];
  for (int64_t f = 0; f < n.features; f++)
    mean[f] /= count;
  for (int64_t i = 0; i < n.total; i++) {
    double d = x[i] - mean[feature_of(&n, i)];
    variance[feature_of(&n, i)] += d * d;
  }
  for (int64_t f = 0; f < n.features; f++)
    variance[f] /= count;
  for (int64_t i = 0; i < n.total; i++) {
    int64_t f = feature_of(&n, i);
    x[i] = (x[i] - mean[f]) / sqrt(variance[f] + n.epsilon) * scale[f] + offset[f];
  }
  HSC_GOTO(hsc__value_zeros(&instr->shape, out_value));
  store_doubles(x, n.total, (*out_value)->elements[0]);
  store_doubles(mean, n.features, (*out_value)->elements[1]);
  store_doubles(variance, n.features, (*out_value)->elements[2]);
done:
  norm_deinit(&n);
  hsc_free(mean);
  hsc_free(variance);
  return status;
}

// (operand, scale, mean, variance, grad_output) to (grad_operand, grad_scale, grad_offset):
//   grad_offset = sum(g), grad_scale = sum(g * (x - mean)) / sigma,
//   grad_operand = scale / sigma * (g - sum(g) / N - (x - mean) * sum(g * (x - mean)) / (N *
//   sigma^2)), sigma^2 = variance + epsilon.
hsc_status *hsc__eval_batch_norm_grad(hsc__eval *cx,
                                      const hsc_instr *instr,
                                      hsc__value **operands,
                                      hsc__value **out_value) {
  (void)cx;
  norm n;
  HSC_TRY(norm_init(&n, instr, operands));
  hsc_status *status = NULL;
  double *x = n.arrays[0];
  double *scale = n.arrays[1];
  double *mean = n.arrays[2];
  double *variance = n.arrays[3];
  double *g = n.arrays[4];
  double *sums = hsc_alloc((size_t)n.features * sizeof(double));
  double *products = hsc_alloc((size_t)n.features * sizeof(double));
  double *grad_scale = hsc_alloc((size_t)n.features * sizeof(double));
  double count = n.features ? (double)n.total / (double)n.features : 0;
  if (!sums || !products || !grad_scale)
    HSC_GOTO(hsc_status_out_of_memory());
  for (int64_t i = 0; i < n.total; i++) {
    int64_t f = feature_of(&n, i);
    sums[f] += g[i];
    products[f] += g[i] * (x[i] - mean[f]);
  }
  for (int64_t i = 0; i < n.total; i++) {
    int64_t f = feature_of(&n, i);
    double sigma2 = variance[f] + n.epsilon;
    x[i] = scale[f] / sqrt(sigma2) *
           (g[i] - sums[f] / count - (x[i] - mean[f]) * products[f] / (count * sigma2));
  }
  for (int64_t f = 0; f < n.features; f++)
    grad_scale[f] = products[f] / sqrt(variance[f] + n.epsilon);
  HSC_GOTO(hsc__value_zeros(&instr->shape, out_value));
  store_doubles(x, n.total, (*out_value)->elements[0]);
  store_doubles(grad_scale, n.features, (*out_value)->elements[1]);
  store_doubles(sums, n.features, (*out_value)->elements[2]);
done:
  norm_deinit(&n);
  hsc_free(sums);
  hsc_free(products);
  hsc_free(grad_scale);
  return status;
}
