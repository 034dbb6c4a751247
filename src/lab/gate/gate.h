// gate.h - did a change make a program slower, larger or wrong? Programs against a baseline file.
//
//   HSC_TRY(hsc_gate_run(&(hsc_gate_options){.baseline = "gate.json", .device = "cpu",
//                                            .programs = files, .program_count = n}, &document));
//
// A program is measured in several processes, since processes differ (where memory lies) and runs
// within one share that. Each gives its least processor time of a block of runs, the processor
// time of a compile, the memory and the outputs. Against the baseline's build (`against`), the two
// take turns, process by process; else the baseline's own processes are what the file keeps, and
// time is compared on the machine that made it only.
#pragma once

#include <jansson.h>

#include "lab/devices/devices.h"
#include "stats/stats.h"

typedef struct hsc_gate_options {
  const char *baseline;         // path of the file, or a revision of the repository
  bool update;                  // write it in place of comparing
  const char *const *programs;  // [program_count] paths, by which the file knows them
  size_t program_count;
  const char *const *command;  // [command_count] in place of programs; NULL = programs
  size_t command_count;
  const char *device;      // as --device takes it
  const char *against;     // the baseline's build as a device, to take turns with; NULL = the file
  double margin;           // a change of time or memory that is let pass, as a share
  int turns;               // processes a look, at least 6; an open verdict takes up to three looks
  double limit_s;          // of a job
  const char *executable;  // to start workers with; NULL = the running one
  void (*progress)(void *user, int64_t done, int64_t total, const char *program);  // may be NULL
  void *user;
} hsc_gate_options;

// docs/schemas/gate.json. A program that fails on the device is "wrong", with the message.
// Errors: the baseline (NOT_FOUND, DATA_LOSS where it is not one, INVALID_ARGUMENT where it is of
// another device), the device's, no memory, an unwritable file.
HSC_MUST_USE hsc_status *hsc_gate_run(const hsc_gate_options *options, json_t **out_document);

// 1 when a program is slower or wrong, else 3 when one is unknown, else 0.
int hsc_gate_exit_code(const json_t *document);

typedef struct hsc_gate_change {
  hsc_interval ratio;  // of times, now over before
  hsc_verdict verdict;
} hsc_gate_change;
// Times of processes, now against before. paired: now[i] and before[i] took turns, and their
// ratios are what varies; else the two sides are independent (Welch 1947) and `drift`, a share,
// is what two sessions on one machine may differ by: it widens the interval. The interval is
// Student's, of trimmed means of log times (Yuen 1974), at 99.97 %, so that three looks raise
// false alarms in under 1 of 1000 unchanged programs. slower: the interval lies above 1 and the
// ratio above 1 + margin / 2; faster: mirrored; same: the interval lies within the margin; else
// cannot tell (also with fewer than 6 processes).
hsc_gate_change hsc_gate_compare(const double *now,
                                 size_t now_count,
                                 const double *before,
                                 size_t before_count,
                                 bool paired,
                                 double drift,
                                 double margin);
