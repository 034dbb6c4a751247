// sdy_halo.c - windows over a dimension that is cut: each partition has its rows and, from its
// neighbours, those that its windows reach into (halos).
//
// A convolution whose result has one position for each `stride` of its input, and pads just as far
// as windows reach over the ends, is the same convolution without padding on each part with its
// halos: what comes from no neighbour is zeros, as collective-permute gives them and as the padding
// was.
#include "formats/shardy/sdy_layout.h"

bool hsc__sdy_has_halo(const hsc_window_dim *w, int64_t input, int64_t output) {
  int64_t reach = (w->size - 1) * w->window_dilation + 1;
  return w->base_dilation == 1 && !w->reversal && w->stride > 0 && output > 0 &&
         output * w->stride == input && w->pad_low >= 0 && w->pad_high >= 0 &&
         w->pad_low + w->pad_high == (reach > w->stride ? reach - w->stride : 0);
}

// Each piece's place to that of the piece `by` further on, "{{0,1},{1,2}}".
static const char *pairs_text(hsc__importer *im, const hsc__layout *l, int dim, int by) {
  const hsc__mesh *mesh = l->mesh;
  int64_t from[HSC__MOST_AXES];
  int64_t to[HSC__MOST_AXES];
  hsc_bytes text = {0};
  hsc_bytes_append_char(&text, '{');
  for (int64_t place = 0; place < mesh->device_count; place++) {
    hsc__mesh_coordinates(mesh, place, from);
    int64_t wanted = hsc__layout_piece_of(l, dim, from) + by;
    for (int64_t other = 0; other < mesh->device_count; other++) {
      hsc__mesh_coordinates(mesh, other, to);
      if (hsc__layout_piece_of(l, dim, to) == wanted && hsc__layout_beside(l, dim, from, to))
        hsc_bytes_printf(&text, "%s{%lld,%lld}", text.size > 1 ? "," : "",
                         (long long)hsc__mesh_partition(mesh, place),
                         (long long)hsc__mesh_partition(mesh, other));
    }
  }
  hsc_bytes_append_char(&text, '}');
  const char *kept = hsc_arena_strndup(im->module->arena, text.data, text.size);
  bool failed = hsc_bytes_status(&text) != NULL;
  hsc_bytes_deinit(&text);
  return failed ? NULL : kept;
}

// The last (by = 1) or first (by = -1) `rows` of a part, as the next or previous partition gets
// them.
static hsc_status *from_neighbour(hsc__importer *im,
                                  hsc_builder *b,
                                  const hsc__layout *l,
                                  int dim,
                                  hsc_instr *part,
                                  int64_t rows,
                                  int by,
                                  hsc_instr **out) {
  hsc_arena *arena = im->module->arena;
  int64_t start[HSC_MAX_RANK] = {0};
  int64_t limit[HSC_MAX_RANK];
  int64_t stride[HSC_MAX_RANK];
  int rank = part->shape.rank;
  for (int d = 0; d < rank; d++) {
    limit[d] = part->shape.dims[d];
    stride[d] = 1;
  }
  if (by > 0)
    start[dim] = limit[dim] - rows;
  else
    limit[dim] = rows;
  hsc_instr *sent =
      hsc_build_slice(b, part, hsc_dims_copy(arena, rank, start), hsc_dims_copy(arena, rank, limit),
                      hsc_dims_copy(arena, rank, stride));
  HSC_TRY(hsc__sdy_made(im, sent));
  *out = hsc_build(b, HSC_OP_COLLECTIVE_PERMUTE, sent->shape, 1, &sent);
  (*out)->attr.collective.pairs = pairs_text(im, l, dim, by);
  (*out)->attr.collective.channel_id = 1;
  if (!(*out)->attr.collective.pairs)
    return hsc_status_out_of_memory();
  return hsc__sdy_made(im, *out);
}

static hsc_status *add_halo(hsc__importer *im,
                            hsc_builder *b,
                            const hsc__layout *l,
                            int dim,
                            const hsc_window_dim *w,
                            hsc_instr **in_out_part) {
  hsc_instr *pieces[3];
  int count = 0;
  if (w->pad_low)
    HSC_TRY(from_neighbour(im, b, l, dim, *in_out_part, w->pad_low, 1, &pieces[count++]));
  pieces[count++] = *in_out_part;
  if (w->pad_high)
    HSC_TRY(from_neighbour(im, b, l, dim, *in_out_part, w->pad_high, -1, &pieces[count++]));
  if (count == 1)
    return NULL;
  *in_out_part = hsc_build_concatenate(b, count, pieces, dim);
  return hsc__sdy_made(im, *in_out_part);
}

bool hsc__sdy_halos_fit(const hsc_instr *conv, const hsc__layout *input) {
  const hsc_conv_dims *dims = &conv->attr.conv.dims;
  for (int s = 0; s < dims->spatial_rank; s++) {
    int dim = (int)dims->input_spatial[s];
    const hsc_window_dim *w = &conv->attr.conv.window.dims[s];
    if (!input->counts[dim])
      continue;
    int64_t rows = conv->operands[0]->shape.dims[dim] / hsc__layout_pieces(input, dim);
    if (w->pad_low > rows || w->pad_high > rows)
      return false;
  }
  return true;
}

hsc_status *hsc__sdy_add_halos(hsc__importer *im,
                               hsc_builder *b,
                               const hsc__layout *input,
                               hsc_attr *attr,
                               hsc_instr **in_out_part) {
  const hsc_conv_dims *dims = &attr->conv.dims;
  hsc_window_dim *windows = hsc_arena_copy(im->module->arena, attr->conv.window.dims,
                                           sizeof *windows * (size_t)attr->conv.window.rank);
  if (!windows)
    return hsc_status_out_of_memory();
  for (int s = 0; s < dims->spatial_rank; s++) {
    int dim = (int)dims->input_spatial[s];
    if (!input->counts[dim])
      continue;
    HSC_TRY(add_halo(im, b, input, dim, &windows[s], in_out_part));
    windows[s].pad_low = windows[s].pad_high = 0;
  }
  attr->conv.window.dims = windows;
  return NULL;
}
