// fuzz_knowledge_entry.c - any bytes as an entry of the knowledge base: an entry that holds what
// entries must hold, or an error with its line.
#include <stdlib.h>

#include "doctor/knowledge.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_arena *arena = NULL;
  if (hsc_arena_create(&arena))
    return 0;
  hsc_entry entry;
  hsc_status *status = hsc_entry_parse((hsc_view){(const char *)data, size}, NULL, arena, &entry);
  if (!status) {
    if (!entry.id || !*entry.id || !entry.title || !*entry.meaning || !entry.match_count)
      fuzz_broken();
    for (size_t i = 0; i < entry.match_count; i++)
      if (!entry.matches[i].literal_count)
        fuzz_broken();
    if (!entry.log_count && !entry.program_count)
      fuzz_broken();
    if (entry.rank < 0 || entry.rank > 100)
      fuzz_broken();
  } else if (hsc_status_line(status) < 0) {
    fuzz_broken();
  }
  fuzz_said_status(status);
  if (!status) {
    const char *const texts[] = {entry.id, entry.title, entry.meaning};
    for (size_t i = 0; i < HSC_COUNT_OF(texts); i++)
      fuzz_said(hsc_view_of(texts[i]));
    fuzz_said_number("rank", entry.rank);
    fuzz_said_number("matches", (int64_t)entry.match_count);
    fuzz_said_number("logs", (int64_t)entry.log_count);
    fuzz_said_number("programs", (int64_t)entry.program_count);
  }
  hsc_status_free(status);
  hsc_arena_destroy(arena);
  return 0;
}
