// tracer_state.c - what the tracer keeps in the process, and the small things that all its files do
// with it.
#include "pjrt/tracer_internal.h"

#include "hloscope/trace.h"
#include "trace/recorder.h"

hsc__tracer_state hsc__tracing = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint32_t hsc__tracer_intern(const char *text, size_t size) {
  char buffer[512];
  if (!text)
    return 0;
  if (size > sizeof buffer - 1)
    size = sizeof buffer - 1;
  memcpy(buffer, text, size);
  buffer[size] = 0;
  return hsc_recorder_intern(hsc__tracing.recorder, buffer);
}

void hsc__tracer_drop(const hsc__tracer *t, PJRT_Error *error) {
  if (error)
    t->real->PJRT_Error_Destroy(&(PJRT_Error_Destroy_Args){
        .struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE, .error = error});
}

int64_t hsc_tracer_runs_under_way(void) {
  return atomic_load(&hsc__tracing.runs_under_way);
}

void hsc_tracer_note_profile(const char *file, int64_t wall_ns) {
  hsc_trace_attr attrs[] = {
      hsc__attr_string(hsc_recorder_intern(hsc__tracing.recorder, "profile"),
                       hsc_recorder_intern(hsc__tracing.recorder, file)),
      hsc__attr_int(hsc_recorder_intern(hsc__tracing.recorder, "wall_ns"), wall_ns)};
  hsc_trace_instant(hsc__tracing.recorder, HSC_CATEGORY_RUNTIME,
                    hsc_recorder_intern(hsc__tracing.recorder, "profiler session"), attrs, 2);
}
