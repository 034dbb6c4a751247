// vendor_cache.h - compilation caches that are not ours, read only: AWS Neuron's and JAX's.
//
//   Neuron   DIR/neuronxcc-VERSION/MODULE_<hash of the program>+<hash of the flags>/ with
//            model.hlo_module.pb (or model.hlo.pb), compile_flags.json (or
//            .txt), model.neff, and model.done when the compilation succeeded; a failed one has
//            model.log and no model.done, and its failure is
//            handed out again until somebody asks for a retry; one with neither is being compiled,
//            or its compiler died.
//            Source: what libneuronxla writes, and seed observations ("Using a cached neff at ...",
//            "Got a cached failed neff").
//   JAX      DIR/<module name>-<64 hex digits>-cache: zlib or zstd; inside, 4 bytes of compile time
//            in seconds (big-endian), then the executable; beside it
//            -atime with the last use when a size limit is set. Source:
//            jax/_src/compilation_cache.py, lru_cache.py.
#pragma once

#include "base/core/memory.h"
#include "base/core/status.h"

typedef enum hsc_vendor_state {
  HSC_VENDOR_OK,
  HSC_VENDOR_FAILED,      // the failure is cached: the program is not compiled again
  HSC_VENDOR_UNFINISHED,  // no marker of success or failure
  HSC_VENDOR_DAMAGED,
} hsc_vendor_state;
const char *hsc_vendor_state_text(hsc_vendor_state state);

typedef struct hsc_vendor_entry {
  // "MODULE_...+...", or the module's name with the first digits of the key
  const char *name;
  const char *path;
  const char *compiler;  // "neuronxcc-2.21.18209.0+043b1bf7"; "" where it is not in the path
  const char *flags;     // text of compile_flags.json; "" = none
  // last line of the log of a failed one, what is wrong with a damaged one; "" = none
  const char *detail;
  hsc_vendor_state state;
  int64_t bytes;           // of all its files
  int64_t used_ns;         // wall time: of last use where that is kept, else of the last change
  double compile_seconds;  // NAN = not known
} hsc_vendor_entry;

// `cache` is "neuron" or "jax". All entries of a directory, oldest first, in the arena; none when
// it does not exist. With `deep` every entry is read in full (JAX: unpacked). Errors: the system's,
// INVALID_ARGUMENT for another name.
HSC_MUST_USE hsc_status *hsc_vendor_cache_list(const char *cache,
                                               const char *dir,
                                               bool deep,
                                               hsc_arena *arena,
                                               hsc_vendor_entry **out_entries,
                                               int *out_count);
// Where a vendor's cache is by its own rules (NEURON_COMPILE_CACHE_URL, --cache_dir in
// NEURON_CC_FLAGS, /var/tmp/neuron-compile-cache; JAX_COMPILATION_CACHE_DIR); NULL when it has
// none. In the arena.
const char *hsc_vendor_cache_dir(const char *cache, hsc_arena *arena);
