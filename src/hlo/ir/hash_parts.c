// hash_parts.c - the parts of a hash of the IR: numbers, texts, lists of dimensions, shapes.
#include "hlo/ir/hlo_internal.h"

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

void hsc__hash_u64(hsc__hasher *h, uint64_t value) {
  h->state.low = fold(h->state.low ^ value ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
  h->state.high = fold(h->state.high + value + 0x165667b19e3779f9u, 0xc2b2ae3d27d4eb4fu) ^
                  (h->state.low << 23 | h->state.low >> 41);
}

void hsc__hash_bytes(hsc__hasher *h, const void *data, size_t size) {
  if (size <= 32) {
    uint64_t words[4] = {0};
    if (size)
      memcpy(words, data, size);
    hsc__hash_u64(h, size);
    for (size_t i = 0; i * 8 < size; i++)
      hsc__hash_u64(h, words[i]);
    return;
  }
  hsc_hash128 hash = hsc_hash128_of(data, size, 0);
  hsc__hash_u64(h, hash.low);
  hsc__hash_u64(h, hash.high);
}

void hsc__hash_text(hsc__hasher *h, const char *text) {
  hsc__hash_u64(h, text != NULL);
  if (text)
    hsc__hash_bytes(h, text, strlen(text));
}

void hsc__hash_dims(hsc__hasher *h, hsc_dims dims) {
  hsc__hash_u64(h, (uint64_t)dims.count);
  for (int i = 0; i < dims.count; i++)
    hsc__hash_u64(h, (uint64_t)dims.v[i]);
}

void hsc__hash_shape(hsc__hasher *h, const hsc_shape *shape) {
  uint64_t type = (uint64_t)hsc_type_proto(shape->type);
  hsc__hash_u64(h, type << 32 | (uint32_t)(shape->rank + shape->element_count));
  for (int i = 0; i < shape->element_count; i++)
    hsc__hash_shape(h, &shape->elements[i]);
  for (int i = 0; i < shape->rank; i++)
    hsc__hash_u64(h, (uint64_t)shape->dims[i] << 1 | (shape->dynamic && shape->dynamic[i]));
  if (hsc_layout_is_default(shape))
    return;
  for (int i = 0; i < shape->rank; i++)
    hsc__hash_u64(h, (uint64_t)shape->layout->minor_to_major[i]);
  hsc__hash_text(h, shape->layout->extra);
}
