// hlo_proto_dims.c - the messages of xla_data.proto that describe dimensions, both ways: Window,
// and the dimension numbers of convolutions, products and gathers.
#include "formats/hlo_proto/hlo_proto_internal.h"

static void put_dims(hsc_bytes *out, uint32_t field, hsc_dims dims) {
  hsc_wire_put_packed(out, field, dims.v, (size_t)dims.count);
}

// ---- window -------------------------------------------------------------------------------------

// The integer fields of WindowDimension in the order of their numbers.
static const size_t window_fields[] = {offsetof(hsc_window_dim, size),
                                       offsetof(hsc_window_dim, stride),
                                       offsetof(hsc_window_dim, pad_low),
                                       offsetof(hsc_window_dim, pad_high),
                                       offsetof(hsc_window_dim, window_dilation),
                                       offsetof(hsc_window_dim, base_dilation)};
enum { WINDOW_REVERSAL = 7 };

hsc_status *hsc__proto_read_window(hsc_arena *arena, hsc_view bytes, hsc_window *out_window) {
  hsc_window_dim dims[HSC_MAX_RANK];
  int rank = 0;
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number != 1)
      continue;
    if (rank == HSC_MAX_RANK)
      return HSC_ERR(INVALID_ARGUMENT, "Window: more than %d dimensions", HSC_MAX_RANK);
    hsc_window_dim *dim = &dims[rank++];
    *dim = (hsc_window_dim){0};
    hsc_wire one = hsc_wire_of(f.bytes);
    for (hsc_wire_field d; hsc_wire_next(&one, &d);) {
      if (d.number >= 1 && d.number <= HSC_COUNT_OF(window_fields))
        memcpy((char *)dim + window_fields[d.number - 1], &d.value, sizeof d.value);
      else if (d.number == WINDOW_REVERSAL)
        dim->reversal = d.value != 0;
    }
    HSC_TRY(hsc_wire_status(&one, "WindowDimension"));
  }
  HSC_TRY(hsc_wire_status(&in, "Window"));
  out_window->rank = rank;
  out_window->dims = rank ? hsc_arena_copy(arena, dims, sizeof *dims * (size_t)rank) : NULL;
  return NULL;
}

void hsc__proto_write_window(hsc_bytes *out, uint32_t field, const hsc_window *window) {
  size_t mark = hsc_wire_begin(out, field);
  for (int i = 0; i < window->rank; i++) {
    size_t dim = hsc_wire_begin(out, 1);
    for (uint32_t f = 0; f < HSC_COUNT_OF(window_fields); f++) {
      int64_t value;
      memcpy(&value, (const char *)&window->dims[i] + window_fields[f], sizeof value);
      hsc_wire_put_int(out, f + 1, value);
    }
    hsc_wire_put_bool(out, WINDOW_REVERSAL, window->dims[i].reversal);
    hsc_wire_end(out, dim);
  }
  hsc_wire_end(out, mark);
}

// ---- dimension numbers --------------------------------------------------------------------------

hsc_status *hsc__proto_read_conv_dims(hsc_arena *arena, hsc_view bytes, hsc_conv_dims *out_dims) {
  hsc_conv_dims dims = {0};
  hsc_dims input = {0};
  hsc_dims kernel = {0};
  hsc_dims output = {0};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    int64_t value = (int64_t)f.value;
    switch (f.number) {
      case 3:
        dims.kernel_input = value;
        break;
      case 4:
        dims.kernel_output = value;
        break;
      case 6:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &kernel));
        break;
      case 7:
        dims.input_batch = value;
        break;
      case 8:
        dims.input_feature = value;
        break;
      case 9:
        dims.output_batch = value;
        break;
      case 10:
        dims.output_feature = value;
        break;
      case 11:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &input));
        break;
      case 12:
        HSC_TRY(hsc__proto_read_dims(arena, &f, &output));
        break;
      default:
        break;
    }
  }
  HSC_TRY(hsc_wire_status(&in, "ConvolutionDimensionNumbers"));
  if (input.count != kernel.count || input.count != output.count)
    return HSC_ERR(INVALID_ARGUMENT,
                   "ConvolutionDimensionNumbers: %d, %d and %d spatial dimensions", input.count,
                   kernel.count, output.count);
  dims.spatial_rank = input.count;
  dims.input_spatial = input.v;
  dims.kernel_spatial = kernel.v;
  dims.output_spatial = output.v;
  *out_dims = dims;
  return NULL;
}

void hsc__proto_write_conv_dims(hsc_bytes *out, uint32_t field, const hsc_conv_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  size_t rank = (size_t)dims->spatial_rank;
  hsc_wire_put_int(out, 3, dims->kernel_input);
  hsc_wire_put_int(out, 4, dims->kernel_output);
  hsc_wire_put_packed(out, 6, dims->kernel_spatial, rank);
  hsc_wire_put_int(out, 7, dims->input_batch);
  hsc_wire_put_int(out, 8, dims->input_feature);
  hsc_wire_put_int(out, 9, dims->output_batch);
  hsc_wire_put_int(out, 10, dims->output_feature);
  hsc_wire_put_packed(out, 11, dims->input_spatial, rank);
  hsc_wire_put_packed(out, 12, dims->output_spatial, rank);
  hsc_wire_end(out, mark);
}

hsc_status *hsc__proto_read_dot_dims(hsc_arena *arena, hsc_view bytes, hsc_dot_dims *dims) {
  hsc_dims *const fields[] = {&dims->lhs_contracting, &dims->rhs_contracting, &dims->lhs_batch,
                              &dims->rhs_batch};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);)
    if (f.number >= 1 && f.number <= HSC_COUNT_OF(fields))
      HSC_TRY(hsc__proto_read_dims(arena, &f, fields[f.number - 1]));
  return hsc_wire_status(&in, "DotDimensionNumbers");
}

void hsc__proto_write_dot_dims(hsc_bytes *out, uint32_t field, const hsc_dot_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  put_dims(out, 1, dims->lhs_contracting);
  put_dims(out, 2, dims->rhs_contracting);
  put_dims(out, 3, dims->lhs_batch);
  put_dims(out, 4, dims->rhs_batch);
  hsc_wire_end(out, mark);
}

hsc_status *hsc__proto_read_gather_dims(hsc_arena *arena, hsc_view bytes, hsc_gather_dims *dims) {
  hsc_dims *const fields[] = {&dims->offset_dims,           &dims->collapsed_slice_dims,
                              &dims->start_index_map,       NULL,
                              &dims->operand_batching_dims, &dims->start_indices_batching_dims};
  hsc_wire in = hsc_wire_of(bytes);
  for (hsc_wire_field f; hsc_wire_next(&in, &f);) {
    if (f.number == 4)
      dims->index_vector_dim = (int64_t)f.value;
    else if (f.number >= 1 && f.number <= HSC_COUNT_OF(fields))
      HSC_TRY(hsc__proto_read_dims(arena, &f, fields[f.number - 1]));
  }
  return hsc_wire_status(&in, "GatherDimensionNumbers");
}

void hsc__proto_write_gather_dims(hsc_bytes *out, uint32_t field, const hsc_gather_dims *dims) {
  size_t mark = hsc_wire_begin(out, field);
  put_dims(out, 1, dims->offset_dims);
  put_dims(out, 2, dims->collapsed_slice_dims);
  put_dims(out, 3, dims->start_index_map);
  hsc_wire_put_int(out, 4, dims->index_vector_dim);
  put_dims(out, 5, dims->operand_batching_dims);
  put_dims(out, 6, dims->start_indices_batching_dims);
  hsc_wire_end(out, mark);
}
