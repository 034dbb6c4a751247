// stablehlo_export_ops.c - HLO instructions one by one: attributes to StableHLO's.
//
// How to read: the table at the end has a row an operation, with its export_* function, which emits
// one operation (emit) with the attributes that put_* made. Attributes that HLO has and StableHLO
// does not are kept under the name of mhlo, so that an import gives them back. Simple operations
// come first, then products and windows, collectives, and custom calls.
#include "formats/stablehlo/stablehlo_export_internal.h"

#include <stdlib.h>

#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/stablehlo/stablehlo_internal.h"
#include "hlo/ir/groups.h"

typedef hsc__export_op frame;

// ---- small words --------------------------------------------------------------------------------

static void put(frame *f, const char *name, const hsc__mlir_attr *value) {
  hsc__export_put(f, name, value);
}
static void put_dims(frame *f, const char *name, hsc_dims dims) {
  put(f, name, hsc__export_dims(f->x, dims));
}
static void put_int(frame *f, const char *name, int64_t value) {
  put(f, name, hsc__export_int(f->x, HSC_TYPE_S64, value));
}
static void put_true(frame *f, const char *name, bool value) {
  if (value)
    put(f, name, hsc__export_bool(f->x, true));
}
static hsc_status *emit(frame *f) {
  return hsc__export_emit_instr(f);
}

static hsc_status *regions(frame *f) {
  for (int i = 0; i < f->instr->called_count; i++)
    HSC_TRY(hsc__export_region(f, f->instr->called[i]));
  return NULL;
}

#define REFUSE(f, ...) HSC_EXPORT_ERR((f)->x, (f)->instr, __VA_ARGS__)

// ---- attributes that HLO has and StableHLO keeps under the name of mhlo -------------------------

const hsc__mlir_attr *hsc__export_frontend(hsc__exporter *x, const char *text) {
  hsc__mlir_named entries[64];
  int count = 0;
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  hsc_bytes value = {0};
  bool ok = hsc__scan_char(&scan, '{');
  while (ok && !hsc__scan_char(&scan, '}')) {
    hsc_view name = {0};
    if (hsc__scan_peek(&scan, '"')) {
      hsc_bytes_reset(&value);
      ok = hsc__scan_string(&scan, &value);
      name =
          (hsc_view){hsc_arena_strndup(x->arena, hsc_bytes_text(&value), value.size), value.size};
    } else {
      name = hsc__scan_ident(&scan);
    }
    hsc_bytes_reset(&value);
    ok = ok && name.size && count < (int)HSC_COUNT_OF(entries) && hsc__scan_char(&scan, '=');
    if (ok && hsc__scan_peek(&scan, '"')) {
      ok = hsc__scan_string(&scan, &value);
      if (ok)
        entries[count++] = (hsc__mlir_named){name, hsc__export_text(x, hsc_bytes_view(&value))};
    } else {
      hsc_view object;
      ok = ok && hsc__scan_braces(&scan, &object);
      if (ok)
        entries[count++] = (hsc__mlir_named){name, hsc__export_text(x, object)};
    }
    hsc__scan_char(&scan, ',');
  }
  hsc_bytes_deinit(&value);
  return ok && count ? hsc__export_dict(x, count, entries) : NULL;
}

static const hsc__mlir_attr *number_attr(hsc__exporter *x, double value) {
  hsc__mlir_attr *attr = HSC_NEW(x->arena, hsc__mlir_attr);
  if (attr)
    *attr = (hsc__mlir_attr){
        .kind = HSC_MLIR_FLOAT, .number = value, .type = hsc__export_element(x, HSC_TYPE_F64)};
  return attr;
}

// result_accuracy={tolerance={atol=1,rtol=2.5,ulps=3}} or {mode=highest} among the raw attributes;
// what is left of them goes to *out_rest.
static hsc_status *split_accuracy(frame *f, hsc_view raw, const char **out_rest) {
  *out_rest = raw.data;
  static const char key[] = "result_accuracy={";
  const char *at = strstr(raw.data, key);
  if (!at)
    return NULL;
  double atol = 0;
  double rtol = 0;
  int ulps = 0;
  int mode = 0;
  int depth = 0;
  const char *end = at + sizeof key - 2;
  for (; *end; end++) {
    depth += *end == '{';
    depth -= *end == '}';
    if (depth == 0)
      break;
  }
  if (!*end)
    return NULL;
  const char *a = strstr(at, "atol=");
  const char *r = strstr(at, "rtol=");
  const char *u = strstr(at, "ulps=");
  const char *m = strstr(at, "mode=highest");
  if (a && a < end)
    hsc__parse_double(a + 5, &atol);
  if (r && r < end)
    hsc__parse_double(r + 5, &rtol);
  if (u && u < end)
    ulps = atoi(u + 5);
  if (m && m < end)
    mode = 1;
  else if (atol != 0 || rtol != 0 || ulps != 0)
    mode = 2;
  else
    mode = 0;
  hsc__mlir_attr *attr = HSC_NEW(f->x->arena, hsc__mlir_attr);
  const hsc__mlir_attr *parts[] = {number_attr(f->x, atol), number_attr(f->x, rtol),
                                   hsc__export_int(f->x, HSC_TYPE_S64, ulps),
                                   hsc__export_enum(f->x, "result_accuracy_mode", mode)};
  if (!attr)
    return hsc_status_out_of_memory();
  *attr = *hsc__export_array(f->x, 4, parts);
  attr->kind = HSC_MLIR_ACCURACY;
  if (mode)
    put(f, "result_accuracy", attr);
  size_t before = (size_t)(at - raw.data);
  end++;
  while (*end == ',' || *end == ' ')
    end++;
  while (!*end && before && (raw.data[before - 1] == ' ' || raw.data[before - 1] == ','))
    before--;
  *out_rest = hsc_arena_printf(f->x->arena, "%.*s%s", (int)before, raw.data, end);
  return *out_rest ? NULL : hsc_status_out_of_memory();
}

hsc_status *hsc__export_discardable(hsc__export_op *op, const hsc_instr *instr) {
  hsc__exporter *x = op->x;
  if (instr->sharding)
    put(op, "mhlo.sharding", hsc__export_text(x, hsc_view_of(instr->sharding)));
  if (instr->frontend_attributes) {
    const hsc__mlir_attr *dict = hsc__export_frontend(x, instr->frontend_attributes);
    put(op, dict ? "mhlo.frontend_attributes" : "mhlo.frontend_attributes_text",
        dict ? dict : hsc__export_text(x, hsc_view_of(instr->frontend_attributes)));
  }
  if (instr->backend_config && instr->op != HSC_OP_CUSTOM_CALL)
    put(op, "mhlo.backend_config", hsc__export_text(x, hsc_view_of(instr->backend_config)));
  const char *rest = instr->extra_attributes;
  if (rest && (hsc_op_traits(instr->op) & HSC_TRAIT_ACCURACY))
    HSC_TRY(split_accuracy(op, hsc_view_of(rest), &rest));
  if (rest && *rest)
    put(op, "mhlo.extra_attributes", hsc__export_text(x, hsc_view_of(rest)));
  return NULL;
}

// ---- simple operations --------------------------------------------------------------------------

static hsc_status *export_same(frame *f) {
  return emit(f);
}

static hsc_status *export_constant(frame *f) {
  const hsc_literal *literal = f->instr->attr.literal.value;
  if (!literal || literal->elided)
    return hsc__export_error(
        f->x, f->instr,
        HSC_ERR(FAILED_PRECONDITION,
                "constant: its values were left out of the text it came from"));
  if (!hsc_shape_is_array(&literal->shape))
    return REFUSE(f, "constant: a tuple of constants has no form in StableHLO");
  hsc__mlir_attr *attr = HSC_NEW(f->x->arena, hsc__mlir_attr);
  HSC_TRY(hsc_arena_status(f->x->arena));
  *attr = (hsc__mlir_attr){.kind = HSC_MLIR_DENSE,
                           .type = hsc__export_type(f->x, &literal->shape),
                           .data = {literal->data, (size_t)hsc_shape_bytes(&literal->shape)}};
  put(f, "value", attr);
  return emit(f);
}

static hsc_status *export_dimensions(frame *f) {
  put_dims(f, "dimensions", f->instr->attr.dims.dims);
  HSC_TRY(regions(f));
  return emit(f);
}

static hsc_status *export_permutation(frame *f) {
  put_dims(f, "permutation", f->instr->attr.dims.dims);
  return emit(f);
}

static int64_t first_dim(const frame *f) {
  return f->instr->attr.dims.dims.count > 0 ? f->instr->attr.dims.dims.v[0] : 0;
}

static hsc_status *export_dimension(frame *f) {
  put_int(f, "dimension", first_dim(f));
  return emit(f);
}

static hsc_status *export_iota(frame *f) {
  put_int(f, "iota_dimension", first_dim(f));
  return emit(f);
}

static hsc_status *export_broadcast_in_dim(frame *f) {
  put_dims(f, "broadcast_dimensions", f->instr->attr.dims.dims);
  return emit(f);
}

static hsc_status *export_compare(frame *f) {
  // VHLO's numbers
  static const int64_t directions[] = {
      [HSC_EQ] = 0, [HSC_NE] = 1, [HSC_GE] = 2, [HSC_GT] = 3, [HSC_LE] = 4, [HSC_LT] = 5};
  put(f, "comparison_direction",
      hsc__export_enum(f->x, "comparison_direction", directions[f->instr->attr.compare.direction]));
  if (f->instr->attr.compare.type != HSC_COMPARE_DEFAULT)
    put(f, "compare_type", hsc__export_enum(f->x, "comparison_type", f->instr->attr.compare.type));
  return emit(f);
}

static hsc_status *export_slice(frame *f) {
  put_dims(f, "start_indices", f->instr->attr.slice.start);
  put_dims(f, "limit_indices", f->instr->attr.slice.limit);
  put_dims(f, "strides", f->instr->attr.slice.stride);
  return emit(f);
}

static hsc_status *export_dynamic_slice(frame *f) {
  put_dims(f, "slice_sizes", f->instr->attr.slice_sizes.sizes);
  return emit(f);
}

static hsc_status *export_pad(frame *f) {
  int64_t low[HSC_MAX_RANK], high[HSC_MAX_RANK], interior[HSC_MAX_RANK];
  int rank = f->instr->attr.pad.rank;
  for (int i = 0; i < rank && i < HSC_MAX_RANK; i++) {
    const hsc_pad_dim *d = &f->instr->attr.pad.dims[i];
    low[i] = d->low;
    high[i] = d->high;
    interior[i] = d->interior;
  }
  put_dims(f, "edge_padding_low", (hsc_dims){rank, low});
  put_dims(f, "edge_padding_high", (hsc_dims){rank, high});
  put_dims(f, "interior_padding", (hsc_dims){rank, interior});
  return emit(f);
}

static hsc_status *export_batch_norm(frame *f) {
  hsc__mlir_attr *epsilon = HSC_NEW(f->x->arena, hsc__mlir_attr);
  HSC_TRY(hsc_arena_status(f->x->arena));
  *epsilon = (hsc__mlir_attr){.kind = HSC_MLIR_FLOAT,
                              .number = (double)f->instr->attr.batch_norm.epsilon,
                              .type = hsc__export_element(f->x, HSC_TYPE_F32)};
  put(f, "epsilon", epsilon);
  put_int(f, "feature_index", f->instr->attr.batch_norm.feature_index);
  return emit(f);
}

static hsc_status *export_cholesky(frame *f) {
  put(f, "lower", hsc__export_bool(f->x, f->instr->attr.cholesky.lower));
  return emit(f);
}

static hsc_status *export_triangular_solve(frame *f) {
  const hsc_attr *a = &f->instr->attr;
  put(f, "left_side", hsc__export_bool(f->x, a->triangular.left_side));
  put(f, "lower", hsc__export_bool(f->x, a->triangular.lower));
  // VHLO's 0 is invalid
  put(f, "transpose_a",
      hsc__export_enum(f->x, "transpose", (int64_t)a->triangular.transpose_a + 1));
  put(f, "unit_diagonal", hsc__export_bool(f->x, a->triangular.unit_diagonal));
  return emit(f);
}

static hsc_status *export_fft(frame *f) {
  put(f, "fft_type", hsc__export_enum(f->x, "fft_type", f->instr->attr.fft.type));
  put_dims(f, "fft_length", f->instr->attr.fft.length);
  return emit(f);
}

static hsc_status *export_reduce_precision(frame *f) {
  put(f, "exponent_bits",
      hsc__export_int(f->x, HSC_TYPE_S32, f->instr->attr.precision.exponent_bits));
  put(f, "mantissa_bits",
      hsc__export_int(f->x, HSC_TYPE_S32, f->instr->attr.precision.mantissa_bits));
  return emit(f);
}

static hsc_status *append_operand(frame *f, hsc__mlir_value *value) {
  hsc__mlir_value **operands = HSC_NEW_ARRAY(f->x->arena, hsc__mlir_value *, f->operand_count + 1);
  HSC_TRY(hsc_arena_status(f->x->arena));
  if (f->operand_count)
    memcpy(operands, f->operands, (size_t)f->operand_count * sizeof *operands);
  operands[f->operand_count++] = value;
  f->operands = operands;
  return NULL;
}

static hsc_status *export_rng(frame *f) {
  // StableHLO takes the shape as a third operand.
  frame sizes = {.x = f->x, .instr = f->instr, .name = "stablehlo.constant"};
  int64_t rank = f->instr->shape.rank;
  hsc_shape shape = hsc_shape_array(f->x->arena, HSC_TYPE_S64, 1, &rank);
  hsc__mlir_value *value;
  put(&sizes, "value", hsc__export_ints(f->x, HSC_TYPE_S64, 1, &rank, f->instr->shape.dims));
  HSC_TRY(hsc__export_emit_value(&sizes, &shape, &value));
  HSC_TRY(append_operand(f, value));
  put(f, "rng_distribution",
      hsc__export_enum(f->x, "rng_distribution", f->instr->attr.rng.distribution));
  return emit(f);
}

static hsc_status *export_rng_bit_generator(frame *f) {
  put(f, "rng_algorithm", hsc__export_enum(f->x, "rng_algorithm", f->instr->attr.rng.algorithm));
  return emit(f);
}

static hsc_status *export_sort(frame *f) {
  put_int(f, "dimension", first_dim(f));
  put_true(f, "is_stable", f->instr->attr.dims.is_stable);
  HSC_TRY(regions(f));
  return emit(f);
}

static hsc_status *export_after_all(frame *f) {
  if (f->operand_count == 0)
    f->name = "stablehlo.create_token";
  return emit(f);
}

// ---- dots, convolutions, windows ----------------------------------------------------------------

static hsc_status *precision(frame *f, hsc_dims p) {
  const hsc__mlir_attr *elements[4];
  bool any = false;
  for (int i = 0; i < p.count && i < 4; i++) {
    any |= p.v[i] != 0;
    if (p.v[i] > 2)
      return REFUSE(f, "%s: its precision packed_nibble has no form in StableHLO",
                    hsc_op_text(f->instr->op));
    elements[i] = hsc__export_enum(f->x, "precision", p.v[i]);
  }
  if (any)
    put(f, "precision_config", hsc__export_array(f->x, p.count < 4 ? p.count : 4, elements));
  return NULL;
}

static const hsc__mlir_attr *named_type(hsc__exporter *x, const char *text) {
  hsc_type type;
  hsc__mlir_type *other = HSC_NEW(x->arena, hsc__mlir_type);
  if (!other)
    return NULL;
  *other = (hsc__mlir_type){.kind = HSC_MLIR_OTHER, .text = text};  // tf32
  return hsc__export_type_attr(
      x, hsc__mlir_element_type(hsc_view_of(text), &type) ? hsc__export_element(x, type) : other);
}

static hsc_status *algorithm(frame *f, int number) {
  static const struct {
    int number;
    const char *operand, *accumulation;
    int operations;
    bool imprecise;
  } rows[] = {
#define DOT_ALGORITHM(number, operand, accumulation, operations, imprecise) \
  {number, operand, accumulation, operations, imprecise},
#include "formats/stablehlo/dot_algorithms.def"
#undef DOT_ALGORITHM
  };
  if (number == 0)
    return NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(rows); i++) {
    if (rows[i].number != number)
      continue;
    put(f, "lhs_precision_type", named_type(f->x, rows[i].operand));
    put(f, "rhs_precision_type", named_type(f->x, rows[i].operand));
    put(f, "accumulation_type", named_type(f->x, rows[i].accumulation));
    put_int(f, "lhs_component_count", 1);
    put_int(f, "rhs_component_count", 1);
    put_int(f, "num_primitive_operations", rows[i].operations);
    put(f, "allow_imprecise_accumulation", hsc__export_bool(f->x, rows[i].imprecise));
    return NULL;
  }
  return REFUSE(f, "dot: its algorithm has no form in StableHLO");
}

static hsc_status *export_dot_general(frame *f) {
  const hsc_dot_dims *d = &f->instr->attr.dot;
  if (d->sparsity)
    return REFUSE(f, "dot: sparsity has no form in StableHLO");
  put_dims(f, "lhs_batching_dimensions", d->lhs_batch);
  put_dims(f, "rhs_batching_dimensions", d->rhs_batch);
  put_dims(f, "lhs_contracting_dimensions", d->lhs_contracting);
  put_dims(f, "rhs_contracting_dimensions", d->rhs_contracting);
  HSC_TRY(precision(f, d->precision));
  HSC_TRY(algorithm(f, d->algorithm));
  return emit(f);
}

typedef struct window_lists {
  int64_t size[HSC_MAX_RANK], stride[HSC_MAX_RANK], base[HSC_MAX_RANK], dilation[HSC_MAX_RANK],
      padding[2 * HSC_MAX_RANK], reversal[HSC_MAX_RANK];
  bool reversed, dilated;
  int rank;
} window_lists;

static window_lists lists_of(const hsc_window *w) {
  window_lists l = {.rank = w->rank};
  for (int i = 0; i < w->rank && i < HSC_MAX_RANK; i++) {
    const hsc_window_dim *d = &w->dims[i];
    l.size[i] = d->size;
    l.stride[i] = d->stride;
    l.base[i] = d->base_dilation;
    l.dilation[i] = d->window_dilation;
    l.padding[2 * i] = d->pad_low;
    l.padding[2 * i + 1] = d->pad_high;
    l.reversal[i] = d->reversal;
    l.reversed |= d->reversal;
    l.dilated |= d->base_dilation != 1 || d->window_dilation != 1;
  }
  return l;
}

static void put_list(frame *f, const char *name, int count, const int64_t *values) {
  put_dims(f, name, (hsc_dims){count, values});
}

static void put_padding(frame *f, const window_lists *l) {
  put(f, "padding", hsc__export_ints(f->x, HSC_TYPE_S64, 2, (int64_t[]){l->rank, 2}, l->padding));
}

static hsc_status *export_reduce_window(frame *f) {
  window_lists l = lists_of(&f->instr->attr.window.window);
  if (l.reversed)
    return REFUSE(f, "reduce-window: a reversed window has no form in StableHLO");
  put_list(f, "window_dimensions", l.rank, l.size);
  put_list(f, "window_strides", l.rank, l.stride);
  put_list(f, "base_dilations", l.rank, l.base);
  put_list(f, "window_dilations", l.rank, l.dilation);
  put_padding(f, &l);
  HSC_TRY(regions(f));
  return emit(f);
}

static hsc_status *export_select_and_scatter(frame *f) {
  window_lists l = lists_of(&f->instr->attr.window.window);
  if (l.reversed || l.dilated)
    return REFUSE(f, "select-and-scatter: a dilated or reversed window has no form in StableHLO");
  put_list(f, "window_dimensions", l.rank, l.size);
  put_list(f, "window_strides", l.rank, l.stride);
  put_padding(f, &l);
  HSC_TRY(regions(f));
  return emit(f);
}

static hsc_status *export_convolution(frame *f) {
  const hsc_conv_dims *d = &f->instr->attr.conv.dims;
  window_lists l = lists_of(&f->instr->attr.conv.window);
  int64_t rank = d->spatial_rank;
  put_int(f, "batch_group_count", f->instr->attr.conv.batch_groups);
  put_int(f, "feature_group_count", f->instr->attr.conv.feature_groups);
  put_int(f, "input_batch_dimension", d->input_batch);
  put_int(f, "input_feature_dimension", d->input_feature);
  put_list(f, "input_spatial_dimensions", d->spatial_rank, d->input_spatial);
  put_int(f, "kernel_input_feature_dimension", d->kernel_input);
  put_int(f, "kernel_output_feature_dimension", d->kernel_output);
  put_list(f, "kernel_spatial_dimensions", d->spatial_rank, d->kernel_spatial);
  put_int(f, "output_batch_dimension", d->output_batch);
  put_int(f, "output_feature_dimension", d->output_feature);
  put_list(f, "output_spatial_dimensions", d->spatial_rank, d->output_spatial);
  // no window said: one of size 1 everywhere cannot be meant with spatial dimensions, and is empty
  // without
  if (l.rank == 0) {
    put_list(f, "window_strides", 0, NULL);
    put_list(f, "lhs_dilation", 0, NULL);
    put_list(f, "rhs_dilation", 0, NULL);
  } else {
    put_list(f, "window_strides", l.rank, l.stride);
    put_list(f, "lhs_dilation", l.rank, l.base);
    put_list(f, "rhs_dilation", l.rank, l.dilation);
  }
  put_padding(f, &l);
  put(f, "window_reversal", hsc__export_ints(f->x, HSC_TYPE_PRED, 1, &rank, l.reversal));
  HSC_TRY(precision(f, f->instr->attr.conv.precision));
  return emit(f);
}

static hsc_status *export_gather(frame *f) {
  const hsc_gather_dims *g = &f->instr->attr.gather;
  put_dims(f, "offset_dims", g->offset_dims);
  put_dims(f, "collapsed_slice_dims", g->collapsed_slice_dims);
  if (g->operand_batching_dims.count)
    put_dims(f, "operand_batching_dims", g->operand_batching_dims);
  if (g->start_indices_batching_dims.count)
    put_dims(f, "start_indices_batching_dims", g->start_indices_batching_dims);
  put_dims(f, "start_index_map", g->start_index_map);
  put_int(f, "index_vector_dim", g->index_vector_dim);
  put_dims(f, "slice_sizes", g->slice_sizes);
  put_true(f, "indices_are_sorted", g->indices_are_sorted);
  return emit(f);
}

static hsc_status *export_scatter(frame *f) {
  const hsc_gather_dims *g = &f->instr->attr.scatter;
  put_dims(f, "update_window_dims", g->offset_dims);
  put_dims(f, "inserted_window_dims", g->collapsed_slice_dims);
  if (g->operand_batching_dims.count)
    put_dims(f, "input_batching_dims", g->operand_batching_dims);
  if (g->start_indices_batching_dims.count)
    put_dims(f, "scatter_indices_batching_dims", g->start_indices_batching_dims);
  put_dims(f, "scatter_dims_to_operand_dims", g->start_index_map);
  put_int(f, "index_vector_dim", g->index_vector_dim);
  put_true(f, "indices_are_sorted", g->indices_are_sorted);
  put_true(f, "unique_indices", g->unique);
  HSC_TRY(regions(f));
  return emit(f);
}

// ---- collectives --------------------------------------------------------------------------------

// {{0,1},{2,3}} as a tensor whose shorter rows end with -1.
static hsc_status *put_groups(frame *f, const char *name, const char *text, int64_t empty_columns) {
  hsc_groups groups;
  hsc_status *status = hsc_groups_parse(f->x->arena, text, &groups);
  if (status) {
    hsc_status_free(status);
    return REFUSE(f, "%s: its %s is not a list of groups of numbers", hsc_op_text(f->instr->op),
                  name);
  }
  int64_t columns = groups.count ? 0 : empty_columns;
  for (int64_t g = 0; g < groups.count; g++)
    if (groups.first[g + 1] - groups.first[g] > columns)
      columns = groups.first[g + 1] - groups.first[g];
  if (groups.count * columns > HSC_MAX_GROUP_IDS)
    return REFUSE(f, "%s: its %s has too many groups of different size", hsc_op_text(f->instr->op),
                  name);
  int64_t *values = HSC_NEW_ARRAY(f->x->arena, int64_t, groups.count *columns + 1);
  HSC_TRY(hsc_arena_status(f->x->arena));
  for (int64_t g = 0; g < groups.count; g++)
    for (int64_t c = 0; c < columns; c++) {
      int64_t at = groups.first[g] + c;
      values[g * columns + c] = at < groups.first[g + 1] ? groups.ids[at] : -1;
    }
  put(f, name, hsc__export_ints(f->x, HSC_TYPE_S64, 2, (int64_t[]){groups.count, columns}, values));
  return NULL;
}

static hsc_status *export_collective(frame *f) {
  const hsc_attr *a = &f->instr->attr;
  bool permutes =
      f->instr->op == HSC_OP_COLLECTIVE_PERMUTE || f->instr->op == HSC_OP_COLLECTIVE_PERMUTE_START;
  int64_t dimension = a->collective.dims.count ? a->collective.dims.v[0] : -1;
  const char *dimension_name =
      f->instr->op == HSC_OP_REDUCE_SCATTER ? "scatter_dimension" : "all_gather_dim";
  if (permutes) {
    if (f->operand_count != 1)
      return REFUSE(f, "%s: several operands have no form in StableHLO", hsc_op_text(f->instr->op));
    HSC_TRY(put_groups(f, "source_target_pairs", a->collective.pairs, 2));
  } else {
    HSC_TRY(put_groups(f, "replica_groups", a->collective.replica_groups, 0));
  }
  if (f->instr->op == HSC_OP_ALL_TO_ALL) {
    const hsc__mlir_attr *groups = f->attrs[f->attr_count - 1].value;
    int64_t split = groups->type->shape.dims[1]
                        ? groups->type->shape.dims[1]
                        : (int64_t)f->x->module->replica_count * f->x->module->num_partitions;
    if (dimension < 0)
      return REFUSE(f, "all-to-all: without a dimension it has no form in StableHLO");
    put_int(f, "split_dimension", dimension);
    put_int(f, "concat_dimension", dimension);
    put_int(f, "split_count", split);
  } else if (dimension >= 0) {
    put_int(f, dimension_name, dimension);
  }
  if (a->collective.channel_id)
    put_int(f, "channel_id", a->collective.channel_id);
  put_true(f, "use_global_device_ids", a->collective.use_global_device_ids);
  HSC_TRY(regions(f));
  if (f->instr->op != HSC_OP_ALL_GATHER_START &&
      !(permutes && hsc_shape_is_tuple(&f->instr->shape)))
    return emit(f);
  // The start's shape is (operands, results, ...); only results are values here, which `done` gives
  // on.
  hsc_instr result = *f->instr;
  if (!hsc_shape_is_tuple(&f->instr->shape) || f->instr->shape.element_count < 2)
    return REFUSE(f, "%s: its shape is not a pair", hsc_op_text(f->instr->op));
  result.shape = f->instr->shape.elements[1];
  f->instr = &result;
  return emit(f);
}

// ---- custom calls, topk -------------------------------------------------------------------------

static const struct {
  const char *name;
  hsc_op op;
} mhlo_ops[] = {
#define LACKED(name, hlo) {"mhlo." name, HSC_OP_##hlo},
#include "formats/mlir/stablehlo_ops.def"
    {"mhlo.topk", HSC_OP_TOPK},
};

hsc_op hsc__mhlo_op(hsc_view name) {
  for (size_t i = 0; i < HSC_COUNT_OF(mhlo_ops); i++)
    if (hsc_view_equals_text(name, mhlo_ops[i].name))
      return mhlo_ops[i].op;
  return HSC_OP_COUNT;
}

static const char *mhlo_name(hsc_op op) {
  for (size_t i = 0; i < HSC_COUNT_OF(mhlo_ops); i++)
    if (op == mhlo_ops[i].op)
      return mhlo_ops[i].name;
  return NULL;
}

static hsc_status *export_mhlo(frame *f) {
  const char *name = mhlo_name(f->instr->op);
  bool topk = f->instr->op == HSC_OP_TOPK;
  if (f->x->chlo && (!topk || f->instr->attr.topk.largest)) {
    f->name = topk ? "chlo.top_k" : hsc_arena_printf(f->x->arena, "chlo.%s", name + 5);
    if (topk)
      put_int(f, "k", f->instr->attr.topk.k);
    return f->name ? emit(f) : hsc_status_out_of_memory();
  }
  hsc__mlir_named attributes[2] = {
      {hsc_view_of("k"), hsc__export_int(f->x, HSC_TYPE_S64, f->instr->attr.topk.k)},
      {hsc_view_of("largest"), hsc__export_bool(f->x, f->instr->attr.topk.largest)}};
  f->name = "stablehlo.custom_call";
  put(f, "call_target_name", hsc__export_text(f->x, hsc_view_of(name)));
  put(f, "mhlo.attributes", hsc__export_dict(f->x, topk ? 2 : 0, attributes));
  put(f, "mhlo.version", hsc__export_int(f->x, HSC_TYPE_S64, 1));
  return emit(f);
}

static const hsc__mlir_attr *index_list(hsc__exporter *x, int count, const int64_t *values) {
  int64_t size = count;
  hsc__mlir_attr *attr =
      (hsc__mlir_attr *)(uintptr_t)hsc__export_ints(x, HSC_TYPE_S64, 1, &size, values);
  if (attr)
    ((hsc__mlir_type *)(uintptr_t)attr->type)->text = "index";
  return attr;
}

static const hsc__mlir_attr *layout_list(hsc__exporter *x, const hsc_shape *shape) {
  int64_t order[HSC_MAX_RANK];
  bool given = shape->layout && shape->layout->rank == shape->rank;
  for (int i = 0; i < shape->rank; i++)
    order[i] = given ? shape->layout->minor_to_major[i] : shape->rank - 1 - i;
  return index_list(x, shape->rank, order);
}

static hsc_status *put_layouts(frame *f) {
  const hsc_attr *a = &f->instr->attr;
  const hsc_shape *shape = &f->instr->shape;
  bool several = hsc_shape_is_tuple(shape) && shape->element_count != 1;
  int count = several ? shape->element_count : 1;
  const hsc__mlir_attr **list = HSC_NEW_ARRAY(f->x->arena, const hsc__mlir_attr *,
                                              a->custom.operand_layout_count + count + 1);
  HSC_TRY(hsc_arena_status(f->x->arena));
  for (int i = 0; i < a->custom.operand_layout_count; i++)
    list[i] = layout_list(f->x, &a->custom.operand_layouts[i]);
  put(f, "operand_layouts", hsc__export_array(f->x, a->custom.operand_layout_count, list));
  for (int i = 0; i < count; i++)
    list[i] = layout_list(f->x, several ? &shape->elements[i] : shape);
  put(f, "result_layouts", hsc__export_array(f->x, count, list));
  return NULL;
}

// {{0}: (1, {}), ...}
static hsc_status *put_aliases(frame *f, const char *text) {
  const hsc__mlir_attr *list[64];
  int count = 0;
  int n;
  int64_t values[HSC_MAX_RANK], operand;
  hsc__scan scan = hsc__scan_of(hsc_view_of(text));
  bool ok = hsc__scan_char(&scan, '{');
  while (ok && !hsc__scan_char(&scan, '}')) {
    hsc__mlir_attr *alias = HSC_NEW(f->x->arena, hsc__mlir_attr);
    const hsc__mlir_attr *parts[3];
    if (!alias)
      return hsc_status_out_of_memory();
    ok = count < (int)HSC_COUNT_OF(list) &&
         hsc__scan_ints(&scan, '{', '}', values, HSC_MAX_RANK, &n);
    if (!ok)
      break;
    parts[0] = hsc__export_dims(f->x, (hsc_dims){n, values});
    ok = hsc__scan_char(&scan, ':') && hsc__scan_char(&scan, '(') &&
         hsc__scan_int(&scan, &operand) && hsc__scan_char(&scan, ',') &&
         hsc__scan_ints(&scan, '{', '}', values, HSC_MAX_RANK, &n) && hsc__scan_char(&scan, ')');
    if (!ok)
      break;
    parts[1] = hsc__export_int(f->x, HSC_TYPE_S64, operand);
    parts[2] = hsc__export_dims(f->x, (hsc_dims){n, values});
    *alias = *hsc__export_array(f->x, 3, parts);
    alias->kind = HSC_MLIR_ALIAS;
    list[count++] = alias;
    hsc__scan_char(&scan, ',');
  }
  if (!ok)
    return REFUSE(f, "custom-call: its output_to_operand_aliasing is not understood: %s", text);
  put(f, "output_operand_aliases", hsc__export_array(f->x, count, list));
  return NULL;
}

// Typed calls take a dictionary, others a string.
static hsc_status *put_config(frame *f, const char *text) {
  const hsc__mlir_attr *dict = NULL;
  if (f->instr->attr.custom.api_version == 4 && text[0] == '{') {
    hsc_status *status = hsc__mlir_text_read_attr(hsc_view_of(text), f->x->arena, &dict);
    if (status || dict->kind != HSC_MLIR_DICT)
      dict = NULL;
    hsc_status_free(status);
    if (!dict)
      return REFUSE(f,
                    "custom-call %s: its configuration is no dictionary in MLIR's spelling, which "
                    "typed calls need",
                    f->instr->attr.custom.target);
  }
  put(f, "backend_config", dict ? dict : hsc__export_text(f->x, hsc_view_of(text)));
  return NULL;
}

static hsc_status *export_custom_call(frame *f) {
  const hsc_attr *a = &f->instr->attr;
  if (a->custom.literal)
    return REFUSE(f, "custom-call %s: a literal has no form in StableHLO", a->custom.target);
  put(f, "call_target_name",
      hsc__export_text(f->x, hsc_view_of(a->custom.target ? a->custom.target : "")));
  put_true(f, "has_side_effect", a->custom.has_side_effect);
  if (a->custom.opaque && *a->custom.opaque)
    HSC_TRY(put_config(f, a->custom.opaque));
  if (a->custom.api_version > 1)
    put(f, "api_version", hsc__export_enum(f->x, "custom_call_api_version", a->custom.api_version));
  if (f->instr->called_count) {
    const hsc__mlir_attr **called =
        HSC_NEW_ARRAY(f->x->arena, const hsc__mlir_attr *, f->instr->called_count);
    HSC_TRY(hsc_arena_status(f->x->arena));
    for (int i = 0; i < f->instr->called_count; i++) {
      const char *symbol;
      HSC_TRY(hsc__export_function(f->x, f->instr->called[i], &symbol));
      called[i] = hsc__export_symbol(f->x, symbol);
    }
    put(f, "called_computations", hsc__export_array(f->x, f->instr->called_count, called));
  }
  if (a->custom.operand_layouts)
    HSC_TRY(put_layouts(f));
  if (a->custom.aliasing)
    HSC_TRY(put_aliases(f, a->custom.aliasing));
  return emit(f);
}

// ---- bitcasts -----------------------------------------------------------------------------------

static hsc_status *step(frame *f,
                        const char *name,
                        const char *attr,
                        hsc_dims dims,
                        hsc_shape shape,
                        hsc__mlir_value **value) {
  frame made = {.x = f->x, .instr = f->instr, .name = name, .operand_count = 1};
  made.operands = hsc_arena_copy(f->x->arena, value, sizeof *value);
  HSC_TRY(hsc_arena_status(f->x->arena));
  if (attr)
    put_dims(&made, attr, dims);
  return hsc__export_emit_value(&made, &shape, value);
}

// The bytes in the order of the operand's layout are those of the result in the order of its own:
// transposed to memory order, reshaped, and back.
static hsc_status *export_bitcast(frame *f) {
  const hsc_shape *in = &f->instr->operands[0]->shape;
  const hsc_shape *out = &f->instr->shape;
  hsc_arena *arena = f->x->arena;
  hsc__mlir_value *value = f->operands[0];
  int64_t permutation[HSC_MAX_RANK], dims[HSC_MAX_RANK];
  if (!hsc_shape_is_array(in) || !hsc_shape_is_array(out))
    return REFUSE(f, "bitcast: of something that is no array");
  if (!hsc_layout_is_default(in)) {
    for (int i = 0; i < in->rank; i++) {
      permutation[i] = in->layout->minor_to_major[in->rank - 1 - i];
      dims[i] = in->dims[permutation[i]];
    }
    HSC_TRY(step(f, "stablehlo.transpose", "permutation", (hsc_dims){in->rank, permutation},
                 hsc_shape_array(arena, in->type, in->rank, dims), &value));
  }
  int from = hsc_type_bits(in->type);
  int to = hsc_type_bits(out->type);
  if (in->type != out->type) {
    if (from < 8 || to < 8 || hsc_type_is_complex(in->type) || hsc_type_is_complex(out->type) ||
        in->type == HSC_TYPE_PRED || out->type == HSC_TYPE_PRED)
      return REFUSE(f, "bitcast: from %s to %s has no form in StableHLO", hsc_type_text(in->type),
                    hsc_type_text(out->type));
    int64_t count = hsc_shape_elements(in);
    int64_t pair[2] = {count, 1};
    int64_t flat;
    int rank = 1;
    if (from < to) {
      pair[0] = count * from / to;
      pair[1] = to / from;
      rank = 2;
    }
    HSC_TRY(step(f, "stablehlo.reshape", NULL, (hsc_dims){0},
                 hsc_shape_array(arena, in->type, rank, pair), &value));
    if (from < to)
      rank = 1;
    else if (from > to) {
      pair[1] = from / to;
      rank = 2;
    }
    HSC_TRY(step(f, "stablehlo.bitcast_convert", NULL, (hsc_dims){0},
                 hsc_shape_array(arena, out->type, rank, pair), &value));
    flat = hsc_shape_elements(out);
    (void)flat;
  }
  bool reorder = !hsc_layout_is_default(out);
  for (int i = 0; i < out->rank; i++)
    dims[i] = reorder ? out->dims[out->layout->minor_to_major[out->rank - 1 - i]] : out->dims[i];
  HSC_TRY(step(f, "stablehlo.reshape", NULL, (hsc_dims){0},
               hsc_shape_array(arena, out->type, out->rank, dims), &value));
  if (reorder) {
    for (int i = 0; i < out->rank; i++)
      permutation[out->layout->minor_to_major[out->rank - 1 - i]] = i;
    HSC_TRY(step(f, "stablehlo.transpose", "permutation", (hsc_dims){out->rank, permutation}, *out,
                 &value));
  }
  hsc__export_node *node = HSC_NEW(arena, hsc__export_node);
  HSC_TRY(hsc_arena_status(arena));
  node->value = value;
  f->x->nodes[f->instr->id] = node;
  return NULL;
}

// ---- the table ----------------------------------------------------------------------------------

static hsc_status *export_none(frame *f) {
  return REFUSE(f, "%s: there is no such operation in StableHLO", hsc_op_text(f->instr->op));
}

static const struct {
  hsc_op op;
  const char *name;
  hsc_status *(*export)(frame *f);
} rows[] = {
#define SHLO(name, hlo, import, export, check, form, properties) \
  {HSC_OP_##hlo, "stablehlo." name, export_##export},
#include "formats/mlir/stablehlo_ops.def"
    {HSC_OP_ALL_GATHER_START, "stablehlo.all_gather", export_collective},
    {HSC_OP_ALL_REDUCE_START, "stablehlo.all_reduce", export_collective},
    {HSC_OP_COLLECTIVE_PERMUTE_START, "stablehlo.collective_permute", export_collective},
    {HSC_OP_BITCAST, "stablehlo.reshape", export_bitcast},
};

hsc_status *hsc__export_plain(hsc__exporter *x, const hsc_instr *instr, bool *out_done) {
  frame f = {.x = x, .instr = instr};
  hsc_status *(*export)(frame *) = NULL;
  *out_done = true;
  for (size_t i = 0; i < HSC_COUNT_OF(rows) && !export; i++) {
    if (rows[i].op != instr->op || rows[i].export == export_none)
      continue;
    f.name = rows[i].name;
    export = rows[i].export;
  }
  if (!export && mhlo_name(instr->op))
    export = export_mhlo;
  if (!export) {
    *out_done = false;
    return NULL;
  }
  f.operands = HSC_NEW_ARRAY(x->arena, hsc__mlir_value *, instr->operand_count + 1);
  HSC_TRY(hsc_arena_status(x->arena));
  for (int i = 0; i < instr->operand_count; i++)
    HSC_TRY(hsc__export_value(x, x->nodes[instr->operands[i]->id], &instr->operands[i]->shape,
                              &f.operands[i]));
  f.operand_count = instr->operand_count;
  HSC_TRY(hsc__export_discardable(&f, instr));
  for (int i = 0; i < instr->shape.rank; i++)
    if (instr->shape.dynamic && instr->shape.dynamic[i])
      return HSC_EXPORT_ERR(x, instr, "%s: not built yet: dynamic shapes", hsc_op_text(instr->op));
  return export(&f);
}
