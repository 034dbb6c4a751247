// main.c - hloscope, the program. See cli_main.h.
#include "cli/cli_main.h"

int main(int argc, char **argv) {
  return hsc_cli_main(argc, argv);
}
