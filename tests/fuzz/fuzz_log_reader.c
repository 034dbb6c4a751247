// fuzz_log_reader.c - any bytes as a log: no crash, and what is found does not depend on the pieces
// in which they come.
#include <stdlib.h>

#include "doctor/log_reader.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hsc_log_reader *read_in_pieces(const hsc_knowledge *kb,
                                      const uint8_t *data,
                                      size_t size,
                                      size_t piece) {
  hsc_log_reader *reader = NULL;
  hsc_status *status = hsc_log_reader_create(kb, NULL, &reader);
  for (size_t at = 0; at < size && !status; at += piece)
    status = hsc_log_reader_feed(reader, data + at, size - at < piece ? size - at : piece);
  if (!status)
    status = hsc_log_reader_finish(reader);
  if (!status)
    return reader;
  fuzz_broken();
  hsc_status_free(status);
  hsc_log_reader_destroy(reader);
  return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hsc_knowledge *kb;
  if (!kb && hsc_knowledge_load(NULL, &kb))
    abort();
  if (size < 1)
    return 0;
  hsc_log_reader *whole = read_in_pieces(kb, data, size, size);
  hsc_log_reader *pieces = read_in_pieces(kb, data, size, 1 + data[0] % 64);
  if (!whole || !pieces) {
    hsc_log_reader_destroy(whole);
    hsc_log_reader_destroy(pieces);
    return 0;
  }
  const hsc_log_report *a = hsc_log_reader_report(whole);
  const hsc_log_report *b = hsc_log_reader_report(pieces);
  if (a->lines != b->lines || a->bytes != size || a->finding_count != b->finding_count ||
      a->compiles != b->compiles)
    fuzz_broken();
  fuzz_said_number("compiles", a->compiles);
  for (size_t i = 0; i < a->finding_count; i++) {
    fuzz_said(hsc_view_of(a->findings[i]->entry->id));
    fuzz_said_number(" count", (int64_t)a->findings[i]->count);
    fuzz_said_number("line", (int64_t)a->findings[i]->first_line);
  }
  for (size_t i = 0; i < a->finding_count && i < b->finding_count; i++)
    if (a->findings[i]->entry != b->findings[i]->entry ||
        a->findings[i]->count != b->findings[i]->count ||
        a->findings[i]->first_line != b->findings[i]->first_line)
      fuzz_broken();
  hsc_log_reader_destroy(whole);
  hsc_log_reader_destroy(pieces);
  return 0;
}
