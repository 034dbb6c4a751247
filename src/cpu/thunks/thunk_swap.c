// thunk_swap.c - exchanges two values, a piece at a time.
#include "cpu/thunks/thunk_kinds.h"

hsc_status *hsc__cpu_run_swap(const hsc_cpu_frame *frame, const hsc_cpu_thunk *thunk) {
  const hsc_cpu_slice *slices = hsc__cpu_slices(frame, thunk);
  unsigned char *a = hsc__cpu_at(frame, &slices[0]);
  unsigned char *b = hsc__cpu_at(frame, &slices[1]);
  unsigned char piece[4096];
  size_t left = a == b ? 0 : (size_t)slices[0].bytes;
  while (left > 0) {
    size_t size = left < sizeof piece ? left : sizeof piece;
    memcpy(piece, a, size);
    memcpy(a, b, size);
    memcpy(b, piece, size);
    a += size;
    b += size;
    left -= size;
  }
  return NULL;
}

bool hsc__cpu_check_swap(hsc_cpu_payload *p) {
  return hsc__payload_is(p, p->bytes, 0, 2) && p->outputs[0].bytes == p->outputs[1].bytes;
}
