// refine_sizes.c - from sizes that the user gives to the shapes of the entry's arguments.
//
// How dimensions are called: JAX checks the sizes of arguments by custom calls @shape_assertion,
// and each of their messages repeats the specifications, "args[0].shape = (b, t + 1),args[2].shape
// = (2*b,)": one for each argument that has symbolic dimensions, in order. Without checks a call in
// the entry may still say it: JAX marks the parameter that takes the size of dimension b with
// jax.global_constant = "b". Every other dimension goes by its place, as "0.1".
#include <stdlib.h>

#include "formats/stablehlo/refine_internal.h"

enum { MAX_NAMES = 64, MAX_EXPRESSION_DEPTH = 50 };

// ---- expressions of dimensions: 2*a, b + 1, floordiv(t, 2), max(a, 1), a^2 ----------------------

typedef struct expression {
  hsc__refine *refine;
  const char *at, *end;
  int depth;
  bool bad;      // no expression that is known here, or too large a number
  bool missing;  // a name without a size
} expression;

static int64_t sum(expression *x);

static bool is_name_char(char c, bool first) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (!first && c >= '0' && c <= '9');
}

static void skip_spaces(expression *x) {
  while (x->at < x->end && *x->at == ' ')
    x->at++;
}

static bool accept(expression *x, char c) {
  skip_spaces(x);
  if (x->at >= x->end || *x->at != c)
    return false;
  x->at++;
  return true;
}

static int64_t floor_divide(expression *x, int64_t a, int64_t b, bool remainder) {
  if (b == 0 || (a == INT64_MIN && b == -1)) {
    x->bad = true;
    return 0;
  }
  int64_t quotient = a / b;
  int64_t rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    quotient--;
    rest += b;
  }
  return remainder ? rest : quotient;
}

static int64_t call(expression *x, hsc_view function) {
  int64_t a = sum(x);
  if (!accept(x, ','))
    x->bad = true;
  int64_t b = sum(x);
  if (!accept(x, ')'))
    x->bad = true;
  if (x->bad || x->missing)
    return 0;
  if (hsc_view_equals_text(function, "floordiv"))
    return floor_divide(x, a, b, false);
  if (hsc_view_equals_text(function, "mod"))
    return floor_divide(x, a, b, true);
  if (hsc_view_equals_text(function, "max"))
    return a > b ? a : b;
  if (hsc_view_equals_text(function, "min"))
    return a < b ? a : b;
  x->bad = true;
  return 0;
}

// The size of a name; marks the name as one that the program has.
static int64_t size_of_name(expression *x, hsc_view name) {
  hsc__refine *refine = x->refine;
  for (int i = 0; i < refine->size_count; i++) {
    if (!hsc_view_equals_text(name, refine->sizes[i].name))
      continue;
    refine->used[i] = true;
    return refine->sizes[i].size;
  }
  x->missing = true;
  for (int i = 0; i < refine->missing_count; i++)
    if (hsc_view_equals(refine->missing[i], name))
      return 0;
  if (refine->missing_count < MAX_NAMES)
    refine->missing[refine->missing_count++] = name;
  return 0;
}

static int64_t atom(expression *x) {
  skip_spaces(x);
  if (x->at >= x->end || ++x->depth > MAX_EXPRESSION_DEPTH) {
    x->bad = true;
    return 0;
  }
  int64_t value = 0;
  const char *start = x->at;
  if (is_name_char(*x->at, true)) {
    while (x->at < x->end && is_name_char(*x->at, false))
      x->at++;
    hsc_view name = {start, (size_t)(x->at - start)};
    value = accept(x, '(') ? call(x, name) : size_of_name(x, name);
  } else if (accept(x, '(')) {
    value = sum(x);
    x->bad |= !accept(x, ')');
  } else if (accept(x, '-')) {
    value = -atom(x);
  } else {
    while (x->at < x->end && *x->at >= '0' && *x->at <= '9')
      x->bad |= __builtin_mul_overflow(value, 10, &value) ||
                __builtin_add_overflow(value, *x->at++ - '0', &value);
    x->bad |= x->at == start;
  }
  x->depth--;
  return value;
}

static int64_t power(expression *x) {
  int64_t base = atom(x);
  if (!accept(x, '^'))
    return base;
  int64_t exponent = atom(x);
  int64_t value = 1;
  x->bad |= exponent < 0 || exponent > 62;
  for (int64_t i = 0; i < exponent && !x->bad; i++)
    x->bad |= __builtin_mul_overflow(value, base, &value);
  return value;
}

static int64_t product(expression *x) {
  int64_t value = power(x);
  while (!x->bad && accept(x, '*'))
    x->bad |= __builtin_mul_overflow(value, power(x), &value);
  return value;
}

static int64_t sum(expression *x) {
  int64_t value = product(x);
  for (;;) {
    if (x->bad)
      return 0;
    if (accept(x, '+'))
      x->bad |= __builtin_add_overflow(value, product(x), &value);
    else if (accept(x, '-'))
      x->bad |= __builtin_sub_overflow(value, product(x), &value);
    else
      return value;
  }
}

// ---- how the program calls its dimensions -------------------------------------------------------

// The text of a dimension in "(b, t + 1)"; its end is at the comma or parenthesis that closes it.
static hsc_view next_dimension(const char *at, const char *end) {
  int depth = 0;
  const char *p = at;
  for (; p < end; p++) {
    if ((*p == ',' || *p == ')') && depth == 0)
      break;
    depth += (*p == '(') - (*p == ')');
  }
  while (at < p && *at == ' ')
    at++;
  return (hsc_view){at, (size_t)(p - at)};
}

static bool is_number(hsc_view text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < '0' || text.data[i] > '9')
      return false;
  return text.size > 0;
}

// Whether a specification may be that of a type: as many dimensions, numbers where it has numbers.
static bool fits(const hsc__refine_spec *spec, const hsc_shape *shape) {
  if (spec->rank != shape->rank)
    return false;
  for (int d = 0; d < spec->rank; d++) {
    bool known = is_number(spec->dims[d]);
    if (known == shape->dynamic[d])
      return false;
    if (known && atoll(spec->dims[d].data) != shape->dims[d])
      return false;
  }
  return true;
}

// "(b, 64)" at *at, which is moved behind it.
static bool read_spec(const char **at, const char *end, hsc__refine_spec *out) {
  const char *p = *at;
  *out = (hsc__refine_spec){0};
  while (p < end && *p != ')') {
    hsc_view dim = next_dimension(p, end);
    p = dim.data + dim.size;
    if (dim.size && out->rank == HSC_MAX_RANK)
      return false;
    if (dim.size)
      out->dims[out->rank++] = dim;
    if (p < end && *p == ',')
      p++;
  }
  *at = p < end ? p + 1 : end;
  return p < end;
}

// Gives the specifications of a message to the arguments, in their order; those of arguments that
// the program dropped because it does not use them are passed over.
static void take_specs(hsc__refine *refine, const hsc__mlir_block *block, hsc_view message) {
  static const char intro[] = "shapes specifications: ";
  static const char equals[] = " = (";
  const char *end = message.data + message.size;
  const char *at = memmem(message.data, message.size, intro, sizeof intro - 1);
  int argument = 0;
  while (at && (at = memmem(at, (size_t)(end - at), equals, sizeof equals - 1))) {
    hsc__refine_spec spec;
    at += sizeof equals - 1;
    if (!read_spec(&at, end, &spec))
      return;
    int next = argument;
    while (next < block->argument_count && (!hsc__refine_is_open(block->arguments[next].type) ||
                                            !fits(&spec, &block->arguments[next].type->shape)))
      next++;
    if (next < block->argument_count) {
      refine->specs[next] = spec;
      argument = next + 1;
    }
    if (at < end && *at != ',')
      return;
  }
}

// jax.global_constant of parameter `index` of the function that `op` calls.
static hsc_view constant_name(const hsc__importer *im, const hsc__mlir_op *op, int index) {
  const hsc__mlir_op *callee = hsc__import_function_op(im, hsc__import_text(op, "callee"));
  const hsc__mlir_attr *list = callee ? hsc__mlir_attr_get(callee, "arg_attrs") : NULL;
  const hsc__mlir_attr *dict =
      list && list->kind == HSC_MLIR_ARRAY && index < list->count ? list->elements[index] : NULL;
  for (int i = 0; dict && dict->kind == HSC_MLIR_DICT && i < dict->count; i++)
    if (hsc_view_equals_text(dict->entries[i].name, "jax.global_constant") &&
        dict->entries[i].value->kind == HSC_MLIR_STRING)
      return dict->entries[i].value->text;
  return (hsc_view){"", 0};
}

static void take_constant_names(hsc__importer *im,
                                const hsc__mlir_block *block,
                                const hsc__mlir_op *op) {
  for (int i = 0; i < op->operand_count; i++) {
    const hsc__mlir_op *size = op->operands[i]->owner;
    if (!size || strcmp(size->name, "get_dimension_size") != 0 || size->operand_count != 1)
      continue;
    const hsc__mlir_value *array = size->operands[0];
    int64_t d = hsc__import_int(size, "dimension", 0);
    hsc_view name = constant_name(im, op, i);
    if (array->owner || array->block != block || !hsc__refine_is_open(array->type) || !name.size ||
        d < 0 || d >= array->type->shape.rank)
      continue;
    hsc__refine_spec *spec = &im->refine->specs[array - block->arguments];
    spec->rank = array->type->shape.rank;
    if (!spec->dims[d].size)
      spec->dims[d] = name;
  }
}

static void name_dimensions(hsc__importer *im, const hsc__mlir_block *block) {
  hsc__refine *refine = im->refine;
  bool told = false;
  for (int i = 0; i < block->op_count; i++) {
    const hsc__mlir_op *op = block->ops[i];
    if (!told && !strcmp(op->name, "custom_call") &&
        hsc_view_equals_text(hsc__import_text(op, "call_target_name"), "shape_assertion")) {
      take_specs(refine, block, hsc__import_text(op, "error_message"));
      told = true;
    }
    if (!strcmp(op->name, "call"))
      take_constant_names(im, block, op);
  }
}

// ---- sizes --------------------------------------------------------------------------------------

// The size that was given for a dimension by its place; false when there is none.
static bool size_of_place(hsc__refine *refine, int argument, int d, int64_t *out_size) {
  char place[32];
  snprintf(place, sizeof place, "%d.%d", argument, d);
  for (int i = 0; i < refine->size_count; i++) {
    if (strcmp(refine->sizes[i].name, place) != 0)
      continue;
    refine->used[i] = true;
    *out_size = refine->sizes[i].size;
    return true;
  }
  return false;
}

static hsc_status *size_dimension(
    hsc__importer *im, const hsc__mlir_op *entry, int argument, int d, int64_t *out_size) {
  hsc__refine *refine = im->refine;
  hsc_view text = refine->specs[argument].dims[d];
  *out_size = 0;
  if (size_of_place(refine, argument, d, out_size))
    return NULL;
  if (!text.size) {
    char *place = hsc_arena_printf(im->arena, "%d.%d", argument, d);
    HSC_TRY(hsc_arena_status(im->arena));
    if (refine->missing_count < MAX_NAMES)
      refine->missing[refine->missing_count++] = hsc_view_of(place);
    return NULL;
  }
  expression x = {.refine = refine, .at = text.data, .end = text.data + text.size};
  int64_t size = sum(&x);
  skip_spaces(&x);
  if (x.missing && !x.bad)
    return NULL;
  if (x.bad || x.at != x.end)
    return HSC_OP_ERR(UNIMPLEMENTED, im, entry,
                      "dimension %d of argument %d is %.*s, which is not understood here: give its "
                      "size by its place, %d.%d=N",
                      d, argument, (int)text.size, text.data, argument, d);
  if (size < 0)
    return HSC_OP_ERR(INVALID_ARGUMENT, im, entry,
                      "dimension %d of argument %d is %.*s, which is %lld with these sizes", d,
                      argument, (int)text.size, text.data, (long long)size);
  *out_size = size;
  return NULL;
}

static hsc_status *say_missing(hsc__importer *im, const hsc__mlir_op *entry) {
  const hsc__refine *refine = im->refine;
  hsc_bytes names = {0};
  hsc_bytes example = {0};
  for (int i = 0; i < refine->missing_count; i++) {
    hsc_view name = refine->missing[i];
    hsc_bytes_printf(&names, "%s%.*s", i ? ", " : "", (int)name.size, name.data);
    hsc_bytes_printf(&example, "%s%.*s=8", i ? "," : "", (int)name.size, name.data);
  }
  hsc_status *status = HSC_OP_ERR(FAILED_PRECONDITION, im, entry, "dimension%s without a size: %s",
                                  refine->missing_count == 1 ? "" : "s", hsc_bytes_text(&names));
  bool places = refine->missing[0].data[0] >= '0' && refine->missing[0].data[0] <= '9';
  status = hsc_status_hint(
      status, "the program was exported with symbolic shapes; give sizes: --dim %s%s",
      hsc_bytes_text(&example), places ? " (0.1 is argument 0, dimension 1)" : "");
  hsc_bytes_deinit(&names);
  hsc_bytes_deinit(&example);
  return status;
}

// Every size that was given is one that the program asks for.
static hsc_status *check_all_used(hsc__importer *im,
                                  const hsc__mlir_op *entry,
                                  const hsc__mlir_block *block) {
  const hsc__refine *refine = im->refine;
  hsc_bytes known = {0};
  hsc_status *status = NULL;
  for (int i = 0; i < refine->size_count && !status; i++) {
    if (refine->used[i])
      continue;
    for (int a = 0; a < block->argument_count; a++)
      for (int d = 0; hsc__refine_is_open(block->arguments[a].type) &&
                      d < block->arguments[a].type->shape.rank;
           d++) {
        hsc_view text = refine->specs[a].dims[d];
        if (!block->arguments[a].type->shape.dynamic[d])
          continue;
        hsc_bytes_printf(&known, "%s%d.%d", known.size ? ", " : "", a, d);
        if (text.size)
          hsc_bytes_printf(&known, " (%.*s)", (int)text.size, text.data);
      }
    status = HSC_OP_ERR(INVALID_ARGUMENT, im, entry,
                        "there is no symbolic dimension %s; argument.dimension: %s",
                        refine->sizes[i].name, hsc_bytes_text(&known));
  }
  hsc_bytes_deinit(&known);
  return status;
}

static hsc_status *size_arguments(hsc__importer *im,
                                  const hsc__mlir_op *entry,
                                  const hsc__mlir_block *block) {
  hsc__refine *refine = im->refine;
  for (int i = 0; i < block->argument_count; i++) {
    const hsc__mlir_type *type = block->arguments[i].type;
    if (!hsc__refine_is_open(type))
      continue;
    int64_t *dims = hsc_arena_copy(im->arena, type->shape.dims,
                                   (size_t)type->shape.rank * sizeof *type->shape.dims);
    HSC_TRY(hsc_arena_status(im->arena));
    for (int d = 0; d < type->shape.rank; d++)
      if (type->shape.dynamic[d])
        HSC_TRY(size_dimension(im, entry, i, d, &dims[d]));
    refine->argument_dims[i] = dims;
  }
  if (refine->missing_count)
    return say_missing(im, entry);
  return check_all_used(im, entry, block);
}

// ---- the door -----------------------------------------------------------------------------------

static bool has_open_results(const hsc__mlir_block *block, int depth) {
  if (depth > 200)
    return false;
  for (int i = 0; i < block->op_count; i++) {
    const hsc__mlir_op *op = block->ops[i];
    if (hsc__refine_is_dynamic(op))
      return true;
    for (int r = 0; r < op->region_count; r++)
      if (op->regions[r] && has_open_results(op->regions[r], depth + 1))
        return true;
  }
  return false;
}

static bool has_open_arguments(const hsc__mlir_block *block) {
  for (int i = 0; i < block->argument_count; i++)
    if (hsc__refine_is_open(block->arguments[i].type))
      return true;
  return false;
}

hsc_status *hsc__refine_begin(hsc__importer *im,
                              const hsc__mlir_op *entry,
                              const hsc_dim_size *sizes,
                              int size_count) {
  const hsc__mlir_block *block = entry->region_count ? entry->regions[0] : NULL;
  bool open = block && has_open_arguments(block);
  if (size_count && !open)
    return hsc_status_hint(
        HSC_OP_ERR(INVALID_ARGUMENT, im, entry,
                   "all dimensions have sizes already: there is no symbolic dimension %s",
                   sizes[0].name),
        "--dim is for programs that were exported with symbolic shapes; `hloscope probe "
        "--exponent --sizes` scales numbers of others");
  if (!open && !has_open_results(im->top->regions[0], 0))
    return NULL;
  for (int i = 0; i < size_count; i++)
    if (sizes[i].size < 0)
      return HSC_OP_ERR(INVALID_ARGUMENT, im, entry, "dimension %s cannot have the size %lld",
                        sizes[i].name, (long long)sizes[i].size);
  if (im->partition_count > 1)
    return HSC_OP_ERR(UNIMPLEMENTED, im, entry,
                      "not built yet: symbolic shapes in a program for %d partitions",
                      im->partition_count);
  hsc__refine *refine = HSC_NEW(im->arena, hsc__refine);
  int count = block ? block->argument_count : 0;
  HSC_TRY(hsc_arena_status(im->arena));
  refine->sizes = sizes;
  refine->size_count = size_count;
  refine->used = HSC_NEW_ARRAY(im->arena, bool, size_count + 1);
  refine->specs = HSC_NEW_ARRAY(im->arena, hsc__refine_spec, count + 1);
  refine->argument_dims = HSC_NEW_ARRAY(im->arena, const int64_t *, count + 1);
  refine->missing = HSC_NEW_ARRAY(im->arena, hsc_view, MAX_NAMES);
  HSC_TRY(hsc_arena_status(im->arena));
  im->refine = refine;
  if (!open)
    return NULL;
  name_dimensions(im, block);
  return size_arguments(im, entry, block);
}

hsc_status *hsc__refine_argument(hsc__importer *im,
                                 const hsc__mlir_op *entry,
                                 int index,
                                 hsc_shape *out_shape) {
  const hsc__mlir_type *type = entry->regions[0]->arguments[index].type;
  if (!hsc__refine_is_open(type) || !im->refine->argument_dims[index])
    return hsc__import_shape(im, entry, type, out_shape);
  return hsc__refine_shape(im, entry, type->shape.type, type->shape.rank,
                           im->refine->argument_dims[index], out_shape);
}
