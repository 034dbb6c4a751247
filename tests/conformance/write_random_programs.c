// write_random_programs.c - random programs (unit/random_module.h) as files, for tools/hunt.py and
// tests/faults/measure.py.
//
//   write_random_programs COUNT FIRST FOLDER [INSTRUCTIONS]
//
// FOLDER/<seed>.hlo of seeds FIRST to FIRST + COUNT - 1, with about so many instructions in the
// entry computation.
#include <stdlib.h>

#include "base/files/file_io.h"
#include "random_module.h"

static hsc_status *write_one(uint64_t seed, const char *folder, int instructions) {
  random_module_options options = random_module_options_varied(seed);
  if (instructions > 0)
    options.instruction_count = instructions;
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  hsc_bytes path = {0};
  HSC_TRY(random_module_create(seed, &options, &module));
  hsc_module_print(module, NULL, &text);
  hsc_bytes_printf(&path, "%s/%llu.hlo", folder, (unsigned long long)seed);
  hsc_status *status = hsc_bytes_status(&path);
  if (!status)
    status = hsc_file_write_atomic(hsc_bytes_text(&path), text.data, text.size);
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  return status;
}

int main(int argc, char **argv) {
  if (argc != 4 && argc != 5) {
    fprintf(stderr, "usage: %s COUNT FIRST FOLDER [INSTRUCTIONS]\n", argv[0]);
    return 2;
  }
  uint64_t count = strtoull(argv[1], NULL, 10);
  uint64_t first = strtoull(argv[2], NULL, 10);
  int instructions = argc == 5 ? atoi(argv[4]) : 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    hsc_status *status = write_one(seed, argv[3], instructions);
    if (!status)
      continue;
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, hsc_status_message(status));
    hsc_status_free(status);
    return 1;
  }
  return 0;
}
