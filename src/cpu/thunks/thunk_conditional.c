// thunk_conditional.c - runs the thunks of one of its branches.
#include "cpu/thunks/thunk_kinds.h"
#include "cpu/thunks/thunk_payloads.h"

hsc_status *hsc__cpu_run_conditional(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_conditional *conditional = hsc__cpu_data(frame, thunk);
  const void *selector = hsc__cpu_input(frame, thunk, 0);
  int32_t branch;
  if (conditional->is_predicate) {
    branch = *(const uint8_t *)selector ? 0 : 1;
  } else {
    // Out of range selects the last branch.
    branch = *(const int32_t *)selector;
    if (branch < 0 || branch >= conditional->branch_count)
      branch = conditional->branch_count - 1;
  }
  int32_t at = (int32_t)(thunk - frame->executable->thunks) + 1;
  for (int32_t b = 0; b < branch; b++)
    at += conditional->thunk_counts[b];
  return hsc__cpu_run_range(frame, at, at + conditional->thunk_counts[branch]);
}

bool hsc__cpu_check_conditional(hsc_cpu_payload *p) {
  const hsc_cpu_conditional *c = p->data;
  if (p->bytes < sizeof *c || c->branch_count < 1 || p->thunk->input_count != 1)
    return false;
  if ((size_t)c->branch_count > (p->bytes - sizeof *c) / sizeof c->thunk_counts[0])
    return false;
  return hsc__payload_blocks(p, c->thunk_counts, c->branch_count) &&
         hsc__payload_reads(p, 0, c->is_predicate ? 1 : 4);
}
