// symptom.h - does this program show this symptom on this device?
//
// An observer holds a worker of the device and one of the reference, so that a look costs no more
// than a compile and a run; whatever the program does to them is what was seen. It belongs to one
// thread at a time; several observers look at several programs at once.
//
//   hsc_symptom s;  hsc_observer *o;  hsc_observation seen = {0};
//   HSC_TRY(hsc_symptom_parse("wrong", arena, &s));
//   HSC_TRY(hsc_observer_create(&(hsc_observer_options){.device = &spec, ...}, &o));
//   HSC_TRY(hsc_observer_look(o, &s, &(hsc_looked_at){.path = "p.hlo"}, &seen));
//   ... seen.shows, seen.text ("output 0: element 3 is 1, must be 3") ...
//   hsc_observation_deinit(&seen);
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "worker/worker_client.h"

typedef enum hsc_symptom_kind {
#define SYMPTOM(id, name, argument, doc) HSC_SYMPTOM_##id,
#include "lab/reduce/symptoms.def"
#undef SYMPTOM
  HSC_SYMPTOM_COUNT
} hsc_symptom_kind;

typedef struct hsc_symptom {
  hsc_symptom_kind kind;
  const char *text;     // as written
  double factor;        // SLOW, COMPILE, MEMORY: 2 without; COMPILE without a reference: seconds
  const char *pass;     // FIRES
  const char *op;       // UNFUSED: the operation that stays by itself; NULL = no fusion at all
  const char *command;  // COMMAND: for sh -c; {} and $HLOSCOPE_CANDIDATE are the file
  // CRASH, ERROR: what the first look saw, which every other must see too; NULL = any
  const char *signature;
} hsc_symptom;
const char *hsc_symptom_name(hsc_symptom_kind kind);
// "wrong", "slow:3", "fires:algsimp". Errors: INVALID_ARGUMENT with what there is.
HSC_MUST_USE hsc_status *hsc_symptom_parse(const char *text,
                                           hsc_arena *arena,
                                           hsc_symptom *out_symptom);

// Whether a clock decides: then other work of the machine can show it once by chance.
bool hsc_symptom_is_timed(const hsc_symptom *symptom);

typedef struct hsc_observer hsc_observer;
typedef struct hsc_observer_options {
  const hsc_device_spec *device;     // copied; NULL with HSC_SYMPTOM_COMMAND only
  const hsc_device_spec *reference;  // copied; NULL = the reference evaluator
  // asked where the reference takes longer than its limit; NULL = nobody
  const hsc_device_spec *substitute;
  json_t *overrides;                // compile options of the device, by XLA's names; NULL = none
  const char *executable;           // to start workers with; NULL = the running one
  const char *scratch;              // a directory of its own, which stays when it is gone
  uint64_t seed;                    // of inputs that are not given
  int64_t limit_ns;                 // of each job of the device; 0 = 20 s
  int64_t reference_limit_ns;       // 0 = 20 s
  size_t memory_limit_bytes;        // of a worker; 0 = nine tenths of the machine
  const hsc_worker_memory *memory;  // answers are looked for there first; NULL = none
  const volatile int *stop;
} hsc_observer_options;
HSC_MUST_USE hsc_status *hsc_observer_create(const hsc_observer_options *options,
                                             hsc_observer **out_observer);
void hsc_observer_destroy(hsc_observer *observer);
// Ends its processes: the next look is made by new ones, which owe nothing to those before.
void hsc_observer_renew(hsc_observer *observer);

typedef struct hsc_looked_at {
  const char *path;  // of the program; workers read it
  json_t *data;      // of its inputs, as jobs take it (docs/formats/worker.md); NULL = as seeded
  int64_t instructions;  // of the program; 0 = unknown: a hang is then waited for to the limit
  double work;  // operations and bytes by the cost model; 0 = unknown: any reference is asked
} hsc_looked_at;

typedef struct hsc_observation {
  bool shows;
  bool known;       // false: could not be determined, and `text` says why; shows is false then
  bool by_chance;   // not known because the reference's process ended: another look may tell
  char *text;       // what was seen, in one line; heap
  char *signature;  // CRASH, ERROR: what makes it the same; heap; else NULL
  double value;     // the difference, the factor, seconds or bytes; NaN = none
} hsc_observation;
void hsc_observation_deinit(hsc_observation *observation);
// Errors: no process could be started, no memory, an unwritable file, CANCELLED. Whatever
// the program does is in *out_observation.
HSC_MUST_USE hsc_status *hsc_observer_look(hsc_observer *observer,
                                           const hsc_symptom *symptom,
                                           const hsc_looked_at *program,
                                           hsc_observation *out_observation);

// What a program costs on the device, or on the reference: seconds of a run (SLOW) or of its
// compilation (COMPILE), bytes (MEMORY); NaN where it cannot be measured. Errors: as
// hsc_observer_look's.
HSC_MUST_USE hsc_status *hsc_observer_cost(hsc_observer *observer,
                                           const hsc_symptom *symptom,
                                           const hsc_looked_at *program,
                                           bool on_reference,
                                           double *out_cost);
// The outputs of a program on the reference (else its substitute): the worker's "outputs", with
// files below `directory`. *out_outputs NULL when it cannot be run there; *out_why (heap) says why.
HSC_MUST_USE hsc_status *hsc_observer_reference(hsc_observer *observer,
                                                const hsc_looked_at *program,
                                                const char *directory,
                                                json_t **out_outputs,
                                                char **out_why);
