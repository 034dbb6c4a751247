// module.c - modules and computations: creating, naming, finding, ordering.
#include "hlo/ir/hlo_internal.h"

// Names that are counted as operations are: Arg_0 to Arg_63, and what the import of StableHLO calls
// tuples of arguments.
static const char *const counted_words[] = {"arg_tuple", "captured"};
enum {
  COUNTED_ARGUMENTS = 64,
  COUNTED = HSC_OP_COUNT + COUNTED_ARGUMENTS + HSC_COUNT_OF(counted_words)
};

hsc_status *hsc_module_create(const char *name, hsc_module **out_module) {
  hsc_arena *arena = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  hsc_module *module = HSC_NEW(arena, hsc_module);
  hsc_status *status = hsc_arena_status(arena);
  if (status)
    goto done;
  module->arena = arena;
  module->name = hsc_arena_strdup(arena, name && *name ? name : "module");
  module->num_partitions = module->replica_count = 1;
  HSC_GOTO(hsc_map_create(&module->names));
  HSC_GOTO(hsc_map_create(&module->computation_names));
  HSC_GOTO(hsc_map_create(&module->name_counts));
  module->names_counted = HSC_NEW_ARRAY(arena, uint32_t, COUNTED);
  HSC_GOTO(hsc_arena_status(arena));
  *out_module = module;
  return NULL;
done:
  if (module && module->arena)
    hsc_module_destroy(module);
  else
    hsc_arena_destroy(arena);
  return status;
}

void hsc_module_destroy(hsc_module *module) {
  if (!module)
    return;
  hsc_map_destroy(module->names);
  hsc_map_destroy(module->computation_names);
  hsc_map_destroy(module->name_counts);
  hsc_arena_destroy(module->arena);
}

// ---- names --------------------------------------------------------------------------------------

static bool is_name_char(char c) {
  static const bool legal[256] = {['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['0' ... '9'] = true,
                                  ['_'] = true,         ['.'] = true,         ['-'] = true};
  return legal[(unsigned char)c];
}

// "add.12" is "add" with the number 12. Returns the size of what is before the dot, the whole
// size when there is no number.
static size_t root_size(const char *name, size_t size) {
  size_t at = size;
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
    at--;
  return at == size || at < 2 || name[at - 1] != '.' ? size : at - 1;
}

// "root" for the first, "root.N" for the Nth after it.
static const char *counted_name(hsc_module *module, const char *root, uint32_t *count) {
  uint32_t number = (*count)++;
  if (number == 0)
    return root;
  size_t size = strlen(root);
  char *name = hsc_arena_alloc(module->arena, size + 12);
  if (!name)
    return NULL;
  memcpy(name, root, size);
  name[size] = '.';
  hsc__format_uint(number, name + size + 1);
  return name;
}

// The place of a name among those that are counted; -1 when it is none.
static int counted_place(const char *name) {
  for (size_t i = 0; i < HSC_COUNT_OF(counted_words); i++)
    if (!strcmp(name, counted_words[i]))
      return HSC_OP_COUNT + COUNTED_ARGUMENTS + (int)i;
  if (strncmp(name, "Arg_", 4) || name[4] < '0' || name[4] > '9')
    return -1;
  int number = name[4] - '0';
  if (name[5] == 0)
    return HSC_OP_COUNT + number;
  if (number == 0 || name[5] < '0' || name[5] > '9' || name[6])
    return -1;
  number = number * 10 + name[5] - '0';
  return number < COUNTED_ARGUMENTS ? HSC_OP_COUNT + number : -1;
}

const char *hsc__op_name(hsc_module *module, hsc_instr *instr) {
  const char *root = hsc_op_text(instr->op);
  if (module->names_counted)
    return counted_name(module, root, &module->names_counted[instr->op]);
  return hsc__unique_name(module, module->names, root, instr);
}

bool hsc__names_list(hsc_module *module) {
  uint32_t *counted = module->names_counted;
  module->names_counted = NULL;
  if (!counted)
    return true;
  hsc_status *status = NULL;
  for (int i = 0; i < module->computation_count && !status; i++)
    for (hsc_instr *instr = module->computations[i]->first; instr && !status; instr = instr->next)
      status = hsc_map_put(module->names, hsc_view_of(instr->name), instr);
  for (int i = 0; i < (int)COUNTED && !status; i++) {
    if (counted[i] < 2)
      continue;
    int argument = i - HSC_OP_COUNT;
    const char *root;
    if (argument < 0)
      root = hsc_op_text((hsc_op)i);
    else if (argument < COUNTED_ARGUMENTS)
      root = hsc_arena_printf(module->arena, "Arg_%d", argument);
    else
      root = counted_words[argument - COUNTED_ARGUMENTS];
    status = root ? hsc_map_put(module->name_counts, hsc_view_of(root),
                                (void *)(uintptr_t)(counted[i] - 1))
                  : hsc_status_out_of_memory();
  }
  hsc_status_free(status);
  return !status;
}

hsc_instr *hsc_module_find_instr(hsc_module *module, hsc_view name) {
  return hsc__names_list(module) ? hsc_map_get(module->names, name) : NULL;
}

// `wanted` as XLA's parser takes it, with room for its end: other characters than those of names
// become underscores. NULL when memory ran out.
static char *legal_name(hsc_arena *arena, const char *wanted, size_t *out_size) {
  size_t size = strlen(wanted);
  bool legal_start = is_name_char(wanted[0]) && !(wanted[0] >= '0' && wanted[0] <= '9') &&
                     wanted[0] != '.' && wanted[0] != '-';
  char *name = hsc_arena_alloc(arena, size + 3);
  if (!name)
    return NULL;
  size_t at = 0;
  hsc_type type;
  if (!legal_start)
    name[at++] = '_';
  memcpy(name + at, wanted, size);
  for (size_t end = at + size; at < end; at++)
    if (!is_name_char(name[at]))
      name[at] = '_';
  // XLA does not read "%s32": a name that is a type gets an underscore, as its own printer does it.
  if (at <= 13 && !memchr(name, '.', at) && hsc_type_parse((hsc_view){name, at}, &type) &&
      type != HSC_TYPE_TUPLE)
    name[at++] = '_';
  *out_size = at;
  return name;
}

// The first of name.1, name.2 and so on that is free; how far the numbers of a root went is kept,
// so that a module of a thousand adds does not look at them all each time.
static const char *numbered_name(hsc_module *module, hsc_map *names, hsc_view name, void *object) {
  hsc_view root = {name.data, root_size(name.data, name.size)};
  uintptr_t number = (uintptr_t)hsc_map_get(module->name_counts, root);
  char *numbered = hsc_arena_alloc(module->arena, root.size + 22);
  if (!numbered)
    return NULL;
  memcpy(numbered, root.data, root.size);
  numbered[root.size] = '.';
  hsc_status *status = NULL;
  for (bool added = false; !status && !added;) {
    number++;
    size_t size = root.size + 1 + (size_t)hsc__format_uint(number, numbered + root.size + 1);
    numbered[size] = 0;
    status = hsc_map_add(names, (hsc_view){numbered, size}, object, &added);
  }
  if (!status)
    status = hsc_map_put(module->name_counts, root, (void *)number);
  hsc_status_free(status);
  return status ? NULL : numbered;
}

const char *hsc__unique_name(hsc_module *module, hsc_map *names, const char *wanted, void *object) {
  hsc_arena *arena = module->arena;
  if (names == module->names && module->names_counted) {
    int place = wanted ? counted_place(wanted) : -1;
    if (place >= 0) {
      uint32_t *count = &module->names_counted[place];
      return counted_name(module, *count ? wanted : hsc_arena_strdup(arena, wanted), count);
    }
    if (!hsc__names_list(module))
      return NULL;
  }
  size_t size = 0;
  const char *name = legal_name(arena, wanted && *wanted ? wanted : "name", &size);
  if (!name)
    return NULL;
  bool added = false;
  hsc_status *status = hsc_map_add(names, (hsc_view){name, size}, object, &added);
  if (!status && !added)
    name = numbered_name(module, names, (hsc_view){name, size}, object);
  if (!status)
    status = hsc_arena_status(arena);
  hsc_status_free(status);
  return status ? NULL : name;
}

void hsc__name_release(hsc_map *names, const char *name, const void *object) {
  if (!name || hsc_map_get(names, hsc_view_of(name)) != object)
    return;
  hsc_status_free(hsc_map_put(names, hsc_view_of(name), NULL));  // replaces: cannot fail
}

// ---- computations -------------------------------------------------------------------------------

static bool reserve_computation(hsc_module *module) {
  return HSC_GROW_IN(module->arena, module->computations, module->computation_count,
                     module->computation_capacity);
}

// Out of memory in an arena is sticky and gives out memory that is shared: nothing of it may be
// linked.
static bool arena_failed(hsc_arena *arena) {
  hsc_status *status = hsc_arena_status(arena);
  hsc_status_free(status);
  return status != NULL;
}

hsc_computation *hsc_module_add_computation(hsc_module *module, const char *name) {
  hsc_computation *computation = HSC_NEW(module->arena, hsc_computation);
  if (!computation || !reserve_computation(module) || arena_failed(module->arena))
    return NULL;
  computation->name = hsc__unique_name(module, module->computation_names,
                                       name && *name ? name : "computation", computation);
  if (!computation->name)
    return NULL;
  computation->module = module;
  computation->id = module->next_id++;
  module->computations[module->computation_count++] = computation;
  return computation;
}

hsc_computation *hsc_module_find(const hsc_module *module, const char *name) {
  return hsc_map_get(module->computation_names, hsc_view_of(name));
}

int64_t hsc_module_instr_count(const hsc_module *module) {
  int64_t count = 0;
  for (int i = 0; i < module->computation_count; i++)
    count += module->computations[i]->instr_count;
  return count;
}

// ---- order of computations ----------------------------------------------------------------------

// A computation whose calls are being followed.
typedef struct frame {
  hsc_computation *computation;
  hsc_instr *instr;  // where we are in it
  int called;        // next called computation of instr
} frame;

typedef struct sorter {
  hsc__ptr_map state;  // computation -> OPEN or DONE
  frame *stack;
  size_t depth, capacity;
  hsc_computation **order;  // [limit]
  int count, limit;
  // with numbers in `index`: something is called that is after its caller
  bool numbered, disordered;
} sorter;

static char OPEN, DONE;  // addresses as marks

static hsc_status *push(sorter *s, hsc_computation *computation) {
  if (!HSC_GROW(s->stack, s->depth, s->capacity))
    return hsc_status_out_of_memory();
  s->stack[s->depth++] = (frame){computation, computation->first, 0};
  hsc__ptr_map_put(&s->state, computation, &OPEN);
  return s->state.failed ? hsc_status_out_of_memory() : NULL;
}

// Appends `root` and what it calls to the order, called ones first. Marks everything that it
// reaches.
static hsc_status *visit(sorter *s, hsc_computation *root) {
  if (hsc__ptr_map_get(&s->state, root))
    return NULL;
  HSC_TRY(push(s, root));
  while (s->depth > 0) {
    frame *top = &s->stack[s->depth - 1];
    if (!top->instr) {
      if (s->count == s->limit)
        return HSC_ERR(INTERNAL, "computation %%%s: is called, but is not in the module's list",
                       top->computation->name);
      hsc__ptr_map_put(&s->state, top->computation, &DONE);
      s->order[s->count++] = top->computation;
      s->depth--;
    } else if (top->called >= top->instr->called_count) {
      top->instr = top->instr->next;
      top->called = 0;
    } else {
      hsc_instr *caller = top->instr;
      hsc_computation *callee = caller->called[top->called++];
      s->disordered |= s->numbered && callee && callee->index > top->computation->index;
      void *mark = callee ? hsc__ptr_map_get(&s->state, callee) : &DONE;
      if (mark == &OPEN)
        return HSC_ERR(FAILED_PRECONDITION,
                       "%s %%%s: calls %%%s, which calls it back: HLO has no recursion",
                       hsc_op_text(caller->op), caller->name, callee->name);
      if (!mark)
        HSC_TRY(push(s, callee));
    }
  }
  return NULL;
}

static void sorter_deinit(sorter *s) {
  hsc__ptr_map_deinit(&s->state);
  hsc_free(s->stack);
}

hsc_status *hsc__call_order(const hsc_module *module, hsc_computation **out_order, int *out_count) {
  hsc_status *status = NULL;
  sorter s = {.order = out_order, .limit = module->computation_count};
  for (int i = 0; i < module->computation_count; i++)
    HSC_GOTO(visit(&s, module->computations[i]));
  *out_count = s.count;
done:
  sorter_deinit(&s);
  return status;
}

hsc_status *hsc_module_sort(hsc_module *module) {
  if (!module->entry)
    return HSC_ERR(FAILED_PRECONDITION, "module %s: has no entry computation", module->name);
  hsc_status *status = NULL;
  sorter reach = {0};
  sorter s = {0};
  int count = module->computation_count;
  hsc_computation **buffer = hsc_alloc(2 * ((size_t)count + 1) * sizeof *buffer);
  if (!buffer)
    return hsc_status_out_of_memory();
  reach.limit = s.limit = count;
  reach.order = buffer;
  s.order = buffer + count + 1;

  // First what the entry reaches, then those in their order, each after what it
  // calls: a sorted module stays as it is.
  for (int i = 0; i < count; i++)
    module->computations[i]->index = i;
  reach.numbered = true;
  HSC_GOTO(visit(&reach, module->entry));
  // it is sorted
  if (!reach.disordered && reach.count == count && count &&
      module->computations[count - 1] == module->entry)
    goto done;
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (computation != module->entry && hsc__ptr_map_get(&reach.state, computation))
      HSC_GOTO(visit(&s, computation));
  }
  HSC_GOTO(visit(&s, module->entry));
  for (int i = 0; i < count; i++) {
    hsc_computation *computation = module->computations[i];
    if (!hsc__ptr_map_get(&reach.state, computation)) {
      hsc__name_release(module->computation_names, computation->name, computation);
      for (hsc_instr *instr = computation->first; instr; instr = instr->next)
        hsc__name_release(module->names, instr->name, instr);
      computation->module = NULL;
    }
  }
  memcpy(module->computations, s.order, (size_t)s.count * sizeof *s.order);
  module->computation_count = s.count;
done:
  sorter_deinit(&reach);
  sorter_deinit(&s);
  hsc_free(buffer);
  return status;
}

hsc_status *hsc_module_may_copy(hsc_module *module,
                                const hsc_computation *body,
                                const hsc_instr *caller) {
  enum { ALWAYS_ALLOWED = 1000 * 1000, TIMES = 64 };
  if (!module->copied_limit)
    module->copied_limit = ALWAYS_ALLOWED + TIMES * hsc_module_instr_count(module);
  module->copied_count += body->instr_count;
  if (module->copied_count <= module->copied_limit)
    return NULL;
  return HSC_ERR(RESOURCE_EXHAUSTED,
                 "%s %s: copies of what it and others call come to more than %lld instructions",
                 hsc_op_text(caller->op), caller->name, (long long)module->copied_limit);
}
