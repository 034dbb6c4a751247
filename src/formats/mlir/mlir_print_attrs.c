// mlir_print_attrs.c - types, attributes, tensors and locations as MLIR text.
#include <inttypes.h>
#include <math.h>

#include "formats/mlir/mlir_print_internal.h"

// ---- types --------------------------------------------------------------------------------------

static void put_element_type(hsc_bytes *out, hsc_type type) {
  if (hsc_type_is_complex(type))
    hsc_bytes_printf(out, "complex<%s>", hsc__mlir_element_text(hsc_type_real_part(type)));
  else
    hsc_bytes_append_text(out,
                          hsc__mlir_element_text(type) ? hsc__mlir_element_text(type) : "none");
}

static void put_types(hsc_bytes *out, const hsc__mlir_type *type, int from, int to) {
  for (int i = from; i < to; i++) {
    if (i > from)
      hsc_bytes_append(out, ", ", 2);
    hsc__mlir_print_type(out, type->elements[i]);
  }
}

void hsc__mlir_print_type(hsc_bytes *out, const hsc__mlir_type *type) {
  switch (type->kind) {
    case HSC_MLIR_ELEMENT:
      put_element_type(out, type->shape.type);
      break;
    case HSC_MLIR_TENSOR:
      hsc_bytes_append_text(out, "tensor<");
      for (int i = 0; i < type->shape.rank; i++)
        hsc_bytes_printf(out, "%" PRId64 "x", type->shape.dims[i]);
      if (type->text)
        hsc_bytes_append_text(out, type->text);
      else
        put_element_type(out, type->shape.type);
      hsc_bytes_append_char(out, '>');
      break;
    case HSC_MLIR_TUPLE:
      hsc_bytes_append_text(out, "tuple<");
      put_types(out, type, 0, type->element_count);
      hsc_bytes_append_char(out, '>');
      break;
    case HSC_MLIR_FUNCTION: {
      int results = type->element_count - type->input_count;
      hsc_bytes_append_char(out, '(');
      put_types(out, type, 0, type->input_count);
      hsc_bytes_append_text(out, results == 1 ? ") -> " : ") -> (");
      put_types(out, type, type->input_count, type->element_count);
      if (results != 1)
        hsc_bytes_append_char(out, ')');
      break;
    }
    case HSC_MLIR_TOKEN:
      hsc_bytes_append_text(out, "!stablehlo.token");
      break;
    case HSC_MLIR_INDEX:
      hsc_bytes_append_text(out, "index");
      break;
    case HSC_MLIR_NONE:
      hsc_bytes_append_text(out, "none");
      break;
    default:
      hsc_bytes_append_text(out, type->text ? type->text : "none");
  }
}

// ---- numbers ------------------------------------------------------------------------------------

static uint64_t load(const char *data, size_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, data, bytes);
  return bits;
}

// As MLIR prints floats: six digits when they say it all, else as many as it takes; what is no
// number, by its bits.
static void put_float(hsc_bytes *out, hsc_type type, uint64_t bits) {
  double value = hsc_float_decode(type, bits);
  if (!isfinite(value) || hsc_float_encode(type, value) != bits) {
    hsc_bytes_printf(out, "0x%0*" PRIX64, (int)hsc_type_bytes(type) * 2, bits);
    return;
  }
  char text[64];
  double again = 0;
  snprintf(text, sizeof text, "%.6e", value);
  hsc__parse_double(text, &again);
  if (hsc_float_encode(type, again) != bits) {
    snprintf(text, sizeof text, "%.*e", type == HSC_TYPE_F64 ? 16 : 9, value);
  }
  hsc_bytes_append_text(out, text);
}

int64_t hsc__mlir_dense_int(const hsc__mlir_attr *attr, int64_t index) {
  hsc_type type = attr->type->shape.type;
  size_t one = hsc_type_bytes(type);
  uint64_t bits = load(attr->data.data + (size_t)index * one, one);
  if (hsc_type_class_of(type) != HSC_CLASS_SIGNED || one >= 8)
    return (int64_t)bits;
  return (int64_t)(bits << (64 - 8 * one)) >> (64 - 8 * one);
}

static void put_number(hsc_bytes *out, hsc_type type, const char *data) {
  size_t one = hsc_type_bytes(type);
  if (hsc_type_is_complex(type)) {
    hsc_type part = hsc_type_real_part(type);
    hsc_bytes_append_char(out, '(');
    put_number(out, part, data);
    hsc_bytes_append_char(out, ',');
    put_number(out, part, data + one / 2);
    hsc_bytes_append_char(out, ')');
  } else if (hsc_type_is_float(type)) {
    put_float(out, type, load(data, one));
  } else if (type == HSC_TYPE_PRED) {
    hsc_bytes_append_text(out, *data ? "true" : "false");
  } else if (hsc_type_class_of(type) == HSC_CLASS_SIGNED) {
    uint64_t bits = load(data, one);
    hsc_bytes_printf(
        out, "%" PRId64,
        one >= 8 ? (int64_t)bits : (int64_t)(bits << (64 - 8 * one)) >> (64 - 8 * one));
  } else {
    hsc_bytes_printf(out, "%" PRIu64, load(data, one));
  }
}

// ---- tensors ------------------------------------------------------------------------------------

enum { MAX_LISTED = 64 };  // tensors with more elements are written as bytes

static void put_nested(hsc_bytes *out, const hsc_shape *shape, int dimension, const char **data) {
  if (dimension == shape->rank) {
    put_number(out, shape->type, *data);
    *data += hsc_type_bytes(shape->type);
    return;
  }
  hsc_bytes_append_char(out, '[');
  for (int64_t i = 0; i < shape->dims[dimension]; i++) {
    if (i)
      hsc_bytes_append(out, ", ", 2);
    put_nested(out, shape, dimension + 1, data);
  }
  hsc_bytes_append_char(out, ']');
}

static void put_dense(hsc_bytes *out, const hsc__mlir_attr *attr) {
  static const char digits[] = "0123456789ABCDEF";
  const hsc_shape *shape = &attr->type->shape;
  int64_t count = hsc_shape_elements(shape);
  size_t one = hsc_type_bytes(shape->type);
  const char *data = attr->data.data;
  bool splat = count > 1;
  for (int64_t i = 1; i < count && splat; i++)
    splat = memcmp(data, data + (size_t)i * one, one) == 0;
  hsc_bytes_append_text(out, "dense<");
  if (count == 0) {
    // nothing between the brackets
  } else if (splat) {
    put_number(out, shape->type, data);
  } else if (count > MAX_LISTED && shape->type != HSC_TYPE_PRED &&
             hsc_type_bits(shape->type) >= 8) {
    hsc_bytes_append_text(out, "\"0x");
    char *hex = hsc_bytes_extend(out, (size_t)count * one * 2);
    for (size_t i = 0; hex && i < (size_t)count * one; i++) {
      hex[2 * i] = digits[(unsigned char)data[i] >> 4];
      hex[2 * i + 1] = digits[(unsigned char)data[i] & 15];
    }
    hsc_bytes_append_char(out, '"');
  } else {
    put_nested(out, shape, 0, &data);
  }
  hsc_bytes_append_text(out, "> : ");
  hsc__mlir_print_type(out, attr->type);
}

void hsc__mlir_print_ints(hsc_bytes *out, const hsc__mlir_attr *attr) {
  hsc_bytes_append_char(out, '[');
  for (int64_t i = 0; i < hsc_shape_elements(&attr->type->shape); i++) {
    if (i)
      hsc_bytes_append(out, ", ", 2);
    put_number(out, attr->type->shape.type,
               attr->data.data + (size_t)i * hsc_type_bytes(attr->type->shape.type));
  }
  hsc_bytes_append_char(out, ']');
}

// ---- attributes ---------------------------------------------------------------------------------

static void put_string(hsc_bytes *out, hsc_view text) {
  hsc_bytes_append_char(out, '"');
  for (size_t i = 0; i < text.size; i++) {
    unsigned char c = (unsigned char)text.data[i];
    if (c == '"' || c == '\\' || c < 32 || c > 126)
      hsc_bytes_printf(out, "\\%02X", c);
    else
      hsc_bytes_append_char(out, (char)c);
  }
  hsc_bytes_append_char(out, '"');
}

static bool is_name(hsc_view text, bool dots) {
  if (!text.size || (text.data[0] >= '0' && text.data[0] <= '9'))
    return false;
  for (size_t i = 0; i < text.size; i++) {
    char c = text.data[i];
    bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || (i && c == '$') || (dots && i && c == '.');
    if (!ok)
      return false;
  }
  return true;
}

void hsc__mlir_print_symbol(hsc_bytes *out, hsc_view name) {
  hsc_bytes_append_char(out, '@');
  if (is_name(name, true))
    hsc_bytes_append(out, name.data, name.size);
  else
    put_string(out, name);
}

static void put_entry(hsc_bytes *out, hsc_view name, const hsc__mlir_attr *value, bool is_array) {
  if (is_name(name, true))
    hsc_bytes_append(out, name.data, name.size);
  else
    put_string(out, name);
  hsc_bytes_append_text(out, " = ");
  if (!is_array) {
    hsc__mlir_print_attr(out, value);
    return;
  }
  hsc_bytes_printf(out, "array<%s", hsc__mlir_element_text(value->type->shape.type));
  int64_t count = hsc_shape_elements(&value->type->shape);
  for (int64_t i = 0; i < count; i++) {
    hsc_bytes_append_text(out, i ? ", " : ": ");
    put_number(out, value->type->shape.type,
               value->data.data + (size_t)i * hsc_type_bytes(value->type->shape.type));
  }
  hsc_bytes_append_char(out, '>');
}

static void put_colon_type(hsc_bytes *out, const hsc__mlir_type *type) {
  hsc_bytes_append_text(out, " : ");
  hsc__mlir_print_type(out, type);
}

// Attributes of StableHLO's own, and those that are kept as text.
static void put_stablehlo_attr(hsc_bytes *out, const hsc__mlir_attr *attr) {
  switch (attr->kind) {
    case HSC_MLIR_ENUM:
      // StableHLO's is a number
      if (hsc_view_equals_text(attr->text, "custom_call_api_version"))
        hsc_bytes_printf(out, "%" PRId64 " : i32", attr->integer);
      else
        hsc_bytes_printf(out, "#stablehlo<%.*s %s>", (int)attr->text.size, attr->text.data,
                         hsc__mlir_enum_text(attr->text, attr->integer));
      break;
    case HSC_MLIR_ACCURACY:
      hsc_bytes_append_text(out, "#stablehlo.result_accuracy<atol = ");
      put_float(out, HSC_TYPE_F64, hsc_float_encode(HSC_TYPE_F64, attr->elements[0]->number));
      hsc_bytes_append_text(out, ", rtol = ");
      put_float(out, HSC_TYPE_F64, hsc_float_encode(HSC_TYPE_F64, attr->elements[1]->number));
      hsc_bytes_printf(
          out, ", ulps = %" PRId64 ", mode = #stablehlo.result_accuracy_mode<%s>>",
          attr->elements[2]->integer,
          hsc__mlir_enum_text(HSC_VIEW("result_accuracy_mode"), attr->elements[3]->integer));
      break;
    case HSC_MLIR_ALIAS:
      hsc_bytes_append_text(out, "#stablehlo.output_operand_alias<output_tuple_indices = ");
      hsc__mlir_print_ints(out, attr->elements[0]);
      hsc_bytes_printf(out, ", operand_index = %" PRId64 ", operand_tuple_indices = ",
                       attr->elements[1]->integer);
      hsc__mlir_print_ints(out, attr->elements[2]);
      hsc_bytes_append_char(out, '>');
      break;
    default:
      hsc_bytes_append(out, attr->text.data, attr->text.size);
  }
}

void hsc__mlir_print_attr(hsc_bytes *out, const hsc__mlir_attr *attr) {
  switch (attr->kind) {
    case HSC_MLIR_UNIT:
      hsc_bytes_append_text(out, "unit");
      break;
    case HSC_MLIR_BOOL:
      hsc_bytes_append_text(out, attr->integer ? "true" : "false");
      break;
    case HSC_MLIR_INT:
      hsc_bytes_printf(out, "%" PRId64, attr->integer);
      if (attr->type)
        put_colon_type(out, attr->type);
      break;
    case HSC_MLIR_FLOAT: {
      hsc_type type = attr->type ? attr->type->shape.type : HSC_TYPE_F64;
      put_float(out, type, hsc_float_encode(type, attr->number));
      if (attr->type)
        put_colon_type(out, attr->type);
      break;
    }
    case HSC_MLIR_STRING:
      put_string(out, attr->text);
      break;
    case HSC_MLIR_SYMBOL:
      hsc__mlir_print_symbol(out, attr->text);
      break;
    case HSC_MLIR_TYPE:
      hsc__mlir_print_type(out, attr->type);
      break;
    case HSC_MLIR_ARRAY:
      if (attr->type) {
        hsc_bytes_append_text(out, "array<");
        hsc__mlir_print_type(out, attr->type);
        for (int i = 0; i < attr->count; i++) {
          hsc_bytes_append_text(out, i ? ", " : ": ");
          hsc__mlir_print_attr(out, attr->elements[i]);
        }
        hsc_bytes_append_char(out, '>');
        break;
      }
      hsc_bytes_append_char(out, '[');
      for (int i = 0; i < attr->count; i++) {
        if (i)
          hsc_bytes_append(out, ", ", 2);
        hsc__mlir_print_attr(out, attr->elements[i]);
      }
      hsc_bytes_append_char(out, ']');
      break;
    case HSC_MLIR_DICT:
      hsc_bytes_append_char(out, '{');
      for (int i = 0; i < attr->count; i++) {
        if (i)
          hsc_bytes_append(out, ", ", 2);
        put_entry(out, attr->entries[i].name, attr->entries[i].value, false);
      }
      hsc_bytes_append_char(out, '}');
      break;
    case HSC_MLIR_DENSE:
      put_dense(out, attr);
      break;
    default:
      put_stablehlo_attr(out, attr);
  }
}

// ---- what StableHLO nests -----------------------------------------------------------------------

static const struct {
  const char *op, *name, *attr, *members;
} groups[] = {
    {"gather", "dimension_numbers", "#stablehlo.gather",
     "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims "
     "start_index_map index_vector_dim"},
    {"scatter", "scatter_dimension_numbers", "#stablehlo.scatter",
     "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
     "scatter_dims_to_operand_dims index_vector_dim"},
    {"dot_general", "dot_dimension_numbers", "#stablehlo.dot",
     "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions "
     "rhs_contracting_dimensions"},
    {"dot_general", "algorithm", "#stablehlo.dot_algorithm",
     "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count "
     "rhs_component_count num_primitive_operations allow_imprecise_accumulation"},
    {"convolution", "dimension_numbers", "#stablehlo.conv",
     "input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions"},
    {NULL, "channel_handle", "#stablehlo.channel_handle", "channel_id"},
};

static int find_attr(const hsc__mlir_op *op, const char *name, size_t length) {
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].name.size == length && !memcmp(op->attrs[i].name.data, name, length))
      return i;
  return -1;
}

static void put_group(hsc__mlir_printer *p, const hsc__mlir_op *op, size_t group) {
  bool any = false;
  bool channel = !groups[group].op;
  PUT(p, "<");
  if (!strcmp(groups[group].attr, "#stablehlo.conv"))
    hsc__mlir_print_conv_dims(p, op);
  for (const char *at = groups[group].members; *at;) {
    size_t length = strcspn(at, " ");
    int i = find_attr(op, at, length);
    if (i >= 0 && !(p->printed >> i & 1)) {
      const hsc__mlir_attr *value = op->attrs[i].value;
      bool list = value->kind == HSC_MLIR_DENSE;
      p->printed |= 1ull << i;
      if (!list || hsc_shape_elements(&value->type->shape)) {
        hsc_bytes_printf(p->out, "%s%.*s = ", any ? ", " : "", channel ? 6 : (int)length,
                         channel ? "handle" : at);
        any = true;
        if (list)
          hsc__mlir_print_ints(p->out, value);
        else if (value->kind == HSC_MLIR_INT)
          hsc_bytes_printf(p->out, "%" PRId64, value->integer);
        else
          hsc__mlir_print_attr(p->out, value);
      }
    }
    at += length;
    while (*at == ' ')
      at++;
  }
  if (channel)
    PUT(p, ", type = 1");
  PUT(p, ">");
}

void hsc__mlir_print_group(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *group) {
  for (size_t i = 0; i < HSC_COUNT_OF(groups); i++)
    if (!strcmp(groups[i].name, group))
      put_group(p, op, i);
}

static int group_of(const hsc__mlir_op *op, hsc_view name) {
  for (size_t g = 0; g < HSC_COUNT_OF(groups); g++) {
    if (groups[g].op && strcmp(groups[g].op, op->name) != 0)
      continue;
    for (const char *at = groups[g].members; *at;) {
      size_t length = strcspn(at, " ");
      if (length == name.size && !memcmp(at, name.data, length))
        return (int)g;
      at += length;
      while (*at == ' ')
        at++;
    }
  }
  return -1;
}

// The attributes that are not printed, of the operation's own or of other dialects (with a dot).
static void put_attrs(hsc__mlir_printer *p,
                      const hsc__mlir_op *op,
                      bool own,
                      bool others,
                      const char *open,
                      const char *close) {
  bool any = false;
  for (int i = 0; i < op->attr_count; i++) {
    hsc_view name = op->attrs[i].name;
    bool other = memchr(name.data, '.', name.size) != NULL;
    if ((p->printed >> i & 1) || (other ? !others : !own))
      continue;
    hsc_bytes_append_text(p->out, any ? ", " : open);
    any = true;
    int group = group_of(op, name);
    if (group >= 0) {
      hsc_bytes_printf(p->out, "%s = %s", groups[group].name, groups[group].attr);
      put_group(p, op, (size_t)group);
      continue;
    }
    p->printed |= 1ull << i;
    const hsc__mlir_attr *value = op->attrs[i].value;
    if (hsc_view_equals_text(name, "use_global_device_ids")) {
      hsc_bytes_append(p->out, name.data, name.size);
      continue;
    }
    bool is_array = value->kind == HSC_MLIR_DENSE && value->type->shape.rank == 1 &&
                    !hsc_view_equals_text(name, "value");
    put_entry(p->out, name, value, is_array);
  }
  if (any)
    hsc_bytes_append_text(p->out, close);
}

void hsc__mlir_print_properties(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  put_attrs(p, op, true, false, " <{", "}>");
}
void hsc__mlir_print_rest(hsc__mlir_printer *p, const hsc__mlir_op *op, bool space) {
  put_attrs(p, op, true, true, space ? " {" : "{", "}");
}

// ---- locations ----------------------------------------------------------------------------------

void hsc__mlir_print_location(hsc_bytes *out, const hsc__mlir_attr *location) {
  put_string(out, location->text);
  if (location->column >= 0) {
    hsc_bytes_printf(out, ":%" PRId64 ":%" PRId64, location->integer, location->column);
  } else if (location->count) {
    hsc_bytes_append_char(out, '(');
    hsc__mlir_print_location(out, location->elements[0]);
    hsc_bytes_append_char(out, ')');
  }
}
