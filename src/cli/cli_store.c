// cli_store.c - the result store of a command, or a substitute with a note.
#include "cli/command.h"
#include "lab/store/store.h"

hsc_status *hsc_cli_store_open(hsc_cli *cli, const char *path, hsc_store **out_store) {
  hsc_status *status = hsc_store_open(path, out_store);
  if (!status || path || hsc_status_code(status) == HSC_RESOURCE_EXHAUSTED)
    return status;
  hsc_cli_say(cli, "results are not kept: %s", hsc_status_message(status));
  if (hsc_status_hint_text(status))
    hsc_cli_say(cli, "  hint: %s", hsc_status_hint_text(status));
  hsc_status_free(status);
  return hsc_store_open(":memory:", out_store);
}
