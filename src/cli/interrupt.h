// interrupt.h - Ctrl-C and SIGTERM of commands that end with what they have.
#pragma once

// From here on SIGINT, SIGTERM and SIGHUP end the process as they do by themselves, and no part of
// a file that was being written stays (hsc_file_drop_unfinished).
void hsc_cli_end_cleanly(void);
// From here on an interrupt does not end the process: hsc_cli_stop becomes the signal's number, the
// command ends with what there is, and its exit code is 128 and that number, as a shell's is. A
// second interrupt ends the process at once.
void hsc_cli_catch_interrupt(void);
extern volatile int hsc_cli_stop;  // 0 = none came; the `stop` of what the lab does
