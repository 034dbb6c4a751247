// fuzz_numpy.c - any bytes as a .npy or .npz file: arrays that lie within what was read and are as
// large as their shape says, or an error.
#include <stdlib.h>
#include <string.h>

#include "formats/numpy/numpy_file.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_arena *arena = NULL;
  hsc_numpy_array *arrays = NULL;
  size_t count = 0;
  hsc_status *status = hsc_arena_create(&arena);
  if (!status)
    status = hsc_numpy_read((hsc_view){(const char *)data, size}, "input", arena, &arrays, &count);
  volatile unsigned char last = 0;
  for (size_t i = 0; !status && i < count; i++) {
    size_t bytes = arrays[i].item_bytes;
    for (int d = 0; d < arrays[i].rank; d++)
      bytes *= (size_t)arrays[i].dims[d];
    fuzz_said(hsc_view_of(arrays[i].type));
    fuzz_said(arrays[i].data);
    for (int d = 0; d < arrays[i].rank; d++)
      fuzz_said_number("dim", arrays[i].dims[d]);
    if (bytes != arrays[i].data.size || strlen(arrays[i].type) < 3)
      fuzz_broken();
    for (size_t at = 0; at < bytes; at++)  // a sanitizer sees what lies outside
      last = (unsigned char)arrays[i].data.data[at];
  }
  (void)last;
  fuzz_said_status(status);
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  return 0;
}
