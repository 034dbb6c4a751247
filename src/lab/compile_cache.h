// compile_cache.h - compiled programs on disk, by what went into them.
//
// A key is a hash of: the program's fingerprint (its meaning, not its names), the compile options, the plugin (file
// name, size, time of change, version text, API version). Whatever changes, changes the key, so nothing is ever stale;
// entries are only ever added, and replaced whole. File: <dir>/<key>.hsx = header "HSCX", version, size of the key
// text, size and hash of the payload; key text; payload (what the plugin's PJRT_Executable_Serialize gave). A file that
// is cut short or changed is a miss, never an error.
//
//   hsc_bytes payload = {0};
//   bool found;
//   HSC_TRY(hsc_compile_cache_get(dir, key, &payload, &found));
#pragma once

#include "base/base.h"

typedef struct hsc_compile_key {
  const char *fingerprint;  // of the program
  hsc_view options;         // CompileOptionsProto bytes
  const char *plugin_path;  // its size and time of change go in
  const char *platform_version;
  int api_minor;
} hsc_compile_key;
// 32 hexadecimal digits, and the text that they are the hash of (appended, for people and for telling collisions).
HSC_MUST_USE hsc_status *hsc_compile_key_text(const hsc_compile_key *key, hsc_bytes *out_text, char out_name[33]);

// Appends the payload when there is an entry whose key text is equal. Errors: RESOURCE_EXHAUSTED only.
HSC_MUST_USE hsc_status *hsc_compile_cache_get(const char *dir, const char *name, hsc_view key_text,
                                               hsc_bytes *out_payload, bool *out_found);
// Makes `dir` when missing; replaces an entry atomically.
HSC_MUST_USE hsc_status *hsc_compile_cache_put(const char *dir, const char *name, hsc_view key_text, hsc_view payload);
