// alloc.c - heap memory through one hook, so that a test can fail the n-th allocation, and checked
// size arithmetic.
#include "base/core/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/spill.h"

// 0: never fails. n > 1: n - 1 more succeed. 1: every allocation fails.
static _Atomic uint64_t fail_countdown;

static bool injected_failure(void) {
  uint64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
  if (left == 0)
    return false;
  if (left == 1)
    return true;
  atomic_store_explicit(&fail_countdown, left - 1, memory_order_relaxed);
  return false;
}

void hsc_alloc_fail_after(uint64_t n) {
  atomic_store_explicit(&fail_countdown, n, memory_order_relaxed);
}

void *hsc_alloc(size_t size_bytes) {
  if (injected_failure())
    return NULL;
  void *spilled = hsc__spill_alloc(size_bytes);
  if (spilled)
    return spilled;
  return calloc(1, size_bytes ? size_bytes : 1);
}

// What grows beyond memory's share goes on in a file, and what lies in one already grows there.
static bool grow_spilled(void **memory, size_t size_bytes) {
  if (hsc__spill_resize(memory, size_bytes))
    return true;
  void *spilled = hsc__spill_alloc(size_bytes);
  if (!spilled)
    return false;
  if (*memory) {
    size_t held = malloc_usable_size(*memory);
    memcpy(spilled, *memory, held < size_bytes ? held : size_bytes);
    free(*memory);
  }
  *memory = spilled;
  return true;
}

void *hsc_realloc(void *memory, size_t size_bytes) {
  if (injected_failure())
    return NULL;
  if (grow_spilled(&memory, size_bytes))
    return memory;
  return realloc(memory, size_bytes ? size_bytes : 1);
}

size_t hsc__grown_capacity(size_t capacity, size_t wanted) {
  if (capacity > SIZE_MAX / 2 || wanted > SIZE_MAX / 2)
    return 0;
  size_t more = capacity < 8 ? 16 : 2 * capacity;
  while (more < wanted)
    more *= 2;
  return more;
}

void *hsc__grow(void *items, size_t wanted, size_t *capacity, size_t item_bytes) {
  size_t more = hsc__grown_capacity(*capacity, wanted);
  size_t size_bytes;
  if (!more || !hsc_mul_size(more, item_bytes, &size_bytes))
    return NULL;
  void *grown = hsc_realloc(items, size_bytes);
  if (grown)
    *capacity = more;
  return grown;
}

void *hsc_alloc_pages(size_t size_bytes, size_t alignment) {
  if (injected_failure())
    return NULL;
  return aligned_alloc(alignment, size_bytes);
}

void hsc_free(void *memory) {
  if (!hsc__spill_free(memory))
    free(memory);
}

char *hsc_strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = hsc_alloc(size);
  if (copy)
    memcpy(copy, text, size);
  return copy;
}

bool hsc_mul_size(size_t a, size_t b, size_t *out) {
  size_t product;
  if (__builtin_mul_overflow(a, b, &product))
    return false;
  *out = product;
  return true;
}

bool hsc_add_size(size_t a, size_t b, size_t *out) {
  size_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return false;
  *out = sum;
  return true;
}
