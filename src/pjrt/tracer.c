// tracer.c - handlers of the recorded PJRT calls, and the wrapped tables. What for is in tracer.h.
//
// How to read: trace_<function> notes the time, calls the plugin's own function and notes the time
// again; tracer_calls.def lists them. What goes on after its call is followed by the event that it
// makes ready (follow, pending_done). Wrapped tables give each plugin entry points of its own;
// after them come opening the recorder and, for a process that runs already, attaching to a table
// that is in use. Calls must cost little: no lock, no allocation but for what is followed.
#include "base/core/status.h"
#include "pjrt/tracer_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hloscope/trace.h"
#include "trace/recorder.h"
#include "trace/ring_format.h"

// the end of a smaller one is given by the next event that tells the memory
enum { LARGE_BUFFER_BYTES = 64 << 10 };

typedef hsc__tracer tracer;

static void error_attrs(const tracer *t, PJRT_Error *error, hsc_trace_attr out[2]) {
  PJRT_Error_Message_Args message = {.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE,
                                     .error = error};
  t->real->PJRT_Error_Message(&message);
  PJRT_Error_GetCode_Args code = {.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE,
                                  .error = error};
  hsc__tracer_drop(t, t->real->PJRT_Error_GetCode(&code));
  out[0] = hsc__attr_string(hsc__tracing.known.error,
                            hsc__tracer_intern(message.message, message.message_size));
  out[1] = hsc__attr_int(hsc__tracing.known.error_code, code.code);
}

// Ends a span, with the error's text and code when there is one; the error stays the caller's.
static PJRT_Error *end(
    const tracer *t, uint64_t span, PJRT_Error *error, hsc_trace_attr *attrs, int count) {
  hsc_trace_attr failed[2];
  if (span && error) {
    error_attrs(t, error, failed);
    attrs = failed;
    count = 2;
  }
  hsc_span_end(hsc__tracing.recorder, span, attrs, count);
  return error;
}

static void destroy_event(const tracer *t, PJRT_Event *event) {
  if (event)
    hsc__tracer_drop(t, t->real->PJRT_Event_Destroy(&(PJRT_Event_Destroy_Args){
                            .struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE, .event = event}));
}

// ---- programs and executables -------------------------------------------------------------------

static PJRT_Error *end_compile(const tracer *t,
                               uint64_t span,
                               PJRT_Error *error,
                               PJRT_Executable *executable) {
  if (!span || error)
    return end(t, span, error, NULL, 0);
  hsc_trace_attr name = hsc__attr_string(
      hsc__tracing.known.executable, executable ? hsc__tracer_executable_name(t, executable) : 0);
  hsc_span_end(hsc__tracing.recorder, span, &name, 1);
  hsc__tracer_note_compiled(t, executable, (uint32_t)name.value.string);
  return NULL;
}

static PJRT_Error *end_load(const tracer *t,
                            uint64_t span,
                            PJRT_Error *error,
                            PJRT_LoadedExecutable *loaded) {
  if (!span || error)
    return end_compile(t, span, error, NULL);
  hsc__tracer_executable(t, loaded);
  PJRT_Executable *plain = hsc__tracer_plain(t, loaded);
  end_compile(t, span, NULL, plain);
  PJRT_Executable_Destroy_Args destroy = {.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE,
                                          .executable = plain};
  if (plain)
    hsc__tracer_drop(t, t->real->PJRT_Executable_Destroy(&destroy));
  return NULL;
}

static PJRT_Error *trace_PJRT_Client_Compile(tracer *t, PJRT_Client_Compile_Args *args) {
  uint64_t span = hsc__tracer_begin_compile(hsc__tracing.known.PJRT_Client_Compile, args->program,
                                            args->compile_options, args->compile_options_size);
  PJRT_Error *error = t->real->PJRT_Client_Compile(args);
  return end_load(t, span, error, args->executable);
}

static PJRT_Error *trace_PJRT_Compile(tracer *t, PJRT_Compile_Args *args) {
  uint64_t span = hsc__tracer_begin_compile(hsc__tracing.known.PJRT_Compile, args->program,
                                            args->compile_options, args->compile_options_size);
  PJRT_Error *error = t->real->PJRT_Compile(args);
  return end_compile(t, span, error, args->executable);
}

static PJRT_Error *trace_PJRT_Executable_DeserializeAndLoad(
    tracer *t, PJRT_Executable_DeserializeAndLoad_Args *args) {
  hsc_trace_attr size =
      hsc__attr_int(hsc__tracing.known.bytes, (int64_t)args->serialized_executable_size);
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_COMPILE,
                                 hsc__tracing.known.PJRT_Executable_DeserializeAndLoad, &size, 1);
  PJRT_Error *error = t->real->PJRT_Executable_DeserializeAndLoad(args);
  return end_load(t, span, error, args->loaded_executable);
}

static PJRT_Error *trace_PJRT_LoadedExecutable_Destroy(tracer *t,
                                                       PJRT_LoadedExecutable_Destroy_Args *args) {
  hsc__tracer_forget_executable(args->executable);
  return t->real->PJRT_LoadedExecutable_Destroy(args);
}

// ---- something that goes on after its call: told by the event that it makes ready --------------

typedef struct pending {
  const tracer *t;
  uint64_t begin_ticks;
  hsc_category category;
  uint32_t name, track;
  hsc_trace_attr attrs[2];
  int attr_count;
  PJRT_Event_OnReadyCallback call;  // of the program, after ours; NULL = none
  void *user;
  int64_t kept_run;  // whose inputs were kept until it is done; 0 = none
} pending;

static void pending_done(PJRT_Error *error, void *user) {
  pending *p = user;
  if (p->category == HSC_CATEGORY_EXECUTE)
    atomic_fetch_sub(&hsc__tracing.runs_under_way, 1);
  hsc_trace_attr attrs[4] = {p->attrs[0], p->attrs[1]};
  int count = p->attr_count;
  if (error) {
    error_attrs(p->t, error, attrs + count);
    count += 2;
  }
  hsc_span_complete(hsc__tracing.recorder, p->category, p->name, p->track, p->begin_ticks,
                    hsc_trace_ticks(), attrs, count);
  if (p->kept_run && !error)
    hsc__tracer_drop_inputs(p->kept_run);
  if (p->call)
    p->call(error, p->user);  // the error is the callback's now
  else
    hsc__tracer_drop(p->t, error);
  free(p);
}

static bool is_ready(const tracer *t, PJRT_Event *event) {
  PJRT_Event_IsReady_Args args = {.struct_size = PJRT_Event_IsReady_Args_STRUCT_SIZE,
                                  .event = event};
  PJRT_Error *error = t->real->PJRT_Event_IsReady(&args);
  if (!error)
    return args.is_ready;
  hsc__tracer_drop(t, error);
  return false;
}

// What went wrong with something that is over; NULL = nothing. The caller's to destroy.
static PJRT_Error *error_of_ready(const tracer *t, PJRT_Event *event) {
  PJRT_Event_Error_Args args = {.struct_size = PJRT_Event_Error_Args_STRUCT_SIZE, .event = event};
  return HSC__TRACED_HAS(t, PJRT_Event_Error) ? t->real->PJRT_Event_Error(&args) : NULL;
}

// Records `what` when `event` becomes ready.
static void follow(PJRT_Event *event, const pending *what) {
  pending *p = malloc(sizeof *p);
  if (!p)
    return;
  *p = *what;
  PJRT_Event_OnReady_Args args = {.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE,
                                  .event = event,
                                  .callback = pending_done,
                                  .user_arg = p};
  bool is_run = what->category == HSC_CATEGORY_EXECUTE;
  atomic_fetch_add(&hsc__tracing.runs_under_way, is_run);
  PJRT_Error *error = p->t->real->PJRT_Event_OnReady(&args);
  if (error) {
    atomic_fetch_sub(&hsc__tracing.runs_under_way, is_run);
    hsc__tracer_drop(what->t, error);
    free(p);
  }
}

// ---- memory -------------------------------------------------------------------------------------

static int64_t size_on_device(const tracer *t, PJRT_Buffer *buffer) {
  if (!buffer || !HSC__TRACED_HAS(t, PJRT_Buffer_OnDeviceSizeInBytes))
    return -1;
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = {
      .struct_size = PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE, .buffer = buffer};
  PJRT_Error *error = t->real->PJRT_Buffer_OnDeviceSizeInBytes(&size);
  hsc__tracer_drop(t, error);
  return error ? -1 : (int64_t)size.on_device_size_in_bytes;
}

static void tell_memory(void) {
  hsc_trace_counter(hsc__tracing.recorder, HSC_CATEGORY_MEMORY, hsc__tracing.known.device_bytes,
                    (double)hsc__tracer_device_bytes());
}

// A buffer that is new by itself. Returns its bytes; -1 = unknown.
static int64_t add_buffer(const tracer *t, PJRT_Buffer *buffer) {
  if (!hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_MEMORY))
    return size_on_device(t, buffer);
  int64_t bytes = size_on_device(t, buffer);
  if (bytes >= 0 && hsc__tracer_buffer_lives(buffer, bytes))
    tell_memory();
  return bytes;
}

static void drop_buffer(PJRT_Buffer *buffer) {
  if (hsc__tracer_buffer_dies(buffer) >= LARGE_BUFFER_BYTES)
    tell_memory();
}

static PJRT_Error *trace_PJRT_Buffer_Destroy(tracer *t, PJRT_Buffer_Destroy_Args *args) {
  drop_buffer(args->buffer);
  return t->real->PJRT_Buffer_Destroy(args);
}

static PJRT_Error *trace_PJRT_Buffer_Delete(tracer *t, PJRT_Buffer_Delete_Args *args) {
  drop_buffer(args->buffer);
  return t->real->PJRT_Buffer_Delete(args);
}

// ---- executions ---------------------------------------------------------------------------------

// The outputs of a run, as live buffers; their sizes are asked for once per executable.
static void add_outputs(const tracer *t,
                        hsc__traced_executable *x,
                        const PJRT_LoadedExecutable_Execute_Args *args) {
  bool sized = atomic_load_explicit(&x->sized, memory_order_acquire);
  bool all = args->num_devices > 0;
  for (size_t d = 0; d < args->num_devices; d++)
    for (uint32_t o = 0; o < x->output_count; o++) {
      PJRT_Buffer *buffer = args->output_lists[d][o];
      int64_t bytes = sized ? x->output_bytes[o] : size_on_device(t, buffer);
      if (bytes < 0)
        all = false;
      else
        hsc__tracer_buffer_lives(buffer, bytes);
      // threads that do this at once write the same
      if (!sized && d == 0)
        x->output_bytes[o] = bytes;
    }
  if (!sized && all)
    atomic_store_explicit(&x->sized, true, memory_order_release);
}

// --keep-failures, after a call: inputs that were kept go where it is done already, those of a call
// that was refused are kept now.
static void keep_or_drop(const tracer *t,
                         const PJRT_LoadedExecutable_Execute_Args *args,
                         int64_t run_id,
                         int64_t kept_run,
                         const PJRT_Error *error,
                         bool done) {
  if (kept_run && !error && (done || !args->device_complete_events))
    hsc__tracer_drop_inputs(kept_run);
  if (!kept_run && error)
    hsc__tracer_keep_inputs(t, args, run_id);
}

// A call of Execute while it is traced.
typedef struct traced_call {
  const tracer *t;
  hsc__traced_executable *x;
  PJRT_LoadedExecutable_Execute_Args *args;
  int64_t run_id;
  int64_t kept_run;         // the same where its inputs are kept until it is done, else 0
  uint32_t device;          // track: of args->execute_device, else of the executable's first
  hsc_trace_attr attrs[5];  // executable, run_id; devices of several; error and code
  int attr_count;
  hsc__run run;
  bool done;         // the device was done when the call returned
  PJRT_Error *late;  // of a run that ended within the call, but not well
} traced_call;

// The runs on the devices: a single one that is done already needs no event of its own; the others
// are told when they are over.
static void follow_runs(traced_call *c) {
  const PJRT_LoadedExecutable_Execute_Args *args = c->args;
  size_t devices = args->num_devices;
  for (size_t d = 0; args->device_complete_events && d < devices && d < HSC__MOST_DEVICES; d++) {
    PJRT_Event *event = args->device_complete_events[d];
    if (!event)
      continue;
    c->done = devices == 1 && is_ready(c->t, event);
    if (c->done) {
      c->late = error_of_ready(c->t, event);
      continue;
    }
    follow(event, &(pending){.t = c->t,
                             .begin_ticks = c->run.begin_ticks,
                             .category = HSC_CATEGORY_EXECUTE,
                             .name = hsc__tracing.known.run,
                             .track = args->execute_device ? c->device : c->x->tracks[d],
                             .attrs = {c->attrs[0], c->attrs[1]},
                             .attr_count = 2,
                             .kept_run = c->kept_run});
  }
}

static void end_run(traced_call *c, PJRT_Error *error, uint64_t end_ticks, uint64_t device_bytes) {
  PJRT_Error *failure = error ? error : c->late;
  if (failure) {
    error_attrs(c->t, failure, c->attrs + c->attr_count);
    c->attr_count += 2;
  }
  bool done = c->done && !c->late;
  hsc__tracer_drop(c->t, c->late);
  if (c->run.span)
    hsc__run_end(hsc__tracing.recorder, &c->run, end_ticks,
                 hsc__tracing.known.PJRT_LoadedExecutable_Execute, hsc__tracing.known.run,
                 c->device, done, device_bytes, c->attrs, c->attr_count);
}

static PJRT_Error *trace_PJRT_LoadedExecutable_Execute(tracer *t,
                                                       PJRT_LoadedExecutable_Execute_Args *args) {
  hsc__traced_executable *x = hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_EXECUTE)
                                  ? hsc__tracer_executable(t, args->executable)
                                  : NULL;
  if (!x)
    return t->real->PJRT_LoadedExecutable_Execute(args);
  hsc_tracer_profile_count();
  size_t devices = args->num_devices;
  int64_t run_id = atomic_fetch_add_explicit(&hsc__tracing.run_ids, 1, memory_order_relaxed) + 1;
  traced_call c = {
      .t = t,
      .x = x,
      .args = args,
      .run_id = run_id,
      .device = args->execute_device ? hsc__tracer_track(t, args->execute_device) : x->tracks[0],
      .attrs = {hsc__attr_string(hsc__tracing.known.executable, x->name),
                hsc__attr_int(hsc__tracing.known.run_id, run_id),
                hsc__attr_int(hsc__tracing.known.devices, (int64_t)devices)},
      .attr_count = devices == 1 ? 2 : 3};
  // Completion events tell when the device was done. A caller that wants none still gives us one
  // for the time of the call.
  PJRT_Event *own[HSC__MOST_DEVICES];
  PJRT_Event **asked = args->device_complete_events;
  if (!asked && devices <= HSC__MOST_DEVICES) {
    memset(own, 0, devices * sizeof *own);
    args->device_complete_events = own;
  }
  bool keeps = hsc__tracer_keeps_failures();
  // the first call's inputs before it, for it may take the process with it
  if (keeps && !atomic_exchange(&x->called, true))
    c.kept_run = run_id;
  if (c.kept_run)
    hsc__tracer_keep_inputs(t, args, run_id);
  c.run = hsc__run_begin(hsc__tracing.recorder, x->name);
  PJRT_Error *error = t->real->PJRT_LoadedExecutable_Execute(args);
  uint64_t end_ticks = hsc__run_ticks(hsc__tracing.recorder);
  if (!error && c.run.span)
    follow_runs(&c);
  if (keeps)
    keep_or_drop(t, args, run_id, c.kept_run, error ? error : c.late, c.done);
  if (!asked && args->device_complete_events) {
    for (size_t d = 0; !error && d < devices; d++)
      destroy_event(t, own[d]);
    args->device_complete_events = NULL;
  }
  uint64_t device_bytes = UINT64_MAX;
  if (!error && hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_MEMORY)) {
    add_outputs(t, x, args);
    device_bytes = (uint64_t)hsc__tracer_device_bytes();
  }
  end_run(&c, error, end_ticks, device_bytes);
  return error;
}

// ---- transfers and waits ------------------------------------------------------------------------

// "8,16", interned. Each thread remembers the last ones: programs send the same shapes again and
// again.
static uint32_t shape_text(const int64_t *dims, size_t rank) {
  enum { REMEMBERED = 16, MOST_RANK = 8 };
  static _Thread_local struct {
    int64_t dims[MOST_RANK];
    size_t rank;
    uint32_t text;
  } last[REMEMBERED];
  size_t slot = rank;
  for (size_t i = 0; i < rank; i++)
    slot = slot * 31 + (size_t)dims[i];
  slot = (slot ^ slot >> 7) % REMEMBERED;
  if (last[slot].text && last[slot].rank == rank &&
      !memcmp(last[slot].dims, dims, rank * sizeof *dims))
    return last[slot].text;
  char text[128];
  int length = 0;
  for (size_t i = 0; i < rank && length < (int)sizeof text - 24; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, i ? ",%lld" : "%lld",
                       (long long)dims[i]);
  text[length] = 0;
  uint32_t number = hsc_recorder_intern(hsc__tracing.recorder, text);
  if (rank <= MOST_RANK && rank) {
    memcpy(last[slot].dims, dims, rank * sizeof *dims);
    last[slot].rank = rank;
    last[slot].text = number;
  }
  return number;
}

static PJRT_Error *trace_PJRT_Client_BufferFromHostBuffer(
    tracer *t, PJRT_Client_BufferFromHostBuffer_Args *args) {
  if (!hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER)) {
    PJRT_Error *error = t->real->PJRT_Client_BufferFromHostBuffer(args);
    if (!error)
      add_buffer(t, args->buffer);
    return error;
  }
  hsc_trace_attr attrs[] = {
      hsc__attr_int(hsc__tracing.known.type, args->type),
      hsc__attr_string(hsc__tracing.known.shape, shape_text(args->dims, args->num_dims))};
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
                                 hsc__tracing.known.PJRT_Client_BufferFromHostBuffer, attrs, 2);
  PJRT_Error *error = t->real->PJRT_Client_BufferFromHostBuffer(args);
  if (error)
    return end(t, span, error, NULL, 0);
  hsc_trace_attr size = hsc__attr_int(hsc__tracing.known.bytes, add_buffer(t, args->buffer));
  return end(t, span, NULL, &size, size.value.i >= 0);
}

// A transfer of `bytes` was asked for at `begin_ticks`; `event` says when it is there.
static void follow_transfer(
    const tracer *t, PJRT_Event *event, uint64_t begin_ticks, uint32_t name, int64_t bytes) {
  // there when the call returned: its span says all
  if (!event || !hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER) ||
      is_ready(t, event))
    return;
  follow(event, &(pending){t,
                           begin_ticks,
                           HSC_CATEGORY_TRANSFER,
                           name,
                           hsc__tracing.known.transfers,
                           {hsc__attr_int(hsc__tracing.known.bytes, bytes)},
                           1,
                           NULL,
                           NULL});
}

static PJRT_Error *trace_PJRT_Buffer_ToHostBuffer(tracer *t, PJRT_Buffer_ToHostBuffer_Args *args) {
  if (!args->dst)
    return t->real->PJRT_Buffer_ToHostBuffer(args);  // asks for the size only
  hsc_trace_attr size = hsc__attr_int(hsc__tracing.known.bytes, (int64_t)args->dst_size);
  uint64_t begin_ticks = hsc_trace_ticks();
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
                                 hsc__tracing.known.PJRT_Buffer_ToHostBuffer, &size, 1);
  PJRT_Error *error = end(t, span, t->real->PJRT_Buffer_ToHostBuffer(args), NULL, 0);
  if (!error)
    follow_transfer(t, args->event, begin_ticks, hsc__tracing.known.to_host_done,
                    (int64_t)args->dst_size);
  return error;
}

static PJRT_Error *trace_PJRT_Buffer_CopyRawToHost(tracer *t,
                                                   PJRT_Buffer_CopyRawToHost_Args *args) {
  hsc_trace_attr size = hsc__attr_int(hsc__tracing.known.bytes, args->transfer_size);
  uint64_t begin_ticks = hsc_trace_ticks();
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
                                 hsc__tracing.known.PJRT_Buffer_CopyRawToHost, &size, 1);
  PJRT_Error *error = end(t, span, t->real->PJRT_Buffer_CopyRawToHost(args), NULL, 0);
  if (!error)
    follow_transfer(t, args->event, begin_ticks, hsc__tracing.known.to_host_done,
                    args->transfer_size);
  return error;
}

static PJRT_Error *trace_PJRT_AsyncHostToDeviceTransferManager_TransferData(
    tracer *t, PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *args) {
  hsc_trace_attr size = hsc__attr_int(hsc__tracing.known.bytes, args->transfer_size);
  uint64_t begin_ticks = hsc_trace_ticks();
  uint64_t span = hsc_span_begin(
      hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
      hsc__tracing.known.PJRT_AsyncHostToDeviceTransferManager_TransferData, &size, 1);
  PJRT_Error *error =
      end(t, span, t->real->PJRT_AsyncHostToDeviceTransferManager_TransferData(args), NULL, 0);
  if (!error)
    follow_transfer(t, args->done_with_h2d_transfer, begin_ticks, hsc__tracing.known.to_device_done,
                    args->transfer_size);
  return error;
}

static PJRT_Error *trace_PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(
    tracer *t, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args *args) {
  PJRT_Error *error = t->real->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(args);
  if (!error)
    add_buffer(t, args->buffer_out);
  return error;
}

static PJRT_Error *end_copy(const tracer *t, uint64_t span, PJRT_Error *error, PJRT_Buffer *copy) {
  if (error)
    return end(t, span, error, NULL, 0);
  hsc_trace_attr size = hsc__attr_int(hsc__tracing.known.bytes, add_buffer(t, copy));
  return end(t, span, NULL, &size, size.value.i >= 0);
}

static PJRT_Error *trace_PJRT_Buffer_CopyToDevice(tracer *t, PJRT_Buffer_CopyToDevice_Args *args) {
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
                                 hsc__tracing.known.PJRT_Buffer_CopyToDevice, NULL, 0);
  PJRT_Error *error = t->real->PJRT_Buffer_CopyToDevice(args);
  return end_copy(t, span, error, args->dst_buffer);
}

static PJRT_Error *trace_PJRT_Buffer_CopyToMemory(tracer *t, PJRT_Buffer_CopyToMemory_Args *args) {
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_TRANSFER,
                                 hsc__tracing.known.PJRT_Buffer_CopyToMemory, NULL, 0);
  PJRT_Error *error = t->real->PJRT_Buffer_CopyToMemory(args);
  return end_copy(t, span, error, args->dst_buffer);
}

static PJRT_Error *trace_PJRT_Event_Await(tracer *t, PJRT_Event_Await_Args *args) {
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_WAIT,
                                 hsc__tracing.known.PJRT_Event_Await, NULL, 0);
  return end(t, span, t->real->PJRT_Event_Await(args), NULL, 0);
}

// Frameworks that wait by a callback: from the call until the event is ready, and who asked.
// Nothing where it is ready already.
static PJRT_Error *trace_PJRT_Event_OnReady(tracer *t, PJRT_Event_OnReady_Args *args) {
  if (!hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_WAIT) || is_ready(t, args->event))
    return t->real->PJRT_Event_OnReady(args);
  pending *p = malloc(sizeof *p);
  if (!p)
    return t->real->PJRT_Event_OnReady(args);
  *p = (pending){t,
                 hsc_trace_ticks(),
                 HSC_CATEGORY_WAIT,
                 hsc__tracing.known.ready,
                 hsc__tracing.known.waits,
                 {hsc__attr_int(hsc__tracing.known.thread, (int64_t)syscall(SYS_gettid))},
                 1,
                 args->callback,
                 args->user_arg};
  PJRT_Event_OnReady_Args ours = {.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE,
                                  .event = args->event,
                                  .callback = pending_done,
                                  .user_arg = p};
  PJRT_Error *error = t->real->PJRT_Event_OnReady(&ours);
  if (error)
    free(p);
  return error;
}

// ---- plugin and client --------------------------------------------------------------------------

static PJRT_Error *trace_PJRT_Plugin_Initialize(tracer *t, PJRT_Plugin_Initialize_Args *args) {
  hsc_trace_attr plugin = hsc__attr_string(hsc__tracing.known.plugin,
                                           hsc_recorder_intern(hsc__tracing.recorder, t->path));
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_RUNTIME,
                                 hsc__tracing.known.PJRT_Plugin_Initialize, &plugin, 1);
  return end(t, span, t->real->PJRT_Plugin_Initialize(args), NULL, 0);
}

// What the plugin's devices are called after: "cuda", "tpu".
static void note_platform(tracer *t, PJRT_Client *client) {
  PJRT_Client_PlatformName_Args args = {.struct_size = PJRT_Client_PlatformName_Args_STRUCT_SIZE,
                                        .client = client};
  PJRT_Error *error = HSC__TRACED_HAS(t, PJRT_Client_PlatformName)
                          ? t->real->PJRT_Client_PlatformName(&args)
                          : NULL;
  if (!error && args.platform_name)
    snprintf(t->platform, sizeof t->platform, "%.*s", (int)args.platform_name_size,
             args.platform_name);
  hsc__tracer_drop(t, error);
}

// Of a job of several processes: which one this is, from 0 on, so that a timeline tells them apart.
static void note_process(const PJRT_Client_Create_Args *args) {
  static const char *const names[2] = {"node_id", "num_nodes"};  // as JAX gives them
  int64_t values[2] = {0, 1};
  for (size_t i = 0; i < args->num_options; i++)
    for (int n = 0; n < 2; n++) {
      const PJRT_NamedValue *o = &args->create_options[i];
      if (o->type == PJRT_NamedValue_kInt64 && o->name_size == strlen(names[n]) &&
          !memcmp(o->name, names[n], o->name_size))
        values[n] = o->int64_value;
    }
  char label[64];
  snprintf(label, sizeof label, "process %lld/%lld", (long long)values[0], (long long)values[1]);
  if (values[1] > 1)
    hsc_recorder_relabel(hsc__tracing.recorder, label);
}

static PJRT_Error *trace_PJRT_Client_Create(tracer *t, PJRT_Client_Create_Args *args) {
  hsc_trace_attr plugin = hsc__attr_string(hsc__tracing.known.plugin,
                                           hsc_recorder_intern(hsc__tracing.recorder, t->path));
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_RUNTIME,
                                 hsc__tracing.known.PJRT_Client_Create, &plugin, 1);
  PJRT_Error *error = t->real->PJRT_Client_Create(args);
  if (!error)
    note_platform(t, args->client);
  note_process(args);
  return end(t, span, error, NULL, 0);
}

static PJRT_Error *trace_PJRT_Client_Destroy(tracer *t, PJRT_Client_Destroy_Args *args) {
  uint64_t span = hsc_span_begin(hsc__tracing.recorder, HSC_CATEGORY_RUNTIME,
                                 hsc__tracing.known.PJRT_Client_Destroy, NULL, 0);
  return end(t, span, t->real->PJRT_Client_Destroy(args), NULL, 0);
}

// ---- wrapped tables -----------------------------------------------------------------------------

// Every instance needs entry points of its own, because the calls carry no place for ours.
#define CALL(function, category, text) \
  static PJRT_Error *entry0_##function(function##_Args *args) { \
    return trace_##function(&hsc__tracing.plugins[0], args); \
  } \
  static PJRT_Error *entry1_##function(function##_Args *args) { \
    return trace_##function(&hsc__tracing.plugins[1], args); \
  } \
  static PJRT_Error *entry2_##function(function##_Args *args) { \
    return trace_##function(&hsc__tracing.plugins[2], args); \
  } \
  static PJRT_Error *entry3_##function(function##_Args *args) { \
    return trace_##function(&hsc__tracing.plugins[3], args); \
  }
#include "pjrt/tracer_calls.def"
#undef CALL

static void replace_slots(PJRT_Api *table, int instance) {
#define CALL(function, category, text) \
  if (table->struct_size >= HSC_PJRT_SIZE_TO(PJRT_Api, function) && table->function) { \
    static function##_Fn *const entries[HSC_TRACER_INSTANCES] = { \
        entry0_##function, entry1_##function, entry2_##function, entry3_##function}; \
    table->function = entries[instance]; \
  }
#include "pjrt/tracer_calls.def"
#undef CALL
}

static void complain(const char *what) {
  // The one line that a user sees when a trace cannot be made.
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&said))
    return;
  static const char prefix[] = "hloscope: the program runs untraced: ";
  ssize_t written = write(STDERR_FILENO, prefix, sizeof prefix - 1);
  written += write(STDERR_FILENO, what, strlen(what));
  written += write(STDERR_FILENO, "\n", 1);
  (void)written;
}

static void name_everything(void) {
#define CALL(function, category, text) \
  hsc__tracing.known.function = hsc_recorder_intern(hsc__tracing.recorder, text);
#include "pjrt/tracer_calls.def"
#undef CALL
#define KEY(id, text) hsc__tracing.known.id = hsc_recorder_intern(hsc__tracing.recorder, text);
  HSC__TRACER_KEYS(KEY)
#undef KEY
}

// Under the lock.
static bool open_recorder(void) {
  if (hsc__tracing.recorder || hsc__tracing.tried)
    return hsc__tracing.recorder != NULL;  // the one that this process has
  hsc__tracing.tried = true;
  hsc__tracing.output = getenv("HLOSCOPE_OUTPUT_PATH");
  if (!hsc__tracing.output || !*hsc__tracing.output)
    return false;
  const char *limit = getenv("HLOSCOPE_TRACE_MAX_BYTES");
  hsc_status *status =
      hsc_recorder_open(&(hsc_recorder_options){.path = hsc__tracing.output,
                                                .label = "pjrt tracer",
                                                .max_bytes = limit ? strtoull(limit, NULL, 10) : 0},
                        &hsc__tracing.recorder);
  if (status) {
    complain(hsc_status_message(status));
    hsc_status_free(status);
    return false;
  }
  name_everything();
  return true;
}

__attribute__((destructor)) static void close_recorder(void) {
  if (hsc__tracing.recorder && hsc_recorder_takes(hsc__tracing.recorder, HSC_CATEGORY_MEMORY))
    tell_memory();
  hsc_recorder_finish(
      hsc__tracing.recorder);  // executions may still be running on the plugin's threads
}

hsc_recorder *hsc_tracer_recorder(void) {
  pthread_mutex_lock(&hsc__tracing.lock);
  hsc_recorder *open = open_recorder() ? hsc__tracing.recorder : NULL;
  pthread_mutex_unlock(&hsc__tracing.lock);
  return open;
}

uint64_t hsc_tracer_compile_begin(const char *format,
                                  const void *code,
                                  size_t code_bytes,
                                  const void *options,
                                  size_t options_bytes) {
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)(uintptr_t)code,
                          .code_size = code_bytes,
                          .format = format,
                          .format_size = strlen(format)};
  return hsc__tracer_begin_compile(hsc__tracing.known.PJRT_Client_Compile, &program, options,
                                   options_bytes);
}

static const PJRT_Api *wrap(tracer *t) {
  const PJRT_Api *real = t->get_api();
  if (t->table == real)
    return real;  // attached: the calls are in the plugin's own table
  if (t->table && t->real == real && t->table->struct_size == real->struct_size &&
      !memcmp(t->seen, real, real->struct_size))
    return t->table;
  if (!real || real->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy) + sizeof(void *))
    return real;
  if (real->pjrt_api_version.major_version != PJRT_API_MAJOR ||
      real->pjrt_api_version.minor_version < HSC_PJRT_MINOR_OLDEST) {
    complain("the plugin's PJRT version is outside of what the tracer knows");
    return real;
  }
  const tracer candidate = {.real = real};
  bool complete = HSC__TRACED_HAS(&candidate, PJRT_Error_Destroy) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Error_Message) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Error_GetCode) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Executable_Name) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Executable_Destroy) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Executable_NumOutputs) &&
                  HSC__TRACED_HAS(&candidate, PJRT_LoadedExecutable_GetExecutable) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Event_OnReady) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Event_IsReady) &&
                  HSC__TRACED_HAS(&candidate, PJRT_Event_Destroy);
  if (!complete) {
    complain("the plugin's table lacks functions that every plugin has");
    return real;
  }
  // A table that was reordered in one historic version is left alone as well.
  if (real->pjrt_api_version.minor_version == HSC_PJRT_MINOR_REORDERED || !open_recorder())
    return real;
  PJRT_Api *table = malloc(real->struct_size > sizeof *table ? real->struct_size : sizeof *table);
  void *seen = malloc(real->struct_size);
  if (!table || !seen) {
    free(table);
    free(seen);
    return real;
  }
  memcpy(table, real, real->struct_size);
  memcpy(seen, real, real->struct_size);
  free(t->seen);
  t->seen = seen;
  t->real = real;  // a table that an earlier call gave stays: calls through it may be under way
  replace_slots(table, (int)(t - hsc__tracing.plugins));
  t->table = table;
  return table;
}

static tracer *find(GetPjrtApi_Fn *get_api, const char *path) {
  for (int i = 0; i < hsc__tracing.plugin_count; i++)
    if (hsc__tracing.plugins[i].get_api == get_api)
      return &hsc__tracing.plugins[i];
  if (hsc__tracing.plugin_count == HSC_TRACER_INSTANCES)
    return NULL;
  tracer *t = &hsc__tracing.plugins[hsc__tracing.plugin_count++];
  t->get_api = get_api;
  snprintf(t->path, sizeof t->path, "%s", path ? path : "");
  return t;
}

const PJRT_Api *hsc_tracer_wrap(GetPjrtApi_Fn *get_api, const char *path) {
  pthread_mutex_lock(&hsc__tracing.lock);
  tracer *t = find(get_api, path);
  const PJRT_Api *table =
      t ? hsc_tracer_profile(wrap(t), (int)(t - hsc__tracing.plugins)) : get_api();
  pthread_mutex_unlock(&hsc__tracing.lock);
  return table;
}

static const PJRT_Api *get_instance(int instance) {
  pthread_mutex_lock(&hsc__tracing.lock);
  const PJRT_Api *table = hsc_tracer_profile(wrap(&hsc__tracing.plugins[instance]), instance);
  pthread_mutex_unlock(&hsc__tracing.lock);
  return table;
}
static const PJRT_Api *get0(void) {
  return get_instance(0);
}
static const PJRT_Api *get1(void) {
  return get_instance(1);
}
static const PJRT_Api *get2(void) {
  return get_instance(2);
}
static const PJRT_Api *get3(void) {
  return get_instance(3);
}

GetPjrtApi_Fn *hsc_tracer_entry(GetPjrtApi_Fn *get_api, const char *path) {
  static GetPjrtApi_Fn *const entries[HSC_TRACER_INSTANCES] = {get0, get1, get2, get3};
  pthread_mutex_lock(&hsc__tracing.lock);
  tracer *t = find(get_api, path);
  pthread_mutex_unlock(&hsc__tracing.lock);
  return t ? entries[t - hsc__tracing.plugins] : NULL;
}

// ---- for a process that runs already (python/hloscope/tracing.py) -------------------------------

// Records to the capture at `path` from now on: opens the recorder, or moves it there. False: it
// cannot be; why was said.
HSC_EXPORT bool hsc_tracer_record_to(const char *path) {
  pthread_mutex_lock(&hsc__tracing.lock);
  setenv("HLOSCOPE_OUTPUT_PATH", path, 1);
  bool was_open = hsc__tracing.recorder != NULL;
  bool open = open_recorder();
  hsc_status *status = was_open ? hsc_recorder_move(hsc__tracing.recorder, path) : NULL;
  if (status) {
    complain(hsc_status_message(status));
    hsc_status_free(status);
    open = false;
  } else {
    hsc__tracing.output = getenv("HLOSCOPE_OUTPUT_PATH");
  }
  pthread_mutex_unlock(&hsc__tracing.lock);
  return open;
}

// Makes a table of the plugin writable, where it lies in constant data.
static bool make_writable(const PJRT_Api *table) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = (uintptr_t)table & ~(page - 1);
  uintptr_t end = (uintptr_t)table + table->struct_size;
  return mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) == 0;
}

// A plugin that is in use: its clients hold its own table, so the calls that are recorded are put
// into that one, and the functions that were there are called from a copy. `platform` is what its
// devices are called after. False: the tracer cannot wrap it.
bool hsc_tracer_attach_to(GetPjrtApi_Fn *get_api, const char *path, const char *platform) {
  pthread_mutex_lock(&hsc__tracing.lock);
  tracer *t = find(get_api, path);
  PJRT_Api *live = t ? (PJRT_Api *)(uintptr_t)get_api() : NULL;
  bool attached = t && t->table && t->seen;  // wrapped when it was loaded, or attached before
  if (t && live && !attached) {
    const PJRT_Api *wrapped = wrap(t);
    PJRT_Api *copy = wrapped != live ? malloc(live->struct_size) : NULL;
    if (copy && make_writable(live)) {
      memcpy(copy, live, live->struct_size);
      t->real = copy;
      snprintf(t->platform, sizeof t->platform, "%s", platform);
      replace_slots(live, (int)(t - hsc__tracing.plugins));
      memcpy(t->seen, live, live->struct_size);
      t->table = live;
      attached = true;
    } else {
      free(copy);
    }
  }
  pthread_mutex_unlock(&hsc__tracing.lock);
  return attached;
}
