// hlo_snippets.h - for tests that read tests/conformance/hlo: one instruction over the values of
// prelude.hlo at a time.
#pragma once

#include "base/files/file_io.h"
#include "unit.h"

#include "formats/common/formats.h"

// The whole of a file under tests/conformance/hlo; the caller frees it.
static inline char *read_conformance(const char *source_dir, const char *name) {
  char path[512];
  hsc_bytes bytes = {0};
  snprintf(path, sizeof path, "%s/tests/conformance/hlo/%s", source_dir, name);
  EXPECT_OK(hsc_file_read(path, &bytes));
  return hsc_bytes_take(&bytes);
}

// The prelude with this instruction as the root of the entry computation, parsed but not verified.
static inline hsc_status *parse_snippet(const char *prelude,
                                        const char *instruction,
                                        hsc_module **out_module) {
  hsc_bytes text = {0};
  hsc_bytes_printf(&text, "%s  ROOT %%result = %s\n}\n", prelude, instruction);
  hsc_status *status = hsc_hlo_text_parse(hsc_bytes_view(&text), NULL, out_module);
  hsc_bytes_deinit(&text);
  return status;
}

// Splits "question => answer\n..." in place, line by line: false at the end.
static inline bool next_row(char **at, char **out_question, char **out_answer) {
  char *end = strchr(*at, '\n');
  char *arrow = strstr(*at, " => ");
  if (!end || !arrow || arrow > end)
    return false;
  *end = *arrow = 0;
  *out_question = *at;
  *out_answer = arrow + 4;
  *at = end + 1;
  return true;
}
