// worker_device.c - the jobs that open, reset and time the device itself.
#include "worker/worker_internal.h"

hsc_status *hsc__worker_need_client(const hsc_worker *worker) {
  if (worker->client)
    return NULL;
  if (worker->topology)
    return HSC_ERR(FAILED_PRECONDITION,
                   "cannot run here: no device, programs are only compiled ahead of time");
  return HSC_ERR(FAILED_PRECONDITION, "no device yet: send a \"load\" job first");
}

hsc_status *hsc__worker_need_compiler(const hsc_worker *worker) {
  return worker->topology ? NULL : hsc__worker_need_client(worker);
}

const char *hsc__worker_platform_version(const hsc_worker *worker) {
  return worker->client ? hsc_client_platform_version(worker->client)
                        : hsc_topology_platform_version(worker->topology);
}

void hsc__worker_drop_executables(hsc_worker *worker) {
  while (worker->executables) {
    worker_executable *next = worker->executables->next;
    hsc__worker_executable_destroy(worker->executables);
    worker->executables = next;
  }
}

static void drop_client(hsc_worker *worker) {
  hsc__worker_drop_executables(worker);
  hsc_buffer_destroy(worker->sync_buffer);
  worker->sync_buffer = NULL;
  hsc_client_destroy(worker->client);
  worker->client = NULL;
  hsc_topology_destroy(worker->topology);
  worker->topology = NULL;
}

void hsc__worker_close(hsc_worker *worker) {
  drop_client(worker);
  hsc__worker_programs_destroy(worker);
  hsc_plugin_close(worker->plugin);
  json_decref(worker->overrides);
  hsc_arena_destroy(worker->load_arena);
  *worker = (hsc_worker){0};
}

// {"name": value}: whole numbers, decimal numbers, true/false and text become named values of the
// fitting type.
static hsc_status *read_client_options(hsc_worker *worker, json_t *options) {
  if (!options)
    return NULL;
  if (!json_is_object(options))
    return HSC_ERR(INVALID_ARGUMENT, "\"options\" is not an object");
  worker->client_options =
      HSC_NEW_ARRAY(worker->load_arena, hsc_named_value, json_object_size(options) + 1);
  HSC_TRY(hsc_arena_status(worker->load_arena));
  const char *name;
  json_t *value;
  json_object_foreach (options, name, value) {
    hsc_named_value *v = &worker->client_options[worker->client_option_count++];
    v->name = hsc_arena_strdup(worker->load_arena, name);
    switch (json_typeof(value)) {
      case JSON_STRING:
        v->type = PJRT_NamedValue_kString;
        v->text = hsc_arena_strdup(worker->load_arena, json_string_value(value));
        v->text_size = json_string_length(value);
        break;
      case JSON_INTEGER:
        v->type = PJRT_NamedValue_kInt64;
        v->integer = json_integer_value(value);
        break;
      case JSON_REAL:
        v->type = PJRT_NamedValue_kFloat;
        v->real = json_real_value(value);
        break;
      case JSON_TRUE:
      case JSON_FALSE:
        v->type = PJRT_NamedValue_kBool;
        v->boolean = json_is_true(value);
        break;
      default:
        return HSC_ERR(INVALID_ARGUMENT, "option \"%s\" is neither text, number, true nor false",
                       name);
    }
  }
  return hsc_arena_status(worker->load_arena);
}

static hsc_status *create_client(hsc_worker *worker, int64_t *out_ns) {
  hsc__worker_at(worker, "creating the client");
  int64_t start = hsc_now_ns();
  HSC_TRY(hsc_client_create(worker->plugin, worker->client_options, worker->client_option_count,
                            &worker->client));
  *out_ns = hsc_now_ns() - start;
  hsc__worker_at(worker, NULL);
  return NULL;
}

// A slice of a TPU that does not exist: which do.
static hsc_status *hint_shapes(const hsc_worker *worker, hsc_status *status) {
  const char *text = worker->device_text ? worker->device_text : "";
  const char *shape = strrchr(text, ':');
  if (strncmp(text, "tpu:", 4) != 0 || !shape || !strchr(shape, 'x'))
    return status;
  const char *deep = strchr(strchr(shape, 'x') + 1, 'x') ? "x1" : "";
  return hsc_status_hint(status,
                         "sides of a slice are powers of two: %.*s:2x2%s, 2x4%s, 4x4%s, ...",
                         (int)(shape - text), text, deep, deep, deep);
}

static hsc_status *create_topology(hsc_worker *worker, const char *name, int64_t *out_ns) {
  hsc__worker_at(worker, "creating the topology");
  int64_t start = hsc_now_ns();
  hsc_status *status = hsc_topology_create(worker->plugin, name, worker->client_options,
                                           worker->client_option_count, &worker->topology);
  if (status)
    return hint_shapes(worker, status);
  *out_ns = hsc_now_ns() - start;
  hsc__worker_at(worker, NULL);
  return NULL;
}

static void write_attributes(hsc_worker *worker, hsc_json *answer) {
  const hsc_named_value *values = NULL;
  size_t count = 0;
  // old plugins have none
  hsc_status *status = hsc_plugin_attributes(worker->plugin, &values, &count);
  hsc_json_key(answer, "attributes");
  hsc_json_begin_object(answer);
  for (size_t i = 0; !status && i < count; i++) {
    hsc_json_key(answer, values[i].name);
    switch (values[i].type) {
      case PJRT_NamedValue_kString:
        hsc_json_string_n(answer, values[i].text, values[i].text_size);
        break;
      case PJRT_NamedValue_kInt64:
        hsc_json_int(answer, values[i].integer);
        break;
      case PJRT_NamedValue_kFloat:
        hsc_json_double(answer, values[i].real);
        break;
      case PJRT_NamedValue_kBool:
        hsc_json_bool(answer, values[i].boolean);
        break;
      case PJRT_NamedValue_kInt64List:
        hsc_json_begin_array(answer);
        for (size_t k = 0; k < values[i].list_count; k++)
          hsc_json_int(answer, values[i].list[k]);
        hsc_json_end_array(answer);
        break;
      default:
        hsc_json_null(answer);
    }
  }
  hsc_json_end_object(answer);
  hsc_status_free(status);
}

static void write_plugin(hsc_worker *worker, hsc_json *answer) {
  hsc_json_kv_string(answer, "plugin", hsc_plugin_path(worker->plugin));
  hsc_json_key(answer, "pjrt_version");
  char version[32];
  snprintf(version, sizeof version, "0.%d", hsc_plugin_minor(worker->plugin));
  hsc_json_string(answer, version);
  write_attributes(worker, answer);
  hsc_json_kv_bool(answer, "ahead_of_time",
                   hsc_plugin_has(worker->plugin, HSC_FN_PJRT_TopologyDescription_Create) &&
                       hsc_plugin_has(worker->plugin, HSC_FN_PJRT_Compile));
  hsc_json_key(answer, "extensions");
  hsc_json_begin_array(answer);
  for (size_t i = 0; i < hsc_plugin_extension_count(worker->plugin); i++)
    hsc_json_string(answer,
                    hsc_pjrt_extension_text((int)hsc_plugin_extension_at(worker->plugin, i)->type));
  hsc_json_end_array(answer);
}

static void write_client(hsc_worker *worker, hsc_json *answer) {
  hsc_json_kv_string(answer, "platform", hsc_client_platform_name(worker->client));
  hsc_json_kv_string(answer, "platform_version", hsc_client_platform_version(worker->client));
  hsc_json_key(answer, "devices");
  hsc_json_begin_array(answer);
  for (int i = 0; i < hsc_client_device_count(worker->client); i++) {
    const hsc_device_info *device = hsc_client_device(worker->client, i);
    hsc_json_begin_object(answer);
    hsc_json_kv_int(answer, "id", device->id);
    hsc_json_kv_string(answer, "kind", device->kind);
    hsc_json_kv_string(answer, "text", device->text);
    hsc_json_end_object(answer);
  }
  hsc_json_end_array(answer);
}

static void write_topology(hsc_worker *worker, hsc_json *answer) {
  hsc_json_kv_string(answer, "platform", hsc_topology_platform_name(worker->topology));
  hsc_json_kv_string(answer, "platform_version", hsc_topology_platform_version(worker->topology));
  const hsc_device_info *devices = NULL;
  size_t count = 0;
  hsc_status *status = hsc_topology_devices(worker->topology, &devices, &count);
  hsc_json_key(answer, "devices");
  hsc_json_begin_array(answer);
  for (size_t i = 0; !status && i < count; i++) {
    hsc_json_begin_object(answer);
    hsc_json_kv_int(answer, "id", devices[i].id);
    hsc_json_kv_string(answer, "kind", devices[i].kind);
    hsc_json_kv_string(answer, "text", devices[i].text);
    hsc_json_end_object(answer);
  }
  hsc_json_end_array(answer);
  hsc_status_free(status);  // the descriptions are a courtesy; compiling does not need them
}

hsc_status *hsc__job_load(hsc_worker *worker, json_t *request, hsc_json *answer) {
  const char *path = NULL;
  const char *cache_dir = NULL;
  const char *topology = NULL;
  const char *device = NULL;
  bool with_client = true;
  HSC_TRY(hsc__request_text(request, "plugin", true, &path));
  HSC_TRY(hsc__request_text(request, "cache_dir", false, &cache_dir));
  HSC_TRY(hsc__request_bool(request, "create_client", &with_client));
  HSC_TRY(hsc__request_text(request, "topology", false, &topology));
  HSC_TRY(hsc__request_text(request, "device", false, &device));
  if (worker->plugin)
    return HSC_ERR(FAILED_PRECONDITION, "%s is loaded already; a worker serves one plugin",
                   hsc_plugin_path(worker->plugin));
  if (!worker->load_arena)
    HSC_TRY(hsc_arena_create(&worker->load_arena));
  worker->cache_dir = cache_dir ? hsc_arena_strdup(worker->load_arena, cache_dir) : NULL;
  worker->plugin_path = hsc_arena_strdup(worker->load_arena, path);
  worker->device_text = device ? hsc_arena_strdup(worker->load_arena, device) : NULL;
  worker->topology_name = topology ? hsc_arena_strdup(worker->load_arena, topology) : NULL;
  worker->client_option_count = 0;
  json_decref(worker->overrides);
  worker->overrides = json_incref(json_object_get(request, "overrides"));
  HSC_TRY(read_client_options(worker, json_object_get(request, "options")));

  // The worker looks into the cache itself and says so; a device that does it on its own would make
  // misses look like hits. The directory itself stays known: tuning results and the machine's peaks
  // lie there. No other thread runs yet.
  setenv("HLOSCOPE_KEEP_EXECUTABLES", "0", 1);
  hsc__worker_at(worker, "loading the plugin");
  int64_t start = hsc_now_ns();
  HSC_TRY(hsc_plugin_open(path, &worker->plugin));
  int64_t opened = hsc_now_ns();
  hsc__worker_at(worker, "initialising the plugin");
  hsc_status *status = hsc_plugin_initialize(worker->plugin);
  int64_t initialized = hsc_now_ns();
  int64_t create_ns = 0;
  if (topology)
    with_client = false;
  if (!status && with_client)
    status = create_client(worker, &create_ns);
  if (!status && topology)
    status = create_topology(worker, topology, &create_ns);
  if (status) {
    hsc_plugin_close(worker->plugin);
    worker->plugin = NULL;
    return status;
  }
  hsc__worker_at(worker, NULL);
  hsc_json_kv_int(answer, "plugin_load_ns", opened - start);
  hsc_json_kv_int(answer, "plugin_initialize_ns", initialized - opened);
  write_plugin(worker, answer);
  if (with_client) {
    hsc_json_kv_int(answer, "client_create_ns", create_ns);
    write_client(worker, answer);
    worker->own_device = !strcmp(hsc_client_platform_name(worker->client), "hloscope");
  }
  if (topology) {
    hsc_json_kv_int(answer, "topology_create_ns", create_ns);
    write_topology(worker, answer);
  }
  return NULL;
}

hsc_status *hsc__job_reinit(hsc_worker *worker, json_t *request, hsc_json *answer) {
  HSC_TRY(hsc__worker_need_client(worker));
  int64_t start = hsc_now_ns();
  int64_t create_ns = 0;
  drop_client(worker);
  int64_t destroyed = hsc_now_ns();
  HSC_TRY(create_client(worker, &create_ns));
  hsc_json_kv_int(answer, "client_destroy_ns", destroyed - start);
  hsc_json_kv_int(answer, "client_create_ns", create_ns);
  return NULL;
}

hsc_status *hsc__job_drop(hsc_worker *worker, json_t *request, hsc_json *answer) {
  int64_t count = 0;
  for (worker_executable *e = worker->executables; e; e = e->next)
    count++;
  bool programs = false;
  HSC_TRY(hsc__request_bool(request, "programs", &programs));
  hsc__worker_drop_executables(worker);
  if (programs)
    hsc__worker_programs_destroy(worker);
  hsc_json_kv_int(answer, "dropped", count);
  return NULL;
}

hsc_status *hsc__job_sync(hsc_worker *worker, json_t *request, hsc_json *answer) {
  int64_t count = 10;
  HSC_TRY(hsc__worker_need_client(worker));
  HSC_TRY(hsc__request_int(request, "count", 1, 1000000, &count));
  if (!worker->sync_buffer) {
    static const float zero = 0;
    hsc_host_array scalar = {PJRT_Buffer_Type_F32, 0, NULL, &zero};
    HSC_TRY(hsc_buffer_from_host(worker->client, 0, &scalar, HSC_HOST_COPY, NULL,
                                 &worker->sync_buffer));
    HSC_TRY(hsc_buffer_await(worker->sync_buffer));
  }
  int64_t *times = hsc_alloc((size_t)count * sizeof(*times));
  if (!times)
    return hsc_status_out_of_memory();
  hsc_status *status = NULL;
  for (int64_t i = 0; i < count && !status; i++) {
    int64_t start = hsc_now_ns();
    status = hsc_buffer_await(worker->sync_buffer);
    times[i] = hsc_now_ns() - start;
  }
  if (!status) {
    hsc_json_key(answer, "series");
    hsc_json_begin_object(answer);
    hsc_json_key(answer, "sync_ns");
    hsc_json_begin_array(answer);
    for (int64_t i = 0; i < count; i++)
      hsc_json_int(answer, times[i]);
    hsc_json_end_array(answer);
    hsc_json_end_object(answer);
  }
  hsc_free(times);
  return status;
}
