// store_guard_internal.h - what is looked at before a result store is opened, and what is switched
// off in it.
#pragma once

#include <sqlite3.h>

#include "base/core/status.h"

// INVALID_ARGUMENT for a pipe, device or folder; what is not there is fine.
hsc_status *hsc__store_check_file(const char *path);

// PERMISSION_DENIED for a link, a pipe or another user's file at the names that SQLite uses beside
// `path` (-wal, -shm, -journal).
hsc_status *hsc__store_check_beside(const char *path);

// Right after opening: no views, no triggers, no value over 256 MiB.
void hsc__store_trust_nothing(sqlite3 *db);

// Whether the migration makes a table by this statement, comments and blanks apart: what is said
// about a column may change, and a store that was made before is still one.
bool hsc__store_says(const char *migration, const char *table);
