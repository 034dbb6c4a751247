// map.h - a hash map from byte strings to pointers.
#pragma once

#include "base/core/bytes.h"

// A hash map from byte strings to pointers. The map owns its keys: what `key` views may go as soon
// as the call is over. Values are borrowed. Insertion order is kept for iteration.
typedef struct hsc_map hsc_map;
HSC_MUST_USE hsc_status *hsc_map_create(hsc_map **out_map);
void hsc_map_destroy(hsc_map *map);
void *hsc_map_get(const hsc_map *map, hsc_view key);                            // NULL = not there
HSC_MUST_USE hsc_status *hsc_map_put(hsc_map *map, hsc_view key, void *value);  // replaces
// Puts unless the key has a value other than NULL already; *out_added says whether. One lookup.
HSC_MUST_USE hsc_status *hsc_map_add(hsc_map *map, hsc_view key, void *value, bool *out_added);
size_t hsc_map_count(const hsc_map *map);
// In insertion order. out_key may be NULL; it lives as long as the map, with a zero byte after it.
void *hsc_map_at(const hsc_map *map, size_t index, hsc_view *out_key);
