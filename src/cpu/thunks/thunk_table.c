// thunk_table.c - the rows of thunks.def (see thunk_kinds.h).
#include "cpu/thunks/thunk_kinds.h"

#define CHOOSER_INSERTED(name) NULL
#define CHOOSER_CHOSEN(name) hsc__cpu_choose_##name
#define NEEDS_ALONE false
#define NEEDS_MODULE true
const hsc_cpu_thunk_row hsc__cpu_thunk_rows[HSC_CPU_THUNK_COUNT] = {
#define THUNK(id, name, choose, module, doc) \
  {#name, CHOOSER_##choose(name), hsc__cpu_run_##name, hsc__cpu_check_##name, NEEDS_##module},
#include "cpu/core/thunks.def"
#undef THUNK
};
