// runner.c - finds the program that a call names; see runner.h.
#include "runner.h"

#include <stdio.h>
#include <string.h>

static const runner_program *find(const runner_program *programs, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(programs[i].name, name) == 0)
      return &programs[i];
  return NULL;
}

const runner_program *runner_pick(const runner_program *programs,
                                  size_t count,
                                  int *argc,
                                  char ***argv) {
  const char *slash = strrchr((*argv)[0], '/');
  const runner_program *program = find(programs, count, slash ? slash + 1 : (*argv)[0]);
  if (program)
    return program;
  if (*argc > 1)
    program = find(programs, count, (*argv)[1]);
  if (program) {
    (*argc)--;
    (*argv)++;
    return program;
  }
  fprintf(stderr, "usage: %s PROGRAM [ARGUMENT]...\nprograms:", (*argv)[0]);
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, " %s", programs[i].name);
  fprintf(stderr, "\n");
  return NULL;
}
