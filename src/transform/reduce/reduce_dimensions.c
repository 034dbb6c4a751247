// reduce_dimensions.c - all dimensions of one size become smaller together.
//
//   f32[128,64] dot(f32[128,32], f32[32,64]), 128 -> 2   ->   f32[2,64] dot(f32[2,32], f32[32,64])
//
// Sizes that follow from others (a concatenation, a reshape that joins two dimensions) are found by
// shape inference and changed in the same way, until nothing new comes up; what then does not
// verify is no candidate.
#include <stdlib.h>

#include "transform/reduce/reduce_internal.h"

enum { MOST_SIZES = 64, MOST_ROUNDS = 12 };

// Sizes that change, and into what.
typedef struct size_map {
  int64_t from[MOST_SIZES], to[MOST_SIZES];
  int count;
  bool grown;  // since it was last looked at
} size_map;

static int64_t map_size(const size_map *map, int64_t size) {
  for (int i = 0; i < map->count; i++)
    if (map->from[i] == size)
      return map->to[i];
  return size;
}

static void learn(size_map *map, int64_t from, int64_t to) {
  if (from == to || from <= 1 || map_size(map, from) != from || map->count == MOST_SIZES)
    return;
  map->from[map->count] = from;
  map->to[map->count++] = to;
  map->grown = true;
}

static hsc_shape map_shape(hsc_arena *arena, hsc_shape shape, const size_map *map) {
  if (hsc_shape_is_tuple(&shape)) {
    hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape.element_count + 1);
    for (int i = 0; elements && i < shape.element_count; i++)
      elements[i] = map_shape(arena, shape.elements[i], map);
    return hsc_shape_tuple(arena, elements ? shape.element_count : 0, elements);
  }
  if (!hsc_shape_is_array(&shape) || shape.rank == 0)
    return shape;
  int64_t dims[HSC_MAX_RANK];
  for (int d = 0; d < shape.rank; d++)
    dims[d] = map_size(map, shape.dims[d]);
  return hsc_shape_array(arena, shape.type, shape.rank, dims);
}

static hsc_dims map_dims(hsc_arena *arena, hsc_dims dims, const size_map *map) {
  int64_t sizes[HSC_MAX_RANK];
  for (int d = 0; d < dims.count; d++)
    sizes[d] = map_size(map, dims.v[d]);
  return hsc_dims_copy(arena, dims.count, sizes);
}

// Limits of a slice of an operand that became smaller: they move with its end, and each slice keeps
// one element at least.
static void map_slice(hsc_arena *arena, const hsc_shape *before, hsc_instr *instr) {
  const hsc_shape *operand = &instr->operands[0]->shape;
  int64_t start[HSC_MAX_RANK];
  int64_t limit[HSC_MAX_RANK];
  for (int d = 0; d < operand->rank; d++) {
    int64_t less = before->dims[d] - operand->dims[d];
    start[d] = instr->attr.slice.start.v[d];
    limit[d] = instr->attr.slice.limit.v[d];
    if (less > 0)
      limit[d] = limit[d] - less > start[d] ? limit[d] - less : start[d] + 1;
    if (limit[d] > operand->dims[d]) {
      limit[d] = operand->dims[d];
      start[d] = start[d] < limit[d] ? start[d] : limit[d] - 1;
    }
  }
  instr->attr.slice.start = hsc_dims_copy(arena, operand->rank, start);
  instr->attr.slice.limit = hsc_dims_copy(arena, operand->rank, limit);
}

// A window over a convolution's kernel is as large as the kernel.
static void map_window(hsc_arena *arena, hsc_instr *instr) {
  hsc_window *window = &instr->attr.conv.window;
  const hsc_shape *kernel = &instr->operands[1]->shape;
  hsc_window_dim *dims = HSC_NEW_ARRAY(arena, hsc_window_dim, window->rank + 1);
  for (int d = 0; dims && d < window->rank; d++) {
    dims[d] = window->dims[d];
    dims[d].size = kernel->dims[instr->attr.conv.dims.kernel_spatial[d]];
  }
  if (dims)
    window->dims = dims;
}

// Where a reshape joins or splits dimensions, the side that is one dimension follows the other.
static void learn_reshape(const hsc_shape *a0,
                          const hsc_shape *a1,
                          const hsc_shape *b0,
                          size_map *map) {
  int i = 0;
  int j = 0;
  while (i < a0->rank && j < b0->rank) {
    int64_t left = a0->dims[i];
    int64_t right = b0->dims[j];
    int64_t changed = a1->dims[i];
    int first = j;
    int first_left = i;
    for (i++, j++; left != right && (left < right ? i < a0->rank : j < b0->rank);) {
      if (left < right) {
        changed *= a1->dims[i];
        left *= a0->dims[i++];
      } else {
        right *= b0->dims[j++];
      }
    }
    if (left == right && j - first == 1)
      learn(map, right, changed);
    if (left == right && i - first_left == 1 && j - first > 1) {
      int64_t product = 1;
      for (int d = first; d < j; d++)
        product *= map_size(map, b0->dims[d]);
      learn(map, left, product);
    }
  }
}

static bool is_given(const hsc_instr *instr) {
  switch (instr->op) {
    case HSC_OP_PARAMETER:
    case HSC_OP_CONSTANT:
    case HSC_OP_IOTA:
    case HSC_OP_BROADCAST:
    case HSC_OP_RESHAPE:
    case HSC_OP_BITCAST:
    case HSC_OP_CONVERT:
    case HSC_OP_CUSTOM_CALL:
    case HSC_OP_RNG:
    case HSC_OP_RNG_BIT_GENERATOR:
      return true;
    default:
      return false;
  }
}

static hsc_status *change(hsc_instr *instr, const hsc_shape *before, size_map *map) {
  hsc_arena *arena = instr->parent->module->arena;
  hsc_shape inferred;
  const hsc_instr *operand = instr->operand_count ? instr->operands[0] : NULL;
  if (instr->op == HSC_OP_SLICE)
    map_slice(arena, operand->scratch ? operand->scratch : &operand->shape, instr);
  if (instr->op == HSC_OP_DYNAMIC_SLICE)
    instr->attr.slice_sizes.sizes = map_dims(arena, instr->attr.slice_sizes.sizes, map);
  if (instr->op == HSC_OP_GATHER)
    instr->attr.gather.slice_sizes = map_dims(arena, instr->attr.gather.slice_sizes, map);
  if (instr->op == HSC_OP_CONVOLUTION)
    map_window(arena, instr);
  instr->shape = map_shape(arena, instr->shape, map);
  if (instr->op == HSC_OP_RESHAPE && operand->scratch)
    learn_reshape(operand->scratch, &operand->shape, before, map);
  if (instr->op == HSC_OP_CONSTANT && !instr->attr.literal.value->elided)
    return hsc_reduce_value(instr->attr.literal.value, &instr->shape, arena,
                            &instr->attr.literal.value);
  if (is_given(instr))
    return NULL;
  HSC_TRY(hsc_infer_shape(arena, instr, &inferred));
  for (int d = 0;
       hsc_shape_is_array(&inferred) && inferred.rank == before->rank && d < before->rank; d++)
    learn(map, before->dims[d], inferred.dims[d]);
  instr->shape = inferred;
  return NULL;
}

// One walk over the module, callees first. The shape before is kept in each instruction's scratch.
static hsc_status *change_all(hsc_module *module, size_map *map) {
  HSC_TRY(hsc_module_sort(module));
  HSC_FOR_EACH_COMPUTATION (module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr) {
      hsc_shape *before = HSC_NEW(module->arena, hsc_shape);
      HSC_TRY(hsc_arena_status(module->arena));
      *before = instr->shape;
      instr->scratch = before;
      HSC_TRY(change(instr, before, map));
    }
  return hsc_arena_status(module->arena);
}

// Tries on copies until no new size comes up, then does it.
static hsc_status *shrink(hsc__reducing *r, int64_t from, int64_t to) {
  size_map map = {.from = {from}, .to = {to}, .count = 1};
  for (int round = 0; round < MOST_ROUNDS; round++) {
    hsc_module *copy = NULL;
    map.grown = false;
    HSC_TRY(hsc_module_clone(r->module, &copy));
    hsc_status_free(change_all(copy, &map));  // what it learned before it failed counts too
    hsc_module_destroy(copy);
    if (!map.grown)
      break;
  }
  // what entry parameters are copies of is asked for afterwards
  hsc_computation *entry = r->module->entry;
  int count = entry->parameter_count;
  void **originals = hsc_alloc((size_t)(count + 1) * sizeof *originals);
  if (!originals)
    return hsc_status_out_of_memory();
  for (int p = 0; p < count; p++)
    originals[p] = entry->parameters[p]->scratch;
  hsc_status *status = change_all(r->module, &map);
  for (int p = 0; p < count; p++)
    entry->parameters[p]->scratch = originals[p];
  hsc_free(originals);
  return status;
}

static int compare_sizes(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x < y) - (x > y);
}

static void add_sizes(const hsc_shape *shape, int64_t *sizes, int *count) {
  for (int i = 0; hsc_shape_is_tuple(shape) && i < shape->element_count; i++)
    add_sizes(&shape->elements[i], sizes, count);
  for (int d = 0; hsc_shape_is_array(shape) && d < shape->rank; d++) {
    bool known = shape->dims[d] <= 1 || *count == MOST_SIZES;
    for (int i = 0; i < *count && !known; i++)
      known = sizes[i] == shape->dims[d];
    if (!known)
      sizes[(*count)++] = shape->dims[d];
  }
}

hsc_status *hsc__reduce_dimensions(hsc__reducing *r) {
  int64_t sizes[MOST_SIZES];
  int count = 0;
  HSC_FOR_EACH_COMPUTATION (r->module, computation)
    HSC_FOR_EACH_INSTR_IN (computation, instr)
      add_sizes(&instr->shape, sizes, &count);
  qsort(sizes, (size_t)count, sizeof *sizes, compare_sizes);
  for (int i = 0; i < count; i++) {
    int64_t targets[] = {1, 2, 4, sizes[i] / 2, sizes[i] - 1};
    int64_t last = 0;
    for (size_t t = 0; t < HSC_COUNT_OF(targets); t++) {
      if (targets[t] <= last || targets[t] >= sizes[i])
        continue;
      last = targets[t];
      if (hsc__reduce_here(r))
        return shrink(r, sizes[i], targets[t]);  // one at a time: sizes are others now
    }
  }
  return NULL;
}
