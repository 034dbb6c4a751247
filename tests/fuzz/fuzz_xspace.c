// fuzz_xspace.c - any bytes: a profile whose tables can be made, or an error; a copy of its planes
// reads the same. Never a read outside.
#include <stdlib.h>

#include "views/profile.h"
#include "views/profile_tensorboard.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy_reads_the_same(const hsc_xspace *space) {
  hsc_bytes copy = {0};
  hsc_xwriter w;
  hsc_status *status = hsc_xwriter_init(&w, &copy);
  for (int32_t i = 0; i < space->plane_count && !status; i++)
    hsc_xwriter_copy_plane(&w, &space->planes[i], NULL, NULL);
  if (!status)
    hsc_xwriter_copy_rest(&w, space);
  hsc_xspace *again = NULL;
  if (!status)
    status = hsc_xspace_of(hsc_bytes_view(&copy), "copy", &again);
  if (!status && !space->damage && again->plane_count != space->plane_count)
    fuzz_broken();
  hsc_status_free(status);
  hsc_xspace_close(again);
  hsc_xwriter_deinit(&w);
  hsc_bytes_deinit(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_xspace *space = NULL;
  hsc_status *status = hsc_xspace_of((hsc_view){(const char *)data, size}, "fuzz", &space);
  fuzz_said_status(status);
  if (status) {
    hsc_status_free(status);
    return 0;
  }
  copy_reads_the_same(space);
  hsc_profile *profile = NULL;
  status = hsc_profile_of(space, &profile);
  for (int view = 0; view < HSC_PROFILE_VIEW_COUNT && !status; view++) {
    hsc_table *table = NULL;
    hsc_profile_options options = {.open_fusions = true, .by_device = view & 1};
    status = hsc_profile_table(profile, (hsc_profile_view_id)view, &options, &table);
    hsc_bytes out = {0};
    if (!status)
      status = hsc_table_print(table, HSC_FORMAT_JSON, NULL, &out);
    fuzz_said(hsc_bytes_view(&out));
    hsc_bytes_deinit(&out);
    hsc_table_destroy(table);
  }
  hsc_bytes exported = {0};
  if (!status)
    status = hsc_profile_write_tensorboard(profile, 0, size & 1, &exported);
  fuzz_said(hsc_bytes_view(&exported));
  fuzz_said_status(status);
  hsc_bytes_deinit(&exported);
  hsc_status_free(status);
  hsc_profile_close(profile);
  return 0;
}
