// fuzz_passes.c - any bytes as what a compiler leaves about its passes: a list or an error, and the
// list holds together.
#include <stdlib.h>

#include "lab/passes/passes_list.h"
#include "rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const hsc_pass_list *list) {
  hsc_pass_totals t = hsc_pass_list_totals(list);
  if (t.runs + t.nested != (int)list->row_count || t.changed > t.runs || t.passes > t.runs)
    fuzz_broken();
  for (size_t i = 0; i < list->row_count; i++)
    if (!list->rows[i].pass || !list->rows[i].pipeline ||
        !strcmp(list->rows[i].pass, "pipeline-start"))
      fuzz_broken();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  hsc_view bytes = {(const char *)data, size};
  for (int reader = 0; reader < 2 && size < (1 << 16); reader++) {
    hsc_pass_list list;
    json_t *document = NULL;
    hsc_status *status = hsc_pass_list_init(&list);
    if (!status && reader == 0)
      status = hsc_pass_list_want_flame(&list);
    if (!status)
      status = reader ? hsc_pass_list_read_metadata(bytes, "fuzz", &list)
                      : hsc_pass_list_read_xspace(bytes, &list);
    if (!status) {
      hsc_pass_list_nest(&list);
      check(&list);
      status = hsc_pass_list_json(&list, "p", "d", &document);
    }
    char *text = document ? json_dumps(document, JSON_SORT_KEYS) : NULL;
    fuzz_said(hsc_view_of(text ? text : "none"));
    free(text);
    fuzz_said_status(status);
    json_decref(document);
    hsc_status_free(status);
    hsc_pass_list_deinit(&list);
  }
  return 0;
}
