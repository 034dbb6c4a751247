// The reader of protocol buffers in text form, and of autotune results and denylists on top of it:
// no crash, and what is written again is the same.
#include <stdint.h>
#include <stdlib.h>

#include "formats/common/autotune_results.h"
#include "formats/common/textproto.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_view text = {(const char *)data, size};
  hsc_arena *arena = NULL;
  const hsc_textproto *fields = NULL;
  hsc_autotune_entry *entries = NULL;
  hsc_autotune_entry *again = NULL;
  hsc_autotune_denied *denied = NULL;
  int count = 0;
  int denied_count = 0;
  int count_again = 0;
  hsc_status_free(hsc_arena_create(&arena));
  if (!arena)
    return 0;
  hsc_status *status = hsc_textproto_parse(text, "fuzz", arena, &fields);
  fuzz_said_status(status);
  hsc_status_free(status);
  status = hsc_autotune_denylist_read(text, "fuzz", arena, &denied, &denied_count);
  fuzz_said_status(status);
  for (int i = 0; !status && i < denied_count; i++)
    fuzz_said_number(denied[i].hlo ? denied[i].hlo : "", denied[i].algorithm);
  hsc_status_free(status);
  status = hsc_autotune_read(text, "fuzz", arena, &entries, &count);
  fuzz_said_status(status);
  if (!status) {
    hsc_bytes first = {0};
    hsc_bytes second = {0};
    hsc_autotune_logs_write(entries, count, &first);
    fuzz_said(hsc_bytes_view(&first));
    hsc_status *broken =
        first.size ? hsc_autotune_read(hsc_bytes_view(&first), "fuzz", arena, &again, &count_again)
                   : NULL;
    if (broken || (first.size && count_again != count))
      fuzz_broken();
    if (first.size && !broken) {
      hsc_autotune_logs_write(again, count_again, &second);
      if (first.size != second.size || memcmp(first.data, second.data, first.size))
        fuzz_broken();
    }
    hsc_status_free(broken);
    hsc_bytes_deinit(&first);
    hsc_bytes_deinit(&second);
  }
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  return 0;
}
