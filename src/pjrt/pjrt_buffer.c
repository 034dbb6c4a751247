// pjrt_buffer.c - arrays on a device: from the host, to the host.
#include "pjrt/pjrt_internal.h"

void hsc__buffer_drop(hsc_plugin *plugin, PJRT_Buffer *buffer) {
  if (!buffer)
    return;
  PJRT_Buffer_Destroy_Args args = HSC_PJRT_ARGS(PJRT_Buffer_Destroy, .buffer = buffer);
  hsc__pjrt_ignore(HSC_PJRT_CALL(plugin, PJRT_Buffer_Destroy, &args));
}

void hsc_buffer_destroy(hsc_buffer *buffer) {
  if (!buffer)
    return;
  hsc__buffer_drop(buffer->client->plugin, buffer->buffer);
  hsc_free(buffer);
}

hsc_status *hsc_buffer_from_host(hsc_client *client,
                                 int device,
                                 const hsc_host_array *array,
                                 hsc_host_semantics semantics,
                                 hsc_pjrt_event **out_done,
                                 hsc_buffer **out_buffer) {
  hsc_plugin *plugin = client->plugin;
  *out_buffer = NULL;
  if (out_done)
    *out_done = NULL;
  if (device < 0 || device >= client->device_count)
    return HSC_ERR(INVALID_ARGUMENT, "%s: no device %d; there are %d", plugin->name, device,
                   client->device_count);
  hsc_buffer *buffer = hsc_alloc(sizeof *buffer);
  hsc_pjrt_event *done = out_done ? hsc_alloc(sizeof *done) : NULL;
  if (!buffer || (out_done && !done)) {
    hsc_free(buffer);
    hsc_free(done);
    return hsc_status_out_of_memory();
  }
  PJRT_Client_BufferFromHostBuffer_Args args =
      HSC_PJRT_ARGS(PJRT_Client_BufferFromHostBuffer, .client = client->client, .data = array->data,
                    .type = array->type, .dims = array->dims, .num_dims = (size_t)array->rank,
                    .host_buffer_semantics = (PJRT_HostBufferSemantics)semantics,
                    .device = client->devices[device]);
  hsc_status *status = HSC_PJRT_CALL(plugin, PJRT_Client_BufferFromHostBuffer, &args);
  if (!status) {
    *buffer = (hsc_buffer){client, args.buffer};
    if (out_done)
      *done = (hsc_pjrt_event){plugin, args.done_with_host_buffer};
    else if (semantics == HSC_HOST_ZERO_COPY || semantics == HSC_HOST_ZERO_COPY_MUTABLE)
      hsc__event_drop(plugin, args.done_with_host_buffer);
    else
      status = hsc__event_finish(plugin, args.done_with_host_buffer);
    if (status)
      hsc__buffer_drop(plugin, args.buffer);
  }
  if (status) {
    hsc_free(buffer);
    hsc_free(done);
    return status;
  }
  *out_buffer = buffer;
  if (out_done)
    *out_done = done;
  return NULL;
}

hsc_status *hsc_buffer_spec(hsc_buffer *buffer, hsc_array_spec *out_spec) {
  hsc_plugin *plugin = buffer->client->plugin;
  PJRT_Buffer_ElementType_Args type =
      HSC_PJRT_ARGS(PJRT_Buffer_ElementType, .buffer = buffer->buffer);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Buffer_ElementType, &type));
  PJRT_Buffer_Dimensions_Args dims =
      HSC_PJRT_ARGS(PJRT_Buffer_Dimensions, .buffer = buffer->buffer);
  HSC_TRY(HSC_PJRT_CALL(plugin, PJRT_Buffer_Dimensions, &dims));
  *out_spec = (hsc_array_spec){type.type, (int)dims.num_dims, dims.dims};
  return NULL;
}

// Row-major whatever the device's layout: the layout is given explicitly for rank 2 and more.
typedef struct host_layout {
  PJRT_Buffer_MemoryLayout layout;
  int64_t minor_to_major[64];
} host_layout;

static hsc_status *row_major(hsc_buffer *buffer,
                             host_layout *storage,
                             PJRT_Buffer_MemoryLayout **out_layout) {
  hsc_array_spec spec;
  *out_layout = NULL;
  HSC_TRY(hsc_buffer_spec(buffer, &spec));
  if (spec.rank < 2)
    return NULL;
  if ((size_t)spec.rank > HSC_COUNT_OF(storage->minor_to_major))
    return HSC_ERR(UNIMPLEMENTED, "%s: a buffer of rank %d is not copied to the host (at most %zu)",
                   buffer->client->plugin->name, spec.rank, HSC_COUNT_OF(storage->minor_to_major));
  for (int i = 0; i < spec.rank; i++)
    storage->minor_to_major[i] = spec.rank - 1 - i;
  storage->layout = (PJRT_Buffer_MemoryLayout){
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = storage->minor_to_major,
                .minor_to_major_size = (size_t)spec.rank},
  };
  *out_layout = &storage->layout;
  return NULL;
}

hsc_status *hsc_buffer_host_bytes(hsc_buffer *buffer, size_t *out_bytes) {
  host_layout storage;
  PJRT_Buffer_MemoryLayout *layout;
  HSC_TRY(row_major(buffer, &storage, &layout));
  PJRT_Buffer_ToHostBuffer_Args args =
      HSC_PJRT_ARGS(PJRT_Buffer_ToHostBuffer, .src = buffer->buffer, .host_layout = layout);
  HSC_TRY(HSC_PJRT_CALL(buffer->client->plugin, PJRT_Buffer_ToHostBuffer, &args));
  *out_bytes = args.dst_size;
  return NULL;
}

static hsc_status *start_copy(hsc_buffer *buffer,
                              void *out_data,
                              size_t size_bytes,
                              PJRT_Event **out_event) {
  host_layout storage;
  PJRT_Buffer_MemoryLayout *layout;
  HSC_TRY(row_major(buffer, &storage, &layout));
  PJRT_Buffer_ToHostBuffer_Args args =
      HSC_PJRT_ARGS(PJRT_Buffer_ToHostBuffer, .src = buffer->buffer, .host_layout = layout,
                    .dst = out_data, .dst_size = size_bytes);
  HSC_TRY(HSC_PJRT_CALL(buffer->client->plugin, PJRT_Buffer_ToHostBuffer, &args));
  *out_event = args.event;
  return NULL;
}

hsc_status *hsc_buffer_to_host(hsc_buffer *buffer, void *out_data, size_t size_bytes) {
  static char nowhere[64];
  PJRT_Event *event = NULL;
  // a NULL destination would only ask for the size
  HSC_TRY(start_copy(buffer, out_data ? out_data : nowhere, size_bytes, &event));
  return hsc__event_finish(buffer->client->plugin, event);
}

hsc_status *hsc_buffer_start_to_host(hsc_buffer *buffer,
                                     void *out_data,
                                     size_t size_bytes,
                                     hsc_pjrt_event **out_event) {
  *out_event = NULL;
  hsc_pjrt_event *event = hsc_alloc(sizeof *event);
  if (!event)
    return hsc_status_out_of_memory();
  event->plugin = buffer->client->plugin;
  hsc_status *status = start_copy(buffer, out_data, size_bytes, &event->event);
  if (status) {
    hsc_free(event);
    return status;
  }
  *out_event = event;
  return NULL;
}

hsc_status *hsc_buffer_await(hsc_buffer *buffer) {
  PJRT_Buffer_ReadyEvent_Args args =
      HSC_PJRT_ARGS(PJRT_Buffer_ReadyEvent, .buffer = buffer->buffer);
  HSC_TRY(HSC_PJRT_CALL(buffer->client->plugin, PJRT_Buffer_ReadyEvent, &args));
  return hsc__event_finish(buffer->client->plugin, args.event);
}

hsc_status *hsc_buffer_device_bytes(hsc_buffer *buffer, size_t *out_bytes) {
  PJRT_Buffer_OnDeviceSizeInBytes_Args args =
      HSC_PJRT_ARGS(PJRT_Buffer_OnDeviceSizeInBytes, .buffer = buffer->buffer);
  HSC_TRY(HSC_PJRT_CALL(buffer->client->plugin, PJRT_Buffer_OnDeviceSizeInBytes, &args));
  *out_bytes = args.on_device_size_in_bytes;
  return NULL;
}
