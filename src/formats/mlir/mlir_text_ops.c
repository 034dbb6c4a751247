// mlir_text_ops.c - custom forms of operations: an interpreter for the forms of stablehlo_ops.def,
// and constant, reduce and while by hand.
//
// An operation without a row that has operands, like "stablehlo.add %0, %1 : tensor<4xf32>" or
// "chlo.erf %0 : tensor<4xf32> -> tensor<4xf32>", is read as element-wise: operands, attributes,
// one type for all or a function type.
#include "formats/mlir/mlir_op_rows.h"
#include "formats/mlir/mlir_text_internal.h"

typedef const hsc__mlir_type *type_pointer;

// ---- operands and types -------------------------------------------------------------------------

static bool push_operand(hsc__mlir_parser *p) {
  hsc__mlir_value *value;
  return hsc__mlir_operand(p, &value) && hsc__mlir_push(p, &value, sizeof value);
}

// Operands separated by commas; stops at a comma that no operand follows, which it takes when
// `trailing`.
static bool operand_list(hsc__mlir_parser *p, bool trailing) {
  if (!hsc__mlir_peek(p, '%'))
    return true;
  for (;;) {
    if (!push_operand(p))
      return false;
    const char *saved = p->p;
    if (!hsc__mlir_accept(p, ','))
      return !trailing || hsc__mlir_expect(p, ",");
    if (hsc__mlir_peek(p, '%'))
      continue;
    if (!trailing)
      p->p = saved;
    return true;
  }
}

static bool set_function_types(hsc__mlir_parser *p,
                               hsc__mlir_op *op,
                               const char *at,
                               const hsc__mlir_type *function) {
  int results = function->element_count - function->input_count;
  return hsc__mlir_check_operand_types(p, at, op, function->elements, function->input_count) &&
         hsc__mlir_set_results(p, op, function->elements + function->input_count, results);
}

static bool real_parts(hsc__mlir_parser *p, const hsc__mlir_type *type, type_pointer *out) {
  hsc__mlir_type *real = HSC_NEW(p->arena, hsc__mlir_type);
  if (!real)
    return hsc__mlir_out_of_memory(p);
  *real = *type;
  real->shape.type = hsc_type_real_part(type->shape.type);
  *out = real;
  return true;
}

// a, b: the types of the operands; of ":pairs" also those of the results
static bool types_of_operands(hsc__mlir_parser *p, hsc__mlir_op *op, const char *at, bool pairs) {
  type_pointer *types = HSC_NEW_ARRAY(p->arena, type_pointer, op->operand_count + 1);
  int count = 0;
  if (!types)
    return hsc__mlir_out_of_memory(p);
  do {
    if (count == op->operand_count)
      return hsc__mlir_error(p, at, "more types than the %d operands", op->operand_count);
    if (!hsc__mlir_type_parse(p, &types[count++]))
      return false;
  } while (hsc__mlir_accept(p, ','));
  if (!hsc__mlir_check_operand_types(p, at, op, types, count))
    return false;
  return !pairs || hsc__mlir_set_results(p, op, types, count);
}

// b -> c, after the first type: the operands' types were said at the operands' definitions
static bool types_of_arrow(hsc__mlir_parser *p, hsc__mlir_op *op, const char *at) {
  enum { MOST_RESULTS = 8 };
  type_pointer results[MOST_RESULTS];
  int count = 0;
  while (hsc__mlir_accept(p, ','))
    if (!hsc__mlir_type_parse(p, &results[0]))
      return false;
  if (!hsc__mlir_expect(p, "->"))
    return false;
  if (!hsc__mlir_accept(p, '('))
    return hsc__mlir_type_parse(p, &results[0]) && hsc__mlir_set_results(p, op, results, 1);
  do {
    if (count == MOST_RESULTS)
      return hsc__mlir_error(p, at, "more than %d results", MOST_RESULTS);
    if (!hsc__mlir_type_parse(p, &results[count++]))
      return false;
  } while (hsc__mlir_accept(p, ','));
  return hsc__mlir_expect(p, ")") && hsc__mlir_set_results(p, op, results, count);
}

static bool types_of_tuple(hsc__mlir_parser *p,
                           hsc__mlir_op *op,
                           const char *at,
                           type_pointer type) {
  if (type->kind != HSC_MLIR_TUPLE)
    return hsc__mlir_error(p, at, "expected a tuple type");
  return hsc__mlir_check_operand_types(p, at, op, type->elements, type->element_count) &&
         hsc__mlir_set_results(p, op, &type, 1);
}

static bool types_of_complex(hsc__mlir_parser *p,
                             hsc__mlir_op *op,
                             const char *at,
                             type_pointer type) {
  type_pointer part = NULL;
  if (type->kind != HSC_MLIR_TENSOR || !hsc_type_is_complex(type->shape.type) ||
      !real_parts(p, type, &part))
    return hsc__mlir_error(p, at, "expected a tensor of complex numbers");
  type_pointer types[] = {part, part};
  return hsc__mlir_check_operand_types(p, at, op, types, 2) &&
         hsc__mlir_set_results(p, op, &type, 1);
}

// One type for all; chlo's unary operations say the result's after an arrow.
static bool types_of_same(hsc__mlir_parser *p,
                          hsc__mlir_op *op,
                          const char *at,
                          type_pointer type) {
  type_pointer result;
  if (hsc__mlir_accept_text(p, "->"))
    return hsc__mlir_type_parse(p, &result) && hsc__mlir_set_results(p, op, &result, 1);
  for (int i = 0; i < op->operand_count; i++)
    if (!hsc__mlir_types_equal(op->operands[i]->type, type))
      return hsc__mlir_error(p, at, "operand %d has another type", i);
  return hsc__mlir_set_results(p, op, &type, 1);
}

// The types after the colon, by the name of the directive.
static bool types_of(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view directive) {
  type_pointer type, second;
  bool pairs = hsc_view_equals_text(directive, ":pairs");
  bool optional = pairs || hsc_view_equals_text(directive, ":operands");
  if (optional && !hsc__mlir_peek(p, ':'))
    return op->operand_count == 0 || hsc__mlir_expected(p, "':' and the types of the operands");
  if (!hsc__mlir_expect(p, ":"))
    return false;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (optional)
    return types_of_operands(p, op, at, pairs);
  if (!hsc__mlir_type_parse(p, &type))
    return false;
  bool is_function = type->kind == HSC_MLIR_FUNCTION;
  if (hsc_view_equals_text(directive, ":results"))
    return hsc__mlir_set_results(p, op, &type, 1);
  if (hsc_view_equals_text(directive, ":arrow") && !is_function)
    return types_of_arrow(p, op, at);
  if (hsc_view_equals_text(directive, ":select") && hsc__mlir_accept(p, ',')) {
    if (!hsc__mlir_type_parse(p, &second))
      return false;
    type_pointer types[] = {type, second, second};
    return hsc__mlir_check_operand_types(p, at, op, types, 3) &&
           hsc__mlir_set_results(p, op, &second, 1);
  }
  if (is_function)
    return set_function_types(p, op, at, type);
  if (hsc_view_equals_text(directive, ":tuple"))
    return types_of_tuple(p, op, at, type);
  if (hsc_view_equals_text(directive, ":complex"))
    return types_of_complex(p, op, at, type);
  if (hsc_view_equals_text(directive, ":same"))
    return types_of_same(p, op, at, type);
  return hsc__mlir_error(
      p, at, "expected the types of operands and results, like (tensor<f32>) -> tensor<f32>");
}

// ---- attributes with forms of their own ---------------------------------------------------------

// [0:2, 1:9:3]
static bool ranges(hsc__mlir_parser *p, hsc__mlir_op *op) {
  int64_t start[HSC_MAX_RANK], limit[HSC_MAX_RANK], stride[HSC_MAX_RANK];
  size_t rank = 0;
  if (!hsc__mlir_expect(p, "["))
    return false;
  if (!hsc__mlir_accept(p, ']')) {
    do {
      if (rank == HSC_MAX_RANK)
        return hsc__mlir_error(p, p->p, "more than %d dimensions", HSC_MAX_RANK);
      stride[rank] = 1;
      if (!hsc__mlir_int(p, &start[rank]) || !hsc__mlir_expect(p, ":") ||
          !hsc__mlir_int(p, &limit[rank]) ||
          (hsc__mlir_accept(p, ':') && !hsc__mlir_int(p, &stride[rank])))
        return false;
      rank++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, "]"))
      return false;
  }
  return hsc__mlir_add_attr(p, op, "start_indices", hsc__mlir_make_ints(p, start, rank)) &&
         hsc__mlir_add_attr(p, op, "limit_indices", hsc__mlir_make_ints(p, limit, rank)) &&
         hsc__mlir_add_attr(p, op, "strides", hsc__mlir_make_ints(p, stride, rank));
}

// [0] x [1] into two attributes.
static bool pair_of_dims(hsc__mlir_parser *p,
                         hsc__mlir_op *op,
                         const char *left,
                         const char *right) {
  const hsc__mlir_attr *lhs, *rhs;
  return hsc__mlir_expect(p, "=") && hsc__mlir_int_list(p, &lhs) && hsc__mlir_expect(p, "x") &&
         hsc__mlir_int_list(p, &rhs) && hsc__mlir_add_attr(p, op, left, lhs) &&
         hsc__mlir_add_attr(p, op, right, rhs);
}

// [batching_dims = [0] x [0],] contracting_dims = [1] x [0]
static bool dot_dims(hsc__mlir_parser *p, hsc__mlir_op *op) {
  if (hsc__mlir_accept_word(p, "batching_dims") &&
      (!pair_of_dims(p, op, "lhs_batching_dimensions", "rhs_batching_dimensions") ||
       !hsc__mlir_expect(p, ",")))
    return false;
  return hsc__mlir_expect(p, "contracting_dims") &&
         pair_of_dims(p, op, "lhs_contracting_dimensions", "rhs_contracting_dimensions");
}

// What stands between the elements of a list that `close` ends.
static bool comma_or(hsc__mlir_parser *p, char close) {
  return hsc__mlir_accept(p, ',') || hsc__mlir_peek(p, close) ||
         hsc__mlir_expected(p, close == ']' ? "',' or ']'" : "',' or '}'");
}

static bool precision_list(hsc__mlir_parser *p, hsc__mlir_op *op) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  const hsc__mlir_attr **elements = HSC_NEW_ARRAY(p->arena, const hsc__mlir_attr *, 8);
  if (!attr || !elements || !hsc__mlir_expect(p, "=") || !hsc__mlir_expect(p, "["))
    return false;
  attr->elements = elements;
  while (!hsc__mlir_accept(p, ']')) {
    hsc_view name;
    hsc__mlir_attr *element = hsc__mlir_make_attr(p, HSC_MLIR_ENUM);
    if (!element || !hsc__mlir_ident(p, "a precision", &name))
      return false;
    if (attr->count == 8)
      return hsc__mlir_error(p, name.data, "more than 8 precisions");
    if (!hsc__mlir_enum_number(HSC_VIEW("precision"), name, &element->integer))
      return hsc__mlir_error(p, name.data, "unknown precision '%.*s'", (int)name.size, name.data);
    elements[attr->count++] = element;
    if (!comma_or(p, ']'))
      return false;
  }
  return hsc__mlir_add_attr(p, op, "precision_config", attr);
}

// [, precision = [DEFAULT, HIGH]] [, algorithm = <...>]
static bool precision(hsc__mlir_parser *p, hsc__mlir_op *op) {
  while (hsc__mlir_accept(p, ',')) {
    if (hsc__mlir_accept_word(p, "precision")) {
      if (!precision_list(p, op))
        return false;
    } else if (hsc__mlir_accept_word(p, "algorithm")) {
      if (!hsc__mlir_expect(p, "=") || !hsc__mlir_expect(p, "<") ||
          !hsc__mlir_attr_entries(p, op, '>'))
        return false;
    } else {
      return hsc__mlir_expected(p, "precision or algorithm");
    }
  }
  return true;
}

// [[0, 1], [2, 3]] as one list.
static bool pad_list(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  int64_t values[2 * HSC_MAX_RANK];
  size_t count = 0;
  if (!hsc__mlir_expect(p, "["))
    return false;
  while (!hsc__mlir_accept(p, ']')) {
    if (count + 2 > HSC_COUNT_OF(values))
      return hsc__mlir_error(p, p->p, "more than %d paddings", HSC_MAX_RANK);
    if (!hsc__mlir_expect(p, "[") || !hsc__mlir_int(p, &values[count]) ||
        !hsc__mlir_expect(p, ",") || !hsc__mlir_int(p, &values[count + 1]) ||
        !hsc__mlir_expect(p, "]"))
      return false;
    count += 2;
    if (!comma_or(p, ']'))
      return false;
  }
  *out = hsc__mlir_make_ints(p, values, count);
  return *out != NULL;
}

// [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]],
// lhs_dilate = ..., rhs_dilate = ..., reverse = [false, false]}
static bool conv(hsc__mlir_parser *p, hsc__mlir_op *op) {
  static const struct {
    const char *word, *name;
  } lists[] = {{"stride", "window_strides"},
               {"lhs_dilate", "lhs_dilation"},
               {"rhs_dilate", "rhs_dilation"},
               {"reverse", "window_reversal"},
               {"pad", "padding"}};
  if (!hsc__mlir_conv_dims(p, op) || !hsc__mlir_expect(p, ",") || !hsc__mlir_expect(p, "window") ||
      !hsc__mlir_expect(p, "=") || !hsc__mlir_expect(p, "{"))
    return false;
  while (!hsc__mlir_accept(p, '}')) {
    hsc_view word;
    const hsc__mlir_attr *value;
    if (!hsc__mlir_ident(p, "stride, pad, lhs_dilate, rhs_dilate or reverse", &word) ||
        !hsc__mlir_expect(p, "="))
      return false;
    size_t i = 0;
    while (i < HSC_COUNT_OF(lists) && !hsc_view_equals_text(word, lists[i].word))
      i++;
    if (i == HSC_COUNT_OF(lists))
      return hsc__mlir_error(
          p, word.data, "expected stride, pad, lhs_dilate, rhs_dilate or reverse, found '%.*s'",
          (int)word.size, word.data);
    if (i + 1 == HSC_COUNT_OF(lists) ? !pad_list(p, &value) : !hsc__mlir_int_list(p, &value))
      return false;
    if (!hsc__mlir_add_attr(p, op, lists[i].name, value))
      return false;
    if (!comma_or(p, '}'))
      return false;
  }
  return true;
}

// e5m10
static bool exponent(hsc__mlir_parser *p, hsc__mlir_op *op) {
  hsc_view word;
  int e;
  int m;
  int used = 0;
  char text[32];
  if (!hsc__mlir_ident(p, "a format like e5m10", &word))
    return false;
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(word, 30), word.data);
  if (sscanf(text, "e%9dm%9d%n", &e, &m, &used) != 2 || (size_t)used != word.size)
    return hsc__mlir_error(p, word.data, "expected a format like e5m10");
  return hsc__mlir_add_attr(p, op, "exponent_bits", hsc__mlir_make_int(p, e)) &&
         hsc__mlir_add_attr(p, op, "mantissa_bits", hsc__mlir_make_int(p, m));
}

static bool attribute_of_kind(hsc__mlir_parser *p,
                              hsc__mlir_op *op,
                              const char *name,
                              hsc_view kind) {
  hsc__mlir_skip(p);
  const char *at = p->p;
  const hsc__mlir_attr *value;
  if (hsc_view_equals_text(kind, "ints"))
    return hsc__mlir_int_list(p, &value) && hsc__mlir_add_attr(p, op, name, value);
  if (hsc_view_equals_text(kind, "int")) {
    int64_t number;
    return hsc__mlir_int(p, &number) &&
           hsc__mlir_add_attr(p, op, name, hsc__mlir_make_int(p, number));
  }
  if (hsc_view_equals_text(kind, "bool")) {
    hsc__mlir_attr *truth = hsc__mlir_make_attr(p, HSC_MLIR_BOOL);
    if (!truth)
      return false;
    truth->integer = hsc__mlir_accept_word(p, "true");
    if (!truth->integer && !hsc__mlir_accept_word(p, "false"))
      return hsc__mlir_expected(p, "true or false");
    return hsc__mlir_add_attr(p, op, name, truth);
  }
  if (hsc_view_equals_text(kind, "string")) {
    hsc__mlir_attr *string = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
    return string && hsc__mlir_string(p, &string->text) && hsc__mlir_add_attr(p, op, name, string);
  }
  hsc_view word;  // a case of an enumeration, alone or as #stablehlo<enumeration CASE>
  if (*at == '#')
    return hsc__mlir_attribute(p, &value) && hsc__mlir_add_attr(p, op, name, value);
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ENUM);
  if (!attr || !hsc__mlir_ident(p, name, &word))
    return false;
  if (!hsc__mlir_enum_number(kind, word, &attr->integer))
    return hsc__mlir_error(p, word.data, "unknown %s '%.*s'", name, (int)word.size, word.data);
  return hsc__mlir_add_attr(p, op, name, attr);
}

// ---- the interpreter ----------------------------------------------------------------------------

static hsc_view next_element(const char **form) {
  while (**form == ' ')
    ++*form;
  const char *start = *form;
  while (**form && **form != ' ')
    ++*form;
  return (hsc_view){start, (size_t)(*form - start)};
}

// "?x" and what belongs to it, up to the next "?", the attributes or a closing parenthesis.
static void skip_optional(const char **form) {
  const char *ahead = *form;
  for (hsc_view next = next_element(&ahead);
       next.size && !hsc_view_equals_text(next, "A") && next.data[0] != '?' &&
       !hsc_view_equals_text(next, ")");
       next = next_element(&ahead))
    *form = ahead;
}

// "name:kind"
static bool named_attribute(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view e, const char *colon) {
  char name[48];
  snprintf(name, sizeof name, "%.*s", (int)(colon - e.data), e.data);
  const char *kept = hsc_arena_strdup(p->arena, name);
  if (!kept)
    return hsc__mlir_out_of_memory(p);
  return attribute_of_kind(p, op, kept,
                           (hsc_view){colon + 1, (size_t)(e.data + e.size - colon - 1)});
}

// "@callee", and "@" of a custom call's target
static bool symbol_attribute(hsc__mlir_parser *p, hsc__mlir_op *op, bool callee) {
  hsc__mlir_attr *symbol = hsc__mlir_make_attr(p, callee ? HSC_MLIR_SYMBOL : HSC_MLIR_STRING);
  return symbol && hsc__mlir_symbol(p, &symbol->text) &&
         hsc__mlir_add_attr(p, op, callee ? "callee" : "call_target_name", symbol);
}

// <@mesh, [...]>: nothing is made of it here
static bool skip_sharding(hsc__mlir_parser *p) {
  hsc_view text;
  if (!hsc__mlir_expect(p, "<"))
    return false;
  do {
    if (!hsc__mlir_balanced(p, &text))
      return false;
  } while (hsc__mlir_accept(p, ','));
  return hsc__mlir_expect(p, ">");
}

// Elements that are a function of their own.
static bool run_special(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view e, bool *out_known) {
  static const struct {
    const char *name;
    bool (*parse)(hsc__mlir_parser *p, hsc__mlir_op *op);
  } specials[] = {{"ranges", ranges},
                  {"dot_dims", dot_dims},
                  {"precision", precision},
                  {"conv", conv},
                  {"exponent", exponent}};
  *out_known = true;
  for (size_t i = 0; i < HSC_COUNT_OF(specials); i++)
    if (hsc_view_equals_text(e, specials[i].name))
      return specials[i].parse(p, op);
  if (hsc_view_equals_text(e, "sharding"))
    return skip_sharding(p);
  *out_known = false;
  return true;
}

static bool run_element(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view e, const char **form) {
  const char *colon = memchr(e.data, ':', e.size);
  char text[32];
  if (hsc_view_equals_text(e, "o"))
    return push_operand(p);
  if (hsc_view_equals_text(e, "o*") || hsc_view_equals_text(e, "o*,"))
    return operand_list(p, e.size == 3);
  if (hsc_view_equals_text(e, "A"))
    return !hsc__mlir_accept(p, '{') || hsc__mlir_attr_entries(p, op, '}');
  if (e.data[0] == '?' && e.size == 2) {
    snprintf(text, sizeof text, "%c", e.data[1]);
    if (!hsc__mlir_accept_text(p, text))
      skip_optional(form);
    return true;
  }
  if (colon)
    return named_attribute(p, op, e, colon);
  if (e.data[0] == '@')
    return symbol_attribute(p, op, e.size > 1);
  bool known;
  bool ok = run_special(p, op, e, &known);
  if (known)
    return ok;
  snprintf(text, sizeof text, "%.*s", (int)e.size, e.data);
  return hsc__mlir_expect(p, text);
}

static bool run_form(hsc__mlir_parser *p, hsc__mlir_op *op, const char *form) {
  size_t stack_start = p->stack.size;
  bool operands_set = false;
  for (hsc_view e = next_element(&form); e.size; e = next_element(&form)) {
    if (e.data[0] != ':' || e.size == 1) {
      if (!run_element(p, op, e, &form))
        return false;
      continue;
    }
    if (!operands_set && !hsc__mlir_set_operands(p, op, stack_start))
      return false;
    operands_set = true;
    if (!types_of(p, op, e))
      return false;
  }
  return operands_set || hsc__mlir_set_operands(p, op, stack_start);
}

// ---- constant, reduce, while --------------------------------------------------------------------

static bool constant(hsc__mlir_parser *p, hsc__mlir_op *op) {
  const hsc__mlir_attr *value;
  // the generic form without quotes: () <{value = ...}> : () -> type
  if (hsc__mlir_accept(p, '(')) {
    type_pointer type;
    if (!hsc__mlir_expect(p, ")") ||
        (hsc__mlir_accept_text(p, "<{") &&
         (!hsc__mlir_attr_entries(p, op, '}') || !hsc__mlir_expect(p, ">"))))
      return false;
    if (hsc__mlir_accept(p, '{') && !hsc__mlir_attr_entries(p, op, '}'))
      return false;
    return hsc__mlir_expect(p, ":") && hsc__mlir_function_type(p, &type) &&
           hsc__mlir_set_results(p, op, type->elements + type->input_count,
                                 type->element_count - type->input_count);
  }
  if (hsc__mlir_accept(p, '{') && !hsc__mlir_attr_entries(p, op, '}'))
    return false;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!hsc__mlir_attribute(p, &value))
    return false;
  if (value->kind != HSC_MLIR_DENSE)
    return hsc__mlir_error(p, at, "expected dense<...> : tensor<...>");
  return hsc__mlir_add_attr(p, op, "value", value) && hsc__mlir_set_results(p, op, &value->type, 1);
}

// (%a init: %b), (%c init: %d): inputs, then initial values
static bool reduce_operands(hsc__mlir_parser *p, hsc__mlir_op *op, int *out_count) {
  size_t stack_start = p->stack.size;
  int count = 0;
  do {
    if (!hsc__mlir_expect(p, "(") || !push_operand(p) || !hsc__mlir_expect(p, "init") ||
        !hsc__mlir_expect(p, ":") || !push_operand(p) || !hsc__mlir_expect(p, ")"))
      return false;
    count++;
  } while (hsc__mlir_accept(p, ','));
  if (!hsc__mlir_set_operands(p, op, stack_start))
    return false;
  hsc__mlir_value **pairs = HSC_NEW_ARRAY(p->arena, hsc__mlir_value *, 2 * count);
  if (!pairs)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < count; i++) {
    pairs[i] = op->operands[2 * i];
    pairs[count + i] = op->operands[2 * i + 1];
  }
  op->operands = pairs;
  *out_count = count;
  return true;
}

// "applies": a reducer of the operation `name` on scalars of the first operand's type.
static bool reduce_by_one_op(
    hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view name, type_pointer type, const char *at) {
  hsc__mlir_block *block = HSC_NEW(p->arena, hsc__mlir_block);
  hsc__mlir_type *scalar = HSC_NEW(p->arena, hsc__mlir_type);
  hsc__mlir_op *apply = hsc__mlir_new_op(p, name.data, name);
  hsc__mlir_op *end = hsc__mlir_new_op(p, name.data, HSC_VIEW("stablehlo.return"));
  op->regions = HSC_NEW_ARRAY(p->arena, hsc__mlir_block *, 1);
  if (!block || !scalar || !apply || !end || !op->regions)
    return hsc__mlir_out_of_memory(p);
  if (type->input_count < 1 || type->elements[0]->kind != HSC_MLIR_TENSOR)
    return hsc__mlir_error(p, at, "expected a tensor as the first input");
  *scalar = (hsc__mlir_type){.kind = HSC_MLIR_TENSOR,
                             .shape = hsc_shape_scalar(type->elements[0]->shape.type)};
  type_pointer scalar_type = scalar;
  block->arguments = HSC_NEW_ARRAY(p->arena, hsc__mlir_value, 2);
  block->ops = HSC_NEW_ARRAY(p->arena, hsc__mlir_op *, 2);
  apply->operands = HSC_NEW_ARRAY(p->arena, hsc__mlir_value *, 2);
  end->operands = HSC_NEW_ARRAY(p->arena, hsc__mlir_value *, 1);
  if (!block->arguments || !block->ops || !apply->operands || !end->operands ||
      !hsc__mlir_set_results(p, apply, &scalar_type, 1))
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < 2; i++) {
    block->arguments[i] = (hsc__mlir_value){.type = scalar, .block = block};
    apply->operands[i] = &block->arguments[i];
  }
  apply->operand_count = 2;
  apply->block = end->block = block;
  apply->results[0].block = block;
  end->operands[0] = &apply->results[0];
  end->operand_count = 1;
  block->ops[0] = apply;
  block->ops[1] = end;
  block->argument_count = block->op_count = 2;
  block->parent = op;
  op->regions[0] = block;
  op->region_count = 1;
  return true;
}

// reducer(%x: t, %y: t) (%z: u, %w: u) { ... }: arguments of each pair; all first ones come first.
static bool reduce_by_region(hsc__mlir_parser *p, hsc__mlir_op *op, int count) {
  if (!hsc__mlir_expect(p, "reducer"))
    return false;
  hsc__mlir_argument *arguments = HSC_NEW_ARRAY(p->arena, hsc__mlir_argument, 2 * count);
  if (!arguments)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < count; i++) {
    if (!hsc__mlir_expect(p, "("))
      return false;
    for (int k = 0; k < 2; k++) {
      hsc__mlir_argument *argument = &arguments[k * count + i];
      if (!hsc__mlir_typed_argument(p, argument) || !hsc__mlir_expect(p, k ? ")" : ","))
        return false;
    }
  }
  return hsc__mlir_region(p, op, arguments, 2 * count);
}

// (%a init: %b), (%c init: %d) [applies op] across dimensions = [0] : (...) -> ... [reducer(%x: t,
// %y: t) (...) { ... }]
static bool reduce(hsc__mlir_parser *p, hsc__mlir_op *op) {
  int count = 0;
  hsc_view inner = {0};
  const hsc__mlir_attr *dims;
  type_pointer type;
  if (!reduce_operands(p, op, &count))
    return false;
  if (hsc__mlir_accept_word(p, "applies") && !hsc__mlir_ident(p, "an operation", &inner))
    return false;
  if (!hsc__mlir_expect(p, "across") || !hsc__mlir_expect(p, "dimensions") ||
      !hsc__mlir_expect(p, "=") || !hsc__mlir_int_list(p, &dims) ||
      !hsc__mlir_add_attr(p, op, "dimensions", dims))
    return false;
  if (hsc__mlir_accept(p, '{') && !hsc__mlir_attr_entries(p, op, '}'))
    return false;
  if (!hsc__mlir_expect(p, ":"))
    return false;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!hsc__mlir_function_type(p, &type) || !set_function_types(p, op, at, type))
    return false;
  return inner.size ? reduce_by_one_op(p, op, inner, type, at) : reduce_by_region(p, op, count);
}

// (%x = %a, %y = %b) : types [attributes {...}] cond { ... } do { ... }
// "(%i = %0, %x = %1)": the names of a loop's state into `names`, its operands onto the stack.
static bool loop_state(hsc__mlir_parser *p, hsc_bytes *names, int *out_count) {
  *out_count = 0;
  if (!hsc__mlir_expect(p, "("))
    return false;
  if (hsc__mlir_accept(p, ')'))
    return true;
  do {
    hsc_view name;
    if (!hsc__mlir_expect(p, "%") || !hsc__mlir_suffix(p, "the name of an argument", &name) ||
        !hsc__mlir_expect(p, "=") || !push_operand(p))
      return false;
    hsc_bytes_append(names, &name, sizeof name);
    ++*out_count;
  } while (hsc__mlir_accept(p, ','));
  return hsc__mlir_expect(p, ")");
}

// ": tensor<i32>, tensor<4xf32>", one a part of the state; nothing for none.
static bool state_types(hsc__mlir_parser *p, hsc__mlir_op *op, type_pointer *types, int count) {
  if (count == 0)
    return true;
  if (!hsc__mlir_expect(p, ":"))
    return false;
  hsc__mlir_skip(p);
  const char *at = p->p;
  for (int i = 0; i < count; i++)
    if ((i > 0 && !hsc__mlir_expect(p, ",")) || !hsc__mlir_type_parse(p, &types[i]))
      return false;
  return hsc__mlir_check_operand_types(p, at, op, types, count);
}

static bool while_loop(hsc__mlir_parser *p, hsc__mlir_op *op) {
  size_t stack_start = p->stack.size;
  hsc_bytes names = {0};
  int count = 0;
  hsc__mlir_argument *arguments = NULL;
  type_pointer *types = NULL;
  bool ok = loop_state(p, &names, &count);
  if (ok) {
    arguments = HSC_NEW_ARRAY(p->arena, hsc__mlir_argument, count + 1);
    types = HSC_NEW_ARRAY(p->arena, type_pointer, count + 1);
    if (!arguments || !types || names.failed)
      ok = hsc__mlir_out_of_memory(p);
  }
  ok = ok && hsc__mlir_set_operands(p, op, stack_start) && state_types(p, op, types, count);
  for (int i = 0; i < count && ok; i++) {
    arguments[i].type = types[i];
    memcpy(&arguments[i].name, names.data + (size_t)i * sizeof(hsc_view), sizeof(hsc_view));
  }
  hsc_bytes_deinit(&names);
  ok = ok && hsc__mlir_set_results(p, op, types, count);
  if (ok && hsc__mlir_accept_word(p, "attributes"))
    ok = hsc__mlir_expect(p, "{") && hsc__mlir_attr_entries(p, op, '}');
  return ok && hsc__mlir_expect(p, "cond") && hsc__mlir_region(p, op, arguments, count) &&
         hsc__mlir_expect(p, "do") && hsc__mlir_region(p, op, arguments, count);
}

static bool is_of_known_dialect(hsc_view name) {
  static const char *const own[] = {"stablehlo.", "chlo.", "mhlo.",   "vhlo.",
                                    "func.",      "sdy.",  "builtin."};
  for (size_t i = 0; i < HSC_COUNT_OF(own); i++)
    if (name.size > strlen(own[i]) && !memcmp(name.data, own[i], strlen(own[i])))
      return true;
  return false;
}

// Whether an operation was read to its end: nothing but a location or a comment follows on the
// line.
static bool ends_here(const hsc__mlir_parser *p) {
  const char *rest = p->p;
  while (rest > p->begin &&
         (rest[-1] == ' ' || rest[-1] == '\t' || rest[-1] == '\r' || rest[-1] == '\n'))
    rest--;
  while (*rest == ' ' || *rest == '\t' || *rest == '\r')
    rest++;
  return *rest == '\n' || *rest == 0 || *rest == '/' || *rest == '}' || !strncmp(rest, "loc(", 4);
}

// "%0, %1 {attributes} : type", as most operations without a form of their own are written. Another
// dialect's form may be anything: what is not understood is called unsupported, not an error.
static bool usual_form(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view written_name) {
  bool read = run_form(p, op, "o* A :same");
  if (is_of_known_dialect(written_name) || (read && ends_here(p)))
    return read;
  if ((!read && hsc_status_code(p->status) != HSC_INVALID_ARGUMENT) ||
      !memchr(written_name.data, '.', written_name.size))
    return read;
  hsc_status_free(p->status);
  p->status = NULL;
  return hsc__mlir_unsupported(
      p, written_name.data,
      hsc_arena_printf(p->arena, "not built yet: the custom form of '%.*s', of another dialect",
                       (int)written_name.size, written_name.data));
}

bool hsc__mlir_custom_op(hsc__mlir_parser *p, hsc__mlir_op *op, hsc_view written_name) {
  if (strcmp(op->name, "constant") == 0)
    return constant(p, op);
  if (strcmp(op->name, "reduce") == 0)
    return reduce(p, op);
  if (strcmp(op->name, "while") == 0)
    return while_loop(p, op);
  bool known;
  if (!hsc__mlir_sdy_op(p, op, written_name, &known))
    return false;
  if (known)
    return true;
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(op->name);
  if (row && *row->form)
    return run_form(p, op, row->form);
  if (!hsc__mlir_peek(p, '%'))
    return hsc__mlir_unsupported(
        p, written_name.data,
        hsc_arena_printf(
            p->arena,
            "not built yet: the custom form of '%.*s'; write it in the generic form, \"%.*s\"(...)",
            (int)written_name.size, written_name.data, (int)written_name.size, written_name.data));
  return usual_form(p, op, written_name);
}
