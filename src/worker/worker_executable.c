// worker_executable.c - a compiled program while the worker holds it, the outcome of a job as a
// word, and what a stretch of work cost the process.
#include "worker/worker_internal.h"

const char *hsc__outcome_text(worker_outcome outcome) {
  static const char *const text[] = {"miss", "memory", "disk"};
  return text[outcome];
}

void hsc__worker_executable_destroy(worker_executable *executable) {
  if (!executable)
    return;
  hsc_execution_destroy(executable->execution);
  for (int i = 0; executable->inputs && i < executable->input_count * executable->device_count; i++)
    hsc_buffer_destroy(executable->inputs[i]);
  hsc_arena_destroy(executable->parts_arena);
  hsc_free(executable->inputs);
  hsc_executable_destroy(executable->executable);
  hsc_free(executable->key);
  hsc_free(executable);
}

hsc_usage hsc__usage_since(const hsc_usage *before) {
  hsc_usage now;
  hsc_usage_get(&now);
  return (hsc_usage){now.minor_faults - before->minor_faults,
                     now.major_faults - before->major_faults,
                     now.voluntary_switches - before->voluntary_switches,
                     now.involuntary_switches - before->involuntary_switches,
                     now.user_ns - before->user_ns,
                     now.system_ns - before->system_ns,
                     now.max_rss_bytes};
}
