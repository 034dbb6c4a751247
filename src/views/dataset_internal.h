// dataset_internal.h - what the tables of a data set share.
#pragma once

#include "views/dataset.h"

// dataset_stragglers.c: fills the view of that name.
HSC_MUST_USE hsc_status *hsc__dataset_stragglers(const char *path, size_t limit, hsc_table *table);
