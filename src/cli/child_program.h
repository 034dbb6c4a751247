// child_program.h - the user's program as our child, with the tracer in front of its plugins: what
// `trace` and `profile` share.
#pragma once

#include "cli/command.h"

// Runs `command` with LD_PRELOAD naming the tracer (in front of what is preloaded already) and
// `set` ("NAME=value") in its environment. Ctrl-C is the program's. *out_wait is what waitpid gave.
// Errors: NOT_FOUND (the tracer, the program), PERMISSION_DENIED.
HSC_MUST_USE hsc_status *hsc_cli_run_program(
    hsc_cli *cli, const hsc_list *command, const char *const *set, size_t set_count, int *out_wait);
// What posix_spawn's error means for `program`; NULL for 0.
HSC_MUST_USE hsc_status *hsc_cli_not_started(const char *program, int error);
// Makes the exit code of hloscope that of the program, and says how it ended where it failed: the
// first thing that is said.
void hsc_cli_program_ended(hsc_cli *cli, int waited);
// What went wrong after the program's end is reported; the exit code stays the program's. Frees.
void hsc_cli_tell_of_recording(hsc_cli *cli, hsc_status *status);
// Says what is known to keep programs of this environment from being recorded, if anything is.
void hsc_cli_say_why_nothing(hsc_cli *cli);
// Makes room for a capture at `path`, and says where the earlier one went.
HSC_MUST_USE hsc_status *hsc_cli_set_aside(hsc_cli *cli, const char *path);

// "PYTHONPATH=..." with the folder of our Python hook first (python/hloscope/site); NULL where the
// Python package is not beside hloscope.
const char *hsc_cli_python_hook(hsc_cli *cli);
