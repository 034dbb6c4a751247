// worker_client.h - the lab's side of a worker: starts it, sends jobs, survives its death.
//
// A worker holds one device. It is started by the first call, and again by the next call after it
// died; each start loads the plugin. What a job came to is an answer, whatever happened: done,
// refused by the plugin, or the end of the worker (signal, time limit, memory), with its last
// words. Owned by one thread.
//
//   hsc_lab_worker *w; hsc_answer a;
//   HSC_TRY(hsc_lab_worker_create(&(hsc_lab_worker_options){.device = &spec}, &w));
//   HSC_TRY(hsc_lab_worker_call(w, request, 60 * HSC_SECOND_NS, &a));
//   if (a.outcome == HSC_OUTCOME_OK) ... json_object_get(a.body, "series") ...
//   hsc_answer_deinit(&a);
#pragma once

#include <jansson.h>

#include "base/core/status.h"
#include "base/process/child.h"
#include "worker/answers.h"
#include "worker/device_spec.h"

#define HSC_SECOND_NS INT64_C(1000000000)

typedef struct hsc_lab_worker hsc_lab_worker;

typedef struct hsc_answer hsc_answer;

// What was answered before, by a process that was interrupted: a lab that goes on from it asks
// nobody the same twice.
typedef struct hsc_worker_memory {
  void *user;
  // The answer to this request, as it came. *out_known false: there is none. *out_device: a new
  // reference to what the device said of itself then; NULL = not known.
  hsc_status *(*recall)(void *user,
                        const hsc_device_spec *device,
                        const json_t *request,
                        hsc_answer *out_answer,
                        json_t **out_device,
                        bool *out_known);
  // An answer that just came, within this limit, to the request that `recall` was asked for last.
  void (*keep)(void *user, const hsc_answer *answer, int64_t timeout_ns, json_t *device);
  // Files that answers name in this directory are not needed in this process any more.
  void (*done_with)(void *user, const char *directory);
} hsc_worker_memory;
// done_with; without a memory the directory is emptied.
void hsc_worker_memory_done_with(const hsc_worker_memory *memory, const char *directory);

typedef struct hsc_lab_worker_options {
  const hsc_device_spec *device;  // copied
  const char *executable;         // the hloscope to start; NULL = the running one
  const char *cache_dir;          // of compiled programs; NULL = <cache directory>/executables
  bool no_disk_cache;
  // Of memory in use by the process (resident, looked at every 50 ms of a job): a worker above it
  // is killed, which is HSC_OUTCOME_OUT_OF_MEMORY. 0 = nine tenths of what the machine or our
  // control group has; SIZE_MAX = none.
  size_t memory_limit_bytes;
  // not 0: the job is given up and the worker killed, HSC_OUTCOME_ABORT with CANCELLED; NULL =
  // never
  const volatile int *stop;
  bool without_client;  // load the plugin only: to ask what it is
  bool echo_stderr;     // what it says also goes to our stderr
  // answers are looked for there first: no process is started for those; NULL = none. Borrowed
  const hsc_worker_memory *memory;
} hsc_lab_worker_options;
// Starts nothing yet.
HSC_MUST_USE hsc_status *hsc_lab_worker_create(const hsc_lab_worker_options *options,
                                               hsc_lab_worker **out_worker);
void hsc_lab_worker_destroy(hsc_lab_worker *worker);  // asks it to quit, waits a second, kills

typedef enum hsc_outcome {
  HSC_OUTCOME_OK,
  HSC_OUTCOME_ERROR,          // the job was refused: the plugin's or our error
  HSC_OUTCOME_UNSUPPORTED,    // refused because it is not there: UNIMPLEMENTED
  HSC_OUTCOME_OUT_OF_MEMORY,  // RESOURCE_EXHAUSTED, or killed for memory, by us or by the kernel
  HSC_OUTCOME_ABORT,          // the worker died
  HSC_OUTCOME_TIMEOUT,        // and was killed for it
} hsc_outcome;
// "ok", "error", "unsupported", "out_of_memory", "abort", "timeout"
const char *hsc_outcome_text(hsc_outcome outcome);
hsc_outcome hsc_outcome_of_text(const char *text);  // ERROR for any other text, and for NULL

struct hsc_answer {
  hsc_outcome outcome;
  json_t *body;  // the answer's object when there was one, else NULL
  // NULL when ok; else what happened, pointing into the user's program where it is known
  hsc_status *status;
  bool started;         // this call (re)started the process
  hsc_child_exit exit;  // when it died
  char *log;            // when it died: the end of its stderr, at most 8 KiB; NULL = none
  // when it died: what says why ("Check failed: ... (file.cc:12)"), else the last line; "" =
  // silence
  char *last_words;
};
void hsc_answer_deinit(hsc_answer *answer);
// Takes the status out of an answer, noted with the device.
hsc_status *hsc_answer_take_status(hsc_answer *answer);

// `request` is an object; its "id" is set here. timeout_ns < 0 = no limit. Errors: no process could
// be started, no memory, a full disk (RESOURCE_EXHAUSTED: the job could not write a file, which is
// a fault of neither the program nor the device); everything else is in the answer.
HSC_MUST_USE hsc_status *hsc_lab_worker_call(hsc_lab_worker *worker,
                                             json_t *request,
                                             int64_t timeout_ns,
                                             hsc_answer *out_answer);
// Starts the process and loads the plugin, unless it runs already; the answer is the load job's
// ("start_ns" added: from before the start of the process to its answer to hello). Calls do it by
// themselves.
HSC_MUST_USE hsc_status *hsc_lab_worker_start(hsc_lab_worker *worker, hsc_answer *out_answer);
// Ends the process; the next call starts a new one.
void hsc_lab_worker_stop(hsc_lab_worker *worker);

// The load answer of the running process (platform, versions, times), else the one that came with
// an answer from memory; NULL when there is neither. Borrowed.
json_t *hsc_lab_worker_device(const hsc_lab_worker *worker);
int hsc_lab_worker_start_count(const hsc_lab_worker *worker);
int hsc_lab_worker_pid(const hsc_lab_worker *worker);  // 0 = none runs
const hsc_device_spec *hsc_lab_worker_spec(const hsc_lab_worker *worker);
