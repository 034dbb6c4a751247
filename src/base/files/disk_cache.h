// disk_cache.h - a directory of whole entries, each named by a hash of what went into it: where
// compiled programs stay between processes.
//
// An entry is a file <name>.hsx: header (magic, version, sizes, hash of all that follows), key
// text, information text, payload.
//   key text      lines "what value": everything that the payload depends on. The name is its hash.
//                 An entry counts only when its key text is
//                 equal to the one asked for, so a collision of names is a miss; two key texts
//                 compared say why the second was a miss.
//   information   lines "what value" for people: the program's name, how long it took to make. It
//                 is not part of the key.
// Writers write beside the name and rename, so that readers (in any process) see whole entries or
// none; what a killed writer leaves behind has another name and is removed by prune. An entry that
// is cut short or changed is a miss, never an error and never a payload. A hit renews the file's
// time of change: age is time since last use. Prune and clear hold a lock (<dir>/lock), so that two
// of them do not count the same files; readers, writers and dry runs need none.
//
// Entries are code that is run: directory and files have to be this user's alone
// (private_file.h), else nothing is taken from them and nothing is put there.
#pragma once

#include "base/core/bytes.h"
#include "base/core/memory.h"
#include "base/core/status.h"

// The name of a key text: 32 hexadecimal digits.
void hsc_disk_cache_name(hsc_view key_text, char out_name[33]);
// Appends the payload when there is an entry whose key text is equal. Errors: RESOURCE_EXHAUSTED
// only.
HSC_MUST_USE hsc_status *hsc_disk_cache_get(const char *dir,
                                            hsc_view key_text,
                                            hsc_bytes *out_payload,
                                            bool *out_found);
// Makes `dir` when missing; replaces an entry at once (and a symbolic link in its place, never what
// that points at). Errors: the system's (disk full, permissions).
HSC_MUST_USE hsc_status *hsc_disk_cache_put(const char *dir,
                                            hsc_view key_text,
                                            hsc_view information,
                                            hsc_view payload);

// A payload that begins with what it was made for: put under another key by whatever way, it is
// refused. bind appends the first bytes, before the payload's own; unbind gives what follows them.
// Errors: DATA_LOSS.
void hsc_disk_cache_bind(hsc_view key_text, hsc_bytes *out_payload);
HSC_MUST_USE hsc_status *hsc_disk_cache_unbind(hsc_view key_text,
                                               hsc_view payload,
                                               hsc_view *out_rest);

typedef enum hsc_disk_entry_state {
  HSC_DISK_ENTRY_WHOLE,
  HSC_DISK_ENTRY_DAMAGED,
  HSC_DISK_ENTRY_UNFINISHED,
  HSC_DISK_ENTRY_UNREADABLE
} hsc_disk_entry_state;
typedef struct hsc_disk_entry {
  const char *name;  // file name without ".hsx"; of an unfinished one the file name
  const char *path;
  // list looks at header and sizes only: a flipped bit is found by read
  hsc_disk_entry_state state;
  const char *problem;  // of one that is not whole: what is wrong
  int64_t bytes;        // of the file
  int64_t used_ns;      // wall time of the last use
  int64_t created_ns;
  const char *key, *information;  // "" when damaged
} hsc_disk_entry;
// All entries of a directory, least recently used first; none when it does not exist. They live in
// the arena. Errors: the system's.
HSC_MUST_USE hsc_status *hsc_disk_cache_list(const char *dir,
                                             hsc_arena *arena,
                                             hsc_disk_entry **out_entries,
                                             int *out_count);
// Reads one entry in full and checks it. Any output may be NULL. Errors: DATA_LOSS with what is
// wrong, NOT_FOUND, the system's.
HSC_MUST_USE hsc_status *hsc_disk_cache_read(const char *path,
                                             hsc_bytes *out_key,
                                             hsc_bytes *out_information,
                                             hsc_bytes *out_payload);
// The value of the line "what value" in a key or information text; an empty view with data NULL
// when there is no such line.
hsc_view hsc_disk_cache_line(const char *text, const char *what);

// What killed writers left (unfinished for 10 minutes) goes with every prune.
typedef struct hsc_disk_prune {
  int64_t max_age_ns;  // entries that were not used for longer go; < 0 = no limit
  // then the least recently used go until the rest fits; < 0 = no limit
  int64_t max_bytes;
  bool damaged;  // damaged entries go
  // whole entries that go for another reason; NULL = none
  bool (*drop)(const hsc_disk_entry *entry, void *user);
  void *user;
  bool dry;  // only count
} hsc_disk_prune;
typedef struct hsc_disk_pruned {
  int removed, kept;
  int refused;  // of kept: should have gone, and the system did not let them
  int64_t removed_bytes, kept_bytes;
} hsc_disk_pruned;
HSC_MUST_USE hsc_status *hsc_disk_cache_prune(const char *dir,
                                              const hsc_disk_prune *how,
                                              hsc_disk_pruned *out_pruned);
