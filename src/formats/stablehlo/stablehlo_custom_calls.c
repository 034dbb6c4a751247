// stablehlo_custom_calls.c - stablehlo.custom_call: its configuration, layouts, aliases and
// computations, and the targets that are operations of XLA in disguise.
#include "formats/hlo_proto/hlo_proto_internal.h"
#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_frame.h"

// What the target gets, and the same as HLO text shows it: an object as it is, anything else in
// quotes.
static hsc_status *set_backend_config(hsc__frame *f, hsc_view text) {
  if (text.size == 0)
    return NULL;
  hsc_bytes quoted = {0};
  bool object = text.data[0] == '{' && text.data[text.size - 1] == '}';
  f->instr->attr.custom.opaque = hsc_arena_strndup(hsc__frame_arena(f), text.data, text.size);
  if (!object)
    hsc__append_quoted(&quoted, text);
  hsc_view shown = object ? text : hsc_bytes_view(&quoted);
  hsc_status *status = hsc_bytes_status(&quoted);
  if (!status)
    f->instr->backend_config = hsc_arena_strndup(hsc__frame_arena(f), shown.data, shown.size);
  hsc_bytes_deinit(&quoted);
  return status;
}

// A layout [1, 0] as the order of the dimensions of `shape`, minor to major.
static hsc_status *give_layout(hsc__frame *f, const hsc__mlir_attr *order, hsc_shape *shape) {
  if (!hsc_shape_is_array(shape))
    return NULL;
  bool dense = order->kind == HSC_MLIR_DENSE && order->type->shape.type == HSC_TYPE_S64 &&
               order->type->shape.rank == 1;
  if (!dense || order->type->shape.dims[0] != shape->rank ||
      order->data.size != (size_t)shape->rank * 8)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "a layout does not name the dimensions of its operand or result");
  int64_t *dims = HSC_NEW_ARRAY(hsc__frame_arena(f), int64_t, shape->rank + 1);
  hsc_layout *layout = HSC_NEW(hsc__frame_arena(f), hsc_layout);
  if (!dims || !layout)
    return hsc_status_out_of_memory();
  memcpy(dims, order->data.data, order->data.size);
  uint32_t seen = 0;
  for (int i = 0; i < shape->rank; i++) {
    if (dims[i] < 0 || dims[i] >= shape->rank || (seen >> dims[i] & 1))
      return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "a layout is no order of the dimensions");
    seen |= 1u << dims[i];
  }
  *layout = (hsc_layout){.rank = shape->rank, .minor_to_major = dims};
  shape->layout = layout;
  if (hsc_layout_is_default(shape))
    shape->layout = NULL;
  return NULL;
}

static hsc_status *custom_layouts(hsc__frame *f,
                                  const hsc__mlir_attr *operands,
                                  const hsc__mlir_attr *results) {
  // Operands that only say the size of a result are gone; the list has layouts of them too.
  int count = f->count;
  if (operands->kind != HSC_MLIR_ARRAY ||
      (operands->count != f->op->operand_count && operands->count) || !results ||
      results->kind != HSC_MLIR_ARRAY)
    return NULL;
  if (!operands->count && !results->count)
    return NULL;
  hsc_shape *shapes = HSC_NEW_ARRAY(hsc__frame_arena(f), hsc_shape, count + 1);
  HSC_TRY(hsc_arena_status(hsc__frame_arena(f)));
  for (int i = 0; i < count; i++) {
    shapes[i] = f->operands[i]->shape;
    shapes[i].layout = NULL;
    if (i < operands->count)
      HSC_TRY(give_layout(f, operands->elements[i], &shapes[i]));
  }
  f->instr->attr.custom.operand_layouts = shapes;
  f->instr->attr.custom.operand_layout_count = count;
  bool tuple = hsc_shape_is_tuple(&f->shape) && f->op->result_count != 1;
  if (results->count != (tuple ? f->shape.element_count : 1))
    return NULL;
  hsc_shape *elements = tuple ? hsc_arena_copy(hsc__frame_arena(f), f->shape.elements,
                                               (size_t)f->shape.element_count * sizeof *elements)
                              : &f->instr->shape;
  if (!elements)
    return hsc_status_out_of_memory();
  for (int i = 0; i < results->count; i++)
    HSC_TRY(give_layout(f, results->elements[i], &elements[i]));
  if (tuple)
    f->instr->shape.elements = elements;
  return NULL;
}

static hsc_status *custom_aliases(hsc__frame *f, const hsc__mlir_attr *list) {
  if (!list || list->kind != HSC_MLIR_ARRAY || !list->count)
    return NULL;
  hsc_bytes text = {0};
  for (int i = 0; i < list->count; i++)
    hsc_bytes_printf(&text, "%s%.*s", i ? ", " : "{", (int)list->elements[i]->text.size,
                     list->elements[i]->text.data);
  hsc_bytes_append_char(&text, '}');
  f->instr->attr.custom.aliasing =
      hsc_arena_strndup(hsc__frame_arena(f), hsc_bytes_text(&text), text.size);
  hsc_status *status = hsc_bytes_status(&text);
  hsc_bytes_deinit(&text);
  return status;
}

// @mhlo.erf and the like: operations of XLA that StableHLO has no name for. *out_done false for
// other targets.
static hsc_status *import_mhlo(hsc__frame *f, hsc_view target, bool *out_done) {
  hsc_op op = hsc__mhlo_op(target);
  *out_done = op != HSC_OP_COUNT;
  if (!*out_done)
    return NULL;
  if (f->op->operand_count != hsc_op_arity(op))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "%.*s takes one operand", (int)target.size,
                      target.data);
  f->hlo = op;
  hsc__frame_build(f);
  if (op != HSC_OP_TOPK)
    return NULL;
  const hsc__mlir_attr *attributes = hsc__mlir_attr_get(f->op, "mhlo.attributes");
  const hsc__mlir_attr *k = hsc__mlir_dict_get(attributes, "k");
  const hsc__mlir_attr *largest = hsc__mlir_dict_get(attributes, "largest");
  if (!k || k->kind != HSC_MLIR_INT)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "mhlo.topk needs mhlo.attributes with an integer k");
  f->instr->attr.topk.k = k->integer;
  f->instr->attr.topk.largest = !largest || largest->integer;
  return NULL;
}

// Marks of shardings and of placement, which say nothing for one device.
static hsc_status *import_mark(hsc__frame *f, hsc_view target, bool *out_done) {
  bool shards = hsc_view_equals_text(target, "Sharding") ||
                hsc_view_equals_text(target, "SPMDFullToShardShape") ||
                hsc_view_equals_text(target, "SPMDShardToFullShape");
  bool marks = shards || hsc_view_equals_text(target, "LayoutConstraint") ||
               hsc_view_equals_text(target, "annotate_device_placement");
  *out_done = false;
  if (!marks || f->op->operand_count != 1)
    return NULL;
  bool divides = shards && hsc__sdy_is_xla(f->im);
  bool keeps = hsc_shape_equal(&f->operands[0]->shape, &f->shape);
  if (shards && !keeps && f->im->partition_count == 1)
    return HSC_OP_ERR(FAILED_PRECONDITION, f->im, f->op, HSC__NO_WHOLE, f->op->written_name);
  *out_done = divides || keeps;
  if (*out_done)
    f->instr = f->operands[0];
  return divides ? hsc__sdy_xla_mark(f->im, f->b, f->op, target, &f->shape, &f->instr) : NULL;
}

hsc_status *hsc__import_custom_call(hsc__frame *f) {
  hsc_view target = hsc__import_text(f->op, "call_target_name");
  const hsc__mlir_attr *config = hsc__mlir_attr_get(f->op, "backend_config");
  const hsc__mlir_attr *typed = hsc__mlir_attr_get(f->op, "mhlo.backend_config");
  if (typed && typed->kind == HSC_MLIR_DICT)
    config = typed;
  const hsc__mlir_attr *called = hsc__mlir_attr_get(f->op, "called_computations");
  const hsc__mlir_attr *layouts = hsc__mlir_attr_get(f->op, "operand_layouts");
  bool done;
  HSC_TRY(import_mark(f, target, &done));
  if (done)
    return NULL;
  HSC_TRY(import_mhlo(f, target, &done));
  if (done)
    return NULL;
  if (called && called->kind == HSC_MLIR_ARRAY && called->count) {
    hsc_computation **list = HSC_NEW_ARRAY(hsc__frame_arena(f), hsc_computation *, called->count);
    HSC_TRY(hsc_arena_status(hsc__frame_arena(f)));
    for (int i = 0; i < called->count; i++)
      HSC_TRY(hsc__import_function_by_name(f->im, f->op, called->elements[i]->text, &list[i]));
    f->instr = hsc_build_calls(f->b, f->hlo, f->shape, f->count, f->operands, called->count, list);
  } else {
    hsc__frame_build(f);
  }
  f->instr->attr.custom.target = hsc_arena_strndup(hsc__frame_arena(f), target.data, target.size);
  f->instr->attr.custom.has_side_effect = hsc__frame_int(f, "has_side_effect", 0) != 0;
  // A dictionary is for calls of the typed FFI (4), whatever JAX writes as the version.
  f->instr->attr.custom.api_version =
      config && config->kind == HSC_MLIR_DICT ? 4 : (int32_t)hsc__frame_int(f, "api_version", 1);
  // whose operands may be futures, with layouts of no array
  bool order_only = hsc_view_equals_text(target, "control_dep");
  if (layouts && !order_only)
    HSC_TRY(custom_layouts(f, layouts, hsc__mlir_attr_get(f->op, "result_layouts")));
  HSC_TRY(custom_aliases(f, hsc__mlir_attr_get(f->op, "output_operand_aliases")));
  if (config && config->kind == HSC_MLIR_STRING) {
    HSC_TRY(set_backend_config(f, config->text));
    return hsc__sdy_host_call(f->im, f->b, &f->instr);
  }
  if (config && config->kind == HSC_MLIR_DICT) {
    hsc_bytes text = {0};
    hsc__import_dict_text(config, &text);
    hsc_status *status = hsc_bytes_status(&text);
    if (!status)
      status = set_backend_config(f, hsc_bytes_view(&text));
    hsc_bytes_deinit(&text);
    return status;
  }
  return NULL;
}
