// mlir_print.c - the tree of an export as MLIR text: for people, as JAX prints it (the forms of
// stablehlo_ops.def, read the other way), and in the generic form, which says everything.
//
// How to read: put_op, at the end, chooses: an operation with a form is printed by run_form,
// element by element (put_special, put_element); some have a function of their own (functions,
// loops, reductions, constants); all others take the generic form. Attributes that a form prints
// are taken away, what is left goes into the dictionary.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/mlir/mlir_op_rows.h"
#include "formats/mlir/mlir_print_internal.h"

// ---- names of values ----------------------------------------------------------------------------

// A value's stamp is what its name starts with and a number that no other value of the function
// has.
static const char *const prefixes[] = {"%", "%arg", "%cst", "%c", "%iterArg"};
enum { NAME_NUMBER, NAME_ARGUMENT, NAME_FLOAT, NAME_INT, NAME_LOOP, NAME_KINDS };

static void give_name(hsc__mlir_printer *p, hsc__mlir_value *value, int kind) {
  value->stamp = p->next[kind]++ * NAME_KINDS + kind;
}

static void put_name(hsc__mlir_printer *p, const hsc__mlir_value *value) {
  const hsc__mlir_op *owner = value->owner;
  int64_t stamp = owner ? owner->results[0].stamp : value->stamp;
  int64_t kind = stamp % NAME_KINDS;
  int64_t number = stamp / NAME_KINDS;
  hsc_bytes_append_text(p->out, prefixes[kind]);
  bool numbered = kind == NAME_NUMBER || kind == NAME_ARGUMENT;
  if (numbered)
    hsc_bytes_printf(p->out, "%" PRId64, number);
  else if (number)
    hsc_bytes_printf(p->out, "_%" PRId64, number - 1);
  if (owner && owner->result_count > 1)
    hsc_bytes_printf(p->out, "#%d", (int)(value - owner->results));
}

static void put_operands(hsc__mlir_printer *p, const hsc__mlir_op *op, int from) {
  for (int i = from; i < op->operand_count; i++) {
    if (i > from)
      PUT(p, ", ");
    put_name(p, op->operands[i]);
  }
}

static void indent(hsc__mlir_printer *p) {
  for (int i = 0; i < p->depth; i++)
    PUT(p, "  ");
}

// ---- types of an operation ----------------------------------------------------------------------

static void put_type(hsc__mlir_printer *p, const hsc__mlir_type *type) {
  hsc__mlir_print_type(p->out, type);
}

static void put_operand_types(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  for (int i = 0; i < op->operand_count; i++) {
    if (i)
      PUT(p, ", ");
    put_type(p, op->operands[i]->type);
  }
}

static void put_result_types(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  bool braces = op->result_count != 1 || op->results[0].type->kind == HSC_MLIR_FUNCTION;
  if (braces)
    PUT(p, "(");
  for (int i = 0; i < op->result_count; i++) {
    if (i)
      PUT(p, ", ");
    put_type(p, op->results[i].type);
  }
  if (braces)
    PUT(p, ")");
}

static void put_function_type(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  PUT(p, "(");
  put_operand_types(p, op);
  PUT(p, ") -> ");
  put_result_types(p, op);
}

static bool same_type(const hsc__mlir_type *a, const hsc__mlir_type *b) {
  if (a->kind != b->kind)
    return false;
  return a->kind == HSC_MLIR_TENSOR ? hsc_shape_equal(&a->shape, &b->shape)
                                    : a->kind == HSC_MLIR_TOKEN;
}

static void put_types(hsc__mlir_printer *p, const hsc__mlir_op *op, hsc_view directive) {
  bool same = op->result_count == 1;
  for (int i = 0; i < op->operand_count && same; i++)
    same = same_type(op->operands[i]->type, op->results[0].type);
  if (hsc_view_equals_text(directive, ":operands")) {
    if (!op->operand_count)
      return;
    PUT(p, " : ");
    put_operand_types(p, op);
    return;
  }
  PUT(p, " : ");
  if (hsc_view_equals_text(directive, ":pairs")) {
    put_operand_types(p, op);
  } else if (hsc_view_equals_text(directive, ":arrow")) {
    put_operand_types(p, op);
    PUT(p, " -> ");
    put_result_types(p, op);
  } else if (hsc_view_equals_text(directive, ":select")) {
    put_type(p, op->operands[0]->type);
    PUT(p, ", ");
    put_type(p, op->results[0].type);
  } else if (hsc_view_equals_text(directive, ":fn") ||
             (hsc_view_equals_text(directive, ":same") && !same)) {
    put_function_type(p, op);
  } else {  // :same :results :tuple :complex
    put_type(p, op->results[0].type);
  }
}

// ---- attributes with forms of their own ---------------------------------------------------------

static const hsc__mlir_attr *take(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *name) {
  for (int i = 0; i < op->attr_count; i++) {
    if (!hsc_view_equals_text(op->attrs[i].name, name))
      continue;
    p->printed |= 1ull << i;
    return op->attrs[i].value;
  }
  return NULL;
}

static int64_t take_int(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *name) {
  const hsc__mlir_attr *attr = take(p, op, name);
  return attr ? attr->integer : 0;
}

static void put_take_ints(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *name) {
  const hsc__mlir_attr *attr = take(p, op, name);
  if (attr)
    hsc__mlir_print_ints(p->out, attr);
  else
    PUT(p, "[]");
}

static void put_ranges(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  const hsc__mlir_attr *start = take(p, op, "start_indices");
  const hsc__mlir_attr *limit = take(p, op, "limit_indices");
  const hsc__mlir_attr *stride = take(p, op, "strides");
  PUT(p, " [");
  for (int64_t i = 0; i < hsc_shape_elements(&start->type->shape); i++) {
    hsc_bytes_printf(p->out, "%s%" PRId64 ":%" PRId64, i ? ", " : "", hsc__mlir_dense_int(start, i),
                     hsc__mlir_dense_int(limit, i));
    if (hsc__mlir_dense_int(stride, i) != 1)
      hsc_bytes_printf(p->out, ":%" PRId64, hsc__mlir_dense_int(stride, i));
  }
  PUT(p, "]");
}

static void put_dot_dims(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  const hsc__mlir_attr *batch = take(p, op, "lhs_batching_dimensions");
  if (batch && hsc_shape_elements(&batch->type->shape)) {
    PUT(p, " batching_dims = ");
    hsc__mlir_print_ints(p->out, batch);
    PUT(p, " x ");
    put_take_ints(p, op, "rhs_batching_dimensions");
    PUT(p, ",");
  } else {
    take(p, op, "rhs_batching_dimensions");
  }
  PUT(p, " contracting_dims = ");
  put_take_ints(p, op, "lhs_contracting_dimensions");
  PUT(p, " x ");
  put_take_ints(p, op, "rhs_contracting_dimensions");
}

static void put_precision(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  const hsc__mlir_attr *config = take(p, op, "precision_config");
  const hsc__mlir_attr *lhs = hsc__mlir_attr_get(op, "lhs_precision_type");
  if (config) {
    PUT(p, ", precision = [");
    for (int i = 0; i < config->count; i++)
      hsc_bytes_printf(p->out, "%s%s", i ? ", " : "",
                       hsc__mlir_enum_text(HSC_VIEW("precision"), config->elements[i]->integer));
    PUT(p, "]");
  }
  if (!lhs)
    return;
  PUT(p, ", algorithm = ");
  hsc__mlir_print_group(p, op, "algorithm");
}

static void put_conv_part(hsc__mlir_printer *p,
                          const hsc__mlir_op *op,
                          const char *part,
                          char first,
                          const char *first_name,
                          char second,
                          const char *second_name) {
  char name[48];
  snprintf(name, sizeof name, "%s_spatial_dimensions", part);
  const hsc__mlir_attr *spatial = take(p, op, name);
  int64_t a = take_int(p, op, first_name);
  int64_t b = take_int(p, op, second_name);
  int64_t count = hsc_shape_elements(&spatial->type->shape);
  PUT(p, "[");
  for (int64_t i = 0; i < count + 2; i++) {
    if (i)
      PUT(p, ", ");
    if (i == a)
      hsc_bytes_append_char(p->out, first);
    else if (i == b)
      hsc_bytes_append_char(p->out, second);
    else
      for (int64_t k = 0; k < count; k++)
        if (hsc__mlir_dense_int(spatial, k) == i)
          hsc_bytes_printf(p->out, "%" PRId64, k);
  }
  PUT(p, "]");
}

void hsc__mlir_print_conv_dims(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  put_conv_part(p, op, "input", 'b', "input_batch_dimension", 'f', "input_feature_dimension");
  PUT(p, "x");
  put_conv_part(p, op, "kernel", 'i', "kernel_input_feature_dimension", 'o',
                "kernel_output_feature_dimension");
  PUT(p, "->");
  put_conv_part(p, op, "output", 'b', "output_batch_dimension", 'f', "output_feature_dimension");
}

static void put_conv(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  static const struct {
    const char *word, *name;
    int64_t usual;
  } lists[] = {{"stride", "window_strides", 1},
               {"pad", "padding", 0},
               {"lhs_dilate", "lhs_dilation", 1},
               {"rhs_dilate", "rhs_dilation", 1},
               {"reverse", "window_reversal", 0}};
  PUT(p, " ");
  hsc__mlir_print_conv_dims(p, op);
  PUT(p, ", window = {");
  bool any = false;
  for (size_t i = 0; i < HSC_COUNT_OF(lists); i++) {
    const hsc__mlir_attr *attr = take(p, op, lists[i].name);
    bool usual = true;
    for (int64_t k = 0; attr && k < hsc_shape_elements(&attr->type->shape); k++)
      usual &= hsc__mlir_dense_int(attr, k) == lists[i].usual;
    if (usual)
      continue;
    hsc_bytes_printf(p->out, "%s%s = ", any ? ", " : "", lists[i].word);
    any = true;
    if (i != 1) {
      hsc__mlir_print_ints(p->out, attr);
      continue;
    }
    PUT(p, "[");
    for (int64_t k = 0; k < attr->type->shape.dims[0]; k++)
      hsc_bytes_printf(p->out, "%s[%" PRId64 ", %" PRId64 "]", k ? ", " : "",
                       hsc__mlir_dense_int(attr, 2 * k), hsc__mlir_dense_int(attr, 2 * k + 1));
    PUT(p, "]");
  }
  PUT(p, "}");
}

// ---- the interpreter of forms -------------------------------------------------------------------

static hsc_view next_element(const char **form) {
  while (**form == ' ')
    ++*form;
  const char *start = *form;
  while (**form && **form != ' ')
    ++*form;
  return (hsc_view){start, (size_t)(*form - start)};
}

static void name_of_element(hsc_view e, char *name, size_t size) {
  const char *colon = memchr(e.data, ':', e.size);
  snprintf(name, size, "%.*s", (int)(colon ? colon - e.data : 0), e.data);
}

static void put_element_attr(hsc__mlir_printer *p, const hsc__mlir_op *op, hsc_view e) {
  char name[48];
  name_of_element(e, name, sizeof name);
  hsc_view kind = {e.data + strlen(name) + 1, e.size - strlen(name) - 1};
  const hsc__mlir_attr *attr = take(p, op, name);
  if (!attr)
    return;
  if (hsc_view_equals_text(kind, "ints"))
    hsc__mlir_print_ints(p->out, attr);
  else if (hsc_view_equals_text(kind, "int"))
    hsc_bytes_printf(p->out, "%" PRId64, attr->integer);
  else if (attr->kind == HSC_MLIR_ENUM)
    hsc_bytes_append_text(p->out, hsc__mlir_enum_text(attr->text, attr->integer));
  else
    hsc__mlir_print_attr(p->out, attr);
}

static void put_exponent(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  hsc_bytes_printf(p->out, " e%" PRId64 "m%" PRId64, take_int(p, op, "exponent_bits"),
                   take_int(p, op, "mantissa_bits"));
}

// "?x" is there when its attribute is; what belongs to it is passed over else.
static void put_optional(hsc__mlir_printer *p,
                         const hsc__mlir_op *op,
                         hsc_view e,
                         const char **form) {
  const char *ahead = *form;
  char name[48] = "";
  for (hsc_view next = next_element(&ahead);
       next.size && !hsc_view_equals_text(next, "A") && next.data[0] != '?';
       next = next_element(&ahead)) {
    if (!name[0] && memchr(next.data, ':', next.size))
      name_of_element(next, name, sizeof name);
    if (!name[0] || hsc__mlir_attr_get(op, name))
      continue;
    if (!hsc_view_equals_text(next, ")"))
      *form = ahead;
  }
  if (hsc__mlir_attr_get(op, name))
    hsc_bytes_append(p->out, e.data + 1, 1);
}

// Elements that say for themselves what is before them; false: `e` is none.
static bool put_special(hsc__mlir_printer *p,
                        const hsc__mlir_op *op,
                        hsc_view e,
                        const char **form) {
  static const struct {
    const char *name;
    void (*put)(hsc__mlir_printer *p, const hsc__mlir_op *op);
  } specials[] = {{"ranges", put_ranges},
                  {"dot_dims", put_dot_dims},
                  {"precision", put_precision},
                  {"conv", put_conv},
                  {"exponent", put_exponent}};
  if (e.data[0] == ':' && e.size > 1) {
    put_types(p, op, e);
    return true;
  }
  if (e.data[0] == '?') {
    put_optional(p, op, e, form);
    return true;
  }
  if (hsc_view_equals_text(e, "A")) {
    hsc__mlir_print_rest(p, op, true);
    return true;
  }
  // operands and punctuation, most of what forms are made of, are short
  for (size_t i = 0; i < HSC_COUNT_OF(specials) && e.size >= 4; i++)
    if (hsc_view_equals_text(e, specials[i].name)) {
      specials[i].put(p, op);
      return true;
    }
  return false;
}

static bool is_operand_list(hsc_view e) {
  return hsc_view_equals_text(e, "o*") || hsc_view_equals_text(e, "o*,");
}

// One element of the form; *operand: the next one.
static void put_element(hsc__mlir_printer *p, const hsc__mlir_op *op, hsc_view e, int *operand) {
  if (hsc_view_equals_text(e, "o")) {
    if (*operand < op->operand_count)
      put_name(p, op->operands[(*operand)++]);
  } else if (is_operand_list(e)) {
    put_operands(p, op, *operand);
    *operand = op->operand_count;
    if (e.size == 3)
      PUT(p, ",");
  } else if (hsc_view_equals_text(e, "@")) {
    hsc__mlir_print_symbol(p->out, take(p, op, "call_target_name")->text);
  } else if (hsc_view_equals_text(e, "@callee")) {
    hsc__mlir_print_symbol(p->out, take(p, op, "callee")->text);
  } else if (memchr(e.data, ':', e.size)) {
    put_element_attr(p, op, e);
  } else {
    hsc_bytes_append(p->out, e.data, e.size);
  }
}

static void run_form(hsc__mlir_printer *p, const hsc__mlir_op *op, const char *form) {
  int operand = 0;
  bool glue = false;  // no space before what comes next
  for (hsc_view e = next_element(&form); e.size; e = next_element(&form)) {
    char c = e.data[0];
    if (put_special(p, op, e, &form))
      continue;
    if (is_operand_list(e) && operand == op->operand_count)
      continue;
    bool punctuation = e.size == 1 && strchr(",()[]", c);
    if (!punctuation && !glue)
      PUT(p, " ");
    glue = e.size == 1 && (c == '(' || c == '[');
    put_element(p, op, e, &operand);
  }
}

// ---- regions ------------------------------------------------------------------------------------

static void put_op(hsc__mlir_printer *p, hsc__mlir_op *op);

static void put_block(hsc__mlir_printer *p, hsc__mlir_block *block) {
  p->depth++;
  for (int i = 0; i < block->op_count; i++)
    put_op(p, block->ops[i]);
  p->depth--;
}

// ^bb0(%arg0: type, ...):
static void put_label(hsc__mlir_printer *p, hsc__mlir_block *block) {
  if (!block->argument_count)
    return;
  indent(p);
  PUT(p, "^bb0(");
  for (int i = 0; i < block->argument_count; i++) {
    give_name(p, &block->arguments[i], NAME_ARGUMENT);
    if (i)
      PUT(p, ", ");
    put_name(p, &block->arguments[i]);
    PUT(p, ": ");
    put_type(p, block->arguments[i].type);
  }
  PUT(p, "):\n");
}

static void put_region(hsc__mlir_printer *p, hsc__mlir_block *block) {
  PUT(p, "{\n");
  put_label(p, block);
  put_block(p, block);
  indent(p);
  PUT(p, "}");
}

static void put_generic(hsc__mlir_printer *p, hsc__mlir_op *op) {
  hsc_bytes_printf(p->out, "\"%s\"(", op->written_name);
  put_operands(p, op, 0);
  PUT(p, ")");
  hsc__mlir_print_properties(p, op);
  if (op->region_count) {
    uint64_t printed = p->printed;
    PUT(p, " (");
    for (int i = 0; i < op->region_count; i++) {
      if (i)
        PUT(p, ", ");
      put_region(p, op->regions[i]);
    }
    PUT(p, ")");
    p->printed = printed;
  }
  hsc__mlir_print_rest(p, op, true);
  PUT(p, " : ");
  put_function_type(p, op);
}

// ---- operations with forms of their own ---------------------------------------------------------

// One operation of two arguments in their order, which commutes, and nothing else: its name; else
// NULL.
static const char *applied(const hsc__mlir_op *op) {
  static const char *const names[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  const hsc__mlir_block *block = op->regions[0];
  if (op->operand_count != 2 || block->op_count != 2 || block->argument_count != 2)
    return NULL;
  const hsc__mlir_op *apply = block->ops[0];
  const hsc__mlir_op *end = block->ops[1];
  if (apply->operand_count != 2 || apply->result_count != 1 || apply->attr_count ||
      end->operand_count != 1 || end->operands[0] != &apply->results[0])
    return NULL;
  if (apply->operands[0] != &block->arguments[0] || apply->operands[1] != &block->arguments[1])
    return NULL;
  if (op->operands[0]->type->shape.type != block->arguments[0].type->shape.type)
    return NULL;
  for (size_t i = 0; i < HSC_COUNT_OF(names); i++)
    if (!strcmp(apply->name, names[i]))
      return apply->written_name;
  return NULL;
}

static void put_reduce(hsc__mlir_printer *p, hsc__mlir_op *op) {
  const char *name = applied(op);
  hsc__mlir_block *block = op->regions[0];
  int count = op->operand_count / 2;
  PUT(p, "stablehlo.reduce");
  for (int i = 0; i < count; i++) {
    hsc_bytes_append_text(p->out, i ? ", (" : "(");
    put_name(p, op->operands[i]);
    PUT(p, " init: ");
    put_name(p, op->operands[count + i]);
    PUT(p, ")");
  }
  if (name)
    hsc_bytes_printf(p->out, " applies %s", name);
  PUT(p, " across dimensions = ");
  put_take_ints(p, op, "dimensions");
  hsc__mlir_print_rest(p, op, true);
  PUT(p, " : ");
  put_function_type(p, op);
  if (name)
    return;
  PUT(p, "\n");
  indent(p);
  PUT(p, " reducer");
  for (int i = 0; i < 2 * count; i++)
    give_name(p, &block->arguments[i], NAME_ARGUMENT);
  for (int i = 0; i < count; i++) {
    hsc_bytes_append_text(p->out, i ? " (" : "(");
    for (int k = 0; k < 2; k++) {
      const hsc__mlir_value *argument = &block->arguments[k * count + i];
      if (k)
        PUT(p, ", ");
      put_name(p, argument);
      PUT(p, ": ");
      put_type(p, argument->type);
    }
    PUT(p, ")");
  }
  PUT(p, " {\n");
  put_block(p, block);
  indent(p);
  PUT(p, "}");
}

static void put_while(hsc__mlir_printer *p, hsc__mlir_op *op) {
  PUT(p, "stablehlo.while(");
  for (int i = 0; i < op->operand_count; i++) {
    give_name(p, &op->regions[0]->arguments[i], NAME_LOOP);
    op->regions[1]->arguments[i].stamp = op->regions[0]->arguments[i].stamp;
    if (i)
      PUT(p, ", ");
    put_name(p, &op->regions[0]->arguments[i]);
    PUT(p, " = ");
    put_name(p, op->operands[i]);
  }
  PUT(p, ")");
  if (op->operand_count)
    PUT(p, " : ");
  put_operand_types(p, op);
  if (op->attr_count) {
    PUT(p, " attributes");
    hsc__mlir_print_rest(p, op, true);
  }
  PUT(p, "\n");
  indent(p);
  PUT(p, "cond {\n");
  put_block(p, op->regions[0]);
  indent(p);
  PUT(p, "} do {\n");
  put_block(p, op->regions[1]);
  indent(p);
  PUT(p, "}");
}

static void put_constant(hsc__mlir_printer *p, const hsc__mlir_op *op) {
  const hsc__mlir_attr *value = take(p, op, "value");
  PUT(p, "stablehlo.constant");
  hsc__mlir_print_rest(p, op, true);
  PUT(p, " ");
  hsc__mlir_print_attr(p->out, value);
}

static void put_dict_of(hsc__mlir_printer *p, const hsc__mlir_attr *attrs, int i) {
  if (!attrs || i >= attrs->count || !attrs->elements[i]->count)
    return;
  PUT(p, " ");
  hsc__mlir_print_attr(p->out, attrs->elements[i]);
}

static void put_func(hsc__mlir_printer *p, hsc__mlir_op *op) {
  const hsc__mlir_type *type = take(p, op, "function_type")->type;
  const hsc__mlir_attr *visibility = take(p, op, "sym_visibility");
  const hsc__mlir_attr *arguments = take(p, op, "arg_attrs");
  const hsc__mlir_attr *result_attrs = take(p, op, "res_attrs");
  hsc__mlir_block *block = op->regions[0];
  hsc_bytes_printf(p->out, "func.func %.*s ", (int)visibility->text.size, visibility->text.data);
  hsc__mlir_print_symbol(p->out, take(p, op, "sym_name")->text);
  PUT(p, "(");
  for (int i = 0; i < block->argument_count; i++) {
    give_name(p, &block->arguments[i], NAME_ARGUMENT);
    if (i)
      PUT(p, ", ");
    put_name(p, &block->arguments[i]);
    PUT(p, ": ");
    put_type(p, block->arguments[i].type);
    put_dict_of(p, arguments, i);
  }
  PUT(p, ")");
  int results = type->element_count - type->input_count;
  if (results)
    PUT(p, " -> ");
  if (results)
    PUT(p, "(");
  for (int i = 0; i < results; i++) {
    if (i)
      PUT(p, ", ");
    put_type(p, type->elements[type->input_count + i]);
    put_dict_of(p, result_attrs, i);
  }
  if (results)
    PUT(p, ")");
  PUT(p, " {\n");
  put_block(p, block);
  indent(p);
  PUT(p, "}");
}

static void put_module(hsc__mlir_printer *p, hsc__mlir_op *op) {
  const hsc__mlir_attr *name = take(p, op, "sym_name");
  PUT(p, "module ");
  hsc__mlir_print_symbol(p->out, name->text);
  PUT(p, " attributes");
  hsc__mlir_print_rest(p, op, true);
  PUT(p, " {\n");
  put_block(p, op->regions[0]);
  PUT(p, "}");
}

// ---- operations ---------------------------------------------------------------------------------

static void name_results(hsc__mlir_printer *p, hsc__mlir_op *op) {
  if (!op->result_count)
    return;
  int kind = NAME_NUMBER;
  if (!p->generic && !strcmp(op->name, "constant"))
    kind = op->results[0].type->kind == HSC_MLIR_TENSOR &&
                   hsc_type_is_float(op->results[0].type->shape.type)
               ? NAME_FLOAT
               : NAME_INT;
  give_name(p, &op->results[0], kind);
  if (op->result_count > 1) {
    int64_t number = op->results[0].stamp / NAME_KINDS;
    hsc_bytes_printf(p->out, "%%%" PRId64 ":%d = ", number, op->result_count);
  } else {
    put_name(p, &op->results[0]);
    PUT(p, " = ");
  }
}

// No attributes but those of other dialects: then an operation without a form of its own is written
// as an elementwise one.
static bool is_bare(const hsc__mlir_op *op) {
  for (int i = 0; i < op->attr_count; i++)
    if (!memchr(op->attrs[i].name.data, '.', op->attrs[i].name.size))
      return false;
  return op->region_count == 0;
}

static void put_pretty(hsc__mlir_printer *p, hsc__mlir_op *op) {
  if (!strcmp(op->name, "reduce")) {
    put_reduce(p, op);
    return;
  }
  if (!strcmp(op->name, "while")) {
    put_while(p, op);
    return;
  }
  if (!strcmp(op->name, "constant")) {
    put_constant(p, op);
    return;
  }
  if (!strcmp(op->name, "func")) {
    put_func(p, op);
    return;
  }
  if (!strcmp(op->name, "module")) {
    put_module(p, op);
    return;
  }
  bool chlo = !strncmp(op->written_name, "chlo.", 5);
  const hsc__mlir_op_row *row = hsc__mlir_op_row_of(op->name);
  const char *form = row && *row->form ? row->form : NULL;
  if (!form && !is_bare(op)) {
    put_generic(p, op);
    return;
  }
  if (!form)
    form = chlo ? "o* A :arrow" : "o* A :same";
  const char *shown = op->written_name;
  // The dialect goes without saying directly in a function, and nowhere else.
  if (!strncmp(shown, "func.", 5) && op->block->parent && !strcmp(op->block->parent->name, "func"))
    shown += 5;
  hsc_bytes_append_text(p->out, shown);
  run_form(p, op, form);
}

static void put_op(hsc__mlir_printer *p, hsc__mlir_op *op) {
  bool function = !strcmp(op->name, "func");
  int64_t saved[NAME_KINDS];
  p->printed = 0;
  memcpy(saved, p->next, sizeof saved);
  if (function)
    memset(p->next, 0, sizeof p->next);
  indent(p);
  name_results(p, op);
  if (p->generic)
    put_generic(p, op);
  else
    put_pretty(p, op);
  if (p->locations) {
    PUT(p, " loc(");
    if (op->location)
      hsc__mlir_print_location(p->out, op->location);
    else
      PUT(p, "unknown");
    PUT(p, ")");
  }
  PUT(p, "\n");
  if (function)
    memcpy(p->next, saved, sizeof saved);
}

hsc_status *hsc__mlir_text_write(hsc__mlir_op *top,
                                 const hsc__mlir_print_options *options,
                                 hsc_bytes *out) {
  hsc__mlir_printer p = {.out = out,
                         .generic = options && options->generic,
                         .locations = options && options->locations};
  put_op(&p, top);
  return hsc_bytes_status(out);
}
