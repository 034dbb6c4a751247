// sink_lanes.c - which lane of its thread a span is shown on.
#include "base/core/memory.h"
#include "trace/sink_lanes.h"

hsc__lanes *hsc__lanes_create(const hsc_capture *capture) {
  return hsc_alloc(((size_t)hsc_capture_thread_count(capture) + 1) * sizeof(hsc__lanes));
}

void hsc__lanes_destroy(hsc__lanes *of_threads, const hsc_capture *capture) {
  if (!of_threads)
    return;
  for (int t = 0; t < hsc_capture_thread_count(capture); t++)
    for (int l = 0; l < of_threads[t].count; l++)
      hsc_free(of_threads[t].list[l]);
  hsc_free(of_threads);
}

int hsc__lanes_choose(hsc__lanes *of_thread, int64_t start, int64_t end) {
  for (int i = 0; i < HSC__MAX_LANES; i++) {
    if (i == of_thread->count) {
      of_thread->list[i] = hsc_alloc(sizeof(hsc__lane));
      if (!of_thread->list[i])
        return -1;
      of_thread->count++;
    }
    hsc__lane *l = of_thread->list[i];
    while (l->depth > 0 && l->ends[l->depth - 1] <= start)
      l->depth--;
    bool nests = l->depth == 0 || end <= l->ends[l->depth - 1];
    if (!nests || l->depth == HSC__MAX_NESTING)
      continue;
    l->ends[l->depth++] = end;
    return i;
  }
  return HSC__MAX_LANES - 1;
}

void hsc__lane_name(const hsc_capture_thread *thread, int lane, char out_name[192]) {
  int length = *thread->name ? snprintf(out_name, 192, "%.150s", thread->name)
                             : snprintf(out_name, 192, "thread %lld", (long long)thread->tid);
  if (lane)
    snprintf(out_name + length, 192 - (size_t)length, " (%d)", lane + 1);
}
