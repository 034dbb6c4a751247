// pjrt_client.c - a client of a plugin and the facts of its devices.
//
// Texts that a plugin hands out are copied when they are read, so that nothing here depends on how
// long the plugin keeps them. The platform's name and version must be there; what a device tells of
// itself beyond its number may be missing.
#include "pjrt/pjrt_internal.h"

static const char *text_copy(hsc_arena *arena, const char *text, size_t size) {
  return hsc_arena_strndup(arena, text ? text : "", text ? size : 0);
}

// Facts that a plugin lacks stay empty: old plugins and ahead-of-time descriptions leave some out.
hsc_status *hsc__device_info_read(hsc_plugin *plugin,
                                  hsc_arena *arena,
                                  PJRT_DeviceDescription *description,
                                  hsc_device_info *info) {
  *info = (hsc_device_info){
      .id = -1, .local_hardware_id = -1, .kind = "", .text = "", .debug_text = ""};
  PJRT_DeviceDescription_Id_Args id =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_Id, .device_description = description);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_Id, &id));
  info->id = id.id;
  PJRT_DeviceDescription_ProcessIndex_Args process =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_ProcessIndex, .device_description = description);
  hsc_status *status = HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_ProcessIndex, &process);
  if (!status)
    info->process_index = process.process_index;
  hsc__pjrt_ignore(status);
  PJRT_DeviceDescription_Kind_Args kind =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_Kind, .device_description = description);
  status = HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_Kind, &kind);
  if (!status)
    info->kind = text_copy(arena, kind.device_kind, kind.device_kind_size);
  hsc__pjrt_ignore(status);
  PJRT_DeviceDescription_ToString_Args text =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_ToString, .device_description = description);
  status = HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_ToString, &text);
  if (!status)
    info->text = text_copy(arena, text.to_string, text.to_string_size);
  hsc__pjrt_ignore(status);
  PJRT_DeviceDescription_DebugString_Args debug =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_DebugString, .device_description = description);
  status = HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_DebugString, &debug);
  if (!status)
    info->debug_text = text_copy(arena, debug.debug_string, debug.debug_string_size);
  hsc__pjrt_ignore(status);
  PJRT_DeviceDescription_Attributes_Args attributes =
      HSC_PJRT_ARGS(PJRT_DeviceDescription_Attributes, .device_description = description);
  status = HSC_PJRT_CALL(plugin, PJRT_DeviceDescription_Attributes, &attributes);
  if (!status) {
    HSC_TRY(hsc__values_copy(arena, attributes.attributes, attributes.num_attributes,
                             &info->attributes));
    info->attribute_count = info->attributes ? attributes.num_attributes : 0;
  }
  hsc__pjrt_ignore(status);
  return hsc_arena_status(arena);
}

static hsc_status *read_platform(hsc_client *client) {
  PJRT_Client_PlatformName_Args name =
      HSC_PJRT_ARGS(PJRT_Client_PlatformName, .client = client->client);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Client_PlatformName, &name));
  client->platform_name = text_copy(client->arena, name.platform_name, name.platform_name_size);
  PJRT_Client_PlatformVersion_Args version =
      HSC_PJRT_ARGS(PJRT_Client_PlatformVersion, .client = client->client);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Client_PlatformVersion, &version));
  client->platform_version =
      text_copy(client->arena, version.platform_version, version.platform_version_size);
  return hsc_arena_status(client->arena);
}

static hsc_status *read_devices(hsc_client *client) {
  hsc_plugin *plugin = client->plugin;
  PJRT_Client_AddressableDevices_Args devices =
      HSC_PJRT_ARGS(PJRT_Client_AddressableDevices, .client = client->client);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Client_AddressableDevices, &devices));
  if (devices.num_addressable_devices > 1 << 20 ||
      (devices.num_addressable_devices > 0 && !devices.addressable_devices))
    return HSC_ERR(INTERNAL, "%s: claims %zu devices without a list of them", plugin->name,
                   devices.num_addressable_devices);
  client->devices = devices.addressable_devices;
  client->device_count = (int)devices.num_addressable_devices;
  client->device_infos = HSC_NEW_ARRAY(client->arena, hsc_device_info,
                                       client->device_count ? client->device_count : 1);
  if (!client->device_infos)
    return hsc_status_out_of_memory();
  for (int i = 0; i < client->device_count; i++) {
    PJRT_Device_GetDescription_Args description =
        HSC_PJRT_ARGS(PJRT_Device_GetDescription, .device = client->devices[i]);
    HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Device_GetDescription, &description));
    HSC_TRY(hsc__device_info_read(plugin, client->arena, description.device_description,
                                  &client->device_infos[i]));
    PJRT_Device_LocalHardwareId_Args local =
        HSC_PJRT_ARGS(PJRT_Device_LocalHardwareId, .device = client->devices[i]);
    hsc_status *status = HSC_PJRT_CALL(plugin, PJRT_Device_LocalHardwareId, &local);
    if (!status)
      client->device_infos[i].local_hardware_id = local.local_hardware_id;
    hsc__pjrt_ignore(status);
  }
  return NULL;
}

hsc_status *hsc_client_create(hsc_plugin *plugin,
                              const hsc_named_value *options,
                              size_t option_count,
                              hsc_client **out_client) {
  hsc_status *status = NULL;
  PJRT_NamedValue *values;
  *out_client = NULL;
  hsc_client *client = hsc_alloc(sizeof *client);
  if (!client)
    return hsc_status_out_of_memory();
  client->plugin = plugin;
  HSC_GOTO(hsc_arena_create(&client->arena));
  HSC_GOTO(hsc__values_to_plugin(client->arena, options, option_count, &values));
  PJRT_Client_Create_Args args =
      HSC_PJRT_ARGS(PJRT_Client_Create, .create_options = values, .num_options = option_count);
  HSC_GOTO(HSC_PJRT_CALL(plugin, PJRT_Client_Create, &args));
  client->client = args.client;
  HSC_GOTO(read_platform(client));
  HSC_GOTO(read_devices(client));
  *out_client = client;
  client = NULL;
done:
  hsc_client_destroy(client);
  return status;
}

void hsc_client_destroy(hsc_client *client) {
  if (!client)
    return;
  if (client->client) {
    PJRT_Client_Destroy_Args args = HSC_PJRT_ARGS(PJRT_Client_Destroy, .client = client->client);
    hsc__pjrt_ignore(HSC_PJRT_CALL(client->plugin, PJRT_Client_Destroy, &args));
  }
  hsc_arena_destroy(client->arena);
  hsc_free(client);
}

const char *hsc_client_platform_name(const hsc_client *client) {
  return client->platform_name;
}
const char *hsc_client_platform_version(const hsc_client *client) {
  return client->platform_version;
}
int hsc_client_device_count(const hsc_client *client) {
  return client->device_count;
}

const hsc_device_info *hsc_client_device(const hsc_client *client, int index) {
  return index >= 0 && index < client->device_count ? &client->device_infos[index] : NULL;
}

hsc_status *hsc_client_memory_stats(hsc_client *client, int device, hsc_memory_stats *out_stats) {
  if (device < 0 || device >= client->device_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s: no device %d; there are %d", client->plugin->name, device,
                   client->device_count);
  PJRT_Device_MemoryStats_Args args =
      HSC_PJRT_ARGS(PJRT_Device_MemoryStats, .device = client->devices[device]);
  HSC_TRY(HSC_PJRT_CALL(client->plugin, PJRT_Device_MemoryStats, &args));
  *out_stats = (hsc_memory_stats){
      .bytes_in_use = args.bytes_in_use,
      .peak_bytes_in_use = args.peak_bytes_in_use_is_set ? args.peak_bytes_in_use : -1,
      .allocation_count = args.num_allocs_is_set ? args.num_allocs : -1,
      .largest_allocation_bytes = args.largest_alloc_size_is_set ? args.largest_alloc_size : -1,
      .limit_bytes = args.bytes_limit_is_set ? args.bytes_limit : -1,
  };
  return NULL;
}
