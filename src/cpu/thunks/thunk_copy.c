// thunk_copy.c - copies a value to another slot.
#include "cpu/thunks/thunk_kinds.h"

hsc_status *hsc__cpu_run_copy(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  const void *from = hsc__cpu_at(frame, &slices[0]);
  void *to = hsc__cpu_at(frame, &slices[1]);
  // The two are the same where an output was given an input's memory.
  if (from != to)
    memcpy(to, from, (size_t)slices[1].bytes);
  return NULL;
}

// The two slots are one (an output with an input's memory) or apart: memcpy wants it.
bool hsc__cpu_check_copy(hsc_cpu_payload *p) {
  return hsc__payload_is(p, p->bytes, 1, 1) && hsc__payload_reads(p, 0, p->outputs[0].bytes);
}
