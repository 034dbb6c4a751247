// mlir_text_attrs.c - attributes of MLIR text: numbers, strings, arrays, dictionaries, symbols,
// types, tensors, locations, and StableHLO's own (#stablehlo<comparison_direction EQ>,
// #stablehlo.gather<offset_dims = [0], ...>).
//
// What StableHLO nests and VHLO has flat (dimension numbers, channel handles, dot algorithms)
// becomes flat here, under VHLO's names.
#include <inttypes.h>

#include "base/text/text.h"
#include "formats/mlir/mlir_text_internal.h"

// ---- making -------------------------------------------------------------------------------------

const hsc__mlir_attr *hsc__mlir_make_ints(hsc__mlir_parser *p,
                                          const int64_t *values,
                                          size_t count) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  if (!attr)
    return NULL;
  const hsc__mlir_attr **elements = HSC_NEW_ARRAY(p->arena, const hsc__mlir_attr *, count);
  hsc__mlir_attr *numbers = HSC_NEW_ARRAY(p->arena, hsc__mlir_attr, count);
  if (count && (!elements || !numbers)) {
    hsc__mlir_out_of_memory(p);
    return NULL;
  }
  for (size_t i = 0; i < count; i++) {
    numbers[i] = (hsc__mlir_attr){.kind = HSC_MLIR_INT, .integer = values[i]};
    elements[i] = &numbers[i];
  }
  attr->elements = elements;
  attr->count = (int32_t)count;
  return attr;
}

// ---- enumerations -------------------------------------------------------------------------------

static const struct {
  const char *enumeration, *name;
  int number;
} enum_cases[] = {
    {"comparison_direction", "EQ", 0},
    {"comparison_direction", "NE", 1},
    {"comparison_direction", "GE", 2},
    {"comparison_direction", "GT", 3},
    {"comparison_direction", "LE", 4},
    {"comparison_direction", "LT", 5},
    {"comparison_type", "NOTYPE", 0},
    {"comparison_type", "FLOAT", 1},
    {"comparison_type", "TOTALORDER", 2},
    {"comparison_type", "SIGNED", 3},
    {"comparison_type", "UNSIGNED", 4},
    {"precision", "DEFAULT", 0},
    {"precision", "HIGH", 1},
    {"precision", "HIGHEST", 2},
    {"fft_type", "FFT", 0},
    {"fft_type", "IFFT", 1},
    {"fft_type", "RFFT", 2},
    {"fft_type", "IRFFT", 3},
    {"transpose", "TRANSPOSE_INVALID", 0},
    {"transpose", "NO_TRANSPOSE", 1},
    {"transpose", "TRANSPOSE", 2},
    {"transpose", "ADJOINT", 3},
    {"rng_distribution", "UNIFORM", 1},
    {"rng_distribution", "NORMAL", 2},
    {"rng_algorithm", "DEFAULT", 0},
    {"rng_algorithm", "THREE_FRY", 1},
    {"rng_algorithm", "PHILOX", 2},
    {"result_accuracy_mode", "DEFAULT", 0},
    {"result_accuracy_mode", "HIGHEST", 1},
    {"result_accuracy_mode", "TOLERANCE", 2},
    {"custom_call_api_version", "API_VERSION_UNSPECIFIED", 0},
    {"custom_call_api_version", "API_VERSION_ORIGINAL", 1},
    {"custom_call_api_version", "API_VERSION_STATUS_RETURNING", 2},
    {"custom_call_api_version", "API_VERSION_STATUS_RETURNING_UNIFIED", 3},
    {"custom_call_api_version", "API_VERSION_TYPED_FFI", 4},
};

bool hsc__mlir_enum_number(hsc_view enumeration, hsc_view name, int64_t *out) {
  for (size_t i = 0; i < HSC_COUNT_OF(enum_cases); i++) {
    if (!hsc_view_equals_text(enumeration, enum_cases[i].enumeration) ||
        !hsc_view_equals_text(name, enum_cases[i].name))
      continue;
    *out = enum_cases[i].number;
    return true;
  }
  return false;
}

const char *hsc__mlir_enum_text(hsc_view enumeration, int64_t number) {
  for (size_t i = 0; i < HSC_COUNT_OF(enum_cases); i++)
    if (enum_cases[i].number == number &&
        hsc_view_equals_text(enumeration, enum_cases[i].enumeration))
      return enum_cases[i].name;
  return NULL;
}

static bool enum_case(hsc__mlir_parser *p, hsc_view enumeration, const hsc__mlir_attr **out) {
  hsc_view name;
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ENUM);
  if (!attr || !hsc__mlir_ident(p, "a case of an enumeration", &name))
    return false;
  if (!hsc__mlir_enum_number(enumeration, name, &attr->integer)) {
    const char *candidates[8];
    size_t count = 0;
    for (size_t i = 0; i < HSC_COUNT_OF(enum_cases) && count < HSC_COUNT_OF(candidates); i++)
      if (hsc_view_equals_text(enumeration, enum_cases[i].enumeration))
        candidates[count++] = enum_cases[i].name;
    if (count == 0) {  // an enumeration that has no meaning here
      attr->kind = HSC_MLIR_UNKNOWN;
      attr->text = name;
    } else {
      char text[48];
      snprintf(text, sizeof text, "%.*s", hsc_view_shown(name, 40), name.data);
      const char *near = hsc_did_you_mean(text, candidates, count);
      return near ? hsc__mlir_error(p, name.data, "unknown %.*s '%s'; did you mean '%s'?",
                                    (int)enumeration.size, enumeration.data, text, near)
                  : hsc__mlir_error(p, name.data, "unknown %.*s '%s'", (int)enumeration.size,
                                    enumeration.data, text);
    }
  }
  *out = attr;
  return true;
}

// ---- dictionaries -------------------------------------------------------------------------------

// Nested in StableHLO, flat in VHLO.
static bool is_flattened(hsc_view name) {
  static const char *const names[] = {"dimension_numbers",
                                      "dot_dimension_numbers",
                                      "scatter_dimension_numbers",
                                      "channel_handle",
                                      "algorithm",
                                      "ragged_dot_dimension_numbers"};
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (hsc_view_equals_text(name, names[i]))
      return true;
  return false;
}

// name [= value], ... up to `close`, on the stack.
static bool entries(hsc__mlir_parser *p, char close, bool flatten, int *count) {
  *count = 0;
  if (hsc__mlir_accept(p, close))
    return true;
  do {
    hsc__mlir_named entry;
    hsc__mlir_skip(p);
    if (*p->p == '"' ? !hsc__mlir_string(p, &entry.name)
                     : !hsc__mlir_ident(p, "the name of an attribute", &entry.name))
      return false;
    if (hsc__mlir_accept(p, '=')) {
      if (!hsc__mlir_attribute(p, &entry.value))
        return false;
    } else {
      entry.value = hsc__mlir_make_attr(p, HSC_MLIR_UNIT);
      if (!entry.value)
        return false;
    }
    if (flatten && entry.value->kind == HSC_MLIR_DICT && is_flattened(entry.name)) {
      if (!hsc__mlir_push(p, entry.value->entries, (size_t)entry.value->count * sizeof entry))
        return false;
      *count += entry.value->count;
    } else {
      if (!hsc__mlir_push(p, &entry, sizeof entry))
        return false;
      ++*count;
    }
  } while (hsc__mlir_accept(p, ',') && !hsc__mlir_peek(p, close));
  char text[2] = {close, 0};
  return hsc__mlir_expect(p, text);
}

bool hsc__mlir_attr_entries(hsc__mlir_parser *p, hsc__mlir_op *op, char close) {
  size_t start = p->stack.size;
  int count;
  if (!entries(p, close, true, &count))
    return false;
  hsc__mlir_named *attrs = HSC_NEW_ARRAY(p->arena, hsc__mlir_named, op->attr_count + count);
  if (op->attr_count + count && !attrs)
    return hsc__mlir_out_of_memory(p);
  if (op->attr_count)
    memcpy(attrs, op->attrs, (size_t)op->attr_count * sizeof *attrs);
  if (count)
    memcpy(attrs + op->attr_count, p->stack.data + start, (size_t)count * sizeof *attrs);
  p->stack.size = start;
  op->attrs = attrs;
  op->has_foreign = true;
  op->attr_count += count;
  return true;
}

static bool dictionary(hsc__mlir_parser *p, char close, hsc__mlir_attr *attr) {
  size_t start = p->stack.size;
  int count;
  if (!entries(p, close, false, &count))
    return false;
  attr->kind = HSC_MLIR_DICT;
  attr->entries =
      count ? hsc_arena_copy(p->arena, p->stack.data + start, (size_t)count * sizeof *attr->entries)
            : NULL;
  attr->count = count;
  p->stack.size = start;
  return !count || attr->entries ? true : hsc__mlir_out_of_memory(p);
}

// ---- arrays -------------------------------------------------------------------------------------

static bool take_elements(hsc__mlir_parser *p, hsc__mlir_attr *attr, size_t start, int count) {
  attr->elements = count ? hsc_arena_copy(p->arena, p->stack.data + start,
                                          (size_t)count * sizeof *attr->elements)
                         : NULL;
  attr->count = count;
  p->stack.size = start;
  return !count || attr->elements ? true : hsc__mlir_out_of_memory(p);
}

// [a, b, ...] after the bracket.
static bool array(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  size_t start = p->stack.size;
  int count = 0;
  attr->kind = HSC_MLIR_ARRAY;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      const hsc__mlir_attr *element;
      if (!hsc__mlir_attribute(p, &element) || !hsc__mlir_push(p, &element, sizeof element))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  return take_elements(p, attr, start, count);
}

// array<i64: 1, 2> after the word.
static bool typed_array(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  size_t start = p->stack.size;
  int count = 0;
  hsc_view type;
  hsc_type element_type;
  attr->kind = HSC_MLIR_ARRAY;
  if (!hsc__mlir_expect(p, "<") || !hsc__mlir_ident(p, "an element type", &type))
    return false;
  if (!hsc__mlir_element_type(type, &element_type))
    return hsc__mlir_error(p, type.data, "unknown element type '%.*s'", (int)type.size, type.data);
  hsc__mlir_type *of = HSC_NEW(p->arena, hsc__mlir_type);
  if (!of)
    return hsc__mlir_out_of_memory(p);
  *of = (hsc__mlir_type){.kind = HSC_MLIR_ELEMENT, .shape = hsc_shape_scalar(element_type)};
  attr->type = of;
  hsc__mlir_attr_kind kind = HSC_MLIR_INT;
  if (hsc_type_is_float(element_type))
    kind = HSC_MLIR_FLOAT;
  else if (element_type == HSC_TYPE_PRED)
    kind = HSC_MLIR_BOOL;
  if (hsc__mlir_accept(p, ':') && !hsc__mlir_peek(p, '>')) {
    do {
      hsc__mlir_attr *element = hsc__mlir_make_attr(p, kind);
      if (!element)
        return false;
      hsc__mlir_skip(p);
      if (hsc__mlir_accept_word(p, "true")) {
        element->integer = 1;
      } else if (element->kind == HSC_MLIR_FLOAT) {
        const char *end = hsc__parse_double(p->p, &element->number);
        if (!end)
          return hsc__mlir_expected(p, "a number");
        p->p = end;
      } else if (!hsc__mlir_accept_word(p, "false") && !hsc__mlir_int(p, &element->integer)) {
        return false;
      }
      if (!hsc__mlir_push(p, &element, sizeof element))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
  }
  return hsc__mlir_expect(p, ">") && take_elements(p, attr, start, count);
}

bool hsc__mlir_int_list(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  *out = attr;
  if (!attr)
    return false;
  if (hsc__mlir_accept_word(p, "array"))
    return typed_array(p, attr);
  if (!hsc__mlir_expect(p, "["))
    return false;
  int64_t small[HSC_MAX_RANK];
  size_t start = p->stack.size;
  size_t count = 0;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      int64_t value;
      if (hsc__mlir_accept_word(p, "true"))
        value = 1;
      else if (hsc__mlir_accept_word(p, "false"))
        value = 0;
      else if (!hsc__mlir_int(p, &value))
        return false;
      if (count < HSC_MAX_RANK)
        small[count] = value;
      if (!hsc__mlir_push(p, &value, sizeof value))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  // not dimensions; from the stack, which stays aligned to its elements
  if (count > HSC_MAX_RANK) {
    int64_t *values = hsc_arena_copy(p->arena, p->stack.data + start, count * sizeof *values);
    if (!values)
      return hsc__mlir_out_of_memory(p);
    *out = hsc__mlir_make_ints(p, values, count);
  } else {
    *out = hsc__mlir_make_ints(p, small, count);
  }
  p->stack.size = start;
  return *out != NULL;
}

// ---- StableHLO's own ----------------------------------------------------------------------------

// One part of the dimensions of a convolution: [b, 0, 1, f].
static bool conv_part(hsc__mlir_parser *p,
                      hsc__mlir_op *op,
                      const char *part,
                      char first,
                      const char *first_name,
                      char second,
                      const char *second_name) {
  int64_t spatial[HSC_MAX_RANK];
  int64_t first_at = -1;
  int64_t second_at = -1;
  int64_t position = 0;
  bool seen[HSC_MAX_RANK] = {false};
  int count = 0;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!hsc__mlir_expect(p, "["))
    return false;
  do {
    hsc__mlir_skip(p);
    char c = *p->p;
    int64_t number;
    if (c == first && first_at < 0) {
      first_at = position;
      p->p++;
    } else if (c == second && second_at < 0) {
      second_at = position;
      p->p++;
    } else if (c == '?')
      return hsc__mlir_error(
          p, p->p, "dimensions without a meaning ('?'): not built yet: convolutions with them");
    else {
      if (!hsc__mlir_int(p, &number))
        return false;
      if (number < 0 || number >= HSC_MAX_RANK || seen[number])
        return hsc__mlir_error(p, at, "the spatial dimensions must be numbered from 0, each once");
      seen[number] = true;
      spatial[number] = position;
      count++;
    }
    position++;
  } while (hsc__mlir_accept(p, ','));
  if (!hsc__mlir_expect(p, "]"))
    return false;
  for (int i = 0; i < count; i++)
    if (!seen[i])
      return hsc__mlir_error(p, at, "the spatial dimensions must be numbered from 0 without gaps");
  if (first_at < 0 || second_at < 0)
    return hsc__mlir_error(p, at, "expected one '%c' and one '%c' among the dimensions", first,
                           second);
  const char *spatial_name = hsc_arena_printf(p->arena, "%s_spatial_dimensions", part);
  return spatial_name && hsc__mlir_add_attr(p, op, first_name, hsc__mlir_make_int(p, first_at)) &&
         hsc__mlir_add_attr(p, op, second_name, hsc__mlir_make_int(p, second_at)) &&
         hsc__mlir_add_attr(p, op, spatial_name, hsc__mlir_make_ints(p, spatial, (size_t)count));
}

bool hsc__mlir_conv_dims(hsc__mlir_parser *p, hsc__mlir_op *op) {
  return conv_part(p, op, "input", 'b', "input_batch_dimension", 'f', "input_feature_dimension") &&
         hsc__mlir_expect(p, "x") &&
         conv_part(p, op, "kernel", 'i', "kernel_input_feature_dimension", 'o',
                   "kernel_output_feature_dimension") &&
         hsc__mlir_expect(p, "->") &&
         conv_part(p, op, "output", 'b', "output_batch_dimension", 'f', "output_feature_dimension");
}

static void append_indices(hsc_bytes *text, const hsc__mlir_attr *list) {
  hsc_bytes_append_char(text, '{');
  for (int i = 0; list && i < list->count; i++)
    hsc_bytes_printf(text, "%s%" PRId64, i ? ", " : "", list->elements[i]->integer);
  hsc_bytes_append_char(text, '}');
}

// "{output}: (operand, {operand indices})", as XLA prints it.
static bool alias_text(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  const hsc__mlir_attr *output = hsc__mlir_dict_get(attr, "output_tuple_indices");
  const hsc__mlir_attr *operand = hsc__mlir_dict_get(attr, "operand_index");
  const hsc__mlir_attr *index = hsc__mlir_dict_get(attr, "operand_tuple_indices");
  hsc_bytes text = {0};
  append_indices(&text, output && output->kind == HSC_MLIR_ARRAY ? output : NULL);
  hsc_bytes_printf(&text, ": (%" PRId64 ", ", operand ? operand->integer : 0);
  append_indices(&text, index && index->kind == HSC_MLIR_ARRAY ? index : NULL);
  hsc_bytes_append_char(&text, ')');
  attr->kind = HSC_MLIR_ALIAS;
  attr->text = hsc_view_of(hsc_arena_strndup(p->arena, hsc_bytes_text(&text), text.size));
  bool ok = !text.failed && attr->text.data;
  hsc_bytes_deinit(&text);
  return ok || hsc__mlir_out_of_memory(p);
}

// The names of VHLO's channel.
static bool channel_names(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  hsc__mlir_named *renamed =
      hsc_arena_copy(p->arena, attr->entries, (size_t)attr->count * sizeof *renamed);
  if (attr->count && !renamed)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < attr->count; i++) {
    if (hsc_view_equals_text(renamed[i].name, "handle"))
      renamed[i].name = hsc_view_of("channel_id");
    else if (hsc_view_equals_text(renamed[i].name, "type"))
      renamed[i].name = hsc_view_of("channel_type");
  }
  attr->entries = renamed;
  return true;
}

// Tolerances, ulps and mode in their order; what is not there is zero.
static bool accuracy(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  static const char *const names[] = {"atol", "rtol", "ulps", "mode"};
  static const hsc__mlir_attr missing;
  const hsc__mlir_attr **parts = HSC_NEW_ARRAY(p->arena, const hsc__mlir_attr *, 4);
  if (!parts)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < 4; i++) {
    parts[i] = hsc__mlir_dict_get(attr, names[i]);
    if (!parts[i])
      parts[i] = &missing;
  }
  attr->kind = HSC_MLIR_ACCURACY;
  attr->elements = parts;
  attr->count = 4;
  return true;
}

// #stablehlo.NAME<...> after the '<'.
static bool stablehlo_attr(hsc__mlir_parser *p, hsc_view name, const hsc__mlir_attr **out) {
  static const char *const structs[] = {
      "gather",        "scatter",         "dot",
      "dot_algorithm", "channel_handle",  "output_operand_alias",
      "ragged_dot",    "result_accuracy", "replica_group_mesh_axes"};
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_UNKNOWN);
  *out = attr;
  if (!attr)
    return false;
  for (size_t i = 0; i < HSC_COUNT_OF(structs); i++) {
    if (!hsc_view_equals_text(name, structs[i]))
      continue;
    if (!dictionary(p, '>', attr))
      return false;
    if (i == 4)
      return channel_names(p, attr);
    if (i == 7)
      return accuracy(p, attr);
    return i == 5 ? alias_text(p, attr) : true;
  }
  if (hsc_view_equals_text(name, "axis_ref"))
    return hsc__mlir_axis_ref(p, attr);
  if (hsc_view_equals_text(name, "mesh"))
    return hsc__mlir_inline_mesh(p, attr);
  if (hsc_view_equals_text(name, "conv")) {
    hsc__mlir_op holder = {0};
    // the dimensions by name
    if (hsc__mlir_accept_word(p, "raw"))
      return dictionary(p, '>', attr);
    if (!hsc__mlir_conv_dims(p, &holder) || !hsc__mlir_expect(p, ">"))
      return false;
    attr->kind = HSC_MLIR_DICT;
    attr->entries = holder.attrs;
    attr->count = holder.attr_count;
    return true;
  }
  for (size_t i = 0; i < HSC_COUNT_OF(enum_cases); i++)
    if (hsc_view_equals_text(name, enum_cases[i].enumeration))
      return enum_case(p, name, out) && hsc__mlir_expect(p, ">");
  p->p = name.data;  // without meaning here: kept by its text, up to the bracket that closes it
  return hsc__mlir_balanced(p, &attr->text);
}

bool hsc__mlir_attr_alias(hsc__mlir_parser *p, hsc_view name, hsc__mlir_attr **out) {
  *out = hsc_map_get(p->attr_aliases, name);
  if (*out)
    return true;
  *out = hsc__mlir_make_attr(p, HSC_MLIR_UNKNOWN);
  if (!*out)
    return false;
  (*out)->text = name;
  hsc_status *status = hsc_map_put(p->attr_aliases, name, *out);
  hsc_status_free(status);
  return !status || hsc__mlir_out_of_memory(p);
}

static bool hash_attr(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc_view name;
  p->p++;
  if (!hsc__mlir_suffix(p, "the name of an attribute", &name))
    return false;
  if (*p->p != '<') {
    hsc__mlir_attr *alias;
    if (!hsc__mlir_attr_alias(p, name, &alias))
      return false;
    *out = alias;
    return true;
  }
  bool short_form = hsc_view_equals_text(name, "stablehlo") || hsc_view_equals_text(name, "chlo") ||
                    hsc_view_equals_text(name, "mhlo");
  const char *dot = memchr(name.data, '.', name.size);
  bool own = dot && (strncmp(name.data, "stablehlo.", 10) == 0 ||
                     strncmp(name.data, "chlo.", 5) == 0 || strncmp(name.data, "mhlo.", 5) == 0);
  if (short_form) {  // #stablehlo<precision HIGH>
    hsc_view enumeration;
    p->p++;
    return hsc__mlir_ident(p, "the name of an enumeration", &enumeration) &&
           enum_case(p, enumeration, out) && hsc__mlir_expect(p, ">");
  }
  if (own) {
    p->p++;
    return stablehlo_attr(p, (hsc_view){dot + 1, (size_t)(name.data + name.size - dot - 1)}, out);
  }
  bool known;
  if (!hsc__mlir_sdy_attr(p, name, out, &known))
    return false;
  if (known)
    return true;
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_UNKNOWN);
  *out = attr;
  p->p = name.data - 1;
  return attr && hsc__mlir_balanced(p, &attr->text);
}

// ---- locations ----------------------------------------------------------------------------------

static bool location_inner(hsc__mlir_parser *p, const hsc__mlir_attr **out);

static bool location_list(hsc__mlir_parser *p,
                          hsc__mlir_attr *attr,
                          const char *separator,
                          const char *close) {
  size_t start = p->stack.size;
  int count = 0;
  do {
    const hsc__mlir_attr *child;
    if (!location_inner(p, &child) || !hsc__mlir_push(p, &child, sizeof child))
      return false;
    count++;
  } while (hsc__mlir_accept_text(p, separator));
  return hsc__mlir_expect(p, close) && take_elements(p, attr, start, count);
}

// "name"(child), "file":1:2 to 3:4, callsite(a at b), fused<...>[a, b], unknown, #alias
static bool location_inner(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  if (!hsc__mlir_enter(p))
    return false;
  hsc__mlir_skip(p);
  if (*p->p == '#') {
    bool ok = hash_attr(p, out);
    hsc__mlir_leave(p);
    return ok;
  }
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_LOCATION);
  if (!attr)
    return false;
  bool ok = true;
  int64_t ignored;
  if (*p->p == '"') {
    ok = hsc__mlir_string(p, &attr->text);
    if (ok && hsc__mlir_accept(p, ':')) {
      ok = hsc__mlir_int(p, &attr->integer) &&
           (!hsc__mlir_accept(p, ':') || hsc__mlir_int(p, &attr->column));
      if (ok && hsc__mlir_accept_word(p, "to")) {  // to :column or to line:column
        ok = hsc__mlir_peek(p, ':') || hsc__mlir_int(p, &ignored);
        ok = ok && (!hsc__mlir_accept(p, ':') || hsc__mlir_int(p, &ignored));
      }
    } else if (ok) {
      attr->column = -1;  // a name, not a file
      if (hsc__mlir_accept(p, '('))
        ok = location_list(p, attr, ",", ")");
    }
  } else if (hsc__mlir_accept_word(p, "callsite")) {
    ok = hsc__mlir_expect(p, "(") && location_list(p, attr, "at", ")");
  } else if (hsc__mlir_accept_word(p, "fused")) {
    hsc_view metadata;
    if (hsc__mlir_peek(p, '<'))
      ok = hsc__mlir_accept(p, '<') && hsc__mlir_balanced(p, &metadata) && hsc__mlir_expect(p, ">");
    ok = ok && hsc__mlir_expect(p, "[") && location_list(p, attr, ",", "]");
  } else if (!hsc__mlir_accept_word(p, "unknown")) {
    ok = hsc__mlir_expected(p, "a location");
  }
  hsc__mlir_leave(p);
  *out = attr;
  return ok;
}

bool hsc__mlir_location(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  return hsc__mlir_expect(p, "(") && location_inner(p, out) && hsc__mlir_expect(p, ")");
}

// ---- any attribute ------------------------------------------------------------------------------

// A number, with its type after a colon.
static bool number(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  const char *at = p->p;
  const char *c = at + (*at == '-');
  bool hex = c[0] == '0' && c[1] == 'x';
  while (*c >= '0' && *c <= '9')
    c++;
  bool is_float = !hex && (*c == '.' || *c == 'e' || *c == 'E');
  attr->kind = is_float ? HSC_MLIR_FLOAT : HSC_MLIR_INT;
  if (is_float) {
    p->p = hsc__parse_double(at, &attr->number);
    if (!p->p) {
      p->p = at;
      return hsc__mlir_expected(p, "a number");
    }
  } else if (!hsc__mlir_int(p, &attr->integer)) {
    return false;
  }
  if (!hsc__mlir_accept(p, ':'))
    return true;
  if (!hsc__mlir_type_parse(p, &attr->type))
    return false;
  // hexadecimal digits of a float
  if (!is_float && attr->type->kind == HSC_MLIR_ELEMENT &&
      hsc_type_is_float(attr->type->shape.type)) {
    attr->kind = HSC_MLIR_FLOAT;
    attr->number = hex ? hsc_float_decode(attr->type->shape.type, (uint64_t)attr->integer)
                       : (double)attr->integer;
  }
  if (attr->type->kind == HSC_MLIR_ELEMENT && attr->type->shape.type == HSC_TYPE_PRED &&
      attr->kind == HSC_MLIR_INT)
    attr->kind = HSC_MLIR_BOOL;
  return true;
}

static bool symbol(hsc__mlir_parser *p, hsc__mlir_attr *attr) {
  hsc_view nested;
  attr->kind = HSC_MLIR_SYMBOL;
  if (!hsc__mlir_symbol(p, &attr->text))
    return false;
  while (hsc__mlir_accept_text(p, "::"))
    if (!hsc__mlir_symbol(p, &nested))
      return false;
  return true;
}

bool hsc__mlir_attribute(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  hsc__mlir_skip(p);
  char c = *p->p;
  if (c == '#')
    return hash_attr(p, out);
  if (!hsc__mlir_enter(p))
    return false;
  hsc__mlir_attr *attr = NULL;
  bool ok;
  if (c == 'd' && (strncmp(p->p, "dense<", 6) == 0 || strncmp(p->p, "dense_resource<", 15) == 0)) {
    ok = hsc__mlir_dense(p, out);
    hsc__mlir_leave(p);
    return ok;
  }
  attr = hsc__mlir_make_attr(p, HSC_MLIR_UNKNOWN);
  if (!attr)
    return false;
  *out = attr;
  hsc_view nothing;
  if (c == '"') {
    attr->kind = HSC_MLIR_STRING;
    ok = hsc__mlir_string(p, &attr->text);
    const hsc__mlir_type *type;
    if (ok && hsc__mlir_accept(p, ':'))
      ok = hsc__mlir_type_parse(p, &type);
  } else if (c == '[') {
    p->p++;
    ok = array(p, attr);
  } else if (c == '{') {
    p->p++;
    ok = dictionary(p, '}', attr);
  } else if (c == '@') {
    ok = symbol(p, attr);
  } else if (c == '-' || (c >= '0' && c <= '9')) {
    ok = number(p, attr);
  } else if (hsc__mlir_accept_word(p, "true") || hsc__mlir_accept_word(p, "false")) {
    attr->kind = HSC_MLIR_BOOL;
    attr->integer = c == 't';
    ok = true;
  } else if (hsc__mlir_accept_word(p, "unit")) {
    attr->kind = HSC_MLIR_UNIT;
    ok = true;
  } else if (hsc__mlir_accept_word(p, "array")) {
    ok = typed_array(p, attr);
  } else if (hsc__mlir_accept_word(p, "loc")) {
    ok = hsc__mlir_location(p, out);
  } else if (hsc__mlir_looks_like_type(p)) {
    attr->kind = HSC_MLIR_TYPE;
    ok = hsc__mlir_type_parse(p, &attr->type);
  } else {  // affine_map<...>, strided<...>, sparse<...>: without meaning here
    ok = hsc__mlir_balanced(p, &attr->text);
    if (ok && hsc__mlir_accept(p, ':')) {
      const hsc__mlir_type *type;
      ok = hsc__mlir_looks_like_type(p) ? hsc__mlir_type_parse(p, &type)
                                        : hsc__mlir_balanced(p, &nothing);
    }
  }
  hsc__mlir_leave(p);
  return ok;
}
