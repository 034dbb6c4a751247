// sized_cache.h - the folder `sized` of the cache: copies of programs with the sizes that --dim
// gave, in sized/<hash of the program>/NAME.b=8.hlo.pb. A copy that is gone is written again.
#pragma once

#include "base/core/memory.h"
#include "base/core/status.h"
#include "base/files/disk_cache.h"

// What a new copy leaves of the folder: so many bytes, the last used first.
enum { HSC_SIZED_MOST_MIB = 1024 };

typedef struct hsc_sized_entry {
  const char *name, *path;
  int64_t bytes;
  int64_t used_ns;  // wall time at which it was written last
} hsc_sized_entry;

// sized/<hash> of the cache, made when it is missing; in the arena.
HSC_MUST_USE hsc_status *hsc_sized_folder(uint64_t hash, hsc_arena *arena, const char **out_path);
// All copies, least recently used first, and the folder; none where it does not exist. They live in
// the arena. Errors: the system's.
HSC_MUST_USE hsc_status *hsc_sized_list(hsc_arena *arena,
                                        const char **out_dir,
                                        hsc_sized_entry **out_entries,
                                        int *out_count);
// Removes those that were not used for max_age_ns (< 0 = no limit), then the least recently used
// until the rest has max_bytes (< 0 = no limit), but none that was written in the last `spared_ns`:
// somebody may be about to read it. Adds to *io_pruned. Errors: the system's.
typedef struct hsc_sized_prune {
  int64_t max_age_ns, max_bytes, spared_ns;
  bool dry;  // only count
} hsc_sized_prune;
HSC_MUST_USE hsc_status *hsc_sized_remove(const hsc_sized_prune *how, hsc_disk_pruned *io_pruned);
