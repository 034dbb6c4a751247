// plugin_entry.c - the shared library's one exported symbol; the table itself is in plugin_table.c.
#include "plugin/plugin_internal.h"

HSC_EXPORT const PJRT_Api *GetPjrtApi(void);
const PJRT_Api *GetPjrtApi(void) { return hsc__plugin_table(); }
