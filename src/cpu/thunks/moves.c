// moves.c - operations that only move data, as strided copies: transpose, broadcast, slice,
// reverse, concatenate, pad, dynamic-slice, dynamic-update-slice, iota. No code is generated for
// them: such a thunk costs nothing to compile and runs at the speed of memory.
//
// A thunk fills its output with a value (pad), or copies an input over it (dynamic-update-slice
// that is not in place), then makes its moves. Index operands add, clamped, to the source's offset
// (dynamic-slice) or the target's (dynamic-update-slice).
#include "cpu/thunks/moves.h"

#include "cpu/thunks/lower.h"

// about 20 us of copying: below it, waking a thread costs more than it saves
static const int64_t PARALLEL_BYTES = 256 << 10;
static const int64_t CHUNK_BYTES = 64 << 10;

static void dense_strides(const hsc_shape *shape, int64_t *strides) {
  int64_t stride = (int64_t)hsc_type_bytes(shape->type);
  for (int i = shape->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape->dims[i];
  }
}

// A move over the dimensions of `shape` with the given strides (bytes).
static void set_move(
    hsc_cpu_move *move, int input, const hsc_shape *shape, const int64_t *from, const int64_t *to) {
  move->input = input;
  move->copy =
      (hsc_strided){.rank = shape->rank, .element_bytes = (int32_t)hsc_type_bytes(shape->type)};
  for (int i = 0; i < shape->rank; i++) {
    move->copy.size[i] = shape->dims[i];
    move->copy.from_stride[i] = from[i];
    move->copy.to_stride[i] = to[i];
  }
}

static bool add_indices(hsc_cpu_moves *moves,
                        const hsc_instr *instr,
                        int first_operand,
                        const hsc_shape *whole,
                        const int64_t *sizes,
                        const int64_t *strides) {
  int count = instr->operand_count - first_operand;
  if (count != whole->rank)
    return false;
  moves->index_input = first_operand;
  for (int i = 0; i < count; i++) {
    const hsc_shape *shape = &instr->operands[first_operand + i]->shape;
    if (!hsc_shape_is_scalar(shape) || !hsc_type_is_integral(shape->type))
      return false;
    moves->indices[i] = (hsc_cpu_move_index){
        .type = (int32_t)shape->type, .limit = whole->dims[i] - sizes[i], .stride = strides[i]};
  }
  moves->index_count = count;
  return true;
}

// ---- one copy an operand: a walk over the result's dimensions by the operand's strides ----------

static void transpose_strides(const hsc_instr *instr, const int64_t *in_strides, int64_t *from) {
  for (int i = 0; i < instr->shape.rank; i++)
    from[i] = in_strides[instr->attr.dims.dims.v[i]];
}

// Dimensions that the operand lacks keep the stride 0: its elements are read again.
static void broadcast_strides(const hsc_instr *instr, const int64_t *in_strides, int64_t *from) {
  for (int i = 0; i < instr->operands[0]->shape.rank; i++)
    from[instr->attr.dims.dims.v[i]] = in_strides[i];
}

static void slice_strides(const hsc_instr *instr,
                          const int64_t *in_strides,
                          int64_t *from,
                          int64_t *out_offset) {
  const hsc_dims *stride = &instr->attr.slice.stride;
  for (int i = 0; i < instr->shape.rank; i++) {
    from[i] = in_strides[i] * (stride->count ? stride->v[i] : 1);
    *out_offset += in_strides[i] * instr->attr.slice.start.v[i];
  }
}

// Backwards from the last element of a reversed dimension.
static void reverse_strides(const hsc_instr *instr,
                            const int64_t *in_strides,
                            int64_t *from,
                            int64_t *out_offset) {
  const hsc_dims *reversed = &instr->attr.dims.dims;
  for (int i = 0; i < instr->shape.rank; i++)
    from[i] = in_strides[i];
  for (int i = 0; i < reversed->count; i++) {
    int64_t dim = reversed->v[i];
    from[dim] = -from[dim];
    *out_offset += in_strides[dim] * (instr->operands[0]->shape.dims[dim] - 1);
  }
}

// ---- operations that take more than that --------------------------------------------------------

static bool plan_concatenate(const hsc_instr *instr, const int64_t *to, hsc_cpu_moves *moves) {
  int64_t from[HSC_STRIDED_MAX_RANK] = {0};
  if (instr->operand_count > HSC_CPU_MAX_MOVES)
    return false;
  int64_t dim = instr->attr.dims.dims.v[0];
  int64_t offset = 0;
  moves->move_count = instr->operand_count;
  for (int o = 0; o < instr->operand_count; o++) {
    dense_strides(&instr->operands[o]->shape, from);
    set_move(&moves->moves[o], o, &instr->operands[o]->shape, from, to);
    moves->moves[o].to_offset = offset;
    offset += instr->operands[o]->shape.dims[dim] * to[dim];
  }
  return true;
}

// The elements that stay: of each dimension those whose place, low + i * (interior + 1), is inside
// the result.
static void plan_pad(const hsc_instr *instr,
                     const int64_t *in_strides,
                     const int64_t *to,
                     hsc_cpu_moves *moves) {
  const hsc_shape *out = &instr->shape;
  const hsc_shape *in = &instr->operands[0]->shape;
  hsc_cpu_move *move = &moves->moves[0];
  int64_t sizes[HSC_STRIDED_MAX_RANK] = {0};
  int64_t to_inside[HSC_STRIDED_MAX_RANK] = {0};
  bool covers = true;
  for (int i = 0; i < out->rank; i++) {
    const hsc_pad_dim *pad = &instr->attr.pad.dims[i];
    int64_t step = pad->interior + 1;
    int64_t first = pad->low < 0 ? (-pad->low + step - 1) / step : 0;
    int64_t end = in->dims[i];
    while (end > first && pad->low + (end - 1) * step >= out->dims[i])
      end--;
    sizes[i] = end > first ? end - first : 0;
    covers = covers && sizes[i] == out->dims[i];
    to_inside[i] = to[i] * step;
    move->from_offset += first * in_strides[i];
    move->to_offset += (pad->low + first * step) * to[i];
  }
  hsc_shape inside = *out;
  inside.dims = sizes;
  set_move(move, 0, &inside, in_strides, to_inside);
  if (hsc_shape_elements(&inside) == 0)
    moves->move_count = 0;
  moves->fill_input = covers ? -1 : 1;
}

static bool plan_update(const hsc_instr *instr, const int64_t *to, hsc_cpu_moves *moves) {
  const hsc_shape *update = &instr->operands[1]->shape;
  int64_t from[HSC_STRIDED_MAX_RANK] = {0};
  dense_strides(update, from);
  set_move(&moves->moves[0], 1, update, from, to);
  moves->base_input = 0;
  moves->index_on_output = true;
  return add_indices(moves, instr, 2, &instr->shape, update->dims, to);
}

static bool plan_moves(const hsc_instr *instr, hsc_cpu_moves *moves) {
  const hsc_shape *out = &instr->shape;
  const hsc_shape *in = instr->operand_count ? &instr->operands[0]->shape : NULL;
  int64_t from[HSC_STRIDED_MAX_RANK] = {0};
  int64_t to[HSC_STRIDED_MAX_RANK] = {0};
  int64_t in_strides[HSC_STRIDED_MAX_RANK] = {0};
  dense_strides(out, to);
  if (in && hsc_shape_is_array(in))
    dense_strides(in, in_strides);
  hsc_cpu_move *move = &moves->moves[0];
  moves->move_count = 1;
  switch (instr->op) {
    case HSC_OP_TRANSPOSE:
      transpose_strides(instr, in_strides, from);
      break;
    case HSC_OP_BROADCAST:
      broadcast_strides(instr, in_strides, from);
      break;
    case HSC_OP_SLICE:
      slice_strides(instr, in_strides, from, &move->from_offset);
      break;
    case HSC_OP_REVERSE:
      reverse_strides(instr, in_strides, from, &move->from_offset);
      break;
    case HSC_OP_CONCATENATE:
      return plan_concatenate(instr, to, moves);
    case HSC_OP_PAD:
      plan_pad(instr, in_strides, to, moves);
      return true;
    case HSC_OP_DYNAMIC_SLICE:
      set_move(move, 0, out, in_strides, to);
      return add_indices(moves, instr, 1, in, out->dims, in_strides);
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return plan_update(instr, to, moves);
    default:
      return false;
  }
  set_move(move, 0, out, from, to);
  return true;
}

hsc_status *hsc__cpu_choose_moves(hsc_cpu_compiler *compiler,
                                  hsc_cpu_step *step,
                                  hsc_cpu_choice *choice,
                                  bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  if (!hsc_shape_is_array(&instr->shape) || instr->shape.rank > HSC_STRIDED_MAX_RANK)
    return NULL;
  for (int i = 0; i < instr->operand_count; i++)
    if (!hsc_shape_is_array(&instr->operands[i]->shape) ||
        instr->operands[i]->shape.rank > HSC_STRIDED_MAX_RANK)
      return NULL;
  size_t room = sizeof(hsc_cpu_moves) + sizeof(hsc_cpu_move) * (size_t)(instr->operand_count + 1);
  hsc_cpu_moves *moves = hsc_arena_alloc(compiler->arena, room);
  HSC_TRY(hsc_arena_status(compiler->arena));
  *moves = (hsc_cpu_moves){.fill_input = -1,
                           .base_input = -1,
                           .element_bytes = (int32_t)hsc_type_bytes(instr->shape.type)};
  if (!plan_moves(instr, moves))
    return NULL;
  for (int m = 0; m < moves->move_count; m++)
    hsc_strided_normalize(&moves->moves[m].copy);
  choice->payload = moves;
  choice->payload_bytes = sizeof(hsc_cpu_moves) + sizeof(hsc_cpu_move) * (size_t)moves->move_count;
  if (moves->base_input == 0) {
    step->in_place = HSC_NEW(compiler->arena, uint64_t);
    step->in_place[0] = 1;
  }
  *out_chosen = true;
  return NULL;
}

int64_t hsc__cpu_read_index(int32_t type, const void *at) {
  switch ((hsc_type)type) {
    case HSC_TYPE_S8:
      return *(const int8_t *)at;
    case HSC_TYPE_S16:
      return *(const int16_t *)at;
    case HSC_TYPE_S32:
      return *(const int32_t *)at;
    case HSC_TYPE_U8:
      return *(const uint8_t *)at;
    case HSC_TYPE_U16:
      return *(const uint16_t *)at;
    case HSC_TYPE_U32:
      return *(const uint32_t *)at;
    case HSC_TYPE_U64:
      return *(const uint64_t *)at > INT64_MAX ? INT64_MAX : *(const int64_t *)at;
    default:
      return *(const int64_t *)at;
  }
}

typedef struct move_task {
  const hsc_strided *copy;
  const char *from;
  char *to;
  int64_t step;
} move_task;

static void move_chunk(void *context, int64_t chunk, int worker) {
  const move_task *task = context;
  int64_t begin = chunk * task->step;
  int64_t end = begin + task->step;
  int64_t outer = hsc_strided_outer(task->copy);
  hsc_strided_copy(task->copy, task->from, task->to, begin, end < outer ? end : outer);
}

void hsc__cpu_parallel_copy(hsc_cpu_pool *pool,
                            const hsc_strided *copy,
                            const void *from,
                            void *to) {
  int64_t bytes = hsc_strided_bytes(copy);
  int64_t outer = hsc_strided_outer(copy);
  if (bytes < PARALLEL_BYTES || outer < 2) {
    hsc_strided_copy(copy, from, to, 0, outer);
    return;
  }
  int64_t chunks = bytes / CHUNK_BYTES < outer ? bytes / CHUNK_BYTES : outer;
  if (chunks > 256)
    chunks = 256;
  move_task task = {.copy = copy, .from = from, .to = to, .step = (outer + chunks - 1) / chunks};
  hsc_cpu_pool_run(pool, (outer + task.step - 1) / task.step, move_chunk, &task);
}

hsc_status *hsc__cpu_run_moves(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_moves *moves = hsc__cpu_data(frame, thunk);
  const hsc_cpu_slice *out = hsc__cpu_slices(frame, thunk) + thunk->input_count;
  char *to = hsc__cpu_at(frame, out);
  if (moves->fill_input >= 0)
    hsc_fill(to, hsc__cpu_input(frame, thunk, moves->fill_input), moves->element_bytes,
             out->bytes / moves->element_bytes);
  if (moves->base_input >= 0) {
    const char *base = hsc__cpu_input(frame, thunk, moves->base_input);
    if (base != to)
      memcpy(to, base, (size_t)out->bytes);
  }
  int64_t dynamic = 0;
  for (int i = 0; i < moves->index_count; i++) {
    const hsc_cpu_move_index *index = &moves->indices[i];
    int64_t value =
        hsc__cpu_read_index(index->type, hsc__cpu_input(frame, thunk, moves->index_input + i));
    value = value > index->limit ? index->limit : value;
    dynamic += (value < 0 ? 0 : value) * index->stride;
  }
  for (int m = 0; m < moves->move_count; m++) {
    const hsc_cpu_move *move = &moves->moves[m];
    const char *from = (const char *)hsc__cpu_input(frame, thunk, move->input) + move->from_offset +
                       (moves->index_on_output ? 0 : dynamic);
    hsc__cpu_parallel_copy(frame->pool, &move->copy, from,
                           to + move->to_offset + (moves->index_on_output ? dynamic : 0));
  }
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

// What the indices add to a place, at most; -1 when a number is out of its range.
static int64_t indices_add(const hsc_cpu_payload *p, const hsc_cpu_moves *m) {
  int64_t most = 0;
  for (int32_t i = 0; i < m->index_count; i++) {
    const hsc_cpu_move_index *index = &m->indices[i];
    if (!hsc__is_index_type(index->type) || index->stride % m->element_bytes ||
        !hsc__payload_reads(p, m->index_input + i, (int64_t)hsc_type_bytes((hsc_type)index->type)))
      return -1;
    most = hsc__size_plus(most, hsc__size_times(index->limit, index->stride));
  }
  return most;
}

bool hsc__cpu_check_moves(hsc_cpu_payload *p) {
  const hsc_cpu_moves *m = p->data;
  if (p->bytes < sizeof *m || m->move_count < 0 || m->move_count > HSC_CPU_MAX_MOVES ||
      !hsc__payload_is(p, sizeof *m + sizeof m->moves[0] * (size_t)m->move_count, -1, 1))
    return false;
  int32_t bytes = m->element_bytes;
  if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)) || m->index_count < 0 ||
      m->index_count > HSC_STRIDED_MAX_RANK || m->index_input < 0 ||
      m->index_input > p->thunk->input_count)
    return false;
  if ((m->fill_input >= 0 && !hsc__payload_reads(p, m->fill_input, bytes)) ||
      (m->base_input >= 0 && !hsc__payload_reads(p, m->base_input, p->outputs[0].bytes)))
    return false;
  int64_t dynamic = indices_add(p, m);
  for (int32_t i = 0; i < m->move_count && dynamic >= 0; i++) {
    const hsc_cpu_move *move = &m->moves[i];
    hsc_reach from = hsc__reach_begin(move->from_offset);
    hsc_reach to = hsc__reach_begin(move->to_offset);
    hsc__reach_add(m->index_on_output ? &to : &from, 2, dynamic);
    if (move->copy.element_bytes != bytes || !hsc__payload_reads(p, move->input, 0) ||
        !hsc__strided_fits(&move->copy, from, p->inputs[move->input].bytes, to,
                           p->outputs[0].bytes))
      return false;
  }
  return dynamic >= 0;
}
