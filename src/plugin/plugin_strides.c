// plugin_strides.c - layouts of the interface as byte strides, and copies between two arrangements
// of an array.
//
// How to read: strides of layout arguments come first; hsc__host_copy_strided, at the end, brings
// both sides to as few dimensions as they have in common and hands the two innermost ones to a
// copy of one plane, made for each size of element.
#include "plugin/plugin_internal.h"

// ---- layouts ------------------------------------------------------------------------------------

// Byte strides of a dense array say its order; dimensions of one element may have any.
static hsc_status *order_of_strides(const int64_t *strides,
                                    const int64_t *dims,
                                    size_t rank,
                                    size_t element_bytes,
                                    int64_t *out_order) {
  int64_t stride = (int64_t)element_bytes;
  uint64_t done = 0;
  size_t count = 0;
  for (size_t d = rank; d-- > 0;)
    if (dims[d] == 1 || dims[d] == 0) {
      out_order[count++] = (int64_t)d;
      done |= (uint64_t)1 << d;
    }
  for (bool found = true; found && count < rank;) {
    found = false;
    for (size_t d = rank; d-- > 0 && !found;) {
      if (done >> d & 1 || strides[d] != stride)
        continue;
      found = true;
      done |= (uint64_t)1 << d;
      out_order[count++] = (int64_t)d;
      stride = (int64_t)((uint64_t)stride * (uint64_t)dims[d]);
    }
  }
  if (count == rank)
    return NULL;
  return HSC_ERR(UNIMPLEMENTED,
                 "a device layout of byte strides with gaps: not supported: buffers are dense");
}

static bool strides_are_dense(const int64_t *strides,
                              const int64_t *dims,
                              int rank,
                              size_t element_bytes) {
  int64_t stride = (int64_t)element_bytes;
  for (int i = rank - 1; i >= 0; i--) {
    if (dims[i] == 0)
      return true;
    if (dims[i] != 1 && strides[i] != stride)
      return false;
    stride = (int64_t)((uint64_t)stride * (uint64_t)dims[i]);
  }
  return true;
}

hsc_status *hsc__device_layout(const PJRT_Buffer_MemoryLayout *layout,
                               const int64_t *dims,
                               size_t rank,
                               size_t element_bytes,
                               const PJRT_Layouts_MemoryLayout **out_layout) {
  int64_t order[HSC_MAX_RANK];
  *out_layout = NULL;
  if (!layout)
    return NULL;
  if (rank > HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "rank %zu; at most %d is possible", rank, HSC_MAX_RANK);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout->strides.num_byte_strides != rank)
      return HSC_ERR(INVALID_ARGUMENT, "%zu byte strides for an array of rank %zu",
                     layout->strides.num_byte_strides, rank);
    if (strides_are_dense(layout->strides.byte_strides, dims, (int)rank, element_bytes))
      return NULL;
    HSC_TRY(order_of_strides(layout->strides.byte_strides, dims, rank, element_bytes, order));
    return hsc__layout_get(order, (int)rank, out_layout);
  }
  const PJRT_Buffer_MemoryLayout_Tiled *tiled = &layout->tiled;
  if (tiled->num_tiles > 0)
    return HSC_ERR(UNIMPLEMENTED,
                   "a tiled device layout: not supported: buffers are dense, without tiles");
  if (tiled->minor_to_major_size != rank)
    return HSC_ERR(INVALID_ARGUMENT, "the layout names %zu dimensions of an array of rank %zu",
                   tiled->minor_to_major_size, rank);
  return hsc__layout_get(tiled->minor_to_major, (int)rank, out_layout);
}

// An array of no elements may have other dimensions of any size: strides, which nothing reads then,
// wrap.
static void row_major_strides(const int64_t *dims,
                              int rank,
                              size_t element_bytes,
                              int64_t *out_strides) {
  int64_t stride = (int64_t)element_bytes;
  for (int i = rank - 1; i >= 0; i--) {
    out_strides[i] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)dims[i]);
  }
}

hsc_status *hsc__host_strides(const PJRT_Buffer_MemoryLayout *layout,
                              const int64_t *dims,
                              int rank,
                              size_t element_bytes,
                              int64_t *out_strides) {
  if (!layout) {
    row_major_strides(dims, rank, element_bytes, out_strides);
    return NULL;
  }
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    if (layout->strides.num_byte_strides != (size_t)rank)
      return HSC_ERR(INVALID_ARGUMENT, "%zu byte strides for an array of rank %d",
                     layout->strides.num_byte_strides, rank);
    memcpy(out_strides, layout->strides.byte_strides, (size_t)rank * sizeof *out_strides);
    return NULL;
  }
  const PJRT_Buffer_MemoryLayout_Tiled *tiled = &layout->tiled;
  uint64_t seen = 0;
  int64_t stride = (int64_t)element_bytes;
  if (tiled->num_tiles > 0)
    return HSC_ERR(UNIMPLEMENTED, "a tiled host layout: not supported");
  if (tiled->minor_to_major_size != (size_t)rank)
    return HSC_ERR(INVALID_ARGUMENT, "the layout names %zu dimensions of an array of rank %d",
                   tiled->minor_to_major_size, rank);
  for (int i = 0; i < rank; i++) {
    int64_t dimension = tiled->minor_to_major[i];
    if (dimension < 0 || dimension >= rank || (seen >> dimension & 1))
      return HSC_ERR(INVALID_ARGUMENT, "minor_to_major is no permutation: %lld at place %d",
                     (long long)dimension, i);
    seen |= (uint64_t)1 << dimension;
    out_strides[dimension] = stride;
    stride = (int64_t)((uint64_t)stride * (uint64_t)dims[dimension]);
  }
  return NULL;
}

bool hsc__strides_alike(const int64_t *a, const int64_t *b, const int64_t *dims, int rank) {
  for (int i = 0; i < rank; i++)
    if (dims[i] == 0)
      return true;
  for (int i = 0; i < rank; i++)
    if (dims[i] != 1 && a[i] != b[i])
      return false;
  return true;
}

// ---- the copy -----------------------------------------------------------------------------------

typedef struct copy_dim {
  int64_t extent, to, from;  // strides in bytes
} copy_dim;

// Two innermost dimensions, in squares that fit the first-level cache: neither side is walked
// across lines for long.
#define COPY_PLANE(name, type) \
  static void name(unsigned char *to, const unsigned char *from, copy_dim outer, copy_dim inner) { \
    enum { SIDE = 16 }; \
    for (int64_t i0 = 0; i0 < outer.extent; i0 += SIDE) \
      for (int64_t j0 = 0; j0 < inner.extent; j0 += SIDE) { \
        int64_t i1 = i0 + SIDE < outer.extent ? i0 + SIDE : outer.extent, \
                j1 = j0 + SIDE < inner.extent ? j0 + SIDE : inner.extent; \
        for (int64_t i = i0; i < i1; i++) \
          for (int64_t j = j0; j < j1; j++) \
            memcpy(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from, \
                   sizeof(type)); \
      } \
  }
typedef struct sixteen_bytes {
  uint64_t v[2];
} sixteen_bytes;
COPY_PLANE(copy_plane_1, uint8_t)
COPY_PLANE(copy_plane_2, uint16_t)
COPY_PLANE(copy_plane_4, uint32_t)
COPY_PLANE(copy_plane_8, uint64_t)
COPY_PLANE(copy_plane_16, sixteen_bytes)

static void copy_plane(unsigned char *to,
                       const unsigned char *from,
                       copy_dim outer,
                       copy_dim inner,
                       size_t element_bytes) {
  if (inner.to == (int64_t)element_bytes && inner.from == (int64_t)element_bytes) {
    for (int64_t i = 0; i < outer.extent; i++)
      memcpy(to + i * outer.to, from + i * outer.from, (size_t)inner.extent * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      copy_plane_1(to, from, outer, inner);
      break;
    case 2:
      copy_plane_2(to, from, outer, inner);
      break;
    case 4:
      copy_plane_4(to, from, outer, inner);
      break;
    case 8:
      copy_plane_8(to, from, outer, inner);
      break;
    default:
      copy_plane_16(to, from, outer, inner);
      break;
  }
}

void hsc__host_copy_strided(void *to,
                            const int64_t *to_strides,
                            const void *from,
                            const int64_t *from_strides,
                            const int64_t *dims,
                            int rank,
                            size_t element_bytes) {
  copy_dim d[HSC_MAX_RANK + 2];
  int count = 0;
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0)
      return;
    if (dims[i] == 1)
      continue;
    copy_dim next = {dims[i], to_strides[i], from_strides[i]};
    // Two dimensions that lie one inside the other on both sides are one.
    if (count > 0 && d[count - 1].to == next.to * next.extent &&
        d[count - 1].from == next.from * next.extent) {
      d[count - 1] = (copy_dim){d[count - 1].extent * next.extent, next.to, next.from};
    } else {
      d[count++] = next;
    }
  }
  while (count < 2) {  // outermost ones of extent 1
    for (int i = count; i > 0; i--)
      d[i] = d[i - 1];
    d[0] = (copy_dim){1, 0, 0};
    count++;
  }
  if (d[count - 1].extent == 1)
    d[count - 1].to = d[count - 1].from = (int64_t)element_bytes;
  int64_t index[HSC_MAX_RANK] = {0};
  unsigned char *t = to;
  const unsigned char *f = from;
  for (;;) {
    copy_plane(t, f, d[count - 2], d[count - 1], element_bytes);
    int i = count - 3;
    for (; i >= 0; i--) {
      t += d[i].to;
      f += d[i].from;
      if (++index[i] < d[i].extent)
        break;
      t -= d[i].to * d[i].extent;
      f -= d[i].from * d[i].extent;
      index[i] = 0;
    }
    if (i < 0)
      return;
  }
}
