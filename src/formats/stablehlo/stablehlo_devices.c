// stablehlo_devices.c - StableHLO operations that talk to the host and to other devices: infeed and
// outfeed, send and recv, collectives.
//
// HLO's differ in three ways: data and tokens come as tuples, a send and a recv are two
// instructions (start and done), and groups of devices are text.
#include <inttypes.h>

#include "formats/shardy/sdy_internal.h"
#include "formats/stablehlo/stablehlo_frame.h"

// "{{0,1},{2,3}}" of a tensor of rank 2.
static const char *groups_text(hsc__frame *f, const char *name) {
  const hsc__mlir_attr *attr = hsc__mlir_attr_get(f->op, name);
  if (!attr || attr->kind != HSC_MLIR_DENSE || attr->type->shape.rank != 2)
    return NULL;
  int64_t rows = attr->type->shape.dims[0];
  int64_t columns = attr->type->shape.dims[1];
  hsc_dims values;
  hsc_status *status = hsc__import_dims(f->im, f->op, name, &values);
  hsc_status_free(status);
  if (status || values.count != rows * columns)
    return NULL;
  hsc_bytes text = {0};
  hsc_bytes_append_char(&text, '{');
  for (int64_t i = 0; i < rows; i++) {
    hsc_bytes_append_text(&text, i ? ",{" : "{");
    for (int64_t k = 0, written = 0; k < columns; k++)  // -1 fills groups of different sizes
      if (values.v[i * columns + k] >= 0)
        hsc_bytes_printf(&text, "%s%lld", written++ ? "," : "",
                         (long long)values.v[i * columns + k]);
    hsc_bytes_append_char(&text, '}');
  }
  hsc_bytes_append_char(&text, '}');
  const char *copy = hsc_arena_strdup(hsc__frame_arena(f), hsc_bytes_text(&text));
  hsc_bytes_deinit(&text);
  return copy;
}

// Of the first `count` results or operands: one as it is, several (or none) as a tuple.
static hsc_status *joined_shape(hsc__frame *f, int count, hsc_shape *out) {
  if (count == 1)
    return hsc__import_shape(f->im, f->op, f->op->results[0].type, out);
  hsc_shape *elements = HSC_NEW_ARRAY(f->im->arena, hsc_shape, count + 1);
  HSC_TRY(hsc_arena_status(f->im->arena));
  for (int i = 0; i < count; i++)
    HSC_TRY(hsc__import_shape(f->im, f->op, f->op->results[i].type, &elements[i]));
  *out = hsc_shape_tuple(hsc__frame_arena(f), count, elements);
  return NULL;
}

static hsc_instr *joined_operands(hsc__frame *f, int count) {
  return count == 1 ? f->operands[0] : hsc_build_tuple(f->b, count, f->operands);
}

// (data, token) of HLO as StableHLO's results: the data one by one, then the token.
static void take_apart(hsc__frame *f, hsc_instr *pair) {
  int count = f->op->result_count - 1;
  hsc_instr *token = hsc_build_get_tuple_element(f->b, pair, 1);
  hsc_instr *data = count == 0 ? NULL : hsc_build_get_tuple_element(f->b, pair, 0);
  for (int i = 0; i < count; i++)
    f->op->results[i].instr = count == 1 ? data : hsc_build_get_tuple_element(f->b, data, i);
  f->op->results[count].instr = token;
  f->results_set = true;
}

static const char *text_attribute(hsc__frame *f, const char *name) {
  hsc_view text = hsc__import_text(f->op, name);
  return text.size ? hsc_arena_strndup(hsc__frame_arena(f), text.data, text.size) : NULL;
}

static bool ends_with_token(const hsc__frame *f, bool operands) {
  int count = operands ? f->count : f->op->result_count;
  if (count < 1)
    return false;
  return operands ? f->operands[count - 1]->shape.type == HSC_TYPE_TOKEN
                  : f->op->results[count - 1].type->kind == HSC_MLIR_TOKEN;
}

hsc_status *hsc__import_infeed(hsc__frame *f) {
  hsc_shape parts[2] = {{0}, hsc_shape_token()};
  if (f->count != 1 || !ends_with_token(f, true) || !ends_with_token(f, false))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it takes a token, and its last result is one");
  HSC_TRY(joined_shape(f, f->op->result_count - 1, &parts[0]));
  f->shape = hsc_shape_tuple(hsc__frame_arena(f), 2, parts);
  hsc__frame_build(f)->attr.custom.target = text_attribute(f, "infeed_config");
  take_apart(f, f->instr);
  return NULL;
}

hsc_status *hsc__import_outfeed(hsc__frame *f) {
  if (!ends_with_token(f, true))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its last operand is no token");
  hsc_instr *operands[2] = {joined_operands(f, f->count - 1), f->operands[f->count - 1]};
  f->instr = hsc_build(f->b, HSC_OP_OUTFEED, hsc_shape_token(), 2, operands);
  f->instr->attr.custom.target = text_attribute(f, "outfeed_config");
  return NULL;
}

// send and recv start, their -done ends: both carry the channel.
static const char *channel_text(hsc__frame *f) {
  bool host = hsc__frame_int(f, "is_host_transfer", 0) != 0;
  const hsc__mlir_attr *pairs = hsc__mlir_attr_get(f->op, "source_target_pairs");
  int64_t channel = hsc__frame_int(f, "channel_id", 0);  // 0 = none
  hsc_bytes text = {0};
  if (channel > 0)
    hsc_bytes_printf(&text, "channel_id=%" PRId64, channel);
  if (host)
    hsc_bytes_printf(&text, "%sis_host_transfer=true", text.size ? ", " : "");
  if (pairs && pairs->kind == HSC_MLIR_DENSE && hsc_shape_elements(&pairs->type->shape) > 0)
    hsc_bytes_printf(&text, "%ssource_target_pairs=%s", text.size ? ", " : "",
                     groups_text(f, "source_target_pairs"));
  const char *kept =
      text.size ? hsc_arena_strndup(hsc__frame_arena(f), hsc_bytes_text(&text), text.size) : NULL;
  hsc_bytes_deinit(&text);
  return kept;
}

hsc_status *hsc__import_send(hsc__frame *f) {
  if (!ends_with_token(f, true))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its last operand is no token");
  hsc_instr *operands[2] = {joined_operands(f, f->count - 1), f->operands[f->count - 1]};
  hsc_shape parts[3] = {operands[0]->shape, hsc_shape_scalar(HSC_TYPE_U32), hsc_shape_token()};
  hsc_instr *start =
      hsc_build(f->b, HSC_OP_SEND, hsc_shape_tuple(hsc__frame_arena(f), 3, parts), 2, operands);
  f->instr = hsc_build(f->b, HSC_OP_SEND_DONE, hsc_shape_token(), 1, &start);
  start->extra_attributes = f->instr->extra_attributes = channel_text(f);
  return NULL;
}

hsc_status *hsc__import_recv(hsc__frame *f) {
  hsc_shape parts[3] = {{0}, hsc_shape_scalar(HSC_TYPE_U32), hsc_shape_token()};
  if (f->count != 1 || !ends_with_token(f, true) || !ends_with_token(f, false))
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op,
                      "it takes a token, and its last result is one");
  HSC_TRY(joined_shape(f, f->op->result_count - 1, &parts[0]));
  hsc_instr *start =
      hsc_build(f->b, HSC_OP_RECV, hsc_shape_tuple(hsc__frame_arena(f), 3, parts), 1, f->operands);
  parts[1] = parts[2];
  f->instr =
      hsc_build(f->b, HSC_OP_RECV_DONE, hsc_shape_tuple(hsc__frame_arena(f), 2, parts), 1, &start);
  start->extra_attributes = f->instr->extra_attributes = channel_text(f);
  take_apart(f, f->instr);
  return NULL;
}

// The root may be an operand: HLO's is the first of each group.
hsc_status *hsc__import_collective(hsc__frame *f) {
  if (f->hlo == HSC_OP_COLLECTIVE_BROADCAST && f->count > f->op->result_count)
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op,
                      "%s: not built yet: a root that is known at run time only",
                      f->op->written_name);
  static const char *const dimension_names[] = {"all_gather_dim", "scatter_dimension",
                                                "split_dimension"};
  if (f->op->region_count)
    HSC_TRY(hsc__frame_build_calls(f));
  else
    hsc__frame_build(f);
  const hsc__mlir_attr *groups = hsc__mlir_attr_get(f->op, "replica_groups");
  if (groups && groups->kind != HSC_MLIR_DENSE)
    HSC_TRY(hsc__sdy_axis_groups(f->im, f->op, groups, &f->instr->attr.collective.replica_groups));
  else
    f->instr->attr.collective.replica_groups = groups_text(f, "replica_groups");
  f->instr->attr.collective.pairs = groups_text(f, "source_target_pairs");
  f->instr->attr.collective.channel_id = hsc__frame_int(f, "channel_id", 0);
  f->instr->attr.collective.use_global_device_ids =
      hsc__mlir_attr_get(f->op, "use_global_device_ids") &&
      hsc__frame_int(f, "use_global_device_ids", 1);
  for (size_t i = 0; i < HSC_COUNT_OF(dimension_names); i++) {
    int64_t dimension = hsc__frame_int(f, dimension_names[i], -1);
    if (dimension >= 0)
      f->instr->attr.collective.dims = HSC_DIMS(hsc__frame_arena(f), dimension);
  }
  return NULL;
}

// HLO's splits and concatenates one dimension. The pieces that arrive, one after the other along
// the split dimension, go to the other.
hsc_status *hsc__import_all_to_all(hsc__frame *f) {
  int64_t split = hsc__frame_int(f, "split_dimension", 0);
  int64_t concat = hsc__frame_int(f, "concat_dimension", 0);
  int64_t count = hsc__frame_int(f, "split_count", 1);
  if (split == concat)
    return hsc__import_collective(f);
  if (f->count != 1 || split < 0 || concat < 0 || count < 1 || split >= f->shape.rank ||
      concat >= f->shape.rank || f->shape.rank + 1 > HSC_MAX_RANK)
    return HSC_OP_ERR(UNIMPLEMENTED, f->im, f->op,
                      "%s: not built yet: several operands that are split and concatenated along "
                      "different dimensions",
                      f->op->written_name);
  hsc_shape result = f->shape;
  const hsc_shape *in = &f->operands[0]->shape;
  int rank = in->rank;
  if (!hsc_shape_is_array(in) || rank != result.rank || in->dims[split] % count)
    return HSC_OP_ERR(INVALID_ARGUMENT, f->im, f->op, "its operand cannot be split into %lld parts",
                      (long long)count);
  int64_t dims[HSC_MAX_RANK], permutation[HSC_MAX_RANK];
  f->shape = *in;
  HSC_TRY(hsc__import_collective(f));
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == split)
      dims[at++] = count;
    dims[at++] = i == split ? in->dims[i] / count : in->dims[i];
  }
  hsc_instr *pieces = hsc_build_reshape(f->b, f->instr, rank + 1, dims);
  // the dimension of pieces, at `split` now, goes before `concat`
  for (int i = 0, at = 0; i < rank; i++) {
    if (i == concat)
      permutation[at++] = split;
    permutation[at++] = i < split ? i : i + 1;
  }
  pieces =
      hsc_build_transpose(f->b, pieces, hsc_dims_copy(hsc__frame_arena(f), rank + 1, permutation));
  f->instr = hsc_build_reshape(f->b, pieces, rank, result.dims);
  f->shape = result;
  return NULL;
}
