// document.h - the JSON document of a command, on stdout.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// Writes it with an indentation of two and a newline at its end. Errors: RESOURCE_EXHAUSTED, with
// nothing written; a NULL document is one that there was no memory for.
HSC_MUST_USE hsc_status *hsc_cli_document(hsc_cli *cli, const json_t *document);
// The same, with the command line under "command": how to make it again.
HSC_MUST_USE hsc_status *hsc_cli_document_of_command(hsc_cli *cli, json_t *document);
