// strided_copy.c - see strided_copy.h. The innermost dimension of the target decides the inner
// loop: contiguous in both is memcpy, a source stride of zero is a fill, and where another
// dimension is contiguous in the source (a transpose) the two are walked in square tiles, so that
// each cache line of both sides is used whole while it is there. Lines of a few elements (arrays
// stacked along their last axis, points of three coordinates) are copied without a call for each.
#include "cpu/kernels/move/strided_copy.h"

enum { TILE = 16 };

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

void hsc_strided_normalize(hsc_strided *copy) {
  int rank = 0;
  for (int i = 0; i < copy->rank; i++) {
    if (copy->size[i] == 0) {
      *copy = (hsc_strided){.rank = 1, .element_bytes = copy->element_bytes};
      return;
    }
    if (copy->size[i] == 1)
      continue;
    // Insertion by falling stride of the target.
    int at = rank++;
    int64_t size = copy->size[i];
    int64_t from = copy->from_stride[i];
    int64_t to = copy->to_stride[i];
    for (; at > 0 && magnitude(copy->to_stride[at - 1]) < magnitude(to); at--) {
      copy->size[at] = copy->size[at - 1];
      copy->from_stride[at] = copy->from_stride[at - 1];
      copy->to_stride[at] = copy->to_stride[at - 1];
    }
    copy->size[at] = size;
    copy->from_stride[at] = from;
    copy->to_stride[at] = to;
  }
  int merged = 0;
  for (int i = 0; i < rank; i++) {
    if (merged > 0 && copy->from_stride[merged - 1] == copy->from_stride[i] * copy->size[i] &&
        copy->to_stride[merged - 1] == copy->to_stride[i] * copy->size[i]) {
      copy->size[merged - 1] *= copy->size[i];
      copy->from_stride[merged - 1] = copy->from_stride[i];
      copy->to_stride[merged - 1] = copy->to_stride[i];
      continue;
    }
    copy->size[merged] = copy->size[i];
    copy->from_stride[merged] = copy->from_stride[i];
    copy->to_stride[merged] = copy->to_stride[i];
    merged++;
  }
  copy->rank = merged;
}

int64_t hsc_strided_bytes(const hsc_strided *copy) {
  int64_t bytes = copy->element_bytes;
  for (int i = 0; i < copy->rank; i++)
    bytes *= copy->size[i];
  return bytes;
}

typedef struct wide {
  uint64_t low, high;
} wide;

#define EACH_ELEMENT_TYPE(X) \
  X(1, uint8_t) \
  X(2, uint16_t) \
  X(4, uint32_t) \
  X(8, uint64_t) \
  X(16, wide)

// Strides in bytes; elements need not be aligned to more than their type.
#define LINE_FUNCTION(BYTES, TYPE) \
  static void line_##BYTES(const char *from, int64_t from_stride, char *to, int64_t to_stride, \
                           int64_t count) { \
    if (to_stride == BYTES && from_stride == 0) { \
      TYPE value = *(const TYPE *)from; \
      for (int64_t i = 0; i < count; i++) \
        ((TYPE *)to)[i] = value; \
      return; \
    } \
    if (to_stride == BYTES && from_stride == -BYTES) { \
      for (int64_t i = 0; i < count; i++) \
        ((TYPE *)to)[i] = ((const TYPE *)from)[-i]; \
      return; \
    } \
    for (int64_t i = 0; i < count; i++) \
      *(TYPE *)(to + i * to_stride) = *(const TYPE *)(from + i * from_stride); \
  } \
  /* rows x columns: the target runs along columns, the source along rows */ \
  static void tile_##BYTES(const char *from, int64_t from_column, char *to, int64_t to_row, \
                           int64_t rows, int64_t columns) { \
    for (int64_t r0 = 0; r0 < rows; r0 += TILE) \
      for (int64_t c0 = 0; c0 < columns; c0 += TILE) { \
        int64_t r1 = r0 + TILE < rows ? r0 + TILE : rows, \
                c1 = c0 + TILE < columns ? c0 + TILE : columns; \
        for (int64_t r = r0; r < r1; r++) { \
          TYPE *line = (TYPE *)(to + r * to_row); \
          const char *source = from + r * BYTES; \
          for (int64_t c = c0; c < c1; c++) \
            line[c] = *(const TYPE *)(source + c * from_column); \
        } \
      } \
  }
EACH_ELEMENT_TYPE(LINE_FUNCTION)

// ---- lines of a few elements --------------------------------------------------------------------

// Two dimensions of a copy: lines `from_row` and `to_row` bytes apart.
typedef struct short_lines {
  int64_t rows, from_row, to_row;
  int64_t count, from_stride, to_stride;  // elements of a line, bytes between them
} short_lines;

enum { SHORT_ELEMENTS = 8, SHORT_BYTES = 128 };

// The inner loop has a number of steps that the compiler knows.
#define STEPS(TYPE, COUNT) \
  for (int64_t r = 0; r < l->rows; r++) \
    for (int64_t i = 0; i < (COUNT); i++) \
      *(TYPE *)(to + r * l->to_row + i * l->to_stride) = \
          *(const TYPE *)(from + r * l->from_row + i * l->from_stride);
#define SHORT_FUNCTION(BYTES, TYPE) \
  static void short_##BYTES(const short_lines *l, const char *from, char *to) { \
    switch (l->count) { \
      case 2: \
        STEPS(TYPE, 2) \
        break; \
      case 3: \
        STEPS(TYPE, 3) \
        break; \
      case 4: \
        STEPS(TYPE, 4) \
        break; \
      default: \
        STEPS(TYPE, l->count) \
        break; \
    } \
  }
EACH_ELEMENT_TYPE(SHORT_FUNCTION)

// Lines without gaps, in pieces of one size; the last piece of a line ends with it.
#define PIECES(PIECE) \
  for (int64_t r = 0; r < l->rows; r++) { \
    const char *source = from + r * l->from_row; \
    char *target = to + r * l->to_row; \
    for (int64_t i = 0; i + (PIECE) < bytes; i += (PIECE)) \
      memcpy(target + i, source + i, PIECE); \
    memcpy(target + bytes - (PIECE), source + bytes - (PIECE), PIECE); \
  }
static void short_dense(const short_lines *l, int64_t bytes, const char *from, char *to) {
  if (bytes >= 16)
    PIECES(16)
  else if (bytes >= 8)
    PIECES(8)
  else if (bytes >= 4)
    PIECES(4)
  else if (bytes >= 2)
    PIECES(2)
  else
    PIECES(1)
}

// Whether the two innermost dimensions are such lines.
static bool lines_are_short(const hsc_strided *copy, int last, bool *out_dense) {
  int64_t count = copy->size[last];
  *out_dense = copy->from_stride[last] == copy->element_bytes &&
               copy->to_stride[last] == copy->element_bytes;
  return *out_dense ? count * copy->element_bytes <= SHORT_BYTES : count <= SHORT_ELEMENTS;
}

// Rows [begin, end) of the last dimension but one.
static void copy_short_lines(
    const hsc_strided *copy, const char *from, char *to, int64_t begin, int64_t end, bool dense) {
  int last = copy->rank - 1;
  short_lines l = {.rows = end - begin,
                   .from_row = copy->from_stride[last - 1],
                   .to_row = copy->to_stride[last - 1],
                   .count = copy->size[last],
                   .from_stride = copy->from_stride[last],
                   .to_stride = copy->to_stride[last]};
  from += begin * l.from_row;
  to += begin * l.to_row;
  if (dense) {
    short_dense(&l, l.count * copy->element_bytes, from, to);
    return;
  }
  switch (copy->element_bytes) {
#define CASE(BYTES, TYPE) \
  case BYTES: \
    short_##BYTES(&l, from, to); \
    break;
    EACH_ELEMENT_TYPE(CASE)
#undef CASE
    default:
      break;
  }
}

// ---- all dimensions -----------------------------------------------------------------------------

// Elements of one byte again and again: memset, whose large sizes the processor writes without
// reading them first (110 GB/s against 50 of vector stores on one Zen 5 core).
static bool is_one_byte(const char *value, int element_bytes) {
  return memcmp(value, value + 1, (size_t)element_bytes - 1) == 0;
}

static void copy_line(int element_bytes,
                      const char *from,
                      int64_t from_stride,
                      char *to,
                      int64_t to_stride,
                      int64_t count) {
  if (from_stride == element_bytes && to_stride == element_bytes) {
    memcpy(to, from, (size_t)(count * element_bytes));
    return;
  }
  if (from_stride == 0 && to_stride == element_bytes && is_one_byte(from, element_bytes)) {
    memset(to, *from, (size_t)(count * element_bytes));
    return;
  }
  switch (element_bytes) {
#define CASE(BYTES, TYPE) \
  case BYTES: \
    line_##BYTES(from, from_stride, to, to_stride, count); \
    break;
    EACH_ELEMENT_TYPE(CASE)
#undef CASE
    default:
      break;
  }
}

static void copy_tile(int element_bytes,
                      const char *from,
                      int64_t from_column,
                      char *to,
                      int64_t to_row,
                      int64_t rows,
                      int64_t columns) {
  switch (element_bytes) {
#define CASE(BYTES, TYPE) \
  case BYTES: \
    tile_##BYTES(from, from_column, to, to_row, rows, columns); \
    break;
    EACH_ELEMENT_TYPE(CASE)
#undef CASE
    default:
      break;
  }
}

// `across` is the dimension that is contiguous in the source while the innermost is contiguous in
// the target; -1 = none.
static void copy_dims(const hsc_strided *copy,
                      int dim,
                      int across,
                      const char *from,
                      char *to,
                      int64_t begin,
                      int64_t end) {
  int last = copy->rank - 1;
  if (dim == last) {
    from += begin * copy->from_stride[last];
    to += begin * copy->to_stride[last];
    if (across < 0)
      copy_line(copy->element_bytes, from, copy->from_stride[last], to, copy->to_stride[last],
                end - begin);
    else
      copy_tile(copy->element_bytes, from, copy->from_stride[last], to, copy->to_stride[across],
                copy->size[across], end - begin);
    return;
  }
  if (dim == across) {
    // Done by the innermost tiles, unless this is the dimension that the caller cuts.
    if (dim == 0 && (begin > 0 || end < copy->size[0])) {
      hsc_strided part = *copy;
      part.size[0] = end - begin;
      copy_dims(&part, 1, across, from + begin * copy->from_stride[0],
                to + begin * copy->to_stride[0], 0, copy->size[1]);
      return;
    }
    copy_dims(copy, dim + 1, across, from, to, 0, copy->size[dim + 1]);
    return;
  }
  bool dense;
  if (dim == last - 1 && across < 0 && lines_are_short(copy, last, &dense)) {
    copy_short_lines(copy, from, to, begin, end, dense);
    return;
  }
  for (int64_t i = begin; i < end; i++)
    copy_dims(copy, dim + 1, across, from + i * copy->from_stride[dim],
              to + i * copy->to_stride[dim], 0, copy->size[dim + 1]);
}

void hsc_strided_copy(
    const hsc_strided *copy, const void *from, void *to, int64_t begin, int64_t end) {
  if (begin >= end)
    return;
  if (copy->rank == 0) {
    memcpy(to, from, (size_t)copy->element_bytes);
    return;
  }
  int last = copy->rank - 1;
  int across = -1;
  if (copy->to_stride[last] == copy->element_bytes &&
      copy->from_stride[last] != copy->element_bytes && copy->from_stride[last] != 0)
    for (int i = 0; i < last; i++)
      if (copy->from_stride[i] == copy->element_bytes)
        across = i;
  // A few lines side by side are read along themselves: no tiles.
  if (across == last - 1 && copy->size[last] <= SHORT_ELEMENTS)
    across = -1;
  copy_dims(copy, 0, across, from, to, begin, end);
}

void hsc_fill(void *to, const void *value, int element_bytes, int64_t count) {
  copy_line(element_bytes, value, 0, to, element_bytes, count);
}
