// plugin_device.c - devices and their descriptions. All are the same processor: several exist so
// that programs for several devices have a place to go.
#include "plugin/plugin_internal.h"

HSC_ENTRY(PJRT_DeviceDescription_Id) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_Id, id);
  args->id = args->device_description->id;
  return NULL;
}

HSC_ENTRY(PJRT_DeviceDescription_ProcessIndex) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_ProcessIndex, process_index);
  args->process_index = args->device_description->process;
  return NULL;
}

HSC_ENTRY(PJRT_DeviceDescription_Attributes) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_Attributes, attributes);
  args->num_attributes = 0;
  args->attributes = NULL;
  return NULL;
}

HSC_ENTRY(PJRT_DeviceDescription_Kind) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_Kind, device_kind_size);
  args->device_kind = HSC_DEVICE_KIND;
  args->device_kind_size = strlen(HSC_DEVICE_KIND);
  return NULL;
}

HSC_ENTRY(PJRT_DeviceDescription_DebugString) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_DebugString, debug_string_size);
  args->debug_string = args->device_description->debug_text;
  args->debug_string_size = strlen(args->debug_string);
  return NULL;
}

HSC_ENTRY(PJRT_DeviceDescription_ToString) {
  HSC_CHECK_ARGS(PJRT_DeviceDescription_ToString, to_string_size);
  args->to_string = args->device_description->text;
  args->to_string_size = strlen(args->to_string);
  return NULL;
}

HSC_ENTRY(PJRT_Device_GetDescription) {
  HSC_CHECK_ARGS(PJRT_Device_GetDescription, device_description);
  args->device_description = args->device->description;
  return NULL;
}

HSC_ENTRY(PJRT_Device_IsAddressable) {
  HSC_CHECK_ARGS(PJRT_Device_IsAddressable, is_addressable);
  args->is_addressable = hsc__device_is_own(args->device);
  return NULL;
}

HSC_ENTRY(PJRT_Device_LocalHardwareId) {
  HSC_CHECK_ARGS(PJRT_Device_LocalHardwareId, local_hardware_id);
  args->local_hardware_id = hsc__device_is_own(args->device)
                                ? args->device->index - args->device->client->first_device
                                : -1;
  return NULL;
}

HSC_ENTRY(PJRT_Device_AddressableMemories) {
  HSC_CHECK_ARGS(PJRT_Device_AddressableMemories, num_memories);
  args->memories = &args->device->client->memory_list[args->device->index];
  args->num_memories = 1;
  return NULL;
}

HSC_ENTRY(PJRT_Device_DefaultMemory) {
  HSC_CHECK_ARGS(PJRT_Device_DefaultMemory, memory);
  args->memory = args->device->memory;
  return NULL;
}

// One memory behind all devices: every device reports the whole.
HSC_ENTRY(PJRT_Device_MemoryStats) {
  HSC_CHECK_ARGS(PJRT_Device_MemoryStats, peak_pool_bytes_is_set);
  PJRT_Client *client = args->device->client;
  pthread_mutex_lock(&client->lock);
  hsc__block_pool *pool = &client->pool;
  args->bytes_in_use = pool->in_use_bytes;
  args->peak_bytes_in_use = pool->peak_bytes;
  args->num_allocs = pool->allocation_count;
  args->largest_alloc_size = pool->largest_bytes;
  args->pool_bytes = pool->in_use_bytes + (int64_t)pool->cached_bytes;
  pthread_mutex_unlock(&client->lock);
  args->bytes_limit = client->memory_limit_bytes;
  args->peak_bytes_in_use_is_set = args->num_allocs_is_set = args->largest_alloc_size_is_set =
      args->pool_bytes_is_set = true;
  // Nothing is set aside: what can be reserved at most is what there is.
  args->bytes_reservable_limit = client->memory_limit_bytes;
  args->bytes_limit_is_set = args->bytes_reservable_limit_is_set = client->memory_limit_bytes > 0;
  args->bytes_reserved_is_set = args->peak_bytes_reserved_is_set = false;
  args->largest_free_block_bytes_is_set = args->peak_pool_bytes_is_set = false;
  return NULL;
}

HSC_ENTRY(PJRT_Device_ClearMemoryStats) {
  HSC_CHECK_ARGS(PJRT_Device_ClearMemoryStats, device);
  PJRT_Client *client = args->device->client;
  pthread_mutex_lock(&client->lock);
  client->pool.peak_bytes = client->pool.in_use_bytes;
  client->pool.allocation_count = 0;
  client->pool.largest_bytes = 0;
  pthread_mutex_unlock(&client->lock);
  return NULL;
}

static void no_attributes(PJRT_Device_Attributes *attributes) {}

HSC_ENTRY(PJRT_Device_GetAttributes) {
  HSC_CHECK_ARGS(PJRT_Device_GetAttributes, attributes_deleter);
  args->attributes = NULL;
  args->num_attributes = 0;
  args->device_attributes = NULL;
  args->attributes_deleter = no_attributes;
  return NULL;
}

// Programs have run when Execute returns: there is nothing left to poison.
HSC_ENTRY(PJRT_Device_PoisonExecution) {
  HSC_CHECK_ARGS(PJRT_Device_PoisonExecution, poisoned);
  args->poisoned = false;
  return NULL;
}

struct PJRT_AsyncTrackingEvent {
  int unused;
};
static struct PJRT_AsyncTrackingEvent tracking_event;

// Marks for profilers of the host; we have none that would read them, so all are one.
HSC_ENTRY(PJRT_Device_CreateAsyncTrackingEvent) {
  HSC_CHECK_ARGS(PJRT_Device_CreateAsyncTrackingEvent, event);
  args->event = &tracking_event;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncTrackingEvent_Destroy) {
  HSC_CHECK_ARGS(PJRT_AsyncTrackingEvent_Destroy, event);
  return NULL;
}
