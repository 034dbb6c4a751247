// thunk_sort.c - sort and topk (see sort.h). Rows are shared out to the threads.
//
// How to read: where the comparator orders by one operand, each element gets a key whose order as
// an unsigned number is the comparator's, and sort_by_key sorts keys with their places: by
// insertion, merging or radix, by their number. select_items keeps the first k only. Any other
// comparator is called pair by pair (sort_by_comparator).
#include "cpu/thunks/lower.h"
#include "cpu/thunks/sort.h"

typedef struct item {
  uint64_t key;
  uint64_t index;
} item;

enum { RADIX_LEAST = 256 };

// ---- choosing -----------------------------------------------------------------------------------

static bool key_type(hsc_type type) {
  return (!hsc_type_is_complex(type) && !hsc_type_is_float(type) && type != HSC_TYPE_INVALID &&
          hsc_type_bytes(type) <= 8) ||
         type == HSC_TYPE_F32 || type == HSC_TYPE_F64 || type == HSC_TYPE_F16 ||
         type == HSC_TYPE_BF16;
}

hsc_status *hsc__cpu_choose_sort(hsc_cpu_compiler *compiler,
                                 hsc_cpu_step *step,
                                 hsc_cpu_choice *choice,
                                 bool *out_chosen) {
  const hsc_instr *instr = step->instr;
  *out_chosen = false;
  if ((instr->op != HSC_OP_SORT && instr->op != HSC_OP_TOPK) || instr->operand_count < 1 ||
      instr->operand_count > HSC_SORT_MAX_OPERANDS)
    return NULL;
  hsc_sort *s = HSC_NEW(compiler->arena, hsc_sort);
  HSC_TRY(hsc_arena_status(compiler->arena));
  const hsc_shape *shape = &instr->operands[0]->shape;
  *s = (hsc_sort){.operand_count = instr->operand_count,
                  .comparator = -1,
                  .is_topk = instr->op == HSC_OP_TOPK,
                  .length = 1,
                  .step = 1};
  for (int i = 0; i < instr->operand_count; i++)
    s->element_bytes[i] = (int32_t)hsc_type_bytes(instr->operands[i]->shape.type);
  int64_t dimension;
  if (s->is_topk)
    dimension = shape->rank - 1;
  else if (shape->rank)
    dimension = instr->attr.dims.dims.v[0];
  else
    dimension = 0;
  if (shape->rank) {
    s->length = shape->dims[dimension];
    for (int i = shape->rank - 1; i > dimension; i--)
      s->step *= shape->dims[i];
  }
  s->rows = s->length ? hsc_shape_elements(shape) / s->length : 0;
  bool found = false;
  if (s->is_topk) {
    if (!key_type(shape->type) || instr->operand_count != 1)
      return NULL;
    s->k = instr->attr.topk.k < s->length ? instr->attr.topk.k : s->length;
    if (s->k != instr->attr.topk.k)
      return NULL;
    s->key = (hsc_cpu_key){.descending = instr->attr.topk.largest,
                           .type = (int32_t)shape->type,
                           .total_order = 1,
                           .kernel = -1};
    found = true;
  } else {
    for (int i = 0; i < instr->operand_count; i++)
      if (instr->called[0]->parameters[2 * i]->shape.type != instr->operands[i]->shape.type ||
          instr->called[0]->parameters[2 * i + 1]->shape.type != instr->operands[i]->shape.type)
        return NULL;
    HSC_TRY(hsc__cpu_find_key(compiler, instr->called[0], &s->key, &found));
    if (found && !key_type((hsc_type)s->key.type))
      found = false;
  }
  s->by_key = found;
  if (!found) {
    HSC_TRY(hsc__cpu_add_lanes(compiler, instr->called[0], &s->comparator));
    if (s->comparator < 0)
      return NULL;
  }
  choice->payload = s;
  choice->payload_bytes = sizeof *s;
  // Two arrays of items, a gathered row of each operand, keys.
  int64_t row = 8;
  for (int i = 0; i < s->operand_count; i++)
    row += s->element_bytes[i];
  hsc__cpu_need_worker_scratch(
      compiler, s->length * (2 * (int64_t)sizeof(item) + row) + 64 * (s->operand_count + 4));
  *out_chosen = true;
  return NULL;
}

// ---- keys ---------------------------------------------------------------------------------------

// Numbers whose unsigned order is the order of `values`.
static void make_keys(const hsc_cpu_key *key, const void *values, int64_t count, item *items) {
  hsc_type type = (hsc_type)key->type;
  int64_t bytes = (int64_t)hsc_type_bytes(type);
  int64_t bits = 8 * bytes;
  uint64_t all = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  uint64_t sign = (uint64_t)1 << (bits - 1);
  uint64_t flip = key->descending ? all : 0;
  bool is_float = hsc_type_is_float(type);
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  for (int64_t i = 0; i < count; i++) {
    uint64_t value = 0;
    switch (bytes) {
      case 1:
        value = ((const uint8_t *)values)[i];
        break;
      case 2:
        value = ((const uint16_t *)values)[i];
        break;
      case 4:
        value = ((const uint32_t *)values)[i];
        break;
      default:
        value = ((const uint64_t *)values)[i];
        break;
    }
    if (is_float) {
      if (!key->total_order && value == sign)
        value = 0;  // the two zeros are equal
      value ^= value & sign ? all : sign;
    } else if (is_signed) {
      value ^= sign;
    }
    items[i] = (item){value ^ flip, (uint64_t)i};
  }
}

static void insertion_sort(item *items, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    item moving = items[i];
    int64_t at = i;
    for (; at > 0 && items[at - 1].key > moving.key; at--)
      items[at] = items[at - 1];
    items[at] = moving;
  }
}

// Runs of 16 by insertion, then merges. The result is in the array that is returned.
static item *merge_items(item *items, item *other, int64_t count) {
  for (int64_t at = 0; at < count; at += 16)
    insertion_sort(items + at, count - at < 16 ? count - at : 16);
  for (int64_t width = 16; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      int64_t middle = start + width < count ? start + width : count;
      int64_t end = start + 2 * width < count ? start + 2 * width : count;
      int64_t left = start;
      int64_t right = middle;
      int64_t at = start;
      while (left < middle && right < end) {
        bool take_right = items[right].key < items[left].key;
        other[at++] = items[take_right ? right : left];
        right += take_right;
        left += !take_right;
      }
      memcpy(other + at, items + left, sizeof(item) * (size_t)(middle - left));
      memcpy(other + at + (middle - left), items + right, sizeof(item) * (size_t)(end - right));
    }
    item *keep = items;
    items = other;
    other = keep;
  }
  return items;
}

// By digits of 8 bits, lowest first; a digit that all share is passed over.
static item *radix_sort(item *items, item *other, int64_t count, int key_bytes) {
  for (int digit = 0; digit < key_bytes; digit++) {
    int64_t counts[256] = {0};
    int64_t at = 0;
    int shift = 8 * digit;
    for (int64_t i = 0; i < count; i++)
      counts[items[i].key >> shift & 255]++;
    if (counts[items[0].key >> shift & 255] == count)
      continue;
    for (int d = 0; d < 256; d++) {
      int64_t here = counts[d];
      counts[d] = at;
      at += here;
    }
    for (int64_t i = 0; i < count; i++)
      other[counts[items[i].key >> shift & 255]++] = items[i];
    item *keep = items;
    items = other;
    other = keep;
  }
  return items;
}

// ---- the first k --------------------------------------------------------------------------------

// Keys of 4 bytes, as signed numbers in the order wanted: floats below zero have their order
// reversed, unsigned numbers have their sign in `flip`.
typedef int32_t keys_16 __attribute__((vector_size(64), aligned(4), may_alias));
enum { SELECT_BLOCK = 64, SELECT_ROOM = 256 };
#define ORDERED(x) ((x) ^ (((x) >> 31) & is_float) ^ flip)

// The first block from `at` on with a key below `limit`, or the one that is not whole.
#define NEXT_BLOCK(NAME, TARGET) \
  TARGET static int64_t next_block_##NAME(const int32_t *values, int64_t at, int64_t count, \
                                          int32_t is_float, int32_t flip, int32_t limit) { \
    for (; at + SELECT_BLOCK <= count; at += SELECT_BLOCK) { \
      const keys_16 *block = (const keys_16 *)(values + at); \
      keys_16 below = (ORDERED(block[0]) < limit) | (ORDERED(block[1]) < limit) | \
                      (ORDERED(block[2]) < limit) | (ORDERED(block[3]) < limit); \
      int64_t words[8]; \
      memcpy(words, &below, sizeof words); \
      if (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) \
        break; \
    } \
    return at; \
  }
NEXT_BLOCK(baseline, )
#if defined(__x86_64__)
NEXT_BLOCK(avx2, __attribute__((target("avx2"))))
NEXT_BLOCK(avx512, __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))))
#endif

static int64_t next_block(hsc_cpu_isa_level level,
                          const int32_t *values,
                          int64_t at,
                          int64_t count,
                          int32_t is_float,
                          int32_t flip,
                          int32_t limit) {
#if defined(__x86_64__)
  if (level == HSC_CPU_ISA_AVX512)
    return next_block_avx512(values, at, count, is_float, flip, limit);
  if (level == HSC_CPU_ISA_AVX2)
    return next_block_avx2(values, at, count, is_float, flip, limit);
#endif
  return next_block_baseline(values, at, count, is_float, flip, limit);
}

// Whether few enough are wanted of values that select_items can order.
static bool selects(const hsc_sort *s) {
  return s->is_topk && s->element_bytes[0] == 4 && s->k > 0 && s->key.kernel < 0 &&
         s->key.total_order && 4 * (s->k + SELECT_ROOM) < s->length;
}

// The first k items of the order, in it: candidates are gathered and, when there are many, cut to
// the best k, whose last one is what a later value has to be before.
static item *select_items(hsc_cpu_isa_level level,
                          const hsc_cpu_key *key,
                          const int32_t *values,
                          int64_t count,
                          int64_t k,
                          item *items,
                          item *other) {
  hsc_type type = (hsc_type)key->type;
  bool is_unsigned = !hsc_type_is_float(type) && hsc_type_class_of(type) != HSC_CLASS_SIGNED;
  int32_t is_float = hsc_type_is_float(type) ? INT32_MAX : 0;
  int32_t flip = (key->descending ? -1 : 0) ^ (is_unsigned ? INT32_MIN : 0);
  int64_t room = 2 * k + SELECT_ROOM;
  int64_t kept = 0;
  int64_t limit = INT64_MAX;
  for (int64_t at = 0; at < count; at += SELECT_BLOCK) {
    if (limit <= INT32_MAX)
      at = next_block(level, values, at, count, is_float, flip, (int32_t)limit);
    int64_t end = count - at < SELECT_BLOCK ? count : at + SELECT_BLOCK;
    for (int64_t i = at; i < end; i++) {
      int32_t ordered = ORDERED(values[i]);
      if (ordered < limit)
        items[kept++] = (item){(uint32_t)ordered ^ 0x80000000u, (uint64_t)i};
    }
    if (kept + SELECT_BLOCK <= room)
      continue;
    item *sorted = merge_items(items, other, kept);
    if (sorted != items)
      memcpy(items, sorted, sizeof *items * (size_t)k);
    kept = k;
    limit = (int32_t)((uint32_t)items[k - 1].key ^ 0x80000000u);
  }
  return merge_items(items, other, kept);
}

// ---- running ------------------------------------------------------------------------------------

typedef struct sort_run {
  const hsc_sort *s;
  const hsc_cpu_frame *frame;
  const hsc_cpu_thunk *thunk;
  int64_t rows_per_task;
} sort_run;

static void copy_elements(
    const char *from, int64_t from_step, char *to, int64_t to_step, int bytes, int64_t count) {
  switch (bytes) {
    case 1:
      for (int64_t i = 0; i < count; i++)
        to[i * to_step] = from[i * from_step];
      break;
    case 2:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * 2, from + i * from_step * 2, 2);
      break;
    case 4:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * 4, from + i * from_step * 4, 4);
      break;
    case 8:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * 8, from + i * from_step * 8, 8);
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * bytes, from + i * from_step * bytes, (size_t)bytes);
      break;
  }
}

static item *sort_by_key(
    const sort_run *r, char *const *rows, char *keys, item *items, item *other) {
  const hsc_sort *s = r->s;
  const char *values = rows[s->key.operand];
  int64_t bytes = s->element_bytes[s->key.operand];
  int64_t key_bytes = (int64_t)hsc_type_bytes((hsc_type)s->key.type);
  if (s->key.kernel >= 0) {
    hsc_cpu_kernel_function function = r->frame->executable->kernels[s->key.kernel].function;
    for (int64_t at = 0; at < s->length; at += HSC_LANES) {
      void *buffers[2] = {(char *)(uintptr_t)values + at * bytes, keys + at * key_bytes};
      function(buffers, 0, s->length - at < HSC_LANES ? s->length - at : HSC_LANES);
    }
    values = keys;
  }
  if (selects(s))
    return select_items(r->frame->executable->device->isa.level, &s->key, (const int32_t *)values,
                        s->length, s->k, items, other);
  make_keys(&s->key, values, s->length, items);
  return s->length < RADIX_LEAST ? merge_items(items, other, s->length)
                                 : radix_sort(items, other, s->length, (int)key_bytes);
}

static bool before(const sort_run *r,
                   hsc_cpu_kernel_function comparator,
                   char *const *rows,
                   uint64_t a,
                   uint64_t b) {
  void *buffers[2 * HSC_SORT_MAX_OPERANDS + 1];
  uint8_t answer = 0;
  const hsc_sort *s = r->s;
  for (int i = 0; i < s->operand_count; i++) {
    buffers[2 * i] = rows[i] + a * (uint64_t)s->element_bytes[i];
    buffers[2 * i + 1] = rows[i] + b * (uint64_t)s->element_bytes[i];
  }
  buffers[2 * s->operand_count] = &answer;
  comparator(buffers, 0, 1);
  return answer != 0;
}

// An element of the right run goes first only when it is strictly before the left one.
static item *sort_by_comparator(const sort_run *r, char *const *rows, item *items, item *other) {
  hsc_cpu_kernel_function comparator = r->frame->executable->kernels[r->s->comparator].function;
  int64_t count = r->s->length;
  for (int64_t i = 0; i < count; i++)
    items[i].index = (uint64_t)i;
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t start = 0; start < count; start += 2 * width) {
      int64_t middle = start + width < count ? start + width : count;
      int64_t end = start + 2 * width < count ? start + 2 * width : count;
      int64_t left = start;
      int64_t right = middle;
      int64_t at = start;
      while (left < middle && right < end)
        other[at++] = before(r, comparator, rows, items[right].index, items[left].index)
                          ? items[right++]
                          : items[left++];
      memcpy(other + at, items + left, sizeof(item) * (size_t)(middle - left));
      memcpy(other + at + (middle - left), items + right, sizeof(item) * (size_t)(end - right));
    }
    item *keep = items;
    items = other;
    other = keep;
  }
  return items;
}

static void *carve(char **scratch, int64_t bytes) {
  void *at = *scratch;
  *scratch += (bytes + 63) / 64 * 64;
  return at;
}

static void put_sorted(const char *from,
                       int64_t from_step,
                       const item *items,
                       char *to,
                       int64_t to_step,
                       int bytes,
                       int64_t count) {
  switch (bytes) {
    case 4:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * 4, from + (int64_t)items[i].index * from_step * 4, 4);
      break;
    case 8:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * 8, from + (int64_t)items[i].index * from_step * 8, 8);
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_step * bytes, from + (int64_t)items[i].index * from_step * bytes,
               (size_t)bytes);
      break;
  }
}

static void sort_row(const sort_run *r, int64_t row, char *scratch) {
  const hsc_sort *s = r->s;
  int64_t base = row / s->step * s->step * s->length + row % s->step;
  item *items = carve(&scratch, s->length * (int64_t)sizeof(item));
  item *other = carve(&scratch, s->length * (int64_t)sizeof(item));
  char *keys = carve(&scratch, s->length * 8);
  char *rows[HSC_SORT_MAX_OPERANDS];
  for (int i = 0; i < s->operand_count; i++) {
    char *in = (char *)hsc__cpu_input(r->frame, r->thunk, i) + base * s->element_bytes[i];
    rows[i] = in;
    if (s->step == 1 || (s->by_key && i != s->key.operand))
      continue;
    rows[i] = carve(&scratch, s->length * s->element_bytes[i]);
    copy_elements(in, s->step, rows[i], 1, s->element_bytes[i], s->length);
  }
  item *sorted = s->by_key ? sort_by_key(r, rows, keys, items, other)
                           : sort_by_comparator(r, rows, items, other);
  if (s->is_topk) {
    put_sorted(rows[0], 1, sorted,
               (char *)hsc__cpu_output(r->frame, r->thunk, 0) + row * s->k * s->element_bytes[0], 1,
               s->element_bytes[0], s->k);
    int32_t *indices = (int32_t *)hsc__cpu_output(r->frame, r->thunk, 1) + row * s->k;
    for (int64_t i = 0; i < s->k; i++)
      indices[i] = (int32_t)sorted[i].index;
    return;
  }
  for (int i = 0; i < s->operand_count; i++)
    put_sorted((const char *)hsc__cpu_input(r->frame, r->thunk, i) + base * s->element_bytes[i],
               s->step, sorted,
               (char *)hsc__cpu_output(r->frame, r->thunk, i) + base * s->element_bytes[i], s->step,
               s->element_bytes[i], s->length);
}

static void do_rows(void *context, int64_t chunk, int worker) {
  const sort_run *r = context;
  int64_t begin = chunk * r->rows_per_task;
  int64_t end = begin + r->rows_per_task < r->s->rows ? begin + r->rows_per_task : r->s->rows;
  for (int64_t row = begin; row < end; row++)
    sort_row(r, row, hsc__cpu_worker_scratch(r->frame, worker));
}

hsc_status *hsc__cpu_run_sort(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_sort *s = hsc__cpu_data(frame, thunk);
  if (s->rows == 0 || s->length == 0)
    return NULL;
  sort_run r = {.s = s, .frame = frame, .thunk = thunk};
  int64_t least = 4096 / s->length + 1;
  int64_t share = s->rows / (8 * (int64_t)hsc_cpu_pool_thread_count(frame->pool)) + 1;
  r.rows_per_task = least > share ? least : share;
  hsc_cpu_pool_run(frame->pool, (s->rows + r.rows_per_task - 1) / r.rows_per_task, do_rows, &r);
  return NULL;
}

// ---- checking -----------------------------------------------------------------------------------

static bool operands_fit(const hsc_cpu_payload *p, const hsc_sort *s) {
  int64_t elements = hsc__size_times(s->rows, s->length);
  for (int32_t i = 0; i < s->operand_count; i++) {
    int32_t bytes = s->element_bytes[i];
    if (bytes < 1 || bytes > 16 || (bytes & (bytes - 1)))
      return false;
    if (!hsc__payload_reads(p, i, hsc__size_times(elements, bytes)))
      return false;
    if (!s->is_topk && !hsc__payload_writes(p, i, hsc__size_times(elements, bytes)))
      return false;
  }
  if (!s->is_topk)
    return true;
  int64_t kept = hsc__size_times(s->rows, s->k);
  return s->k <= s->length &&
         hsc__payload_writes(p, 0, hsc__size_times(kept, s->element_bytes[0])) &&
         hsc__payload_writes(p, 1, hsc__size_times(kept, sizeof(int32_t)));
}

static bool order_fits(hsc_cpu_payload *p, const hsc_sort *s) {
  int64_t bytes[2 * HSC_SORT_MAX_OPERANDS];
  if (!s->by_key) {
    for (int32_t i = 0; i < 2 * s->operand_count; i++)
      bytes[i] = s->element_bytes[i / 2];
    return hsc__lanes_fit(p, s->comparator, 1, 2 * s->operand_count, bytes);
  }
  if (s->key.operand < 0 || s->key.operand >= s->operand_count ||
      !hsc__is_element_type(s->key.type) || !key_type((hsc_type)s->key.type))
    return false;
  bytes[0] = s->element_bytes[s->key.operand];
  int64_t key_bytes = (int64_t)hsc_type_bytes((hsc_type)s->key.type);
  if (s->key.kernel < 0)
    return key_bytes == bytes[0];
  return hsc__lanes_fit(p, s->key.kernel, key_bytes, 1, bytes);
}

bool hsc__cpu_check_sort(hsc_cpu_payload *p) {
  const hsc_sort *s = p->data;
  if (p->bytes != sizeof *s || s->operand_count < 1 || s->operand_count > HSC_SORT_MAX_OPERANDS)
    return false;
  if (!hsc__payload_is(p, sizeof *s, s->operand_count, s->is_topk ? 2 : s->operand_count))
    return false;
  if (s->length < 0 || s->rows < 0 || s->step < 1 || s->k < 0)
    return false;
  if (s->rows == 0 || s->length == 0)
    return true;  // nothing to do
  if (s->rows % s->step || (s->is_topk && (s->operand_count != 1 || !s->by_key)))
    return false;
  if (!operands_fit(p, s) || !order_fits(p, s))
    return false;
  int64_t row = 8 + 2 * (int64_t)sizeof(item);
  for (int32_t i = 0; i < s->operand_count; i++)
    row += s->element_bytes[i];
  int64_t scratch = hsc__size_times(s->length, row);
  return hsc__payload_worker_scratch(p, hsc__size_plus(scratch, 64 * (s->operand_count + 4)));
}
