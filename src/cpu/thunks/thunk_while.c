// thunk_while.c - runs the thunks of its body as long as those of its condition say so.
#include "cpu/thunks/thunk_kinds.h"
#include "cpu/thunks/thunk_payloads.h"

hsc_status *hsc__cpu_run_while(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_while *loop = hsc__cpu_data(frame, thunk);
  int32_t self = (int32_t)(thunk - frame->executable->thunks);
  int32_t condition = self + 1;
  int32_t body = condition + loop->condition_count;
  int32_t end = body + loop->body_count;
  if (loop->trip_count >= 0) {
    for (int64_t trip = 0; trip < loop->trip_count; trip++)
      HSC_TRY(hsc__cpu_run_range(frame, body, end));
    return NULL;
  }
  for (;;) {
    HSC_TRY(hsc__cpu_run_range(frame, condition, body));
    if (!*(const uint8_t *)hsc__cpu_input(frame, thunk, 0))
      return NULL;
    HSC_TRY(hsc__cpu_run_range(frame, body, end));
  }
}

bool hsc__cpu_check_while(hsc_cpu_payload *p) {
  const hsc_cpu_while *loop = p->data;
  if (p->bytes != sizeof *loop || p->thunk->input_count != 1 || p->thunk->output_count != 0)
    return false;
  int32_t counts[2] = {loop->condition_count, loop->body_count};
  return hsc__payload_reads(p, 0, 1) && hsc__payload_blocks(p, counts, 2);
}
