// plugin_loaded.c - programs on the device: compile, load, run.
//
// Running is synchronous, on the caller's thread (the device's own threads help with large work):
// when Execute returns, outputs are there. A run in the steady state allocates nothing: objects and
// blocks of outputs come from the client's free lists, the completion event is the ready event.
#include "cpu/runtime/records.h"
#include "plugin/plugin_internal.h"
#include "plugin/plugin_peers.h"

#include "cpu/core/communicator.h"

hsc_status *hsc__loaded_create(PJRT_Client *client,
                               hsc__program *program,
                               PJRT_LoadedExecutable **out_loaded) {
  PJRT_LoadedExecutable *loaded = hsc_alloc(sizeof *loaded);
  if (!loaded) {
    hsc__program_release(program);
    return hsc_status_out_of_memory();
  }
  hsc__client_retain(client);
  loaded->client = client;
  loaded->program = program;
  // A program that names no devices and fits into this process stays in it.
  int shift =
      !program->is_placed && program->device_count <= client->own_count ? client->first_device : 0;
  for (int i = 0; i < program->device_count; i++) {
    PJRT_Device *device = client->device_list[program->devices[i] + shift];
    loaded->devices[i] = device->index;
    loaded->process_of[i] = device->description->process;
    if (!hsc__device_is_own(device))
      continue;
    int own = loaded->own_count++;
    loaded->ranks[own] = i;
    loaded->device_list[own] = device;
    loaded->logical_ids[own] =
        (PJRT_LogicalDeviceIds){.replica = program->replica_count > 1 ? i : 0,
                                .partition = program->partition_count > 1 ? i : 0};
  }
  *out_loaded = loaded;
  return NULL;
}

HSC_ENTRY(PJRT_Client_Compile) {
  HSC_CHECK_ARGS(PJRT_Client_Compile, executable);
  hsc__program *program = NULL;
  HSC_PJRT_TRY(hsc__check_program(args->program));
  hsc_view options = {args->compile_options,
                      args->compile_options ? args->compile_options_size : 0};
  HSC_PJRT_TRY(hsc__program_get(args->client, args->program, options, &program));
  return hsc__error_of(hsc__loaded_create(args->client, program, &args->executable));
}

HSC_ENTRY(PJRT_Executable_DeserializeAndLoad) {
  HSC_CHECK_ARGS(PJRT_Executable_DeserializeAndLoad, loaded_executable);
  hsc__program *program = NULL;
  hsc_view options = {0};
  if (HSC_ARGS_HAVE(PJRT_Executable_DeserializeAndLoad,
                    overridden_serialized_compile_options_size) &&
      args->overridden_serialized_compile_options)
    options = (hsc_view){args->overridden_serialized_compile_options,
                         args->overridden_serialized_compile_options_size};
  HSC_PJRT_TRY(
      hsc__program_load(args->client->device,
                        (hsc_view){args->serialized_executable, args->serialized_executable_size},
                        options, args->client->device_count, &program));
  return hsc__error_of(hsc__loaded_create(args->client, program, &args->loaded_executable));
}

HSC_ENTRY(PJRT_LoadedExecutable_Destroy) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_Destroy, executable);
  PJRT_LoadedExecutable *loaded = args->executable;
  if (!loaded)
    return NULL;
  hsc__program_release(loaded->program);
  hsc__client_release(loaded->client);
  hsc_free(loaded);
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_GetExecutable) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_GetExecutable, executable);
  args->executable = hsc_alloc(sizeof *args->executable);
  if (!args->executable)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc__program_retain(args->loaded_executable->program);
  args->executable->program = args->loaded_executable->program;
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_AddressableDevices) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_AddressableDevices, num_addressable_devices);
  args->addressable_devices = args->executable->device_list;
  args->num_addressable_devices = (size_t)args->executable->own_count;
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_AddressableDeviceLogicalIds) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
                 num_addressable_device_logical_ids);
  args->addressable_device_logical_ids = args->executable->logical_ids;
  args->num_addressable_device_logical_ids = (size_t)args->executable->own_count;
  return NULL;
}

static void delete_assignment(PJRT_DeviceAssignmentSerialized *assignment) {
  hsc_free(assignment);
}

// DeviceAssignmentProto { replica_count, computation_count, computation_devices {
// replica_device_ids: [devices] } of each partition }
HSC_ENTRY(PJRT_LoadedExecutable_GetDeviceAssignment) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter);
  const hsc__program *p = args->executable->program;
  unsigned char *bytes = hsc_alloc(4 + 5 * HSC_PLUGIN_MAX_DEVICES);
  unsigned char *at = bytes;
  if (!bytes)
    return hsc__error_of(hsc_status_out_of_memory());
  _Static_assert(HSC_PLUGIN_MAX_DEVICES < 126, "numbers and lengths are one byte");
  *at++ = 0x08;
  *at++ = (unsigned char)p->replica_count;
  *at++ = 0x10;
  *at++ = (unsigned char)p->partition_count;
  for (int partition = 0; partition < p->partition_count; partition++) {
    *at++ = 0x1a;
    *at++ = (unsigned char)(2 + p->replica_count);
    *at++ = 0x0a;
    *at++ = (unsigned char)p->replica_count;
    for (int replica = 0; replica < p->replica_count; replica++)
      *at++ = (unsigned char)args->executable->devices[partition + replica];
  }
  args->serialized_bytes = (const char *)bytes;
  args->serialized_bytes_size = (size_t)(at - bytes);
  args->serialized_device_assignment = (PJRT_DeviceAssignmentSerialized *)bytes;
  args->serialized_device_assignment_deleter = delete_assignment;
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_Delete) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_Delete, executable);
  atomic_store(&args->executable->deleted, true);
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_IsDeleted) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_IsDeleted, is_deleted);
  args->is_deleted = atomic_load(&args->executable->deleted);
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_Fingerprint) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_Fingerprint, executable_fingerprint_size);
  args->executable_fingerprint = args->executable->program->fingerprint;
  args->executable_fingerprint_size = 32;
  return NULL;
}

// Carries user data for custom calls; made and freed for hosts that pass one with each execution.
HSC_ENTRY(PJRT_ExecuteContext_Create) {
  HSC_CHECK_ARGS(PJRT_ExecuteContext_Create, context);
  args->context = hsc_alloc(sizeof *args->context);
  return args->context ? NULL : hsc__error_of(hsc_status_out_of_memory());
}

HSC_ENTRY(PJRT_ExecuteContext_Destroy) {
  HSC_CHECK_ARGS(PJRT_ExecuteContext_Destroy, context);
  if (args->context)
    hsc_free(args->context->values);
  hsc_free(args->context);
  return NULL;
}

// ---- execute ------------------------------------------------------------------------------------

enum { INLINE_COUNT = 48 };

// What happens to an argument's buffer: it stays; it is taken from the host; an output lies in its
// memory, too.
enum { KEPT = 0, TAKEN = 1, REUSED = 2 };

// One execution's working state; arrays are on the stack up to INLINE_COUNT inputs and outputs.
typedef struct run {
  hsc__program *program;
  PJRT_Client *client;
  PJRT_Device *device;
  PJRT_Buffer *const *arguments;
  hsc__block **pinned;    // [input_count] referenced while running
  const void **inputs;    // [input_count]
  void **outputs;         // [output_count]
  PJRT_Buffer **results;  // [output_count]; NULL until made
  // [input_count] KEPT, TAKEN or REUSED; only when the program donates
  unsigned char *take;
  int pinned_count, result_count;
} run;

static hsc_status *wrong_argument(const run *r, int i) {
  const PJRT_Buffer *buffer = r->arguments[i];
  hsc_bytes given = {0};
  hsc_bytes wanted = {0};
  hsc_shape shape = {.type = buffer->type, .rank = buffer->rank, .dims = buffer->dims};
  hsc_shape_print(&shape, false, &given);
  hsc_shape_print(&r->program->inputs[i], false, &wanted);
  const PJRT_Layouts_MemoryLayout *layout =
      r->program->in_layouts ? r->program->in_layouts[i] : NULL;
  if (buffer->layout || layout) {
    hsc_bytes_append_text(&given, buffer->layout ? buffer->layout->text : " row-major");
    hsc_bytes_append_text(&wanted, layout ? layout->text : " row-major");
  }
  hsc_status *status = HSC_ERR(INVALID_ARGUMENT, "%s: argument %d is %s; the program wants %s",
                               hsc_cpu_executable_name(r->program->executable), i,
                               hsc_bytes_text(&given), hsc_bytes_text(&wanted));
  hsc_bytes_deinit(&given);
  hsc_bytes_deinit(&wanted);
  return status;
}

// As on XLA's devices the elements count, not the dimensions that a host gives them: hosts pass
// f32[1] for f32[]. A token is passed as whatever empty array the host has for it.
static bool fits(const PJRT_Buffer *buffer, const hsc__program *p, int i) {
  hsc_type wanted = p->inputs[i].type;
  const PJRT_Layouts_MemoryLayout *layout = p->in_layouts ? p->in_layouts[i] : NULL;
  if (buffer->layout != layout) {
    const hsc_shape *shape = &p->inputs[i];
    if (buffer->rank != shape->rank ||
        !hsc__layout_same_memory(buffer->layout, layout, shape->dims, shape->rank))
      return false;
  }
  return wanted == HSC_TYPE_TOKEN
             ? buffer->size_bytes == 0
             : buffer->type == wanted && buffer->size_bytes == p->input_bytes[i];
}

// The lists of a device. A host may leave out a list that would be empty.
static PJRT_Buffer *const *arguments_of(const PJRT_LoadedExecutable_Execute_Args *args,
                                        size_t device) {
  return args->num_args > 0 ? args->argument_lists[device] : NULL;
}

static PJRT_Buffer **results_of(const PJRT_LoadedExecutable_Execute_Args *args, size_t device) {
  return args->executable->program->output_count > 0 ? args->output_lists[device] : NULL;
}

// Contents that are still to come are waited for before the lock is taken.
static PJRT_Error *check_arguments(run *r) {
  for (int i = 0; i < r->program->input_count; i++) {
    PJRT_Buffer *buffer = r->arguments[i];
    if (!buffer)
      return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "argument %d is NULL", i));
    if (buffer->client != r->client)
      return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "argument %d belongs to another client", i));
    if (!fits(buffer, r->program, i))
      return hsc__error_of(wrong_argument(r, i));
    if (buffer->ready) {
      PJRT_Error *error = hsc__event_wait(buffer->ready);
      if (error)
        return error;
    }
  }
  return NULL;
}

// Which arguments the program may take: those that it donates, without those that the host keeps.
static void find_donations(run *r, const PJRT_ExecuteOptions *options) {
  const hsc__program *p = r->program;
  for (int i = 0; i < p->input_count; i++)
    r->take[i] = p->donated[i] ? TAKEN : KEPT;
  if (!options ||
      options->struct_size < HSC_PJRT_SIZE_TO(PJRT_ExecuteOptions, num_non_donatable_input_indices))
    return;
  for (size_t i = 0; i < options->num_non_donatable_input_indices; i++) {
    int64_t index = options->non_donatable_input_indices[i];
    if (index >= 0 && index < p->input_count)
      r->take[index] = KEPT;
  }
}

// Under the lock: a buffer that is donated must be one argument only.
static hsc_status *check_donations_locked(run *r) {
  int count = r->program->input_count;
  int twice = -1;
  for (int i = 0; i < count; i++) {
    if (!r->take[i])
      continue;
    if (r->arguments[i]->donated_now)
      twice = i;
    r->arguments[i]->donated_now = true;
  }
  for (int i = 0; i < count; i++)
    if (!r->take[i] && r->arguments[i]->donated_now)
      twice = i;
  for (int i = 0; i < count; i++)
    if (r->take[i])
      r->arguments[i]->donated_now = false;
  if (twice < 0)
    return NULL;
  return HSC_ERR(
      INVALID_ARGUMENT,
      "%s: the buffer of argument %d is donated, and is another argument of the same call as well",
      hsc_cpu_executable_name(r->program->executable), twice);
}

// Under the lock: a reference on every input's block. A donated one is ours from here on: nobody
// can begin to read memory that is about to be written.
static hsc_status *pin_locked(run *r) {
  hsc__program *p = r->program;
  for (int i = 0; i < p->input_count; i++) {
    hsc__block *block = r->arguments[i]->block;
    if (__builtin_expect(!block, 0))
      return HSC_ERR(INVALID_ARGUMENT, "%s: the buffer of argument %d has been deleted or donated",
                     hsc_cpu_executable_name(p->executable), i);
    if (p->donates && r->take[i])
      r->arguments[i]->block = NULL;
    else
      block->references++;
    r->pinned[r->pinned_count++] = block;
    r->inputs[i] = block->data;
  }
  return NULL;
}

// Under the lock: an output takes the memory of a donated input when our reference is the only one.
static hsc__block *take_input_locked(run *r, int output) {
  int input = r->program->donates ? r->program->alias[output] : -1;
  if (input < 0 || r->take[input] != TAKEN)
    return NULL;
  hsc__block *block = r->pinned[input];
  if (block->references != 1 || block->read_only)
    return NULL;
  block->references++;
  r->take[input] = REUSED;
  return block;
}

static void make_results_locked(run *r) {
  hsc__program *p = r->program;
  for (int i = 0; i < p->output_count; i++) {
    PJRT_Buffer *buffer = hsc__buffer_pop_locked(r->client);
    if (!buffer)
      break;
    buffer->block = take_input_locked(r, i);
    if (!buffer->block)
      buffer->block = hsc__block_pop_locked(r->client, p->output_bytes[i]);
    r->results[r->result_count++] = buffer;
    hsc__client_retain(r->client);
  }
}

// Whatever the free lists did not have; then shapes and addresses.
static hsc_status *complete_results(run *r) {
  hsc__program *p = r->program;
  while (r->result_count < p->output_count) {
    PJRT_Buffer *buffer = hsc__buffer_new(r->client);
    if (!buffer)
      return hsc_status_out_of_memory();
    pthread_mutex_lock(&r->client->lock);
    buffer->block = take_input_locked(r, r->result_count);
    pthread_mutex_unlock(&r->client->lock);
    r->results[r->result_count++] = buffer;
  }
  for (int i = 0; i < p->output_count; i++) {
    PJRT_Buffer *buffer = r->results[i];
    const hsc_shape *shape = &p->outputs[i];
    if (!buffer->block)
      buffer->block = hsc__block_take(r->client, p->output_bytes[i]);
    if (!buffer->block)
      return HSC_ERR(RESOURCE_EXHAUSTED, "no memory for output %d of %zu bytes", i,
                     p->output_bytes[i]);
    if (!hsc__buffer_set_shape(buffer, shape->type, shape->rank, shape->dims, p->output_bytes[i]))
      return hsc_status_out_of_memory();
    buffer->device = r->device;
    if (p->out_layouts)
      buffer->layout = p->out_layouts[i];
    r->outputs[i] = buffer->block->data;
  }
  return NULL;
}

// After a failure, what was donated goes back to its buffer, unless the program may have written
// over it.
static void unpin(run *r, bool failed) {
  hsc__free_blocks free_blocks = {0};
  pthread_mutex_lock(&r->client->lock);
  for (int i = 0; i < r->pinned_count; i++) {
    if (failed && r->program->donates && r->take[i] == TAKEN)
      r->arguments[i]->block = r->pinned[i];
    else
      hsc__block_release_locked(r->client, r->pinned[i], &free_blocks);
  }
  pthread_mutex_unlock(&r->client->lock);
  if (free_blocks.first)
    hsc__blocks_finish(r->client, &free_blocks);
}

static hsc_status *prepare(run *r) {
  hsc_status *status = NULL;
  pthread_mutex_lock(&r->client->lock);
  if (r->program->donates)
    status = check_donations_locked(r);
  if (!status)
    status = pin_locked(r);
  if (!status)
    make_results_locked(r);
  pthread_mutex_unlock(&r->client->lock);
  return status ? status : complete_results(r);
}

static void finish(run *r, bool failed) {
  unpin(r, failed);
  for (int i = 0; failed && i < r->result_count; i++) {
    hsc__buffer_free(r->results[i]);
    r->results[i] = NULL;
  }
}

_Thread_local hsc__execution hsc__current;

// As custom calls see it. Hosts that give launches a number mean it to be the run's.
static hsc__execution execution_of(hsc__program *program, const PJRT_ExecuteOptions *options) {
  static _Atomic int64_t runs;
  hsc__execution e = {.program = program, .device = program->devices[0]};
  if (options)
    e.run_id = options->launch_id;
  if (!e.run_id)
    e.run_id = atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed) + 1;
  if (options && options->struct_size >= HSC_PJRT_SIZE_TO(PJRT_ExecuteOptions, context))
    e.context = options->context;
  return e;
}

static PJRT_Error *run_prepared(run *r, const PJRT_ExecuteOptions *options) {
  hsc_status *status = prepare(r);
  hsc__execution before = hsc__current;  // a callback may run programs
  hsc__current = execution_of(r->program, options);
  hsc__current.device = r->device->index;
  hsc_cpu_records_device(r->device->index);
  if (!status)
    status = hsc_cpu_execute(r->program->executable, r->inputs, r->outputs);
  hsc__current = before;
  hsc_cpu_records_device(before.device);
  finish(r, status != NULL);
  return hsc__error_of(status);
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args, run *r) {
  PJRT_Error *error = check_arguments(r);
  if (error)
    return error;
  if (r->program->donates)
    find_donations(r, args->options);
  return run_prepared(r, args->options);
}

// ---- several devices ----------------------------------------------------------------------------

typedef struct rank_run {
  run run;
  hsc_cpu_communicator *communicator;
  hsc__execution execution;
  int rank;
  hsc_status *status;
  pthread_t thread;
  bool started;
} rank_run;

static void *run_rank(void *argument) {
  rank_run *r = argument;
  hsc__execution before = hsc__current;
  hsc__current = r->execution;
  hsc__current.rank = r->rank;
  hsc__current.device = r->run.device->index;
  hsc_cpu_records_device(r->run.device->index);
  r->status = hsc_cpu_execute_rank(r->run.program->executable, r->communicator, r->rank,
                                   r->run.inputs, r->run.outputs);
  hsc__current = before;
  if (r->status)
    hsc_cpu_communicator_fail(r->communicator);
  return NULL;
}

// The error of a rank that failed of itself; the others' say only that another failed.
static hsc_status *take_status(rank_run *ranks, int count) {
  hsc_status *status = NULL;
  for (int pass = 0; pass < 2 && !status; pass++)
    for (int d = 0; d < count && !status; d++) {
      if (!ranks[d].status || (pass == 0 && hsc_status_code(ranks[d].status) == HSC_ABORTED))
        continue;
      status = hsc_status_note(ranks[d].status, "while: running on device %d",
                               ranks[d].run.device->index);
      ranks[d].status = NULL;
    }
  for (int d = 0; d < count; d++)
    hsc_status_free(ranks[d].status);
  return status;
}

// Runs that are alike in all processes: of the same program on the same devices.
static uint64_t run_number(const PJRT_LoadedExecutable *loaded) {
  const hsc__program *p = loaded->program;
  uint64_t program = hsc_hash64(p->fingerprint, sizeof p->fingerprint - 1, 0);
  program = hsc_hash64(loaded->devices, sizeof(int) * (size_t)p->device_count, program);
  return hsc__peers_next_run(loaded->client->peers, program);
}

static hsc_status *run_ranks(const PJRT_LoadedExecutable *loaded, rank_run *ranks, int count) {
  hsc_cpu_communicator *communicator = NULL;
  hsc__peers *peers = count < loaded->program->device_count ? loaded->client->peers : NULL;
  hsc_cpu_remote remote = {.process_of = loaded->process_of,
                           .process = loaded->client->process,
                           .run = peers ? run_number(loaded) : 0,
                           .user = peers,
                           .send_to = hsc__peers_send,
                           .receive_from = hsc__peers_receive,
                           .give_up = hsc__peers_give_up};
  HSC_TRY(hsc_cpu_communicator_create(loaded->program->device_count, peers ? &remote : NULL,
                                      &communicator));
  hsc_status *status = NULL;
  for (int d = 0; d < count; d++) {
    ranks[d].communicator = communicator;
    ranks[d].rank = loaded->ranks[d];
  }
  // None on the caller's thread: functions of the host that a program calls must not find what that
  // thread is in the middle of.
  for (int d = 0; d < count && !status; d++) {
    int error = pthread_create(&ranks[d].thread, NULL, run_rank, &ranks[d]);
    ranks[d].started = error == 0;
    if (error)
      status = hsc_status_errno(error, "cannot start a thread for a device", "pthread_create");
  }
  if (status)
    hsc_cpu_communicator_fail(communicator);
  for (int d = 0; d < count; d++)
    if (ranks[d].started)
      pthread_join(ranks[d].thread, NULL);
  hsc_status *ran = take_status(ranks, count);
  hsc_cpu_communicator_destroy(communicator);
  if (peers && (status || ran))
    hsc__peers_forget(peers, remote.run);
  if (!status)
    return ran;
  hsc_status_free(ran);
  return status;
}

// Each device's run is prepared as a single one is; then all run at the same time, each on a thread
// of its own.
static PJRT_Error *execute_on_devices(PJRT_LoadedExecutable_Execute_Args *args) {
  hsc__program *p = args->executable->program;
  size_t ins = (size_t)p->input_count;
  size_t outs = (size_t)p->output_count;
  size_t count = (size_t)args->executable->own_count;
  size_t prepared = 0;
  size_t each =
      sizeof(rank_run) + ins * (sizeof(hsc__block *) + sizeof(void *) + 8) + outs * sizeof(void *);
  char *room = hsc_alloc(count * each + 1);
  if (!room)
    return hsc__error_of(hsc_status_out_of_memory());
  rank_run *ranks = (rank_run *)(void *)room;
  char *at = room + count * sizeof *ranks;
  PJRT_Error *error = NULL;
  hsc_status *status = NULL;
  for (size_t d = 0; d < count; d++) {
    run *r = &ranks[d].run;
    ranks[d].execution = d ? ranks[0].execution : execution_of(p, args->options);
    *r = (run){.program = p,
               .client = args->executable->client,
               .device = args->executable->device_list[d],
               .arguments = arguments_of(args, d),
               .results = results_of(args, d)};
    r->pinned = (hsc__block **)(void *)at;
    at += ins * sizeof(hsc__block *);
    r->inputs = (const void **)(void *)at;
    at += ins * sizeof(void *);
    r->outputs = (void **)(void *)at;
    at += outs * sizeof(void *);
    r->take = (unsigned char *)at;
    at += ins * 8;
  }
  for (size_t d = 0; d < count && !error; d++) {
    error = check_arguments(&ranks[d].run);
    if (!error && p->donates)
      find_donations(&ranks[d].run, args->options);
  }
  while (prepared < count && !error && !status)
    status = prepare(&ranks[prepared++].run);
  if (!error && !status)
    status = run_ranks(args->executable, ranks, (int)count);
  for (size_t d = 0; d < prepared; d++)
    finish(&ranks[d].run, status != NULL);
  hsc_free(room);
  if (!error)
    error = hsc__error_of(status);
  for (size_t d = 0; d < count && !error && args->device_complete_events; d++)
    args->device_complete_events[d] = hsc__event_ready();
  return error;
}

static hsc_status *check_call(const PJRT_LoadedExecutable_Execute_Args *args) {
  const hsc__program *p = args->executable->program;
  const PJRT_ExecuteOptions *options = args->options;
  const char *name = hsc_cpu_executable_name(p->executable);
  if (atomic_load_explicit(&args->executable->deleted, memory_order_relaxed))
    return HSC_ERR(FAILED_PRECONDITION, "%s has been deleted", name);
  if (args->num_devices != (size_t)args->executable->own_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s: arguments for %zu devices; it runs on %d", name,
                   args->num_devices, args->executable->own_count);
  if (args->num_devices == 0)  // all of it runs in other processes
    return NULL;
  if (args->num_args != (size_t)p->input_count)
    return HSC_ERR(INVALID_ARGUMENT,
                   "%s: Execution supplied %zu buffers but compiled program expected %d buffers",
                   name, args->num_args, p->input_count);
  if ((p->input_count > 0 && !args->argument_lists) || (p->output_count > 0 && !args->output_lists))
    return HSC_ERR(INVALID_ARGUMENT, "%s: the list of arguments or of results is NULL", name);
  if (args->execute_device && args->execute_device->client != args->executable->client)
    return HSC_ERR(INVALID_ARGUMENT, "%s: the device belongs to another client", name);
  if (options && (options->num_send_ops > 0 || options->num_recv_ops > 0))
    return HSC_ERR(UNIMPLEMENTED, "%s: send and receive callbacks: not supported", name);
  return NULL;
}

HSC_ENTRY(PJRT_LoadedExecutable_Execute) {
  HSC_CHECK_ARGS(PJRT_LoadedExecutable_Execute, execute_device);
  hsc_status *status = check_call(args);
  if (__builtin_expect(status != NULL, 0))
    return hsc__error_of(status);
  hsc__program *p = args->executable->program;
  if (p->device_count > 1 || args->executable->own_count == 0)
    return execute_on_devices(args);
  size_t ins = (size_t)p->input_count;
  size_t outs = (size_t)p->output_count;
  hsc__block *pinned[INLINE_COUNT];
  const void *inputs[INLINE_COUNT];
  void *outputs[INLINE_COUNT];
  unsigned char take[INLINE_COUNT];
  run r = {.program = p,
           .client = args->executable->client,
           .device = args->executable->device_list[0],
           .arguments = arguments_of(args, 0),
           .pinned = pinned,
           .inputs = inputs,
           .outputs = outputs,
           .take = take,
           .results = results_of(args, 0)};
  char *room = NULL;
  if (ins > INLINE_COUNT || outs > INLINE_COUNT) {
    room =
        hsc_alloc(ins * (sizeof *pinned + sizeof *inputs + sizeof *take) + outs * sizeof *outputs);
    if (!room)
      return hsc__error_of(hsc_status_out_of_memory());
    r.pinned = (hsc__block **)(void *)room;
    r.inputs = (const void **)(void *)(r.pinned + ins);
    r.outputs = (void **)(void *)(r.inputs + ins);
    r.take = (unsigned char *)(r.outputs + outs);
  }
  PJRT_Error *error = execute(args, &r);
  hsc_free(room);
  if (!error && args->device_complete_events)
    args->device_complete_events[0] = hsc__event_ready();
  return error;
}
