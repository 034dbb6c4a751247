// ptr_map.c - a hash table from pointers to pointers with linear probing; for clones and walks.
// Nothing is removed.
#include "hlo/ir/hlo_internal.h"

static size_t slot_of(const hsc__ptr_map *map, const void *key) {
  uint64_t hash = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  size_t at = (size_t)(hash >> 32) & (map->capacity - 1);
  while (map->keys[at] && map->keys[at] != key)
    at = (at + 1) & (map->capacity - 1);
  return at;
}

void *hsc__ptr_map_get(const hsc__ptr_map *map, const void *key) {
  return map->capacity ? map->values[slot_of(map, key)] : NULL;
}

static bool grow(hsc__ptr_map *map) {
  hsc__ptr_map grown = {.capacity = map->capacity ? map->capacity * 2 : 64};
  grown.keys = hsc_alloc(grown.capacity * sizeof *grown.keys);
  grown.values = hsc_alloc(grown.capacity * sizeof *grown.values);
  if (!grown.keys || !grown.values) {
    hsc__ptr_map_deinit(&grown);
    map->failed = true;
    return false;
  }
  for (size_t i = 0; i < map->capacity; i++)
    if (map->keys[i])
      hsc__ptr_map_put(&grown, map->keys[i], map->values[i]);
  hsc__ptr_map_deinit(map);
  *map = grown;
  return true;
}

void hsc__ptr_map_put(hsc__ptr_map *map, const void *key, void *value) {
  if (map->failed || ((map->count + 1) * 2 > map->capacity && !grow(map)))
    return;
  size_t at = slot_of(map, key);
  map->count += !map->keys[at];
  map->keys[at] = key;
  map->values[at] = value;
}

void hsc__ptr_map_deinit(hsc__ptr_map *map) {
  hsc_free(map->keys);
  hsc_free(map->values);
  *map = (hsc__ptr_map){.failed = map->failed};
}
