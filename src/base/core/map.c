// map.c - byte strings to pointers: entries in insertion order and a power-of-two table of indices
// with linear probing. Nothing is removed.
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

// A part of the hash stands beside the index, so that most entries that are passed by are not
// looked at.
typedef struct slot {
  uint32_t index;  // of the entry plus 1, 0 = free
  uint32_t tag;    // the upper half of its hash
} slot;

struct hsc_map {
  entry *entries;
  size_t count, capacity;
  slot *slots;
  size_t slot_count;  // a power of two, at least twice the capacity
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

hsc_status *hsc_map_put(hsc_map *map, hsc_view key, void *value) {
  if (map->count == map->capacity)
    HSC_TRY(grow(map));
  uint64_t hash = hsc_hash64(key.data, key.size, 0);
  size_t at = find_slot(map, key, hash);
  if (map->slots[at].index) {
    map->entries[map->slots[at].index - 1].value = value;
    return NULL;
  }
  map->entries[map->count++] = (entry){key, hash, value};
  map->slots[at] = (slot){(uint32_t)map->count, (uint32_t)(hash >> 32)};
  return NULL;
}

hsc_status *hsc_map_add(hsc_map *map, hsc_view key, void *value, bool *out_added) {
  *out_added = false;
  if (map->count == map->capacity)
    HSC_TRY(grow(map));
  uint64_t hash = hsc_hash64(key.data, key.size, 0);
  size_t at = find_slot(map, key, hash);
  if (map->slots[at].index) {
    entry *it = &map->entries[map->slots[at].index - 1];
    if (it->value)
      return NULL;
    it->value = value;
  } else {
    map->entries[map->count++] = (entry){key, hash, value};
    map->slots[at] = (slot){(uint32_t)map->count, (uint32_t)(hash >> 32)};
  }
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
