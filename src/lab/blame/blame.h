// blame.h - who is at fault when a program is wrong, crashes, hangs or is slow on a device?
//
// One verdict of blame_verdicts.def, with its evidence. The program runs several times and is held
// against the reference evaluator; what rounding may make of it is the bound, and inside it nobody
// is accused. Wrong numbers are followed through the stages of the compile to a pass, or below
// the last one; every symptom is looked for again with each pass that changed the program
// switched off, and on the built-in compiler with fewer and fewer rewrites of the pass.
//
//   hsc_blame_options o = {.program = "m.hlo", .device = &spec, .runs = 5, ...};
//   json_t *document;
//   HSC_TRY(hsc_blame(&o, &document));  // docs/schemas/blame.json
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "lab/reduce/symptom.h"

typedef struct hsc_blame_journal hsc_blame_journal;  // blame_journal.h

typedef struct hsc_blame_options {
  const char *program;            // path
  const hsc_device_spec *device;  // who is under suspicion
  // whose time, memory and compile time are what they should be; NULL = slow, compile, memory
  // cannot be looked for
  const hsc_device_spec *against;
  // runs what the evaluator cannot, or not in time; NULL = nobody
  const hsc_device_spec *substitute;
  const hsc_symptom *symptom;  // NULL = whatever shows: crash, error, hang, wrong
  json_t *overrides;           // compile options of the device; NULL = none. Borrowed
  uint64_t seed;               // of the inputs
  json_t *data;      // inputs in place of the seed's, as jobs take them; NULL = none. Borrowed
  int runs;          // of the device; 0 = 5
  int64_t limit_ns;  // of each job; longer is a hang
  double budget_s;   // of the whole; what is not asked by then is in coverage; 0 = none
  const char *executable;  // to start workers with; NULL = the running one
  void (*progress)(void *user, int64_t done, int64_t total, const char *text);  // may be NULL
  void *user;
  const volatile int *stop;    // NULL = never
  hsc_blame_journal *journal;  // of this blame, to go on from; NULL = nothing is kept
} hsc_blame_options;

// The document of docs/schemas/blame.json. Whatever the program does to the device is in it.
// Errors:
// the program cannot be read, no process could be started, no memory, CANCELLED.
HSC_MUST_USE hsc_status *hsc_blame(const hsc_blame_options *options, json_t **out_document);
// The exit code of a document's "verdict": 0 nobody is at fault, 1 somebody is, 3 cannot be
// determined.
int hsc_blame_exit_code(const char *verdict);
// That of a whole document: nobody is acquitted of what was not compared, so that what would be 0
// is 3 where the coverage has gaps.
int hsc_blame_exit_code_of(const json_t *document);
