// plugin_client.c - the client: its devices, its memory, its options.
//
// Create options: device_count (int; also cpu_device_count, as XLA:CPU's plugin has it, then
// HLOSCOPE_DEVICE_COUNT, then XLA_FLAGS=--xla_force_host_platform_device_count), thread_count (int,
// also HLOSCOPE_THREADS; 0 = the cores of this process), cache_dir (text: compiled programs are
// kept there; "" = nowhere; else $HLOSCOPE_CACHE_DIR/executables when that is set). Unknown ones
// are refused by name. Of a job of several processes: node_id and num_nodes (int), as JAX gives
// them, with its key-value store; then a process has its own devices and knows those of the others.
#include "base/files/file_io.h"
#include "plugin/plugin_internal.h"
#include "plugin/plugin_peers.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct client_options {
  int64_t device_count, thread_count;
  int64_t process, process_count;
  char *cache_dir;  // heap; NULL = none
} client_options;

static hsc_status *number_from_environment(const char *name, int64_t *in_out_value) {
  const char *text = getenv(name);
  if (!text || !*text)
    return NULL;
  char *end;
  long value = strtol(text, &end, 10);
  if (*end)
    return HSC_ERR(INVALID_ARGUMENT, "%s=%s: a number is expected", name, text);
  *in_out_value = value;
  return NULL;
}

// What XLA_FLAGS asks XLA:CPU for: programs that want eight devices of a processor say it so. The
// last one counts. XLA_FLAGS may also name a file of flags, which holds them alike.
static hsc_status *devices_from_flags(const char *flags, int64_t *in_out_value) {
  static const char name[] = "xla_force_host_platform_device_count";
  for (const char *at = flags; at && (at = strstr(at, name)); at += sizeof name - 1) {
    bool is_word = at == flags || strchr("- \t\n", at[-1]);
    const char *text = at + sizeof name - 1;
    if (!is_word || (*text != '=' && *text != ' '))
      continue;
    char *end;
    long value = strtol(text + 1, &end, 10);
    if (end == text + 1 || (*end && !strchr(" \t\n", *end)))
      return HSC_ERR(INVALID_ARGUMENT, "XLA_FLAGS: --%s wants a number", name);
    *in_out_value = value;
  }
  return NULL;
}

static hsc_status *devices_from_environment(int64_t *in_out_value) {
  const char *flags = getenv("XLA_FLAGS");
  if (!flags || !*flags)
    return NULL;
  if (flags[strspn(flags, " \t\n")] == '-')
    return devices_from_flags(flags, in_out_value);
  hsc_bytes file = {0};
  hsc_status *status = hsc_file_read(flags, &file);
  if (status) {  // XLA ends the process here; the compiler says what is wrong with the variable
    hsc_status_free(status);
    return NULL;
  }
  status = devices_from_flags(hsc_bytes_text(&file), in_out_value);
  hsc_bytes_deinit(&file);
  return status;
}

static bool is_named(const PJRT_NamedValue *value, const char *name) {
  return value->name_size == strlen(name) && memcmp(value->name, name, value->name_size) == 0;
}

static hsc_status *cache_from_environment(char **out_path) {
  const char *cache = getenv("HLOSCOPE_CACHE_DIR");
  const char *keep = getenv("HLOSCOPE_KEEP_EXECUTABLES");
  if (!cache || !*cache || (keep && !strcmp(keep, "0")))
    return NULL;
  hsc_bytes path = {0};
  hsc_bytes_printf(&path, "%s/executables", cache);
  *out_path = hsc_bytes_take(&path);
  return *out_path ? NULL : hsc_status_out_of_memory();
}

// Where a client option that is a number goes; NULL = no such option.
static int64_t *number_of(const PJRT_NamedValue *value, client_options *out) {
  if (is_named(value, "device_count") || is_named(value, "cpu_device_count"))
    return &out->device_count;
  if (is_named(value, "thread_count"))
    return &out->thread_count;
  if (is_named(value, "node_id"))
    return &out->process;
  return is_named(value, "num_nodes") ? &out->process_count : NULL;
}

static hsc_status *read_options(const PJRT_NamedValue *values, size_t count, client_options *out) {
  HSC_TRY(devices_from_environment(&out->device_count));
  HSC_TRY(number_from_environment("HLOSCOPE_DEVICE_COUNT", &out->device_count));
  HSC_TRY(number_from_environment("HLOSCOPE_THREADS", &out->thread_count));
  HSC_TRY(cache_from_environment(&out->cache_dir));
  for (size_t i = 0; i < count; i++) {
    const PJRT_NamedValue *value = &values[i];
    int64_t *number = number_of(value, out);
    if (number && value->type == PJRT_NamedValue_kInt64) {
      *number = value->int64_value;
    } else if (!number && is_named(value, "cache_dir") && value->type == PJRT_NamedValue_kString) {
      hsc_free(out->cache_dir);
      out->cache_dir = hsc_alloc(value->value_size + 1);
      if (!out->cache_dir)
        return hsc_status_out_of_memory();
      memcpy(out->cache_dir, value->string_value, value->value_size);
    } else {
      return HSC_ERR(INVALID_ARGUMENT,
                     "client option %.*s: unknown, or of another type; known are device_count "
                     "(int), thread_count (int), cache_dir (text), node_id (int), num_nodes (int)",
                     (int)value->name_size, value->name);
    }
  }
  if (out->device_count < 1 || out->device_count > HSC_PLUGIN_MAX_DEVICES)
    return HSC_ERR(INVALID_ARGUMENT, "device_count is %lld; 1 to %d is possible",
                   (long long)out->device_count, HSC_PLUGIN_MAX_DEVICES);
  if (out->thread_count < 0 || out->thread_count > 4096)
    return HSC_ERR(INVALID_ARGUMENT, "thread_count is %lld; 0 to 4096 is possible",
                   (long long)out->thread_count);
  if (out->process_count < 1 || out->process_count > HSC_PLUGIN_MAX_DEVICES || out->process < 0 ||
      out->process >= out->process_count)
    return HSC_ERR(INVALID_ARGUMENT, "process %lld of %lld; at most %d are possible",
                   (long long)out->process, (long long)out->process_count, HSC_PLUGIN_MAX_DEVICES);
  return NULL;
}

// Meets the other processes of the job and numbers the devices of all: those of process 0 first.
static hsc_status *init_processes(PJRT_Client *client,
                                  const PJRT_Client_Create_Args *args,
                                  const client_options *options) {
  int counts[HSC_PLUGIN_MAX_DEVICES] = {(int)options->device_count};
  int process_of[HSC_PLUGIN_MAX_DEVICES];
  client->process = (int)options->process;
  client->process_count = (int)options->process_count;
  HSC_TRY(hsc__peers_create(&(hsc__peers_options){.process = client->process,
                                                  .process_count = client->process_count,
                                                  .device_count = (int)options->device_count,
                                                  .get = args->kv_get_callback,
                                                  .get_user = args->kv_get_user_arg,
                                                  .put = args->kv_put_callback,
                                                  .put_user = args->kv_put_user_arg},
                            counts, &client->peers));
  int total = 0;
  for (int p = 0; p < client->process_count; p++) {
    if (p == client->process)
      client->first_device = total;
    for (int d = 0; d < counts[p] && total < HSC_PLUGIN_MAX_DEVICES; d++)
      process_of[total++] = p;
  }
  client->own_count = (int)options->device_count;
  if (client->first_device + client->own_count > total)
    return HSC_ERR(INVALID_ARGUMENT, "the processes of this job have more than %d devices",
                   HSC_PLUGIN_MAX_DEVICES);
  client->device_count = total;
  return hsc__topology_init(&client->topology, total,
                            client->process_count > 1 ? process_of : NULL);
}

static void init_devices(PJRT_Client *client) {
  for (int i = 0; i < client->device_count; i++) {
    hsc__memory *memory = &client->memories[i];
    memory->base.vtable = &hsc__memory_vtable;
    memory->client = client;
    memory->device = &client->devices[i];
    memory->id = i;
    snprintf(memory->text, sizeof memory->text, "HloscopeCpuMemory(id=%d)", i);
    client->memory_list[i] = &memory->base;
    client->devices[i] =
        (struct PJRT_Device){client, &client->topology.descriptions[i], &memory->base, i};
    client->device_list[i] = &client->devices[i];
  }
}

static hsc_status *create(const PJRT_Client_Create_Args *args, PJRT_Client **out_client) {
  hsc_status *status = NULL;
  client_options options = {.device_count = 1, .process_count = 1};
  PJRT_Client *client = hsc_alloc(sizeof *client);
  if (!client)
    return hsc_status_out_of_memory();
  pthread_mutex_init(&client->lock, NULL);
  atomic_init(&client->references, 1);
  HSC_GOTO(read_options(args->create_options, args->num_options, &options));
  client->memory_limit_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  client->pool.cache_limit_bytes =
      (size_t)(client->memory_limit_bytes / 8 < (int64_t)2 << 30 ? client->memory_limit_bytes / 8
                                                                 : (int64_t)2 << 30);
  HSC_GOTO(init_processes(client, args, &options));
  client->topology.of_client = true;
  init_devices(client);
  hsc_cpu_device_options device_options = {.thread_count = (int)options.thread_count};
  HSC_GOTO(hsc_cpu_device_create(&device_options, &client->device));
  if (options.cache_dir && *options.cache_dir) {
    client->cache_dir = options.cache_dir;
    options.cache_dir = NULL;
  }
  *out_client = client;
  client = NULL;
done:
  hsc__client_release(client);
  hsc_free(options.cache_dir);
  return status;
}

void hsc__client_retain(PJRT_Client *client) {
  atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
}

void hsc__client_release(PJRT_Client *client) {
  if (!client || atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) > 1)
    return;
  for (PJRT_Buffer *b = client->free_buffers, *next; b; b = next) {
    next = b->next;
    hsc_free(b);
  }
  for (int i = 0; i < client->device_count; i++)
    hsc__memory_deinit(&client->memories[i]);
  hsc__block_pool_deinit(&client->pool);
  hsc__peers_destroy(client->peers);
  hsc_cpu_device_destroy(client->device);
  hsc_free(client->cache_dir);
  pthread_mutex_destroy(&client->topology.lock);
  pthread_mutex_destroy(&client->lock);
  hsc_free(client);
}

// ---- entries ------------------------------------------------------------------------------------

HSC_ENTRY(PJRT_Client_Create) {
  HSC_CHECK_ARGS(PJRT_Client_Create, client);
  HSC_PJRT_TRY(create(args, &args->client));
  return NULL;
}

HSC_ENTRY(PJRT_Client_Destroy) {
  HSC_CHECK_ARGS(PJRT_Client_Destroy, client);
  hsc__client_release(args->client);
  return NULL;
}

HSC_ENTRY(PJRT_Client_PlatformName) {
  HSC_CHECK_ARGS(PJRT_Client_PlatformName, platform_name_size);
  args->platform_name = hsc__platform_name();
  args->platform_name_size = strlen(args->platform_name);
  return NULL;
}

HSC_ENTRY(PJRT_Client_PlatformVersion) {
  HSC_CHECK_ARGS(PJRT_Client_PlatformVersion, platform_version_size);
  args->platform_version = hsc__platform_version();
  args->platform_version_size = strlen(args->platform_version);
  return NULL;
}

HSC_ENTRY(PJRT_Client_ProcessIndex) {
  HSC_CHECK_ARGS(PJRT_Client_ProcessIndex, process_index);
  args->process_index = args->client->process;
  return NULL;
}

HSC_ENTRY(PJRT_Client_Devices) {
  HSC_CHECK_ARGS(PJRT_Client_Devices, num_devices);
  args->devices = args->client->device_list;
  args->num_devices = (size_t)args->client->device_count;
  return NULL;
}

HSC_ENTRY(PJRT_Client_AddressableDevices) {
  HSC_CHECK_ARGS(PJRT_Client_AddressableDevices, num_addressable_devices);
  args->addressable_devices = args->client->device_list + args->client->first_device;
  args->num_addressable_devices = (size_t)args->client->own_count;
  return NULL;
}

static hsc_status *device_by_id(PJRT_Client *client, int id, PJRT_Device **out_device) {
  if (id < 0 || id >= client->device_count)
    return HSC_ERR(INVALID_ARGUMENT, "no device with id %d; there are 0 to %d", id,
                   client->device_count - 1);
  *out_device = client->device_list[id];
  return NULL;
}

HSC_ENTRY(PJRT_Client_LookupDevice) {
  HSC_CHECK_ARGS(PJRT_Client_LookupDevice, device);
  return hsc__error_of(device_by_id(args->client, args->id, &args->device));
}

HSC_ENTRY(PJRT_Client_LookupAddressableDevice) {
  HSC_CHECK_ARGS(PJRT_Client_LookupAddressableDevice, addressable_device);
  const PJRT_Client *client = args->client;
  int number = args->local_hardware_id;
  if (number < 0 || number >= client->own_count)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "no device with number %d; there are 0 to %d",
                                 number, client->own_count - 1));
  args->addressable_device = client->device_list[client->first_device + number];
  return NULL;
}

HSC_ENTRY(PJRT_Client_AddressableMemories) {
  HSC_CHECK_ARGS(PJRT_Client_AddressableMemories, num_addressable_memories);
  args->addressable_memories = args->client->memory_list + args->client->first_device;
  args->num_addressable_memories = (size_t)args->client->own_count;
  return NULL;
}

HSC_ENTRY(PJRT_Client_TopologyDescription) {
  HSC_CHECK_ARGS(PJRT_Client_TopologyDescription, topology);
  args->topology = &args->client->topology;
  return NULL;
}

static hsc_status *default_assignment(const PJRT_Client_DefaultDeviceAssignment_Args *args) {
  int64_t needed = (int64_t)args->num_replicas * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 || needed > args->client->device_count)
    return HSC_ERR(INVALID_ARGUMENT, "%d replicas of %d partitions need %lld devices; there are %d",
                   args->num_replicas, args->num_partitions, (long long)needed,
                   args->client->device_count);
  if (args->default_assignment_size < (size_t)needed)
    return HSC_ERR(INVALID_ARGUMENT, "room for %zu devices in the assignment; %lld are needed",
                   args->default_assignment_size, (long long)needed);
  // what fits into this process stays in it
  int first = needed <= args->client->own_count ? args->client->first_device : 0;
  for (int64_t i = 0; i < needed; i++)
    args->default_assignment[i] = first + (int)i;
  return NULL;
}

HSC_ENTRY(PJRT_Client_DefaultDeviceAssignment) {
  HSC_CHECK_ARGS(PJRT_Client_DefaultDeviceAssignment, default_assignment);
  return hsc__error_of(default_assignment(args));
}

// Host memory is device memory: nothing to register.
HSC_ENTRY(PJRT_Client_DmaMap) {
  HSC_CHECK_ARGS(PJRT_Client_DmaMap, size);
  return NULL;
}

HSC_ENTRY(PJRT_Client_DmaUnmap) {
  HSC_CHECK_ARGS(PJRT_Client_DmaUnmap, data);
  return NULL;
}

// The others' states change nothing here: who is gone is seen by its connection.
HSC_ENTRY(PJRT_Client_UpdateGlobalProcessInfo) {
  HSC_CHECK_ARGS(PJRT_Client_UpdateGlobalProcessInfo, num_process_infos);
  return NULL;
}
