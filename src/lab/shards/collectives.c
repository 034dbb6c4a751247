// collectives.c - the collectives of a compiled program: how often each runs, along which axes of
// the mesh, which operator brought it, and what a chip does while it is under way.
//
// The module is one partition's, as the compiler leaves it. Loops multiply, both branches of a
// conditional count, what fusions and wrapped computations hold counts where they stand. A
// collective that a compiler cuts into a start and a done is one.
#include "lab/shards/collectives.h"

#include "hlo/ir/groups.h"

enum { DEEPEST = 64, LOOK_BACK = 24 };

typedef struct finder {
  hsc_arena *arena;
  const hsc_program_spread *spread;
  hsc_collective *list;
  size_t count, room;
  int64_t *place_of;  // [partition_count] of the mesh; NULL = no mesh
} finder;

typedef struct place {
  int64_t times;
  bool times_known;
  const char *loop;
  const hsc_instr *around;  // the fusion or wrapper that holds it; NULL = it stands by itself
  int depth;
} place;

const char *hsc_instr_source(const hsc_instr *instr, hsc_arena *arena) {
  const hsc_metadata *metadata = instr->metadata;
  if (!metadata)
    return NULL;
  if (metadata->source_file && *metadata->source_file)
    return hsc_arena_printf(arena, "%s:%d", metadata->source_file, metadata->source_line);
  const hsc_stack_index *index = instr->parent->module->stack_index;
  int32_t frame = metadata->stack_frame_id;
  if (!index || frame < 1 || frame > index->frame_count)
    return NULL;
  int32_t location = index->frames[frame - 1].location;
  if (location < 1 || location > index->location_count)
    return NULL;
  const hsc_file_location *at = &index->locations[location - 1];
  if (at->file_name < 1 || at->file_name > index->file_name_count)
    return NULL;
  return hsc_arena_printf(arena, "%s:%d", index->file_names[at->file_name - 1], at->line);
}

// ---- sizes --------------------------------------------------------------------------------------

static int64_t shape_bytes(const hsc_shape *shape) {
  if (!hsc_shape_is_tuple(shape))
    return hsc_shape_is_array(shape) ? hsc_shape_bytes(shape) : 0;
  int64_t sum = 0;
  for (int i = 0; i < shape->element_count; i++)
    sum += shape_bytes(&shape->elements[i]);
  return sum;
}

static int64_t operands_bytes(const hsc_instr *instr) {
  int64_t sum = 0;
  for (int i = 0; i < instr->operand_count; i++)
    sum += shape_bytes(&instr->operands[i]->shape);
  return sum;
}

// A start gives (operands, results, contexts), all-reduce-start what all-reduce gives.
static int64_t result_bytes(const hsc_instr *instr) {
  bool pairs = instr->op == HSC_OP_ALL_GATHER_START || instr->op == HSC_OP_COLLECTIVE_PERMUTE_START;
  if (pairs && hsc_shape_is_tuple(&instr->shape) && instr->shape.element_count > 1)
    return shape_bytes(&instr->shape.elements[1]);
  return shape_bytes(&instr->shape);
}

static const char *kind_of(hsc_op op) {
  switch (op) {
    case HSC_OP_ALL_GATHER_START:
      return hsc_op_text(HSC_OP_ALL_GATHER);
    case HSC_OP_ALL_REDUCE_START:
      return hsc_op_text(HSC_OP_ALL_REDUCE);
    case HSC_OP_COLLECTIVE_PERMUTE_START:
      return hsc_op_text(HSC_OP_COLLECTIVE_PERMUTE);
    case HSC_OP_ALL_GATHER:
    case HSC_OP_ALL_REDUCE:
    case HSC_OP_ALL_TO_ALL:
    case HSC_OP_COLLECTIVE_BROADCAST:
    case HSC_OP_COLLECTIVE_PERMUTE:
    case HSC_OP_RAGGED_ALL_TO_ALL:
    case HSC_OP_REDUCE_SCATTER:
      return hsc_op_text(op);
    default:
      return NULL;
  }
}

static double ring_bytes(const hsc_collective *c) {
  double others = c->group_size > 0 ? (double)(c->group_size - 1) / (double)c->group_size : 0;
  if (!strcmp(c->kind, "all-reduce"))
    return 2 * others * (double)c->bytes;
  if (!strcmp(c->kind, "collective-permute"))
    return (double)c->operand_bytes;
  return others * (double)c->bytes;
}

// ---- groups and axes ----------------------------------------------------------------------------

// Which axes of the mesh two devices of a group differ in: bits.
static unsigned axes_between(const finder *f, int64_t a, int64_t b) {
  const hsc_program_spread *s = f->spread;
  unsigned varies = 0;
  a = f->place_of[a];
  b = f->place_of[b];
  for (int k = s->axis_count - 1; k >= 0; k--) {
    if (a % s->axis_sizes[k] != b % s->axis_sizes[k])
      varies |= 1u << k;
    a /= s->axis_sizes[k];
    b /= s->axis_sizes[k];
  }
  return varies;
}

static const char *axes_text(finder *f, unsigned varies) {
  const hsc_program_spread *s = f->spread;
  const char *text = NULL;
  for (int a = 0; a < s->axis_count; a++) {
    if (!(varies >> a & 1))
      continue;
    const char *name = s->axis_names && s->axis_names[a] ? s->axis_names[a]
                                                         : hsc_arena_printf(f->arena, "axis %d", a);
    text = text ? hsc_arena_printf(f->arena, "%s,%s", text, name) : name;
  }
  return text;
}

// The axes that a collective goes along: those in which the devices of its first group differ, for
// its groups are alike; of a permute those of any pair, for a ring's pairs are not.
static const char *axes_of(finder *f, const hsc_instr *instr) {
  const hsc_program_spread *s = f->spread;
  const char *pairs = instr->attr.collective.pairs;
  hsc_groups groups;
  if (!f->place_of)
    return axes_text(f, 0);
  hsc_status *status =
      hsc_groups_parse(f->arena, pairs ? pairs : instr->attr.collective.replica_groups, &groups);
  if (status) {
    hsc_status_free(status);
    return NULL;
  }
  for (int64_t i = 0; i < groups.id_count; i++)
    if (groups.ids[i] >= s->partition_count)
      return NULL;
  unsigned varies = 0;
  for (int k = 0; k < s->axis_count && !groups.count; k++)
    varies |= s->axis_sizes[k] > 1 ? 1u << k : 0;
  for (int64_t g = 0; g < (pairs ? groups.count : 1); g++)
    for (int64_t i = groups.first[g] + 1; i < groups.first[g + 1]; i++)
      varies |= axes_between(f, groups.ids[groups.first[g]], groups.ids[i]);
  return axes_text(f, varies);
}

// ---- who brought it -----------------------------------------------------------------------------

static bool only_moves(hsc_op op) {
  switch (op) {
    case HSC_OP_BITCAST:
    case HSC_OP_COPY:
    case HSC_OP_COPY_START:
    case HSC_OP_COPY_DONE:
    case HSC_OP_CONVERT:
    case HSC_OP_TRANSPOSE:
    case HSC_OP_RESHAPE:
    case HSC_OP_BROADCAST:
    case HSC_OP_TUPLE:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_SLICE:
    case HSC_OP_PAD:
    case HSC_OP_OPT_BARRIER:
      return true;
    default:
      return false;
  }
}

// What a fusion is about: its dot, convolution or reduce, else its root.
static const hsc_instr *heart_of(const hsc_instr *instr) {
  for (int depth = 0; instr->op == HSC_OP_FUSION && depth < DEEPEST; depth++) {
    const hsc_instr *best = instr->called[0]->root;
    HSC_FOR_EACH_INSTR_IN (instr->called[0], inner)
      if (inner->op == HSC_OP_DOT || inner->op == HSC_OP_CONVOLUTION ||
          inner->op == HSC_OP_FUSION ||
          (inner->op == HSC_OP_REDUCE && best->op != HSC_OP_DOT && best->op != HSC_OP_CONVOLUTION))
        best = inner;
    if (best == instr)
      break;
    instr = best;
  }
  return instr;
}

// The parts that a reduction joins come from before it; what a gather brings is wanted behind it.
static const hsc_instr *bringer_of(const hsc_instr *collective, const hsc_instr *around) {
  const hsc_instr *at = around ? around : collective;
  bool joins = strstr(hsc_op_text(collective->op), "reduce") != NULL;
  for (int i = 0; i < LOOK_BACK; i++) {
    const hsc_instr *next = NULL;
    if (joins && at->operand_count)
      next = at->operands[0];
    if (!joins && at->user_count)
      next = at->users[0];
    if (!next)
      break;
    at = next;
    if (!only_moves(at->op) && !kind_of(at->op) && !(hsc_op_traits(at->op) & HSC_TRAIT_ASYNC))
      break;
  }
  return heart_of(at);
}

static const char *framework_name(const hsc_instr *instr) {
  const char *name = instr->metadata ? instr->metadata->op_name : NULL;
  return name && *name ? name : NULL;
}

// Whether a program calls its collectives itself: jax.lax's names of them, the last of the path.
static bool is_written(const char *op_name) {
  static const char *const written[] = {"psum",       "pmax",           "pmin",
                                        "ppermute",   "pbroadcast",     "all_gather",
                                        "all_to_all", "reduce_scatter", "ragged_all_to_all"};
  const char *last = op_name ? strrchr(op_name, '/') : NULL;
  for (size_t i = 0; last && i < HSC_COUNT_OF(written); i++)
    if (!strncmp(last + 1, written[i], strlen(written[i])))
      return true;
  return false;
}

// A partitioner names a collective after the operator that it joins parts of: that is who brought a
// reduction. A gather is named after what gave the array, and brought by who wants it whole.
static const char *bringer_text(finder *f, const hsc_instr *collective, const hsc_instr *around) {
  const hsc_instr *by = bringer_of(collective, around);
  const char *own = framework_name(collective);
  const char *name = framework_name(by);
  bool joins = strstr(hsc_op_text(collective->op), "reduce") != NULL;
  if (is_written(own))
    return hsc_arena_printf(f->arena, "the program itself, %s", own);
  bool same = own && name && !strcmp(own, name);
  if (own && !same && (joins || !name))
    return own;
  if (by == collective || by->op == HSC_OP_PARAMETER || only_moves(by->op))
    return own;
  return hsc_arena_printf(f->arena, "%s %s", hsc_op_text(by->op), name ? name : by->name);
}

// ---- start and done -----------------------------------------------------------------------------

static const hsc_instr *done_of(const hsc_instr *start) {
  for (int depth = 0; depth < 4; depth++) {
    const hsc_instr *next = NULL;
    for (int i = 0; i < start->user_count; i++)
      if (hsc_op_traits(start->users[i]->op) & HSC_TRAIT_ASYNC)
        next = start->users[i];
    if (!next)
      return NULL;
    if (next->op != HSC_OP_ASYNC_UPDATE)
      return next;
    start = next;
  }
  return NULL;
}

static void look_between(finder *f, const hsc_instr *start, hsc_collective *c) {
  const hsc_instr *done = done_of(start);
  double most = -1;
  c->is_async = true;
  for (const hsc_instr *at = done ? start->next : NULL; at && at != done; at = at->next) {
    hsc_cost cost;
    if (only_moves(at->op) || at->op == HSC_OP_PARAMETER || at->op == HSC_OP_CONSTANT)
      continue;
    hsc_instr_cost(at, &cost);
    c->between_count++;
    c->between_flops += cost.flops;
    if (cost.flops > most) {
      most = cost.flops;
      c->between = hsc_arena_strdup(f->arena, at->name);
    }
  }
}

// ---- the walk -----------------------------------------------------------------------------------

static hsc_status *add(finder *f, const hsc_instr *instr, const place *at) {
  if (!HSC_GROW_IN(f->arena, f->list, f->count, f->room))
    return hsc_arena_status(f->arena);
  hsc_collective c = {.instr = instr, .kind = kind_of(instr->op)};
  const hsc_instr *around = at->around;
  c.operand_bytes = operands_bytes(instr);
  c.result_bytes = result_bytes(instr);
  c.bytes = c.operand_bytes > c.result_bytes ? c.operand_bytes : c.result_bytes;
  c.group_size = instr->attr.collective.pairs ? 2 : hsc_collective_group_size(instr);
  c.times = at->times;
  c.times_known = at->times_known;
  c.loop = at->loop;
  c.wire_bytes = ring_bytes(&c);
  c.source = hsc_instr_source(instr, f->arena);
  if (!c.source && around)
    c.source = hsc_instr_source(around, f->arena);
  if (!c.source)
    c.source = hsc_instr_source(bringer_of(instr, around), f->arena);
  c.op_name = instr->metadata ? instr->metadata->op_name : NULL;
  c.brought_by = bringer_text(f, instr, around);
  c.axes = axes_of(f, instr);
  bool starts = hsc_op_traits(instr->op) & HSC_TRAIT_ASYNC;
  if (starts)
    look_between(f, instr, &c);
  else if (around && around->op == HSC_OP_ASYNC_START)
    look_between(f, around, &c);
  f->list[f->count++] = c;
  return hsc_arena_status(f->arena);
}

// A compiler that overlaps a collective with kernels repeats it in the parts that start, carry and
// end it: the same channel in the same computation is the same collective.
static bool is_known(const finder *f, const hsc_instr *instr, const place *at) {
  int64_t channel = instr->attr.collective.channel_id;
  if (!channel || !at->around || at->around->op != HSC_OP_FUSION)
    return false;
  for (size_t i = f->count; i-- > 0;) {
    const hsc_instr *other = f->list[i].instr;
    bool same = other->attr.collective.channel_id == channel && other->op == instr->op;
    if (same && hsc_shape_equal(&other->shape, &instr->shape) && f->list[i].loop == at->loop)
      return true;
  }
  return false;
}

static hsc_status *walk(finder *f, const hsc_computation *computation, const place *at) {
  if (at->depth > DEEPEST)
    return NULL;
  HSC_FOR_EACH_INSTR_IN (computation, instr) {
    place inner = *at;
    inner.depth++;
    if (kind_of(instr->op)) {
      if (!is_known(f, instr, at))
        HSC_TRY(add(f, instr, at));
      continue;
    }
    bool enters = instr->op == HSC_OP_WHILE || instr->op == HSC_OP_CALL ||
                  instr->op == HSC_OP_CONDITIONAL || instr->op == HSC_OP_FUSION ||
                  instr->op == HSC_OP_ASYNC_START;
    if (!enters)
      continue;
    if (instr->op == HSC_OP_FUSION || instr->op == HSC_OP_ASYNC_START)
      inner.around = instr;
    if (instr->op == HSC_OP_WHILE) {
      int64_t trips = hsc_loop_trip_count(instr);
      inner.times_known = at->times_known && trips >= 0;
      inner.times = trips >= 0 ? at->times * trips : at->times;
      inner.loop = instr->name;
    }
    for (int i = 0; i < instr->called_count; i++)
      HSC_TRY(walk(f, instr->called[i], &inner));
  }
  return NULL;
}

static hsc_status *read_places(finder *f) {
  const hsc_program_spread *s = f->spread;
  if (s->axis_count < 1 || s->partition_count < 2)
    return NULL;
  f->place_of = HSC_NEW_ARRAY(f->arena, int64_t, s->partition_count);
  HSC_TRY(hsc_arena_status(f->arena));
  for (int64_t i = 0; i < s->partition_count; i++)
    f->place_of[s->mesh_devices ? s->mesh_devices[i] : i] = i;
  return NULL;
}

hsc_status *hsc_collectives_find(const hsc_module *module,
                                 const hsc_program_spread *spread,
                                 hsc_arena *arena,
                                 hsc_collective **out_list,
                                 size_t *out_count) {
  finder f = {.arena = arena, .spread = spread};
  HSC_TRY(read_places(&f));
  HSC_TRY(walk(&f, module->entry, &(place){.times = 1, .times_known = true}));
  *out_list = f.list;
  *out_count = f.count;
  return NULL;
}
