// zip.h - the files of a ZIP archive that is in memory: stored or deflated, ZIP64 too.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

typedef struct hsc_zip_entry {
  const char *name;  // as the archive has it, in the arena
  hsc_view data;     // unpacked; in the arena, or inside the archive's own bytes
} hsc_zip_entry;

// Whether the bytes begin as an archive with files does.
bool hsc_zip_is(hsc_view archive);
// All files in the order of the archive's directory; folders are left out. `archive` must outlive
// *out_entries. Their checksums are compared.
// Errors: DATA_LOSS (no directory at its end, places outside of it, a file that does not unpack to
// its size and checksum), UNIMPLEMENTED (encrypted, other compressions), no memory.
HSC_MUST_USE hsc_status *hsc_zip_read(hsc_view archive,
                                      hsc_arena *arena,
                                      hsc_zip_entry **out_entries,
                                      size_t *out_count);
