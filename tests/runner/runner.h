// runner.h - several test programs in one executable: an edit of a library relinks the executable
// once, not each program.
//
// A folder's meson.build lists its programs. Each keeps its own main(), compiled as
// test_<name>(), and a row PROGRAM(test_<name>) in a generated file; a link with the program's name
// is in the build folder, so `build/tests/unit/test_arena .` runs it. Every program still runs
// in a process of its own.
#pragma once

#include <stddef.h>

typedef struct {
  const char *name;
  int (*run)(int argc, char **argv);
} runner_program;

// The program that the call names: by the name of the executable (a link), or else by the first
// argument, which is then taken out of *argc and *argv. NULL with the names on stderr when neither
// is one of them. What is returned belongs to `programs`.
const runner_program *runner_pick(const runner_program *programs,
                                  size_t count,
                                  int *argc,
                                  char ***argv);
