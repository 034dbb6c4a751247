// passes_why_change.c - a program with one thing about a pair changed.
//
// The cut holds the path from producer to consumer alone: what they read become parameters, and
// small constants come along. In the whole program the pair stays where it is, and what is around
// it is taken from other values: new parameters in the entry, one element spread out inside of
// loops. What an operation is, is changed there by a plain one between the two, which takes its
// mark. The numbers are others then; only kernels are looked at.
#include "lab/passes/passes_why_internal.h"

#include "transform/reduce/reduce.h"

typedef struct changer {
  hsc_module *module;
  hsc_builder builder;
  int parameters;
} changer;

// ---- the cut ------------------------------------------------------------------------------------

typedef struct cutter {
  changer c;
  const hsc_instr *from[2 * WHY_LONGEST + 64];  // what was copied, and what it became
  hsc_instr *to[2 * WHY_LONGEST + 64];
  int count;
} cutter;

// Where the next instructions go; errors of earlier ones stay.
static void build_before(changer *c, hsc_computation *computation, hsc_instr *before) {
  c->builder.computation = computation;
  c->builder.before = before;
}

static hsc_instr *new_parameter(changer *c, const hsc_shape *shape) {
  char name[32];
  snprintf(name, sizeof name, "why_%d", c->parameters);
  hsc_arena *arena = c->module->arena;
  hsc_shape plain = hsc_shape_without_layout(arena, hsc_shape_copy(arena, *shape));
  return hsc_build_parameter(&c->builder, c->parameters++, plain, name);
}

static void remember(cutter *c, const hsc_instr *from, hsc_instr *to) {
  if (c->count < (int)HSC_COUNT_OF(c->from)) {
    c->from[c->count] = from;
    c->to[c->count++] = to;
  }
}

// Constants of a few elements, and what is made of them alone, are part of the operation.
static bool comes_along(const hsc_instr *instr, int depth) {
  if (instr->op == HSC_OP_CONSTANT)
    return hsc_shape_elements(&instr->shape) <= 16 && !instr->attr.literal.value->elided;
  if (instr->op == HSC_OP_IOTA)
    return true;
  if (depth > 3 || (instr->op != HSC_OP_BROADCAST && instr->op != HSC_OP_CONVERT))
    return false;
  return comes_along(instr->operands[0], depth + 1);
}

static hsc_instr *value_in_cut(cutter *c, const hsc_instr *instr);

static hsc_instr *copy_in_cut(cutter *c, const hsc_instr *instr) {
  hsc_instr *operands[64];
  if (instr->operand_count > (int)HSC_COUNT_OF(operands))
    return new_parameter(&c->c, &instr->shape);
  for (int i = 0; i < instr->operand_count; i++)
    operands[i] = value_in_cut(c, instr->operands[i]);
  return hsc_build_clone(&c->c.builder, instr, operands);
}

static hsc_instr *value_in_cut(cutter *c, const hsc_instr *instr) {
  for (int i = 0; i < c->count; i++)
    if (c->from[i] == instr)
      return c->to[i];
  hsc_instr *made =
      comes_along(instr, 0) ? copy_in_cut(c, instr) : new_parameter(&c->c, &instr->shape);
  remember(c, instr, made);
  return made;
}

// What takes the place of an operation to see whether its kind is the matter: elementwise, cheap,
// and such that the two of a pair do not cancel each other.
static hsc_op plain_op(hsc_type type, bool is_consumer) {
  if (type == HSC_TYPE_PRED)
    return HSC_OP_NOT;
  if (!is_consumer || type == HSC_TYPE_C64 || type == HSC_TYPE_C128)
    return HSC_OP_NEGATE;
  return hsc_type_is_float(type) ? HSC_OP_FLOOR : HSC_OP_NOT;
}

// It carries the mark of the operation in whose place it is.
static hsc_instr *plain_operation(changer *c,
                                  hsc_instr *x,
                                  const hsc_instr *in_place_of,
                                  bool is_consumer) {
  hsc_metadata *metadata = HSC_NEW(c->module->arena, hsc_metadata);
  if (!metadata)
    return x;
  metadata->op_name = hsc_arena_strdup(c->module->arena, in_place_of->metadata->op_name);
  c->builder.metadata = metadata;
  hsc_instr *made = hsc_build_unary(&c->builder, plain_op(x->shape.type, is_consumer), x);
  c->builder.metadata = NULL;
  return made;
}

static bool is_elementwise(const hsc_instr *instr) {
  return (hsc_op_traits(instr->op) & HSC_TRAIT_ELEMENTWISE) != 0;
}

// Whether a change of the cut says anything of this pair.
static bool applies_to_cut(const why_pair *pair, why_change change) {
  const hsc_instr *producer = why_producer(pair);
  const hsc_instr *consumer = why_consumer(pair);
  switch (change) {
    case WHY_producer:
      return !is_elementwise(producer) && hsc_shape_is_array(&producer->shape);
    case WHY_consumer:
      return !is_elementwise(consumer);
    case WHY_both:
      return !is_elementwise(producer) && hsc_shape_is_array(&producer->shape) &&
             !is_elementwise(consumer);
    default:
      return true;
  }
}

static hsc_status *build_cut(cutter *c, const why_pair *pair, why_change change) {
  bool plain_producer = change == WHY_producer || change == WHY_both;
  bool plain_consumer = change == WHY_consumer || change == WHY_both;
  const hsc_instr *producer = why_producer(pair);
  hsc_instr *made = NULL;
  for (int i = 0; i < pair->length; i++) {
    const hsc_instr *instr = pair->path[i];
    if (i == 0 && plain_producer)
      made = plain_operation(&c->c, new_parameter(&c->c, &producer->shape), producer, false);
    else if (i + 1 == pair->length && plain_consumer)
      made = plain_operation(&c->c, made, instr, true);
    else
      made = copy_in_cut(c, instr);
    remember(c, instr, made);
  }
  if (change == WHY_output)
    made = hsc_build_tuple(&c->c.builder, 2, (hsc_instr *[]){made, c->to[0]});
  return hsc_builder_finish(&c->c.builder, made, &c->c.module->entry);
}

// All places of a rule of reductions at once: smaller dimensions, simpler types.
static hsc_status *by_rule(const char *name, hsc_module **io_module) {
  const hsc_reduce_rule *rule = hsc_reduce_rule_get(name);
  hsc_reduced reduced = {0};
  int64_t count = 0;
  HSC_TRY(hsc_reduce_places(rule, *io_module, &count));
  bool *all = hsc_alloc((size_t)count + 1);
  if (!all)
    return hsc_status_out_of_memory();
  memset(all, true, (size_t)count + 1);
  hsc_status *status = count ? hsc_reduce_apply(rule, *io_module, all, count, &reduced) : NULL;
  hsc_free(all);
  hsc_module_destroy(*io_module);
  *io_module = reduced.module;
  return status;
}

static hsc_status *cut(const why_pair *pair, why_change change, hsc_module **out_module) {
  cutter c = {0};
  *out_module = NULL;
  if (!applies_to_cut(pair, change))
    return NULL;
  HSC_TRY(hsc_module_create("cut", &c.c.module));
  hsc_builder_init(&c.c.builder, c.c.module, "main");
  hsc_status *status = build_cut(&c, pair, change);
  if (!status)
    status = hsc_module_sort(c.c.module);
  if (!status)
    status = hsc_module_verify(c.c.module);
  // twice: dimensions go down step by step
  for (int i = 0; i < 2 && change == WHY_size && !status && c.c.module; i++)
    status = by_rule("dimensions", &c.c.module);
  if (change == WHY_type && !status)
    status = by_rule("types", &c.c.module);
  if (status)
    hsc_module_destroy(c.c.module);
  else
    *out_module = c.c.module;
  return status;
}

// ---- the whole program --------------------------------------------------------------------------

// One number of the computation that the compiler does not know: an element of the first array that
// it is given.
static hsc_instr *some_element(changer *c) {
  hsc_builder *b = &c->builder;
  hsc_instr *given = b->computation->parameter_count ? b->computation->parameters[0] : NULL;
  if (!given)
    return NULL;
  if (hsc_shape_is_tuple(&given->shape)) {
    int i = 0;
    while (i < given->shape.element_count && !hsc_shape_is_array(&given->shape.elements[i]))
      i++;
    if (i == given->shape.element_count)
      return NULL;
    given = hsc_build_get_tuple_element(b, given, i);
  }
  int rank = given->shape.rank;
  if (!hsc_shape_is_array(&given->shape) || hsc_shape_elements(&given->shape) == 0)
    return NULL;
  int64_t zeros[HSC_MAX_RANK] = {0};
  int64_t ones[HSC_MAX_RANK];
  for (int d = 0; d < rank; d++)
    ones[d] = 1;
  hsc_arena *arena = c->module->arena;
  hsc_dims start = hsc_dims_copy(arena, rank, zeros);
  hsc_dims limit = hsc_dims_copy(arena, rank, ones);
  return hsc_build_reshape(b, hsc_build_slice(b, given, start, limit, limit), 0, NULL);
}

// Another value of the shape, NULL where there is none.
static hsc_instr *other_value(changer *c, const hsc_shape *shape, hsc_instr *before) {
  hsc_builder *b = &c->builder;
  if (!hsc_shape_is_array(shape))
    return NULL;
  build_before(c, before->parent, before);
  if (before->parent == c->module->entry) {
    hsc_instr *parameter = new_parameter(c, shape);
    return b->status ? NULL : parameter;
  }
  // after its own operands, and before whoever wants it: the start of the computation
  hsc_instr *first = before->parent->first;
  while (first && first->op == HSC_OP_PARAMETER)
    first = first->next;
  build_before(c, before->parent, first);
  hsc_instr *element = some_element(c);
  if (!element)
    return NULL;
  hsc_shape plain = hsc_shape_without_layout(c->module->arena, *shape);
  hsc_instr *number = hsc_build_convert(b, shape->type, element);
  hsc_instr *spread = hsc_build_broadcast(b, number, plain, (hsc_dims){0});
  return b->status ? NULL : spread;
}

// Every use of `instr` but that by `kept` gets another value.
static hsc_status *turn_away_users(changer *c, hsc_instr *instr, const hsc_instr *kept, int *io) {
  for (int u = instr->user_count; u-- > 0;) {
    hsc_instr *user = u < instr->user_count ? instr->users[u] : NULL;
    if (!user || user == kept)
      continue;
    hsc_instr *other = other_value(c, &instr->shape, user);
    if (!other)
      continue;
    for (int i = 0; i < user->operand_count; i++)
      if (user->operands[i] == instr)
        hsc_instr_set_operand(user, i, other);
    ++*io;
  }
  return NULL;
}

// Operands become other values, but for `kept` and what is part of the operation.
static hsc_status *turn_away_operands(changer *c,
                                      hsc_instr *instr,
                                      const hsc_instr *kept,
                                      int *io) {
  for (int i = 0; i < instr->operand_count; i++) {
    hsc_instr *operand = instr->operands[i];
    if (operand == kept || operand->op == HSC_OP_PARAMETER || comes_along(operand, 0))
      continue;
    hsc_instr *other = other_value(c, &operand->shape, instr);
    if (!other)
      continue;
    hsc_instr_set_operand(instr, i, other);
    ++*io;
  }
  return NULL;
}

// A further result of the program.
static hsc_status *add_result(hsc_module *module, hsc_instr *result) {
  hsc_instr *root = module->entry->root;
  hsc_builder b = {0};
  bool was_tuple = root->op == HSC_OP_TUPLE;
  int count = was_tuple ? root->operand_count : 1;
  hsc_instr **results = HSC_NEW_ARRAY(module->arena, hsc_instr *, count + 1);
  HSC_TRY(hsc_arena_status(module->arena));
  for (int i = 0; i < count; i++)
    results[i] = was_tuple ? root->operands[i] : root;
  results[count] = result;
  hsc_builder_at(&b, module->entry, NULL);
  return hsc_builder_finish(&b, hsc_build_tuple(&b, count + 1, results), NULL);
}

// The consumer's readers read something else; what it computes stays wanted.
static hsc_status *isolate_consumer(changer *c, hsc_instr *consumer, int *io) {
  int before = *io;
  if (consumer->parent == c->module->entry && consumer->parent->root != consumer) {
    HSC_TRY(turn_away_users(c, consumer, NULL, io));
    return *io > before ? add_result(c->module, consumer) : NULL;
  }
  if (consumer->parent->root == consumer || !consumer->user_count)
    return NULL;
  hsc_builder b = {0};
  hsc_builder_at(&b, consumer->parent, consumer->next);
  hsc_instr *barrier =
      hsc_build_op(&b, HSC_OP_OPT_BARRIER, consumer->shape, NULL, 1, &consumer, 0, NULL);
  for (int u = consumer->user_count; u-- > 0;) {
    hsc_instr *user = u < consumer->user_count ? consumer->users[u] : NULL;
    for (int i = 0; user && user != barrier && i < user->operand_count; i++)
      if (user->operands[i] == consumer)
        hsc_instr_set_operand(user, i, barrier);
  }
  ++*io;
  return hsc_builder_finish(&b, NULL, NULL);
}

// An elementwise operation between the two, with the mark of the one in whose place it is: the
// producer's as the consumer reads it, the consumer's as it reads the producer.
static hsc_status *put_between(
    changer *c, hsc_instr *consumer, hsc_instr *read, hsc_instr *marked, bool alone, int *io) {
  if (!hsc_shape_is_array(&read->shape))
    return NULL;
  build_before(c, consumer->parent, consumer);
  hsc_instr *made = plain_operation(c, read, marked, marked == consumer);
  if (c->builder.status)
    return NULL;  // told when the building ends
  for (int i = 0; i < consumer->operand_count; i++)
    if (consumer->operands[i] == read)
      hsc_instr_set_operand(consumer, i, made);
  marked->metadata = NULL;
  ++*io;
  // a new one in the consumer's place must not go into the consumer
  return alone ? isolate_consumer(c, made, io) : NULL;
}

static hsc_instr *same_in(hsc_module *module, const hsc_instr *instr) {
  return hsc_module_find_instr(module, hsc_view_of(instr->name));
}

// What has no use any more goes, so that no compiler is misled by it.
static void remove_dead(hsc_module *module) {
  bool again = true;
  while (again) {
    again = false;
    HSC_FOR_EACH_COMPUTATION (module, computation)
      for (hsc_instr *instr = computation->last; instr;) {
        hsc_instr *before = instr->prev;
        if (hsc_instr_is_dead(instr)) {
          hsc_instr_remove(instr);
          again = true;
        }
        instr = before;
      }
  }
}

static hsc_status *change_whole(changer *c, const why_pair *pair, why_change change, int *io) {
  hsc_instr *producer = same_in(c->module, why_producer(pair));
  hsc_instr *consumer = same_in(c->module, why_consumer(pair));
  hsc_instr *next = same_in(c->module, pair->path[1]);
  hsc_instr *read = same_in(c->module, pair->path[pair->length - 2]);
  if (!producer || !consumer || !next || !read)
    return HSC_ERR(INTERNAL, "the pair is not in the copy of its program");
  bool all = change == WHY_surroundings;
  if (change == WHY_users || change == WHY_consumer_users || all)
    HSC_TRY(turn_away_users(c, producer, next, io));
  if (change == WHY_readers || all)
    HSC_TRY(isolate_consumer(c, consumer, io));
  if (change == WHY_sources || all)
    HSC_TRY(turn_away_operands(c, producer, NULL, io));
  if (change == WHY_siblings || all)
    HSC_TRY(turn_away_operands(c, consumer, read, io));
  if (change == WHY_producer || change == WHY_both)
    HSC_TRY(put_between(c, consumer, read, producer, false, io));
  if (change != WHY_consumer && change != WHY_consumer_users && change != WHY_both)
    return NULL;
  // behind the one that may stand for the producer by now
  for (int i = 0; i < consumer->operand_count; i++)
    if (change == WHY_both && consumer->operands[i]->operand_count == 1 &&
        consumer->operands[i]->operands[0] == read)
      read = consumer->operands[i];
  return put_between(c, consumer, read, consumer, change == WHY_consumer_users, io);
}

static hsc_status *whole(const hsc_module *module,
                         const why_pair *pair,
                         why_change change,
                         hsc_module **out_module) {
  changer c = {0};
  int changed = 0;
  *out_module = NULL;
  HSC_TRY(hsc_module_clone(module, &c.module));
  c.parameters = c.module->entry->parameter_count;
  hsc_builder_at(&c.builder, c.module->entry, NULL);
  hsc_status *status = change_whole(&c, pair, change, &changed);
  hsc_status *built = hsc_builder_finish(&c.builder, NULL, NULL);
  if (status)
    hsc_status_free(built);
  else
    status = built;
  if (!status && changed) {
    remove_dead(c.module);
    c.module->layout_text = NULL;
    status = hsc_module_sort(c.module);
  }
  if (!status && changed)
    status = hsc_module_verify(c.module);
  if (status || !changed)
    hsc_module_destroy(c.module);
  else
    *out_module = c.module;
  return status;
}

hsc_status *hsc__why_change(const hsc_module *module,
                            const why_pair *pair,
                            why_change change,
                            bool in_whole,
                            hsc_module **out_module) {
  return in_whole ? whole(module, pair, change, out_module) : cut(pair, change, out_module);
}
