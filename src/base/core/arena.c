// arena.c - a bump allocator: a chain of blocks, newest first; everything is freed at once.
//
// Blocks grow from 4 KiB to 1 MiB, and to 4 MiB in huge pages once the arena holds 16 MiB: touching
// small pages for the first time costs more than filling them, and the last few that come free are
// kept for the next arena for the same reason. What is handed out is zeroed a little ahead, while
// it is in the cache. A request over a quarter of the next block gets a block of its
// own, zeroed by hsc_alloc and put after the current one, so that the room left in the current
// block stays in use.
//
// Under the address sanitizer only what was handed out may be touched, and a gap follows each
// piece: who leaves a piece of an arena is found as who leaves a piece of the heap is.
#include "base/core/memory.h"
#include "base/core/status.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_WATCHED 1
#endif
#endif
#ifdef IS_WATCHED
#include <sanitizer/asan_interface.h>
#else
#define IS_WATCHED 0
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum {
  ALIGNMENT = 16,
  GAP_BYTES = IS_WATCHED ? 16 : 0,
  FIRST_BLOCK_BYTES = 4096,
  MAX_BLOCK_BYTES = 1 << 20,
  DUMMY_BYTES = 1024,
  RESERVE_CHUNK_BYTES = 64 << 10,
  RESERVE_CHUNKS = 256,
  CLEAN_AHEAD_BYTES = 4096
};
enum {
  HUGE_PAGE_BYTES = 2 << 20,
  HUGE_BLOCK_BYTES = 4 << 20,
  HUGE_FROM_BYTES = 16 << 20,
  MOST_SPARE_BLOCKS = 16
};

typedef struct block {
  struct block *next;
  size_t capacity;  // bytes of data
  alignas(ALIGNMENT) char data[];
} block;

struct hsc_arena {
  block *head;              // the block that is bumped; never NULL
  block *first;             // kept by reset
  size_t head_used;         // bytes bumped in head
  size_t head_clean;        // bytes from head_used to here are zero
  size_t next_block_bytes;  // size of the next regular block
  size_t used_bytes;        // handed out in all
  char *reserve_at;         // after failing: room in the last piece of the reserve,
  size_t reserve_left;      // and its bytes
  bool failed;
};

// What an arena that has failed hands out until its reader looks at hsc_arena_status: memory as any
// other, so that who goes on with it for a while computes what he would have computed. Chunks have
// one owner each, which gives them back when it is reset or destroyed. What is not touched of the
// reserve takes no memory.
static alignas(ALIGNMENT) char reserve[RESERVE_CHUNKS][RESERVE_CHUNK_BYTES];
static _Atomic(hsc_arena *) reserve_owner[RESERVE_CHUNKS];

static void give_back_reserve(hsc_arena *arena) {
  for (size_t i = 0; arena->failed && i < RESERVE_CHUNKS; i++)
    if (atomic_load(&reserve_owner[i]) == arena)
      atomic_store(&reserve_owner[i], NULL);
  arena->reserve_at = NULL;
  arena->reserve_left = 0;
}

// So many chunks in a row; false: somebody has one of them, and nothing was taken.
static bool take_chunks(hsc_arena *arena, size_t from, size_t count) {
  for (size_t i = 0; i < count; i++) {
    hsc_arena *nobody = NULL;
    if (atomic_compare_exchange_strong(&reserve_owner[from + i], &nobody, arena))
      continue;
    while (i > 0)
      atomic_store(&reserve_owner[from + --i], NULL);
    return false;
  }
  return true;
}

static void *from_reserve(hsc_arena *arena, size_t size_bytes) {
  if (size_bytes > sizeof reserve - ALIGNMENT)
    return NULL;
  size_t rounded = (size_bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
  if (rounded > arena->reserve_left) {
    size_t chunks = (rounded + RESERVE_CHUNK_BYTES - 1) / RESERVE_CHUNK_BYTES;
    size_t from = 0;
    while (from + chunks <= RESERVE_CHUNKS && !take_chunks(arena, from, chunks))
      from++;
    if (from + chunks > RESERVE_CHUNKS)
      return NULL;
    arena->reserve_at = reserve[from];
    arena->reserve_left = chunks * RESERVE_CHUNK_BYTES;
  }
  void *memory = arena->reserve_at;
  arena->reserve_at += rounded;
  arena->reserve_left -= rounded;
  memset(memory, 0, rounded);
  return memory;
}

static block *new_block(size_t capacity, bool zeroed) {
  size_t size_bytes;
  if (!hsc_add_size(sizeof(block), capacity, &size_bytes))
    return NULL;
  block *fresh = zeroed ? hsc_alloc(size_bytes) : hsc_realloc(NULL, size_bytes);
  if (!fresh)
    return NULL;
  *fresh = (block){.capacity = capacity};
  ASAN_POISON_MEMORY_REGION(fresh->data, capacity);
  return fresh;
}

// Huge blocks of arenas that are gone; only arenas of large programs have any. Each slot is taken
// and filled with one exchange.
static _Atomic(block *) spare_blocks[MOST_SPARE_BLOCKS];

static block *new_huge_block(void) {
  block *fresh = NULL;
  for (int i = 0; i < MOST_SPARE_BLOCKS && !fresh; i++)
    if (atomic_load_explicit(&spare_blocks[i], memory_order_relaxed))
      fresh = atomic_exchange(&spare_blocks[i], NULL);
  if (!fresh) {
    fresh = hsc_alloc_pages(HUGE_BLOCK_BYTES, HUGE_PAGE_BYTES);
    if (!fresh)
      return NULL;
    madvise(fresh, HUGE_BLOCK_BYTES, MADV_HUGEPAGE);  // where there are none, small ones do
  }
  *fresh = (block){.capacity = HUGE_BLOCK_BYTES - sizeof(block)};
  ASAN_POISON_MEMORY_REGION(fresh->data, fresh->capacity);
  return fresh;
}

static void free_block(block *old) {
  ASAN_UNPOISON_MEMORY_REGION(old->data, old->capacity);
  bool is_huge =
      old->capacity == HUGE_BLOCK_BYTES - sizeof(block) && (uintptr_t)old % HUGE_PAGE_BYTES == 0;
  for (int i = 0; i < MOST_SPARE_BLOCKS && is_huge; i++) {
    block *none = NULL;
    if (atomic_compare_exchange_strong(&spare_blocks[i], &none, old))
      return;
  }
  hsc_free(old);
}

hsc_status *hsc_arena_create(hsc_arena **out_arena) {
  hsc_arena *arena = hsc_alloc(sizeof *arena);
  block *first = arena ? new_block(FIRST_BLOCK_BYTES - sizeof(block), false) : NULL;
  if (!first) {
    hsc_free(arena);
    return hsc_status_out_of_memory();
  }
  arena->head = arena->first = first;
  arena->next_block_bytes = 2 * FIRST_BLOCK_BYTES;
  *out_arena = arena;
  return NULL;
}

// Frees every block but `keep` (may be NULL).
static void free_blocks(hsc_arena *arena, const block *keep) {
  for (block *it = arena->head, *next; it; it = next) {
    next = it->next;
    if (it != keep)
      free_block(it);
  }
}

void hsc_arena_destroy(hsc_arena *arena) {
  if (!arena)
    return;
  give_back_reserve(arena);
  free_blocks(arena, NULL);
  hsc_free(arena);
}

void hsc_arena_reset(hsc_arena *arena) {
  block *first = arena->first;
  give_back_reserve(arena);
  free_blocks(arena, first);
  ASAN_POISON_MEMORY_REGION(first->data, first->capacity);
  first->next = NULL;
  arena->head = first;
  arena->head_used = arena->head_clean = 0;
  arena->next_block_bytes = 2 * FIRST_BLOCK_BYTES;
  arena->used_bytes = 0;
  arena->failed = false;
}

// After the first failure callers go on with harmless memory until they look at hsc_arena_status.
static void *fail(hsc_arena *arena, size_t size_bytes) {
  static _Thread_local alignas(ALIGNMENT) char dummy[DUMMY_BYTES];
  arena->failed = true;
  void *apart = from_reserve(arena, size_bytes);
  if (apart)
    return apart;
  if (size_bytes > sizeof dummy)
    return NULL;
  memset(dummy, 0, sizeof dummy);
  return dummy;
}

void *hsc_arena_alloc(hsc_arena *arena, size_t size_bytes) {
  if (arena->failed || size_bytes > SIZE_MAX - ALIGNMENT - GAP_BYTES)
    return fail(arena, size_bytes);
  size_t rounded = ((size_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1)) + GAP_BYTES;
  if (rounded == 0)
    rounded = ALIGNMENT;
  if (rounded > arena->head->capacity - arena->head_used) {
    if (rounded > arena->next_block_bytes / 4) {
      block *own = new_block(rounded, true);
      if (!own)
        return fail(arena, size_bytes);
      own->next = arena->head->next;
      arena->head->next = own;
      arena->used_bytes += rounded;
      ASAN_UNPOISON_MEMORY_REGION(own->data, size_bytes);
      return own->data;
    }
    block *fresh = arena->used_bytes >= HUGE_FROM_BYTES
                       ? new_huge_block()
                       : new_block(arena->next_block_bytes - sizeof(block), false);
    if (!fresh)
      return fail(arena, size_bytes);
    fresh->next = arena->head;
    arena->head = fresh;
    arena->head_used = arena->head_clean = 0;
    if (arena->next_block_bytes < MAX_BLOCK_BYTES)
      arena->next_block_bytes *= 2;
  }
  void *memory = arena->head->data + arena->head_used;
  size_t end = arena->head_used + rounded;
  ASAN_UNPOISON_MEMORY_REGION(memory, size_bytes);
  if (IS_WATCHED) {
    memset(memory, 0, size_bytes);
  } else if (end > arena->head_clean) {
    size_t clean =
        end > arena->head_clean + CLEAN_AHEAD_BYTES ? end : arena->head_clean + CLEAN_AHEAD_BYTES;
    if (clean > arena->head->capacity)
      clean = arena->head->capacity;
    memset(arena->head->data + arena->head_clean, 0, clean - arena->head_clean);
    arena->head_clean = clean;
  }
  arena->head_used += rounded;
  arena->used_bytes += rounded;
  return memory;
}

void *hsc_arena_alloc_array(hsc_arena *arena, size_t element_bytes, size_t count) {
  size_t size_bytes;
  if (!hsc_mul_size(element_bytes, count, &size_bytes))
    return fail(arena, SIZE_MAX);
  return hsc_arena_alloc(arena, size_bytes);
}

void *hsc__grow_in(hsc_arena *arena,
                   const void *items,
                   size_t count,
                   size_t wanted,
                   size_t *capacity,
                   size_t item_bytes) {
  size_t more = hsc__grown_capacity(*capacity, wanted);
  if (!more)
    return fail(arena, SIZE_MAX);
  void *grown = hsc_arena_alloc_array(arena, item_bytes, more);
  if (!grown || arena->failed)
    return NULL;
  if (count)
    memcpy(grown, items, count * item_bytes);
  *capacity = more;
  return grown;
}

void *hsc_arena_copy(hsc_arena *arena, const void *data, size_t size_bytes) {
  void *copy = hsc_arena_alloc(arena, size_bytes);
  if (copy && size_bytes)
    memcpy(copy, data, size_bytes);
  return copy;
}

char *hsc_arena_strndup(hsc_arena *arena, const char *text, size_t length) {
  char *copy = length < SIZE_MAX ? hsc_arena_alloc(arena, length + 1) : fail(arena, SIZE_MAX);
  if (copy && length)
    memcpy(copy, text, length);
  return copy;
}

char *hsc_arena_strdup(hsc_arena *arena, const char *text) {
  return hsc_arena_strndup(arena, text, strlen(text));
}

char *hsc_arena_printf(hsc_arena *arena, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  char *text = length < 0 ? fail(arena, 1) : hsc_arena_alloc(arena, (size_t)length + 1);
  if (text && length > 0)
    vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(args);
  return text;
}

size_t hsc_arena_used_bytes(const hsc_arena *arena) {
  return arena->used_bytes;
}

hsc_status *hsc_arena_status(const hsc_arena *arena) {
  return arena->failed ? hsc_status_out_of_memory() : NULL;
}
