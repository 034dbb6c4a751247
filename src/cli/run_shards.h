// run_shards.h - what `hloscope run` says of a program of several partitions.
#pragma once

#include <jansson.h>

#include "cli/command.h"

// One sentence: partitions, mesh, what a chip computes and holds, whether it fits. Nothing where a
// device's program is for one partition. True when it printed.
bool hsc_run_shards_headline(hsc_cli *cli, json_t *device);
// The chip, the mesh with what each axis costs, the collectives, the buffers at the peak.
HSC_MUST_USE hsc_status *hsc_run_shards_print(hsc_cli *cli, json_t *device);
