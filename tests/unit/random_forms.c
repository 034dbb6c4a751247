// random_forms.c - random steps in the forms that operations rarely have, and that programs of the
// field do: dots, convolutions, gathers and scatters with general dimension numbers, sorts and
// reductions of several operands, loops that read and write slices, swap their values and carry
// tuples of tuples.
//
// What is discrete (positions, keys, predicates) is made of constants and integers, so that results
// stay smooth.
#include "random_grower.h"

static int64_t product(hsc_dims dims, hsc_shape shape) {
  int64_t n = 1;
  for (int i = 0; i < dims.count; i++)
    n *= shape.dims[dims.v[i]];
  return n > 0 ? n : 1;
}

static void take_status(grower *g, hsc_status *status) {
  if (status && !g->b.status)
    g->b.status = status;
  else
    hsc_status_free(status);
}

// ---- contractions -------------------------------------------------------------------------------

// Batch, free and contracting dimensions of both sides, each anywhere.
static void form_dot(grower *g) {
  static const hsc_type types[] = {HSC_TYPE_F32, HSC_TYPE_F32, HSC_TYPE_F32, HSC_TYPE_F64,
                                   HSC_TYPE_S32, HSC_TYPE_C64, HSC_TYPE_S8,  HSC_TYPE_BF16};
  hsc_type type = types[grow_below(g, (int)HSC_COUNT_OF(types) - !grow_has(g, RANDOM_NARROW))];
  int batch = grow_below(g, 3);
  int contracting = grow_below(g, 3);
  int free_count[2] = {grow_below(g, 3), grow_below(g, 3)};
  int64_t sizes[4], dims[2][6], of_batch[2][2], of_contracting[2][2];
  grow_dims(g, 4, sizes);
  if (grow_chance(g, 15))
    sizes[2] = 1 + grow_below(g, 40);
  hsc_instr *operands[2];
  int64_t products = 1;
  for (int side = 0; side < 2; side++) {
    int64_t own[2];
    grow_dims(g, 2, own);
    int rank = batch + contracting + free_count[side];
    int64_t places[6];
    grow_shuffled(g, rank, places);
    for (int i = 0; i < rank; i++) {
      int64_t at = places[i];
      if (i < batch)
        of_batch[side][i] = at;
      else if (i < batch + contracting)
        of_contracting[side][i - batch] = at;
      dims[side][at] = i < batch + contracting ? sizes[i < batch ? i : 2 + (i - batch)]
                                               : own[i - batch - contracting];
      if (side == 0 || i >= batch + contracting)
        products *= dims[side][at];
    }
    if (products > 64 * MAX_ELEMENTS)
      return;
    operands[side] = grow_pick_like(g, grow_shape_of(g, type, rank, dims[side]));
  }
  hsc_dot_dims numbers = {.lhs_batch = {batch, of_batch[0]},
                          .rhs_batch = {batch, of_batch[1]},
                          .lhs_contracting = {contracting, of_contracting[0]},
                          .rhs_contracting = {contracting, of_contracting[1]}};
  hsc_attr attr = {.dot = numbers};
  hsc_type wanted;
  if (type == HSC_TYPE_BF16 && grow_chance(g, 50))
    wanted = HSC_TYPE_F32;
  else if (type == HSC_TYPE_S8)
    wanted = HSC_TYPE_S32;
  else
    wanted = type;
  hsc_instr *result =
      hsc_build_op(&g->b, HSC_OP_DOT, hsc_shape_scalar(wanted), &attr, 2, operands, 0, NULL);
  if (g->b.status || hsc_shape_elements(&result->shape) > MAX_ELEMENTS)
    return;
  grow_keep(g, grow_scaled(g, result,
                           0.5 / (double)product(numbers.lhs_contracting, operands[0]->shape)));
}

// Any order of dimensions, groups of features or of the batch, more channels, 0 to 3 spatial
// dimensions, negative padding.
static void form_convolution(grower *g) {
  int spatial = grow_below(g, 4);
  int rank = spatial + 2;
  int64_t groups = grow_chance(g, 30) ? 2 + grow_below(g, 3) : 1;
  int64_t batch_groups = groups == 1 && grow_chance(g, 20) ? 2 : 1;
  int64_t per_group = grow_chance(g, 20) ? 1 : 1 + grow_below(g, grow_chance(g, 20) ? 20 : 4);
  int64_t order[3][5];
  int64_t in[5];
  int64_t kernel[5];
  int64_t taps = 1;
  hsc_window_dim window[3];
  for (int i = 0; i < 3; i++)
    grow_shuffled(g, rank, order[i]);
  // the common order: batch, spatial, features; spatial, in, out
  if (grow_chance(g, 40))
    for (int i = 0; i < rank; i++) {
      order[0][i] = order[2][i] = i == 0 ? 0 : i == 1 ? rank - 1 : i - 1;
      order[1][i] = i < 2 ? rank - 2 + i : i - 2;
    }
  in[order[0][0]] = batch_groups * (1 + grow_below(g, 3));
  in[order[0][1]] = groups * per_group;
  kernel[order[1][0]] = per_group;
  kernel[order[1][1]] = groups * batch_groups * (1 + grow_below(g, grow_chance(g, 20) ? 20 : 3));
  for (int i = 0; i < spatial; i++) {
    int64_t size = 1 + grow_below(g, 3);
    in[order[0][2 + i]] = 2 + grow_below(g, spatial == 3 ? 4 : 9);
    kernel[order[1][2 + i]] = size;
    window[i] = (hsc_window_dim){size,
                                 1 + grow_below(g, 2),
                                 grow_below(g, 4) - 1,
                                 grow_below(g, 4) - 1,
                                 1 + grow_below(g, 2),
                                 1 + grow_chance(g, 25),
                                 grow_chance(g, 20)};
    taps *= size;
  }
  hsc_attr attr = {.conv = {.window = {spatial, window},
                            .feature_groups = groups,
                            .batch_groups = batch_groups}};
  attr.conv.dims = (hsc_conv_dims){.spatial_rank = spatial,
                                   .input_batch = order[0][0],
                                   .input_feature = order[0][1],
                                   .kernel_input = order[1][0],
                                   .kernel_output = order[1][1],
                                   .output_batch = order[2][0],
                                   .output_feature = order[2][1],
                                   .input_spatial = order[0] + 2,
                                   .kernel_spatial = order[1] + 2,
                                   .output_spatial = order[2] + 2};
  hsc_type type;
  if (grow_has(g, RANDOM_NARROW) && grow_chance(g, 30))
    type = HSC_TYPE_BF16;
  else if (grow_chance(g, 15))
    type = HSC_TYPE_F64;
  else
    type = HSC_TYPE_F32;
  hsc_instr *operands[2] = {grow_pick_like(g, grow_shape_of(g, type, rank, in)),
                            grow_pick_like(g, grow_shape_of(g, type, rank, kernel))};
  hsc_instr *probe =
      hsc_build_op(&g->b, HSC_OP_CONVOLUTION, (hsc_shape){0}, &attr, 2, operands, 0, NULL);
  if (!g->b.status && (grow_has(g, RANDOM_EMPTY) || hsc_shape_elements(&probe->shape) > 0))
    grow_keep(g, grow_scaled(g, probe, 0.5 / (double)(per_group * taps)));
}

// ---- reductions ---------------------------------------------------------------------------------

// (a + b, max(c, d)) over pairs of scalars.
static hsc_computation *sum_and_max(grower *g, hsc_type type) {
  hsc_builder b;
  hsc_builder_init(&b, g->module, "sum_and_max");
  hsc_shape shape = hsc_shape_scalar(type);
  hsc_instr *p[4];
  for (int i = 0; i < 4; i++)
    p[i] = hsc_build_parameter(&b, i, shape, "p");
  hsc_instr *root[2] = {hsc_build_binary(&b, HSC_OP_ADD, p[0], p[2]),
                        hsc_build_binary(&b, HSC_OP_MAXIMUM, p[1], p[3])};
  hsc_computation *computation = NULL;
  take_status(g, hsc_builder_finish(&b, hsc_build_tuple(&b, 2, root), &computation));
  return computation;
}

static void form_reduce(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS, 1);
  int rank = x->shape.rank;
  int64_t dims[HSC_MAX_RANK];
  hsc_type type = x->shape.type;
  grow_shuffled(g, rank, dims);
  hsc_dims reduced = {1 + grow_below(g, rank), dims};
  hsc_instr *init = grow_chance(g, 50)
                        ? grow_scalar(g, type, 0)
                        : grow_coerced(g, grow_pick(g, FLOATS, 0), hsc_shape_scalar(type));
  double share = 1.0 / (double)product(reduced, x->shape);
  switch (grow_below(g, 4)) {
    case 0: {  // two at once
      hsc_instr *operands[4] = {x, grow_pick_like(g, x->shape), init, grow_scalar(g, type, -4)};
      hsc_computation *both = sum_and_max(g, type);
      hsc_attr attr = {.dims = {.dims = reduced}};
      hsc_instr *pair =
          hsc_build_op(&g->b, HSC_OP_REDUCE, (hsc_shape){0}, &attr, 4, operands, 1, &both);
      grow_keep(g, grow_scaled(g, hsc_build_get_tuple_element(&g->b, pair, 0), share));
      if (grow_chance(g, 70))
        grow_keep(g, hsc_build_get_tuple_element(&g->b, pair, 1));
      break;
    }
    case 1: {  // running sums
      hsc_window_dim window[HSC_MAX_RANK];
      int at = grow_below(g, rank);
      for (int i = 0; i < rank; i++) {
        int64_t n = i == at && x->shape.dims[i] ? x->shape.dims[i] : 1;
        bool back = grow_chance(g, 30);
        window[i] = (hsc_window_dim){n, 1, back ? 0 : n - 1, back ? n - 1 : 0, 1, 1, false};
      }
      hsc_attr attr = {.window = {.window = {rank, window}}};
      hsc_computation *sum = hsc_module_scalar_reducer(g->module, HSC_OP_ADD, type);
      hsc_instr *sums = hsc_build_op(&g->b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 2,
                                     (hsc_instr *[]){x, grow_scalar(g, type, 0)}, 1, &sum);
      grow_keep(g, grow_scaled(g, sums, 1.0 / (double)(x->shape.dims[at] ? x->shape.dims[at] : 1)));
      break;
    }
    case 2: {  // windows of two at once
      hsc_window_dim window[HSC_MAX_RANK];
      int64_t count = 1;
      for (int i = 0; i < rank; i++) {
        int64_t n = 1 + grow_below(g, 2);
        window[i] = (hsc_window_dim){n,
                                     1 + grow_below(g, 2),
                                     grow_below(g, 2),
                                     grow_below(g, 2),
                                     1,
                                     1 + grow_chance(g, 20),
                                     false};
        count *= n;
      }
      hsc_attr attr = {.window = {.window = {rank, window}}};
      hsc_computation *both = sum_and_max(g, type);
      hsc_instr *operands[4] = {x, grow_pick_like(g, x->shape), grow_scalar(g, type, 0),
                                grow_scalar(g, type, -2)};
      hsc_instr *pair =
          hsc_build_op(&g->b, HSC_OP_REDUCE_WINDOW, (hsc_shape){0}, &attr, 4, operands, 1, &both);
      if (g->b.status ||
          (!grow_has(g, RANDOM_EMPTY) && hsc_shape_elements(&pair->shape.elements[0]) == 0))
        break;
      grow_keep(g,
                grow_scaled(g, hsc_build_get_tuple_element(&g->b, pair, 0), 1.0 / (double)count));
      grow_keep(g, hsc_build_get_tuple_element(&g->b, pair, 1));
      break;
    }
    default: {  // softmax
      hsc_instr *low = grow_scalar(g, type, -4);
      int64_t left[HSC_MAX_RANK];
      int left_count = 0;
      for (int i = 0; i < rank; i++)
        if (i != dims[0])
          left[left_count++] = i;
      reduced.count = 1;
      hsc_instr *top = hsc_build_reduce(&g->b, x, low, reduced,
                                        hsc_module_scalar_reducer(g->module, HSC_OP_MAXIMUM, type));
      hsc_instr *e = hsc_build_unary(
          &g->b, HSC_OP_EXP,
          hsc_build_binary(
              &g->b, HSC_OP_SUBTRACT, x,
              hsc_build_broadcast(&g->b, top, x->shape, (hsc_dims){left_count, left})));
      hsc_instr *sum = hsc_build_reduce(&g->b, e, grow_scalar(g, type, 0), reduced,
                                        hsc_module_scalar_reducer(g->module, HSC_OP_ADD, type));
      if (!g->options->unbounded)
        grow_keep(g, hsc_build_binary(
                         &g->b, HSC_OP_DIVIDE, e,
                         hsc_build_broadcast(&g->b, sum, x->shape, (hsc_dims){left_count, left})));
      break;
    }
  }
}

// Keys are constants: the order does not hang on a rounding. Ties are met often, and keep their
// order.
static void form_sort(grower *g) {
  hsc_shape shape = grow_shape(g, HSC_TYPE_S32, 1);
  int count = 2 + grow_below(g, 3);
  int64_t dim = grow_below(g, shape.rank);
  static const hsc_type keys[] = {HSC_TYPE_S32, HSC_TYPE_F32, HSC_TYPE_U8,
                                  HSC_TYPE_S64, HSC_TYPE_F64, HSC_TYPE_PRED};
  hsc_type types[4];
  hsc_instr *operands[4];
  for (int i = 0; i < count; i++) {
    hsc_instr *value = i == 0 ? NULL : grow_pick(g, ANY, 0);
    types[i] = i == 0 ? keys[grow_below(g, (int)HSC_COUNT_OF(keys))] : value->shape.type;
    operands[i] = i == 0 ? grow_constant(g, hsc_shape_with_type(shape, types[0]))
                         : grow_pick_like(g, hsc_shape_with_type(shape, types[i]));
  }
  hsc_attr attr = {.dims = {.dims = {1, &dim}, .is_stable = true}};
  hsc_builder b;
  hsc_builder_init(&b, g->module, "by_key");
  hsc_instr *p[2] = {0};
  for (int i = 0; i < 2 * count; i++) {
    hsc_instr *q = hsc_build_parameter(&b, i, hsc_shape_scalar(types[i / 2]), "p");
    if (i < 2)
      p[i] = q;
  }
  hsc_computation *less = NULL;
  take_status(
      g, hsc_builder_finish(
             &b, hsc_build_compare(&b, grow_chance(g, 50) ? HSC_LT : HSC_GT, p[0], p[1]), &less));
  hsc_instr *sorted =
      hsc_build_op(&g->b, HSC_OP_SORT, (hsc_shape){0}, &attr, count, operands, 1, &less);
  for (int i = 0; i < count; i++)
    if (grow_chance(g, 70))
      grow_keep(g, hsc_build_get_tuple_element(&g->b, sorted, i));
}

// ---- places -------------------------------------------------------------------------------------

// An operand with batching dimensions and a scatter or gather through them; places may lie outside.
static void form_batched_places(grower *g, bool scatters) {
  hsc_instr *x = grow_pick(g, scatters ? FLOATS | INTEGERS | COMPLEX : ANY, 1);
  int rank = x->shape.rank;
  int batching = grow_below(g, rank < 3 ? rank : 3);
  int indexed = 1 + grow_below(g, rank - batching);
  int64_t order[HSC_MAX_RANK], places_dims[8], window[HSC_MAX_RANK], sizes[HSC_MAX_RANK],
      inserted[HSC_MAX_RANK], in_operand[2], in_places[2];
  int inserted_count = 0;
  int windows = 0;
  int extra = grow_below(g, 2);
  int places_rank = batching + extra + 1;
  for (int i = 0; i < rank; i++)
    if (x->shape.dims[i] == 0)
      return;
  // The first `batching` of a random order are batching dimensions, kept in rising order; the next
  // are indexed.
  grow_shuffled(g, rank, order);
  for (int i = 0; i < batching; i++)
    for (int j = i + 1; j < batching; j++)
      if (order[j] < order[i]) {
        int64_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
      }
  for (int d = 0; d < rank; d++) {
    int at = 0;
    while (order[at] != d)
      at++;
    bool gone = at >= batching && grow_chance(g, 50);
    sizes[d] = at < batching || gone ? 1 : 1 + grow_below(g, (int)x->shape.dims[d]);
    if (gone)
      inserted[inserted_count++] = d;
    else if (at >= batching)
      windows++;
  }
  for (int i = 0; i < batching; i++) {
    in_operand[i] = order[i];
    in_places[i] = i;
    places_dims[i] = x->shape.dims[order[i]];
  }
  if (extra)
    places_dims[batching] = 1 + grow_below(g, 4);
  places_dims[places_rank - 1] = indexed;
  hsc_instr *places =
      grow_chance(g, 50)
          ? grow_constant(g, grow_shape_of(g, HSC_TYPE_S32, places_rank, places_dims))
          : grow_pick_like(g, grow_shape_of(g, grow_chance(g, 70) ? HSC_TYPE_S32 : HSC_TYPE_U8,
                                            places_rank, places_dims));
  // Window dimensions come last in the result, or first.
  bool first = grow_chance(g, 40);
  for (int i = 0; i < windows; i++)
    window[i] = first ? i : batching + extra + i;
  hsc_gather_dims numbers = {.offset_dims = {windows, window},
                             .collapsed_slice_dims = {inserted_count, inserted},
                             .start_index_map = {indexed, order + batching},
                             .operand_batching_dims = {batching, in_operand},
                             .start_indices_batching_dims = {batching, in_places},
                             .index_vector_dim = places_rank - 1};
  hsc_attr attr = {.gather = numbers};
  if (!scatters) {
    attr.gather.slice_sizes = (hsc_dims){rank, sizes};
    grow_keep(g, hsc_build_op(&g->b, HSC_OP_GATHER, (hsc_shape){0}, &attr, 2,
                              (hsc_instr *[]){x, places}, 0, NULL));
    return;
  }
  int64_t update[HSC_MAX_RANK];
  int update_rank = 0;
  for (int i = 0; i < batching + extra && !first; i++)
    update[update_rank++] = places_dims[i];
  for (int d = 0; d < rank; d++) {
    bool gone = false;
    for (int i = 0; i < batching; i++)
      gone |= in_operand[i] == d;
    for (int i = 0; i < inserted_count; i++)
      gone |= inserted[i] == d;
    if (!gone)
      update[update_rank++] = sizes[d];
  }
  for (int i = 0; i < batching + extra && first; i++)
    update[update_rank++] = places_dims[i];
  bool complex = hsc_type_is_complex(x->shape.type);
  hsc_op op;
  if (complex || grow_chance(g, 50))
    op = HSC_OP_ADD;
  else if (grow_chance(g, 50))
    op = HSC_OP_MAXIMUM;
  else
    op = HSC_OP_MINIMUM;
  hsc_computation *combine = hsc_module_scalar_reducer(g->module, op, x->shape.type);
  hsc_instr *updates =
      grow_scaled(g, grow_pick_like(g, grow_shape_of(g, x->shape.type, update_rank, update)), 0.25);
  grow_keep(g, grow_scaled(g,
                           hsc_build_op(&g->b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3,
                                        (hsc_instr *[]){x, places, updates}, 1, &combine),
                           0.5));
}

static void form_gather(grower *g) {
  form_batched_places(g, false);
}
static void form_scatter(grower *g) {
  form_batched_places(g, true);
}

// Rows put in the place of others, in an order of their own, no two at one place.
static void form_permuting_scatter(grower *g) {
  hsc_instr *x = grow_pick(g, ANY, 1);
  int rank = x->shape.rank;
  int64_t rows = x->shape.dims[0];
  int64_t order[64];
  int64_t zero = 0;
  int64_t window[HSC_MAX_RANK];
  int64_t update[HSC_MAX_RANK];
  if (rows == 0 || rows > 64)
    return;
  grow_shuffled(g, (int)rows, order);
  int64_t count = 1 + grow_below(g, (int)rows);
  int64_t dims[2] = {count, 1};
  hsc_literal *literal = NULL;
  hsc_shape shape = grow_shape_of(g, HSC_TYPE_S32, 2, dims);
  hsc_status *status = hsc_literal_create(g->arena, &shape, &literal);
  take_status(g, status);
  if (g->b.status)
    return;
  for (int64_t i = 0; i < count; i++)
    hsc_literal_set_int(literal, i, order[i]);
  update[0] = count;
  for (int i = 1; i < rank; i++) {
    window[i - 1] = i;
    update[i] = x->shape.dims[i];
  }
  hsc_builder b;
  hsc_builder_init(&b, g->module, "second");
  hsc_build_parameter(&b, 0, hsc_shape_scalar(x->shape.type), "old");
  hsc_instr *fresh = hsc_build_parameter(&b, 1, hsc_shape_scalar(x->shape.type), "new");
  hsc_computation *second = NULL;
  take_status(g, hsc_builder_finish(&b, fresh, &second));
  hsc_attr attr = {.scatter = {.offset_dims = {rank - 1, window},
                               .collapsed_slice_dims = {1, &zero},
                               .start_index_map = {1, &zero},
                               .index_vector_dim = 1,
                               .unique = grow_chance(g, 50)}};
  hsc_instr *operands[3] = {x, hsc_build_constant(&g->b, literal),
                            grow_pick_like(g, grow_shape_of(g, x->shape.type, rank, update))};
  grow_keep(g, hsc_build_op(&g->b, HSC_OP_SCATTER, (hsc_shape){0}, &attr, 3, operands, 1, &second));
}

// Windows that overlap and are padded; what decides is a constant.
static void form_select_and_scatter(grower *g) {
  int rank = 1 + grow_below(g, 3);
  int64_t dims[3], places[3];
  hsc_window_dim window[3];
  for (int i = 0; i < rank; i++) {
    int64_t size = 1 + grow_below(g, 3);
    int64_t stride = 1 + grow_below(g, 3);
    int64_t low = grow_below(g, (int)size);
    int64_t high = grow_below(g, (int)size);
    dims[i] = size + grow_below(g, 6);
    window[i] = (hsc_window_dim){size, stride, low, high, 1, 1, false};
    places[i] = (dims[i] + low + high - size) / stride + 1;
  }
  hsc_builder b;
  hsc_builder_init(&b, g->module, "ge");
  hsc_shape f32 = hsc_shape_scalar(HSC_TYPE_F32);
  hsc_instr *p = hsc_build_parameter(&b, 0, f32, "x");
  hsc_instr *q = hsc_build_parameter(&b, 1, f32, "y");
  hsc_computation *called[2] = {NULL,
                                hsc_module_scalar_reducer(g->module, HSC_OP_ADD, HSC_TYPE_F32)};
  take_status(
      g, hsc_builder_finish(&b, hsc_build_compare(&b, grow_chance(g, 70) ? HSC_GE : HSC_LE, p, q),
                            &called[0]));
  hsc_attr attr = {.window = {.window = {rank, window}}};
  hsc_instr *operands[3] = {grow_constant(g, grow_shape_of(g, HSC_TYPE_F32, rank, dims)),
                            grow_pick_like(g, grow_shape_of(g, HSC_TYPE_F32, rank, places)),
                            grow_scalar(g, HSC_TYPE_F32, 0)};
  grow_keep(g, grow_scaled(g,
                           hsc_build_op(&g->b, HSC_OP_SELECT_AND_SCATTER, (hsc_shape){0}, &attr, 3,
                                        operands, 2, called),
                           0.5));
}

// ---- algebra ------------------------------------------------------------------------------------

static void form_fft(grower *g) {
  int rank = 1 + grow_below(g, 3);
  int batch = grow_below(g, 2);
  hsc_fft_type type = (hsc_fft_type)grow_below(g, 4);
  int64_t dims[4];
  int64_t length[3];
  int64_t points = 1;
  for (int i = 0; i < batch; i++)
    dims[i] = 1 + grow_below(g, 3);
  for (int i = 0; i < rank; i++) {
    length[i] = 1 + grow_below(g, grow_chance(g, 20) ? 17 : 6);
    dims[batch + i] = i == rank - 1 && type == HSC_IRFFT ? length[i] / 2 + 1 : length[i];
    points *= length[i];
  }
  bool wide = grow_chance(g, 20);
  bool real_in = type == HSC_RFFT;
  hsc_type of;
  if (real_in) {
    if (wide)
      of = HSC_TYPE_F64;
    else
      of = HSC_TYPE_F32;
  } else if (wide)
    of = HSC_TYPE_C128;
  else
    of = HSC_TYPE_C64;
  hsc_instr *x = grow_pick_like(g, grow_shape_of(g, of, batch + rank, dims));
  hsc_attr attr = {.fft = {.type = type, .length = {rank, length}}};
  hsc_instr *y = hsc_build_op(&g->b, HSC_OP_FFT, (hsc_shape){0}, &attr, 1, &x, 0, NULL);
  grow_keep(g, grow_scaled(g, y, type == HSC_FFT || type == HSC_RFFT ? 1.0 / (double)points : 1));
}

// a = x / n + 2 I, of any side, triangle and transpose; only the triangle counts.
static void form_triangular_solve(grower *g) {
  int64_t n = 1 + grow_below(g, 6);
  int64_t m = 1 + grow_below(g, 4);
  int64_t batch = 1 + grow_below(g, 3);
  int64_t left = grow_chance(g, 60);
  int first = grow_chance(g, 50);  // 0: one batch dimension
  int64_t square[3] = {batch, n, n};
  int64_t right[3] = {batch, left ? n : m, left ? m : n};
  int64_t *of_a = square + first;
  int64_t *of_b = right + first;
  int rank = 3 - first;
  hsc_type type = grow_chance(g, 20) ? HSC_TYPE_F64 : HSC_TYPE_F32;
  hsc_shape shape = grow_shape_of(g, type, rank, of_a);
  hsc_shape counts = hsc_shape_with_type(shape, HSC_TYPE_S32);
  hsc_instr *eye = hsc_build_compare(&g->b, HSC_EQ, hsc_build_iota(&g->b, counts, rank - 2),
                                     hsc_build_iota(&g->b, counts, rank - 1));
  hsc_instr *a =
      hsc_build_binary(&g->b, HSC_OP_MULTIPLY, grow_clamped(g, grow_pick_like(g, shape), -1, 1),
                       grow_splat(g, shape, 1.0 / (double)n));
  a = hsc_build_binary(
      &g->b, HSC_OP_ADD, a,
      hsc_build_select(&g->b, eye, grow_splat(g, shape, 2), grow_splat(g, shape, 0)));
  hsc_attr attr = {.triangular = {.left_side = left,
                                  .lower = grow_chance(g, 50),
                                  .unit_diagonal = grow_chance(g, 25),
                                  .transpose_a = (hsc_transpose)grow_below(g, 3)}};
  hsc_instr *b = grow_scaled(g, grow_pick_like(g, grow_shape_of(g, type, rank, of_b)), 0.25);
  grow_keep(g, hsc_build_op(&g->b, HSC_OP_TRIANGULAR_SOLVE, (hsc_shape){0}, &attr, 2,
                            (hsc_instr *[]){a, b}, 0, NULL));
}

static void form_batch_norm(grower *g) {
  int rank = 2 + grow_below(g, 3);
  int64_t dims[4];
  int64_t at = grow_below(g, rank);
  for (int i = 0; i < rank; i++)
    dims[i] = 1 + grow_below(g, 4);
  hsc_shape shape = grow_shape_of(g, HSC_TYPE_F32, rank, dims);
  hsc_shape vector = grow_shape_of(g, HSC_TYPE_F32, 1, dims + at);
  hsc_attr attr = {.batch_norm = {.epsilon = 0.25f, .feature_index = at}};
  hsc_instr *x = grow_pick_like(g, shape);
  hsc_instr *scale = grow_pick_like(g, vector);
  hsc_instr *mean = grow_pick_like(g, vector);
  hsc_instr *variance =
      grow_clamped(g, hsc_build_unary(&g->b, HSC_OP_ABS, grow_pick_like(g, vector)), 0, 4);
  if (grow_chance(g, 50)) {
    hsc_instr *operands[5] = {x, scale, grow_pick_like(g, vector), mean, variance};
    grow_keep(g, grow_scaled(g,
                             hsc_build_op(&g->b, HSC_OP_BATCH_NORM_INFERENCE, (hsc_shape){0}, &attr,
                                          5, operands, 0, NULL),
                             0.25));
    return;
  }
  hsc_instr *operands[5] = {x, scale, mean, variance, grow_pick_like(g, shape)};
  hsc_instr *gradients =
      hsc_build_op(&g->b, HSC_OP_BATCH_NORM_GRAD, (hsc_shape){0}, &attr, 5, operands, 0, NULL);
  for (int i = 0; i < 3; i++)
    grow_keep(
        g, grow_clamped(g, grow_scaled(g, hsc_build_get_tuple_element(&g->b, gradients, i), 0.05),
                        -4, 4));
}

// What is left of the elementwise operations, on real and complex numbers.
static void form_math(grower *g) {
  static const hsc_op bounded[] = {HSC_OP_SINH, HSC_OP_COSH,  HSC_OP_ASINH, HSC_OP_ASIN,
                                   HSC_OP_ACOS, HSC_OP_ATANH, HSC_OP_EXPM1, HSC_OP_LOG1P};
  static const hsc_op complex[] = {HSC_OP_EXP,      HSC_OP_TANH,   HSC_OP_SINE, HSC_OP_COSINE,
                                   HSC_OP_LOGISTIC, HSC_OP_NEGATE, HSC_OP_ABS,  HSC_OP_EXPM1};
  if (grow_chance(g, 60)) {
    grow_keep(g,
              grow_scaled(g,
                          hsc_build_unary(&g->b, bounded[grow_below(g, (int)HSC_COUNT_OF(bounded))],
                                          grow_clamped(g, grow_pick(g, FLOATS, 0), -0.75, 0.75)),
                          0.5));
    return;
  }
  hsc_instr *x =
      grow_converted(g, grow_pick(g, FLOATS, 0), grow_chance(g, 30) ? HSC_TYPE_F64 : HSC_TYPE_F32);
  hsc_instr *re = grow_clamped(g, x, -0.75, 0.75);
  hsc_instr *im = grow_clamped(g, grow_pick_like(g, x->shape), -0.75, 0.75);
  hsc_instr *z = hsc_build_binary(&g->b, HSC_OP_COMPLEX, re, im);
  hsc_instr *w = hsc_build_unary(&g->b, complex[grow_below(g, (int)HSC_COUNT_OF(complex))], z);
  if (grow_chance(g, 40) && hsc_type_is_complex(w->shape.type))
    w = hsc_build_binary(&g->b, HSC_OP_MULTIPLY, w, z);
  grow_keep(g, grow_scaled(g, w, 0.5));
}

// ---- flow ---------------------------------------------------------------------------------------

static hsc_instr *at_row(grower *g,
                         hsc_builder *b,
                         hsc_instr *x,
                         hsc_instr *index,
                         hsc_instr *row,
                         hsc_shape row_shape) {
  hsc_instr *places[HSC_MAX_RANK];
  int64_t sizes[HSC_MAX_RANK];
  int rank = x->shape.rank;
  for (int i = 0; i < rank; i++) {
    places[i] = i == 0 ? index : hsc_build_scalar(b, HSC_TYPE_S32, 0);
    sizes[i] = i == 0 ? 1 : x->shape.dims[i];
  }
  if (!row)
    return hsc_build_reshape(b,
                             hsc_build_dynamic_slice(b, x, rank, places, (hsc_dims){rank, sizes}),
                             row_shape.rank, row_shape.dims);
  return hsc_build_dynamic_update_slice(b, x, hsc_build_reshape(b, row, rank, sizes), rank, places);
}

// A scan: i from 0 to n or back, rows of xs in, rows of ys out, a pair of values carried, which now
// and then change places. The state is (i, bound, (c, d), xs, ys), or with the same elements flat.
static void form_scan(grower *g) {
  int64_t n = 1 + grow_below(g, 5);
  int64_t dims[HSC_MAX_RANK];
  hsc_shape row = grow_shape(g, grow_chance(g, 80) ? HSC_TYPE_F32 : grow_type(g), 0);
  hsc_shape out_row = grow_shape(g, HSC_TYPE_F32, 0);
  hsc_shape s32 = hsc_shape_scalar(HSC_TYPE_S32);
  if (row.rank > 3 || out_row.rank > 3)
    return;
  dims[0] = n;
  for (int i = 0; i < row.rank; i++)
    dims[1 + i] = row.dims[i];
  hsc_instr *xs = grow_pick_like(g, grow_shape_of(g, row.type, row.rank + 1, dims));
  for (int i = 0; i < out_row.rank; i++)
    dims[1 + i] = out_row.dims[i];
  hsc_shape ys_shape = grow_shape_of(g, HSC_TYPE_F32, out_row.rank + 1, dims);
  hsc_instr *ys = grow_chance(g, 60) ? grow_splat(g, ys_shape, 0) : grow_pick_like(g, ys_shape);
  hsc_instr *c = grow_pick(g, FLOATS, 0);
  hsc_instr *d = grow_chance(g, 60) ? grow_pick_like(g, c->shape) : c;
  bool nested = grow_chance(g, 50);
  bool swaps = grow_chance(g, 40);
  bool back = grow_chance(g, 30);
  bool fixed = grow_chance(g, 60);
  hsc_instr *start = grow_scalar(g, HSC_TYPE_S32, back ? (double)(n - 1) : 0);
  // The bound is a constant, or a number that comes with the data: then some rows are left out.
  hsc_instr *bound =
      fixed ? grow_scalar(g, HSC_TYPE_S32, back ? 0 : (double)n)
            : hsc_build_op(&g->b, HSC_OP_CLAMP, (hsc_shape){0}, NULL, 3,
                           (hsc_instr *[]){grow_scalar(g, HSC_TYPE_S32, 0),
                                           grow_coerced(g, grow_pick(g, INTEGERS, 0), s32),
                                           grow_scalar(g, HSC_TYPE_S32, (double)n)},
                           0, NULL);
  if (g->b.status)
    return;
  hsc_shape pair = hsc_shape_tuple(g->arena, 2, (hsc_shape[]){c->shape, c->shape});
  hsc_shape parts[6] = {s32, s32, c->shape, c->shape, xs->shape, ys_shape};
  hsc_shape packed[5] = {s32, s32, pair, xs->shape, ys_shape};
  hsc_shape state =
      nested ? hsc_shape_tuple(g->arena, 5, packed) : hsc_shape_tuple(g->arena, 6, parts);

  hsc_computation *called[2] = {0};
  hsc_builder b;
  hsc_builder_init(&b, g->module, "more_rows");
  hsc_instr *p = hsc_build_parameter(&b, 0, state, "state");
  hsc_instr *i = hsc_build_get_tuple_element(&b, p, 0);
  hsc_instr *limit = hsc_build_get_tuple_element(&b, p, 1);
  if (fixed && grow_chance(g, 60))
    limit = hsc_build_scalar(&b, HSC_TYPE_S32, back ? 0 : (double)n);
  take_status(g, hsc_builder_finish(&b, hsc_build_compare(&b, back ? HSC_GE : HSC_LT, i, limit),
                                    &called[0]));

  // What is done to a row: two values of the carry's shape and a row of the result.
  hsc_shape inputs[4] = {s32, c->shape, c->shape, row};
  hsc_computation *next_c =
      grow_computation(g, "next_c", 4, inputs, c->shape, 1 + grow_below(g, 4));
  hsc_computation *row_of = grow_computation(g, "row", 4, inputs, out_row, 1 + grow_below(g, 4));
  if (!next_c || !row_of || g->b.status)
    return;
  hsc_builder_init(&b, g->module, "of_row");
  p = hsc_build_parameter(&b, 0, state, "state");
  hsc_instr *now[6];
  if (nested) {
    hsc_instr *both = hsc_build_get_tuple_element(&b, p, 2);
    for (int k = 0; k < 6; k++)
      now[k] = k == 2 || k == 3 ? hsc_build_get_tuple_element(&b, both, k - 2)
                                : hsc_build_get_tuple_element(&b, p, k < 2 ? k : k - 1);
  } else {
    for (int k = 0; k < 6; k++)
      now[k] = hsc_build_get_tuple_element(&b, p, k);
  }
  hsc_instr *x = at_row(g, &b, now[4], now[0], NULL, row);
  hsc_instr *values[4] = {now[0], now[2], now[3], x};
  hsc_instr *fresh = hsc_build_call(&b, next_c, 4, values);
  hsc_instr *out = hsc_build_call(&b, row_of, 4, values);
  hsc_instr *next[6] = {hsc_build_binary(&b, back ? HSC_OP_SUBTRACT : HSC_OP_ADD, now[0],
                                         hsc_build_scalar(&b, HSC_TYPE_S32, 1)),
                        now[1],
                        swaps ? now[3] : fresh,
                        swaps ? (grow_chance(g, 50) ? now[2] : fresh) : now[2],
                        now[4],
                        at_row(g, &b, now[5], now[0], out, out_row)};
  hsc_instr *root =
      nested ? hsc_build_tuple(&b, 5,
                               (hsc_instr *[]){next[0], next[1], hsc_build_tuple(&b, 2, next + 2),
                                               next[4], next[5]})
             : hsc_build_tuple(&b, 6, next);
  take_status(g, hsc_builder_finish(&b, root, &called[1]));
  if (g->b.status)
    return;
  hsc_instr *init[6] = {start, bound, c, d, xs, ys};
  hsc_instr *first =
      nested ? hsc_build_tuple(
                   &g->b, 5,
                   (hsc_instr *[]){start, bound, hsc_build_tuple(&g->b, 2, init + 2), xs, ys})
             : hsc_build_tuple(&g->b, 6, init);
  hsc_instr *loop = hsc_build_while(&g->b, called[0], called[1], first);
  // Now and then a second loop of the same body: from the same state, or from where the first one
  // ended (with nothing to do, or a bound that the first one left).
  if (grow_chance(g, 25))
    loop = hsc_build_while(&g->b, called[0], called[1], grow_chance(g, 50) ? first : loop);
  else if (grow_chance(g, 20))
    grow_keep(g, hsc_build_get_tuple_element(
                     &g->b, hsc_build_while(&g->b, called[0], called[1], first), nested ? 4 : 5));
  hsc_instr *both = nested ? hsc_build_get_tuple_element(&g->b, loop, 2) : NULL;
  for (int k = 0; k < 2; k++)
    grow_keep(g, nested ? hsc_build_get_tuple_element(&g->b, both, k)
                        : hsc_build_get_tuple_element(&g->b, loop, 2 + k));
  grow_keep(g, hsc_build_get_tuple_element(&g->b, loop, nested ? 4 : 5));
  if (grow_chance(g, 30))
    grow_keep(g, hsc_build_get_tuple_element(&g->b, loop, 0));
}

// Branches of tuples: one gives back what it was given, in another order.
static void form_branches(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS, 0);
  hsc_instr *y = grow_pick_like(g, x->shape);
  hsc_shape pair = hsc_shape_tuple(g->arena, 2, (hsc_shape[]){x->shape, y->shape});
  hsc_shape parts[2] = {x->shape, y->shape};
  int branches = 2 + grow_below(g, 2);
  int plain = grow_below(g, branches);
  hsc_computation *called[3] = {0};
  for (int k = 0; k < branches; k++) {
    hsc_computation *inner[2] = {NULL, NULL};
    for (int i = 0; i < 2 && k != plain; i++)
      inner[i] = grow_computation(g, "part", 2, parts, parts[i], 1 + grow_below(g, 3));
    hsc_builder b;
    hsc_builder_init(&b, g->module, "branch_of_pair");
    hsc_instr *p = hsc_build_parameter(&b, 0, pair, "pair");
    hsc_instr *now[2] = {hsc_build_get_tuple_element(&b, p, 0),
                         hsc_build_get_tuple_element(&b, p, 1)};
    hsc_instr *next[2] = {now[1], now[0]};
    for (int i = 0; i < 2; i++)
      if (inner[i])
        next[i] = hsc_build_call(&b, inner[i], 2, now);
    hsc_instr *root = k == plain && grow_chance(g, 30) ? p : hsc_build_tuple(&b, 2, next);
    take_status(g, hsc_builder_finish(&b, root, &called[k]));
    if (g->b.status)
      return;
    if (k > 0 && grow_chance(g, 20))
      called[k] = called[k - 1];
  }
  hsc_instr *pairs = hsc_build_tuple(&g->b, 2, (hsc_instr *[]){x, y});
  hsc_shape by =
      hsc_shape_scalar(branches == 2 && grow_chance(g, 60) ? HSC_TYPE_PRED : HSC_TYPE_S32);
  hsc_instr *operands[4] = {grow_coerced(g, grow_pick(g, PREDS | INTEGERS, 0), by), pairs, pairs,
                            pairs};
  hsc_instr *result = hsc_build_op(&g->b, HSC_OP_CONDITIONAL, (hsc_shape){0}, NULL, branches + 1,
                                   operands, branches, called);
  for (int i = 0; i < 2; i++)
    grow_keep(g, hsc_build_get_tuple_element(&g->b, result, i));
}

// A loop that draws: the state of the generator goes round.
static void form_drawing_loop(grower *g) {
  int64_t n = 1 + grow_below(g, 3);
  int64_t words = 2;
  int64_t dims[2] = {n, 1 + grow_below(g, 5)};
  hsc_shape s32 = hsc_shape_scalar(HSC_TYPE_S32);
  hsc_shape words_shape = grow_shape_of(g, HSC_TYPE_U64, 1, &words);
  hsc_shape drawn = grow_shape_of(g, HSC_TYPE_U32, 1, dims + 1);
  hsc_shape rows = grow_shape_of(g, HSC_TYPE_U32, 2, dims);
  hsc_shape state = hsc_shape_tuple(g->arena, 3, (hsc_shape[]){s32, words_shape, rows});
  hsc_computation *called[2] = {0};
  hsc_builder b;
  hsc_builder_init(&b, g->module, "more_draws");
  hsc_instr *p = hsc_build_parameter(&b, 0, state, "state");
  take_status(
      g, hsc_builder_finish(&b,
                            hsc_build_compare(&b, HSC_LT, hsc_build_get_tuple_element(&b, p, 0),
                                              hsc_build_scalar(&b, HSC_TYPE_S32, (double)n)),
                            &called[0]));
  hsc_builder_init(&b, g->module, "draw");
  p = hsc_build_parameter(&b, 0, state, "state");
  hsc_instr *i = hsc_build_get_tuple_element(&b, p, 0);
  hsc_instr *key = hsc_build_get_tuple_element(&b, p, 1);
  hsc_attr attr = {.rng = {.algorithm = grow_chance(g, 50) ? HSC_RNG_THREE_FRY : HSC_RNG_PHILOX}};
  hsc_instr *bits =
      hsc_build(&b, HSC_OP_RNG_BIT_GENERATOR,
                hsc_shape_tuple(g->arena, 2, (hsc_shape[]){words_shape, drawn}), 1, &key);
  if (!b.status)
    bits->attr = attr;
  hsc_instr *next[3] = {hsc_build_binary(&b, HSC_OP_ADD, i, hsc_build_scalar(&b, HSC_TYPE_S32, 1)),
                        hsc_build_get_tuple_element(&b, bits, 0),
                        at_row(g, &b, hsc_build_get_tuple_element(&b, p, 2), i,
                               hsc_build_get_tuple_element(&b, bits, 1), drawn)};
  take_status(g, hsc_builder_finish(&b, hsc_build_tuple(&b, 3, next), &called[1]));
  if (g->b.status)
    return;
  hsc_instr *first[3] = {grow_scalar(g, HSC_TYPE_S32, 0), grow_constant(g, words_shape),
                         grow_splat(g, rows, 0)};
  hsc_instr *loop = hsc_build_while(&g->b, called[0], called[1], hsc_build_tuple(&g->b, 3, first));
  for (int k = 1; k < 3; k++)
    grow_keep(g, hsc_build_get_tuple_element(&g->b, loop, k));
}

// A fusion with two results, as a compiler's own output has them.
static void form_fused_pair(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS, 0);
  hsc_instr *y = grow_pick_like(g, x->shape);
  hsc_builder b;
  hsc_builder_init(&b, g->module, "fused_pair");
  hsc_instr *p = hsc_build_parameter(&b, 0, x->shape, "p");
  hsc_instr *q = hsc_build_parameter(&b, 1, y->shape, "q");
  hsc_instr *sum = hsc_build_unary(&b, HSC_OP_TANH, hsc_build_binary(&b, HSC_OP_ADD, p, q));
  hsc_instr *root[2] = {
      sum, hsc_build_binary(&b, HSC_OP_MULTIPLY, sum, hsc_build_unary(&b, HSC_OP_TANH, q))};
  hsc_computation *body = NULL;
  take_status(g, hsc_builder_finish(&b, hsc_build_tuple(&b, 2, root), &body));
  if (g->b.status)
    return;
  hsc_attr attr = {.fusion = {.kind = HSC_FUSION_LOOP}};
  // two callers of one body, now and then
  for (int times = 1 + grow_below(g, 2); times > 0; times--) {
    hsc_instr *pair = hsc_build_op(&g->b, HSC_OP_FUSION, (hsc_shape){0}, &attr, 2,
                                   (hsc_instr *[]){x, y}, 1, &body);
    for (int i = 0; i < 2; i++)
      grow_keep(g, hsc_build_get_tuple_element(&g->b, pair, i));
    y = hsc_build_get_tuple_element(&g->b, pair, 0);
  }
}

// One computation with several callers: the entry, twice, and a computation that calls it and is
// called itself.
static void form_shared_call(grower *g) {
  hsc_instr *x = grow_pick(g, FLOATS, 0);
  hsc_instr *y = grow_pick_like(g, x->shape);
  hsc_shape parts[2] = {x->shape, y->shape};
  hsc_computation *shared = grow_computation(g, "shared", 2, parts, x->shape, 2 + grow_below(g, 4));
  hsc_computation *caller = NULL;
  if (!shared || g->b.status)
    return;
  hsc_builder b;
  hsc_builder_init(&b, g->module, "caller");
  hsc_instr *p = hsc_build_parameter(&b, 0, x->shape, "p");
  hsc_instr *q = hsc_build_parameter(&b, 1, x->shape, "q");
  hsc_instr *once = hsc_build_call(&b, shared, 2, (hsc_instr *[]){q, p});
  take_status(
      g,
      hsc_builder_finish(
          &b, grow_chance(g, 50) ? hsc_build_call(&b, shared, 2, (hsc_instr *[]){once, q}) : once,
          &caller));
  if (g->b.status)
    return;
  hsc_instr *z = hsc_build_call(&g->b, shared, 2, (hsc_instr *[]){x, y});
  hsc_instr *w =
      hsc_build_call(&g->b, grow_chance(g, 50) ? shared : caller, 2, (hsc_instr *[]){z, x});
  grow_keep(g, z);
  grow_keep(g, w);
  if (grow_chance(g, 50))
    grow_keep(g, hsc_build_call(&g->b, caller, 2, (hsc_instr *[]){w, y}));
}

void grow_form(grower *g) {
  static void (*const forms[])(grower *) = {form_dot,
                                            form_dot,
                                            form_convolution,
                                            form_convolution,
                                            form_reduce,
                                            form_reduce,
                                            form_sort,
                                            form_gather,
                                            form_scatter,
                                            form_permuting_scatter,
                                            form_select_and_scatter,
                                            form_fft,
                                            form_triangular_solve,
                                            form_batch_norm,
                                            form_math,
                                            form_scan,
                                            form_scan,
                                            form_branches,
                                            form_drawing_loop,
                                            form_fused_pair,
                                            form_shared_call,
                                            form_shared_call};
  forms[grow_below(g, (int)HSC_COUNT_OF(forms))](g);
}
