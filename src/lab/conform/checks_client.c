// checks_client.c - clients, devices and memories.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/process/child.h"
#include "lab/conform/conform_internal.h"

void hsc__conform_client_create(hsc_conform *c, int number) {
  hsc__conform_client(c);
}

static PJRT_DeviceDescription *description_of(hsc_conform *c, PJRT_Device *device) {
  PJRT_Device_GetDescription_Args args = ARGS_OF(PJRT_Device_GetDescription, .device = device);
  return OK(c, PJRT_Device_GetDescription, &args) ? args.device_description : NULL;
}

static bool id_of(hsc_conform *c, PJRT_Device *device, int *out_id) {
  PJRT_DeviceDescription_Id_Args args =
      ARGS_OF(PJRT_DeviceDescription_Id, .device_description = description_of(c, device));
  if (!args.device_description || !OK(c, PJRT_DeviceDescription_Id, &args))
    return false;
  *out_id = args.id;
  return true;
}

static bool contains(void *const *list, size_t count, const void *wanted) {
  for (size_t i = 0; i < count; i++)
    if (list[i] == wanted)
      return true;
  return false;
}

void hsc__conform_client_devices(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  PJRT_Client_Devices_Args all = ARGS_OF(PJRT_Client_Devices, .client = c->client);
  PJRT_Client_AddressableDevices_Args own =
      ARGS_OF(PJRT_Client_AddressableDevices, .client = c->client);
  if (!OK(c, PJRT_Client_Devices, &all) || !OK(c, PJRT_Client_AddressableDevices, &own))
    return;
  EXPECT(c, own.num_addressable_devices > 0, "no device can be used");
  for (size_t i = 0; i < own.num_addressable_devices; i++) {
    PJRT_Device *device = own.addressable_devices[i];
    EXPECT(c, contains((void *const *)all.devices, all.num_devices, device),
           "addressable device %zu is none of the client's", i);
    PJRT_Device_IsAddressable_Args is = ARGS_OF(PJRT_Device_IsAddressable, .device = device);
    if (!OK(c, PJRT_Device_IsAddressable, &is))
      return;
    EXPECT(c, is.is_addressable, "addressable device %zu says that it is not", i);
  }
  for (size_t i = 0; i < all.num_devices; i++)
    for (size_t j = 0; j < i; j++) {
      int a, b;
      if (!id_of(c, all.devices[i], &a) || !id_of(c, all.devices[j], &b))
        return;
      EXPECT(c, a != b, "devices %zu and %zu both have id %d", j, i, a);
    }
}

void hsc__conform_client_lookup(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  PJRT_Client_Devices_Args all = ARGS_OF(PJRT_Client_Devices, .client = c->client);
  if (!OK(c, PJRT_Client_Devices, &all))
    return;
  for (size_t i = 0; i < all.num_devices; i++) {
    PJRT_Client_LookupDevice_Args find = ARGS_OF(PJRT_Client_LookupDevice, .client = c->client);
    if (!id_of(c, all.devices[i], &find.id) || !OK(c, PJRT_Client_LookupDevice, &find))
      return;
    EXPECT(c, find.device == all.devices[i], "id %d finds another device", find.id);
  }
  PJRT_Client_LookupDevice_Args none =
      ARGS_OF(PJRT_Client_LookupDevice, .client = c->client, .id = 123456789);
  REFUSED(c, PJRT_Client_LookupDevice, &none, "id 123456789, which no device has");
}

void hsc__conform_client_lookup_local(hsc_conform *c, int number) {
  for (size_t i = 0; i < hsc__conform_device_count(c); i++) {
    PJRT_Device *device = hsc__conform_device(c, i);
    PJRT_Device_LocalHardwareId_Args id = ARGS_OF(PJRT_Device_LocalHardwareId, .device = device);
    if (!device || !OK(c, PJRT_Device_LocalHardwareId, &id))
      return;
    PJRT_Client_LookupAddressableDevice_Args find =
        ARGS_OF(PJRT_Client_LookupAddressableDevice, .client = c->client,
                .local_hardware_id = id.local_hardware_id);
    if (!OK(c, PJRT_Client_LookupAddressableDevice, &find))
      return;
    EXPECT(c, find.addressable_device == device, "hardware id %d finds another device",
           id.local_hardware_id);
  }
}

void hsc__conform_client_memories(hsc_conform *c, int number) {
  size_t count = hsc__conform_device_count(c);
  for (size_t i = 0; i < count; i++) {
    PJRT_Device *device = hsc__conform_device(c, i);
    PJRT_Device_AddressableMemories_Args memories =
        ARGS_OF(PJRT_Device_AddressableMemories, .device = device);
    PJRT_Device_DefaultMemory_Args first = ARGS_OF(PJRT_Device_DefaultMemory, .device = device);
    if (!device || !OK(c, PJRT_Device_AddressableMemories, &memories) ||
        !OK(c, PJRT_Device_DefaultMemory, &first))
      return;
    EXPECT(c, memories.num_memories > 0, "device %zu has no memory", i);
    EXPECT(c, contains((void *const *)memories.memories, memories.num_memories, first.memory),
           "the default memory of device %zu is none of its memories", i);
    for (size_t m = 0; m < memories.num_memories; m++) {
      PJRT_Memory_AddressableByDevices_Args by =
          ARGS_OF(PJRT_Memory_AddressableByDevices, .memory = memories.memories[m]);
      if (!OK(c, PJRT_Memory_AddressableByDevices, &by))
        return;
      EXPECT(c, contains((void *const *)by.devices, by.num_devices, device),
             "memory %zu of device %zu does not name it", m, i);
    }
  }
}

void hsc__conform_client_assignment(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  int one[1] = {-1};
  PJRT_Client_DefaultDeviceAssignment_Args args =
      ARGS_OF(PJRT_Client_DefaultDeviceAssignment, .client = c->client, .num_replicas = 1,
              .num_partitions = 1, .default_assignment_size = 1, .default_assignment = one);
  if (!OK(c, PJRT_Client_DefaultDeviceAssignment, &args))
    return;
  PJRT_Client_LookupDevice_Args find =
      ARGS_OF(PJRT_Client_LookupDevice, .client = c->client, .id = one[0]);
  if (!OK(c, PJRT_Client_LookupDevice, &find))
    return;
  enum { MANY = 4096 };
  static int many[MANY];
  memset(many, -1, sizeof many);
  args.num_replicas = MANY;
  args.default_assignment_size = MANY;
  args.default_assignment = many;
  // XLA's own client for processors numbers replicas beyond its devices, those for accelerators
  // refuse them; the header asks for neither
  bool called;
  PJRT_Error *error =
      hsc__conform_call(c, HSC_FN_PJRT_Client_DefaultDeviceAssignment, &args, &called);
  if (error) {
    hsc__conform_error_free(c, error);
    return;
  }
  for (int i = 0; i < MANY; i++)
    EXPECT(c, many[i] >= 0, "replica %d is put on device %d", i, many[i]);
}

static PJRT_Client *make(hsc_conform *c) {
  PJRT_Client_Create_Args args =
      ARGS_OF(PJRT_Client_Create, .create_options = c->options, .num_options = c->option_count);
  return OK(c, PJRT_Client_Create, &args) ? args.client : NULL;
}

static bool destroy(hsc_conform *c, PJRT_Client *client) {
  PJRT_Client_Destroy_Args args = ARGS_OF(PJRT_Client_Destroy, .client = client);
  return OK(c, PJRT_Client_Destroy, &args);
}

// Adds on the shared client: it must still work.
static void still_adds(hsc_conform *c) {
  static const float values[2] = {1, 2};
  static const int64_t dims[1] = {2};
  float out[2] = {0};
  PJRT_Buffer *buffer =
      hsc__conform_upload(c, PJRT_Buffer_Type_F32, dims, 1, values, sizeof values);
  if (buffer && hsc__conform_download(c, buffer, 1, out, sizeof out))
    EXPECT(c, out[0] == 1 && out[1] == 2, "the first client now gives %g, %g for 1, 2", out[0],
           out[1]);
}

void hsc__conform_client_two(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  PJRT_Client *second = make(c);
  // one client a process is a limit that a plugin may have, told by an error
  if (c->outcome == HSC_CONFORM_FAIL) {
    c->outcome = HSC_CONFORM_NOT_OFFERED;
    return;
  }
  if (!second)
    return;
  EXPECT(c, second != c->client, "the second client is the first");
  if (destroy(c, second))
    still_adds(c);
}

void hsc__conform_client_again(hsc_conform *c, int number) {
  enum { TIMES = 50 };
  static const int64_t time_ns = 3000000000;  // a plugin that is slow does fewer
  if (!hsc__conform_client(c))
    return;
  int64_t begin = hsc_now_ns();
  PJRT_Client *first = c->client;
  c->client = NULL;
  if (!destroy(c, first))
    return;
  for (int i = 0; i < TIMES && hsc_now_ns() - begin < time_ns; i++) {
    PJRT_Client *client = make(c);
    if (!client || !destroy(c, client))
      return;
    c->steps.size = 0;
    c->call_count = c->known_count = 0;
  }
  if (hsc__conform_client(c))
    still_adds(c);
}

void hsc__conform_client_unknown_option(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  PJRT_NamedValue odd = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                         .name = "hloscope_no_such_option",
                         .name_size = 23,
                         .type = PJRT_NamedValue_kInt64,
                         .int64_value = 1,
                         .value_size = 1};
  PJRT_Client_Create_Args args =
      ARGS_OF(PJRT_Client_Create, .create_options = &odd, .num_options = 1);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Client_Create, &args, &called);
  if (error)
    hsc__conform_error_free(c, error);
  else if (called && args.client != c->client)
    destroy(c, args.client);
}

void hsc__conform_client_memory_stats(hsc_conform *c, int number) {
  PJRT_Device_MemoryStats_Args args =
      ARGS_OF(PJRT_Device_MemoryStats, .device = hsc__conform_device(c, 0));
  if (!args.device || !OK(c, PJRT_Device_MemoryStats, &args))
    return;
  EXPECT(c, args.bytes_in_use >= 0, "%lld bytes in use", (long long)args.bytes_in_use);
  if (args.peak_bytes_in_use_is_set)
    EXPECT(c, args.peak_bytes_in_use >= args.bytes_in_use,
           "a peak of %lld bytes below the %lld in use", (long long)args.peak_bytes_in_use,
           (long long)args.bytes_in_use);
  if (args.bytes_limit_is_set)
    EXPECT(c, args.bytes_limit > 0, "a limit of %lld bytes", (long long)args.bytes_limit);
}

void hsc__conform_client_fork(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  pid_t child = fork();
  if (child == 0)
    kill(getpid(), SIGKILL);
  int state = 0;
  EXPECT(c, child > 0 && waitpid(child, &state, 0) == child, "no child could be made");
  EXPECT(c, WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL, "the child ended with %d", state);
  still_adds(c);
}

// Whether the process has told the result of its check.
static bool has_answered(hsc_child *child, int64_t limit_ns) {
  hsc_bytes line = {0};
  hsc_status *status = NULL;
  bool has = false;
  while (!status && !has) {
    hsc_bytes_reset(&line);
    status = hsc_child_read_line(child, limit_ns, &line);
    has = !status && strstr(hsc_bytes_text(&line), "\"check\"") != NULL;
  }
  hsc_status_free(status);
  hsc_bytes_deinit(&line);
  return has;
}

// Another process does client/again and is then left to its end. What goes wrong before that is
// told by that check.
void hsc__conform_client_exit(hsc_conform *c, int number) {
  static const int64_t work_ns = 10000000000;
  static const int64_t end_ns = 5000000000;
  const char *argv[] = {"/proc/self/exe", "conform", "--serve",      "0",
                        c->device,        "--only",  "client/again", NULL};
  hsc_child *child = NULL;
  hsc_child_exit how = {0};
  hsc_status *status = hsc_child_start(&(hsc_child_options){.argv = argv}, &child);
  if (status) {
    hsc__conform_absent(c, "no process could be started: %s", hsc_status_message(status));
    hsc_status_free(status);
    return;
  }
  bool is_done = has_answered(child, work_ns);
  if (is_done)
    hsc_status_free(hsc_child_wait(child, end_ns, &how));
  hsc_child_destroy(child);
  if (!is_done)
    hsc__conform_absent(c, "client/again did not come to its end in another process");
  else if (!how.exited)
    FAIL(c, "a process that has destroyed its clients does not end within five seconds");
  else if (how.signal)
    FAIL(c, "it is ended by signal %d (%s)", how.signal, strsignal(how.signal));
  else
    EXPECT(c, how.exit_code == 0, "it ends with %d", how.exit_code);
}
