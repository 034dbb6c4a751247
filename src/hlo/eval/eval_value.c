// eval_value.c - counted values of the evaluator, and the strided copies that move them.
//
// A value counts who holds it; its bytes count the values that show them (hsc__value_view), so that
// a reshape or an element of a tuple costs no copy. Bytes may be written to only while one value
// shows them and one holder has it (hsc__value_is_ours): an operand that nothing reads any more
// becomes its reader's result. Bytes of literals are borrowed and never written to.
#include "hlo/eval/eval_internal.h"

static hsc_status *value_create(const hsc_shape *shape, hsc__value **out_value) {
  hsc__value *value = hsc_alloc(sizeof(*value));
  if (!value)
    return hsc_status_out_of_memory();
  value->refs = 1;
  value->shape = *shape;
  *out_value = value;
  return NULL;
}

static hsc_status *storage_create(size_t size_bytes, hsc__storage **out_storage) {
  hsc__storage *storage = hsc_alloc(sizeof(*storage));
  if (!storage)
    return hsc_status_out_of_memory();
  storage->refs = 1;
  if (size_bytes > 0) {
    storage->data = hsc_alloc(size_bytes);
    if (!storage->data) {
      hsc_free(storage);
      return hsc_status_out_of_memory();
    }
  }
  *out_storage = storage;
  return NULL;
}

static void storage_release(hsc__storage *storage) {
  if (!storage || --storage->refs > 0)
    return;
  if (!storage->borrowed)
    hsc_free(storage->data);
  hsc_free(storage);
}

hsc__value *hsc__value_retain(hsc__value *value) {
  value->refs++;
  return value;
}

void hsc__value_release(hsc__value *value) {
  if (!value || --value->refs > 0)
    return;
  storage_release(value->storage);
  if (value->elements) {
    for (int32_t i = 0; i < value->shape.element_count; i++)
      hsc__value_release(value->elements[i]);
    hsc_free(value->elements);
  }
  hsc_free(value->sizes);
  hsc_free(value);
}

hsc_status *hsc__value_array(const hsc_shape *shape, hsc__value **out_value) {
  hsc__value *value = NULL;
  HSC_TRY(value_create(shape, &value));
  if (hsc_shape_is_array(shape)) {
    int64_t size_bytes = hsc_shape_bytes(shape);
    hsc_status *status = size_bytes < 0 || size_bytes == INT64_MAX
                             ? HSC_ERR(RESOURCE_EXHAUSTED, "an array is too large for memory")
                             : storage_create((size_t)size_bytes, &value->storage);
    if (status) {
      hsc__value_release(value);
      return status;
    }
    value->data = value->storage->data;
  }
  *out_value = value;
  return NULL;
}

hsc_status *hsc__value_zeros(const hsc_shape *shape, hsc__value **out_value) {
  if (!hsc_shape_is_tuple(shape))
    return hsc__value_array(shape, out_value);  // hsc_alloc zeroes
  hsc__value *value = NULL;
  HSC_TRY(value_create(shape, &value));
  hsc_status *status = NULL;
  if (shape->element_count > 0) {
    value->elements = hsc_alloc((size_t)shape->element_count * sizeof(*value->elements));
    if (!value->elements)
      status = hsc_status_out_of_memory();
  }
  for (int32_t i = 0; i < shape->element_count && !status; i++)
    status = hsc__value_zeros(&shape->elements[i], &value->elements[i]);
  if (status) {
    hsc__value_release(value);
    return status;
  }
  *out_value = value;
  return NULL;
}

hsc_status *hsc__value_view(const hsc_shape *shape, hsc__value *of, hsc__value **out_value) {
  if (!of->storage) {  // tokens and tuples have no bytes: the value itself
    *out_value = hsc__value_retain(of);
    return NULL;
  }
  hsc__value *value = NULL;
  HSC_TRY(value_create(shape, &value));
  value->storage = of->storage;
  value->storage->refs++;
  value->data = of->data;
  *out_value = value;
  return NULL;
}

hsc_status *hsc__value_tuple(const hsc_shape *shape,
                             hsc__value *const *elements,
                             hsc__value **out_value) {
  hsc__value *value = NULL;
  HSC_TRY(value_create(shape, &value));
  if (shape->element_count > 0) {
    value->elements = hsc_alloc((size_t)shape->element_count * sizeof(*value->elements));
    if (!value->elements) {
      hsc__value_release(value);
      return hsc_status_out_of_memory();
    }
    for (int32_t i = 0; i < shape->element_count; i++)
      value->elements[i] = hsc__value_retain(elements[i]);
  }
  *out_value = value;
  return NULL;
}

hsc_status *hsc__value_from_literal(const hsc_literal *literal, hsc__value **out_value) {
  if (literal->elided)
    return HSC_ERR(FAILED_PRECONDITION,
                   "constant: its values were left out of the text (\"constant({...})\"), so the "
                   "program cannot be run");
  hsc__value *value = NULL;
  HSC_TRY(value_create(&literal->shape, &value));
  hsc_status *status = NULL;
  if (hsc_shape_is_tuple(&literal->shape)) {
    if (literal->shape.element_count > 0) {
      value->elements = hsc_alloc((size_t)literal->shape.element_count * sizeof(*value->elements));
      if (!value->elements)
        status = hsc_status_out_of_memory();
    }
    for (int32_t i = 0; i < literal->shape.element_count && !status; i++)
      status = hsc__value_from_literal(&literal->elements[i], &value->elements[i]);
  } else if (hsc_shape_is_array(&literal->shape)) {
    status = storage_create(0, &value->storage);
    if (!status) {
      value->storage->data = literal->data;
      value->storage->borrowed = true;
      value->data = literal->data;
    }
  }
  if (status) {
    hsc__value_release(value);
    return status;
  }
  *out_value = value;
  return NULL;
}

static void fill_literal(const hsc__value *value, hsc_literal *literal) {
  if (hsc_shape_is_tuple(&value->shape)) {
    for (int32_t i = 0; i < value->shape.element_count; i++)
      fill_literal(value->elements[i], &literal->elements[i]);
  } else if (hsc_shape_is_array(&value->shape)) {
    int64_t size_bytes = hsc_shape_bytes(&value->shape);
    if (size_bytes > 0)
      memcpy(literal->data, value->data, (size_t)size_bytes);
  }
}

hsc_status *hsc__value_to_literal(const hsc__value *value,
                                  hsc_arena *arena,
                                  hsc_literal **out_literal) {
  hsc_shape shape = hsc_shape_copy(arena, value->shape);
  HSC_TRY(hsc_arena_status(arena));
  HSC_TRY(hsc_literal_create(arena, &shape, out_literal));
  fill_literal(value, *out_literal);
  return NULL;
}

bool hsc__value_is_ours(const hsc__value *value) {
  return value->refs == 1 && value->storage && value->storage->refs == 1 &&
         !value->storage->borrowed;
}

// Element sizes must be equal, not only their sums: element i of the result lies where element i of
// the operand was.
hsc_status *hsc__value_reuse(const hsc_shape *shape, hsc__value *operand, hsc__value **out_value) {
  if (hsc__value_is_ours(operand) &&
      hsc_type_bytes(shape->type) == hsc_type_bytes(operand->shape.type) &&
      hsc_shape_bytes(shape) == hsc_shape_bytes(&operand->shape))
    return hsc__value_view(shape, operand, out_value);
  return hsc__value_array(shape, out_value);
}

hsc_status *hsc__value_writable(hsc__value *operand,
                                const hsc_shape *shape,
                                hsc__value **out_value) {
  if (hsc__value_is_ours(operand))
    return hsc__value_view(shape, operand, out_value);
  HSC_TRY(hsc__value_array(shape, out_value));
  int64_t size_bytes = hsc_shape_bytes(shape);
  if (size_bytes > 0)
    memcpy((*out_value)->data, operand->data, (size_t)size_bytes);
  return NULL;
}

// In elements; row-major, whatever the layout of the shape.
void hsc__strides(const hsc_shape *shape, int64_t strides[HSC_MAX_RANK]) {
  int64_t stride = 1;
  for (int32_t i = shape->rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape->dims[i];
  }
}

// ---- strided copies -----------------------------------------------------------------------------

#define COPY_ROW(T) \
  do { \
    T *d = (T *)dst; \
    const T *s = (const T *)src; \
    if (dst_stride == 1 && src_stride == 0) { \
      T v = s[0]; \
      for (int64_t i = 0; i < count; i++) \
        d[i] = v; \
    } else { \
      for (int64_t i = 0; i < count; i++) \
        d[i * dst_stride] = s[i * src_stride]; \
    } \
  } while (0)

typedef struct element16 {
  uint64_t low, high;
} element16;

static void copy_row(int64_t count,
                     size_t element_bytes,
                     unsigned char *dst,
                     int64_t dst_stride,
                     const unsigned char *src,
                     int64_t src_stride) {
  if (dst_stride == 1 && src_stride == 1) {
    memcpy(dst, src, (size_t)count * element_bytes);
    return;
  }
  switch (element_bytes) {
    case 1:
      COPY_ROW(uint8_t);
      break;
    case 2:
      COPY_ROW(uint16_t);
      break;
    case 4:
      COPY_ROW(uint32_t);
      break;
    case 8:
      COPY_ROW(uint64_t);
      break;
    case 16:
      COPY_ROW(element16);
      break;
    default:
      for (int64_t i = 0; i < count; i++)
        memcpy(dst + i * dst_stride * (int64_t)element_bytes,
               src + i * src_stride * (int64_t)element_bytes, element_bytes);
  }
}

void hsc__copy_strided(int rank,
                       const int64_t *dims,
                       size_t element_bytes,
                       unsigned char *dst,
                       const int64_t *dst_strides,
                       const unsigned char *src,
                       const int64_t *src_strides) {
  // Drop dimensions of one and join neighbours that are contiguous on both sides, so that the
  // innermost run is as long as it can be.
  int64_t n[HSC_MAX_RANK], ds[HSC_MAX_RANK], ss[HSC_MAX_RANK];
  int count = 0;
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0)
      return;
    if (dims[i] == 1)
      continue;
    if (count > 0 && ds[count - 1] == dims[i] * dst_strides[i] &&
        ss[count - 1] == dims[i] * src_strides[i]) {
      n[count - 1] *= dims[i];
      ds[count - 1] = dst_strides[i];
      ss[count - 1] = src_strides[i];
    } else {
      n[count] = dims[i];
      ds[count] = dst_strides[i];
      ss[count] = src_strides[i];
      count++;
    }
  }
  if (count == 0) {
    memcpy(dst, src, element_bytes);
    return;
  }
  int64_t index[HSC_MAX_RANK] = {0};
  int outer = count - 1;
  int64_t width = (int64_t)element_bytes;
  int64_t dst_at = 0;
  int64_t src_at = 0;
  for (;;) {
    copy_row(n[outer], element_bytes, dst + dst_at * width, ds[outer], src + src_at * width,
             ss[outer]);
    int i = outer - 1;
    for (; i >= 0; i--) {
      dst_at += ds[i];
      src_at += ss[i];
      if (++index[i] < n[i])
        break;
      dst_at -= n[i] * ds[i];
      src_at -= n[i] * ss[i];
      index[i] = 0;
    }
    if (i < 0)
      return;
  }
}

hsc_status *hsc__transposed(const hsc__value *value,
                            const int64_t *permutation,
                            unsigned char **out_bytes) {
  const hsc_shape *shape = &value->shape;
  size_t element_bytes = hsc_type_bytes(shape->type);
  int64_t size_bytes = hsc_shape_bytes(shape);
  unsigned char *bytes = hsc_alloc(size_bytes > 0 ? (size_t)size_bytes : 1);
  if (!bytes)
    return hsc_status_out_of_memory();
  int64_t strides[HSC_MAX_RANK], src[HSC_MAX_RANK], dst[HSC_MAX_RANK], dims[HSC_MAX_RANK];
  hsc__strides(shape, strides);
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    dims[i] = shape->dims[permutation[i]];
    src[i] = strides[permutation[i]];
    dst[i] = stride;
    stride *= dims[i];
  }
  hsc__copy_strided(shape->rank, dims, element_bytes, bytes, dst, value->data, src);
  *out_bytes = bytes;
  return NULL;
}

int64_t hsc__get_int(const hsc__value *value, int64_t index) {
  switch (hsc_type_class_of(value->shape.type)) {
    case HSC_CLASS_SIGNED:
      switch (hsc_type_bytes(value->shape.type)) {
        case 1:
          return ((const int8_t *)value->data)[index];
        case 2:
          return ((const int16_t *)value->data)[index];
        case 4:
          return ((const int32_t *)value->data)[index];
        default:
          return ((const int64_t *)value->data)[index];
      }
    default:
      switch (hsc_type_bytes(value->shape.type)) {
        case 1:
          return ((const uint8_t *)value->data)[index];
        case 2:
          return ((const uint16_t *)value->data)[index];
        case 4:
          return ((const uint32_t *)value->data)[index];
        default:
          return (int64_t)((const uint64_t *)value->data)[index];
      }
  }
}
