// document.c - the JSON document of a command, on stdout.
#include "cli/document.h"

#include "lab/run/json_tree.h"

hsc_status *hsc_cli_document(hsc_cli *cli, const json_t *document) {
  hsc_bytes out = {0};
  hsc_json json;
  hsc_json_init(&json, &out, 2);
  hsc_json_tree(&json, document);
  hsc_bytes_append_char(&out, '\n');
  hsc_status *status = document ? hsc_bytes_status(&out) : hsc_status_out_of_memory();
  if (!status)
    hsc_cli_put(cli, &out);
  hsc_bytes_deinit(&out);
  return status;
}

hsc_status *hsc_cli_document_of_command(hsc_cli *cli, json_t *document) {
  if (document)
    json_object_set_new(document, "command", json_string(cli->command_line));
  return hsc_cli_document(cli, document);
}
