// doctor.h - checks of the environment, each with a verdict, its evidence and what to do.
//
// The rows are in checks.def. hsc_check_run runs one check in this process; it may hang on a broken
// device, so callers run it in a process of its own with the row's limit (cmd_doctor.c does).
// Nothing here changes the machine.
#pragma once

#include "base/core/status.h"

typedef enum hsc_verdict {
  HSC_VERDICT_NOT_APPLICABLE,
  HSC_VERDICT_OK,
  HSC_VERDICT_WARNING,
  HSC_VERDICT_ERROR
} hsc_verdict;
const char *hsc_verdict_name(hsc_verdict verdict);  // "not_applicable", "ok", "warning", "error"

typedef struct hsc_check {
  const char *id, *group, *doc;
  bool quick;
  int64_t limit_ns;
} hsc_check;
size_t hsc_check_count(void);
const hsc_check *hsc_check_at(size_t index);

typedef struct hsc_check_options {
  // "" or a directory that stands for / : its /proc, /sys, /dev, homes; the environment then is its
  // proc/self/environ
  const char *root;
  const char *script;  // a Python program for late-settings; NULL = none
  bool quick;          // no search through large files
} hsc_check_options;

typedef struct hsc_check_result {
  hsc_verdict verdict;
  char *evidence, *fix;  // heap; fix may be ""
} hsc_check_result;
void hsc_check_result_deinit(hsc_check_result *result);
// Errors: RESOURCE_EXHAUSTED only; what a check cannot find out is said in its evidence.
HSC_MUST_USE hsc_status *hsc_check_run(size_t index,
                                       const hsc_check_options *options,
                                       hsc_check_result *out_result);
