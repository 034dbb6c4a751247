// memory.h - checked sizes, the arena, and heap memory that tests can make fail.
#pragma once

#include "base/core/status.h"

// Checked size arithmetic: false on overflow, then *out is not written.
HSC_MUST_USE bool hsc_mul_size(size_t a, size_t b, size_t *out);
HSC_MUST_USE bool hsc_add_size(size_t a, size_t b, size_t *out);

// A bump allocator. Blocks double up to 1 MiB; large requests get their own block. Everything is
// freed at once. Running out of memory is sticky, and hsc_arena_status tells: hsc_arena_alloc goes
// on with a static reserve, 16 MiB for all arenas; beyond it, with a shared dummy area or NULL.
// Memory from it is zeroed and aligned to 16 bytes.
typedef struct hsc_arena hsc_arena;
HSC_MUST_USE hsc_status *hsc_arena_create(hsc_arena **out_arena);
void hsc_arena_destroy(hsc_arena *arena);
void hsc_arena_reset(hsc_arena *arena);  // frees what was allocated, keeps the first block
void *hsc_arena_alloc(hsc_arena *arena, size_t size_bytes);
void *hsc_arena_copy(hsc_arena *arena, const void *data, size_t size_bytes);
char *hsc_arena_strdup(hsc_arena *arena, const char *text);
char *hsc_arena_strndup(hsc_arena *arena, const char *text, size_t length);
char *hsc_arena_printf(hsc_arena *arena, const char *format, ...) HSC_PRINTF(2, 3);
size_t hsc_arena_used_bytes(const hsc_arena *arena);
HSC_MUST_USE hsc_status *hsc_arena_status(const hsc_arena *arena);  // NULL, or RESOURCE_EXHAUSTED
#define HSC_NEW(arena, type) ((type *)hsc_arena_alloc((arena), sizeof(type)))
#define HSC_NEW_ARRAY(arena, type, count) \
  ((type *)hsc_arena_alloc_array((arena), sizeof(type), (size_t)(count)))
// checks the product
void *hsc_arena_alloc_array(hsc_arena *arena, size_t element_bytes, size_t count);

// Heap allocation for objects outside of arenas; zeroed; NULL when there is none. Goes through a
// hook so that tests can fail the n-th one.
void *hsc_alloc(size_t size_bytes);
void *hsc_realloc(void *memory, size_t size_bytes);
// not zeroed; a power of two that divides the size
void *hsc_alloc_pages(size_t size_bytes, size_t alignment);
void hsc_free(void *memory);
char *hsc_strdup(const char *text);
// Room for one more in an array that doubles: `items` is NULL or what an earlier growth made of
// it, on the heap (HSC_GROW) or in an arena (HSC_GROW_IN, which leaves the old array behind),
// `capacity` any integer. False when there is no memory, and then the array is as it was. The new
// room is not zeroed on the heap.
#define HSC_GROW(items, count, capacity) HSC_RESERVE(items, count, 1, capacity)
#define HSC_GROW_IN(arena, items, count, capacity) HSC_RESERVE_IN(arena, items, count, 1, capacity)
// The same for `more` items at once.
#define HSC_RESERVE(items, count, more, capacity) \
  HSC__GROW(items, count, more, capacity, \
            hsc__grow((items), hsc_wanted, &hsc_room, sizeof *(items)))
#define HSC_RESERVE_IN(arena, items, count, more, capacity) \
  HSC__GROW( \
      items, count, more, capacity, \
      hsc__grow_in((arena), (items), (size_t)(count), hsc_wanted, &hsc_room, sizeof *(items)))
#define HSC__GROW(items, count, more, capacity, grown) \
  ((size_t)(count) + (size_t)(more) <= (size_t)(capacity) || ({ \
     size_t hsc_wanted = (size_t)(count) + (size_t)(more); \
     size_t hsc_room = (size_t)(capacity); \
     void *hsc_grown = (grown); \
     if (hsc_grown) { \
       (items) = hsc_grown; \
       (capacity) = (__typeof__(capacity))hsc_room; \
     } \
     hsc_grown != NULL; \
   }))
// The next capacity that holds `wanted`; 0 when there is none.
size_t hsc__grown_capacity(size_t capacity, size_t wanted);
void *hsc__grow(void *items, size_t wanted, size_t *capacity, size_t item_bytes);
void *hsc__grow_in(hsc_arena *arena,
                   const void *items,
                   size_t count,
                   size_t wanted,
                   size_t *capacity,
                   size_t item_bytes);

// Fault injection: the n-th allocation from now (1 = the next) fails, and all after it until reset
// with 0. Not thread-safe; tests only.
void hsc_alloc_fail_after(uint64_t n);
