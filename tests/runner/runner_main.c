// runner_main.c - the main of a folder's test programs; RUNNER_PROGRAMS names the generated file
// with a row PROGRAM(name) for each.
#include "runner.h"

#define PROGRAM(name) int name(int argc, char **argv);
#include RUNNER_PROGRAMS
#undef PROGRAM

static const runner_program programs[] = {
#define PROGRAM(name) {#name, name},
#include RUNNER_PROGRAMS
#undef PROGRAM
};

int main(int argc, char **argv) {
  const runner_program *program =
      runner_pick(programs, sizeof programs / sizeof programs[0], &argc, &argv);
  return program ? program->run(argc, argv) : 2;
}
