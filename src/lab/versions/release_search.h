// release_search.h - which release changed what a program does: ends, halves, what differs.
//
// Every release that is tried is a device of its own (xla-cpu@0.7.1). Whether it is good or bad is
// a symptom's word (symptom.h), or for time and compile time its place between the two levels that
// the ends show. Noisy values are taken again until their interval is on one side. Releases that
// cannot run say why and are stepped over.
//
// A program in several sizes is judged by the exponent of its time as well as by the time of the
// largest (lab/probe/growth.h).
//
//   hsc_versions_options o = {.programs = files, .program_count = 1, .of = "jaxlib",
//                             .from = "0.7.0", .to = "0.9.0"};
//   json_t *document;
//   HSC_TRY(hsc_versions(&o, &document));      // docs/schemas/versions.json
#pragma once

#include "lab/reduce/symptom.h"
#include "lab/store/store.h"

typedef struct hsc_versions_options {
  const char *const *programs;  // [program_count] paths: one, or one in several sizes
  size_t program_count;
  const char *sizes;      // as hsc_growth_options.sizes; NULL = told by the files, or one size
  const char *of;         // package; NULL = the device's
  const char *device;     // without its release; NULL = the package's
  const char *from, *to;  // releases; NULL = the oldest, the newest that there is
  // WRONG, CRASH, ERROR, HANG as they are; SLOW, COMPILE, MEMORY against the other end, whose share
  // counts
  hsc_symptom symptom;
  bool all;           // every release between, not only those that find the changes
  int64_t most;       // releases that are tried; 0 = no limit
  json_t *overrides;  // compile options; NULL = none
  uint64_t seed;
  json_t *data;             // of one program's inputs (hsc_given_inputs_read); NULL = the seed's
  const char *inputs_file;  // what `data` is from, for the document; NULL = none
  int64_t limit_ns;         // of a job; 0 = 60 s
  const char *executable;   // to start workers with; NULL = the running one
  const char *command;      // for the store
  hsc_store *store;         // NULL = nothing is kept
  void (*progress)(void *user, const char *version, const char *text);
  void *user;
  const volatile int *stop;
} hsc_versions_options;

// Errors: INVALID_ARGUMENT (no such release: with the nearest), NOT_FOUND (fewer than two releases
// between), UNAVAILABLE (no index, nothing there), CANCELLED (what was tried is in the store).
HSC_MUST_USE hsc_status *hsc_versions(const hsc_versions_options *options, json_t **out_document);
