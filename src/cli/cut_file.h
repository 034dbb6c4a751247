// cut_file.h - a mapped file that another process cuts short while it is read.
#pragma once

// From now on the program ends with a message that names the file, and exit code 1, where the
// kernel would end it by SIGBUS. For the program alone, never for a host; programs that it starts
// are as before. Other causes of SIGBUS are left as they are.
void hsc_cli_watch_cut_files(void);
