// report_lead.h - the first view of a document on the report page (report/page_lead.h).
#pragma once

#include <jansson.h>

#include "report/hlo_stages.h"
#include "report/page_lead.h"

// Fills `out_lead` from a document of the kind (a kind of the report page; `document` is borrowed
// and may lack or misname anything). A kind that has no first view of its own leaves it empty.
// `out_lead` is zeroed by the caller, and deinitialised by it.
void hsc_report_lead(const char *kind, const json_t *document, hsc_page_lead *out_lead);
// The same of the dumps of a compile.
void hsc_report_lead_of_stages(const hsc_hlo_stages *stages, hsc_page_lead *out_lead);
