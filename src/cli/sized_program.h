// sized_program.h - --dim: programs with symbolic dimensions, as the static ones that they are with
// the sizes that are given.
#pragma once

#include "cli/command.h"

// True when the command takes programs, and so --dim.
bool hsc_command_takes_programs(const hsc_command *command);
// Replaces each program among the positional arguments by a copy with sizes, in the folder `sized`
// of the cache: NAME.b=8.hlo.pb. Programs whose shapes are all known stay as they are, unless none
// has a symbolic dimension. Errors: those of reading; a usage error for what is no size.
HSC_MUST_USE hsc_status *hsc_cli_size_programs(hsc_cli *cli,
                                               const hsc_command *command,
                                               void *args,
                                               const hsc_list *dims);
// What is wrong with running the program at `path` as it is: dimensions without a size. Looks at a
// program only where its bytes hold a sign of such.
HSC_MUST_USE hsc_status *hsc_cli_check_sizes(hsc_cli *cli, const char *path);
