// probe_growth.h - hloscope probe --exponent, as text.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// The document of hsc_growth: a headline, the exponents, operators and passes that grow.
HSC_MUST_USE hsc_status *hsc_cli_print_growth(json_t *document, hsc_cli *cli);
