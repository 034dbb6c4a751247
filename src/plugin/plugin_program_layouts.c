// plugin_program_layouts.c - programs whose arguments or results have a layout of their own:
// transposes at the edge.
//
// What the device computes with is row-major. A parameter of another layout becomes the array that
// its memory is, read row by row, with its dimensions from the slowest to the fastest, and a
// transpose brings it back; results the other way round. The program's facts keep the dimensions
// that hosts know. Taken from programs in MLIR, where a layout is asked for (mhlo.layout_mode); in
// HLO's formats a layout is what the writing compiler chose.
#include "formats/common/formats.h"
#include "plugin/plugin_internal.h"

// order[k] = the dimension at place k, the slowest first. NULL when it is row-major (or nothing is
// said).
static const PJRT_Layouts_MemoryLayout *layout_of_shape(const hsc_shape *shape,
                                                        hsc_status **status) {
  const PJRT_Layouts_MemoryLayout *layout = NULL;
  if (hsc_shape_is_array(shape) && shape->layout && !*status)
    *status = hsc__layout_get(shape->layout->minor_to_major, shape->layout->rank, &layout);
  return layout;
}

static hsc_dims slowest_first(hsc_arena *arena, const PJRT_Layouts_MemoryLayout *layout) {
  int64_t order[HSC_MAX_RANK];
  for (int i = 0; i < layout->rank; i++)
    order[i] = layout->minor_to_major[layout->rank - 1 - i];
  return hsc_dims_copy(arena, layout->rank, order);
}

static hsc_shape in_memory(hsc_arena *arena,
                           const hsc_shape *shape,
                           const PJRT_Layouts_MemoryLayout *layout) {
  int64_t dims[HSC_MAX_RANK];
  for (int i = 0; i < layout->rank; i++)
    dims[i] = shape->dims[layout->minor_to_major[layout->rank - 1 - i]];
  return hsc_shape_array(arena, shape->type, layout->rank, dims);
}

hsc_shape hsc__shape_from_memory(hsc_arena *arena,
                                 const hsc_shape *memory,
                                 const PJRT_Layouts_MemoryLayout *layout) {
  int64_t dims[HSC_MAX_RANK];
  for (int i = 0; i < layout->rank; i++)
    dims[layout->minor_to_major[layout->rank - 1 - i]] = memory->dims[i];
  return hsc_shape_array(arena, memory->type, layout->rank, dims);
}

static hsc_status *change_parameter(hsc_module *module,
                                    hsc_instr *parameter,
                                    const PJRT_Layouts_MemoryLayout *layout) {
  hsc_arena *arena = module->arena;
  hsc_builder b;
  hsc_builder_at(&b, module->entry, parameter->next);
  hsc_instr *back = hsc_build_unary(&b, HSC_OP_COPY, parameter);
  HSC_TRY(hsc_builder_finish(&b, NULL, NULL));
  HSC_TRY(hsc_instr_replace_uses(parameter, back));
  hsc_instr_set_operand(back, 0, parameter);
  hsc_dims order = slowest_first(arena, layout);
  int64_t places[HSC_MAX_RANK];
  for (int k = 0; k < order.count; k++)
    places[order.v[k]] = k;
  back->op = HSC_OP_TRANSPOSE;
  back->attr.dims.dims = hsc_dims_copy(arena, order.count, places);
  parameter->shape = in_memory(arena, &parameter->shape, layout);
  return hsc_arena_status(arena);
}

static hsc_status *change_results(hsc_module *module,
                                  const PJRT_Layouts_MemoryLayout *const *layouts) {
  hsc_instr *root = module->entry->root;
  bool tuple = hsc_shape_is_tuple(&root->shape);
  int count = tuple ? root->shape.element_count : 1;
  hsc_builder b;
  hsc_builder_at(&b, module->entry, NULL);
  hsc_instr **values = HSC_NEW_ARRAY(module->arena, hsc_instr *, count + 1);
  if (!values)
    return hsc_status_out_of_memory();
  for (int i = 0; i < count; i++) {
    if (!tuple)
      values[i] = root;
    else if (root->op == HSC_OP_TUPLE)
      values[i] = root->operands[i];
    else
      values[i] = hsc_build_get_tuple_element(&b, root, i);
    if (layouts[i])
      values[i] = hsc_build_transpose(&b, values[i], slowest_first(module->arena, layouts[i]));
  }
  return hsc_builder_finish(&b, tuple ? hsc_build_tuple(&b, count, values) : values[0], NULL);
}

hsc_status *hsc__program_set_layouts(hsc__program *p, hsc_module *module) {
  if (!module->layout_text)
    return NULL;
  hsc_computation *entry = module->entry;
  hsc_shape *parameters = NULL;
  hsc_shape result = {0};
  int count = 0;
  bool any = false;
  hsc_status *status = NULL;
  HSC_TRY(hsc_hlo_text_parse_entry_layout(module->arena, hsc_view_of(module->layout_text), &count,
                                          &parameters, &result));
  module->layout_text = NULL;
  bool tuple = hsc_shape_is_tuple(&entry->root->shape);
  int results = tuple ? entry->root->shape.element_count : 1;
  if (count != entry->parameter_count || tuple != hsc_shape_is_tuple(&result) ||
      (tuple && result.element_count != results))
    return NULL;
  const PJRT_Layouts_MemoryLayout **in =
      HSC_NEW_ARRAY(p->arena, const PJRT_Layouts_MemoryLayout *, count + 1);
  const PJRT_Layouts_MemoryLayout **out =
      HSC_NEW_ARRAY(p->arena, const PJRT_Layouts_MemoryLayout *, results + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  for (int i = 0; i < count; i++) {  // of flat parameters, whose numbers are those of the leaves
    if (!hsc_shape_is_array(&entry->parameters[i]->shape) ||
        parameters[i].rank != entry->parameters[i]->shape.rank)
      return status;
    any |= (in[i] = layout_of_shape(&parameters[i], &status)) != NULL;
  }
  for (int i = 0; i < results; i++) {
    const hsc_shape *shape = tuple ? &result.elements[i] : &result;
    const hsc_shape *given = tuple ? &entry->root->shape.elements[i] : &entry->root->shape;
    if (hsc_shape_is_tuple(given) || shape->rank != given->rank)
      return status;
    any |= (out[i] = layout_of_shape(shape, &status)) != NULL;
  }
  if (status || !any)
    return status;
  HSC_TRY(change_results(module, out));
  for (int i = 0; i < count; i++)
    if (in[i])
      HSC_TRY(change_parameter(module, entry->parameters[i], in[i]));
  p->in_layouts = in;
  p->out_layouts = out;
  p->in_layout_count = count;
  p->out_layout_count = results;
  return NULL;
}

// One byte of rank for each leaf (0 = row-major), and the dimensions, the fastest first.
static void save(const PJRT_Layouts_MemoryLayout *const *layouts, int count, hsc_bytes *out) {
  for (int i = 0; i < count; i++) {
    int rank = layouts && layouts[i] ? layouts[i]->rank : 0;
    hsc_bytes_append_char(out, (char)rank);
    for (int d = 0; d < rank; d++)
      hsc_bytes_append_char(out, (char)layouts[i]->minor_to_major[d]);
  }
}

void hsc__program_save_layouts(const hsc__program *p, hsc_bytes *out) {
  if (!p->in_layouts)
    return;
  save(p->in_layouts, p->input_count, out);
  save(p->out_layouts, p->output_count, out);
}

static hsc_status *load(hsc_view *text, int count, const PJRT_Layouts_MemoryLayout **out) {
  for (int i = 0; i < count; i++) {
    int64_t order[HSC_MAX_RANK];
    int rank = text->size ? (unsigned char)text->data[0] : -1;
    if (rank < 0 || rank > HSC_MAX_RANK || (size_t)rank >= text->size)
      return HSC_ERR(DATA_LOSS, "the serialized executable's layouts are cut off");
    for (int d = 0; d < rank; d++)
      order[d] = (unsigned char)text->data[1 + d];
    if (rank)
      HSC_TRY(hsc__layout_get(order, rank, &out[i]));
    *text = (hsc_view){text->data + 1 + rank, text->size - 1 - (size_t)rank};
  }
  return NULL;
}

hsc_status *hsc__program_load_layouts(hsc__program *p, hsc_view text) {
  if (!text.size)
    return NULL;
  p->in_layout_count = hsc_cpu_executable_input_count(p->executable);
  p->out_layout_count = hsc_cpu_executable_output_count(p->executable);
  p->in_layouts =
      HSC_NEW_ARRAY(p->arena, const PJRT_Layouts_MemoryLayout *, p->in_layout_count + 1);
  p->out_layouts =
      HSC_NEW_ARRAY(p->arena, const PJRT_Layouts_MemoryLayout *, p->out_layout_count + 1);
  HSC_TRY(hsc_arena_status(p->arena));
  HSC_TRY(load(&text, p->in_layout_count, p->in_layouts));
  HSC_TRY(load(&text, p->out_layout_count, p->out_layouts));
  return text.size
             ? HSC_ERR(DATA_LOSS, "the serialized executable's layouts are longer than its leaves")
             : NULL;
}
