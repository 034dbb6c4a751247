// versions.h - which versions of which packages a log or an environment shows, and whether an entry
// of the knowledge base can speak of them.
//
//   hsc_versions *versions = NULL;
//   HSC_TRY(hsc_versions_create(&versions));
//   HSC_TRY(hsc_versions_add(versions, HSC_VIEW("jax"), HSC_VIEW("0.4.1"), HSC_VERSIONS_FROM_LOG));
//   const char *because = hsc_versions_exclude(versions, entry, arena);   // "since jax 0.4.15, and
//   jax is 0.4.1 here"; NULL = it may speak
//   hsc_versions_destroy(versions);
//
// Thread-compatible.
#pragma once

#include "doctor/knowledge.h"

typedef struct hsc_versions hsc_versions;
HSC_MUST_USE hsc_status *hsc_versions_create(hsc_versions **out_versions);
void hsc_versions_destroy(hsc_versions *versions);

// A log says more about itself than the environment in which it is read; what the user says counts
// most. The higher one replaces the lower.
typedef enum hsc_versions_source {
  HSC_VERSIONS_FROM_ENVIRONMENT,
  HSC_VERSIONS_FROM_LOG,
  HSC_VERSIONS_FROM_USER
} hsc_versions_source;

// `package` as pip writes it or as compilers do ("neuronxcc", "torch_xla"). Two versions of a
// package from one source: neither excludes anything, for the log may be of two runs. What is no
// version ("unknown", "main") is left alone. Errors: RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_versions_add(hsc_versions *versions,
                                          hsc_view package,
                                          hsc_view version,
                                          hsc_versions_source source);
// "jax==0.4.30" or "jax 0.4.30". Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
HSC_MUST_USE hsc_status *hsc_versions_add_text(hsc_versions *versions,
                                               const char *text,
                                               hsc_versions_source source);
// The packages of the Python environment that `program` runs in (a path of a python, else NULL: the
// one that python3 would run in). None = none.
HSC_MUST_USE hsc_status *hsc_versions_add_environment(hsc_versions *versions, const char *program);
// another one when something may have changed
uint64_t hsc_versions_generation(const hsc_versions *versions);
size_t hsc_versions_count(const hsc_versions *versions);
// NULL = unknown, or more than one.
const char *hsc_versions_get(const hsc_versions *versions, const char *package);
// Why the entry cannot be about these versions; NULL = it can. `arena` holds the text; NULL: any
// text.
const char *hsc_versions_exclude(const hsc_versions *versions,
                                 const hsc_entry *entry,
                                 hsc_arena *arena);
// Whether the text is "PACKAGE VERSION", as `since` and `until` hold them.
bool hsc_is_package_version(const char *text);
