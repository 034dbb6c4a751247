// same_again.h - what every fuzz target of a program format asks of a module that was read: its
// text reads again with the same meaning.
#pragma once

#include <stdio.h>

#include "formats/common/formats.h"
#include "rules.h"

static inline void fuzz_same_again(const hsc_module *module, hsc_format format) {
  hsc_module *again = NULL;
  hsc_bytes out = {0};
  hsc_status *status = hsc_program_write(module, format, &out);
  fuzz_said_status(status);
  if (format == HSC_FORMAT_HLO_TEXT)
    fuzz_said(hsc_bytes_view(&out));
  if (!status) {
    status = hsc_program_read_as(format, hsc_bytes_view(&out), "again", &again);
    if (status) {
      fprintf(stderr, "%s\n%s\n", hsc_status_message(status), hsc_bytes_text(&out));
      fuzz_broken();
      hsc_status_free(status);
      hsc_bytes_deinit(&out);
      return;
    }
    hsc_hash128 first = hsc_module_fingerprint(module);
    hsc_hash128 second = hsc_module_fingerprint(again);
    if (first.low != second.low || first.high != second.high) {
      fprintf(stderr, "fingerprints differ\n%s\n", hsc_bytes_text(&out));
      fuzz_broken();
    }
    hsc_module_destroy(again);
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&out);
}

// To StableHLO and back: what one writer accepts the reader takes, if only to refuse it with a
// reason.
static inline void fuzz_through_mlir(const hsc_module *module) {
  static const struct {
    hsc_format format;
    hsc_write_options options;
  } ways[] = {{HSC_FORMAT_MLIR_TEXT, {{0}, false, true}},
              {HSC_FORMAT_MLIR_TEXT, {{0}, true, false}},
              {HSC_FORMAT_MLIR_BYTECODE, {{1, 20, 0}, false, false}},
              {HSC_FORMAT_MLIR_BYTECODE, {{0, 12, 0}, false, false}}};
  for (size_t i = 0; i < HSC_COUNT_OF(ways); i++) {
    hsc_module *again = NULL;
    hsc_bytes out = {0};
    hsc_bytes notes = {0};
    hsc_status *status =
        hsc_program_write_with(module, ways[i].format, &ways[i].options, &notes, &out);
    fuzz_said_status(status);
    fuzz_said(hsc_bytes_view(&notes));
    if (ways[i].format == HSC_FORMAT_MLIR_TEXT)
      fuzz_said(hsc_bytes_view(&out));
    if (!status)
      status = hsc_program_read_as(ways[i].format, hsc_bytes_view(&out), "again", &again);
    fuzz_said_status(status);
    if (!status)
      hsc_module_destroy(again);
    hsc_status_free(status);
    hsc_bytes_deinit(&out);
    hsc_bytes_deinit(&notes);
  }
}
