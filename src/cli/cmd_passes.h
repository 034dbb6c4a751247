// cmd_passes.h - what the verbs of `hloscope passes` share: their arguments.
#pragma once

#include <jansson.h>

#include "cli/command.h"
#include "lab/passes/passes_list.h"

typedef struct passes_args {
  int verb;
  const char *program, *device, *disable, *enable, *pass_fuel, *output, *pattern, *pipeline, *store,
      *pass, *from, *to, *against, *runner, *highlight, *inputs;
  hsc_list transforms, only, settings, results;
  int64_t fuel, placebos, jobs, processes, blocks, seed, pair_most, repeats;
  double limit_s, budget_s, precision, margin_percent, tolerance;
  int64_t level;
  const char *export_to, *import_from, *denylist;
  const char *not_fused;
  bool remedy;
  int64_t top;
  bool fresh;
  bool changed_only, all, that_changed, no_timing, resume, pairs, with_pipelines, with_rules;
} passes_args;

// The device of --device ($HLOSCOPE_DEVICE, else cpu); not the evaluator.
HSC_MUST_USE hsc_status *hsc__passes_device(const passes_args *args,
                                            hsc_cli *cli,
                                            hsc_device_spec *out_device);
// --option NAME=VALUE, and --disable, as an object of compile options.
HSC_MUST_USE hsc_status *hsc__passes_overrides(const passes_args *args,
                                               hsc_cli *cli,
                                               bool with_disable,
                                               json_t **out_overrides);
// Names of the built-in compiler's passes and pipelines, separated by commas, each with =N after
// it or not. A usage error with the nearest name.
HSC_MUST_USE hsc_status *hsc__passes_check_own(const char *list, hsc_cli *cli);
// The names of --disable must be known to the device's compiler, which takes any name in silence:
// compiles once to see which there are. Nothing without --disable.
HSC_MUST_USE hsc_status *hsc__passes_check_disabled(const passes_args *args,
                                                    hsc_cli *cli,
                                                    const hsc_device_spec *device);

// The verbs: hsc__passes_list and so on, each in its own file.
#define VERB(text, body, argument, examples, what) \
  HSC_MUST_USE hsc_status *hsc__passes_##body(const passes_args *args, hsc_cli *cli);
#include "cli/passes_verbs.def"
#undef VERB
