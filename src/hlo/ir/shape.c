// shape.c - shapes: making, comparing, measuring and printing them.
#include "hlo/ir/hlo_internal.h"

hsc_shape hsc_shape_array(hsc_arena *arena, hsc_type type, int rank, const int64_t *dims) {
  hsc_shape shape = {.type = type, .rank = rank};
  if (rank > 0)
    shape.dims = hsc_arena_copy(arena, dims, (size_t)rank * sizeof *dims);
  return shape;
}

hsc_shape hsc_shape_scalar(hsc_type type) {
  return (hsc_shape){.type = type};
}

hsc_shape hsc_shape_tuple_over(int count, const hsc_shape *elements) {
  hsc_shape shape = {
      .type = HSC_TYPE_TUPLE, .element_count = count, .flat = true, .elements = elements};
  for (int i = 0; i < count && shape.flat; i++)
    shape.flat = elements[i].type != HSC_TYPE_TUPLE;
  return shape;
}

hsc_shape hsc_shape_tuple(hsc_arena *arena, int count, const hsc_shape *elements) {
  const hsc_shape *copy =
      count > 0 ? hsc_arena_copy(arena, elements, (size_t)count * sizeof *elements) : NULL;
  return hsc_shape_tuple_over(copy ? count : 0, copy);
}

hsc_shape hsc_shape_token(void) {
  return (hsc_shape){.type = HSC_TYPE_TOKEN};
}

hsc_shape hsc_shape_with_type(hsc_shape shape, hsc_type type) {
  shape.type = type;
  shape.element_count = 0;  // of a tuple nothing is left
  shape.flat = false;
  shape.elements = NULL;
  return shape;
}

hsc_shape hsc_shape_without_layout(hsc_arena *arena, hsc_shape shape) {
  shape.layout = NULL;
  if (shape.element_count == 0)
    return shape;
  hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape.element_count);
  if (!elements)
    return hsc_shape_tuple(arena, 0, NULL);
  for (int i = 0; i < shape.element_count; i++)
    elements[i] = hsc_shape_without_layout(arena, shape.elements[i]);
  shape.elements = elements;
  return shape;
}

static const hsc_layout *copy_layout(hsc_arena *arena, const hsc_layout *layout) {
  hsc_layout *copy = hsc_arena_copy(arena, layout, sizeof *layout);
  if (layout->rank > 0)
    copy->minor_to_major =
        hsc_arena_copy(arena, layout->minor_to_major, (size_t)layout->rank * sizeof(int64_t));
  if (layout->extra)
    copy->extra = hsc_arena_strdup(arena, layout->extra);
  return copy;
}

hsc_shape hsc_shape_copy(hsc_arena *arena, hsc_shape shape) {
  if (shape.rank > 0) {
    shape.dims = hsc_arena_copy(arena, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
    if (shape.dynamic)
      shape.dynamic =
          hsc_arena_copy(arena, shape.dynamic, (size_t)shape.rank * sizeof *shape.dynamic);
  }
  if (shape.layout)
    shape.layout = copy_layout(arena, shape.layout);
  if (shape.element_count > 0) {
    hsc_shape *elements = HSC_NEW_ARRAY(arena, hsc_shape, shape.element_count);
    if (!elements)
      return hsc_shape_tuple(arena, 0, NULL);
    for (int i = 0; i < shape.element_count; i++)
      elements[i] = hsc_shape_copy(arena, shape.elements[i]);
    shape.elements = elements;
  }
  return shape;
}

int64_t hsc_shape_elements(const hsc_shape *shape) {
  if (!hsc_shape_is_array(shape))
    return 0;
  int64_t count = 1;
  for (int i = 0; i < shape->rank; i++)
    if (shape->dims[i] == 0)
      return 0;
  for (int i = 0; i < shape->rank; i++)
    if (__builtin_mul_overflow(count, shape->dims[i], &count))
      return INT64_MAX;
  return count;
}

int64_t hsc_shape_bytes(const hsc_shape *shape) {
  int64_t bytes = 0;
  if (shape->type == HSC_TYPE_TUPLE) {
    for (int i = 0; i < shape->element_count; i++)
      if (__builtin_add_overflow(bytes, hsc_shape_bytes(&shape->elements[i]), &bytes))
        return INT64_MAX;
    return bytes;
  }
  if (__builtin_mul_overflow(hsc_shape_elements(shape), (int64_t)hsc_type_bytes(shape->type),
                             &bytes))
    return INT64_MAX;
  return bytes;
}

bool hsc_shape_same_dims(const hsc_shape *a, const hsc_shape *b) {
  if (!hsc_shape_is_array(a) || !hsc_shape_is_array(b) || a->rank != b->rank)
    return false;
  return a->dims == b->dims || a->rank == 0 ||
         memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

static bool same_dynamic(const hsc_shape *a, const hsc_shape *b) {
  if (a->dynamic == b->dynamic)
    return true;
  for (int i = 0; i < a->rank; i++)
    if ((a->dynamic && a->dynamic[i]) != (b->dynamic && b->dynamic[i]))
      return false;
  return true;
}

static bool same_layout(const hsc_shape *a, const hsc_shape *b) {
  if (a->layout == b->layout)
    return true;
  const char *extra_a = a->layout && a->layout->extra ? a->layout->extra : "";
  const char *extra_b = b->layout && b->layout->extra ? b->layout->extra : "";
  if (strcmp(extra_a, extra_b) != 0)
    return false;
  if ((a->layout && a->layout->rank != a->rank) || (b->layout && b->layout->rank != b->rank))
    return false;
  for (int i = 0; i < a->rank; i++) {
    int64_t dim_a = a->layout ? a->layout->minor_to_major[i] : a->rank - 1 - i;
    int64_t dim_b = b->layout ? b->layout->minor_to_major[i] : b->rank - 1 - i;
    if (dim_a != dim_b)
      return false;
  }
  return true;
}

static bool shapes_equal(const hsc_shape *a, const hsc_shape *b, bool layouts) {
  if (a->type != b->type)
    return false;
  if (a->type == HSC_TYPE_TUPLE) {
    if (a->element_count != b->element_count)
      return false;
    if (a->elements == b->elements)
      return true;
    for (int i = 0; i < a->element_count; i++)
      if (!shapes_equal(&a->elements[i], &b->elements[i], layouts))
        return false;
    return true;
  }
  if (!hsc_shape_is_array(a))
    return true;
  return hsc_shape_same_dims(a, b) && same_dynamic(a, b) && (!layouts || same_layout(a, b));
}

bool hsc_shape_equal(const hsc_shape *a, const hsc_shape *b) {
  return shapes_equal(a, b, false);
}
bool hsc_shape_equal_layout(const hsc_shape *a, const hsc_shape *b) {
  return shapes_equal(a, b, true);
}

bool hsc_layout_is_default(const hsc_shape *shape) {
  hsc_shape plain = *shape;
  plain.layout = NULL;
  return !shape->layout || same_layout(shape, &plain);
}

// An annotation before every fifth element of a tuple helps people count, as in XLA.
void hsc__print_tuple_index(int index, hsc_bytes *out) {
  char digits[20];
  if (index % 5 != 0)
    return;
  hsc_bytes_append(out, "/*index=", 8);
  hsc_bytes_append(out, digits, (size_t)hsc__format_int(index, digits));
  hsc_bytes_append(out, "*/", 2);
}

void hsc_shape_print(const hsc_shape *shape, bool with_layout, hsc_bytes *out) {
  if (shape->type == HSC_TYPE_TUPLE) {
    hsc_bytes_append_char(out, '(');
    for (int i = 0; i < shape->element_count; i++) {
      if (i > 0) {
        hsc_bytes_append(out, ", ", 2);
        hsc__print_tuple_index(i, out);
      }
      hsc_shape_print(&shape->elements[i], with_layout, out);
    }
    hsc_bytes_append_char(out, ')');
    return;
  }
  // "f32[<=5,32]{1,0:T(8,128)}": a number takes at most 23 bytes with its comma and mark.
  char text[256];
  const char *name = hsc_type_text(shape->type);
  size_t size = strlen(name);
  memcpy(text, name, size);
  text[size++] = '[';
  for (int i = 0; i < shape->rank; i++) {
    if (size > sizeof text - 32) {
      hsc_bytes_append(out, text, size);
      size = 0;
    }
    if (i > 0)
      text[size++] = ',';
    if (shape->dynamic && shape->dynamic[i]) {
      text[size++] = '<';
      text[size++] = '=';
    }
    size += (size_t)hsc__format_int(shape->dims[i], text + size);
  }
  text[size++] = ']';
  hsc_bytes_append(out, text, size);
  const char *extra = shape->layout ? shape->layout->extra : NULL;
  if (!with_layout || (shape->rank == 0 && !extra))
    return;
  size = 0;
  text[size++] = '{';
  for (int i = 0; i < (shape->layout ? shape->layout->rank : shape->rank); i++) {
    if (size > sizeof text - 32) {
      hsc_bytes_append(out, text, size);
      size = 0;
    }
    if (i > 0)
      text[size++] = ',';
    size += (size_t)hsc__format_int(
        shape->layout ? shape->layout->minor_to_major[i] : shape->rank - 1 - i, text + size);
  }
  hsc_bytes_append(out, text, size);
  if (extra) {
    hsc_bytes_append_char(out, ':');
    hsc_bytes_append_text(out, extra);
  }
  hsc_bytes_append_char(out, '}');
}

int hsc_shape_leaf_count(const hsc_shape *shape) {
  if (shape->type != HSC_TYPE_TUPLE)
    return 1;
  if (shape->flat)
    return shape->element_count;
  int count = 0;
  for (int i = 0; i < shape->element_count; i++)
    count += hsc_shape_leaf_count(&shape->elements[i]);
  return count;
}

// Counts *leaf down; the leaf where it was 0 is the one.
static const hsc_shape *find_leaf(const hsc_shape *shape, int *leaf) {
  if (shape->type != HSC_TYPE_TUPLE)
    return (*leaf)-- == 0 ? shape : NULL;
  if (shape->flat) {
    if (*leaf < shape->element_count)
      return &shape->elements[*leaf];
    *leaf -= shape->element_count;
    return NULL;
  }
  for (int i = 0; i < shape->element_count; i++) {
    const hsc_shape *found = find_leaf(&shape->elements[i], leaf);
    if (found)
      return found;
  }
  return NULL;
}

const hsc_shape *hsc_shape_leaf(const hsc_shape *shape, int leaf) {
  return leaf < 0 ? NULL : find_leaf(shape, &leaf);
}

int hsc_shape_depth(const hsc_shape *shape) {
  int deepest = 0;
  for (int i = 0; i < shape->element_count; i++) {
    int depth = hsc_shape_depth(&shape->elements[i]);
    if (depth > deepest)
      deepest = depth;
  }
  return shape->type == HSC_TYPE_TUPLE ? deepest + 1 : 0;
}
