// write_mutants.c - equal mutants of programs as files, for tools/hunt.py.
//
//   write_mutants COUNT FIRST FOLDER PROGRAM...     FOLDER/<seed>.hlo of seeds FIRST to FIRST +
//                                                   COUNT - 1
//
// A seed takes one of the programs and makes a mutant of it (transform/mutate/mutate.h).
#include <stdlib.h>

#include "base/files/file_io.h"
#include "formats/common/formats.h"
#include "transform/mutate/mutate.h"

static hsc_status *write_one(uint64_t seed, const char *folder, int count, char **programs) {
  hsc_random random;
  hsc_module *module = NULL;
  hsc_bytes text = {0};
  hsc_bytes path = {0};
  hsc_status *status = NULL;
  hsc_random_init(&random, seed);
  HSC_GOTO(hsc_program_read_file(programs[hsc_random_below(&random, (uint64_t)count)], &module));
  HSC_GOTO(hsc_transform_mutate(module, &random));
  hsc_module_print(module, NULL, &text);
  hsc_bytes_printf(&path, "%s/%llu.hlo", folder, (unsigned long long)seed);
  HSC_GOTO(hsc_bytes_status(&path));
  HSC_GOTO(hsc_file_write_atomic(hsc_bytes_text(&path), text.data, text.size));
done:
  hsc_bytes_deinit(&path);
  hsc_bytes_deinit(&text);
  hsc_module_destroy(module);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s COUNT FIRST FOLDER PROGRAM...\n", argv[0]);
    return 2;
  }
  uint64_t count = strtoull(argv[1], NULL, 10);
  uint64_t first = strtoull(argv[2], NULL, 10);
  for (uint64_t seed = first; seed < first + count; seed++) {
    hsc_status *status = write_one(seed, argv[3], argc - 4, argv + 4);
    if (!status)
      continue;
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, hsc_status_message(status));
    hsc_status_free(status);
    return 1;
  }
  return 0;
}
