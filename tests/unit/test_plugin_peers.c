// test_plugin_peers.c - a job of three processes, each a thread of this one with a client of its
// own: they meet through a key-value store, their devices exchange data, and what happens when one
// is missing, gone or a stranger.
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "pjrt/abi_transfers.h"
#include "pjrt/client.h"
#include "plugin/plugin_internal.h"
#include "unit.h"

enum { PROCESSES = 3, DEVICES = 4, N = 4, KEYS = 16 };
static const int device_counts[PROCESSES] = {1, 2, 1};
static const int first_devices[PROCESSES] = {0, 1, 3};

// ---- a key-value store --------------------------------------------------------------------------

typedef struct store {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  char keys[KEYS][64], values[KEYS][256];
  int count;
} store;

static store *store_new(void) {
  store *s = calloc(1, sizeof *s);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, NULL);
  return s;
}

static void store_free(store *s) {
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->changed);
  free(s);
}

// Waits for the key; the value is the caller's.
static char *store_wait(store *s, const char *key, size_t size) {
  char *found = NULL;
  pthread_mutex_lock(&s->lock);
  while (!found) {
    for (int i = 0; i < s->count && !found; i++)
      if (!strncmp(s->keys[i], key, size) && s->keys[i][size] == 0)
        found = strdup(s->values[i]);
    if (!found)
      pthread_cond_wait(&s->changed, &s->lock);
  }
  pthread_mutex_unlock(&s->lock);
  return found;
}

static void delete_value(char *value) {
  free(value);
}

static PJRT_Error *get_value(PJRT_KeyValueGetCallback_Args *args) {
  args->value = store_wait(args->user_arg, args->key, args->key_size);
  args->value_size = strlen(args->value);
  args->value_deleter_callback = delete_value;
  return NULL;
}

static PJRT_Error *put_value(PJRT_KeyValuePutCallback_Args *args) {
  store *s = args->user_arg;
  pthread_mutex_lock(&s->lock);
  snprintf(s->keys[s->count], sizeof s->keys[0], "%.*s", (int)args->key_size, args->key);
  snprintf(s->values[s->count++], sizeof s->values[0], "%.*s", (int)args->value_size, args->value);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

// ---- a process ----------------------------------------------------------------------------------

typedef struct process {
  int number;
  store *store;
  const char *program;
  int runs;          // of the program; 0: the client is made and destroyed
  float out[2][64];  // of each device, after the last run
  char error[512];   // the first one's message; "" = none
  PJRT_Error_Code code;
  bool facts_hold;
  pthread_t thread;
} process;

static const PJRT_Api *api;
#define ARGS_OF(function, ...) \
  (function##_Args) { \
    .struct_size = function##_Args_STRUCT_SIZE, __VA_ARGS__ \
  }

static bool is_fine(process *p, PJRT_Error *error) {
  if (!error)
    return true;
  PJRT_Error_Message_Args message = ARGS_OF(PJRT_Error_Message, .error = error);
  PJRT_Error_GetCode_Args code = ARGS_OF(PJRT_Error_GetCode, .error = error);
  PJRT_Error_Destroy_Args destroy = ARGS_OF(PJRT_Error_Destroy, .error = error);
  api->PJRT_Error_Message(&message);
  api->PJRT_Error_GetCode(&code);
  if (!*p->error) {
    snprintf(p->error, sizeof p->error, "%.*s", (int)message.message_size, message.message);
    p->code = code.code;
  }
  api->PJRT_Error_Destroy(&destroy);
  return false;
}

static PJRT_Client *client_new(process *p) {
  PJRT_NamedValue options[3];
  const char *names[3] = {"node_id", "num_nodes", "device_count"};
  int64_t values[3] = {p->number, PROCESSES, device_counts[p->number]};
  for (int i = 0; i < 3; i++)
    options[i] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                   .name = names[i],
                                   .name_size = strlen(names[i]),
                                   .type = PJRT_NamedValue_kInt64,
                                   .int64_value = values[i],
                                   .value_size = 1};
  PJRT_Client_Create_Args args =
      ARGS_OF(PJRT_Client_Create, .create_options = options, .num_options = 3);
  if (p->store) {
    args.kv_get_callback = get_value;
    args.kv_put_callback = put_value;
    args.kv_get_user_arg = args.kv_put_user_arg = p->store;
  }
  return is_fine(p, api->PJRT_Client_Create(&args)) ? args.client : NULL;
}

// The client knows all devices and owns its own.
static bool facts_hold(process *p, PJRT_Client *client) {
  PJRT_Client_Devices_Args all = ARGS_OF(PJRT_Client_Devices, .client = client);
  PJRT_Client_AddressableDevices_Args own =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = client);
  PJRT_Client_ProcessIndex_Args index = ARGS_OF(PJRT_Client_ProcessIndex, .client = client);
  if (!is_fine(p, api->PJRT_Client_Devices(&all)) ||
      !is_fine(p, api->PJRT_Client_AddressableDevices(&own)) ||
      !is_fine(p, api->PJRT_Client_ProcessIndex(&index)))
    return false;
  bool holds = all.num_devices == DEVICES && index.process_index == p->number &&
               (int)own.num_addressable_devices == device_counts[p->number];
  for (int d = 0; holds && d < DEVICES; d++) {
    PJRT_Device_IsAddressable_Args is =
        ARGS_OF(PJRT_Device_IsAddressable, .device = all.devices[d]);
    PJRT_Device_GetDescription_Args description =
        ARGS_OF(PJRT_Device_GetDescription, .device = all.devices[d]);
    is_fine(p, api->PJRT_Device_IsAddressable(&is));
    is_fine(p, api->PJRT_Device_GetDescription(&description));
    PJRT_DeviceDescription_ProcessIndex_Args of = ARGS_OF(
        PJRT_DeviceDescription_ProcessIndex, .device_description = description.device_description);
    is_fine(p, api->PJRT_DeviceDescription_ProcessIndex(&of));
    int begin = first_devices[p->number];
    holds = is.is_addressable == (d >= begin && d < begin + device_counts[p->number]) &&
            (of.process_index == p->number) == is.is_addressable;
  }
  return holds;
}

// Device d's argument: numbers whose sum depends on the order in which they are added.
static void fill(int d, float out[N]) {
  static const float of_device[DEVICES] = {1e8f, 1.25f, -1e8f, 0.1f};
  for (int i = 0; i < N; i++)
    out[i] = of_device[d] * (float)(i + 1);
}

static void run_once(process *p, PJRT_Client *client, PJRT_LoadedExecutable *loaded) {
  int count = device_counts[p->number];
  PJRT_Client_AddressableDevices_Args own =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = client);
  PJRT_Buffer *arguments[2] = {NULL};
  PJRT_Buffer *results[2] = {NULL};
  PJRT_Buffer *const *argument_lists[2] = {&arguments[0], &arguments[1]};
  PJRT_Buffer **result_lists[2] = {&results[0], &results[1]};
  static const int64_t dims[1] = {N};
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE};
  is_fine(p, api->PJRT_Client_AddressableDevices(&own));
  for (int d = 0; d < count; d++) {
    float data[N];
    fill(first_devices[p->number] + d, data);
    PJRT_Client_BufferFromHostBuffer_Args put =
        ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = data,
                .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 1,
                .device = own.addressable_devices[d]);
    if (!is_fine(p, api->PJRT_Client_BufferFromHostBuffer(&put)))
      return;
    PJRT_Event_Destroy_Args done = ARGS_OF(PJRT_Event_Destroy, .event = put.done_with_host_buffer);
    api->PJRT_Event_Destroy(&done);
    arguments[d] = put.buffer;
  }
  PJRT_LoadedExecutable_Execute_Args run =
      ARGS_OF(PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
              .argument_lists = argument_lists, .num_devices = (size_t)count, .num_args = 1,
              .output_lists = result_lists);
  is_fine(p, api->PJRT_LoadedExecutable_Execute(&run));
  for (int d = 0; d < count; d++) {
    PJRT_Buffer_ToHostBuffer_Args get = ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = results[d],
                                                .dst = p->out[d], .dst_size = sizeof p->out[d]);
    if (results[d] && is_fine(p, api->PJRT_Buffer_ToHostBuffer(&get))) {
      PJRT_Event_Destroy_Args done = ARGS_OF(PJRT_Event_Destroy, .event = get.event);
      api->PJRT_Event_Destroy(&done);
    }
    PJRT_Buffer_Destroy_Args result = ARGS_OF(PJRT_Buffer_Destroy, .buffer = results[d]);
    PJRT_Buffer_Destroy_Args argument = ARGS_OF(PJRT_Buffer_Destroy, .buffer = arguments[d]);
    api->PJRT_Buffer_Destroy(&result);
    api->PJRT_Buffer_Destroy(&argument);
  }
}

static void *be_process(void *argument) {
  process *p = argument;
  PJRT_Client *client = client_new(p);
  if (!client)
    return NULL;
  p->facts_hold = facts_hold(p, client);
  hsc_compile_options options = hsc_compile_options_default();
  hsc_bytes bytes = {0};
  options.replica_count = DEVICES;
  hsc_status_free(hsc_compile_options_write(&options, &bytes));
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)(uintptr_t)p->program,
                          .code_size = strlen(p->program),
                          .format = "hlo",
                          .format_size = 3};
  PJRT_Client_Compile_Args compile =
      ARGS_OF(PJRT_Client_Compile, .client = client, .program = &program,
              .compile_options = bytes.data, .compile_options_size = bytes.size);
  if (p->runs && is_fine(p, api->PJRT_Client_Compile(&compile))) {
    for (int i = 0; i < p->runs && !*p->error; i++)
      run_once(p, client, compile.executable);
    PJRT_LoadedExecutable_Destroy_Args done =
        ARGS_OF(PJRT_LoadedExecutable_Destroy, .executable = compile.executable);
    api->PJRT_LoadedExecutable_Destroy(&done);
  }
  hsc_bytes_deinit(&bytes);
  PJRT_Client_Destroy_Args destroy = ARGS_OF(PJRT_Client_Destroy, .client = client);
  api->PJRT_Client_Destroy(&destroy);
  return NULL;
}

// A job; process `silent` (-1: none) goes as soon as all have met.
static void run_job(const char *program, int runs, int silent, process job[PROCESSES]) {
  api = hsc__plugin_table();
  store *s = store_new();
  for (int i = 0; i < PROCESSES; i++) {
    job[i] = (process){.number = i, .store = s, .program = program, .runs = i == silent ? 0 : runs};
    assert_int_equal(pthread_create(&job[i].thread, NULL, be_process, &job[i]), 0);
  }
  for (int i = 0; i < PROCESSES; i++)
    pthread_join(job[i].thread, NULL);
  store_free(s);
}

static const float *output_of(const process job[PROCESSES], int device) {
  for (int p = 0; p < PROCESSES; p++)
    if (device >= first_devices[p] && device < first_devices[p] + device_counts[p])
      return job[p].out[device - first_devices[p]];
  return NULL;
}

#define SUM "sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }\n"
static const char all_reduce[] =
    "HloModule r\n" SUM
    "ENTRY main { x = f32[4] parameter(0) ROOT y = f32[4] all-reduce(x), replica_groups={}, "
    "to_apply=sum }\n";

static void sums_over_processes_have_the_bits_of_one_process(void **state) {
  process job[PROCESSES];
  run_job(all_reduce, 20, -1, job);
  for (int p = 0; p < PROCESSES; p++) {
    assert_string_equal(job[p].error, "");
    assert_true(job[p].facts_hold);
  }
  float wanted[N];
  fill(0, wanted);
  for (int d = 1; d < DEVICES; d++) {
    float other[N];
    fill(d, other);
    for (int i = 0; i < N; i++)
      wanted[i] += other[i];
  }
  for (int d = 0; d < DEVICES; d++)
    assert_memory_equal(output_of(job, d), wanted, sizeof wanted);
}

static void groups_within_and_across_processes_exchange(void **state) {
  // {0,2} spans two processes, {1,3} two others; device 2 and 1 share a process
  static const char program[] =
      "HloModule g\nENTRY main { x = f32[4] parameter(0) g = f32[8] all-gather(x), "
      "replica_groups={{0,2},{1,3}}, dimensions={0} ROOT y = f32[8] collective-permute(g), "
      "source_target_pairs={{0,3},{3,0},{1,2}} }\n";
  static const int members[DEVICES][2] = {{0, 2}, {1, 3}, {0, 2}, {1, 3}};
  static const int source[DEVICES] = {3, -1, 1, 0};
  process job[PROCESSES];
  run_job(program, 3, -1, job);
  for (int p = 0; p < PROCESSES; p++)
    assert_string_equal(job[p].error, "");
  for (int d = 0; d < DEVICES; d++) {
    float wanted[2 * N] = {0};
    for (int k = 0; k < 2 && source[d] >= 0; k++)
      fill(members[source[d]][k], wanted + k * N);
    assert_memory_equal(output_of(job, d), wanted, sizeof wanted);
  }
}

static void a_loop_meets_as_often_as_it_turns(void **state) {
  static const char program[] =
      "HloModule w\n" SUM
      "body { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 x = f32[4] "
      "get-tuple-element(t), index=1 one = s32[] constant(1) j = s32[] add(i, one) r = f32[4] "
      "all-reduce(x), replica_groups={}, to_apply=sum q = f32[] constant(0.25) b = f32[4] "
      "broadcast(q), dimensions={} y = f32[4] multiply(r, b) ROOT n = (s32[], f32[4]) tuple(j, y) "
      "}\n"
      "cond { t = (s32[], f32[4]) parameter(0) i = s32[] get-tuple-element(t), index=0 c = s32[] "
      "constant(7) ROOT p = pred[] compare(i, c), direction=LT }\n"
      "ENTRY main { x = f32[4] parameter(0) z = s32[] constant(0) t = (s32[], f32[4]) tuple(z, x) "
      "w = (s32[], f32[4]) while(t), condition=cond, body=body ROOT y = f32[4] "
      "get-tuple-element(w), index=1 }\n";
  process job[PROCESSES];
  run_job(program, 2, -1, job);
  for (int p = 0; p < PROCESSES; p++)
    assert_string_equal(job[p].error, "");
  for (int d = 1; d < DEVICES; d++)
    assert_memory_equal(output_of(job, d), output_of(job, 0), N * sizeof(float));
}

static void a_process_that_went_is_named(void **state) {
  process job[PROCESSES];
  run_job(all_reduce, 1, 1, job);
  for (int p = 0; p < PROCESSES; p += 2) {
    // whoever notices first may be the reason for the other
    assert_true(strstr(job[p].error, "process 1 of this job is gone") ||
                strstr(job[p].error, "process 0 of this job is gone") ||
                strstr(job[p].error, "process 2 of this job is gone") ||
                strstr(job[p].error, "a device of process"));
    assert_true(job[p].code == PJRT_Error_Code_UNAVAILABLE ||
                job[p].code == PJRT_Error_Code_ABORTED);
  }
  assert_true(strstr(job[0].error, "process 1 of this job is gone") ||
              strstr(job[2].error, "process 1 of this job is gone"));
}

// Somebody who found the port but does not know the job's token is the first to connect.
static void strangers_are_hung_up_on(void **state) {
  api = hsc__plugin_table();
  process job[PROCESSES];
  store *s = store_new();
  for (int i = 0; i < PROCESSES; i++)
    job[i] = (process){.number = i, .store = s, .program = all_reduce, .runs = 1};
  pthread_create(&job[0].thread, NULL, be_process, &job[0]);
  pthread_mutex_lock(&s->lock);
  while (s->count == 0)
    pthread_cond_wait(&s->changed, &s->lock);
  char address[64] = "";
  int port = 0;
  assert_int_equal(sscanf(s->values[0], "1 %*s %63s %d", address, &port), 2);
  pthread_mutex_unlock(&s->lock);
  struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  char hello[28] = "hscpeer1";
  hello[24] = 1;  // claims to be process 1
  inet_pton(AF_INET, address, &where.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&where, sizeof where), 0);
  assert_int_equal(write(fd, hello, sizeof hello), sizeof hello);
  for (int i = 1; i < PROCESSES; i++)
    pthread_create(&job[i].thread, NULL, be_process, &job[i]);
  assert_int_equal(read(fd, hello, 1), 0);
  close(fd);
  for (int i = 0; i < PROCESSES; i++) {
    pthread_join(job[i].thread, NULL);
    assert_string_equal(job[i].error, "");
  }
  store_free(s);
}

static void without_a_store_there_is_no_job(void **state) {
  api = hsc__plugin_table();
  process alone = {.number = 1, .program = all_reduce, .runs = 1};
  be_process(&alone);
  assert_int_equal(alone.code, PJRT_Error_Code_FAILED_PRECONDITION);
  assert_non_null(strstr(alone.error, "needs the key-value store"));
}

// ---- arrays from device to device ---------------------------------------------------------------

enum { ROWS = 2, COLUMNS = 3, KEY = 77 };

static const PJRT_CrossHostTransfers_Extension *transfers(void) {
  const PJRT_Extension_Base *at = api->extension_start;
  while (at && at->type != PJRT_Extension_Type_CrossHostTransfers)
    at = at->next;
  assert_non_null(at);
  return (const void *)at;
}

static void await(process *p, PJRT_Event *event) {
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = event);
  PJRT_Event_Destroy_Args destroy = ARGS_OF(PJRT_Event_Destroy, .event = event);
  if (!event)
    return;
  is_fine(p, api->PJRT_Event_Await(&wait));
  api->PJRT_Event_Destroy(&destroy);
}

// An array of process p's first device: in column-major order, or with an error for contents.
static PJRT_Buffer *matrix_of(process *p, PJRT_Client *client, bool is_error) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  static const int64_t order[2] = {0, 1};
  PJRT_Buffer_MemoryLayout layout = {
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = order,
                .minor_to_major_size = 2}};
  float values[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; i++)
    values[i] = (float)(100 * p->number + i);
  PJRT_Client_AddressableDevices_Args own =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = client);
  is_fine(p, api->PJRT_Client_AddressableDevices(&own));
  PJRT_Device_DefaultMemory_Args in =
      ARGS_OF(PJRT_Device_DefaultMemory, .device = own.addressable_devices[0]);
  is_fine(p, api->PJRT_Device_DefaultMemory(&in));
  PJRT_Client_CreateErrorBuffer_Args bad = ARGS_OF(
      PJRT_Client_CreateErrorBuffer, .client = client, .shape_dims = dims, .shape_num_dims = 2,
      .shape_element_type = PJRT_Buffer_Type_F32, .memory = in.memory,
      .error_code = PJRT_Error_Code_DATA_LOSS, .error_message = "lost", .error_message_size = 4);
  if (is_error)
    return is_fine(p, api->PJRT_Client_CreateErrorBuffer(&bad)) ? bad.buffer : NULL;
  PJRT_Client_BufferFromHostBuffer_Args put =
      ARGS_OF(PJRT_Client_BufferFromHostBuffer, .client = client, .data = values,
              .type = PJRT_Buffer_Type_F32, .dims = dims, .num_dims = 2,
              .device = own.addressable_devices[0], .device_layout = &layout);
  if (!is_fine(p, api->PJRT_Client_BufferFromHostBuffer(&put)))
    return NULL;
  await(p, put.done_with_host_buffer);
  return put.buffer;
}

// Each process sends its array to the next one's first device, twice, and receives two from the one
// before. p->out[0] is what came; the odd processes receive before they send.
static void exchange(process *p, PJRT_Client *client, PJRT_Buffer *matrix) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  int to = first_devices[(p->number + 1) % PROCESSES];
  int from = first_devices[(p->number + PROCESSES - 1) % PROCESSES];
  PJRT_Buffer *sent[2] = {matrix, matrix};
  PJRT_Buffer *came[2] = {NULL, NULL};
  PJRT_Event *events[2] = {NULL, NULL};
  size_t ranks[2] = {2, 2};
  const int64_t *extents[2] = {dims, dims};
  PJRT_Buffer_Type types[2] = {PJRT_Buffer_Type_F32, PJRT_Buffer_Type_F32};
  PJRT_Transfers_Key keys[2] = {KEY, KEY + 1};
  PJRT_Client_AddressableDevices_Args own =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = client);
  is_fine(p, api->PJRT_Client_AddressableDevices(&own));
  PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args send =
      ARGS_OF(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers, .client = client, .num_buffers = 2,
              .buffers = sent, .dst_global_device_ids = (int32_t[]){to, to}, .transfer_keys = keys,
              .send_events = events);
  PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args receive = ARGS_OF(
      PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers, .client = client, .num_shapes = 2,
      .shape_num_dims = ranks, .num_dims = extents, .element_types = types,
      .device = own.addressable_devices[0], .src_global_device_ids = (int32_t[]){from, from},
      .transfer_keys = keys, .buffers = came);
  const PJRT_CrossHostTransfers_Extension *e = transfers();
  for (int step = 0; step < 2; step++)
    if ((p->number + step) % 2)
      is_fine(p, e->PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers(&receive));
    else
      is_fine(p, e->PJRT_Transfers_PJRT_Client_CrossHostSendBuffers(&send));
  for (int i = 0; i < 2; i++) {
    PJRT_Buffer_ToHostBuffer_Args get =
        ARGS_OF(PJRT_Buffer_ToHostBuffer, .src = came[i], .dst = p->out[0] + ROWS * COLUMNS * i,
                .dst_size = ROWS * COLUMNS * sizeof(float));
    PJRT_Buffer_Destroy_Args destroy = ARGS_OF(PJRT_Buffer_Destroy, .buffer = came[i]);
    await(p, events[i]);
    if (came[i] && is_fine(p, api->PJRT_Buffer_ToHostBuffer(&get)))
      await(p, get.event);
    api->PJRT_Buffer_Destroy(&destroy);
  }
}

// Process p->runs - 1, when there is one, sends an error.
static void *be_sender(void *argument) {
  process *p = argument;
  PJRT_Client *client = client_new(p);
  if (!client)
    return NULL;
  PJRT_Buffer *matrix = matrix_of(p, client, p->runs == p->number + 1);
  if (matrix)
    exchange(p, client, matrix);
  PJRT_Buffer_Destroy_Args destroy = ARGS_OF(PJRT_Buffer_Destroy, .buffer = matrix);
  PJRT_Client_Destroy_Args end = ARGS_OF(PJRT_Client_Destroy, .client = client);
  api->PJRT_Buffer_Destroy(&destroy);
  api->PJRT_Client_Destroy(&end);
  return NULL;
}

static void run_senders(process job[PROCESSES], int failing) {
  api = hsc__plugin_table();
  store *s = store_new();
  for (int i = 0; i < PROCESSES; i++) {
    job[i] = (process){.number = i, .store = s, .runs = failing + 1};
    assert_int_equal(pthread_create(&job[i].thread, NULL, be_sender, &job[i]), 0);
  }
  for (int i = 0; i < PROCESSES; i++)
    pthread_join(job[i].thread, NULL);
  store_free(s);
}

static void arrays_go_from_process_to_process(void **state) {
  process job[PROCESSES];
  run_senders(job, -1);
  for (int p = 0; p < PROCESSES; p++) {
    int from = (p + PROCESSES - 1) % PROCESSES;
    assert_string_equal(job[p].error, "");
    for (int i = 0; i < 2 * ROWS * COLUMNS; i++)
      assert_float_equal(job[p].out[0][i], (float)(100 * from + i % (ROWS * COLUMNS)), 0);
  }
}

static void an_array_with_an_error_is_an_error_at_the_other_end(void **state) {
  process job[PROCESSES];
  run_senders(job, 0);
  assert_non_null(strstr(job[0].error, "lost"));
  assert_non_null(strstr(job[1].error, "a device of process 0 failed"));
  assert_string_equal(job[2].error, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_over_processes_have_the_bits_of_one_process),
      cmocka_unit_test(groups_within_and_across_processes_exchange),
      cmocka_unit_test(a_loop_meets_as_often_as_it_turns),
      cmocka_unit_test(a_process_that_went_is_named),
      cmocka_unit_test(strangers_are_hung_up_on),
      cmocka_unit_test(without_a_store_there_is_no_job),
      cmocka_unit_test(arrays_go_from_process_to_process),
      cmocka_unit_test(an_array_with_an_error_is_an_error_at_the_other_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
