// jax_script.c - a program as a Python script for JAX alone: one function a computation, a line of
// jax.lax an instruction.
//
// How to read: put_expression finds what writes an instruction; operations with arguments of their
// own (windows, products, gathers, sorts) have a put_* function each. What JAX has no counterpart
// for is said by name, and no script is made.
#include <math.h>

#include "base/text/text.h"
#include "lab/reduce/reduction_files.h"

static const char *const FUNCTIONS[HSC_OP_COUNT] = {
#define JAX_OP(op, function) [HSC_OP_##op] = function,
#include "lab/reduce/jax_ops.def"
#undef JAX_OP
};

// ---- words of Python ----------------------------------------------------------------------------

static const char *dtype_of(hsc_type type) {
  switch (type) {
    case HSC_TYPE_PRED:
      return "bool_";
    case HSC_TYPE_S8:
      return "int8";
    case HSC_TYPE_S16:
      return "int16";
    case HSC_TYPE_S32:
      return "int32";
    case HSC_TYPE_S64:
      return "int64";
    case HSC_TYPE_U8:
      return "uint8";
    case HSC_TYPE_U16:
      return "uint16";
    case HSC_TYPE_U32:
      return "uint32";
    case HSC_TYPE_U64:
      return "uint64";
    case HSC_TYPE_F16:
      return "float16";
    case HSC_TYPE_BF16:
      return "bfloat16";
    case HSC_TYPE_F32:
      return "float32";
    case HSC_TYPE_F64:
      return "float64";
    case HSC_TYPE_C64:
      return "complex64";
    case HSC_TYPE_C128:
      return "complex128";
    default:
      return NULL;
  }
}

static hsc_status *no_counterpart(const hsc_instr *instr, const char *what) {
  return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: %s in a JAX script (%%%s)",
                 hsc_op_text(instr->op), what, instr->name);
}

static void put_name(const hsc_instr *instr, hsc_bytes *out) {
  if (instr->op == HSC_OP_PARAMETER) {
    hsc_bytes_printf(out, "p%lld", (long long)instr->attr.index.value);
    return;
  }
  for (const char *c = hsc_op_text(instr->op); *c; c++)
    hsc_bytes_append_char(out, *c == '-' ? '_' : *c);
  hsc_bytes_printf(out, "_%u", instr->id);
}

// "(1, 2,)": a tuple whatever the count.
static void put_ints(int count, const int64_t *v, hsc_bytes *out) {
  hsc_bytes_append_char(out, '(');
  for (int i = 0; i < count; i++)
    hsc_bytes_printf(out, "%s%lld", i ? ", " : "", (long long)v[i]);
  hsc_bytes_append_text(out, count == 1 ? ",)" : ")");
}

static void put_operands(const hsc_instr *instr, int first, hsc_bytes *out) {
  for (int i = first; i < instr->operand_count; i++) {
    if (i > first)
      hsc_bytes_append_text(out, ", ");
    put_name(instr->operands[i], out);
  }
}

static void put_number(const hsc_literal *literal, int64_t i, hsc_bytes *out) {
  hsc_type type = literal->shape.type;
  if (type == HSC_TYPE_PRED) {
    hsc_bytes_append_text(out, hsc_literal_get_int(literal, i) ? "True" : "False");
  } else if (hsc_type_is_integral(type)) {
    long long value = (long long)hsc_literal_get_int(literal, i);
    if (type == HSC_TYPE_U64)
      hsc_bytes_printf(out, "%llu", (unsigned long long)value);
    else
      hsc_bytes_printf(out, "%lld", value);
  } else if (hsc_type_is_complex(type)) {
    hsc_bytes_printf(out, "complex(%.17g, %.17g)", hsc_literal_get_double(literal, i),
                     hsc_literal_get_imag(literal, i));
  } else {
    double value = hsc_literal_get_double(literal, i);
    if (isnan(value))
      hsc_bytes_append_text(out, "np.nan");
    else if (isinf(value))
      hsc_bytes_append_text(out, value < 0 ? "-np.inf" : "np.inf");
    else
      hsc_bytes_printf(out, "%.*g", type == HSC_TYPE_F64 ? 17 : 9, value);
  }
}

enum { MOST_LISTED = 256 };

static void put_base64(const unsigned char *data, size_t size, hsc_bytes *out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned word = (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                    (left > 2 ? data[i + 2] : 0);
    hsc_bytes_append_char(out, digits[word >> 18 & 63]);
    hsc_bytes_append_char(out, digits[word >> 12 & 63]);
    hsc_bytes_append_char(out, left > 1 ? digits[word >> 6 & 63] : '=');
    hsc_bytes_append_char(out, left > 2 ? digits[word & 63] : '=');
  }
}

// A numpy array: one number for all elements, a list, or the bytes.
static hsc_status *put_array(const hsc_literal *literal, hsc_bytes *out) {
  const char *dtype = dtype_of(literal->shape.type);
  int64_t count = hsc_shape_elements(&literal->shape);
  if (!dtype || literal->elided)
    return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: values of this type in a JAX script",
                   hsc_type_text(literal->shape.type));
  bool same = count > 0;
  size_t width = hsc_type_bytes(literal->shape.type);
  for (int64_t i = 1; i < count && same; i++)
    same = !memcmp(literal->data, (const char *)literal->data + (size_t)i * width, width);
  if (same && count > 1) {
    hsc_bytes_append_text(out, "np.full(");
    put_ints(literal->shape.rank, literal->shape.dims, out);
    hsc_bytes_append_text(out, ", ");
    put_number(literal, 0, out);
    hsc_bytes_printf(out, ", jnp.%s)", dtype);
  } else if (count <= MOST_LISTED) {
    hsc_bytes_append_text(out, "np.array([");
    for (int64_t i = 0; i < count; i++) {
      if (i)
        hsc_bytes_append_text(out, ", ");
      put_number(literal, i, out);
    }
    hsc_bytes_printf(out, "], jnp.%s).reshape(", dtype);
    put_ints(literal->shape.rank, literal->shape.dims, out);
    hsc_bytes_append_char(out, ')');
  } else {
    hsc_bytes_append_text(out, "np.frombuffer(base64.b64decode(\"");
    put_base64(literal->data, (size_t)hsc_shape_bytes(&literal->shape), out);
    hsc_bytes_printf(out, "\"), jnp.%s).reshape(", dtype);
    put_ints(literal->shape.rank, literal->shape.dims, out);
    hsc_bytes_append_char(out, ')');
  }
  return hsc_bytes_status(out);
}

static void put_function(const hsc_computation *computation, hsc_bytes *out) {
  hsc_bytes_printf(out, "f%u", computation->id);
}

// ---- operations ---------------------------------------------------------------------------------

static void put_window(const hsc_window *w, hsc_bytes *out) {
  int64_t strides[HSC_MAX_RANK];
  int64_t base[HSC_MAX_RANK];
  int64_t window[HSC_MAX_RANK];
  for (int d = 0; d < w->rank; d++) {
    strides[d] = w->dims[d].stride;
    base[d] = w->dims[d].base_dilation;
    window[d] = w->dims[d].window_dilation;
  }
  put_ints(w->rank, strides, out);
  hsc_bytes_append_text(out, ", [");
  for (int d = 0; d < w->rank; d++)
    hsc_bytes_printf(out, "%s(%lld, %lld)", d ? ", " : "", (long long)w->dims[d].pad_low,
                     (long long)w->dims[d].pad_high);
  hsc_bytes_append_text(out, "], ");
  put_ints(w->rank, base, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(w->rank, window, out);
}

static void put_spec(int64_t a, int64_t b, int rank, const int64_t *spatial, hsc_bytes *out) {
  hsc_bytes_printf(out, "(%lld, %lld", (long long)a, (long long)b);
  for (int d = 0; d < rank; d++)
    hsc_bytes_printf(out, ", %lld", (long long)spatial[d]);
  hsc_bytes_append_char(out, ')');
}

static hsc_status *put_convolution(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_conv_dims *d = &instr->attr.conv.dims;
  for (int i = 0; i < instr->attr.conv.window.rank; i++)
    if (instr->attr.conv.window.dims[i].reversal)
      return no_counterpart(instr, "a reversed window");
  hsc_bytes_append_text(out, "lax.conv_general_dilated(");
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_window(&instr->attr.conv.window, out);
  hsc_bytes_append_text(out, ", lax.ConvDimensionNumbers(");
  put_spec(d->input_batch, d->input_feature, d->spatial_rank, d->input_spatial, out);
  hsc_bytes_append_text(out, ", ");
  put_spec(d->kernel_output, d->kernel_input, d->spatial_rank, d->kernel_spatial, out);
  hsc_bytes_append_text(out, ", ");
  put_spec(d->output_batch, d->output_feature, d->spatial_rank, d->output_spatial, out);
  hsc_bytes_printf(
      out, "), feature_group_count=%lld, batch_group_count=%lld, preferred_element_type=jnp.%s)",
      (long long)instr->attr.conv.feature_groups, (long long)instr->attr.conv.batch_groups,
      dtype_of(instr->shape.type));
  return NULL;
}

static hsc_status *put_dot(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_dot_dims *d = &instr->attr.dot;
  hsc_bytes_append_text(out, "lax.dot_general(");
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ((");
  put_ints(d->lhs_contracting.count, d->lhs_contracting.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(d->rhs_contracting.count, d->rhs_contracting.v, out);
  hsc_bytes_append_text(out, "), (");
  put_ints(d->lhs_batch.count, d->lhs_batch.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(d->rhs_batch.count, d->rhs_batch.v, out);
  hsc_bytes_printf(out, ")), preferred_element_type=jnp.%s)", dtype_of(instr->shape.type));
  return NULL;
}

static void put_gather_dims(const hsc_gather_dims *g, bool scatter, hsc_bytes *out) {
  hsc_bytes_printf(out, "lax.%s(", scatter ? "ScatterDimensionNumbers" : "GatherDimensionNumbers");
  put_ints(g->offset_dims.count, g->offset_dims.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(g->collapsed_slice_dims.count, g->collapsed_slice_dims.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(g->start_index_map.count, g->start_index_map.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(g->operand_batching_dims.count, g->operand_batching_dims.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(g->start_indices_batching_dims.count, g->start_indices_batching_dims.v, out);
  hsc_bytes_append_char(out, ')');
}

static hsc_status *put_gather(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_gather_dims *g = &instr->attr.gather;
  if (g->index_vector_dim != instr->operands[1]->shape.rank - 1)
    return no_counterpart(instr, "an index vector that is not the last dimension");
  hsc_bytes_append_text(out, "lax.gather(");
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_gather_dims(g, false, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(g->slice_sizes.count, g->slice_sizes.v, out);
  hsc_bytes_printf(out, ", mode=\"clip\", indices_are_sorted=%s)",
                   g->indices_are_sorted ? "True" : "False");
  return NULL;
}

static hsc_status *put_scatter(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_gather_dims *g = &instr->attr.scatter;
  const hsc_instr *root = instr->called[0]->root;
  const char *function = NULL;
  if (root->op == HSC_OP_PARAMETER && root->attr.index.value == 1)
    function = "scatter";
  if (root->op == HSC_OP_ADD)
    function = "scatter_add";
  if (root->op == HSC_OP_MULTIPLY)
    function = "scatter_mul";
  if (root->op == HSC_OP_MINIMUM)
    function = "scatter_min";
  if (root->op == HSC_OP_MAXIMUM)
    function = "scatter_max";
  if (!function || instr->operand_count != 3 || instr->called[0]->instr_count > 3 ||
      g->index_vector_dim != instr->operands[1]->shape.rank - 1)
    return no_counterpart(instr, "this scatter");
  hsc_bytes_printf(out, "lax.%s(", function);
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_gather_dims(g, true, out);
  hsc_bytes_printf(out, ", indices_are_sorted=%s, unique_indices=%s, mode=\"drop\")",
                   g->indices_are_sorted ? "True" : "False", g->unique ? "True" : "False");
  return NULL;
}

static hsc_status *put_sort(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_instr *root = instr->called[0]->root;
  bool ascending =
      root->op == HSC_OP_COMPARE && root->attr.compare.direction == HSC_LT &&
      root->operands[0]->op == HSC_OP_PARAMETER && root->operands[1]->op == HSC_OP_PARAMETER &&
      root->operands[0]->attr.index.value == 0 && root->operands[1]->attr.index.value == 1;
  if (!ascending)
    return no_counterpart(instr, "a comparator other than less than of the first operand");
  hsc_bytes_append_text(out, "lax.sort(");
  if (instr->operand_count > 1)
    hsc_bytes_append_char(out, '(');
  put_operands(instr, 0, out);
  hsc_bytes_printf(out, "%s, dimension=%lld, is_stable=%s, num_keys=1)",
                   instr->operand_count > 1 ? ")" : "", (long long)instr->attr.dims.dims.v[0],
                   instr->attr.dims.is_stable ? "True" : "False");
  return NULL;
}

static void put_reduce(const hsc_instr *instr, hsc_bytes *out) {
  int n = instr->operand_count / 2;
  hsc_bytes_append_text(out, "lax.reduce(");
  for (int half = 0; half < 2; half++) {
    if (n > 1)
      hsc_bytes_append_char(out, '(');
    for (int i = 0; i < n; i++) {
      if (i)
        hsc_bytes_append_text(out, ", ");
      put_name(instr->operands[half * n + i], out);
    }
    hsc_bytes_append_text(out, n > 1 ? "), " : ", ");
  }
  if (n > 1) {  // JAX gives both halves as tuples
    hsc_bytes_append_text(out, "lambda a, b: ");
    put_function(instr->called[0], out);
    hsc_bytes_append_text(out, "(*a, *b)");
  } else {
    put_function(instr->called[0], out);
  }
  hsc_bytes_append_text(out, ", ");
  put_ints(instr->attr.dims.dims.count, instr->attr.dims.dims.v, out);
  hsc_bytes_append_char(out, ')');
}

static hsc_status *put_reduce_window(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_window *w = &instr->attr.window.window;
  int64_t sizes[HSC_MAX_RANK];
  if (instr->operand_count != 2)
    return no_counterpart(instr, "several operands");
  for (int d = 0; d < w->rank; d++)
    sizes[d] = w->dims[d].size;
  hsc_bytes_append_text(out, "lax.reduce_window(");
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_function(instr->called[0], out);
  hsc_bytes_append_text(out, ", ");
  put_ints(w->rank, sizes, out);
  hsc_bytes_append_text(out, ", ");
  put_window(w, out);
  hsc_bytes_append_char(out, ')');
  return NULL;
}

static void put_conditional(const hsc_instr *instr, hsc_bytes *out) {
  bool pred = instr->operands[0]->shape.type == HSC_TYPE_PRED;
  hsc_bytes_append_text(out, pred ? "lax.cond(" : "lax.switch(");
  put_name(instr->operands[0], out);
  hsc_bytes_append_text(out, pred ? ", " : ", [");
  for (int i = 0; i < instr->called_count; i++) {
    hsc_bytes_printf(out, "%slambda *a: ", i ? ", " : "");
    put_function(instr->called[i], out);
    hsc_bytes_printf(out, "(a[%d])", i);
  }
  hsc_bytes_append_text(out, pred ? ", " : "], ");
  put_operands(instr, 1, out);
  hsc_bytes_append_char(out, ')');
}

static hsc_status *put_slice(const hsc_instr *instr, hsc_bytes *out) {
  hsc_bytes_append_text(out, "lax.slice(");
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(instr->attr.slice.start.count, instr->attr.slice.start.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(instr->attr.slice.limit.count, instr->attr.slice.limit.v, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(instr->attr.slice.stride.count, instr->attr.slice.stride.v, out);
  hsc_bytes_append_char(out, ')');
  return NULL;
}

// "function(operands, (dims))" with the dimensions of the attribute or of the result.
static void put_with_dims(
    const char *function, const hsc_instr *instr, int count, const int64_t *dims, hsc_bytes *out) {
  hsc_bytes_printf(out, "%s(", function);
  put_operands(instr, 0, out);
  hsc_bytes_append_text(out, ", ");
  put_ints(count, dims, out);
  hsc_bytes_append_char(out, ')');
}

static hsc_status *put_moving(const hsc_instr *instr, hsc_bytes *out) {
  const hsc_shape *shape = &instr->shape;
  switch (instr->op) {
    case HSC_OP_BROADCAST:
      hsc_bytes_append_text(out, "lax.broadcast_in_dim(");
      put_operands(instr, 0, out);
      hsc_bytes_append_text(out, ", ");
      put_ints(shape->rank, shape->dims, out);
      hsc_bytes_append_text(out, ", ");
      put_ints(instr->attr.dims.dims.count, instr->attr.dims.dims.v, out);
      hsc_bytes_append_char(out, ')');
      return NULL;
    case HSC_OP_BITCAST:
    case HSC_OP_RESHAPE:
      put_with_dims("lax.reshape", instr, shape->rank, shape->dims, out);
      return NULL;
    case HSC_OP_TRANSPOSE:
      put_with_dims("lax.transpose", instr, instr->attr.dims.dims.count, instr->attr.dims.dims.v,
                    out);
      return NULL;
    case HSC_OP_REVERSE:
      put_with_dims("lax.rev", instr, instr->attr.dims.dims.count, instr->attr.dims.dims.v, out);
      return NULL;
    case HSC_OP_SLICE:
      return put_slice(instr, out);
    case HSC_OP_DYNAMIC_SLICE:
      hsc_bytes_append_text(out, "lax.dynamic_slice(");
      put_name(instr->operands[0], out);
      hsc_bytes_append_text(out, ", [");
      put_operands(instr, 1, out);
      hsc_bytes_append_text(out, "], ");
      put_ints(instr->attr.slice_sizes.sizes.count, instr->attr.slice_sizes.sizes.v, out);
      hsc_bytes_append_char(out, ')');
      return NULL;
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      hsc_bytes_append_text(out, "lax.dynamic_update_slice(");
      put_name(instr->operands[0], out);
      hsc_bytes_append_text(out, ", ");
      put_name(instr->operands[1], out);
      hsc_bytes_append_text(out, ", [");
      put_operands(instr, 2, out);
      hsc_bytes_append_text(out, "])");
      return NULL;
    case HSC_OP_CONCATENATE:
      hsc_bytes_append_text(out, "lax.concatenate([");
      put_operands(instr, 0, out);
      hsc_bytes_printf(out, "], %lld)", (long long)instr->attr.dims.dims.v[0]);
      return NULL;
    case HSC_OP_PAD:
      hsc_bytes_append_text(out, "lax.pad(");
      put_operands(instr, 0, out);
      hsc_bytes_append_text(out, ", [");
      for (int d = 0; d < instr->attr.pad.rank; d++)
        hsc_bytes_printf(
            out, "%s(%lld, %lld, %lld)", d ? ", " : "", (long long)instr->attr.pad.dims[d].low,
            (long long)instr->attr.pad.dims[d].high, (long long)instr->attr.pad.dims[d].interior);
      hsc_bytes_append_text(out, "])");
      return NULL;
    default:
      return no_counterpart(instr, "this operation");
  }
}

static void put_rounding(const hsc_instr *instr, const char *how, hsc_bytes *out) {
  hsc_bytes_append_text(out, "lax.round(");
  put_operands(instr, 0, out);
  hsc_bytes_printf(out, ", lax.RoundingMethod.%s)", how);
}

static hsc_status *put_call(const hsc_instr *instr, hsc_bytes *out) {
  switch (instr->op) {
    case HSC_OP_CALL:
    case HSC_OP_FUSION:
      put_function(instr->called[0], out);
      hsc_bytes_append_char(out, '(');
      put_operands(instr, 0, out);
      hsc_bytes_append_char(out, ')');
      return NULL;
    case HSC_OP_WHILE:
      hsc_bytes_append_text(out, "lax.while_loop(");
      put_function(instr->called[0], out);
      hsc_bytes_append_text(out, ", ");
      put_function(instr->called[1], out);
      hsc_bytes_append_text(out, ", ");
      put_operands(instr, 0, out);
      hsc_bytes_append_char(out, ')');
      return NULL;
    case HSC_OP_CONDITIONAL:
      put_conditional(instr, out);
      return NULL;
    case HSC_OP_REDUCE:
      put_reduce(instr, out);
      return NULL;
    case HSC_OP_REDUCE_WINDOW:
      return put_reduce_window(instr, out);
    case HSC_OP_SORT:
      return put_sort(instr, out);
    case HSC_OP_SCATTER:
      return put_scatter(instr, out);
    default:
      return no_counterpart(instr, "this operation");
  }
}

static hsc_status *put_expression(const hsc_instr *instr, hsc_bytes *out) {
  static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  const char *dtype = dtype_of(instr->shape.type);
  if (hsc_shape_is_array(&instr->shape) && !dtype)
    return no_counterpart(instr, "its element type");
  if (FUNCTIONS[instr->op]) {
    hsc_bytes_printf(out, "%s(", FUNCTIONS[instr->op]);
    put_operands(instr, 0, out);
    hsc_bytes_append_char(out, ')');
    return NULL;
  }
  switch (instr->op) {
    case HSC_OP_CONSTANT:
      return put_array(instr->attr.literal.value, out);
    case HSC_OP_COPY:
      put_operands(instr, 0, out);
      return NULL;
    case HSC_OP_TUPLE:
      hsc_bytes_append_char(out, '(');
      put_operands(instr, 0, out);
      hsc_bytes_append_text(out, instr->operand_count == 1 ? ",)" : ")");
      return NULL;
    case HSC_OP_GET_TUPLE_ELEMENT:
      put_operands(instr, 0, out);
      hsc_bytes_printf(out, "[%lld]", (long long)instr->attr.index.value);
      return NULL;
    case HSC_OP_COMPARE:
      hsc_bytes_printf(out, "lax.%s(", comparisons[instr->attr.compare.direction]);
      put_operands(instr, 0, out);
      hsc_bytes_append_char(out, ')');
      return NULL;
    case HSC_OP_CONVERT:
      hsc_bytes_append_text(out, "lax.convert_element_type(");
      put_operands(instr, 0, out);
      hsc_bytes_printf(out, ", jnp.%s)", dtype);
      return NULL;
    case HSC_OP_BITCAST_CONVERT:
      hsc_bytes_append_text(out, "lax.bitcast_convert_type(");
      put_operands(instr, 0, out);
      hsc_bytes_printf(out, ", jnp.%s)", dtype);
      return NULL;
    case HSC_OP_REDUCE_PRECISION:
      hsc_bytes_append_text(out, "lax.reduce_precision(");
      put_operands(instr, 0, out);
      hsc_bytes_printf(out, ", %d, %d)", instr->attr.precision.exponent_bits,
                       instr->attr.precision.mantissa_bits);
      return NULL;
    case HSC_OP_IOTA:
      hsc_bytes_printf(out, "lax.broadcasted_iota(jnp.%s, ", dtype);
      put_ints(instr->shape.rank, instr->shape.dims, out);
      hsc_bytes_printf(out, ", %lld)", (long long)instr->attr.dims.dims.v[0]);
      return NULL;
    case HSC_OP_ROUND_EVEN:
      put_rounding(instr, "TO_NEAREST_EVEN", out);
      return NULL;
    case HSC_OP_ROUND_AFZ:
      put_rounding(instr, "AWAY_FROM_ZERO", out);
      return NULL;
    case HSC_OP_DOT:
      return put_dot(instr, out);
    case HSC_OP_CONVOLUTION:
      return put_convolution(instr, out);
    case HSC_OP_GATHER:
      return put_gather(instr, out);
    default:
      return hsc_op_traits(instr->op) & HSC_TRAIT_CALLS ? put_call(instr, out)
                                                        : put_moving(instr, out);
  }
}

// ---- the script ---------------------------------------------------------------------------------

static hsc_status *put_computation(const hsc_computation *computation,
                                   const char *name,
                                   hsc_bytes *out) {
  hsc_bytes_append_text(out, "\n\ndef ");
  if (name)
    hsc_bytes_append_text(out, name);
  else
    put_function(computation, out);
  hsc_bytes_append_char(out, '(');
  for (int p = 0; p < computation->parameter_count; p++)
    hsc_bytes_printf(out, "%sp%d", p ? ", " : "", p);
  hsc_bytes_append_text(out, "):\n");
  for (const hsc_instr *instr = computation->first; instr; instr = instr->next) {
    if (instr->op == HSC_OP_PARAMETER)
      continue;
    hsc_bytes_append_text(out, "    ");
    put_name(instr, out);
    hsc_bytes_append_text(out, " = ");
    HSC_TRY(put_expression(instr, out));
    hsc_bytes_append_char(out, '\n');
  }
  hsc_bytes_append_text(out, "    return ");
  put_name(computation->root, out);
  hsc_bytes_append_char(out, '\n');
  return hsc_bytes_status(out);
}

static double tolerance_of(hsc_type type) {
  switch (type) {
    case HSC_TYPE_F64:
    case HSC_TYPE_C128:
      return 8e-12;
    case HSC_TYPE_F32:
    case HSC_TYPE_C64:
      return 8e-5;
    case HSC_TYPE_F16:
      return 4e-2;
    case HSC_TYPE_BF16:
      return 0.25;
    default:
      return 0;
  }
}

static const char COMPARE[] =
    "\n"
    "for i, (got, want, tolerance) in enumerate(zip(outputs, expected, tolerances)):\n"
    "    a, b = np.asarray(got), np.asarray(want)\n"
    "    kind = np.complex128 if np.iscomplexobj(b) else np.float64\n"
    "    a, b = a.astype(kind), b.astype(kind)\n"
    "    scale = np.max(np.abs(b), initial=0, where=np.isfinite(b))\n"
    "    same = (a == b) | (np.isnan(a) & np.isnan(b))\n"
    "    if not np.all(same | (np.abs(a - b) <= tolerance * scale)):\n"
    "        print(f\"wrong: output {i} is\\n{got}\\nand must be\\n{want}\\n\"\n"
    "              f\"wrong: output {i} differs by up to {np.nanmax(np.abs(a - b))}\", "
    "file=sys.stderr)\n"
    "        sys.exit(1)\n"
    "print(\"as expected\", file=sys.stderr)\n";

hsc_status *hsc_jax_script(const hsc_module *module,
                           hsc_literal *const *inputs,
                           hsc_literal *const *expected,
                           int expected_count,
                           const char *about,
                           hsc_bytes *out_text) {
  hsc_bytes_printf(out_text, "# %.*s\nimport base64\nimport sys\n\n", (int)strcspn(about, "\n"),
                   about);
  hsc_bytes_append_text(out_text,
                        "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import "
                        "lax\n\njax.config.update(\"jax_enable_x64\", True)\n");
  for (int c = 0; c < module->computation_count; c++)
    HSC_TRY(put_computation(module->computations[c],
                            module->computations[c] == module->entry ? "program" : NULL, out_text));
  hsc_bytes_append_text(out_text, "\n\ninputs = [\n");
  for (int p = 0; p < module->entry->parameter_count; p++) {
    hsc_bytes_append_text(out_text, "    ");
    HSC_TRY(put_array(inputs[p], out_text));
    hsc_bytes_append_text(out_text, ",\n");
  }
  hsc_bytes_append_text(out_text,
                        "]\noutputs = jax.block_until_ready(jax.jit(program)(*inputs))\n");
  if (!hsc_shape_is_tuple(&module->entry->root->shape))
    hsc_bytes_append_text(out_text, "outputs = [outputs]\n");
  if (!expected)
    return hsc_bytes_status(out_text);
  hsc_bytes_append_text(out_text, "expected = [\n");
  for (int i = 0; i < expected_count; i++) {
    hsc_bytes_append_text(out_text, "    ");
    HSC_TRY(put_array(expected[i], out_text));
    hsc_bytes_append_text(out_text, ",\n");
  }
  hsc_bytes_append_text(out_text, "]\ntolerances = [");
  for (int i = 0; i < expected_count; i++)
    hsc_bytes_printf(out_text, "%s%g", i ? ", " : "", tolerance_of(expected[i]->shape.type));
  hsc_bytes_append_text(out_text, "]\n");
  hsc_bytes_append_text(out_text, COMPARE);
  return hsc_bytes_status(out_text);
}
