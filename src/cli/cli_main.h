// cli_main.h - the whole command line as a function.
#pragma once

// Runs `argv` (argv[0] is the program). Returns the exit code: 0 done, 1 failed, 2 usage, 3 not
// supported here. Closes stdout.
int hsc_cli_main(int argc, char *const *argv);
