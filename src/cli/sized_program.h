// sized_program.h - --dim: programs with symbolic dimensions, as the static ones that they are with
// the sizes that are given.
#pragma once

#include "cli/command.h"
#include "formats/common/formats.h"

// True when the command takes programs, and so --dim.
bool hsc_command_takes_programs(const hsc_command *command);
// Replaces each program among the positional arguments (rows: `options`) by a copy with sizes of
// cli->dims, in the folder `sized` of the cache: NAME.b=8.hlo.pb. Errors: those of reading; a usage
// error for what is no size.
HSC_MUST_USE hsc_status *hsc_cli_size_programs(hsc_cli *cli, const hsc_option *options, void *args);
// cli->dims as sizes, in cli->arena.
HSC_MUST_USE hsc_status *hsc_cli_read_sizes(hsc_cli *cli, hsc_dim_size **out_sizes);
// What is wrong with running the program at `path` as it is: dimensions without a size. Looks at a
// program only where its bytes hold a sign of such.
HSC_MUST_USE hsc_status *hsc_cli_check_sizes(hsc_cli *cli, const char *path);
