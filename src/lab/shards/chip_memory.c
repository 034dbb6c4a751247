// chip_memory.c - which buffers are alive where a compiled program needs most memory.
//
// In the order of the computation (the compiler's schedule, where it has one): a result lives from
// its instruction to the last use of it or of what only renames it (bitcasts, elements of tuples,
// a loop's own result). A loop's or branch's peak inside is added where it stands; its state is the
// caller's buffers. What lies in another memory space is not counted.
#include <stdlib.h>

#include "lab/shards/collectives.h"

enum { DEEPEST_CALL = 32, MOST_AT_PEAK = 64 };

typedef struct peak {
  int64_t bytes;
  hsc_chip_buffer buffers[MOST_AT_PEAK];  // the largest, unsorted
  int count;
} peak;

typedef struct live {
  const hsc_instr *instr;
  int64_t bytes;
  int32_t last;  // position of the last use
} live;

static bool is_elsewhere(const hsc_shape *shape) {
  const char *extra = shape->layout ? shape->layout->extra : NULL;
  const char *space = extra ? strstr(extra, "S(") : NULL;
  return space && space[2] != '0';
}

static int64_t buffer_bytes(const hsc_shape *shape) {
  if (hsc_shape_is_array(shape))
    return is_elsewhere(shape) ? 0 : hsc_shape_bytes(shape);
  int64_t sum = 0;
  for (int i = 0; hsc_shape_is_tuple(shape) && i < shape->element_count; i++)
    sum += buffer_bytes(&shape->elements[i]);
  return sum;
}

// It has no buffer of its own: its result is its operand's.
static bool is_alias(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_BITCAST:
    case HSC_OP_TUPLE:
    case HSC_OP_GET_TUPLE_ELEMENT:
    case HSC_OP_WHILE:
    case HSC_OP_OPT_BARRIER:
    case HSC_OP_ADD_DEPENDENCY:
    case HSC_OP_AFTER_ALL:
    case HSC_OP_COPY_DONE:
    case HSC_OP_ALL_GATHER_DONE:
    case HSC_OP_ALL_REDUCE_DONE:
    case HSC_OP_COLLECTIVE_PERMUTE_DONE:
    case HSC_OP_ASYNC_DONE:
    case HSC_OP_ASYNC_UPDATE:
    case HSC_OP_DYNAMIC_UPDATE_SLICE:
      return true;
    case HSC_OP_FUSION: {
      const hsc_instr *root = instr->called[0]->root;
      return root && root->op == HSC_OP_DYNAMIC_UPDATE_SLICE;
    }
    default:
      return false;
  }
}

// A start's result holds its operand beside its result.
static int64_t own_bytes(const hsc_instr *instr) {
  bool pair = instr->op == HSC_OP_COPY_START || instr->op == HSC_OP_ALL_GATHER_START ||
              instr->op == HSC_OP_COLLECTIVE_PERMUTE_START || instr->op == HSC_OP_ASYNC_START;
  int64_t all = buffer_bytes(&instr->shape);
  for (int i = 0; pair && i < instr->operand_count; i++)
    all -= buffer_bytes(&instr->operands[i]->shape);
  return all > 0 ? all : 0;
}

// The position of the last use, through renamings. Positions stand in instr->index.
static int32_t last_use(const hsc_instr *instr, int32_t end, int depth) {
  int32_t last = instr->index;
  if (instr == instr->parent->root)
    return end;
  for (int i = 0; i < instr->user_count; i++) {
    const hsc_instr *user = instr->users[i];
    int32_t at = user->index;
    if (is_alias(user) && depth < 256)
      at = last_use(user, end, depth + 1);
    if (at > last)
      last = at;
  }
  return last;
}

static void keep(peak *p, const hsc_instr *instr, int64_t bytes, bool is_argument) {
  int least = 0;
  if (bytes <= 0)
    return;
  if (p->count < MOST_AT_PEAK) {
    p->buffers[p->count++] = (hsc_chip_buffer){instr, bytes, is_argument};
    return;
  }
  for (int i = 1; i < p->count; i++)
    if (p->buffers[i].bytes < p->buffers[least].bytes)
      least = i;
  if (bytes > p->buffers[least].bytes)
    p->buffers[least] = (hsc_chip_buffer){instr, bytes, is_argument};
}

static hsc_status *peak_of(hsc_computation *computation, bool is_entry, int depth, peak *out);

// The largest of what an instruction calls.
static hsc_status *peak_inside(const hsc_instr *instr, int depth, peak *out) {
  bool runs =
      instr->op == HSC_OP_WHILE || instr->op == HSC_OP_CALL || instr->op == HSC_OP_CONDITIONAL;
  *out = (peak){0};
  for (int i = 0; runs && i < instr->called_count && depth < DEEPEST_CALL; i++) {
    peak *inner = hsc_alloc(sizeof *inner);
    if (!inner)
      return hsc_status_out_of_memory();
    hsc_status *status = peak_of(instr->called[i], false, depth + 1, inner);
    if (!status && inner->bytes > out->bytes)
      *out = *inner;
    hsc_free(inner);
    HSC_TRY(status);
  }
  return NULL;
}

static hsc_status *peak_of(hsc_computation *computation, bool is_entry, int depth, peak *out) {
  int32_t count = 0;
  size_t live_count = 0;
  HSC_FOR_EACH_INSTR_IN (computation, instr)
    instr->index = count++;
  live *all = hsc_alloc(((size_t)count + 1) * sizeof *all);
  int64_t *change = hsc_alloc(((size_t)count + 2) * sizeof *change);
  peak *inside = hsc_alloc(sizeof *inside);
  hsc_status *status = all && change && inside ? NULL : hsc_status_out_of_memory();
  for (int32_t i = 0; !status && i < count + 2; i++)
    change[i] = 0;
  int64_t bytes = 0;
  int64_t most = -1;
  int32_t at_most = 0;
  if (!status)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bool is_argument = instr->op == HSC_OP_PARAMETER;
      if (is_alias(instr) || (is_argument && !is_entry) || instr->op == HSC_OP_CONSTANT)
        continue;
      live l = {instr, own_bytes(instr), is_argument ? count : last_use(instr, count, 0)};
      if (!l.bytes)
        continue;
      all[live_count++] = l;
      change[is_argument ? 0 : instr->index] += l.bytes;
      change[l.last + 1] -= l.bytes;
    }
  *out = (peak){0};
  if (!status)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      bytes += change[instr->index];
      status = peak_inside(instr, depth, inside);
      if (status)
        break;
      if (bytes + inside->bytes > most) {
        most = bytes + inside->bytes;
        at_most = instr->index;
        *out = *inside;
      }
    }
  out->bytes = most > 0 ? most : 0;
  for (size_t i = 0; !status && i < live_count; i++) {
    bool is_argument = all[i].instr->op == HSC_OP_PARAMETER;
    if ((is_argument || all[i].instr->index <= at_most) && all[i].last >= at_most)
      keep(out, all[i].instr, all[i].bytes, is_argument);
  }
  hsc_free(all);
  hsc_free(change);
  hsc_free(inside);
  return status;
}

static int by_bytes(const void *a, const void *b) {
  int64_t x = ((const hsc_chip_buffer *)a)->bytes;
  int64_t y = ((const hsc_chip_buffer *)b)->bytes;
  return (x < y) - (x > y);
}

hsc_status *hsc_chip_buffers_at_peak(const hsc_module *module,
                                     hsc_arena *arena,
                                     hsc_chip_buffer **out_list,
                                     size_t *out_count,
                                     int64_t *out_peak) {
  peak *p = HSC_NEW(arena, peak);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(peak_of(module->entry, true, 0, p));
  qsort(p->buffers, (size_t)p->count, sizeof *p->buffers, by_bytes);
  *out_list = p->buffers;
  *out_count = (size_t)p->count;
  *out_peak = p->bytes;
  return NULL;
}
