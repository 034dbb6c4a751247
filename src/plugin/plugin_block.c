// plugin_block.c - device memory: counted blocks, 64-byte aligned, kept in free lists by size.
//
// Sizes are rounded up to multiples of 64 bytes, from 512 on to four steps per power of two (at
// most a quarter is unused, and untouched pages cost nothing). A block that comes back goes to the
// head of its list, so that a loop of executions gets the same warm memory again and again; what
// the lists hold is bounded by cache_limit_bytes. Large blocks ask for huge pages: first touch of
// an output is then 1 fault per 2 MiB.
#include "base/process/memory_room.h"
#include "plugin/plugin_internal.h"

#include "cpu/runtime/records.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { UNIT = HSC_CPU_ALIGNMENT, HUGE_PAGE = 1 << 21, LOOK_AT_BYTES = 256 << 20 };

// The list for a size and the capacity of its blocks; false when it is absurd.
static bool size_class(size_t size_bytes, int *out_class, size_t *out_capacity) {
  if (size_bytes > (size_t)1 << 46)
    return false;
  size_t units = size_bytes ? (size_bytes + UNIT - 1) / UNIT : 1;
  if (units <= 8) {
    *out_class = (int)units - 1;
    *out_capacity = units * UNIT;
    return true;
  }
  int e = 63 - __builtin_clzll(units - 1);  // 2^e < units <= 2^(e+1), e >= 3
  size_t step = (size_t)1 << (e - 2);
  size_t k = (units - ((size_t)1 << e) + step - 1) / step;  // 1..4
  *out_class = 8 + (e - 3) * 4 + (int)k - 1;
  *out_capacity = (((size_t)1 << e) + k * step) * UNIT;
  return true;
}

static void *allocate(size_t capacity) {
  void *data = NULL;
  if (capacity < 2 * HUGE_PAGE)
    return aligned_alloc(UNIT, capacity);
  // The system promises more than it has: who touched it would be killed.
  if (capacity >= LOOK_AT_BYTES && capacity > hsc_memory_available_bytes())
    return NULL;
  if (posix_memalign(&data, HUGE_PAGE, capacity) != 0)
    return NULL;
  madvise(data, capacity, MADV_HUGEPAGE);  // a wish; refusal is fine
  return data;
}

static void count_use(hsc__block_pool *pool, const void *data, size_t capacity) {
  pool->in_use_bytes += (int64_t)capacity;
  pool->allocation_count++;
  if (pool->in_use_bytes > pool->peak_bytes)
    pool->peak_bytes = pool->in_use_bytes;
  if ((int64_t)capacity > pool->largest_bytes)
    pool->largest_bytes = (int64_t)capacity;
  hsc_cpu_memory_note(data, (int64_t)capacity, pool->in_use_bytes, NULL);
}

hsc__block *hsc__block_pop_locked(PJRT_Client *client, size_t size_bytes) {
  hsc__block_pool *pool = &client->pool;
  int class;
  size_t capacity;
  if (!size_class(size_bytes, &class, &capacity))
    return NULL;
  hsc__block *block = pool->free[class];
  if (!block)
    return NULL;
  pool->free[class] = block->next;
  pool->cached_bytes -= capacity;
  block->next = NULL;
  block->references = 1;
  count_use(pool, block->data, capacity);
  return block;
}

static hsc__block *take_header(PJRT_Client *client) {
  pthread_mutex_lock(&client->lock);
  hsc__block *block = client->pool.headers;
  if (block)
    client->pool.headers = block->next;
  pthread_mutex_unlock(&client->lock);
  if (!block)
    block = hsc_alloc(sizeof *block);
  if (block)
    *block = (hsc__block){.references = 1, .size_class = -1};
  return block;
}

static void empty_lists(PJRT_Client *client) {
  hsc__block *all = NULL;
  pthread_mutex_lock(&client->lock);
  for (int i = 0; i < HSC_BLOCK_CLASSES; i++) {
    for (hsc__block *b = client->pool.free[i], *next; b; b = next) {
      next = b->next;
      b->next = all;
      all = b;
    }
    client->pool.free[i] = NULL;
  }
  client->pool.cached_bytes = 0;
  pthread_mutex_unlock(&client->lock);
  for (hsc__block *b = all, *next; b; b = next) {
    next = b->next;
    free(b->data);
    hsc_free(b);
  }
}

hsc__block *hsc__block_take(PJRT_Client *client, size_t size_bytes) {
  int class;
  size_t capacity;
  if (!size_class(size_bytes, &class, &capacity))
    return NULL;
  pthread_mutex_lock(&client->lock);
  hsc__block *block = hsc__block_pop_locked(client, size_bytes);
  pthread_mutex_unlock(&client->lock);
  if (block)
    return block;
  void *data = allocate(capacity);
  if (!data) {
    empty_lists(client);
    data = allocate(capacity);
  }
  block = data ? take_header(client) : NULL;
  if (!block) {
    free(data);
    return NULL;
  }
  block->data = data;
  block->capacity_bytes = capacity;
  block->size_class = class;
  pthread_mutex_lock(&client->lock);
  count_use(&client->pool, data, capacity);
  pthread_mutex_unlock(&client->lock);
  return block;
}

hsc__block *hsc__block_borrow(PJRT_Client *client, void *data, size_t size_bytes) {
  hsc__block *block = take_header(client);
  if (!block)
    return NULL;
  block->data = data;
  block->capacity_bytes = size_bytes;
  return block;
}

void hsc__block_release_locked(PJRT_Client *client, hsc__block *block, hsc__free_blocks *out_free) {
  hsc__block_pool *pool = &client->pool;
  if (!block || --block->references > 0)
    return;
  if (block->size_class >= 0) {
    pool->in_use_bytes -= (int64_t)block->capacity_bytes;
    hsc_cpu_memory_note(block->data, -(int64_t)block->capacity_bytes, pool->in_use_bytes, NULL);
    if (pool->cached_bytes + block->capacity_bytes <= pool->cache_limit_bytes) {
      pool->cached_bytes += block->capacity_bytes;
      block->next = pool->free[block->size_class];
      pool->free[block->size_class] = block;
      return;
    }
  }
  block->next = out_free->first;
  out_free->first = block;
}

void hsc__blocks_finish(PJRT_Client *client, hsc__free_blocks *free_blocks) {
  for (hsc__block *block = free_blocks->first, *next; block; block = next) {
    next = block->next;
    if (block->size_class >= 0)
      free(block->data);
    if (block->on_release)
      block->on_release(block->data, block->user);
    if (block->released) {
      hsc__event_set(block->released, 0, NULL, 0);
      hsc__event_release(block->released);
    }
    pthread_mutex_lock(&client->lock);
    block->next = client->pool.headers;
    client->pool.headers = block;
    pthread_mutex_unlock(&client->lock);
  }
  free_blocks->first = NULL;
}

void hsc__block_release(PJRT_Client *client, hsc__block *block) {
  hsc__free_blocks free_blocks = {0};
  pthread_mutex_lock(&client->lock);
  hsc__block_release_locked(client, block, &free_blocks);
  pthread_mutex_unlock(&client->lock);
  if (free_blocks.first)
    hsc__blocks_finish(client, &free_blocks);
}

void hsc__block_pool_deinit(hsc__block_pool *pool) {
  for (int i = 0; i < HSC_BLOCK_CLASSES; i++)
    for (hsc__block *b = pool->free[i], *next; b; b = next) {
      next = b->next;
      free(b->data);
      hsc_free(b);
    }
  for (hsc__block *b = pool->headers, *next; b; b = next) {
    next = b->next;
    hsc_free(b);
  }
}
