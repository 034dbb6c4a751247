// reduce_edit.c - what rules edit with: the places that are asked for, what stays although nothing
// uses it, parameters and zeros in place of an instruction, values cut to another shape.
#include "transform/reduce/reduce_internal.h"

bool hsc__reduce_here(hsc__reducing *r) {
  int64_t place = r->places++;
  bool here = r->chosen && place < r->chosen_count && r->chosen[place];
  r->changed |= here;
  return here;
}

hsc_status *hsc__reduce_keep(hsc__reducing *r, const hsc_instr *instr) {
  if (!HSC_GROW_IN(r->module->arena, r->unused, r->unused_count, r->unused_room))
    return hsc_arena_status(r->module->arena);
  r->unused[r->unused_count++] = instr;
  return NULL;
}

bool hsc__reduce_was_unused(const hsc__reducing *r, const hsc_instr *instr) {
  for (int i = 0; i < r->unused_count; i++)
    if (r->unused[i] == instr)
      return true;
  return false;
}

static hsc_status *note_added(hsc__reducing *r, hsc_instr *parameter, const hsc_instr *value_of) {
  if (!HSC_GROW(r->added, r->added_count, r->added_room))
    return hsc_status_out_of_memory();
  r->added[r->added_count].parameter = parameter;
  r->added[r->added_count++].value_of = value_of;
  return NULL;
}

hsc_status *hsc__reduce_by_parameter(hsc__reducing *r, hsc_instr *instr) {
  hsc_computation *entry = r->module->entry;
  hsc_builder b;
  hsc_builder_at(&b, entry, entry->first);
  hsc_shape shape = hsc_shape_without_layout(r->module->arena, instr->shape);
  hsc_instr *parameter = hsc_build_parameter(&b, entry->parameter_count, shape, "p");
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  HSC_TRY(note_added(r, parameter, instr->scratch));
  return hsc_instr_replace_uses(instr, parameter);
}

enum { MOST_CONSTANT_ELEMENTS = 16 };  // above it a broadcast scalar reads better than a list

static hsc_instr *zeros(hsc_builder *b, hsc_shape shape) {
  if (hsc_shape_is_tuple(&shape)) {
    hsc_instr **elements = HSC_NEW_ARRAY(b->module->arena, hsc_instr *, shape.element_count + 1);
    for (int i = 0; elements && i < shape.element_count; i++)
      elements[i] = zeros(b, shape.elements[i]);
    return hsc_build_tuple(b, elements ? shape.element_count : 0, elements);
  }
  if (hsc_shape_elements(&shape) > MOST_CONSTANT_ELEMENTS)
    return hsc_build_broadcast(b, hsc_build_scalar(b, shape.type, 0), shape, (hsc_dims){0});
  hsc_literal *literal = NULL;
  hsc_status *status = hsc_literal_create(b->module->arena, &shape, &literal);
  if (!b->status)
    b->status = status;
  else
    hsc_status_free(status);
  return hsc_build_constant(b, literal);
}

static bool is_arrays(const hsc_shape *shape) {
  if (!hsc_shape_is_tuple(shape))
    return hsc_shape_is_array(shape);
  for (int i = 0; i < shape->element_count; i++)
    if (!is_arrays(&shape->elements[i]))
      return false;
  return true;
}

hsc_status *hsc__reduce_zeros(hsc_instr *instr, hsc_instr **out_zeros) {
  hsc_module *module = instr->parent->module;
  hsc_builder b;
  if (!is_arrays(&instr->shape))
    return HSC_ERR(INVALID_ARGUMENT, "%%%s is no array", instr->name);
  hsc_builder_at(&b, instr->parent, instr);
  *out_zeros = zeros(&b, hsc_shape_without_layout(module->arena, instr->shape));
  return hsc_builder_finish(&b, NULL, NULL);
}

static void copy_element(const hsc_literal *from, int64_t i, hsc_literal *to, int64_t j) {
  hsc_type type = to->shape.type;
  if (from->shape.type == type)
    memcpy((char *)to->data + (size_t)j * hsc_type_bytes(type),
           (const char *)from->data + (size_t)i * hsc_type_bytes(type), hsc_type_bytes(type));
  else if (hsc_type_is_complex(type))
    hsc_literal_set_complex(to, j, hsc_literal_get_double(from, i), hsc_literal_get_imag(from, i));
  else if (hsc_type_is_float(type))
    hsc_literal_set_double(to, j, hsc_literal_get_double(from, i));
  else
    hsc_literal_set_int(to, j, hsc_literal_get_int(from, i));
}

hsc_status *hsc_reduce_value(const hsc_literal *old,
                             const hsc_shape *shape,
                             hsc_arena *arena,
                             hsc_literal **out_value) {
  const hsc_shape *from = &old->shape;
  hsc_literal *value = NULL;
  int64_t at[HSC_MAX_RANK] = {0};
  if (!hsc_shape_is_array(from) || !hsc_shape_is_array(shape) || old->elided)
    return HSC_ERR(INVALID_ARGUMENT, "only the values of arrays can be cut");
  HSC_TRY(hsc_literal_create(arena, shape, &value));
  int64_t have = hsc_shape_elements(from);
  int64_t count = hsc_shape_elements(shape);
  for (int64_t j = 0; j < count && have > 0; j++) {
    int64_t i = j % have;
    if (from->rank == shape->rank) {
      i = 0;
      for (int d = 0; d < shape->rank; d++)
        i = i * from->dims[d] + at[d] % from->dims[d];
      for (int d = shape->rank - 1; d >= 0 && ++at[d] == shape->dims[d]; d--)
        at[d] = 0;
    }
    copy_element(old, i, value, j);
  }
  *out_value = value;
  return NULL;
}
