// map.c - byte strings to pointers: entries in insertion order and a power-of-two table of indices
// with linear probing. Nothing is removed. Keys are copied into blocks that the map owns.
#include "base/core/bytes.h"
#include "base/core/hash.h"
#include "base/core/map.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef struct entry {
  hsc_view key;
  uint64_t hash;
  void *value;
} entry;

// A part of the hash is beside the index, so that most entries that are passed by are not
// looked at.
typedef struct slot {
  uint32_t index;  // of the entry plus 1, 0 = free
  uint32_t tag;    // the upper half of its hash
} slot;

// Keys lie one after another; blocks never move, so that views of keys stay true.
typedef struct key_block {
  struct key_block *next;
  size_t used, capacity;  // in bytes
  char text[];
} key_block;

enum { KEY_BLOCK_MIN_BYTES = 192, KEY_BLOCK_MAX_BYTES = 64 * 1024 };

struct hsc_map {
  entry *entries;
  size_t count, capacity;
  slot *slots;
  size_t slot_count;  // a power of two, at least twice the capacity
  key_block *keys;    // the newest block first
};

hsc_status *hsc_map_create(hsc_map **out_map) {
  hsc_map *map = hsc_alloc(sizeof *map);
  if (!map)
    return hsc_status_out_of_memory();
  *out_map = map;
  return NULL;
}

void hsc_map_destroy(hsc_map *map) {
  if (!map)
    return;
  while (map->keys) {
    key_block *block = map->keys;
    map->keys = block->next;
    hsc_free(block);
  }
  hsc_free(map->entries);
  hsc_free(map->slots);
  hsc_free(map);
}

// The slot that holds `key`, or the free slot where it belongs. The table is never full.
static size_t find_slot(const hsc_map *map, hsc_view key, uint64_t hash) {
  size_t mask = map->slot_count - 1;
  size_t at = hash & mask;
  for (; map->slots[at].index; at = (at + 1) & mask) {
    if (map->slots[at].tag != (uint32_t)(hash >> 32))
      continue;
    const entry *it = &map->entries[map->slots[at].index - 1];
    if (it->hash == hash && hsc_view_equals(it->key, key))
      break;
  }
  return at;
}

static hsc_status *grow(hsc_map *map) {
  size_t capacity = map->capacity ? map->capacity * 2 : 8;
  if (capacity >= UINT32_MAX)
    return HSC_ERR(RESOURCE_EXHAUSTED, "map: more than %zu entries", map->capacity);
  slot *slots = hsc_alloc(capacity * 2 * sizeof *slots);
  entry *entries = slots ? hsc_realloc(map->entries, capacity * sizeof *entries) : NULL;
  if (!entries) {
    hsc_free(slots);
    return hsc_status_out_of_memory();
  }
  hsc_free(map->slots);
  map->slots = slots;
  map->slot_count = capacity * 2;
  map->entries = entries;
  map->capacity = capacity;
  for (size_t i = 0; i < map->count; i++) {
    size_t at = entries[i].hash & (map->slot_count - 1);
    while (slots[at].index)
      at = (at + 1) & (map->slot_count - 1);
    slots[at] = (slot){(uint32_t)i + 1, (uint32_t)(entries[i].hash >> 32)};
  }
  return NULL;
}

void *hsc_map_get(const hsc_map *map, hsc_view key) {
  if (map->count == 0)
    return NULL;
  size_t at = find_slot(map, key, hsc_hash64(key.data, key.size, 0));
  return map->slots[at].index ? map->entries[map->slots[at].index - 1].value : NULL;
}

// A copy of `key` with a zero byte after it, which out of memory alone can refuse.
static hsc_status *copy_key(hsc_map *map, hsc_view key, hsc_view *out_copy) {
  size_t bytes;
  if (!hsc_add_size(key.size, 1, &bytes))
    return hsc_status_out_of_memory();
  key_block *block = map->keys;
  if (!block || block->capacity - block->used < bytes) {
    size_t capacity = block ? block->capacity * 2 : KEY_BLOCK_MIN_BYTES;
    capacity = capacity > KEY_BLOCK_MAX_BYTES ? KEY_BLOCK_MAX_BYTES : capacity;
    capacity = capacity < bytes ? bytes : capacity;
    size_t whole;
    if (!hsc_add_size(sizeof *block, capacity, &whole) || !(block = hsc_alloc(whole)))
      return hsc_status_out_of_memory();
    block->next = map->keys;
    block->capacity = capacity;
    map->keys = block;
  }
  char *copy = block->text + block->used;
  if (key.size)
    memcpy(copy, key.data, key.size);
  copy[key.size] = 0;
  block->used += bytes;
  *out_copy = (hsc_view){copy, key.size};
  return NULL;
}

// The entry of `key`, made with a NULL value when there is none.
static hsc_status *entry_of(hsc_map *map, hsc_view key, entry **out_entry) {
  if (map->count == map->capacity)
    HSC_TRY(grow(map));
  uint64_t hash = hsc_hash64(key.data, key.size, 0);
  size_t at = find_slot(map, key, hash);
  if (!map->slots[at].index) {
    hsc_view copy;
    HSC_TRY(copy_key(map, key, &copy));
    map->entries[map->count++] = (entry){copy, hash, NULL};
    map->slots[at] = (slot){(uint32_t)map->count, (uint32_t)(hash >> 32)};
  }
  *out_entry = &map->entries[map->slots[at].index - 1];
  return NULL;
}

hsc_status *hsc_map_put(hsc_map *map, hsc_view key, void *value) {
  entry *it;
  HSC_TRY(entry_of(map, key, &it));
  it->value = value;
  return NULL;
}

hsc_status *hsc_map_add(hsc_map *map, hsc_view key, void *value, bool *out_added) {
  *out_added = false;
  entry *it;
  HSC_TRY(entry_of(map, key, &it));
  if (it->value)
    return NULL;
  it->value = value;
  *out_added = true;
  return NULL;
}

size_t hsc_map_count(const hsc_map *map) {
  return map->count;
}

void *hsc_map_at(const hsc_map *map, size_t index, hsc_view *out_key) {
  if (index >= map->count)
    return NULL;
  if (out_key)
    *out_key = map->entries[index].key;
  return map->entries[index].value;
}
