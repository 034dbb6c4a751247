// sdy_calls.c - calls of functions of the host in programs for several partitions.
//
// A call for whole arrays runs on one device, and its results go to the others. A call for parts
// runs on each device with the parts that the values come in by propagation, as
// jax.debug.print(..., partitioned=True) means it. A call that looks at a sharding
// (jax.debug.inspect_array_sharding) is reported in XLA's text how its operand is cut, and needs no
// operand then. In other computations than the entry values are whole, in manual ones they are
// parts already.
#include "formats/shardy/sdy_internal.h"
#include "formats/shardy/sdy_layout.h"
#include "hlo/ir/custom.h"

#include <stdlib.h>

static hsc_status *broadcast_from(hsc__importer *im,
                                  hsc_builder *b,
                                  int device,
                                  hsc_instr **in_out_value) {
  hsc_bytes groups = {0};
  if (!hsc_shape_is_array(&(*in_out_value)->shape))
    return NULL;
  hsc_bytes_printf(&groups, "{{%d", device);
  for (int d = 0; d < im->partition_count; d++)
    if (d != device)
      hsc_bytes_printf(&groups, ",%d", d);
  hsc_bytes_append_text(&groups, "}}");
  hsc_status *status = hsc_bytes_status(&groups);
  if (!status) {
    *in_out_value =
        hsc_build(b, HSC_OP_COLLECTIVE_BROADCAST, (*in_out_value)->shape, 1, in_out_value);
    (*in_out_value)->attr.collective.replica_groups =
        hsc_arena_strdup(im->module->arena, groups.data);
    (*in_out_value)->attr.collective.channel_id = 1;
  }
  hsc_bytes_deinit(&groups);
  return status ? status : hsc_arena_status(im->module->arena);
}

static hsc_status *send_results(hsc__importer *im, hsc_builder *b, hsc_instr **in_out_call) {
  hsc_instr *call = *in_out_call;
  const char *config = call->backend_config;
  const char *at = config ? strstr(config, "device = ") : NULL;
  if (im->partition_count < 2 || !at)
    return NULL;
  int device = atoi(at + sizeof "device = " - 1);
  if (device < 0 || device >= im->partition_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s: there is no device %d", call->attr.custom.target, device);
  if (!hsc_shape_is_tuple(&call->shape))
    return broadcast_from(im, b, device, in_out_call);
  hsc_instr **elements = HSC_NEW_ARRAY(im->arena, hsc_instr *, call->shape.element_count + 1);
  HSC_TRY(hsc_arena_status(im->arena));
  for (int i = 0; i < call->shape.element_count; i++) {
    elements[i] = hsc_build_get_tuple_element(b, call, i);
    HSC_TRY(broadcast_from(im, b, device, &elements[i]));
  }
  *in_out_call = hsc_build_tuple(b, call->shape.element_count, elements);
  return NULL;
}

static bool inspects(const hsc_instr *call) {
  return !strcmp(call->attr.custom.target, HSC_INSPECT_SHARDING);
}

// The call's config gets what the sharding is: {id = 1} becomes {id = 1, sharding =
// "{replicated}"}.
static hsc_status *tell(hsc__importer *im, hsc_instr *call, const char *sharding) {
  hsc_view config = {call->backend_config, call->backend_config ? strlen(call->backend_config) : 0};
  while (config.size && config.data[config.size - 1] != '}')
    config.size--;
  if (config.size < 2 || !sharding)
    return HSC_ERR(INVALID_ARGUMENT, "%s: its backend_config is no {id = N}",
                   call->attr.custom.target);
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%.*s, sharding = \"%s\"}", (int)config.size - 1, config.data, sharding);
  hsc_status *status = hsc_bytes_status(&text);
  if (!status)
    call->backend_config = hsc_arena_strdup(im->module->arena, text.data);
  hsc_bytes_deinit(&text);
  HSC_TRY(status);
  hsc_instr_set_operands(call, 0, NULL);
  return hsc_arena_status(im->module->arena);
}

hsc_status *hsc__sdy_host_call(hsc__importer *im, hsc_builder *b, hsc_instr **in_out_call) {
  hsc_instr *call = *in_out_call;
  bool looks = inspects(call);
  bool host = !strcmp(call->attr.custom.target, "hloscope_host_callback");
  if (!looks && !host)
    return NULL;
  bool for_parts =
      host && call->backend_config && strstr(call->backend_config, "partitioned = 1") != NULL;
  if (!looks && !for_parts)
    return send_results(im, b, in_out_call);
  if (im->sdy && b->computation == im->sdy->entry && im->sdy->manual_depth == 0)
    return hsc__sdy_append(im->arena, &im->sdy->calls, &im->sdy->call_count,
                           &im->sdy->call_capacity, call);
  if (!looks)
    return NULL;
  return tell(im, call, im->sdy && im->sdy->manual_depth > 0 ? "{manual}" : "{replicated}");
}

// Addends are no parts: what is one along an axis is taken as whole there.
static hsc_status *layout_of(hsc__importer *im, hsc_instr *value, hsc__layout *out) {
  HSC_TRY(hsc__sdy_layout_of(im, value, out));
  out->unreduced = 0;
  out->is_cut = false;
  for (int d = 0; d < out->rank; d++)
    out->is_cut |= out->counts[d] > 0;
  return NULL;
}

hsc_status *hsc__sdy_finish_calls(hsc__importer *im, hsc_builder *b, const hsc__mlir_op *function) {
  hsc__layout layout;
  if (!b->computation->first)
    return NULL;
  HSC_TRY(hsc__sdy_layout_of(im, b->computation->first, &layout));
  HSC_TRY(hsc__sdy_reductions(im, b, function));
  for (int c = 0; c < im->sdy->call_count; c++) {
    hsc_instr *call = im->sdy->calls[c];
    if (inspects(call) && call->operand_count == 1) {
      HSC_TRY(layout_of(im, call->operands[0], &layout));
      HSC_TRY(tell(im, call, hsc__layout_xla_text(im, &layout)));
      continue;
    }
    for (int i = 0; i < call->operand_count && !call->attr.custom.operand_layouts; i++) {
      hsc_instr *value = call->operands[i];
      hsc_instr *part;
      if (!hsc_shape_is_array(&value->shape))
        continue;
      HSC_TRY(layout_of(im, value, &layout));
      HSC_TRY(hsc__sdy_local(im, b, function, &layout, value, &part));
      if (part != value)
        hsc_instr_set_operand(call, i, part);
    }
  }
  return NULL;
}
