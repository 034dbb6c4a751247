// hlo_text.c - parses HLO text: the module's header and tables, computations, instructions; links
// names.
//
//   module      = [HloModule name (, attribute)*] [stack tables] computation+
//   computation = [ENTRY] name [(name: shape, ...) -> shape] { instruction+ } [,
//   execution_thread="..."]
//   instruction = [ROOT] name = [shape] op(operands) (, attribute)*
//   operand   = [shape] (name ("#" index)* | op(operands))
//      name#1: element 1 of a tuple, as libtpu's dumps say it
//
// Grammar as in XLA's hlo_parser.cc. What may be defined later than it is used: operands within
// their computation (the instructions are then put in order), called computations within the
// module. Without ENTRY the last computation is the entry.
#include "base/text/text.h"
#include "formats/hlo_text/hlo_text_internal.h"

// ---- names --------------------------------------------------------------------------------------

static hsc__name_slot *find_slot(const hsc__hlo_parser *p, hsc_view name, uint64_t hash) {
  size_t mask = p->name_capacity - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    hsc__name_slot *slot = &p->names[at];
    if (!slot->name || (slot->hash == hash && slot->scope == p->scope &&
                        slot->length == name.size && memcmp(slot->name, name.data, name.size) == 0))
      return slot;
  }
}

static uint64_t name_hash(const hsc__hlo_parser *p, hsc_view name) {
  return hsc_hash64(name.data, name.size, p->scope);
}

static hsc_instr *find(const hsc__hlo_parser *p, hsc_view name) {
  return p->name_capacity ? find_slot(p, name, name_hash(p, name))->instr : NULL;
}

static bool define_name(hsc__hlo_parser *p, hsc_view name, hsc_instr *instr) {
  if (p->name_count * 2 >= p->name_capacity) {
    size_t capacity = p->name_capacity ? p->name_capacity * 2 : 256;
    hsc__name_slot *old = p->names;
    hsc__name_slot *fresh = hsc_alloc(capacity * sizeof *fresh);
    if (!fresh)
      return hsc__hlo_out_of_memory(p);
    for (size_t i = 0; i < p->name_capacity; i++) {
      if (!old[i].name)
        continue;
      size_t at = old[i].hash & (capacity - 1);
      while (fresh[at].name)
        at = (at + 1) & (capacity - 1);
      fresh[at] = old[i];
    }
    hsc_free(old);
    p->names = fresh;
    p->name_capacity = capacity;
  }
  uint64_t hash = name_hash(p, name);
  hsc__name_slot *slot = find_slot(p, name, hash);
  if (slot->name)
    return hsc__hlo_error(p, name.data, "the name '%.*s' is taken: line %d", (int)name.size,
                          name.data, slot->instr->line);
  *slot = (hsc__name_slot){.name = name.data,
                           .length = (uint32_t)name.size,
                           .scope = p->scope,
                           .hash = hash,
                           .instr = instr};
  p->name_count++;
  return true;
}

bool hsc__hlo_fixup_add(hsc__hlo_parser *p, hsc__fixups *fixups, hsc__fixup fixup) {
  if (!HSC_GROW(fixups->items, fixups->count, fixups->capacity))
    return hsc__hlo_out_of_memory(p);
  fixups->items[fixups->count++] = fixup;
  return true;
}

// keeps `status` as the error, pointed at `at`
static bool take_status(hsc__hlo_parser *p, const char *at, hsc_status *status) {
  if (!status)
    return true;
  if (p->status) {
    hsc_status_free(status);
    return false;
  }
  // Points at the text by way of an error of our own, then keeps the code and message that came.
  if (at) {
    hsc__hlo_error(p, at, "%s", hsc_status_message(status));
    hsc_status *place = p->status;
    p->status = hsc_status_at(status, hsc_status_path(place), hsc_status_line(place),
                              hsc_status_column(place), hsc_status_source_line(place));
    hsc_status_free(place);
  } else {
    p->status = status;
  }
  return false;
}

// Line and column of a place; places come in ascending order, so the text is gone through once.
static void locate(hsc__hlo_parser *p, const char *at, int32_t *out_line, int32_t *out_column) {
  if (at < p->line_start) {  // an inline computation went ahead
    *out_line = p->line;
    *out_column = 0;
    return;
  }
  for (const char *newline;
       (newline = memchr(p->line_start, '\n', (size_t)(at - p->line_start))) != NULL;) {
    p->line_start = newline + 1;
    p->line++;
  }
  *out_line = p->line;
  *out_column = (int32_t)(at - p->line_start) + 1;
}

// ---- instructions -------------------------------------------------------------------------------

static bool parse_right_side(hsc__hlo_parser *p,
                             hsc_view name,
                             const char *at,
                             hsc_instr **out_instr);

static hsc_instr *new_instr(hsc__hlo_parser *p, hsc_op op) {
  hsc_instr *instr = HSC_NEW(p->arena, hsc_instr);
  instr->op = op;
  instr->id = p->module->next_id++;
  instr->parent = p->computation;
  instr->name = "";
  hsc__instr_defaults(instr);
  return instr;
}

static bool push_operand(hsc__hlo_parser *p, hsc_instr *operand) {
  if (!HSC_GROW(p->scratch_instrs, p->scratch_count, p->scratch_capacity))
    return hsc__hlo_out_of_memory(p);
  p->scratch_instrs[p->scratch_count++] = operand;
  return true;
}

static bool check_operand_shape(hsc__hlo_parser *p,
                                const char *at,
                                const hsc_shape *given,
                                const hsc_instr *operand) {
  if (hsc_shape_equal(given, &operand->shape))
    return true;
  hsc_bytes want = {0};
  hsc_bytes got = {0};
  hsc_shape_print(given, false, &want);
  hsc_shape_print(&operand->shape, false, &got);
  hsc__hlo_error(p, at, "the operand '%s' is given as %s, its instruction has %s", operand->name,
                 hsc_bytes_text(&want), hsc_bytes_text(&got));
  hsc_bytes_deinit(&want);
  hsc_bytes_deinit(&got);
  return false;
}

// "#1" after `name`, whose instruction is `tuple`: the get-tuple-element that it stands for, which
// is made where it is first named. The same text later in the computation is the same instruction.
static bool parse_element(hsc__hlo_parser *p,
                          hsc_view *name,
                          hsc_instr *tuple,
                          hsc_instr **out_element) {
  const char *at = p->p++;
  int64_t index;
  if (*p->p < '0' || *p->p > '9')
    return hsc__hlo_expected(p, "the index of a tuple's element after '#'");
  if (!hsc__hlo_int(p, &index))
    return false;
  name->size = (size_t)(p->p - name->data);
  *out_element = find(p, *name);
  if (*out_element)
    return true;
  if (!tuple)
    return hsc__hlo_error(p, at,
                          "'%.*s' is an element of an instruction that is not defined before it",
                          (int)name->size, name->data);
  if (!hsc_shape_is_tuple(&tuple->shape))
    return hsc__hlo_error(p, at, "'%s' is no tuple, so it has no element %lld", tuple->name,
                          (long long)index);
  if (index >= tuple->shape.element_count)
    return hsc__hlo_error(p, at, "'%s' has %lld elements, so there is none with the index %lld",
                          tuple->name, (long long)tuple->shape.element_count, (long long)index);
  hsc_instr *element = new_instr(p, HSC_OP_GET_TUPLE_ELEMENT);
  element->shape = tuple->shape.elements[index];
  element->attr.index.value = index;
  element->operand_count = 1;
  element->operands = hsc_arena_copy(p->arena, &tuple, sizeof tuple);
  const char *text = hsc_arena_printf(p->arena, "%s.element_%lld", tuple->name, (long long)index);
  if (!element->operands || !text)
    return hsc__hlo_out_of_memory(p);
  locate(p, at, &element->line, &element->column);
  if (!take_status(p, at, hsc_instr_set_name(element, text)) || !define_name(p, *name, element))
    return false;
  hsc__computation_append(p->computation, element);
  *out_element = element;
  return true;
}

static bool parse_operand(hsc__hlo_parser *p, int index) {
  hsc_shape shape;
  bool has_shape = hsc__hlo_looks_like_shape(p);
  if (has_shape && !hsc__hlo_shape(p, &shape))
    return false;
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  bool percent = *at == '%';
  hsc_view name;
  if (!hsc__hlo_name(p, "an operand", &name))
    return false;
  hsc_instr *operand;
  if (!percent && hsc__hlo_peek(p, '(')) {  // an instruction in the place of an operand
    p->p = at;
    if (!hsc__hlo_enter(p))
      return false;
    p->given_shape = has_shape ? &shape : NULL;
    if (!parse_right_side(p, (hsc_view){0}, at, &operand))
      return false;
    hsc__hlo_leave(p);
    return push_operand(p, operand);
  }
  operand = find(p, name);
  while (*p->p == '#')
    if (!parse_element(p, &name, operand, &operand))
      return false;
  if (operand) {
    if (has_shape && !check_operand_shape(p, name.data, &shape, operand))
      return false;
  } else {
    hsc_shape *kept = NULL;
    if (has_shape) {
      kept = HSC_NEW(p->arena, hsc_shape);
      *kept = shape;
    }
    if (!hsc__hlo_fixup_add(
            p, &p->operand_fixups,
            (hsc__fixup){.slot = index, .at = name.data, .name = name, .shape = kept}))
      return false;
  }
  return push_operand(p, operand);
}

static bool unknown_op(hsc__hlo_parser *p, hsc_view word) {
  const char *candidates[HSC_OP_COUNT];
  for (int op = 0; op < HSC_OP_COUNT; op++)
    candidates[op] = hsc_op_text((hsc_op)op);
  char text[64];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(word, 60), word.data);
  const char *near = hsc_did_you_mean(text, candidates, HSC_OP_COUNT);
  if (!strcmp(text, "b") && hsc__hlo_peek(p, '(')) {  // b(f32[4]), a buffer by itself
    hsc__hlo_error(p, word.data, "not built yet: buffers as values, b(...)");
    p->status = hsc__text_unsupported(p->status);
    return false;
  }
  return near ? hsc__hlo_error(p, word.data, "unknown operation '%s'; did you mean '%s'?", text,
                               near)
              : hsc__hlo_error(p, word.data, "unknown operation '%s'", text);
}

// "fusion-start" and the like: an op of the table with a suffix stands for the async op that wraps
// it.
static bool parse_op(hsc__hlo_parser *p, hsc_op *out_op, hsc_op *out_wrapped) {
  hsc_view word;
  if (!hsc__hlo_word(p, "an operation", &word))
    return false;
  *out_wrapped = HSC_OP_COUNT;
  if (hsc_op_parse(word, out_op))
    return true;
  static const struct {
    const char *suffix;
    size_t length;
    hsc_op op;
  } halves[] = {{"-start", 6, HSC_OP_ASYNC_START},
                {"-update", 7, HSC_OP_ASYNC_UPDATE},
                {"-done", 5, HSC_OP_ASYNC_DONE}};
  for (size_t i = 0; i < HSC_COUNT_OF(halves); i++) {
    size_t length = halves[i].length;
    if (word.size <= length ||
        memcmp(word.data + word.size - length, halves[i].suffix, length) != 0)
      continue;
    *out_op = halves[i].op;
    if (hsc_op_parse((hsc_view){word.data, word.size - length}, out_wrapped))
      return true;
  }
  return unknown_op(p, word);
}

static bool infer_missing_shape(hsc__hlo_parser *p, hsc_instr *instr, const char *at) {
  for (int i = 0; i < instr->operand_count; i++)
    if (!instr->operands[i])
      return hsc__hlo_error(p, at,
                            "%s: the shape must be given because an operand is defined later",
                            hsc_op_text(instr->op));
  for (int i = 0; i < instr->called_count; i++)
    if (!instr->called[i] || !instr->called[i]->root)
      return hsc__hlo_error(
          p, at, "%s: the shape must be given because a called computation is defined later",
          hsc_op_text(instr->op));
  int arity = hsc_op_arity(instr->op);
  // told by the shape's rule
  bool is_sparse = instr->op == HSC_OP_DOT && instr->attr.dot.sparsity;
  if (arity != VARIADIC_ARITY && instr->operand_count != arity && !is_sparse)
    return hsc__hlo_error(p, at, "%s: expected %d operand%s, found %d", hsc_op_text(instr->op),
                          arity, hsc_plural((double)arity, "", "s"), instr->operand_count);
  hsc_shape shape = {0};
  if (!take_status(p, at, hsc_infer_shape(p->arena, instr, &shape)))
    return false;
  if (shape.type == HSC_TYPE_INVALID)
    return hsc__hlo_error(p, at, "%s: the shape must be given", hsc_op_text(instr->op));
  instr->shape = shape;
  return true;
}

static bool parse_operands(hsc__hlo_parser *p, hsc_instr *instr) {
  size_t scratch_start = p->scratch_count;
  size_t fixup_start = p->operand_fixups.count;
  int count = 0;
  if (!hsc__hlo_accept(p, ')')) {
    do {
      if (!parse_operand(p, count))
        return false;
      count++;
    } while (hsc__hlo_accept(p, ','));
    if (!hsc__hlo_expect(p, ')', "or ',' in the operands"))
      return false;
  }
  instr->operand_count = count;
  if (count > 0) {
    instr->operands = hsc_arena_copy(p->arena, p->scratch_instrs + scratch_start,
                                     sizeof(hsc_instr *) * (size_t)count);
    if (!instr->operands)
      return hsc__hlo_out_of_memory(p);
  }
  p->scratch_count = scratch_start;
  for (size_t i = fixup_start; i < p->operand_fixups.count; i++)
    if (!p->operand_fixups.items[i].instr)
      p->operand_fixups.items[i].instr = instr;
  return true;
}

// The computation that "op-start(operands)" stands for: parameters like the operands, and the op as
// its root.
static bool wrap_async(hsc__hlo_parser *p, hsc_instr *start, hsc_op wrapped_op, const char *at) {
  const hsc_shape *shape = &start->shape;
  if (!hsc_shape_is_tuple(shape) || shape->element_count < 2 ||
      !hsc_shape_is_tuple(&shape->elements[0]))
    return hsc__hlo_error(p, at, "%s-start: the shape must be ((operands), results, ...)",
                          hsc_op_text(wrapped_op));
  for (int i = 0; i < start->operand_count; i++)
    if (!start->operands[i])
      return hsc__hlo_error(p, at, "%s-start: an operand is defined later",
                            hsc_op_text(wrapped_op));
  hsc_computation *wrapper = hsc_module_add_computation(p->module, "async_wrapped");
  hsc_computation *outer = p->computation;
  p->has_inline = true;
  if (!wrapper)
    return hsc__hlo_out_of_memory(p);
  p->computation = wrapper;
  hsc_instr *wrapped = new_instr(p, wrapped_op);
  wrapped->shape = shape->elements[1];
  wrapped->operand_count = start->operand_count;
  wrapped->operands = HSC_NEW_ARRAY(p->arena, hsc_instr *, start->operand_count);
  if (start->operand_count && !wrapped->operands)
    return hsc__hlo_out_of_memory(p);
  for (int i = 0; i < start->operand_count; i++) {
    hsc_instr *parameter = new_instr(p, HSC_OP_PARAMETER);
    parameter->shape = start->operands[i]->shape;
    parameter->attr.index.value = i;
    if (!take_status(p, at, hsc_instr_set_name(parameter, "async_param")))
      return false;
    hsc__computation_append(wrapper, parameter);
    wrapped->operands[i] = parameter;
  }
  bool ok = hsc__hlo_attributes(p, wrapped, start) &&
            take_status(p, at, hsc_instr_set_name(wrapped, "async_op"));
  hsc__computation_append(wrapper, wrapped);
  wrapper->root = wrapped;
  p->computation = outer;
  if (!ok)
    return false;
  wrapped->metadata = start->metadata;
  wrapped->frontend_attributes = start->frontend_attributes;
  wrapped->backend_config = start->backend_config;
  start->called_count = 1;
  start->called = hsc_arena_copy(p->arena, &wrapper, sizeof wrapper);
  return start->called ? take_status(p, at, hsc__computation_link(wrapper))
                       : hsc__hlo_out_of_memory(p);
}

// An async-update or -done goes on with what its operand started: the same op, computation and
// thread.
static bool check_async(hsc__hlo_parser *p,
                        const hsc_instr *instr,
                        hsc_op wrapped,
                        const char *at) {
  static const char key[] = "async_execution_thread=";
  const hsc_instr *start = instr->operand_count ? instr->operands[0] : NULL;
  while (start && start->op == HSC_OP_ASYNC_UPDATE)
    start = start->operand_count ? start->operands[0] : NULL;
  // defined later, or the verifier says it
  if (!start || start->op != HSC_OP_ASYNC_START || start->called_count != 1)
    return true;
  const hsc_computation *body = start->called[0];
  if (wrapped != HSC_OP_COUNT && body->root && body->root->op != wrapped)
    return hsc__hlo_error(p, at, "this goes on with '%s', and '%s' started '%s'",
                          hsc_op_text(wrapped), start->name, hsc_op_text(body->root->op));
  if (instr->called_count && instr->called[0] != body)
    return hsc__hlo_error(p, at, "this names another computation than '%s', which it goes on with",
                          start->name);
  const char *given = instr->extra_attributes ? strstr(instr->extra_attributes, key) : NULL;
  const char *thread = body->execution_thread ? body->execution_thread : "main";
  size_t length = strlen(thread);
  if (given && (given[sizeof key - 1] != '"' || strncmp(given + sizeof key, thread, length) ||
                given[sizeof key + length] != '"'))
    return hsc__hlo_error(p, at, "this names another thread than '%s', which '%s' started on",
                          thread, start->name);
  return true;
}

// [shape] op(operands), attributes. An instruction in the place of an operand has no name, and no
// attributes but the ones in its parentheses' own right: it ends at the closing parenthesis.
// The shape before the op; *out_given is false where there is none.
static bool parse_own_shape(hsc__hlo_parser *p, hsc_shape *out_shape, bool *out_given) {
  const hsc_shape *given = p->given_shape;
  p->given_shape = NULL;
  *out_shape = given ? *given : (hsc_shape){0};
  *out_given = given != NULL;
  if (given || !hsc__hlo_looks_like_shape(p))
    return true;
  *out_given = true;
  return hsc__hlo_shape(p, out_shape);
}

// "parameter(0)", "constant({1, 2})": no operands, and the shape says how to read them.
static bool parse_leaf(hsc__hlo_parser *p, hsc_instr *instr, bool has_shape, const char *op_at) {
  bool is_parameter = instr->op == HSC_OP_PARAMETER;
  if (!has_shape)
    return hsc__hlo_error(p, op_at, "%s: the shape must be given", hsc_op_text(instr->op));
  bool ok = is_parameter ? hsc__hlo_int(p, &instr->attr.index.value)
                         : hsc__hlo_literal(p, &instr->shape, &instr->attr.literal.value);
  if (!ok ||
      !hsc__hlo_expect(p, ')', is_parameter ? "after the parameter number" : "after the literal"))
    return false;
  if (is_parameter && (instr->attr.index.value < 0 || instr->attr.index.value > INT32_MAX))
    return hsc__hlo_error(p, op_at, "the parameter number is out of range");
  return true;
}

// wrapped: the op of "op-start" and the like, else HSC_OP_COUNT. An instruction that stands as an
// operand has no name and no attributes.
static bool parse_attributes(
    hsc__hlo_parser *p, hsc_instr *instr, hsc_view name, hsc_op wrapped, const char *op_at) {
  bool starts = wrapped != HSC_OP_COUNT && instr->op == HSC_OP_ASYNC_START;
  if (starts && !wrap_async(p, instr, wrapped, op_at))
    return false;
  if (!starts && name.size && !hsc__hlo_attributes(p, instr, NULL))
    return false;
  return (instr->op != HSC_OP_ASYNC_UPDATE && instr->op != HSC_OP_ASYNC_DONE) ||
         check_async(p, instr, wrapped, op_at);
}

// Of an instruction without a shape: `origin` is a tree like the shape, so that it cannot be read.
static bool has_origin(const hsc_instr *instr) {
  const char *extra = instr->extra_attributes;
  const char *origin = extra ? strstr(extra, "origin=") : NULL;
  return origin && (origin == extra || origin[-1] == ' ');
}

static bool give_name(hsc__hlo_parser *p, hsc_instr *instr, hsc_view name, const char *op_at) {
  char text[256];
  const char *own_name = text;
  if (name.size == 0) {
    snprintf(text, sizeof text, "%s.anon", hsc_op_text(instr->op));
  } else if (name.size < sizeof text) {
    memcpy(text, name.data, name.size);
    text[name.size] = 0;
  } else {
    own_name = hsc_arena_strndup(p->arena, name.data, name.size);
  }
  if (!own_name)
    return hsc__hlo_out_of_memory(p);
  return take_status(p, op_at, hsc_instr_set_name(instr, own_name));
}

static bool parse_right_side(hsc__hlo_parser *p,
                             hsc_view name,
                             const char *at,
                             hsc_instr **out_instr) {
  hsc_shape shape;
  bool has_shape;
  if (!parse_own_shape(p, &shape, &has_shape))
    return false;
  hsc_op op, wrapped;
  hsc__hlo_skip_space(p);
  const char *op_at = p->p;
  if (!parse_op(p, &op, &wrapped))
    return false;
  hsc_instr *instr = new_instr(p, op);
  instr->shape = shape;
  locate(p, at, &instr->line, &instr->column);
  *out_instr = instr;
  if (!hsc__hlo_expect(p, '(', "after the operation"))
    return false;
  bool is_leaf = op == HSC_OP_PARAMETER || op == HSC_OP_CONSTANT;
  if (is_leaf ? !parse_leaf(p, instr, has_shape, op_at) : !parse_operands(p, instr))
    return false;
  // An arena without memory gives one dummy to everybody: the instruction is then no longer ours.
  if (!take_status(p, NULL, hsc_arena_status(p->arena)))
    return false;
  if (!parse_attributes(p, instr, name, wrapped, op_at))
    return false;
  if (!has_shape && has_origin(instr))
    return hsc__hlo_error(
        p, at, "the origin of a value is a tree like its shape: the shape must be given");
  if (!has_shape && !infer_missing_shape(p, instr, op_at))
    return false;
  if (!give_name(p, instr, name, op_at))
    return false;
  hsc__computation_append(p->computation, instr);
  return true;
}

static bool parse_instruction(hsc__hlo_parser *p) {
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  bool is_root = hsc__hlo_accept_word(p, "ROOT");
  if (is_root && hsc__hlo_peek(p, '=')) {  // an instruction that is called ROOT
    p->p = at;
    is_root = false;
  }
  hsc_view name;
  hsc_instr *instr;
  if (!hsc__hlo_name(p, "an instruction or '}'", &name) ||
      !hsc__hlo_expect(p, '=', "after the name of the instruction"))
    return false;
  if (!parse_right_side(p, name, at, &instr) || !define_name(p, name, instr))
    return false;
  if (is_root) {
    if (p->computation->root)
      return hsc__hlo_error(p, at, "the computation has two roots");
    p->computation->root = instr;
  }
  return true;
}

// ---- computations -------------------------------------------------------------------------------

// "(x: f32[2], y: f32[]) -> f32[2]"; only the result is used, to check the root.
static bool parse_signature(hsc__hlo_parser *p, hsc_shape *out_result, const char **out_result_at) {
  if (!hsc__hlo_expect(p, '(', "before the parameters"))
    return false;
  if (!hsc__hlo_accept(p, ')')) {
    do {
      hsc_view name;
      hsc_shape shape;
      if (!hsc__hlo_name(p, "the name of a parameter", &name) ||
          !hsc__hlo_expect(p, ':', "after the name of the parameter") || !hsc__hlo_shape(p, &shape))
        return false;
    } while (hsc__hlo_accept(p, ','));
    if (!hsc__hlo_expect(p, ')', "or ',' in the parameters"))
      return false;
  }
  hsc__hlo_skip_space(p);
  if (p->p[0] != '-' || p->p[1] != '>')
    return hsc__hlo_expected(p, "'->' and the shape of the result");
  p->p += 2;
  hsc__hlo_skip_space(p);
  *out_result_at = p->p;
  return hsc__hlo_shape(p, out_result);
}

static bool not_defined(hsc__hlo_parser *p,
                        const hsc__fixup *fixup,
                        const char *what,
                        const char *where) {
  char text[128];
  snprintf(text, sizeof text, "%.*s", hsc_view_shown(fixup->name, 120), fixup->name.data);
  enum { MAX_CANDIDATES = 4096 };
  const char **candidates = hsc_alloc(MAX_CANDIDATES * sizeof *candidates);
  size_t count = 0;
  if (candidates && p->computation) {
    HSC_FOR_EACH_INSTR_IN (p->computation, it) {
      if (count < MAX_CANDIDATES)
        candidates[count++] = it->name;
    }
  } else if (candidates) {
    for (size_t i = 0; i < hsc_map_count(p->computations) && count < MAX_CANDIDATES; i++)
      candidates[count++] = ((hsc_computation *)hsc_map_at(p->computations, i, NULL))->name;
  }
  const char *near = candidates ? hsc_did_you_mean(text, candidates, count) : NULL;
  if (near)
    hsc__hlo_error(p, fixup->at, "the %s '%s' is not defined in %s; did you mean '%s'?", what, text,
                   where, near);
  else
    hsc__hlo_error(p, fixup->at, "the %s '%s' is not defined in %s", what, text, where);
  hsc_free(candidates);
  return false;
}

static bool resolve_operands(hsc__hlo_parser *p, size_t fixup_start) {
  for (size_t i = fixup_start; i < p->operand_fixups.count; i++) {
    hsc__fixup *fixup = &p->operand_fixups.items[i];
    hsc_instr *target = find(p, fixup->name);
    if (!target)
      return not_defined(p, fixup, fixup->control ? "control predecessor" : "operand",
                         p->computation->name);
    if (fixup->control) {
      if (target == fixup->instr)
        return hsc__hlo_error(p, fixup->at, "'%s' is its own control predecessor", target->name);
      hsc_instr_add_control_predecessor(fixup->instr, target);
      p->order_broken |= target->id > fixup->instr->id;
      continue;
    }
    if (fixup->shape && !check_operand_shape(p, fixup->at, fixup->shape, target))
      return false;
    fixup->instr->operands[fixup->slot] = target;
    p->order_broken = true;
  }
  p->operand_fixups.count = fixup_start;
  return true;
}

// Puts the instructions of a computation in an order where operands come first, as near to the
// given order as a depth-first walk keeps it.
static bool order_instructions(hsc__hlo_parser *p, hsc_computation *computation) {
  size_t count = (size_t)computation->instr_count;
  hsc_instr **stack = hsc_alloc((count + 1) * sizeof *stack);
  hsc_instr **order = hsc_alloc((count + 1) * sizeof *order);
  // per stack level: the next operand or predecessor to look at
  size_t *next = hsc_alloc((count + 1) * sizeof *next);
  bool ok = stack && order && next;
  if (!ok)
    hsc__hlo_out_of_memory(p);
  size_t done = 0;
  HSC_FOR_EACH_INSTR_IN (computation, reset)
    reset->index = 0;  // 0 new, 1 on the stack, 2 done
  HSC_FOR_EACH_INSTR_IN (computation, it) {
    if (!ok)
      break;
    if (it->index)
      continue;
    size_t depth = 0;
    stack[depth] = it;
    next[depth] = 0;
    it->index = 1;
    for (;;) {
      hsc_instr *top = stack[depth];
      size_t edge = next[depth]++;
      hsc_instr *to;
      if (edge < (size_t)top->operand_count)
        to = top->operands[edge];
      else if (edge < (size_t)top->operand_count + (size_t)top->control_count)
        to = top->control_predecessors[edge - (size_t)top->operand_count];
      else
        to = NULL;
      if (to && to->index == 1) {
        const char *at = p->begin;
        for (int line = 1; line < to->line && at; line++) {
          at = memchr(at, '\n', (size_t)(p->end - at));
          at = at ? at + 1 : NULL;
        }
        if (at && to->column > 0)
          at += to->column - 1;
        ok = hsc__hlo_error(p, at ? at : p->p, "'%s' depends on itself", to->name);
        break;
      }
      if (to && to->index == 0) {
        to->index = 1;
        stack[++depth] = to;
        next[depth] = 0;
      } else if (!to) {
        top->index = 2;
        order[done++] = top;
        if (depth-- == 0)
          break;
      }
    }
  }
  if (ok) {
    computation->first = computation->last = NULL;
    computation->instr_count = 0;
    for (size_t i = 0; i < done; i++) {
      hsc__computation_append(computation, order[i]);
    }
  }
  hsc_free(stack);
  hsc_free(order);
  hsc_free(next);
  return ok;
}

// "{ instructions }" into `computation`.
static bool parse_body(hsc__hlo_parser *p, hsc_computation *computation) {
  hsc_computation *outer_computation = p->computation;
  uint32_t outer_scope = p->scope;
  bool outer_broken = p->order_broken;
  size_t fixup_start = p->operand_fixups.count;
  p->computation = computation;
  p->scope = p->next_scope++;
  p->order_broken = false;
  bool ok = hsc__hlo_expect(p, '{', "before the instructions");
  do {
    ok = ok && parse_instruction(p);
  } while (ok && !hsc__hlo_accept(p, '}'));
  if (ok && !computation->root)
    computation->root = computation->last;
  ok = ok && resolve_operands(p, fixup_start);
  ok = ok && (!p->order_broken || order_instructions(p, computation)) &&
       take_status(p, p->p, hsc__computation_link(computation));
  p->computation = outer_computation;
  p->scope = outer_scope;
  p->order_broken = outer_broken;
  return ok;
}

bool hsc__hlo_inline_computation(hsc__hlo_parser *p,
                                 const hsc_instr *caller,
                                 hsc_computation **out_computation) {
  char name[96];
  p->has_inline = true;
  snprintf(name, sizeof name, "%s_computation", hsc_op_text(caller->op));
  hsc_computation *computation = hsc_module_add_computation(p->module, name);
  if (!computation)
    return hsc__hlo_out_of_memory(p);
  if (!hsc__hlo_enter(p) || !parse_body(p, computation))
    return false;
  hsc__hlo_leave(p);
  *out_computation = computation;
  return true;
}

static bool parse_computation(hsc__hlo_parser *p) {
  hsc__hlo_skip_space(p);
  const char *at = p->p;
  bool is_entry = hsc__hlo_accept_word(p, "ENTRY");
  hsc_view name;
  if (!hsc__hlo_name(p, is_entry ? "the name of the entry computation" : "a computation", &name))
    return false;
  if (hsc_map_get(p->computations, name))
    return hsc__hlo_error(p, name.data, "the computation '%.*s' is defined twice", (int)name.size,
                          name.data);
  char *copy = hsc_arena_strndup(p->arena, name.data, name.size);
  hsc_computation *computation = copy ? hsc_module_add_computation(p->module, copy) : NULL;
  if (!computation)
    return hsc__hlo_out_of_memory(p);
  hsc_shape result;
  const char *result_at = NULL;
  if (hsc__hlo_peek(p, '(') && !parse_signature(p, &result, &result_at))
    return false;
  if (!parse_body(p, computation))
    return false;
  if (result_at && !hsc_shape_equal(&result, &computation->root->shape)) {
    hsc_bytes want = {0};
    hsc_bytes got = {0};
    hsc_shape_print(&result, false, &want);
    hsc_shape_print(&computation->root->shape, false, &got);
    hsc__hlo_error(p, result_at, "the result of '%s' is given as %s, its root '%s' has %s",
                   computation->name, hsc_bytes_text(&want), computation->root->name,
                   hsc_bytes_text(&got));
    hsc_bytes_deinit(&want);
    hsc_bytes_deinit(&got);
    return false;
  }
  while (hsc__hlo_accept(p, ',')) {
    if (!hsc__hlo_accept_word(p, "execution_thread"))
      return hsc__hlo_expected(p, "execution_thread");
    if (!hsc__hlo_expect(p, '=', "after execution_thread") ||
        !hsc__hlo_string(p, &computation->execution_thread))
      return false;
    if (strcmp(computation->execution_thread, "main") == 0)
      computation->execution_thread = NULL;
  }
  if (is_entry) {
    if (p->entry)
      return hsc__hlo_error(p, at, "the module has two ENTRY computations");
    p->entry = computation;
  }
  if (hsc_map_put(p->computations, name, computation) != NULL)
    return hsc__hlo_out_of_memory(p);
  return true;
}

// ---- module -------------------------------------------------------------------------------------

static bool resolve_called(hsc__hlo_parser *p) {
  p->computation = NULL;
  for (size_t i = 0; i < p->called_fixups.count; i++) {
    hsc__fixup *fixup = &p->called_fixups.items[i];
    hsc_computation *target = hsc_map_get(p->computations, fixup->name);
    if (!target)
      return not_defined(p, fixup, "computation", "this module");
    fixup->instr->called[fixup->slot] = target;
  }
  return true;
}

// XLA also takes one instruction without anything around it, and makes parameters of its operands.
static bool refuse_lone_instruction(hsc__hlo_parser *p) {
  const char *start = p->p;
  const char *c = start;
  while (c < p->end && (hsc__hlo_is_name_char(*c) || *c == '%'))
    c++;
  while (c < p->end && *c == ' ')
    c++;
  if (c == start || c == p->end || (*c != '=' && *c != '['))
    return false;
  hsc__hlo_error(
      p, start,
      "not built yet: HLO text of one instruction without a module and a computation around it");
  p->status = hsc__text_unsupported(p->status);
  return true;
}

static bool parse_text(hsc__hlo_parser *p) {
  if (!hsc__hlo_header(p))
    return false;
  hsc__hlo_skip_space(p);
  if (refuse_lone_instruction(p))
    return false;
  do {
    if (!parse_computation(p))
      return false;
    hsc__hlo_skip_space(p);
  } while (p->p < p->end);
  hsc_computation *last = hsc_map_at(p->computations, hsc_map_count(p->computations) - 1, NULL);
  p->module->entry = p->entry ? p->entry : last;
  if (!resolve_called(p))
    return false;
  // A computation that is called before it is defined, or that is in an instruction, may be out
  // of order.
  if ((p->called_fixups.count || p->has_inline) &&
      !take_status(p, p->end, hsc__module_order(p->module)))
    return false;
  hsc__module_normalize(p->module);
  return take_status(p, NULL, hsc_arena_status(p->arena));
}

hsc_status *hsc_hlo_text_parse(hsc_view text, const char *path, hsc_module **out_module) {
  hsc_module *module;
  hsc__hlo_parser *p;
  HSC_TRY(hsc_module_create("", &module));
  hsc_status *status = hsc__hlo_parser_init(&p, module->arena, text);
  if (status) {
    hsc_module_destroy(module);
    return status;
  }
  p->module = module;
  p->path = path;
  p->status = hsc_map_create(&p->computations);
  if (path)
    module->source_path = hsc_arena_strdup(module->arena, path);
  if (!p->status && !parse_text(p) && !p->status)
    p->status = HSC_ERR(INTERNAL, "the HLO text parser stopped without an error");
  status = hsc__hlo_parser_deinit(p);
  if (status)
    hsc_module_destroy(module);
  else
    *out_module = module;
  return status;
}
