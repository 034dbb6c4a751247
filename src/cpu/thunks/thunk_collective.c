// thunk_collective.c - collectives between the devices of one process: who is in which group, what
// each computes from the others' buffers.
//
// Devices are numbered as replica_groups and source_target_pairs number them: partitions when the
// program has several, else replicas. A collective without a channel in a program of several
// partitions is between replicas, of which there is one: it is the identity. Results are the same
// on every member: all reduce in the order of the group.
#include "cpu/core/communicator.h"
#include "cpu/kernels/move/convert.h"
#include "cpu/thunks/kernels.h"
#include "cpu/thunks/lower.h"
#include "hlo/ir/groups.h"

typedef struct operand_plan {
  int32_t type;  // hsc_type
  int32_t unused;
  // elements: outer x axis x inner; axis is the dimension that is cut or joined (of the operand)
  int64_t outer, axis, inner;
  int64_t bytes;  // of the operand
} operand_plan;

typedef struct collective {
  int32_t op;       // hsc_op
  int32_t reducer;  // hsc_op of all-reduce and reduce-scatter
  int32_t rank_count;
  int32_t is_tuple;  // all-to-all with one operand for each member
  int32_t operand_count;
  int32_t unused;
  // operand_plan [operand_count], then per rank: group, position, size, members [rank_count]; of a
  // permute: the source or -1 in group
} collective;

static const operand_plan *operands_of(const collective *c) {
  return (const operand_plan *)(c + 1);
}
static const int32_t *rank_of(const collective *c, int rank) {
  return (const int32_t *)(operands_of(c) + c->operand_count) +
         (size_t)rank * (size_t)(3 + c->rank_count);
}

// ---- choosing -----------------------------------------------------------------------------------

static hsc_status *refuse(const hsc_instr *instr, const char *what) {
  return HSC_ERR(UNIMPLEMENTED, "%s: not built yet: %s on the built-in device",
                 hsc_op_text(instr->op), what);
}

// A rank's entry: group, position in it, members, who they are.
static int32_t *entry_of(int32_t *table, int rank_count, int64_t rank) {
  return table + (size_t)(3 + rank_count) * (size_t)rank;
}

static hsc_status *check_ids(const hsc_instr *instr, const hsc_groups *groups, int rank_count) {
  for (int64_t i = 0; i < groups->id_count; i++)
    if (groups->ids[i] >= rank_count)
      return HSC_ERR(INVALID_ARGUMENT, "%s: device %lld in its groups: there are %d devices",
                     hsc_op_text(instr->op), (long long)groups->ids[i], rank_count);
  return NULL;
}

static hsc_status *fill_group(const hsc_instr *instr,
                              const hsc_groups *groups,
                              int64_t group,
                              int rank_count,
                              int32_t *table) {
  const int64_t *members = groups->ids + groups->first[group];
  int64_t size = groups->first[group + 1] - groups->first[group];
  for (int64_t i = 0; i < size; i++) {
    int32_t *entry = entry_of(table, rank_count, members[i]);
    if (entry[2])
      return HSC_ERR(INVALID_ARGUMENT, "%s: device %lld is in two groups", hsc_op_text(instr->op),
                     (long long)members[i]);
    entry[0] = (int32_t)group;
    entry[1] = (int32_t)i;
    entry[2] = (int32_t)size;
    for (int64_t k = 0; k < size; k++)
      entry[3 + k] = (int32_t)members[k];
  }
  return NULL;
}

// Fills the table of ranks; each must be in one group.
static hsc_status *read_groups(const hsc_instr *instr,
                               hsc_arena *arena,
                               int rank_count,
                               int32_t *table) {
  hsc_groups groups;
  HSC_TRY(hsc_groups_parse(arena, instr->attr.collective.replica_groups, &groups));
  HSC_TRY(check_ids(instr, &groups, rank_count));
  if (groups.id_count > rank_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s: %lld devices in its groups: there are %d",
                   hsc_op_text(instr->op), (long long)groups.id_count, rank_count);
  if (!groups.id_count) {
    int64_t *everybody = HSC_NEW_ARRAY(arena, int64_t, rank_count);
    int64_t *first = HSC_NEW_ARRAY(arena, int64_t, 2);
    HSC_TRY(hsc_arena_status(arena));
    for (int r = 0; r < rank_count; r++)
      everybody[r] = r;
    first[0] = 0;
    first[1] = rank_count;
    groups = (hsc_groups){.count = 1, .id_count = rank_count, .ids = everybody, .first = first};
  }
  for (int r = 0; r < rank_count; r++)
    entry_of(table, rank_count, r)[2] = 0;
  for (int64_t g = 0; g < groups.count; g++)
    HSC_TRY(fill_group(instr, &groups, g, rank_count, table));
  for (int r = 0; r < rank_count; r++)
    if (!entry_of(table, rank_count, r)[2])
      return HSC_ERR(INVALID_ARGUMENT, "%s: device %d is in no group", hsc_op_text(instr->op), r);
  return NULL;
}

// "{{0,1},{1,2}}": who sends to each rank.
static hsc_status *read_pairs(const hsc_instr *instr,
                              hsc_arena *arena,
                              int rank_count,
                              int32_t *table) {
  hsc_groups pairs;
  HSC_TRY(hsc_groups_parse(arena, instr->attr.collective.pairs, &pairs));
  HSC_TRY(check_ids(instr, &pairs, rank_count));
  for (int r = 0; r < rank_count; r++)
    entry_of(table, rank_count, r)[0] = -1;
  for (int64_t i = 0; i < pairs.count; i++) {
    const int64_t *pair = pairs.ids + pairs.first[i];
    bool is_pair = pairs.first[i + 1] - pairs.first[i] == 2;
    int32_t *target = is_pair ? entry_of(table, rank_count, pair[1]) : NULL;
    if (!target || target[0] >= 0)
      return HSC_ERR(INVALID_ARGUMENT,
                     "%s: source_target_pairs %s: pairs are needed, and each device is a target "
                     "once at most",
                     hsc_op_text(instr->op), instr->attr.collective.pairs);
    target[0] = (int32_t)pair[0];
  }
  return NULL;
}

static hsc_status *read_reducer(const hsc_instr *instr, int32_t *out) {
  hsc_op op;
  if (!hsc_is_simple_reducer(instr->called[0], &op) || !(hsc_op_traits(op) & HSC_TRAIT_COMMUTES))
    return refuse(instr,
                  "a reducer that is not one of add, multiply, maximum, minimum, and, or, xor of "
                  "its two parameters");
  *out = (int32_t)op;
  return NULL;
}

static void plan_operand(const hsc_shape *shape, int64_t dim, operand_plan *out) {
  *out = (operand_plan){.type = (int32_t)shape->type,
                        .outer = 1,
                        .axis = 1,
                        .inner = 1,
                        .bytes = hsc_shape_bytes(shape)};
  for (int d = 0; d < shape->rank; d++) {
    if (d < dim)
      out->outer *= shape->dims[d];
    else if (d == dim)
      out->axis = shape->dims[d];
    else
      out->inner *= shape->dims[d];
  }
}

// Each device is a group of its own.
static void each_alone(int32_t *table, int ranks) {
  for (int r = 0; r < ranks; r++) {
    int32_t *entry = entry_of(table, ranks, r);
    entry[0] = r;
    entry[1] = 0;
    entry[2] = 1;
    entry[3] = r;
  }
}

// What a collective adds to its payload: how its operands are cut, the reducer, and in `table` who
// talks to whom.
static hsc_status *plan_collective(
    const hsc_instr *instr, hsc_arena *arena, int partitions, int32_t *table, collective *c) {
  const hsc_dims dims = instr->attr.collective.dims;
  bool between_replicas = instr->attr.collective.channel_id == 0 && partitions > 1;
  if (between_replicas)  // of which there is one: the device is alone
    each_alone(table, c->rank_count);
  operand_plan *out = (operand_plan *)(uintptr_t)operands_of(c);
  for (int i = 0; i < instr->operand_count; i++) {
    if (!hsc_shape_is_array(&instr->operands[i]->shape))
      return refuse(instr, "operands that are no arrays");
    plan_operand(&instr->operands[i]->shape, dims.count ? dims.v[0] : 0, &out[i]);
  }
  switch (instr->op) {
    case HSC_OP_ALL_REDUCE:
    case HSC_OP_REDUCE_SCATTER:
      HSC_TRY(read_reducer(instr, &c->reducer));
      break;
    case HSC_OP_ALL_GATHER:
    case HSC_OP_COLLECTIVE_BROADCAST:
      break;
    case HSC_OP_COLLECTIVE_PERMUTE:
      if (between_replicas)
        return refuse(instr, "between replicas of a program of several partitions");
      return read_pairs(instr, arena, c->rank_count, table);
    case HSC_OP_ALL_TO_ALL:
      c->is_tuple = dims.count == 0;
      break;
    default:
      return refuse(instr, "with several devices");
  }
  return between_replicas ? NULL : read_groups(instr, arena, c->rank_count, table);
}

hsc_status *hsc__cpu_choose_collective(hsc_cpu_compiler *compiler,
                                       hsc_cpu_step *step,
                                       hsc_cpu_choice *choice,
                                       bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  bool id = instr->op == HSC_OP_PARTITION_ID || instr->op == HSC_OP_REPLICA_ID;
  if (!id && !(hsc_op_traits(instr->op) & HSC_TRAIT_COLLECTIVE))
    return NULL;
  const hsc_module *module = instr->parent->module;
  int partitions = module->num_partitions > 1 ? module->num_partitions : 1;
  int replicas = module->replica_count > 1 ? module->replica_count : 1;
  int ranks = partitions * replicas;
  if (ranks == 1)
    return NULL;  // the evaluator knows what it is with one participant
  if (partitions > 1 && replicas > 1)
    return refuse(instr, "several partitions of several replicas");
  if (ranks > 1024)
    return refuse(instr, "more than 1024 devices");
  size_t plans = id ? 0 : (size_t)instr->operand_count;
  size_t bytes = sizeof(collective) + plans * sizeof(operand_plan) +
                 sizeof(int32_t) * (size_t)ranks * (size_t)(3 + ranks);
  collective *c = hsc_arena_alloc(compiler->arena, bytes);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *c = (collective){.op = (int32_t)instr->op, .rank_count = ranks, .operand_count = (int32_t)plans};
  bool counts = !id || (instr->op == HSC_OP_PARTITION_ID ? partitions > 1 : replicas > 1);
  if (!counts)
    return NULL;  // the id of the other kind is 0, which the evaluator says
  int32_t *table = (int32_t *)(uintptr_t)rank_of(c, 0);
  if (!id)
    HSC_TRY(plan_collective(instr, compiler->arena, partitions, table, c));
  choice->payload = c;
  choice->payload_bytes = bytes;
  *out_chosen = true;
  return NULL;
}

// ---- reducing -----------------------------------------------------------------------------------

#define REDUCE(TYPE, ADD, MUL, LESS) \
  { \
    TYPE *x = to; \
    const TYPE *y = from; \
    switch ((hsc_op)op) { \
      case HSC_OP_ADD: \
        for (int64_t i = 0; i < count; i++) \
          x[i] = (TYPE)(ADD); \
        break; \
      case HSC_OP_MULTIPLY: \
        for (int64_t i = 0; i < count; i++) \
          x[i] = (TYPE)(MUL); \
        break; \
      case HSC_OP_MAXIMUM: \
        for (int64_t i = 0; i < count; i++) \
          x[i] = LESS(x[i], y[i]) ? y[i] : x[i]; \
        break; \
      default: \
        for (int64_t i = 0; i < count; i++) \
          x[i] = LESS(y[i], x[i]) ? y[i] : x[i]; \
        break; \
    } \
    return; \
  }
#define LESS_WHOLE(a, b) ((a) < (b))
#define LESS_REAL(a, b) (((a) < (b)) || ((b) != (b)))  // NaN wins

static void reduce_bits(int op, unsigned char *x, const unsigned char *y, int64_t bytes) {
  if (op == HSC_OP_AND)
    for (int64_t i = 0; i < bytes; i++)
      x[i] &= y[i];
  else if (op == HSC_OP_OR)
    for (int64_t i = 0; i < bytes; i++)
      x[i] |= y[i];
  else
    for (int64_t i = 0; i < bytes; i++)
      x[i] ^= y[i];
}

// A sum or product of complex numbers, as pairs of TYPE.
#define REDUCE_COMPLEX(TYPE) \
  { \
    TYPE *x = to; \
    const TYPE *y = from; \
    for (int64_t i = 0; i < 2 * count; i += 2) { \
      TYPE re = op == HSC_OP_ADD ? x[i] + y[i] : x[i] * y[i] - x[i + 1] * y[i + 1]; \
      TYPE im = op == HSC_OP_ADD ? x[i + 1] + y[i + 1] : x[i] * y[i + 1] + x[i + 1] * y[i]; \
      x[i] = re, x[i + 1] = im; \
    } \
    return; \
  }

// to = to op from
static void reduce(int op, hsc_type type, void *to, const void *from, int64_t count) {
  if (op == HSC_OP_AND || op == HSC_OP_OR || op == HSC_OP_XOR) {
    reduce_bits(op, to, from, count * (int64_t)hsc_type_bytes(type));
    return;
  }
  switch (type) {
    case HSC_TYPE_F32:
      REDUCE(float, x[i] + y[i], x[i] * y[i], LESS_REAL)
    case HSC_TYPE_F64:
      REDUCE(double, x[i] + y[i], x[i] * y[i], LESS_REAL)
    case HSC_TYPE_S8:
    case HSC_TYPE_S4:
    case HSC_TYPE_S2:
      REDUCE(int8_t, x[i] + y[i], x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_S16:
      REDUCE(int16_t, x[i] + y[i], x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_S32:
      REDUCE(int32_t, (uint32_t)x[i] + (uint32_t)y[i], (uint32_t)x[i] * (uint32_t)y[i], LESS_WHOLE)
    case HSC_TYPE_S64:
      REDUCE(int64_t, (uint64_t)x[i] + (uint64_t)y[i], (uint64_t)x[i] * (uint64_t)y[i], LESS_WHOLE)
    case HSC_TYPE_PRED:
      REDUCE(uint8_t, x[i] | y[i], x[i] & y[i], LESS_WHOLE)
    case HSC_TYPE_U8:
    case HSC_TYPE_U4:
    case HSC_TYPE_U2:
      REDUCE(uint8_t, x[i] + y[i], x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_U16:
      REDUCE(uint16_t, x[i] + y[i], (uint32_t)x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_U32:
      REDUCE(uint32_t, x[i] + y[i], x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_U64:
      REDUCE(uint64_t, x[i] + y[i], x[i] * y[i], LESS_WHOLE)
    case HSC_TYPE_C64:
      REDUCE_COMPLEX(float)
    case HSC_TYPE_C128:
      REDUCE_COMPLEX(double)
    default:
      break;
  }
  // Narrow floats by way of f32, a piece at a time.
  enum { PIECE = 256 };
  float a[PIECE], b[PIECE];
  size_t bytes = hsc_type_bytes(type);
  for (int64_t at = 0; at < count; at += PIECE) {
    int64_t n = count - at < PIECE ? count - at : PIECE;
    hsc_convert_array(type, (const char *)to + (size_t)at * bytes, HSC_TYPE_F32, a, n);
    hsc_convert_array(type, (const char *)from + (size_t)at * bytes, HSC_TYPE_F32, b, n);
    reduce(op, HSC_TYPE_F32, a, b, n);
    hsc_convert_array(HSC_TYPE_F32, a, type, (char *)to + (size_t)at * bytes, n);
  }
}

// ---- running ------------------------------------------------------------------------------------

// What this rank computes for operand (or result) `o` from the members' buffers.
static void compute(
    const collective *c, const int32_t *me, void *const *const *all, int o, char *out) {
  const operand_plan *p = &operands_of(c)[o];
  int32_t size = me[2];
  int32_t position = me[1];
  size_t element = hsc_type_bytes((hsc_type)p->type);
  switch ((hsc_op)c->op) {
    case HSC_OP_ALL_REDUCE:
      memcpy(out, all[0][o], (size_t)p->bytes);
      for (int k = 1; k < size; k++)
        reduce(c->reducer, (hsc_type)p->type, out, all[k][o], p->outer * p->axis * p->inner);
      return;
    case HSC_OP_REDUCE_SCATTER: {
      int64_t part = p->axis / size * p->inner;
      int64_t row = p->axis * p->inner;
      for (int64_t i = 0; i < p->outer; i++) {
        char *to = out + (size_t)(i * part) * element;
        size_t from = (size_t)(i * row + position * part) * element;
        memcpy(to, (const char *)all[0][o] + from, (size_t)part * element);
        for (int k = 1; k < size; k++)
          reduce(c->reducer, (hsc_type)p->type, to, (const char *)all[k][o] + from, part);
      }
      return;
    }
    case HSC_OP_ALL_GATHER: {
      size_t part = (size_t)(p->axis * p->inner) * element;
      for (int64_t i = 0; i < p->outer; i++)
        for (int k = 0; k < size; k++)
          memcpy(out + ((size_t)i * (size_t)size + (size_t)k) * part,
                 (const char *)all[k][o] + (size_t)i * part, part);
      return;
    }
    case HSC_OP_ALL_TO_ALL: {
      if (c->is_tuple) {  // result o is what member o had for us
        memcpy(out, all[o][position], (size_t)p->bytes);
        return;
      }
      size_t part = (size_t)(p->axis / size * p->inner) * element;
      for (int64_t i = 0; i < p->outer; i++)
        for (int k = 0; k < size; k++)
          memcpy(out + ((size_t)i * (size_t)size + (size_t)k) * part,
                 (const char *)all[k][o] + ((size_t)i * (size_t)size + (size_t)position) * part,
                 part);
      return;
    }
    default:
      memcpy(out, all[0][o], (size_t)p->bytes);  // broadcast: from the first
  }
}

hsc_status *hsc__cpu_run_collective(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const collective *c = hsc__cpu_data(frame, thunk);
  if (c->operand_count == 0) {
    uint32_t id = (uint32_t)frame->rank;
    memcpy(hsc__cpu_output(frame, thunk, 0), &id, sizeof id);
    return NULL;
  }
  if (hsc__cpu_communicator_rank_count(frame->communicator) != c->rank_count)
    return HSC_ERR(FAILED_PRECONDITION, "%s: the program is for %d devices and runs on %d",
                   hsc_op_text((hsc_op)c->op), c->rank_count,
                   hsc__cpu_communicator_rank_count(frame->communicator));
  const int32_t *me = rank_of(c, frame->rank);
  size_t operands = (size_t)c->operand_count;
  void **inputs = hsc_alloc((sizeof(void *) + sizeof(size_t)) * operands);
  if (!inputs)
    return hsc_status_out_of_memory();
  size_t *sizes = (size_t *)(inputs + operands);
  for (int i = 0; i < c->operand_count; i++) {
    inputs[i] = hsc__cpu_input(frame, thunk, i);
    sizes[i] = (size_t)operands_of(c)[i].bytes;
  }
  // All ranks take part in a permute: a source need not be a target.
  bool permute = c->op == HSC_OP_COLLECTIVE_PERMUTE;
  hsc_cpu_meeting meeting = {.thunk = (int32_t)(thunk - frame->executable->thunks),
                             .group = permute ? 0 : me[0],
                             .position = permute ? frame->rank : me[1],
                             .size = permute ? c->rank_count : me[2],
                             .members = permute ? NULL : me + 3,
                             .buffer_count = c->operand_count,
                             .buffer_bytes = sizes,
                             .buffers = inputs};
  void *const *const *all;
  hsc_status *status = hsc__cpu_communicator_enter(frame->communicator, &meeting, &all);
  for (int o = 0; !status && o < thunk->output_count && o < c->operand_count; o++) {
    char *out = hsc__cpu_output(frame, thunk, o);
    if (!permute)
      compute(c, me, all, o, out);
    else if (me[0] < 0)
      memset(out, 0, sizes[o]);
    else
      memcpy(out, all[me[0]][o], sizes[o]);
  }
  if (!status)
    status = hsc__cpu_communicator_leave(frame->communicator, &meeting);
  hsc_free(inputs);
  return status;
}

// ---- checking -----------------------------------------------------------------------------------

// What rank r's row says: its group, its position, the members.
static bool rank_fits(const collective *c, int r) {
  const int32_t *e = rank_of(c, r);
  if (c->op == HSC_OP_COLLECTIVE_PERMUTE)
    return e[0] >= -1 && e[0] < c->rank_count;
  if (e[0] < 0 || e[0] >= c->rank_count || e[2] < 1 || e[2] > c->rank_count || e[1] < 0 ||
      e[1] >= e[2])
    return false;
  // of a tuple's operands each is for one member
  return !c->is_tuple || e[2] == c->operand_count;
}

// Whoever is of r's group says the same size and has a place of its own, and they are as many as
// that: a meeting waits for all of them and keeps a place for each.
static bool group_fits(const collective *c, int r) {
  const int32_t *me = rank_of(c, r);
  int32_t members = 0;
  for (int other = 0; other < c->rank_count; other++) {
    const int32_t *e = rank_of(c, other);
    if (e[0] != me[0])
      continue;
    if (e[2] != me[2] || (other != r && e[1] == me[1]))
      return false;
    members++;
  }
  return members == me[2];
}

// All members pass operands of the same sizes: each runs this program.
static bool operand_fits(const hsc_cpu_payload *p, const collective *c, int32_t i) {
  const operand_plan *o = &operands_of(c)[i];
  if (!hsc__is_element_type(o->type))
    return false;
  int64_t element = (int64_t)hsc_type_bytes((hsc_type)o->type);
  int64_t elements = hsc__size_times(hsc__size_times(o->outer, o->axis), o->inner);
  int64_t bytes = hsc__size_times(elements, element);
  if (bytes < 0 || bytes != o->bytes || !hsc__payload_reads(p, i, bytes))
    return false;
  int64_t out = bytes;
  for (int r = 0; r < c->rank_count; r++) {
    int64_t size = c->op == HSC_OP_COLLECTIVE_PERMUTE ? 1 : rank_of(c, r)[2];
    if (c->op == HSC_OP_ALL_GATHER)
      out = hsc__size_times(bytes, size);
    else if (c->op == HSC_OP_REDUCE_SCATTER)
      out = bytes / size;
    if ((c->op == HSC_OP_REDUCE_SCATTER || (c->op == HSC_OP_ALL_TO_ALL && !c->is_tuple)) &&
        o->axis % size)
      return false;
    if (i < p->thunk->output_count && !hsc__payload_writes(p, i, out))
      return false;
  }
  return true;
}

bool hsc__cpu_check_collective(hsc_cpu_payload *p) {
  const collective *c = p->data;
  if (p->bytes < sizeof *c || c->rank_count < 2 || c->rank_count > 1024 || c->operand_count < 0 ||
      c->operand_count != p->thunk->input_count || p->thunk->output_count < 1)
    return false;
  size_t ranks = (size_t)c->rank_count;
  if (!hsc__payload_is(p,
                       sizeof *c + (size_t)c->operand_count * sizeof(operand_plan) +
                           sizeof(int32_t) * ranks * (3 + ranks),
                       -1, -1))
    return false;
  if (c->operand_count == 0)
    return hsc__payload_writes(p, 0, sizeof(uint32_t));
  for (int r = 0; r < c->rank_count; r++)
    if (!rank_fits(c, r) || (c->op != HSC_OP_COLLECTIVE_PERMUTE && !group_fits(c, r)))
      return false;
  for (int32_t i = 0; i < c->operand_count; i++)
    if (!operand_fits(p, c, i))
      return false;
  // A tuple's result o is what member o passed as operand `position`: all of one size.
  for (int32_t i = 1; i < c->operand_count && c->is_tuple; i++)
    if (operands_of(c)[i].bytes != operands_of(c)[0].bytes)
      return false;
  return true;
}
