// execute.c - runs a compiled program: borrows a block for the temporaries, fills the table of
// bases, goes straight through the thunks.
#include "base/core/float_mode.h"
#include "cpu/core/cpu_internal.h"
#include "cpu/core/communicator.h"
#include "cpu/runtime/records_internal.h"
#include "cpu/thunks/thunk_kinds.h"
#include "hloscope/trace.h"

// The same while a session records: a thunk's end is the next one's begin, which saves a clock
// read.
static hsc_status *run_recorded(const hsc_cpu_frame *frame, int32_t begin, int32_t end) {
  const hsc_cpu_thunk *thunks = frame->executable->thunks;
  hsc_cpu_frame inner = *frame;
  inner.depth++;
  uint64_t now = hsc_trace_ticks();
  for (int32_t i = begin; i < end; i = thunks[i].next) {
    hsc_cpu_thunk_record *record = hsc__cpu_recording_take(frame->recording);
    if (record) {
      bool is_copy = thunks[i].kind == HSC_CPU_THUNK_COPY && thunks[i].instr >= 0 &&
                     frame->executable->instrs[thunks[i].instr]->op != HSC_OP_COPY;
      *record = (hsc_cpu_thunk_record){.begin_ticks = now,
                                       .instr = thunks[i].instr,
                                       .depth = (int16_t)frame->depth,
                                       .is_copy = is_copy};
    }
    HSC_TRY(hsc__cpu_thunk_rows[thunks[i].kind].run(&inner, &thunks[i]));
    now = hsc_trace_ticks();
    if (record)
      record->end_ticks = now;
  }
  return NULL;
}

hsc_status *hsc__cpu_run_range(const hsc_cpu_frame *frame, int32_t begin, int32_t end) {
  const hsc_cpu_thunk *thunks = frame->executable->thunks;
  if (__builtin_expect(frame->recording != NULL, 0))
    return run_recorded(frame, begin, end);
  for (int32_t i = begin; i < end; i = thunks[i].next)
    HSC_TRY(hsc__cpu_thunk_rows[thunks[i].kind].run(frame, &thunks[i]));
  return NULL;
}

static hsc_status *check_pointer(const void *pointer,
                                 const hsc_shape *shape,
                                 const char *what,
                                 int number) {
  if (hsc_shape_bytes(shape) == 0)
    return NULL;
  if (!pointer)
    return HSC_ERR(INVALID_ARGUMENT, "execute: %s %d is NULL", what, number);
  if ((uintptr_t)pointer % HSC_CPU_ALIGNMENT)
    return HSC_ERR(INVALID_ARGUMENT, "execute: %s %d at %p is not aligned to %d bytes", what,
                   number, pointer, HSC_CPU_ALIGNMENT);
  return NULL;
}

static hsc_status *execute_in_mode(hsc_cpu_executable *executable,
                                   hsc_cpu_communicator *communicator,
                                   int rank,
                                   const void *const *inputs,
                                   void *const *outputs);

hsc_status *hsc_cpu_execute(hsc_cpu_executable *executable,
                            const void *const *inputs,
                            void *const *outputs) {
  return hsc_cpu_execute_rank(executable, NULL, 0, inputs, outputs);
}

hsc_status *hsc_cpu_execute_rank(hsc_cpu_executable *executable,
                                 hsc_cpu_communicator *communicator,
                                 int rank,
                                 const void *const *inputs,
                                 void *const *outputs) {
  uint64_t mode = hsc_float_mode_set();
  hsc_status *status = execute_in_mode(executable, communicator, rank, inputs, outputs);
  hsc_float_mode_restore(mode);
  return status;
}

static hsc_status *execute_in_mode(hsc_cpu_executable *executable,
                                   hsc_cpu_communicator *communicator,
                                   int rank,
                                   const void *const *inputs,
                                   void *const *outputs) {
  for (int i = 0; i < executable->input_count; i++)
    HSC_TRY(check_pointer(inputs[i], executable->input_shapes[i], "input", i));
  for (int o = 0; o < executable->output_count; o++)
    HSC_TRY(check_pointer(outputs[o], executable->output_shapes[o], "output", o));
  size_t worker_bytes = (size_t)executable->worker_scratch_bytes *
                        (size_t)hsc_cpu_pool_thread_count(executable->device->pool);
  size_t table_bytes = ((size_t)executable->base_count * sizeof(void *) + HSC_CPU_ALIGNMENT - 1) /
                       HSC_CPU_ALIGNMENT * HSC_CPU_ALIGNMENT;
  hsc_cpu_idle_block block;
  HSC_TRY(hsc__cpu_block_acquire(
      executable->device, (size_t)executable->temp_bytes + worker_bytes + table_bytes, &block));
  if (executable->temp_bytes)
    hsc_cpu_memory_note(block.memory, executable->temp_bytes, -1, executable);
  // After the temporaries lie the threads' scratch and the table of bases.
  uint8_t *scratch = (uint8_t *)block.memory + executable->temp_bytes;
  uint8_t **bases = (uint8_t **)(scratch + worker_bytes);
  bases[HSC_CPU_BASE_TEMP] = block.memory;
  bases[HSC_CPU_BASE_CONSTANTS] = executable->constants;
  uint8_t **at = bases + HSC_CPU_BASE_FIRST_INPUT;
  for (int i = 0; i < executable->input_count; i++)
    *at++ = (uint8_t *)(uintptr_t)inputs[i];
  for (int o = 0; o < executable->output_count; o++)
    *at++ = outputs[o];
  uint64_t random_state[2];
  hsc_random_state_start(random_state);
  hsc_cpu_frame frame = {.executable = executable,
                         .pool = executable->device->pool,
                         .bases = bases,
                         .worker_scratch = scratch,
                         .communicator = communicator,
                         .rank = rank,
                         .random_state = random_state};
  frame.recording = hsc__cpu_recording_begin(executable);
  hsc_status *status = hsc__cpu_run_range(&frame, 0, executable->thunk_count);
  if (frame.recording)
    hsc__cpu_recording_end(frame.recording, !status);
  if (executable->temp_bytes)
    hsc_cpu_memory_note(block.memory, -executable->temp_bytes, -1, executable);
  hsc__cpu_block_release(executable->device, block);
  return status;
}
