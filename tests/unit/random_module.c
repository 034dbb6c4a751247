// random_module.c - grows a computation by random steps over a pool of values; called computations
// are grown the same way, one level smaller.
#include "random_grower.h"

int grow_below(grower *g, int bound) {
  return (int)hsc_random_below(g->random, (uint64_t)bound);
}
bool grow_chance(grower *g, int percent) {
  return grow_below(g, 100) < percent;
}
bool grow_has(const grower *g, random_feature feature) {
  return g->options->features & feature;
}

static bool in_classes(hsc_type type, unsigned classes) {
  return classes >> hsc_type_class_of(type) & 1;
}

hsc_instr *grow_keep(grower *g, hsc_instr *value) {
  if (g->pool_count < MAX_POOL && hsc_shape_is_array(&value->shape))
    g->pool[g->pool_count++] = value;
  return value;
}

// ---- shapes -------------------------------------------------------------------------------------

hsc_type grow_type(grower *g) {
  static const hsc_type common[] = {HSC_TYPE_F32, HSC_TYPE_F32, HSC_TYPE_F32,
                                    HSC_TYPE_F32, HSC_TYPE_S32, HSC_TYPE_PRED};
  static const hsc_type rare[] = {HSC_TYPE_S8,   HSC_TYPE_S16, HSC_TYPE_S64, HSC_TYPE_U8,
                                  HSC_TYPE_U16,  HSC_TYPE_U32, HSC_TYPE_U64, HSC_TYPE_F16,
                                  HSC_TYPE_BF16, HSC_TYPE_F64, HSC_TYPE_C64};
  static const hsc_type narrow[] = {HSC_TYPE_F16,      HSC_TYPE_BF16,   HSC_TYPE_BF16,
                                    HSC_TYPE_F8E4M3FN, HSC_TYPE_F8E5M2, HSC_TYPE_S4,
                                    HSC_TYPE_U4,       HSC_TYPE_C128};
  if (grow_has(g, RANDOM_NARROW) && grow_chance(g, 40))
    return narrow[grow_below(g, (int)HSC_COUNT_OF(narrow))];
  if (grow_has(g, RANDOM_TYPES) && grow_chance(g, 25)) {
    hsc_type type = rare[grow_below(g, (int)HSC_COUNT_OF(rare))];
    return g->options->smooth && (type == HSC_TYPE_F16 || type == HSC_TYPE_BF16) ? HSC_TYPE_F64
                                                                                 : type;
  }
  return common[grow_below(g, (int)HSC_COUNT_OF(common))];
}

int64_t grow_dim(grower *g) {
  if (grow_has(g, RANDOM_EMPTY) && grow_chance(g, 3))
    return 0;
  return 1 + grow_below(g, g->options->max_dim);
}

void grow_dims(grower *g, int rank, int64_t *out) {
  int64_t room = MAX_ELEMENTS;
  for (int i = 0; i < rank; i++) {
    out[i] = grow_dim(g);
    if (out[i] > room)
      out[i] = room;
    if (out[i])
      room /= out[i];
  }
}

hsc_shape grow_shape(grower *g, hsc_type type, int min_rank) {
  int64_t dims[HSC_MAX_RANK];
  int rank = min_rank >= g->options->max_rank
                 ? min_rank
                 : min_rank + grow_below(g, g->options->max_rank - min_rank + 1);
  grow_dims(g, rank, dims);
  return hsc_shape_array(g->arena, type, rank, dims);
}

hsc_shape grow_shape_of(grower *g, hsc_type type, int rank, const int64_t *dims) {
  return hsc_shape_array(g->arena, type, rank, dims);
}

// ---- values -------------------------------------------------------------------------------------

static double random_number(grower *g, hsc_type type) {
  if (hsc_type_is_float(type) || hsc_type_is_complex(type))
    return g->options->unbounded && grow_chance(g, 10) ? hsc_random_normal(g->random) * 1e6
                                                       : hsc_random_double(g->random) * 2 - 1;
  return hsc_type_class_of(type) == HSC_CLASS_SIGNED ? grow_below(g, 15) - 7 : grow_below(g, 8);
}

hsc_instr *grow_scalar(grower *g, hsc_type type, double value) {
  return hsc_build_scalar(&g->b, type, value);
}

hsc_instr *grow_splat(grower *g, hsc_shape shape, double value) {
  hsc_instr *x = grow_scalar(g, shape.type, value);
  return shape.rank == 0 ? x : hsc_build_broadcast(&g->b, x, shape, (hsc_dims){0});
}

hsc_instr *grow_constant(grower *g, hsc_shape shape) {
  hsc_literal *literal = NULL;
  hsc_status *status = hsc_literal_create(g->arena, &shape, &literal);
  if (status) {
    hsc_status_free(status);
    return grow_splat(g, shape, 1);
  }
  for (int64_t i = 0; i < hsc_shape_elements(&shape); i++) {
    if (shape.type == HSC_TYPE_PRED)
      hsc_literal_set_int(literal, i, grow_below(g, 2));
    else
      hsc_literal_set_complex(literal, i, random_number(g, shape.type),
                              random_number(g, shape.type));
  }
  return hsc_build_constant(&g->b, literal);
}

hsc_instr *grow_reshaped(grower *g, hsc_instr *x, hsc_shape shape) {
  return hsc_shape_same_dims(&x->shape, &shape)
             ? x
             : hsc_build_reshape(&g->b, x, shape.rank, shape.dims);
}

hsc_instr *grow_converted(grower *g, hsc_instr *x, hsc_type type) {
  if (x->shape.type == type)
    return x;
  // Nothing discrete is made from floats where results must be smooth.
  if (g->options->smooth && in_classes(x->shape.type, FLOATS | COMPLEX) &&
      !in_classes(type, FLOATS | COMPLEX))
    return grow_constant(g, hsc_shape_with_type(x->shape, type));
  if (type == HSC_TYPE_PRED && !hsc_type_is_complex(x->shape.type))
    return hsc_build_compare(&g->b, HSC_GT, x, grow_splat(g, x->shape, 0));
  if (hsc_type_is_complex(x->shape.type) && !hsc_type_is_complex(type))
    return grow_converted(g, hsc_build_unary(&g->b, HSC_OP_REAL, x), type);
  // Floats of the pool are small, and integers are made so, or else conversions between them would
  // overflow.
  if (hsc_type_is_integral(x->shape.type) && hsc_type_is_float(hsc_type_real_part(type))) {
    hsc_instr *low = hsc_build_binary(&g->b, HSC_OP_AND, x, grow_splat(g, x->shape, 7));
    return hsc_build_binary(&g->b, HSC_OP_MULTIPLY, hsc_build_convert(&g->b, type, low),
                            grow_splat(g, hsc_shape_with_type(x->shape, type), 0.125));
  }
  if (g->options->unbounded && hsc_type_is_float(x->shape.type) && hsc_type_is_integral(type))
    x = hsc_build_op(
        &g->b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
        (hsc_instr *[]){grow_scalar(g, x->shape.type, 0), x, grow_scalar(g, x->shape.type, 4)}, 0,
        NULL);
  if (!g->options->unbounded && hsc_type_is_float(x->shape.type) &&
      hsc_type_class_of(type) == HSC_CLASS_UNSIGNED)
    x = hsc_build_unary(&g->b, HSC_OP_ABS, x);
  return hsc_build_convert(&g->b, type, x);
}

hsc_instr *grow_coerced(grower *g, hsc_instr *x, hsc_shape shape) {
  x = grow_converted(g, x, shape.type);
  if (hsc_shape_same_dims(&x->shape, &shape))
    return x;
  if (x->shape.rank == 0)
    return hsc_build_broadcast(&g->b, x, shape, (hsc_dims){0});
  int64_t have = hsc_shape_elements(&x->shape);
  int64_t want = hsc_shape_elements(&shape);
  int64_t zero = 0;
  int64_t one = 1;
  x = grow_reshaped(g, x, grow_shape_of(g, shape.type, 1, &have));
  if (have > want)
    x = hsc_build_slice(&g->b, x, (hsc_dims){1, &zero}, (hsc_dims){1, &want}, (hsc_dims){1, &one});
  if (have < want) {
    hsc_attr pad = {.pad = {.rank = 1, .dims = &(hsc_pad_dim){0, want - have, 0}}};
    x = hsc_build_op(&g->b, HSC_OP_PAD, (hsc_shape){0}, &pad, 2,
                     (hsc_instr *[]){x, grow_scalar(g, shape.type, 1)}, 0, NULL);
  }
  return grow_reshaped(g, x, shape);
}

hsc_instr *grow_pick(grower *g, unsigned classes, int min_rank) {
  for (int tries = 0; tries < 12 && g->pool_count > 0; tries++) {
    int at = grow_chance(g, 50)
                 ? g->pool_count - 1 - grow_below(g, g->pool_count < 6 ? g->pool_count : 6)
                 : grow_below(g, g->pool_count);
    if (in_classes(g->pool[at]->shape.type, classes) && g->pool[at]->shape.rank >= min_rank)
      return g->pool[at];
  }
  hsc_type type;
  if (classes & FLOATS)
    type = HSC_TYPE_F32;
  else if (classes & INTEGERS)
    type = HSC_TYPE_S32;
  else if (classes & COMPLEX)
    type = HSC_TYPE_C64;
  else
    type = HSC_TYPE_PRED;
  hsc_shape shape = grow_shape(g, type, min_rank);
  return grow_keep(g, grow_chance(g, 50) || g->pool_count == 0
                          ? grow_constant(g, shape)
                          : grow_coerced(g, g->pool[grow_below(g, g->pool_count)], shape));
}

hsc_instr *grow_pick_like(grower *g, hsc_shape shape) {
  for (int tries = 0; tries < 8; tries++) {
    hsc_instr *x = g->pool[grow_below(g, g->pool_count)];
    if (x->shape.type == shape.type && hsc_shape_same_dims(&x->shape, &shape))
      return x;
  }
  return grow_chance(g, 70) ? grow_coerced(g, g->pool[grow_below(g, g->pool_count)], shape)
                            : grow_constant(g, shape);
}

// Keeps floats small where the options want it: x -> x * factor, or tanh where the size is not
// known.
hsc_instr *grow_scaled(grower *g, hsc_instr *x, double factor) {
  if (g->options->unbounded || factor == 1 || !in_classes(x->shape.type, FLOATS | COMPLEX))
    return x;
  return hsc_build_binary(&g->b, HSC_OP_MULTIPLY, x, grow_splat(g, x->shape, factor));
}

hsc_instr *grow_clamped(grower *g, hsc_instr *x, double low, double high) {
  if (g->options->unbounded || !hsc_type_is_float(x->shape.type))
    return x;
  return hsc_build_op(
      &g->b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
      (hsc_instr *[]){grow_scalar(g, x->shape.type, low), x, grow_scalar(g, x->shape.type, high)},
      0, NULL);
}

// ---- element by element -------------------------------------------------------------------------

static void step_unary(grower *g) {
  static const hsc_op tame[] = {
      HSC_OP_TANH,  HSC_OP_LOGISTIC, HSC_OP_SINE,       HSC_OP_COSINE,    HSC_OP_NEGATE,
      HSC_OP_ABS,   HSC_OP_ERF,      HSC_OP_CBRT,  // from here on not smooth
      HSC_OP_FLOOR, HSC_OP_CEIL,     HSC_OP_ROUND_EVEN, HSC_OP_ROUND_AFZ, HSC_OP_SIGN};
  static const hsc_op positive[] = {HSC_OP_LOG, HSC_OP_SQRT, HSC_OP_RSQRT, HSC_OP_LOG1P};
  static const hsc_op growing[] = {HSC_OP_EXP, HSC_OP_EXPM1, HSC_OP_TAN};
  static const hsc_op integral[] = {HSC_OP_NOT, HSC_OP_CLZ, HSC_OP_POPCNT, HSC_OP_NEGATE};
  switch (grow_below(g, 6)) {
    case 0:
    case 1:
      grow_keep(g, hsc_build_unary(
                       &g->b, tame[grow_below(g, g->options->smooth ? 7 : (int)HSC_COUNT_OF(tame))],
                       grow_pick(g, FLOATS, 0)));
      break;
    case 2:
      grow_keep(g, hsc_build_unary(&g->b, positive[grow_below(g, (int)HSC_COUNT_OF(positive))],
                                   grow_clamped(g, grow_pick(g, FLOATS, 0), 0.25, 4)));
      break;
    case 3:
      grow_keep(g, hsc_build_unary(&g->b, growing[grow_below(g, (int)HSC_COUNT_OF(growing))],
                                   grow_clamped(g, grow_pick(g, FLOATS, 0), -1, 1)));
      break;
    case 4:
      grow_keep(g, hsc_build_unary(&g->b, integral[grow_below(g, (int)HSC_COUNT_OF(integral))],
                                   grow_pick(g, INTEGERS, 0)));
      break;
    default:
      grow_keep(g, hsc_build_unary(&g->b, grow_chance(g, 50) ? HSC_OP_IS_FINITE : HSC_OP_COPY,
                                   grow_pick(g, FLOATS, 0)));
      break;
  }
}

static void step_binary(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 0);
  hsc_instr *y = grow_pick_like(g, x->shape);
  hsc_instr *result = NULL;
  switch (hsc_type_class_of(x->shape.type)) {
    case HSC_CLASS_FLOAT: {
      static const hsc_op ops[] = {HSC_OP_ADD,     HSC_OP_SUBTRACT, HSC_OP_MULTIPLY,
                                   HSC_OP_MAXIMUM, HSC_OP_MINIMUM,  HSC_OP_DIVIDE,
                                   HSC_OP_POWER,   HSC_OP_ATAN2,    HSC_OP_REMAINDER};
      hsc_op op = ops[grow_below(g, g->options->unbounded ? 9 : 7)];
      if (op == HSC_OP_DIVIDE)
        y = grow_clamped(g, y, 0.5, 4);
      if (op == HSC_OP_POWER) {
        x = grow_clamped(g, x, 0.5, 2);
        y = grow_clamped(g, y, -2, 2);
      }
      result = hsc_build_binary(&g->b, op, x, y);
      result =
          op == HSC_OP_MULTIPLY
              ? grow_clamped(g, result, -4, 4)
              : grow_scaled(
                    g, result,
                    op == HSC_OP_MAXIMUM || op == HSC_OP_MINIMUM || op == HSC_OP_POWER ? 1 : 0.5);
      break;
    }
    case HSC_CLASS_SIGNED:
    case HSC_CLASS_UNSIGNED: {
      static const hsc_op ops[] = {HSC_OP_ADD,
                                   HSC_OP_SUBTRACT,
                                   HSC_OP_MULTIPLY,
                                   HSC_OP_MAXIMUM,
                                   HSC_OP_MINIMUM,
                                   HSC_OP_DIVIDE,
                                   HSC_OP_REMAINDER,
                                   HSC_OP_AND,
                                   HSC_OP_OR,
                                   HSC_OP_XOR,
                                   HSC_OP_SHIFT_LEFT,
                                   HSC_OP_SHIFT_RIGHT_ARITH,
                                   HSC_OP_SHIFT_RIGHT_LOGICAL};
      result = hsc_build_binary(&g->b, ops[grow_below(g, (int)HSC_COUNT_OF(ops))], x, y);
      break;
    }
    case HSC_CLASS_PRED: {
      static const hsc_op ops[] = {HSC_OP_AND, HSC_OP_OR, HSC_OP_XOR, HSC_OP_MAXIMUM,
                                   HSC_OP_MINIMUM};
      result = hsc_build_binary(&g->b, ops[grow_below(g, (int)HSC_COUNT_OF(ops))], x, y);
      break;
    }
    default:
      result = grow_scaled(
          g, hsc_build_binary(&g->b, grow_chance(g, 50) ? HSC_OP_ADD : HSC_OP_SUBTRACT, x, y), 0.5);
      break;
  }
  grow_keep(g, result);
}

static void step_choice(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS | INTEGERS | PREDS, 0);
  hsc_instr *y = grow_pick_like(g, x->shape);
  if (grow_chance(g, 50) && !(g->options->smooth && hsc_type_is_float(x->shape.type))) {
    grow_keep(g, hsc_build_compare(&g->b, (hsc_direction)grow_below(g, 6), x, y));
  } else if (grow_chance(g, 60)) {
    hsc_shape condition = grow_chance(g, 20) ? hsc_shape_scalar(HSC_TYPE_PRED)
                                             : hsc_shape_with_type(x->shape, HSC_TYPE_PRED);
    grow_keep(g, hsc_build_select(&g->b, grow_pick_like(g, condition), x, y));
  } else if (x->shape.type != HSC_TYPE_PRED) {
    hsc_instr *low = grow_scalar(g, x->shape.type, 0);
    hsc_instr *high = grow_scalar(g, x->shape.type, 3);
    grow_keep(g, hsc_build_op(&g->b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                              (hsc_instr *[]){low, x, high}, 0, NULL));
  }
}

static void step_type(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 0);
  switch (grow_below(g, 4)) {
    case 0:
      grow_keep(g, grow_converted(g, x, grow_type(g)));
      break;
    case 1: {
      hsc_type type = x->shape.type;
      if (!g->options->unbounded || !in_classes(type, FLOATS | INTEGERS))
        break;
      static const hsc_type of_bits[] = {HSC_TYPE_S8, HSC_TYPE_U16, HSC_TYPE_S32, HSC_TYPE_F32};
      hsc_type to = of_bits[grow_below(g, 4)];
      if (hsc_type_bits(to) > hsc_type_bits(type) || hsc_type_bits(type) < 8 ||
          x->shape.rank >= g->options->max_rank)
        break;
      grow_keep(g, hsc_build_op(&g->b, HSC_OP_BITCAST_CONVERT, hsc_shape_scalar(to), NULL, 1, &x, 0,
                                NULL));
      break;
    }
    case 2: {
      if (!hsc_type_is_float(x->shape.type) || g->options->smooth)
        break;
      hsc_attr attr = {.precision = {.exponent_bits = 5, .mantissa_bits = 4 + grow_below(g, 7)}};
      grow_keep(
          g, hsc_build_op(&g->b, HSC_OP_REDUCE_PRECISION, (hsc_shape){0}, &attr, 1, &x, 0, NULL));
      break;
    }
    default: {
      if (!grow_has(g, RANDOM_TYPES))
        break;
      x = grow_pick(g, FLOATS, 0);
      x = grow_converted(g, x, HSC_TYPE_F32);
      hsc_instr *z =
          grow_keep(g, hsc_build_binary(&g->b, HSC_OP_COMPLEX, x, grow_pick_like(g, x->shape)));
      grow_keep(g, hsc_build_unary(&g->b, grow_chance(g, 50) ? HSC_OP_REAL : HSC_OP_IMAG, z));
      break;
    }
  }
}

// ---- data movement ------------------------------------------------------------------------------

void grow_shuffled(grower *g, int count, int64_t *out) {
  for (int i = 0; i < count; i++)
    out[i] = i;
  for (int i = count - 1; i > 0; i--) {
    int j = grow_below(g, i + 1);
    int64_t swap = out[i];
    out[i] = out[j];
    out[j] = swap;
  }
}

static void step_move(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 1);
  int rank = x->shape.rank;
  int64_t a[HSC_MAX_RANK], b[HSC_MAX_RANK], c[HSC_MAX_RANK];
  switch (grow_below(g, 8)) {
    case 0:
      grow_shuffled(g, rank, a);
      grow_keep(g, hsc_build_transpose(&g->b, x, (hsc_dims){rank, a}));
      break;
    case 1: {  // add a dimension somewhere
      if (rank >= g->options->max_rank + 1)
        break;
      int at = grow_below(g, rank + 1);
      for (int i = 0; i <= rank; i++) {
        if (i != at)
          b[i] = x->shape.dims[i - (i > at)];
        else if (hsc_shape_elements(&x->shape) > MAX_ELEMENTS / 16)
          b[i] = 1;
        else
          b[i] = grow_dim(g);
      }
      for (int i = 0; i < rank; i++)
        a[i] = i + (i >= at);
      if (rank > 1 && grow_chance(g, 25)) {  // and two of its dimensions the other way round
        int64_t swap = a[0];
        a[0] = a[rank - 1];
        a[rank - 1] = swap;
        b[a[0]] = x->shape.dims[0];
        b[a[rank - 1]] = x->shape.dims[rank - 1];
      }
      grow_keep(g, hsc_build_broadcast(&g->b, x, grow_shape_of(g, x->shape.type, rank + 1, b),
                                       (hsc_dims){rank, a}));
      break;
    }
    case 2: {  // flatten, or split a dimension of 1 off
      int64_t n = hsc_shape_elements(&x->shape);
      int64_t split[2] = {n % 2 == 0 && n > 0 ? 2 : 1, n % 2 == 0 && n > 0 ? n / 2 : n};
      grow_keep(g, grow_chance(g, 50) ? hsc_build_reshape(&g->b, x, 1, &n)
                                      : hsc_build_reshape(&g->b, x, 2, split));
      break;
    }
    case 3:
      for (int i = 0; i < rank; i++) {
        a[i] = grow_below(g, (int)x->shape.dims[i] + 1);
        b[i] = a[i] + grow_below(g, (int)(x->shape.dims[i] - a[i]) + 1);
        if (b[i] == a[i] && !grow_has(g, RANDOM_EMPTY)) {
          a[i] = 0;
          b[i] = x->shape.dims[i];
        }
        c[i] = 1 + grow_below(g, 2);
      }
      grow_keep(g, hsc_build_slice(&g->b, x, (hsc_dims){rank, a}, (hsc_dims){rank, b},
                                   (hsc_dims){rank, c}));
      break;
    case 4: {
      hsc_pad_dim pads[HSC_MAX_RANK];
      for (int i = 0; i < rank; i++)
        pads[i] = (hsc_pad_dim){grow_below(g, 3) - (x->shape.dims[i] > 1), grow_below(g, 3),
                                grow_below(g, 2)};
      hsc_attr attr = {.pad = {.rank = rank, .dims = pads}};
      grow_keep(g, hsc_build_op(&g->b, HSC_OP_PAD, (hsc_shape){0}, &attr, 2,
                                (hsc_instr *[]){x, grow_scalar(g, x->shape.type, 1)}, 0, NULL));
      break;
    }
    case 5: {
      hsc_instr *operands[3] = {x, grow_pick_like(g, x->shape), x};
      grow_keep(g,
                hsc_build_concatenate(&g->b, 1 + grow_below(g, 3), operands, grow_below(g, rank)));
      break;
    }
    case 6: {
      grow_shuffled(g, rank, a);
      hsc_attr attr = {.dims = {.dims = {1 + grow_below(g, rank), a}}};
      grow_keep(g, hsc_build_op(&g->b, HSC_OP_REVERSE, (hsc_shape){0}, &attr, 1, &x, 0, NULL));
      break;
    }
    default: {
      hsc_type type = grow_chance(g, 50) ? HSC_TYPE_S32 : HSC_TYPE_F32;
      hsc_instr *counts = hsc_build_iota(&g->b, grow_shape(g, type, 1), 0);
      grow_keep(g, grow_scaled(g, counts, 0.25));
      break;
    }
  }
}

// A gather of any form: any subset of dimensions indexed, in any order, any collapsed, any place
// for the index vector and the window.
static void any_gather(grower *g, hsc_instr *x) {
  int rank = x->shape.rank;
  int k = 1 + grow_below(g, rank);
  int batch = grow_below(g, 3);
  int64_t order[HSC_MAX_RANK], sizes[HSC_MAX_RANK], collapsed[HSC_MAX_RANK], offsets[HSC_MAX_RANK],
      dims[HSC_MAX_RANK];
  int collapsed_count = 0;
  int offset_count = 0;
  int dim_count = 0;
  for (int i = 0; i < rank; i++) {
    if (x->shape.dims[i] == 0)
      return;
    bool gone = grow_chance(g, 40);
    sizes[i] = gone ? 1 : 1 + grow_below(g, (int)x->shape.dims[i]);
    if (gone)
      collapsed[collapsed_count++] = i;
  }
  grow_shuffled(g, rank, order);
  int windows = rank - collapsed_count;
  int vector_dim = k == 1 && grow_chance(g, 40) ? batch : grow_below(g, batch + 1);
  bool has_vector = !(k == 1 && vector_dim == batch && grow_chance(g, 50));
  for (int i = 0; i < batch + (has_vector ? 1 : 0); i++)
    dims[dim_count++] = has_vector && i == vector_dim ? k : 1 + grow_below(g, 3);
  // Which dimensions of the result are the window's: a random choice, in order.
  for (int i = 0, left = windows, all = windows + batch; i < windows + batch; i++, all--)
    if (left && grow_below(g, all) < left) {
      offsets[offset_count++] = i;
      left--;
    }
  hsc_attr attr = {.gather = {.offset_dims = {offset_count, offsets},
                              .collapsed_slice_dims = {collapsed_count, collapsed},
                              .start_index_map = {k, order},
                              .index_vector_dim = vector_dim,
                              .slice_sizes = {rank, sizes}}};
  hsc_instr *operands[2] = {x, grow_pick_like(g, grow_shape_of(g, HSC_TYPE_S32, dim_count, dims))};
  grow_keep(g, hsc_build_op(&g->b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2, operands, 0, NULL));
}

static void step_bits(grower *g) {
  if (grow_chance(g, 50)) {  // random bits: discrete, from a discrete state
    static const hsc_type types[] = {HSC_TYPE_U32, HSC_TYPE_U64, HSC_TYPE_U16, HSC_TYPE_S32,
                                     HSC_TYPE_U8};
    bool three_fry = grow_chance(g, 50);
    int64_t words = three_fry ? 2 : 2 + grow_below(g, 2);
    hsc_shape state = grow_shape_of(g, HSC_TYPE_U64, 1, &words);
    hsc_shape bits = grow_shape(g, types[grow_below(g, (int)HSC_COUNT_OF(types))], 0);
    if (hsc_shape_elements(&bits) == 0)
      return;
    hsc_instr *seed = grow_constant(g, state);
    hsc_attr attr = {.rng = {.algorithm = three_fry ? HSC_RNG_THREE_FRY : HSC_RNG_PHILOX}};
    hsc_instr *result =
        hsc_build(&g->b, HSC_OP_RNG_BIT_GENERATOR,
                  hsc_shape_tuple(g->arena, 2, (hsc_shape[]){state, bits}), 1, &seed);
    if (g->b.status)
      return;
    result->attr = attr;
    for (int i = 0; i < 2; i++)
      grow_keep(g, hsc_build_get_tuple_element(&g->b, result, i));
    return;
  }
  static const hsc_type narrow[] = {HSC_TYPE_U8, HSC_TYPE_S8, HSC_TYPE_U16, HSC_TYPE_S32,
                                    HSC_TYPE_U32};
  static const hsc_type wide[] = {HSC_TYPE_U64, HSC_TYPE_S64, HSC_TYPE_U32, HSC_TYPE_S32,
                                  HSC_TYPE_U16};
  hsc_type from = narrow[grow_below(g, 5)];
  hsc_type to = wide[grow_below(g, 5)];
  if (hsc_type_bits(from) == hsc_type_bits(to) || grow_chance(g, 10))
    return;
  if (hsc_type_bits(from) > hsc_type_bits(to) || grow_chance(g, 50)) {
    hsc_type swap = from;
    from = to;
    to = swap;
  }
  hsc_instr *x = grow_constant(g, grow_shape(g, from, 1));
  int64_t dims[HSC_MAX_RANK], ratio;
  int rank = x->shape.rank;
  memcpy(dims, x->shape.dims, sizeof(int64_t) * (size_t)rank);
  if (hsc_type_bits(from) > hsc_type_bits(to)) {
    dims[rank] = hsc_type_bits(from) / hsc_type_bits(to);
    grow_keep(g, hsc_build_op(&g->b, HSC_OP_BITCAST_CONVERT, grow_shape_of(g, to, rank + 1, dims),
                              NULL, 1, &x, 0, NULL));
    return;
  }
  ratio = hsc_type_bits(to) / hsc_type_bits(from);
  dims[rank] = ratio;
  x = grow_pick_like(g, grow_shape_of(g, from, rank + 1, dims));
  grow_keep(g, hsc_build_op(&g->b, HSC_OP_BITCAST_CONVERT, grow_shape_of(g, to, rank, dims), NULL,
                            1, &x, 0, NULL));
}

// Forms that programs have by habit and random steps do not come upon.
static void step_idiom(grower *g) {
  hsc_instr *x = grow_converted(g, grow_pick(g, FLOATS, 1), HSC_TYPE_F32);
  int64_t n = hsc_shape_elements(&x->shape);
  int64_t zero = 0;
  int64_t one = 1;
  hsc_shape flat = grow_shape_of(g, HSC_TYPE_F32, 1, &n);
  x = grow_reshaped(g, x, flat);
  switch (grow_below(g, 6)) {
    case 0: {  // an array worked on in parts
      int64_t middle = grow_below(g, (int)n + 1);
      hsc_instr *y = grow_pick_like(g, flat);
      hsc_instr *parts[2];
      for (int i = 0; i < 2; i++) {
        int64_t start = i ? middle : 0;
        int64_t limit = i ? n : middle;
        hsc_instr *a = hsc_build_slice(&g->b, x, (hsc_dims){1, &start}, (hsc_dims){1, &limit},
                                       (hsc_dims){1, &one});
        hsc_instr *c = hsc_build_slice(&g->b, y, (hsc_dims){1, &start}, (hsc_dims){1, &limit},
                                       (hsc_dims){1, &one});
        parts[i] = grow_scaled(g, hsc_build_binary(&g->b, HSC_OP_SUBTRACT, a, c), 0.5);
      }
      grow_keep(g, hsc_build_concatenate(&g->b, 2, parts, 0));
      break;
    }
    case 1: {  // x w^T
      int64_t m = 1 + grow_below(g, 4);
      int64_t dims[2] = {m, n};
      int64_t back[2] = {1, 0};
      hsc_instr *w = hsc_build_transpose(
          &g->b, grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 2, dims)), (hsc_dims){2, back});
      hsc_instr *y = hsc_build_dot(
          &g->b, x, w,
          (hsc_dot_dims){.lhs_contracting = {1, &zero}, .rhs_contracting = {1, &zero}});
      grow_keep(g, grow_scaled(g, y, 0.25 / (double)(n ? n : 1)));
      break;
    }
    case 2: {  // a tuple that is taken apart
      hsc_instr *tuple = hsc_build_tuple(&g->b, 2, (hsc_instr *[]){x, grow_pick_like(g, flat)});
      grow_keep(g, hsc_build_get_tuple_element(&g->b, tuple, grow_below(g, 2)));
      break;
    }
    case 3:
      grow_keep(g,
                hsc_build_convert(
                    &g->b, HSC_TYPE_F32,
                    hsc_build_convert(&g->b, grow_chance(g, 50) ? HSC_TYPE_F64 : HSC_TYPE_F32, x)));
      break;
    case 4: {  // a long sum
      int64_t dims[2] = {n, 40};
      hsc_instr *wide = hsc_build_broadcast(&g->b, x, grow_shape_of(g, HSC_TYPE_F32, 2, dims),
                                            (hsc_dims){1, &zero});
      hsc_instr *sum =
          hsc_build_reduce(&g->b, wide, grow_scalar(g, HSC_TYPE_F32, 0), (hsc_dims){1, &one},
                           hsc_module_scalar_reducer(g->module, HSC_OP_ADD, HSC_TYPE_F32));
      grow_keep(g, grow_scaled(g, sum, 1.0 / 40));
      break;
    }
    default: {  // in total order, constants so that nothing hangs on a rounding
      hsc_instr *less = hsc_build_compare(&g->b, (hsc_direction)grow_below(g, 6),
                                          grow_constant(g, flat), grow_constant(g, flat));
      if (!g->b.status)
        less->attr.compare.type = HSC_COMPARE_TOTALORDER;
      grow_keep(g, less);
      break;
    }
  }
}

// Places may lie outside: they are clamped (dynamic slices, gather) or skipped (scatter).
static hsc_instr *random_index(grower *g) {
  return grow_chance(g, 50)
             ? grow_scalar(g, HSC_TYPE_S32, grow_below(g, 10) - 2)
             : grow_coerced(g, grow_pick(g, INTEGERS, 0), hsc_shape_scalar(HSC_TYPE_S32));
}

static void step_index(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 1);
  hsc_instr *indices[HSC_MAX_RANK];
  int rank = x->shape.rank;
  int64_t sizes[HSC_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    sizes[i] = x->shape.dims[i] == 0 ? 0 : 1 + grow_below(g, (int)x->shape.dims[i]);
    indices[i] = random_index(g);
  }
  switch (grow_below(g, 5)) {
    case 4:
      any_gather(g, x);
      break;
    case 0:
      grow_keep(g, hsc_build_dynamic_slice(&g->b, x, rank, indices, (hsc_dims){rank, sizes}));
      break;
    case 1:
      grow_keep(g, hsc_build_dynamic_update_slice(
                       &g->b, x, grow_pick_like(g, grow_shape_of(g, x->shape.type, rank, sizes)),
                       rank, indices));
      break;
    case 2: {  // rows of dimension 0
      int64_t n = 1 + grow_below(g, 4);
      int64_t rows[2] = {n, 1};
      int64_t zero = 0;
      int64_t offset[HSC_MAX_RANK];
      hsc_instr *at = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_S32, 2, rows));
      for (int i = 1; i < rank; i++)
        offset[i - 1] = i;
      sizes[0] = x->shape.dims[0] == 0 ? 0 : 1;
      hsc_attr attr = {.gather = {.offset_dims = {rank - 1, offset},
                                  .collapsed_slice_dims = {1, &zero},
                                  .start_index_map = {1, &zero},
                                  .index_vector_dim = 1,
                                  .slice_sizes = {rank, sizes}}};
      if (x->shape.dims[0] > 0)
        grow_keep(g, hsc_build_op(&g->b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2,
                                  (hsc_instr *[]){x, at}, 0, NULL));
      break;
    }
    default: {
      int64_t n = 1 + grow_below(g, 4);
      int64_t rows[2] = {n, 1};
      int64_t zero = 0;
      int64_t offset[HSC_MAX_RANK];
      int64_t update[HSC_MAX_RANK];
      if (x->shape.type == HSC_TYPE_PRED)
        x = grow_converted(g, x, HSC_TYPE_S32);
      hsc_instr *at = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_S32, 2, rows));
      update[0] = n;
      for (int i = 1; i < rank; i++) {
        offset[i - 1] = i;
        update[i] = x->shape.dims[i];
      }
      hsc_instr *updates =
          grow_scaled(g, grow_pick_like(g, grow_shape_of(g, x->shape.type, rank, update)), 0.25);
      hsc_computation *combine = hsc_module_scalar_reducer(g->module, HSC_OP_ADD, x->shape.type);
      hsc_attr attr = {.scatter = {.offset_dims = {rank - 1, offset},
                                   .collapsed_slice_dims = {1, &zero},
                                   .start_index_map = {1, &zero},
                                   .index_vector_dim = 1}};
      grow_keep(g, grow_scaled(g,
                               hsc_build_op(&g->b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3,
                                            (hsc_instr *[]){x, at, updates}, 1, &combine),
                               0.5));
      break;
    }
  }
}

// ---- reductions ---------------------------------------------------------------------------------

static hsc_op random_reducer(grower *g, hsc_type type, double *out_init) {
  bool real = type == HSC_TYPE_F32 || hsc_type_is_float(type) || hsc_type_is_integral(type);
  int choice = real ? grow_below(g, 3) : 0;
  if (type == HSC_TYPE_PRED) {
    *out_init = grow_chance(g, 50);
    return *out_init != 0 ? HSC_OP_AND : HSC_OP_OR;
  }
  if (choice == 0)
    *out_init = 0;
  else if (choice == 1)
    *out_init = -2;
  else
    *out_init = 2;
  if (hsc_type_class_of(type) == HSC_CLASS_UNSIGNED && choice == 1)
    *out_init = 0;
  if (choice == 0)
    return HSC_OP_ADD;
  if (choice == 1)
    return HSC_OP_MAXIMUM;
  return HSC_OP_MINIMUM;
}

hsc_computation *grow_argmax_reducer(grower *g) {
  hsc_builder b;
  hsc_builder_init(&b, g->module, "argmax");
  hsc_shape f32 = hsc_shape_scalar(HSC_TYPE_F32);
  hsc_shape s32 = hsc_shape_scalar(HSC_TYPE_S32);
  hsc_instr *x = hsc_build_parameter(&b, 0, f32, "x");
  hsc_instr *i = hsc_build_parameter(&b, 1, s32, "i");
  hsc_instr *y = hsc_build_parameter(&b, 2, f32, "y");
  hsc_instr *j = hsc_build_parameter(&b, 3, s32, "j");
  hsc_instr *wins =
      hsc_build_binary(&b, HSC_OP_OR, hsc_build_compare(&b, HSC_GT, x, y),
                       hsc_build_binary(&b, HSC_OP_AND, hsc_build_compare(&b, HSC_EQ, x, y),
                                        hsc_build_compare(&b, HSC_LT, i, j)));
  hsc_instr *best[2] = {hsc_build_select(&b, wins, x, y), hsc_build_select(&b, wins, i, j)};
  hsc_computation *computation = NULL;
  hsc_status *status = hsc_builder_finish(&b, hsc_build_tuple(&b, 2, best), &computation);
  if (status && !g->b.status)
    g->b.status = status;
  return computation;
}

hsc_computation *grow_comparator(grower *g, int count, const hsc_type *types) {
  hsc_builder b;
  hsc_builder_init(&b, g->module, "comparator");
  hsc_instr *first[2] = {0};
  for (int i = 0; i < 2 * count; i++) {
    hsc_instr *p = hsc_build_parameter(&b, i, hsc_shape_scalar(types[i / 2]), "p");
    if (i < 2)
      first[i] = p;
  }
  hsc_instr *root = hsc_build_compare(&b, grow_chance(g, 50) ? HSC_LT : HSC_GT, first[0], first[1]);
  hsc_computation *computation = NULL;
  hsc_status *status = hsc_builder_finish(&b, root, &computation);
  if (status && !g->b.status)
    g->b.status = status;
  return computation;
}

static void step_reduce(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS | INTEGERS | PREDS, 1);
  int rank = x->shape.rank;
  int64_t dims[HSC_MAX_RANK];
  hsc_window_dim window[HSC_MAX_RANK];
  double init;
  hsc_op op = random_reducer(g, x->shape.type, &init);
  int64_t count = 1;
  for (int i = 0; i < rank; i++) {
    int64_t size = 1 + grow_below(g, 3);
    window[i] = (hsc_window_dim){size,
                                 1 + grow_below(g, 2),
                                 grow_below(g, 2),
                                 grow_below(g, 2),
                                 1 + grow_below(g, 2),
                                 1 + grow_below(g, 2),
                                 false};
    count *= size;
  }
  switch (grow_below(g, 6)) {
    case 0:
    case 1: {
      grow_shuffled(g, rank, dims);
      hsc_dims reduced = {1 + grow_below(g, rank), dims};
      int64_t n = 1;
      for (int i = 0; i < reduced.count; i++)
        n *= x->shape.dims[dims[i]] ? x->shape.dims[dims[i]] : 1;
      hsc_instr *sum = hsc_build_reduce(&g->b, x, grow_scalar(g, x->shape.type, init), reduced,
                                        hsc_module_scalar_reducer(g->module, op, x->shape.type));
      grow_keep(g, grow_scaled(g, sum, op == HSC_OP_ADD ? 1.0 / (double)n : 1));
      break;
    }
    case 2: {
      hsc_attr attr = {.window = {.window = {rank, window}}};
      hsc_computation *reducer = hsc_module_scalar_reducer(g->module, op, x->shape.type);
      hsc_instr *folded =
          hsc_build_op(&g->b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                       (hsc_instr *[]){x, grow_scalar(g, x->shape.type, init)}, 1, &reducer);
      if (grow_has(g, RANDOM_EMPTY) || hsc_shape_elements(&folded->shape) > 0)
        grow_keep(g, grow_scaled(g, folded, op == HSC_OP_ADD ? 1.0 / (double)count : 1));
      break;
    }
    case 3: {
      x = grow_converted(g, x, HSC_TYPE_F32);
      dims[0] = grow_below(g, rank);
      hsc_instr *at = hsc_build_iota(&g->b, hsc_shape_with_type(x->shape, HSC_TYPE_S32), dims[0]);
      hsc_attr attr = {.dims = {.dims = {1, dims}}};
      hsc_computation *reducer = grow_argmax_reducer(g);
      hsc_instr *pair = hsc_build_op(
          &g->b, HSC_OP_REDUCE, (hsc_shape){0}, &attr, 4,
          (hsc_instr *[]){x, at, grow_scalar(g, HSC_TYPE_F32, -8), grow_scalar(g, HSC_TYPE_S32, 0)},
          1, &reducer);
      grow_keep(g, hsc_build_get_tuple_element(&g->b, pair, 0));
      if (!g->options->smooth)
        grow_keep(g, hsc_build_get_tuple_element(&g->b, pair, 1));
      break;
    }
    case 4: {
      int operands =
          g->options->smooth && hsc_type_is_float(x->shape.type) ? 1 : 1 + grow_below(g, 2);
      hsc_instr *sorted[2] = {x, grow_pick_like(g, hsc_shape_with_type(x->shape, HSC_TYPE_S32))};
      dims[0] = grow_below(g, rank);
      hsc_attr attr = {.dims = {.dims = {1, dims}, .is_stable = true}};
      hsc_computation *less =
          grow_comparator(g, operands, (hsc_type[]){x->shape.type, HSC_TYPE_S32});
      hsc_instr *result =
          hsc_build_op(&g->b, HSC_OP_SORT, (hsc_shape){0}, &attr, operands, sorted, 1, &less);
      for (int i = 0; i < operands; i++)
        grow_keep(g, operands == 1 ? result : hsc_build_get_tuple_element(&g->b, result, i));
      break;
    }
    default: {  // positions of maxima of windows that do not overlap
      if (g->options->smooth)
        break;
      x = grow_converted(g, x, HSC_TYPE_F32);
      int64_t places[HSC_MAX_RANK];
      for (int i = 0; i < rank; i++) {
        int64_t size = x->shape.dims[i] < 2 ? 1 : 2;
        window[i] = (hsc_window_dim){size, size, 0, 0, 1, 1, false};
        places[i] = x->shape.dims[i] / size;
      }
      hsc_builder b;
      hsc_builder_init(&b, g->module, "ge");
      hsc_instr *p = hsc_build_parameter(&b, 0, hsc_shape_scalar(HSC_TYPE_F32), "x");
      hsc_instr *q = hsc_build_parameter(&b, 1, hsc_shape_scalar(HSC_TYPE_F32), "y");
      hsc_computation *called[2] = {NULL,
                                    hsc_module_scalar_reducer(g->module, HSC_OP_ADD, HSC_TYPE_F32)};
      hsc_status *status = hsc_builder_finish(&b, hsc_build_compare(&b, HSC_GE, p, q), &called[0]);
      if (status && !g->b.status)
        g->b.status = status;
      hsc_instr *source = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, rank, places));
      hsc_attr attr = {.window = {.window = {rank, window}}};
      grow_keep(
          g, hsc_build_op(&g->b, HSC_OP_SELECT_AND_SCATTER, (hsc_shape){0}, &attr, 3,
                          (hsc_instr *[]){x, source, grow_scalar(g, HSC_TYPE_F32, 0)}, 2, called));
      break;
    }
  }
}

// ---- contractions -------------------------------------------------------------------------------

static void step_contract(grower *g) {
  hsc_type type;
  if (grow_has(g, RANDOM_TYPES) && grow_chance(g, 15)) {
    if (grow_chance(g, 50))
      type = HSC_TYPE_F64;
    else
      type = HSC_TYPE_BF16;
  } else
    type = HSC_TYPE_F32;
  int64_t n = grow_dim(g);
  int64_t m = grow_dim(g);
  int64_t k = grow_dim(g);
  int64_t batch = grow_dim(g);
  int64_t zero = 0;
  int64_t one = 1;
  int64_t two = 2;
  if (grow_chance(g, 60)) {
    bool batched = grow_chance(g, 40);
    bool swap = grow_chance(g, 30);  // contract the first dimension of the right side or the last
    int64_t lhs[3] = {batch, m, k};
    int64_t rhs_plain[3] = {batch, k, n};
    int64_t rhs_swapped[3] = {batch, n, k};
    const int64_t *rhs = swap ? rhs_swapped : rhs_plain;
    hsc_dot_dims dims = {
        .lhs_contracting = {1, batched ? &two : &one},
        .rhs_contracting = {1, batched ? (swap ? &two : &one) : (swap ? &one : &zero)}};
    if (batched)
      dims.lhs_batch = dims.rhs_batch = (hsc_dims){1, &zero};
    hsc_instr *x =
        grow_pick_like(g, grow_shape_of(g, type, batched ? 3 : 2, batched ? lhs : lhs + 1));
    hsc_instr *y =
        grow_pick_like(g, grow_shape_of(g, type, batched ? 3 : 2, batched ? rhs : rhs + 1));
    grow_keep(g, grow_scaled(g, hsc_build_dot(&g->b, x, y, dims), 0.25 / (double)(k ? k : 1)));
    return;
  }
  if (grow_chance(g, 25)) {  // two contracting dimensions, and free ones on both sides of them
    int64_t lhs[4] = {n, k, m, 2};
    int64_t rhs[4] = {m, 3, batch, k};
    int64_t of_lhs[2] = {1, 2};
    int64_t of_rhs[2] = {3, 0};
    hsc_instr *x = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 4, lhs));
    hsc_instr *y = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 4, rhs));
    hsc_instr *product = hsc_build_dot(
        &g->b, x, y,
        (hsc_dot_dims){.lhs_contracting = {2, of_lhs}, .rhs_contracting = {2, of_rhs}});
    grow_keep(g, grow_scaled(g, product, 0.25 / (double)(k > 0 && m > 0 ? k * m : 1)));
    return;
  }
  int spatial = 1 + grow_below(g, 2);
  int64_t groups = grow_chance(g, 30) ? 2 : 1;
  int64_t in[4];
  int64_t kernel[4];
  int64_t places[2] = {1, 2};
  int64_t of_kernel[2] = {0, 1};
  hsc_window_dim window[2];
  in[0] = 1 + grow_below(g, 2);
  for (int i = 0; i < spatial; i++) {
    in[1 + i] = 3 + grow_below(g, 4);
    kernel[i] = 1 + grow_below(g, 3);
    window[i] = (hsc_window_dim){kernel[i],         1 + grow_below(g, 2), grow_below(g, 2),
                                 grow_below(g, 2),  1 + grow_below(g, 2), 1 + grow_below(g, 2),
                                 grow_chance(g, 20)};
  }
  in[1 + spatial] = k = groups * (1 + grow_below(g, 3));
  kernel[spatial] = k / groups;
  kernel[spatial + 1] = groups * (1 + grow_below(g, 3));
  hsc_attr attr = {
      .conv = {.window = {spatial, window}, .feature_groups = groups, .batch_groups = 1}};
  attr.conv.dims = (hsc_conv_dims){.spatial_rank = spatial,
                                   .input_batch = 0,
                                   .input_feature = spatial + 1,
                                   .kernel_input = spatial,
                                   .kernel_output = spatial + 1,
                                   .output_batch = 0,
                                   .output_feature = spatial + 1,
                                   .input_spatial = places,
                                   .kernel_spatial = of_kernel,
                                   .output_spatial = places};
  hsc_instr *operands[2] = {grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, spatial + 2, in)),
                            grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, spatial + 2, kernel))};
  hsc_instr *result =
      hsc_build_op(&g->b, HSC_OP_CONVOLUTION, (hsc_shape){0}, &attr, 2, operands, 0, NULL);
  if (grow_has(g, RANDOM_EMPTY) || hsc_shape_elements(&result->shape) > 0)
    grow_keep(g, grow_scaled(g, result, 0.25 / (double)(k / groups * 4)));
}

static void step_algebra(grower *g) {
  int64_t n = 1 + grow_below(g, 4);
  int64_t square[2] = {n, n};
  int64_t one = 1;
  hsc_instr *a = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 2, square));
  switch (grow_below(g, 4)) {
    case 0: {  // a a^T + n I is positive definite
      hsc_instr *product = hsc_build_dot(
          &g->b, a, a, (hsc_dot_dims){.lhs_contracting = {1, &one}, .rhs_contracting = {1, &one}});
      hsc_shape counts = grow_shape_of(g, HSC_TYPE_S32, 2, square);
      hsc_instr *eye = hsc_build_compare(&g->b, HSC_EQ, hsc_build_iota(&g->b, counts, 0),
                                         hsc_build_iota(&g->b, counts, 1));
      hsc_instr *shift = hsc_build_select(&g->b, eye, grow_splat(g, a->shape, (double)(4 * n)),
                                          grow_splat(g, a->shape, 0));
      hsc_attr attr = {.cholesky = {.lower = true}};
      hsc_instr *spd = hsc_build_binary(&g->b, HSC_OP_ADD, product, shift);
      hsc_instr *factor =
          hsc_build_op(&g->b, HSC_OP_CHOLESKY, (hsc_shape){0}, &attr, 1, &spd, 0, NULL);
      // Only the lower triangle is defined.
      hsc_instr *lower = hsc_build_compare(&g->b, HSC_GE, hsc_build_iota(&g->b, counts, 0),
                                           hsc_build_iota(&g->b, counts, 1));
      factor = hsc_build_select(&g->b, lower, factor, grow_splat(g, a->shape, 0));
      hsc_attr solve = {.triangular = {.left_side = true, .lower = true}};
      grow_keep(g, grow_scaled(
                       g,
                       hsc_build_op(&g->b, HSC_OP_TRIANGULAR_SOLVE, (hsc_shape){0}, &solve, 2,
                                    (hsc_instr *[]){factor, grow_pick_like(g, a->shape)}, 0, NULL),
                       0.5));
      grow_keep(g, grow_scaled(g, factor, 1.0 / (double)(4 * n)));
      break;
    }
    case 1: {
      int64_t length = 2 + grow_below(g, 7);
      int64_t dims[2] = {1 + grow_below(g, 3), length};
      hsc_instr *x = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 2, dims));
      hsc_attr attr = {.fft = {.type = HSC_RFFT, .length = {1, &length}}};
      hsc_instr *spectrum = hsc_build_op(&g->b, HSC_OP_FFT, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
      grow_keep(g, grow_scaled(g,
                               hsc_build_unary(
                                   &g->b, grow_chance(g, 50) ? HSC_OP_REAL : HSC_OP_IMAG, spectrum),
                               1.0 / (double)length));
      break;
    }
    case 2: {
      int64_t features = 1 + grow_below(g, 4);
      int64_t dims[3] = {2 + grow_below(g, 3), 1 + grow_below(g, 3), features};
      hsc_instr *x = grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, 3, dims));
      hsc_shape vector = grow_shape_of(g, HSC_TYPE_F32, 1, &features);
      hsc_attr attr = {.batch_norm = {.epsilon = 0.125f, .feature_index = 2}};
      hsc_instr *norm = hsc_build_op(
          &g->b, HSC_OP_BATCH_NORM_TRAINING, (hsc_shape){0}, &attr, 3,
          (hsc_instr *[]){x, grow_pick_like(g, vector), grow_pick_like(g, vector)}, 0, NULL);
      for (int i = 0; i < 3; i++)
        grow_keep(g,
                  grow_scaled(g, hsc_build_get_tuple_element(&g->b, norm, i), i == 0 ? 0.25 : 1));
      break;
    }
    default: {
      hsc_instr *x = grow_converted(g, grow_pick(g, FLOATS | INTEGERS, 1), HSC_TYPE_F32);
      int64_t last = x->shape.dims[x->shape.rank - 1];
      hsc_attr attr = {
          .topk = {.k = last ? 1 + grow_below(g, (int)last) : 0, .largest = grow_chance(g, 70)}};
      hsc_instr *best = hsc_build_op(&g->b, HSC_OP_TOPK, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
      grow_keep(g, hsc_build_get_tuple_element(&g->b, best, 0));
      break;
    }
  }
}

// ---- called computations ------------------------------------------------------------------------

static void grow(grower *g, int steps);

// A computation from parameters of the given shapes to `result`, grown like the entry.
// `elementwise` allows steps that keep scalars scalar.
hsc_computation *grow_computation(grower *g,
                                  const char *name,
                                  int parameter_count,
                                  const hsc_shape *parameters,
                                  hsc_shape result,
                                  int steps) {
  grower *inner = hsc_alloc(sizeof *inner);
  hsc_computation *computation = NULL;
  if (!inner)
    return NULL;
  *inner = *g;
  inner->pool_count = 0;
  inner->depth = g->depth + 1;
  hsc_builder_init(&inner->b, g->module, name);
  for (int i = 0; i < parameter_count; i++)
    grow_keep(inner, hsc_build_parameter(&inner->b, i, parameters[i], "p"));
  grow(inner, steps);
  hsc_instr *root = grow_coerced(inner, inner->pool[inner->pool_count - 1], result);
  // Bodies of loops feed their own results back: keep those bounded whatever was grown.
  if (!g->options->unbounded && hsc_type_is_float(result.type))
    root = hsc_build_unary(&inner->b, HSC_OP_TANH, root);
  hsc_status *status = hsc_builder_finish(&inner->b, root, &computation);
  if (status && !g->b.status)
    g->b.status = status;
  else
    hsc_status_free(status);
  hsc_free(inner);
  return computation;
}

// A fused computation holds nothing that is not used (XLA's verifier insists): dead instructions
// go, and parameters nobody reads, with their operands. Returns how many operands are left.
static int drop_unused(hsc_computation *computation, int operand_count, hsc_instr **operands) {
  for (hsc_instr *instr = computation->last, *previous; instr; instr = previous) {
    previous = instr->prev;
    if (hsc_instr_is_dead(instr))
      hsc_instr_remove(instr);
  }
  int kept = 0;
  for (int i = 0; i < operand_count; i++) {
    hsc_instr *parameter = computation->parameters[i];
    if (parameter->user_count == 0 && computation->root != parameter) {
      hsc_instr_remove(parameter);
      continue;
    }
    computation->parameters[i] = NULL;
    computation->parameters[kept] = parameter;
    parameter->attr.index.value = kept;
    operands[kept++] = operands[i];
  }
  computation->parameter_count = kept;
  return kept;
}

static void step_call(grower *g) {
  hsc_instr *operands[2] = {grow_pick(g, ANY, 0), grow_pick(g, ANY, 0)};
  hsc_shape shapes[2] = {operands[0]->shape, operands[1]->shape};
  hsc_shape result = grow_chance(g, 50) ? shapes[0] : grow_shape(g, grow_type(g), 0);
  if (grow_chance(g, 25)) {  // map over scalars
    hsc_instr *x = grow_converted(g, operands[0], HSC_TYPE_F32);
    hsc_builder b;
    hsc_builder_init(&b, g->module, "mapped");
    hsc_instr *p = hsc_build_parameter(&b, 0, hsc_shape_scalar(HSC_TYPE_F32), "x");
    hsc_computation *mapped = NULL;
    hsc_status *status = hsc_builder_finish(
        &b, hsc_build_unary(&b, HSC_OP_TANH, hsc_build_binary(&b, HSC_OP_MULTIPLY, p, p)), &mapped);
    if (status && !g->b.status)
      g->b.status = status;
    int64_t dims[HSC_MAX_RANK];
    for (int i = 0; i < x->shape.rank; i++)
      dims[i] = i;
    hsc_attr attr = {.dims = {.dims = {x->shape.rank, dims}}};
    grow_keep(g, hsc_build_op(&g->b, HSC_OP_MAP, (hsc_shape){0}, &attr, 1, &x, 1, &mapped));
    return;
  }
  bool fusion = grow_chance(g, 50);
  uint32_t features = g->options->features;
  random_module_options plain = *g->options;
  if (fusion)
    plain.features = features & (RANDOM_TYPES | RANDOM_REDUCTIONS | RANDOM_INDEXING | RANDOM_EMPTY);
  const random_module_options *outer = g->options;
  g->options = &plain;
  hsc_computation *called = grow_computation(g, fusion ? "fused_computation" : "called", 2, shapes,
                                             result, 2 + grow_below(g, 5));
  g->options = outer;
  hsc_attr attr = {.fusion = {.kind = HSC_FUSION_LOOP}};
  if (!called)
    return;
  int count = fusion ? drop_unused(called, 2, operands) : 2;
  grow_keep(g, hsc_build_op(&g->b, fusion ? HSC_OP_FUSION : HSC_OP_CALL, (hsc_shape){0},
                            fusion ? &attr : NULL, count, operands, 1, &called));
}

static void step_while(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 0);
  hsc_instr *y = grow_pick(g, FLOATS, 0);
  // The last one never changes: what is made from it alone can move before the loop, and a constant
  // into it.
  hsc_instr *kept = grow_chance(g, 40)
                        ? grow_scalar(g, HSC_TYPE_F32, random_number(g, HSC_TYPE_F32))
                        : grow_pick(g, FLOATS, 0);
  hsc_instr *state[4] = {grow_scalar(g, HSC_TYPE_S32, 0), x, y, kept};
  hsc_shape state_shape =
      hsc_shape_tuple(g->arena, 4, (hsc_shape[]){state[0]->shape, x->shape, y->shape, kept->shape});
  hsc_computation *called[2] = {0};
  hsc_builder b;
  hsc_builder_init(&b, g->module, "condition");
  hsc_instr *p = hsc_build_parameter(&b, 0, state_shape, "state");
  hsc_instr *more = hsc_build_compare(&b, HSC_LT, hsc_build_get_tuple_element(&b, p, 0),
                                      hsc_build_scalar(&b, HSC_TYPE_S32, grow_below(g, 5)));
  hsc_status *status = hsc_builder_finish(&b, more, &called[0]);
  if (status && !g->b.status)
    g->b.status = status;
  else
    hsc_status_free(status);

  // The body's work is a computation of its own, called; the loop's frame stays simple.
  hsc_shape parts[4] = {state[0]->shape, x->shape, y->shape, kept->shape};
  hsc_computation *of_x = grow_computation(g, "step_x", 4, parts, x->shape, 2 + grow_below(g, 4));
  hsc_computation *of_y = grow_computation(g, "step_y", 4, parts, y->shape, 2 + grow_below(g, 4));
  hsc_builder_init(&b, g->module, "body");
  p = hsc_build_parameter(&b, 0, state_shape, "state");
  hsc_instr *now[4], *next[4];
  for (int i = 0; i < 4; i++)
    now[i] = hsc_build_get_tuple_element(&b, p, i);
  next[0] = hsc_build_binary(&b, HSC_OP_ADD, now[0], hsc_build_scalar(&b, HSC_TYPE_S32, 1));
  next[1] = of_x ? hsc_build_call(&b, of_x, 4, now) : now[1];
  next[2] = of_y ? hsc_build_call(&b, of_y, 4, now) : now[2];
  next[3] = now[3];
  status = hsc_builder_finish(&b, hsc_build_tuple(&b, 4, next), &called[1]);
  if (status && !g->b.status)
    g->b.status = status;
  else
    hsc_status_free(status);
  if (!called[0] || !called[1])
    return;
  hsc_instr *loop = hsc_build_while(&g->b, called[0], called[1], hsc_build_tuple(&g->b, 4, state));
  for (int i = 0; i < 4; i++)
    grow_keep(g, hsc_build_get_tuple_element(&g->b, loop, i));
}

// What passes take away from programs of one device: operations between devices with one
// participant, marks of sharding, barriers.
static void step_alone(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 1);
  hsc_attr attr = {.collective = {.replica_groups = grow_chance(g, 50) ? "{{0}}" : "{}"}};
  int choice = grow_below(g, 5);
  if (choice == 0) {
    hsc_computation *sum = hsc_module_scalar_reducer(
        g->module, x->shape.type == HSC_TYPE_PRED ? HSC_OP_OR : HSC_OP_ADD, x->shape.type);
    if (sum)
      grow_keep(g, hsc_build_op(&g->b, HSC_OP_ALL_REDUCE, (hsc_shape){0}, &attr, 1, &x, 1, &sum));
  } else if (choice == 1) {
    attr.collective.dims = hsc_dims_copy(g->arena, 1, (int64_t[]){0});
    hsc_instr *all = hsc_build(&g->b, HSC_OP_ALL_GATHER, x->shape, 1, &x);
    all->attr = attr;
    grow_keep(g, all);
  } else if (choice == 2) {
    hsc_instr *permuted = hsc_build(&g->b, HSC_OP_COLLECTIVE_PERMUTE, x->shape, 1, &x);
    permuted->attr.collective.pairs = grow_chance(g, 70) ? "{{0,0}}" : "{}";
    grow_keep(g, permuted);
  } else if (choice == 3) {
    hsc_instr *marked = hsc_build(&g->b, HSC_OP_CUSTOM_CALL, x->shape, 1, &x);
    marked->attr.custom.target = "Sharding";
    grow_keep(g, marked);
  } else {
    grow_keep(g, hsc_build(&g->b, HSC_OP_OPT_BARRIER, x->shape, 1, &x));
  }
}

static void step_branch(grower *g) {
  bool by_pred = grow_chance(g, 50);
  int branches = by_pred ? 2 : 1 + grow_below(g, 3);
  hsc_instr *operands[4];
  hsc_computation *called[3];
  hsc_shape result = grow_shape(g, grow_type(g), 0);
  operands[0] =
      by_pred ? grow_coerced(g, grow_pick(g, PREDS | FLOATS, 0), hsc_shape_scalar(HSC_TYPE_PRED))
              : random_index(g);
  for (int i = 0; i < branches; i++) {
    operands[i + 1] = grow_pick(g, ANY, 0);
    called[i] =
        grow_computation(g, "branch", 1, &operands[i + 1]->shape, result, 2 + grow_below(g, 4));
    if (!called[i])
      return;
  }
  grow_keep(g, hsc_build_op(&g->b, HSC_OP_CONDITIONAL, (hsc_shape){0}, NULL, branches + 1, operands,
                            branches, called));
}

// ---- all together -------------------------------------------------------------------------------

static void step(grower *g) {
  static const struct {
    uint32_t feature;  // 0 = always
    int weight;
    bool nests;
    void (*step)(grower *);
  } steps[] = {
      {0, 6, false, step_unary},
      {0, 8, false, step_binary},
      {0, 4, false, step_choice},
      {0, 2, false, step_type},
      {0, 6, false, step_move},
      {RANDOM_INDEXING, 3, false, step_index},
      {RANDOM_REDUCTIONS, 4, false, step_reduce},
      {RANDOM_CONTRACTIONS, 3, false, step_contract},
      {RANDOM_ALGEBRA, 1, false, step_algebra},
      {RANDOM_CALLS, 3, true, step_call},
      {RANDOM_LOOPS, 1, true, step_while},
      {RANDOM_BRANCHES, 1, true, step_branch},
      {RANDOM_ALONE, 2, false, step_alone},
      {RANDOM_BITS, 2, false, step_bits},
      {RANDOM_IDIOMS, 3, false, step_idiom},
      {RANDOM_FORMS, 9, true, grow_form},
  };
  int total = 0;
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++)
    if ((!steps[i].feature || grow_has(g, steps[i].feature)) &&
        (!steps[i].nests || g->depth < MAX_DEPTH))
      total += steps[i].weight;
  int at = grow_below(g, total);
  for (size_t i = 0; i < HSC_COUNT_OF(steps); i++) {
    if ((steps[i].feature && !grow_has(g, steps[i].feature)) ||
        (steps[i].nests && g->depth >= MAX_DEPTH))
      continue;
    at -= steps[i].weight;
    if (at < 0) {
      steps[i].step(g);
      return;
    }
  }
}

static void grow(grower *g, int steps) {
  if (g->pool_count == 0)
    grow_keep(g, grow_constant(g, grow_shape(g, HSC_TYPE_F32, 0)));
  for (int i = 0; i < steps && !g->b.status; i++)
    step(g);
}

random_module_options random_module_options_default(void) {
  return (random_module_options){
      .features = RANDOM_ALL & ~(RANDOM_EMPTY | RANDOM_ALONE | RANDOM_BITS | RANDOM_IDIOMS |
                                 RANDOM_FORMS | RANDOM_NARROW),
      .instruction_count = 30,
      .parameter_count = 3,
      .max_rank = 3,
      .max_dim = 6};
}

hsc_status *random_module_create(uint64_t seed,
                                 const random_module_options *options,
                                 hsc_module **out_module) {
  random_module_options defaults = random_module_options_default();
  hsc_random random;
  hsc_random_init(&random, seed);
  hsc_module *module = NULL;
  HSC_TRY(hsc_module_create("random", &module));
  grower *g = hsc_alloc(sizeof *g);
  if (!g) {
    hsc_module_destroy(module);
    return hsc_status_out_of_memory();
  }
  *g = (grower){.random = &random,
                .options = options ? options : &defaults,
                .module = module,
                .arena = module->arena};
  hsc_builder_init(&g->b, module, "main");
  for (int i = 0; i < g->options->parameter_count; i++)
    grow_keep(
        g, hsc_build_parameter(
               &g->b, i, grow_shape(g, i == 0 ? HSC_TYPE_F32 : grow_type(g), i == 0 ? 1 : 0), "p"));
  while (g->b.computation && g->b.computation->instr_count < g->options->instruction_count &&
         !g->b.status)
    grow(g, 1);

  // The result: the youngest value, or a tuple of some (a tuple in it now and then).
  hsc_instr *root = g->pool[g->pool_count - 1];
  if (grow_chance(g, 60)) {
    // Of the forms, values of all ages: what nobody reads is not checked.
    hsc_instr *parts[12];
    bool forms = grow_has(g, RANDOM_FORMS);
    int count = forms ? 4 + grow_below(g, 9) : 1 + grow_below(g, 4);
    int young = forms || g->pool_count < 10 ? g->pool_count : 10;
    for (int i = 0; i < count; i++)
      parts[i] = g->pool[g->pool_count - 1 - grow_below(g, young)];
    if (count > 2 && grow_chance(g, 30))
      parts[0] = hsc_build_tuple(&g->b, 2, (hsc_instr *[]){parts[0], parts[1]});
    root = hsc_build_tuple(&g->b, count, parts);
  }
  hsc_status *status = hsc_builder_finish(&g->b, root, &module->entry);
  hsc_free(g);
  if (!status)
    status = hsc_module_sort(module);
  if (status)
    hsc_module_destroy(module);
  else
    *out_module = module;
  return status;
}

random_module_options random_module_options_varied(uint64_t seed) {
  random_module_options options = random_module_options_default();
  options.smooth = true;
  if (seed % 4 == 3)
    options.features |= RANDOM_EMPTY;
  if (seed % 4 >= 2)
    options.features |= RANDOM_ALONE | RANDOM_BITS | RANDOM_IDIOMS;
  if (seed / 4 % 2 == 1)
    options.features |= RANDOM_FORMS;
  if (seed / 8 % 4 == 3)
    options.features |= RANDOM_NARROW;
  if (seed / 32 % 3 == 2) {  // fewer and larger
    options.max_dim = 20;
    options.instruction_count = 16;
  }
  if (seed / 32 % 6 == 4) {  // large enough for several threads, blocks and libraries
    options.max_dim = 200;
    options.max_rank = 2;
    options.instruction_count = 10;
  }
  return options;
}

hsc_status *random_module_evaluate(const hsc_module *module,
                                   uint64_t seed,
                                   hsc_arena *arena,
                                   hsc_literal **out_result) {
  hsc_literal *arguments[64];
  int count = module->entry->parameter_count;
  if (count > (int)HSC_COUNT_OF(arguments))
    return HSC_ERR(OUT_OF_RANGE, "%d parameters", count);
  for (int i = 0; i < count; i++) {
    HSC_TRY(hsc_literal_create(arena, &module->entry->parameters[i]->shape, &arguments[i]));
    hsc_literal_fill(arguments[i], seed, (uint32_t)i);
  }
  return hsc_evaluate(module, count, arguments, arena, out_result);
}

// f32 sums may differ in the last bits, narrow floats by a step of theirs.
bool random_results_agree(const hsc_literal *expected,
                          const hsc_literal *result,
                          hsc_difference *out_difference,
                          hsc_status **out_error) {
  *out_error = hsc_literal_compare(expected, result, out_difference);
  if (*out_error)
    return false;
  const hsc_difference *d = out_difference;
  return d->nan_mismatches == 0 && (d->max_ulp <= 64 || d->max_abs <= 1e-4 || d->max_rel <= 2e-2);
}
