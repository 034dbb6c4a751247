// mlir_text.c - parses MLIR text into the tree of mlir_ir.h: the module, functions, regions,
// values, the generic form of operations.
//
//   %0:2 = "dialect.op"(%a, %b#1) <{properties}> ({ region }, { region }) {attributes} : (types) ->
//   (types) loc(...)
//   %1 = stablehlo.add %0#0, %a : tensor<4xf32>                                       forms of
//   stablehlo_ops.def
//   func.func public @main(%arg0: tensor<4xf32> {attributes}) -> (tensor<4xf32> {attributes})
//   attributes {...} { ... }
//
// Aliases of attributes may be defined after their use, as MLIR prints locations; aliases of types
// may not. Values are defined before they are used.
#include "base/text/text.h"
#include "formats/mlir/mlir_text_internal.h"

// ---- the stack, values --------------------------------------------------------------------------

static uint32_t *bucket_of(hsc__mlir_parser *p, hsc_view name) {
  return &p->buckets[hsc_hash64(name.data, name.size, 0) & (p->bucket_count - 1)];
}

static bool more_buckets(hsc__mlir_parser *p) {
  size_t count = p->bucket_count ? p->bucket_count * 4 : 256;
  uint32_t *buckets = hsc_alloc(count * sizeof *buckets);
  if (!buckets)
    return hsc__mlir_out_of_memory(p);
  hsc_free(p->buckets);
  p->buckets = buckets;
  p->bucket_count = count;
  // in their order, so that the newest comes first in its bucket
  for (size_t i = 0; i < p->definition_count; i++) {
    hsc__mlir_definition *it = &p->definitions[i];
    uint32_t *bucket = bucket_of(p, (hsc_view){it->name, it->length});
    it->next = *bucket;
    *bucket = (uint32_t)i + 1;
  }
  return true;
}

static hsc__mlir_definition *find(hsc__mlir_parser *p, hsc_view name) {
  if (!p->bucket_count)
    return NULL;
  for (uint32_t at = *bucket_of(p, name); at; at = p->definitions[at - 1].next) {
    hsc__mlir_definition *it = &p->definitions[at - 1];
    if (it->length == name.size && memcmp(it->name, name.data, name.size) == 0)
      return it;
  }
  return NULL;
}

static bool define(hsc__mlir_parser *p, hsc_view name, hsc__mlir_value *values, int count) {
  if (find(p, name))
    return hsc__mlir_error(p, name.data, "the value %%%.*s is defined twice", (int)name.size,
                           name.data);
  if (!HSC_GROW(p->definitions, p->definition_count, p->definition_capacity))
    return hsc__mlir_out_of_memory(p);
  if (p->definition_count >= p->bucket_count && !more_buckets(p))
    return false;
  uint32_t *bucket = bucket_of(p, name);
  p->definitions[p->definition_count++] = (hsc__mlir_definition){.name = name.data,
                                                                 .length = (uint32_t)name.size,
                                                                 .next = *bucket,
                                                                 .values = values,
                                                                 .count = count};
  *bucket = (uint32_t)p->definition_count;
  return true;
}

// Forgets the names of an inner region.
static void forget(hsc__mlir_parser *p, size_t definition_count) {
  while (p->definition_count > definition_count) {
    hsc__mlir_definition *it = &p->definitions[--p->definition_count];
    *bucket_of(p, (hsc_view){it->name, it->length}) = it->next;
  }
}

bool hsc__mlir_operand(hsc__mlir_parser *p, hsc__mlir_value **out) {
  hsc_view name;
  int64_t number = 0;
  if (!hsc__mlir_accept(p, '%'))
    return hsc__mlir_expected(p, "a value like %0");
  if (!hsc__mlir_suffix(p, "the name of a value", &name))
    return false;
  if (*p->p == '#') {
    p->p++;
    if (!hsc__mlir_int(p, &number))
      return false;
  }
  hsc__mlir_definition *found = find(p, name);
  if (!found) {
    enum { MAX_CANDIDATES = 2048 };
    char text[64];
    const char **candidates = hsc_alloc(MAX_CANDIDATES * sizeof *candidates);
    size_t count = 0;
    for (size_t i = p->definition_count; candidates && i > 0 && count < MAX_CANDIDATES; i--)
      candidates[count++] =
          hsc_arena_strndup(p->arena, p->definitions[i - 1].name, p->definitions[i - 1].length);
    snprintf(text, sizeof text, "%.*s", hsc_view_shown(name, 60), name.data);
    const char *near =
        candidates && name.size > 3 ? hsc_did_you_mean(text, candidates, count) : NULL;
    if (near)
      hsc__mlir_error(p, name.data - 1, "the value %%%s is not defined here; did you mean %%%s?",
                      text, near);
    else
      hsc__mlir_error(p, name.data - 1, "the value %%%s is not defined here", text);
    hsc_free(candidates);
    return false;
  }
  if (number < 0 || number >= found->count)
    return hsc__mlir_error(p, name.data - 1, "%%%.*s has %d value%s, there is no #%lld",
                           (int)name.size, name.data, found->count,
                           hsc_plural((double)found->count, "", "s"), (long long)number);
  *out = &found->values[number];
  return true;
}

bool hsc__mlir_set_operands(hsc__mlir_parser *p, hsc__mlir_op *op, size_t stack_start) {
  size_t size = p->stack.size - stack_start;
  op->operand_count = (int32_t)(size / sizeof(hsc__mlir_value *));
  op->operands = size ? hsc_arena_copy(p->arena, p->stack.data + stack_start, size) : NULL;
  p->stack.size = stack_start;
  return !size || op->operands ? true : hsc__mlir_out_of_memory(p);
}

bool hsc__mlir_set_results(hsc__mlir_parser *p,
                           hsc__mlir_op *op,
                           const hsc__mlir_type *const *types,
                           int count) {
  op->results = HSC_NEW_ARRAY(p->arena, hsc__mlir_value, count);
  if (count && !op->results)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < count; i++)
    op->results[i] = (hsc__mlir_value){.type = types[i], .owner = op, .block = op->block};
  op->result_count = count;
  return true;
}

bool hsc__mlir_check_operand_types(hsc__mlir_parser *p,
                                   const char *at,
                                   const hsc__mlir_op *op,
                                   const hsc__mlir_type *const *types,
                                   int count) {
  if (count != op->operand_count)
    return hsc__mlir_error(p, at, "%d type%s for %d operand%s", count,
                           hsc_plural((double)count, "", "s"), op->operand_count,
                           hsc_plural((double)op->operand_count, "", "s"));
  for (int i = 0; i < count; i++)
    if (!hsc__mlir_types_equal(op->operands[i]->type, types[i]))
      return hsc__mlir_error(p, at, "operand %d has another type where it is defined", i);
  return true;
}

// ---- operations ---------------------------------------------------------------------------------

// Without dialect; VHLO's text form also without version.
hsc__mlir_op *hsc__mlir_new_op(hsc__mlir_parser *p, const char *at, hsc_view written_name) {
  hsc__mlir_op *op = HSC_NEW(p->arena, hsc__mlir_op);
  const char *copy = hsc_arena_strndup(p->arena, written_name.data, written_name.size);
  if (!op || !copy) {
    hsc__mlir_out_of_memory(p);
    return NULL;
  }
  const char *dot = strchr(copy, '.');
  op->written_name = copy;
  op->name = dot ? dot + 1 : copy;
  hsc__mlir_locate(p, at, &op->line, &op->column);
  return op;
}

static bool parse_op(hsc__mlir_parser *p, hsc__mlir_block *block);

// Operations up to the closing brace; the block's arguments are set.
static bool block_body(hsc__mlir_parser *p, hsc__mlir_block *block) {
  size_t start = p->stack.size;
  while (!hsc__mlir_peek(p, '}')) {
    if (*p->p == '^')
      return hsc__mlir_error(p, p->p, "a region of several blocks is no StableHLO");
    if (p->p >= p->end)
      return hsc__mlir_expected(p, "an operation or '}'");
    if (!parse_op(p, block))
      return false;
  }
  block->op_count = (int32_t)((p->stack.size - start) / sizeof(hsc__mlir_op *));
  block->ops = block->op_count
                   ? hsc_arena_copy(p->arena, p->stack.data + start, p->stack.size - start)
                   : NULL;
  p->stack.size = start;
  return !block->op_count || block->ops ? true : hsc__mlir_out_of_memory(p);
}

static bool define_arguments(hsc__mlir_parser *p,
                             hsc__mlir_block *block,
                             const hsc__mlir_argument *arguments,
                             int count) {
  block->arguments = HSC_NEW_ARRAY(p->arena, hsc__mlir_value, count);
  if (count && !block->arguments)
    return hsc__mlir_out_of_memory(p);
  for (int i = 0; i < count; i++) {
    block->arguments[i] = (hsc__mlir_value){.type = arguments[i].type, .block = block};
    if (!define(p, arguments[i].name, &block->arguments[i], 1))
      return false;
  }
  block->argument_count = count;
  return true;
}

bool hsc__mlir_typed_argument(hsc__mlir_parser *p, hsc__mlir_argument *out) {
  const hsc__mlir_attr *ignored;
  if (!hsc__mlir_expect(p, "%") || !hsc__mlir_suffix(p, "the name of an argument", &out->name) ||
      !hsc__mlir_expect(p, ":") || !hsc__mlir_type_parse(p, &out->type))
    return false;
  return !hsc__mlir_accept_word(p, "loc") || hsc__mlir_location(p, &ignored);
}

// ^bb0(%arg0: tensor<f32> loc(...), ...):
static bool block_label(hsc__mlir_parser *p, hsc__mlir_block *block) {
  hsc_view label;
  p->p++;
  if (!hsc__mlir_suffix(p, "the name of a block", &label))
    return false;
  size_t start = p->stack.size;
  int count = 0;
  if (hsc__mlir_accept(p, '(') && !hsc__mlir_accept(p, ')')) {
    do {
      hsc__mlir_argument argument;
      if (!hsc__mlir_typed_argument(p, &argument) || !hsc__mlir_push(p, &argument, sizeof argument))
        return false;
      count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, ")"))
      return false;
  }
  if (!hsc__mlir_expect(p, ":"))
    return false;
  hsc__mlir_argument *arguments =
      count ? hsc_arena_copy(p->arena, p->stack.data + start, p->stack.size - start) : NULL;
  p->stack.size = start;
  return (!count || arguments || hsc__mlir_out_of_memory(p)) &&
         define_arguments(p, block, arguments, count);
}

bool hsc__mlir_region(hsc__mlir_parser *p,
                      hsc__mlir_op *op,
                      const hsc__mlir_argument *arguments,
                      int count) {
  hsc__mlir_block *block = HSC_NEW(p->arena, hsc__mlir_block);
  hsc__mlir_block **regions = HSC_NEW_ARRAY(p->arena, hsc__mlir_block *, op->region_count + 1);
  if (!block || !regions)
    return hsc__mlir_out_of_memory(p);
  if (op->region_count)
    memcpy(regions, op->regions, (size_t)op->region_count * sizeof *regions);
  regions[op->region_count++] = block;
  op->regions = regions;
  block->parent = op;
  size_t definitions = p->definition_count;
  if (!hsc__mlir_enter(p) || !hsc__mlir_expect(p, "{"))
    return false;
  if (arguments ? !define_arguments(p, block, arguments, count)
                : hsc__mlir_peek(p, '^') && !block_label(p, block))
    return false;
  if (!block_body(p, block) || !hsc__mlir_expect(p, "}"))
    return false;
  // "{}" is an empty region
  if (!arguments && !block->argument_count && !block->op_count)
    regions[op->region_count - 1] = NULL;
  forget(p, definitions);
  hsc__mlir_leave(p);
  return true;
}

// After the quoted name.
static bool generic_op(hsc__mlir_parser *p, hsc__mlir_op *op) {
  size_t start = p->stack.size;
  const hsc__mlir_type *type;
  hsc__mlir_value *value;
  if (!hsc__mlir_expect(p, "("))
    return false;
  if (!hsc__mlir_accept(p, ')')) {
    do {
      if (!hsc__mlir_operand(p, &value) || !hsc__mlir_push(p, &value, sizeof value))
        return false;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, ")"))
      return false;
  }
  if (!hsc__mlir_set_operands(p, op, start))
    return false;
  if (hsc__mlir_peek(p, '['))
    return hsc__mlir_error(p, p->p, "branches between blocks are no StableHLO");
  if (hsc__mlir_accept_text(p, "<{") &&
      (!hsc__mlir_attr_entries(p, op, '}') || !hsc__mlir_expect(p, ">")))
    return false;
  if (hsc__mlir_accept(p, '(')) {
    do {
      if (!hsc__mlir_region(p, op, NULL, 0))
        return false;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, ")"))
      return false;
  }
  if (hsc__mlir_accept(p, '{') && !hsc__mlir_attr_entries(p, op, '}'))
    return false;
  if (!hsc__mlir_expect(p, ":"))
    return false;
  hsc__mlir_skip(p);
  const char *at = p->p;
  if (!hsc__mlir_function_type(p, &type))
    return false;
  return hsc__mlir_check_operand_types(p, at, op, type->elements, type->input_count) &&
         hsc__mlir_set_results(p, op, type->elements + type->input_count,
                               type->element_count - type->input_count);
}

// ---- module and functions -----------------------------------------------------------------------

static bool add_text_attr(hsc__mlir_parser *p, hsc__mlir_op *op, const char *name, hsc_view text) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_STRING);
  if (!attr)
    return false;
  attr->text = text;
  return hsc__mlir_add_attr(p, op, name, attr);
}

// {a = b} after an argument or a result, as a dictionary; an empty one when there is none.
static bool optional_dict(hsc__mlir_parser *p, const hsc__mlir_attr **out) {
  if (hsc__mlir_peek(p, '{'))
    return hsc__mlir_attribute(p, out);
  *out = hsc__mlir_make_attr(p, HSC_MLIR_DICT);
  return *out != NULL;
}

static bool add_list_attr(hsc__mlir_parser *p,
                          hsc__mlir_op *op,
                          const char *name,
                          const hsc_bytes *list) {
  hsc__mlir_attr *attr = hsc__mlir_make_attr(p, HSC_MLIR_ARRAY);
  if (!attr)
    return false;
  attr->count = (int32_t)(list->size / sizeof(void *));
  attr->elements = attr->count ? hsc_arena_copy(p->arena, list->data, list->size) : NULL;
  return hsc__mlir_add_attr(p, op, name, attr);
}

typedef struct signature {
  hsc_bytes arguments;  // hsc__mlir_argument
  hsc_bytes types;      // of arguments and results
  hsc_bytes argument_attrs, result_attrs;
  int argument_count, result_count;
  bool named;  // arguments have names: there is a body
} signature;

static bool read_signature(hsc__mlir_parser *p, signature *s) {
  const hsc__mlir_attr *attr, *ignored;
  if (!hsc__mlir_expect(p, "("))
    return false;
  if (!hsc__mlir_accept(p, ')')) {
    do {
      hsc__mlir_argument argument = {0};
      s->named = hsc__mlir_accept(p, '%');
      if (s->named && (!hsc__mlir_suffix(p, "the name of an argument", &argument.name) ||
                       !hsc__mlir_expect(p, ":")))
        return false;
      if (!hsc__mlir_type_parse(p, &argument.type) || !optional_dict(p, &attr))
        return false;
      if (hsc__mlir_accept_word(p, "loc") && !hsc__mlir_location(p, &ignored))
        return false;
      hsc_bytes_append(&s->arguments, &argument, sizeof argument);
      hsc_bytes_append(&s->types, &argument.type, sizeof argument.type);
      hsc_bytes_append(&s->argument_attrs, &attr, sizeof attr);
      s->argument_count++;
    } while (hsc__mlir_accept(p, ','));
    if (!hsc__mlir_expect(p, ")"))
      return false;
  }
  if (!hsc__mlir_accept_text(p, "->"))
    return true;
  bool list = hsc__mlir_accept(p, '(');
  if (list && hsc__mlir_accept(p, ')'))
    return true;
  do {
    const hsc__mlir_type *type;
    if (!hsc__mlir_type_parse(p, &type))
      return false;
    if (list ? !optional_dict(p, &attr) : (attr = hsc__mlir_make_attr(p, HSC_MLIR_DICT)) == NULL)
      return false;
    hsc_bytes_append(&s->types, &type, sizeof type);
    hsc_bytes_append(&s->result_attrs, &attr, sizeof attr);
    s->result_count++;
  } while (list && hsc__mlir_accept(p, ','));
  return !list || hsc__mlir_expect(p, ")");
}

// After "func.func".
// A region that sees no values from outside: those are put aside while it is read.
static bool body_of_its_own(hsc__mlir_parser *p,
                            hsc__mlir_op *op,
                            const hsc__mlir_argument *arguments,
                            int count) {
  size_t definitions = p->definition_count;
  uint32_t *buckets = p->buckets;
  size_t bucket_count = p->bucket_count;
  p->buckets = NULL;
  p->bucket_count = 0;
  hsc__mlir_definition *outer = p->definitions;
  size_t outer_capacity = p->definition_capacity;
  p->definitions = NULL;
  p->definition_count = p->definition_capacity = 0;
  bool ok = hsc__mlir_region(p, op, arguments, count);
  hsc_free(p->buckets);
  hsc_free(p->definitions);
  p->buckets = buckets;
  p->bucket_count = bucket_count;
  p->definitions = outer;
  p->definition_count = definitions;
  p->definition_capacity = outer_capacity;
  return ok;
}

static void signature_deinit(signature *s) {
  hsc_bytes_deinit(&s->arguments);
  hsc_bytes_deinit(&s->types);
  hsc_bytes_deinit(&s->argument_attrs);
  hsc_bytes_deinit(&s->result_attrs);
}

// The function type of a signature, and its arguments in the arena.
static bool add_signature(hsc__mlir_parser *p,
                          hsc__mlir_op *op,
                          const signature *s,
                          hsc__mlir_argument **out_arguments) {
  if (s->arguments.failed || s->types.failed || s->argument_attrs.failed || s->result_attrs.failed)
    return hsc__mlir_out_of_memory(p);
  hsc__mlir_type *type = HSC_NEW(p->arena, hsc__mlir_type);
  hsc__mlir_attr *type_attr = hsc__mlir_make_attr(p, HSC_MLIR_TYPE);
  *out_arguments =
      hsc_arena_copy(p->arena, s->arguments.data ? s->arguments.data : "", s->arguments.size);
  if (!type || !type_attr || !*out_arguments)
    return hsc__mlir_out_of_memory(p);
  *type = (hsc__mlir_type){.kind = HSC_MLIR_FUNCTION,
                           .element_count = s->argument_count + s->result_count,
                           .input_count = s->argument_count};
  type->elements = s->types.size ? hsc_arena_copy(p->arena, s->types.data, s->types.size) : NULL;
  type_attr->type = type;
  return hsc__mlir_add_attr(p, op, "function_type", type_attr) &&
         add_list_attr(p, op, "arg_attrs", &s->argument_attrs) &&
         add_list_attr(p, op, "res_attrs", &s->result_attrs);
}

// After "func.func".
static bool func_op(hsc__mlir_parser *p, hsc__mlir_op *op) {
  signature s = {0};
  hsc_view name;
  static const char *const visibilities[] = {"private", "nested", "public"};
  const char *visibility = "";
  for (size_t i = 0; i < HSC_COUNT_OF(visibilities) && !*visibility; i++)
    if (hsc__mlir_accept_word(p, visibilities[i]))
      visibility = visibilities[i];
  hsc__mlir_argument *arguments = NULL;
  bool ok = hsc__mlir_symbol(p, &name) && read_signature(p, &s) &&
            add_text_attr(p, op, "sym_name", name) &&
            add_text_attr(p, op, "sym_visibility", hsc_view_of(visibility)) &&
            add_signature(p, op, &s, &arguments);
  int count = s.argument_count;
  bool named = s.named || count == 0;
  signature_deinit(&s);
  if (ok && hsc__mlir_accept_word(p, "attributes"))
    ok = hsc__mlir_expect(p, "{") && hsc__mlir_attr_entries(p, op, '}');
  if (!ok || !named || !hsc__mlir_peek(p, '{'))
    return ok;  // a declaration
  return body_of_its_own(p, op, arguments, count);
}

// After "module".
static bool module_op(hsc__mlir_parser *p, hsc__mlir_op *op) {
  hsc_view name;
  if (hsc__mlir_peek(p, '@') &&
      (!hsc__mlir_symbol(p, &name) || !add_text_attr(p, op, "sym_name", name)))
    return false;
  if (hsc__mlir_accept_word(p, "attributes") &&
      (!hsc__mlir_expect(p, "{") || !hsc__mlir_attr_entries(p, op, '}')))
    return false;
  if (!hsc__mlir_region(p, op, NULL, 0))
    return false;
  if (!op->regions[0]) {
    op->regions[0] = HSC_NEW(p->arena, hsc__mlir_block);
    if (!op->regions[0])
      return hsc__mlir_out_of_memory(p);
    op->regions[0]->parent = op;
  }
  return true;
}

// #alias = attribute, !alias = type, {-# resources #-}
static bool resources(hsc__mlir_parser *p);

static bool definition_line(hsc__mlir_parser *p) {
  hsc_view name;
  bool is_type = *p->p == '!';
  p->p++;
  if (!hsc__mlir_suffix(p, "the name of an alias", &name) || !hsc__mlir_expect(p, "="))
    return false;
  if (is_type) {
    const hsc__mlir_type *type;
    hsc_status *status =
        hsc__mlir_type_parse(p, &type) ? hsc_map_put(p->type_aliases, name, (void *)type) : NULL;
    hsc_status_free(status);
    return !p->status && (!status || hsc__mlir_out_of_memory(p));
  }
  hsc__mlir_attr *alias;
  const hsc__mlir_attr *value;
  if (!hsc__mlir_attr_alias(p, name, &alias))
    return false;
  if (hsc__mlir_accept_word(p, "loc") ? !hsc__mlir_location(p, &value)
                                      : !hsc__mlir_attribute(p, &value))
    return false;
  *alias = *value;
  return true;
}

typedef struct result_name {
  hsc_view name;
  int64_t count;
} result_name;

// "%a, %b:2 =", onto the stack; nothing where there are no results.
static bool result_names(hsc__mlir_parser *p, int *out_count) {
  *out_count = 0;
  while (*p->p == '%') {
    result_name result = {.count = 1};
    p->p++;
    if (!hsc__mlir_suffix(p, "the name of a value", &result.name))
      return false;
    if (hsc__mlir_accept(p, ':') && !hsc__mlir_int(p, &result.count))
      return false;
    if (!hsc__mlir_push(p, &result, sizeof result))
      return false;
    ++*out_count;
    if (!hsc__mlir_accept(p, ','))
      return hsc__mlir_expect(p, "=");
    hsc__mlir_skip(p);
    if (*p->p != '%')
      return hsc__mlir_expected(p, "a value like %0");
  }
  return true;
}

// The name with its dialect, which func's own operations may leave out where they are the default.
static bool op_name(hsc__mlir_parser *p, bool generic, hsc_view *out) {
  static const hsc_view short_names[][2] = {{{"return", 6}, {"func.return", 11}},
                                            {{"call", 4}, {"func.call", 9}},
                                            {{"module", 6}, {"builtin.module", 14}}};
  const char *at = p->p;
  if (generic ? !hsc__mlir_string(p, out) : !hsc__mlir_ident(p, "an operation", out))
    return false;
  if (generic || memchr(out->data, '.', out->size))
    return true;
  for (size_t i = 0; i < HSC_COUNT_OF(short_names); i++) {
    if (!hsc_view_equals(*out, short_names[i][0]))
      continue;
    *out = short_names[i][1];
    return true;
  }
  return hsc__mlir_error(
      p, at, "expected an operation like stablehlo.add or \"stablehlo.add\", found '%.*s'",
      (int)out->size, out->data);
}

// Gives the results of an operation the names that are on the stack from `start`.
static bool define_results(
    hsc__mlir_parser *p, hsc__mlir_op *op, const char *at, size_t start, int names) {
  int64_t defined = 0;
  for (int i = 0; i < names; i++) {
    result_name result;
    memcpy(&result, p->stack.data + start + (size_t)i * sizeof result, sizeof result);
    if (result.count < 0 || result.count > op->result_count - defined)
      return hsc__mlir_error(p, at, "%s has %d result%s, more are named", op->written_name,
                             op->result_count, hsc_plural((double)op->result_count, "", "s"));
    if (!define(p, result.name, &op->results[defined], (int)result.count))
      return false;
    defined += result.count;
  }
  if (names && defined != op->result_count)
    return hsc__mlir_error(p, at, "%s has %d results, %lld are named", op->written_name,
                           op->result_count, (long long)defined);
  return true;
}

static bool parse_op(hsc__mlir_parser *p, hsc__mlir_block *block) {
  hsc__mlir_skip(p);
  const char *at = p->p;
  size_t stack_start = p->stack.size;
  int names;
  hsc_view name;
  if (!result_names(p, &names))
    return false;
  hsc__mlir_skip(p);
  bool generic = *p->p == '"';
  if (!op_name(p, generic, &name))
    return false;
  hsc__mlir_op *op = hsc__mlir_new_op(p, at, name);
  if (!op)
    return false;
  op->block = block;
  bool ok;
  if (generic)
    ok = generic_op(p, op);
  else if (hsc_view_equals_text(name, "func.func"))
    ok = func_op(p, op);
  else if (hsc_view_equals_text(name, "builtin.module"))
    ok = module_op(p, op);
  else if (hsc_view_equals_text(name, "sdy.mesh"))
    ok = hsc__mlir_sdy_mesh(p, op);
  else
    ok = hsc__mlir_custom_op(p, op, name);
  if (!ok)
    return false;
  if (hsc__mlir_accept_word(p, "loc") && !hsc__mlir_location(p, &op->location))
    return false;
  if (!define_results(p, op, at, stack_start, names))
    return false;
  p->stack.size = stack_start;
  return hsc__mlir_push(p, &op, sizeof op);
}

// ---- the file -----------------------------------------------------------------------------------

// {-# dialect_resources: { builtin: { name: "0x0800000000000040..." } } #-}: four bytes of
// alignment, then the data.
static bool resource_value(hsc__mlir_parser *p, hsc_view name, const char *at, hsc_view text) {
  if (text.size < 10 || text.size % 2 != 0)
    return hsc__mlir_error(
        p, at, "a resource is a hexadecimal string with four bytes of alignment before its data");
  hsc__mlir_attr *attr = hsc_map_get(p->resources, name);
  if (!attr)
    return true;
  size_t size = (text.size - 10) / 2;
  char *data = hsc_arena_alloc(p->arena, size + 1);
  if (!data)
    return hsc__mlir_out_of_memory(p);
  for (size_t i = 0; i < size; i++) {
    int value = 0;
    for (int k = 0; k < 2; k++) {
      char c = text.data[10 + 2 * i + (size_t)k];
      int digit;
      if (c >= '0' && c <= '9')
        digit = c - '0';
      else if (c >= 'a' && c <= 'f')
        digit = c - 'a' + 10;
      else if (c >= 'A' && c <= 'F')
        digit = c - 'A' + 10;
      else
        digit = -1;
      if (digit < 0)
        return hsc__mlir_error(p, at, "a resource holds something that is no hexadecimal digit");
      value = value << 4 | digit;
    }
    data[i] = (char)value;
  }
  for (; attr; attr = attr->elements ? (hsc__mlir_attr *)attr->elements[0] : NULL) {
    size_t want = (size_t)hsc_shape_bytes(&attr->type->shape);
    if (size != want && size != hsc_type_bytes(attr->type->shape.type))
      return hsc__mlir_error(p, at, "the resource has %zu bytes, its tensor %zu", size, want);
    attr->data = (hsc_view){data, size};
  }
  return true;
}

// Words, colons, braces and strings; the values are strings after a name.
static bool resources(hsc__mlir_parser *p) {
  hsc_view name = {0};
  hsc_view text;
  while (!hsc__mlir_accept_text(p, "#-}")) {
    hsc__mlir_skip(p);
    const char *at = p->p;
    if (*at == '"') {
      if (!hsc__mlir_string(p, &text))
        return false;
      if (name.size && text.size > 2 && text.data[0] == '0' && text.data[1] == 'x') {
        if (!resource_value(p, name, at, text))
          return false;
      } else {
        name = text;  // a quoted name
      }
    } else if (*at == '{' || *at == '}' || *at == ':' || *at == ',') {
      p->p++;
    } else if (!hsc__mlir_suffix(p, "the name of a resource or '#-}'", &name)) {
      return false;
    }
  }
  return true;
}

static bool check_resources(hsc__mlir_parser *p) {
  for (size_t i = 0; i < hsc_map_count(p->resources); i++) {
    const hsc__mlir_attr *attr = hsc_map_at(p->resources, i, NULL);
    if (!attr->data.data)
      return hsc__mlir_error(p, attr->text.data, "the resource '%.*s' is not in the file",
                             (int)attr->text.size, attr->text.data);
  }
  return true;
}

static bool parse_file(hsc__mlir_parser *p, hsc__mlir_op **out_top) {
  hsc__mlir_block *block = HSC_NEW(p->arena, hsc__mlir_block);
  if (!block)
    return hsc__mlir_out_of_memory(p);
  for (;;) {
    hsc__mlir_skip(p);
    if (p->p >= p->end)
      break;
    if (*p->p == '#' || *p->p == '!') {
      if (!definition_line(p))
        return false;
    } else if (hsc__mlir_accept_text(p, "{-#")) {
      if (!resources(p))
        return false;
    } else if (!parse_op(p, block)) {
      return false;
    }
  }
  if (!check_resources(p))
    return false;
  int count = (int)(p->stack.size / sizeof(hsc__mlir_op *));
  if (count == 0)
    return hsc__mlir_expected(p, "a module");
  block->ops = hsc_arena_copy(p->arena, p->stack.data, p->stack.size);
  block->op_count = count;
  if (!block->ops)
    return hsc__mlir_out_of_memory(p);
  if (count == 1 && strcmp(block->ops[0]->name, "module") == 0) {
    *out_top = block->ops[0];
    return true;
  }
  // Functions without a module around them.
  hsc__mlir_op *top = hsc__mlir_new_op(p, p->begin, HSC_VIEW("builtin.module"));
  hsc__mlir_block **regions = HSC_NEW_ARRAY(p->arena, hsc__mlir_block *, 1);
  if (!top || !regions)
    return hsc__mlir_out_of_memory(p);
  regions[0] = block;
  block->parent = top;
  top->regions = regions;
  top->region_count = 1;
  *out_top = top;
  return true;
}

// The whole text as a file, or as one attribute.
static hsc_status *read_text(hsc_view text,
                             const char *path,
                             hsc_arena *arena,
                             hsc__mlir_op **out_top,
                             const hsc__mlir_attr **out_attr) {
  if (text.size > INT32_MAX)
    return HSC_ERR(INVALID_ARGUMENT, "the text has %zu bytes; MLIR text is read up to 2 GiB",
                   text.size);
  char *copy = hsc_arena_strndup(arena, text.data, text.size);
  hsc__mlir_parser parser = {.begin = copy,
                             .p = copy,
                             .end = copy + text.size,
                             .path = path,
                             .arena = arena,
                             .line_start = copy,
                             .line = 1};
  hsc__mlir_parser *p = &parser;
  hsc_status *status = copy ? NULL : hsc_status_out_of_memory();
  if (status)
    return status;
  HSC_GOTO(hsc_map_create(&p->attr_aliases));
  HSC_GOTO(hsc_map_create(&p->type_aliases));
  HSC_GOTO(hsc_map_create(&p->types));
  HSC_GOTO(hsc_map_create(&p->resources));
  bool ok = out_top ? parse_file(p, out_top)
                    : hsc__mlir_attribute(p, out_attr) &&
                          (hsc__mlir_skip(p),
                           p->p == p->end || hsc__mlir_expected(p, "the end of the attribute"));
  if (!ok && !p->status)
    p->status = HSC_ERR(INTERNAL, "the MLIR text parser stopped without an error");
  status = p->status ? p->status : hsc_arena_status(arena);
done:
  hsc_map_destroy(p->attr_aliases);
  hsc_map_destroy(p->type_aliases);
  hsc_map_destroy(p->types);
  hsc_map_destroy(p->resources);
  hsc_free(p->buckets);
  hsc_free(p->definitions);
  hsc_bytes_deinit(&p->stack);
  hsc_bytes_deinit(&p->text);
  return status;
}

hsc_status *hsc__mlir_text_read(hsc_view text,
                                const char *path,
                                hsc_arena *arena,
                                hsc__mlir_op **out_top) {
  return read_text(text, path, arena, out_top, NULL);
}

hsc_status *hsc__mlir_text_read_attr(hsc_view text,
                                     hsc_arena *arena,
                                     const hsc__mlir_attr **out_attr) {
  return read_text(text, NULL, arena, NULL, out_attr);
}
