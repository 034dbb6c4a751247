// pjrt_topology.c - devices without hardware, and compiling for them ahead of time.
#include "pjrt/pjrt_internal.h"

static hsc_status *read_platform(hsc_topology *topology) {
  PJRT_TopologyDescription_PlatformName_Args name =
      HSC_PJRT_ARGS(PJRT_TopologyDescription_PlatformName, .topology = topology->topology);
  HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_PlatformName, &name));
  topology->platform_name = hsc_arena_strndup(
      topology->arena, name.platform_name ? name.platform_name : "", name.platform_name_size);
  PJRT_TopologyDescription_PlatformVersion_Args version =
      HSC_PJRT_ARGS(PJRT_TopologyDescription_PlatformVersion, .topology = topology->topology);
  HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_PlatformVersion, &version));
  topology->platform_version =
      hsc_arena_strndup(topology->arena, version.platform_version ? version.platform_version : "",
                        version.platform_version_size);
  return hsc_arena_status(topology->arena);
}

// Takes the handle when owned, also on failure.
static hsc_status *wrap(hsc_plugin *plugin,
                        PJRT_TopologyDescription *handle,
                        bool owned,
                        hsc_topology **out_topology) {
  hsc_status *status = NULL;
  hsc_topology *topology = hsc_alloc(sizeof *topology);
  if (!topology) {
    PJRT_TopologyDescription_Destroy_Args args =
        HSC_PJRT_ARGS(PJRT_TopologyDescription_Destroy, .topology = handle);
    if (owned)
      hsc__pjrt_ignore(HSC_PJRT_CALL(plugin, PJRT_TopologyDescription_Destroy, &args));
    return hsc_status_out_of_memory();
  }
  topology->plugin = plugin;
  topology->topology = handle;
  topology->owned = owned;
  HSC_GOTO(hsc_arena_create(&topology->arena));
  HSC_GOTO(read_platform(topology));
  *out_topology = topology;
  return NULL;
done:
  hsc_topology_destroy(topology);
  return status;
}

hsc_status *hsc_topology_create(hsc_plugin *plugin,
                                const char *name,
                                const hsc_named_value *options,
                                size_t option_count,
                                hsc_topology **out_topology) {
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  PJRT_NamedValue *values;
  *out_topology = NULL;
  HSC_TRY(hsc_arena_create(&arena));
  HSC_GOTO(hsc__values_to_plugin(arena, options, option_count, &values));
  PJRT_TopologyDescription_Create_Args args = HSC_PJRT_ARGS(
      PJRT_TopologyDescription_Create, .topology_name = name, .topology_name_size = strlen(name),
      .create_options = values, .num_options = option_count);
  HSC_GOTO(HSC_PJRT_CALL(plugin, PJRT_TopologyDescription_Create, &args));
  HSC_GOTO(wrap(plugin, args.topology, true, out_topology));
done:
  hsc_arena_destroy(arena);
  return status;
}

hsc_status *hsc_topology_of_client(hsc_client *client, hsc_topology **out_topology) {
  *out_topology = NULL;
  PJRT_Client_TopologyDescription_Args args =
      HSC_PJRT_ARGS(PJRT_Client_TopologyDescription, .client = client->client);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Client_TopologyDescription, &args));
  return wrap(client->plugin, args.topology, false, out_topology);
}

void hsc_topology_destroy(hsc_topology *topology) {
  if (!topology)
    return;
  if (topology->owned) {
    PJRT_TopologyDescription_Destroy_Args args =
        HSC_PJRT_ARGS(PJRT_TopologyDescription_Destroy, .topology = topology->topology);
    hsc__pjrt_ignore(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_Destroy, &args));
  }
  hsc_arena_destroy(topology->arena);
  hsc_free(topology);
}

const char *hsc_topology_platform_name(const hsc_topology *topology) {
  return topology->platform_name;
}
const char *hsc_topology_platform_version(const hsc_topology *topology) {
  return topology->platform_version;
}

hsc_status *hsc_topology_attributes(hsc_topology *topology,
                                    const hsc_named_value **out_values,
                                    size_t *out_count) {
  if (!topology->attributes_read) {
    PJRT_TopologyDescription_Attributes_Args args =
        HSC_PJRT_ARGS(PJRT_TopologyDescription_Attributes, .topology = topology->topology);
    HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_Attributes, &args));
    HSC_TRY(hsc__values_copy(topology->arena, args.attributes, args.num_attributes,
                             &topology->attributes));
    topology->attribute_count = topology->attributes ? args.num_attributes : 0;
    topology->attributes_read = true;
  }
  *out_values = topology->attributes;
  *out_count = topology->attribute_count;
  return NULL;
}

hsc_status *hsc_topology_devices(hsc_topology *topology,
                                 const hsc_device_info **out_devices,
                                 size_t *out_count) {
  if (!topology->devices_read) {
    PJRT_TopologyDescription_GetDeviceDescriptions_Args args = HSC_PJRT_ARGS(
        PJRT_TopologyDescription_GetDeviceDescriptions, .topology = topology->topology);
    HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_GetDeviceDescriptions, &args));
    size_t count = args.descriptions ? args.num_descriptions : 0;
    hsc_device_info *devices = HSC_NEW_ARRAY(topology->arena, hsc_device_info, count ? count : 1);
    if (!devices)
      return hsc_status_out_of_memory();
    for (size_t i = 0; i < count; i++)
      HSC_TRY(hsc__device_info_read(topology->plugin, topology->arena, args.descriptions[i],
                                    &devices[i]));
    topology->devices = devices;
    topology->device_count = count;
    topology->devices_read = true;
  }
  *out_devices = topology->devices;
  *out_count = topology->device_count;
  return NULL;
}

hsc_status *hsc_topology_serialize(hsc_topology *topology, hsc_bytes *out_bytes) {
  PJRT_TopologyDescription_Serialize_Args args =
      HSC_PJRT_ARGS(PJRT_TopologyDescription_Serialize, .topology = topology->topology);
  HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_TopologyDescription_Serialize, &args));
  hsc_bytes_append(out_bytes, args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_topology_deleter)
    args.serialized_topology_deleter(args.serialized_topology);
  return hsc_bytes_status(out_bytes);
}

hsc_status *hsc_topology_compile(hsc_topology *topology,
                                 hsc_view code,
                                 const char *format,
                                 hsc_view compile_options,
                                 hsc_executable **out_executable) {
  *out_executable = NULL;
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)code.data,
                          .code_size = code.size,
                          .format = format,
                          .format_size = strlen(format)};
  PJRT_Compile_Args args = HSC_PJRT_ARGS(
      PJRT_Compile, .topology = topology->topology, .program = &program,
      .compile_options = compile_options.data, .compile_options_size = compile_options.size);
  HSC_TRY(HSC_PJRT_CALL(topology->plugin, PJRT_Compile, &args));
  return hsc__executable_wrap(topology->plugin, NULL, NULL, args.executable, out_executable);
}
