// compile_cache.h - what a compiled program in the worker's cache is keyed by
// (base/files/disk_cache.h keeps the entries).
//
// A key is made of: the program's fingerprint (its meaning, not its names), the compile options,
// the environment variables in which compilers read options too, the plugin (file name, size, time
// of change, version text, API version), the processor and its features (machines of one model show
// different ones to their guests). Whatever changes, changes the key, so nothing is ever stale. The
// payload is what the plugin's PJRT_Executable_Serialize gave.
#pragma once

#include "base/files/disk_cache.h"

typedef struct hsc_compile_key {
  const char *fingerprint;  // of the program
  hsc_view options;         // CompileOptionsProto bytes
  const char *plugin_path;  // its size and time of change go in
  const char *platform_version;
  int api_minor;
} hsc_compile_key;
// False when XLA_FLAGS or an option of this name asks for what only a compilation gives (dumps) or
// lets a file say how to compile.
bool hsc_compile_option_cacheable(const char *name_or_flags);
// Appends the key text.
HSC_MUST_USE hsc_status *hsc_compile_key_text(const hsc_compile_key *key, hsc_bytes *out_text);
// Appends the information lines of an entry: the program's name and what compiling took.
HSC_MUST_USE hsc_status *hsc_compile_information(const char *program_name,
                                                 int64_t compile_ns,
                                                 hsc_bytes *out_text);
