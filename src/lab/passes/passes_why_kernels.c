// passes_why_kernels.c - operations found again in a compiled program, and the pairs of them that
// are in different kernels.
#include <stdlib.h>

#include "lab/passes/passes_why_internal.h"

static const char MARK[] = "hsc:";
enum { DEEPEST = 64 };

hsc_status *hsc__why_mark(hsc_module *module, int32_t *out_count) {
  int32_t count = 0;
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_metadata *metadata = HSC_NEW(module->arena, hsc_metadata);
      HSC_TRY(hsc_arena_status(module->arena));
      metadata->op_name = hsc_arena_printf(module->arena, "%s%d", MARK, count++);
      instr->metadata = metadata;
    }
  module->stack_index = NULL;
  *out_count = count;
  return hsc_arena_status(module->arena);
}

// Its number; -1 = none.
static int32_t mark_of(const hsc_instr *instr) {
  const char *name = instr->metadata ? instr->metadata->op_name : NULL;
  if (!name || strncmp(name, MARK, sizeof MARK - 1) != 0)
    return -1;
  char *end;
  long value = strtol(name + sizeof MARK - 1, &end, 10);
  return end == name + sizeof MARK - 1 || value < 0 || value > INT32_MAX ? -1 : (int32_t)value;
}

// ---- kernels ------------------------------------------------------------------------------------

static hsc_status *put(why_kernels *k, int32_t mark, int kernel) {
  if (mark < 0 || mark >= k->mark_count)
    return NULL;
  struct why_places *p = &k->of[mark];
  if (p->count && p->kernels[p->count - 1] == kernel)
    return NULL;
  if (!HSC_GROW_IN(k->arena, p->kernels, p->count, p->room))
    return hsc_arena_status(k->arena);
  p->kernels[p->count++] = kernel;
  return NULL;
}

static hsc_status *put_body(why_kernels *k, const hsc_instr *instr, int kernel, int depth) {
  HSC_TRY(put(k, mark_of(instr), kernel));
  for (int c = 0; c < instr->called_count && depth < DEEPEST; c++)
    HSC_FOR_EACH_INSTR_IN (instr->called[c], inner)
      if (inner->op != HSC_OP_PARAMETER)
        HSC_TRY(put_body(k, inner, kernel, depth + 1));
  return NULL;
}

static hsc_status *add_kernel(why_kernels *k, const hsc_instr *instr) {
  if (!HSC_GROW_IN(k->arena, k->names, k->count, k->room))
    return hsc_arena_status(k->arena);
  k->names[k->count] = hsc_arena_strdup(k->arena, instr->name);
  HSC_TRY(hsc_arena_status(k->arena));
  return put_body(k, instr, k->count++, 0);
}

// What it calls are kernels of their own: loops, branches, calls, and what runs asynchronously.
static bool calls_kernels(hsc_op op) {
  return op == HSC_OP_WHILE || op == HSC_OP_CONDITIONAL || op == HSC_OP_CALL ||
         op == HSC_OP_ASYNC_START;
}

// What the compiler's passes said about the kernel and those whose values it reads.
static hsc_status *add_decisions(why_kernels *k, const hsc_instr *reader) {
  for (int i = 0; i < reader->operand_count; i++) {
    why_decision d = {.kernels = {NULL, reader->name}};
    const hsc_instr *from = hsc_instr_computed(reader->operands[i]);
    d.count = hsc_not_fused_read(reader, i, d.reasons, WHY_MOST_REASONS);
    if (!d.count)
      continue;
    if (!HSC_GROW_IN(k->arena, k->decisions, k->decision_count, k->decision_room))
      return hsc_arena_status(k->arena);
    d.kernels[0] = hsc_arena_strdup(k->arena, from->name);
    d.kernels[1] = hsc_arena_strdup(k->arena, reader->name);
    k->decisions[k->decision_count++] = d;
  }
  return hsc_arena_status(k->arena);
}

static hsc_status *read_computation(why_kernels *k, const hsc_computation *computation, int depth) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    if (calls_kernels(instr->op)) {
      for (int c = 0; c < instr->called_count && depth < DEEPEST; c++)
        HSC_TRY(read_computation(k, instr->called[c], depth + 1));
    } else if (hsc_op_is_kernel(instr->op) && !hsc_instr_is_alias(instr)) {
      HSC_TRY(add_kernel(k, instr));
      HSC_TRY(add_decisions(k, instr));
    }
  }
  return NULL;
}

hsc_status *hsc__why_kernels_read(const hsc_module *compiled,
                                  int32_t mark_count,
                                  hsc_arena *arena,
                                  why_kernels *out) {
  *out = (why_kernels){.arena = arena, .mark_count = mark_count};
  out->of = HSC_NEW_ARRAY(arena, struct why_places, mark_count + 1);
  HSC_TRY(hsc_arena_status(arena));
  memset(out->of, 0, (size_t)(mark_count + 1) * sizeof *out->of);
  return read_computation(out, compiled->entry, 0);
}

static const struct why_places *places(const why_kernels *k, const hsc_instr *instr) {
  static const struct why_places none;
  int32_t mark = mark_of(instr);
  return mark < 0 || mark >= k->mark_count ? &none : &k->of[mark];
}

// The decision about these two kernels.
static const why_decision *decided(const why_kernels *k, const char *from, const char *to) {
  for (int i = 0; i < k->decision_count; i++)
    if (!strcmp(k->decisions[i].kernels[0], from) && !strcmp(k->decisions[i].kernels[1], to))
      return &k->decisions[i];
  return NULL;
}

const why_decision *hsc__why_decided(const why_kernels *kernels, const why_pair *pair) {
  // an operation that is computed again for each reader is in several kernels
  const struct why_places *from = places(kernels, why_producer(pair));
  const struct why_places *to = places(kernels, why_consumer(pair));
  const why_decision *found = NULL;
  for (int i = 0; i < from->count && !found; i++)
    for (int j = 0; j < to->count && !found; j++)
      found = decided(kernels, kernels->names[from->kernels[i]], kernels->names[to->kernels[j]]);
  return found;
}

bool hsc__why_is_there(const why_kernels *kernels, const hsc_instr *instr) {
  return places(kernels, instr)->count > 0;
}

bool hsc__why_is_fused(const why_kernels *kernels, const hsc_instr *a, const hsc_instr *b) {
  const struct why_places *x = places(kernels, a);
  const struct why_places *y = places(kernels, b);
  for (int i = 0; i < x->count; i++)
    for (int j = 0; j < y->count; j++)
      if (x->kernels[i] == y->kernels[j])
        return true;
  return false;
}

// ---- pairs --------------------------------------------------------------------------------------

typedef struct pair_finder {
  const why_kernels *kernels;
  hsc_arena *arena;
  why_pair *list;
  size_t count, room;
} pair_finder;

// Neither computes: control flow, and what stands for values.
static bool is_no_operation(const hsc_instr *instr) {
  return !hsc_op_is_kernel(instr->op) || instr->op == HSC_OP_IOTA ||
         hsc_instr_is_scalar_constant(instr, &(double){0});
}

// Passes a value on; compilers often make it vanish.
static bool passes_on(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_RESHAPE:
    case HSC_OP_BITCAST:
    case HSC_OP_COPY:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_GET_TUPLE_ELEMENT:
      return true;
    case HSC_OP_BROADCAST:
      return hsc_shape_elements(&instr->shape) == hsc_shape_elements(&instr->operands[0]->shape);
    default:
      return false;
  }
}

static hsc_status *add_pair(pair_finder *f, const why_pair *pair) {
  for (size_t i = 0; i < f->count; i++)
    if (why_producer(&f->list[i]) == why_producer(pair) &&
        why_consumer(&f->list[i]) == why_consumer(pair))
      return NULL;
  if (!HSC_GROW_IN(f->arena, f->list, f->count, f->room))
    return hsc_arena_status(f->arena);
  f->list[f->count++] = *pair;
  return NULL;
}

static hsc_status *look_at_operand(pair_finder *f,
                                   const hsc_instr *consumer,
                                   const hsc_instr *operand,
                                   int64_t times) {
  const hsc_instr *back[WHY_LONGEST] = {consumer};
  why_pair pair = {.times = times};
  int length = 1;
  const hsc_instr *at = operand;
  while (passes_on(at) && !hsc__why_is_there(f->kernels, at) && length < WHY_LONGEST - 1) {
    back[length++] = at;
    at = at->operands[0];
  }
  if (is_no_operation(at) || !hsc__why_is_there(f->kernels, at) ||
      hsc__why_is_fused(f->kernels, at, consumer))
    return NULL;
  back[length++] = at;
  for (int i = 0; i < length; i++)
    pair.path[i] = back[length - 1 - i];
  pair.length = length;
  pair.bytes = 2 * (double)hsc_shape_bytes(&operand->shape) * (double)times;
  pair.kernels[0] = f->kernels->names[places(f->kernels, at)->kernels[0]];
  pair.kernels[1] = f->kernels->names[places(f->kernels, consumer)->kernels[0]];
  return add_pair(f, &pair);
}

static hsc_status *look_in(pair_finder *f,
                           const hsc_computation *computation,
                           int64_t times,
                           int depth) {
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    if (calls_kernels(instr->op)) {
      int64_t trips = instr->op == HSC_OP_WHILE ? hsc_loop_trip_count(instr) : 1;
      int64_t inner = trips > 1 && times < INT32_MAX ? times * trips : times;
      for (int c = 0; c < instr->called_count && depth < DEEPEST; c++)
        HSC_TRY(look_in(f, instr->called[c], inner, depth + 1));
    }
    if (is_no_operation(instr) || !hsc__why_is_there(f->kernels, instr))
      continue;
    for (int i = 0; i < instr->operand_count; i++)
      HSC_TRY(look_at_operand(f, instr, instr->operands[i], times));
  }
  return NULL;
}

static int dearest_first(const void *a, const void *b) {
  const why_pair *x = a;
  const why_pair *y = b;
  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  return strcmp(why_consumer(x)->name, why_consumer(y)->name);
}

hsc_status *hsc__why_pairs(const hsc_module *module,
                           const why_kernels *kernels,
                           hsc_arena *arena,
                           why_pair **out_pairs,
                           size_t *out_count) {
  pair_finder f = {.kernels = kernels, .arena = arena};
  HSC_TRY(look_in(&f, module->entry, 1, 0));
  if (f.count)
    qsort(f.list, f.count, sizeof *f.list, dearest_first);
  *out_pairs = f.list;
  *out_count = f.count;
  return NULL;
}
