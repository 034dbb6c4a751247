// plugin_pending.c - buffers whose contents come later or never: transfer managers, aliases,
// errors, donation with a dependency.
//
// Such a buffer has a block from the start (or gets one), and an event `ready` that everyone who
// needs the contents waits for.
#include "plugin/plugin_internal.h"

hsc_status *hsc__buffer_create_pending(PJRT_Client *client,
                                       PJRT_Device *device,
                                       PJRT_Buffer_Type type,
                                       const int64_t *dims,
                                       size_t rank,
                                       PJRT_Buffer **out_buffer) {
  PJRT_Buffer *buffer = NULL;
  HSC_TRY(hsc__buffer_create(client, device, type, dims, rank, &buffer));
  buffer->ready = hsc__event_create();
  if (!buffer->ready) {
    hsc__buffer_free(buffer);
    return hsc_status_out_of_memory();
  }
  *out_buffer = buffer;
  return NULL;
}

// ---- transfer managers --------------------------------------------------------------------------

typedef struct slot {
  PJRT_Buffer *buffer;  // until retrieved
  hsc__block *block;    // referenced as long as bytes may come
  PJRT_Event *ready;    // referenced
  size_t size_bytes;
  const PJRT_Layouts_MemoryLayout *layout;  // of the buffer
} slot;

struct PJRT_AsyncHostToDeviceTransferManager {
  PJRT_Client *client;  // held
  PJRT_Device *device;
  size_t count;
  slot slots[];
};

static void destroy_manager(PJRT_AsyncHostToDeviceTransferManager *manager) {
  if (!manager)
    return;
  for (size_t i = 0; i < manager->count; i++) {
    slot *s = &manager->slots[i];
    static const char text[] =
        "the transfer manager was destroyed before the transfer was complete";
    if (s->ready)
      hsc__event_set(s->ready, PJRT_Error_Code_CANCELLED, text, sizeof text - 1);
    hsc__event_release(s->ready);
    if (s->block)
      hsc__block_release(manager->client, s->block);
    if (s->buffer)
      hsc__buffer_free(s->buffer);
  }
  hsc__client_release(manager->client);
  hsc_free(manager);
}

static hsc_status *fill_slot(PJRT_AsyncHostToDeviceTransferManager *manager,
                             const PJRT_ShapeSpec *spec,
                             const PJRT_Buffer_MemoryLayout *layout,
                             slot *s) {
  const PJRT_Layouts_MemoryLayout *own;
  HSC_TRY(hsc__device_layout(layout, spec->dims, spec->num_dims,
                             hsc_type_bytes(hsc__type_of_pjrt(spec->element_type)), &own));
  HSC_TRY(hsc__buffer_create_pending(manager->client, manager->device, spec->element_type,
                                     spec->dims, spec->num_dims, &s->buffer));
  s->buffer->layout = s->layout = own;
  pthread_mutex_lock(&manager->client->lock);
  s->block = s->buffer->block;
  s->block->references++;
  pthread_mutex_unlock(&manager->client->lock);
  s->ready = hsc__event_retain(s->buffer->ready);
  s->size_bytes = s->buffer->size_bytes;
  return NULL;
}

HSC_ENTRY(PJRT_Client_CreateBuffersForAsyncHostToDevice) {
  HSC_CHECK_ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer_manager);
  PJRT_Device *device = NULL;
  HSC_PJRT_TRY(hsc__place(args->client, NULL, args->memory, &device));
  if (args->num_device_layouts != 0 && args->num_device_layouts != args->num_shape_specs)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "%zu layouts for %zu shapes",
                                 args->num_device_layouts, args->num_shape_specs));
  PJRT_AsyncHostToDeviceTransferManager *manager =
      hsc_alloc(sizeof *manager + args->num_shape_specs * sizeof(slot));
  if (!manager)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc__client_retain(args->client);
  manager->client = args->client;
  manager->device = device;
  manager->count = args->num_shape_specs;
  for (size_t i = 0; i < manager->count; i++) {
    hsc_status *status =
        fill_slot(manager, &args->shape_specs[i],
                  args->num_device_layouts ? args->device_layouts[i] : NULL, &manager->slots[i]);
    if (!status)
      continue;
    destroy_manager(manager);
    return hsc__error_of(status);
  }
  args->transfer_manager = manager;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_Destroy) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager);
  destroy_manager(args->transfer_manager);
  return NULL;
}

static hsc_status *slot_at(PJRT_AsyncHostToDeviceTransferManager *manager,
                           int index,
                           slot **out_slot) {
  if (index < 0 || (size_t)index >= manager->count)
    return HSC_ERR(INVALID_ARGUMENT, "buffer %d of a transfer manager with %zu", index,
                   manager->count);
  *out_slot = &manager->slots[index];
  return NULL;
}

static hsc_status *open_slot(PJRT_AsyncHostToDeviceTransferManager *manager,
                             int index,
                             slot **out_slot) {
  HSC_TRY(slot_at(manager, index, out_slot));
  if (!(*out_slot)->block)
    return HSC_ERR(FAILED_PRECONDITION, "the transfer to buffer %d is complete already", index);
  return NULL;
}

static void close_slot(PJRT_AsyncHostToDeviceTransferManager *manager,
                       slot *s,
                       int code,
                       const char *text,
                       size_t size) {
  hsc__event_set(s->ready, code, text, size);
  hsc__block_release(manager->client, s->block);
  s->block = NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_TransferData) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, done_with_h2d_transfer);
  slot *s = NULL;
  HSC_PJRT_TRY(open_slot(args->transfer_manager, args->buffer_index, &s));
  if (args->offset < 0 || args->transfer_size < 0 || (uint64_t)args->offset > s->size_bytes ||
      (uint64_t)args->transfer_size > s->size_bytes - (uint64_t)args->offset)
    return hsc__error_of(
        HSC_ERR(OUT_OF_RANGE, "%lld bytes at offset %lld do not lie in a buffer of %zu",
                (long long)args->transfer_size, (long long)args->offset, s->size_bytes));
  if (args->transfer_size > 0)
    memcpy(s->block->data + args->offset, args->data, (size_t)args->transfer_size);
  if (args->is_last_transfer)
    close_slot(args->transfer_manager, s, 0, NULL, 0);
  args->done_with_h2d_transfer = hsc__event_ready();
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, done_with_h2d_transfer);
  slot *s = NULL;
  size_t bytes = 0;
  int64_t from[HSC_MAX_RANK], to[HSC_MAX_RANK];
  HSC_PJRT_TRY(open_slot(args->transfer_manager, args->buffer_index, &s));
  HSC_PJRT_TRY(
      hsc__array_bytes(args->shape_element_type, args->shape_dims, args->shape_num_dims, &bytes));
  if (bytes != s->size_bytes)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "a literal of %zu bytes for a buffer of %zu",
                                 bytes, s->size_bytes));
  size_t element_bytes = hsc_type_bytes(hsc__type_of_pjrt(args->shape_element_type));
  HSC_PJRT_TRY(hsc__host_strides(args->shape_layout, args->shape_dims, (int)args->shape_num_dims,
                                 element_bytes, from));
  if (s->layout && (size_t)s->layout->rank != args->shape_num_dims)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT,
                                 "a literal of rank %zu for a buffer of layout %s",
                                 args->shape_num_dims, s->layout->text));
  hsc__layout_strides(s->layout, args->shape_dims, (int)args->shape_num_dims, element_bytes, to);
  if (bytes > 0)
    hsc__host_copy_strided(s->block->data, to, args->data, from, args->shape_dims,
                           (int)args->shape_num_dims, element_bytes);
  close_slot(args->transfer_manager, s, 0, NULL, 0);
  args->done_with_h2d_transfer = hsc__event_ready();
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, buffer_out);
  slot *s = NULL;
  HSC_PJRT_TRY(slot_at(args->transfer_manager, args->buffer_index, &s));
  if (!s->buffer)
    return hsc__error_of(
        HSC_ERR(FAILED_PRECONDITION, "buffer %d has been retrieved already", args->buffer_index));
  args->buffer_out = s->buffer;
  s->buffer = NULL;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_Device) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_Device, device_out);
  args->device_out = args->transfer_manager->device;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_BufferCount) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferCount, buffer_count);
  args->buffer_count = args->transfer_manager->count;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_BufferSize) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferSize, buffer_size);
  slot *s = NULL;
  HSC_PJRT_TRY(slot_at(args->transfer_manager, args->buffer_index, &s));
  args->buffer_size = s->size_bytes;
  return NULL;
}

HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_SetBufferError) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error_message_size);
  slot *s = NULL;
  HSC_PJRT_TRY(open_slot(args->transfer_manager, args->buffer_index, &s));
  int code =
      args->error_code == PJRT_Error_Code_OK ? PJRT_Error_Code_UNKNOWN : (int)args->error_code;
  close_slot(args->transfer_manager, s, code, args->error_message, args->error_message_size);
  return NULL;
}

// Named values for logs of the host's own making: nothing here reads them.
HSC_ENTRY(PJRT_AsyncHostToDeviceTransferManager_AddMetadata) {
  HSC_CHECK_ARGS(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, num_metadata);
  return NULL;
}

// ---- error buffers ------------------------------------------------------------------------------

HSC_ENTRY(PJRT_Client_CreateErrorBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_CreateErrorBuffer, buffer);
  PJRT_Device *device = NULL;
  HSC_PJRT_TRY(hsc__place(args->client, NULL, args->memory, &device));
  HSC_PJRT_TRY(hsc__buffer_create_pending(args->client, device, args->shape_element_type,
                                          args->shape_dims, args->shape_num_dims, &args->buffer));
  int code =
      args->error_code == PJRT_Error_Code_OK ? PJRT_Error_Code_UNKNOWN : (int)args->error_code;
  hsc__event_set(args->buffer->ready, code, args->error_message, args->error_message_size);
  return NULL;
}

// ---- aliases: a buffer now, its contents from another buffer later ------------------------------

struct PJRT_FulfillAliasBufferCallback {
  PJRT_Client *client;  // held
  hsc__block *block;    // of the alias; referenced
  PJRT_Event *ready;    // of the alias; referenced
  size_t size_bytes;
};

HSC_ENTRY(PJRT_Client_CreateAliasBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_CreateAliasBuffer, fulfill_alias_buffer_cb);
  PJRT_Device *device = NULL;
  PJRT_Buffer *buffer;
  const PJRT_Layouts_MemoryLayout *layout;
  HSC_PJRT_TRY(hsc__device_layout(args->shape_layout, args->shape_dims, args->shape_num_dims,
                                  hsc_type_bytes(hsc__type_of_pjrt(args->shape_element_type)),
                                  &layout));
  HSC_PJRT_TRY(hsc__place(args->client, NULL, args->memory, &device));
  PJRT_FulfillAliasBufferCallback *promise = hsc_alloc(sizeof *promise);
  if (!promise)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = hsc__buffer_create_pending(args->client, device, args->shape_element_type,
                                                  args->shape_dims, args->shape_num_dims, &buffer);
  if (status) {
    hsc_free(promise);
    return hsc__error_of(status);
  }
  buffer->layout = layout;
  hsc__client_retain(args->client);
  pthread_mutex_lock(&args->client->lock);
  buffer->block->references++;
  pthread_mutex_unlock(&args->client->lock);
  *promise = (PJRT_FulfillAliasBufferCallback){
      args->client, buffer->block, hsc__event_retain(buffer->ready), buffer->size_bytes};
  args->alias_buffer = buffer;
  args->fulfill_alias_buffer_cb = promise;
  return NULL;
}

static PJRT_Error *copy_contents(PJRT_Buffer *from, PJRT_FulfillAliasBufferCallback *promise) {
  hsc__block *block = NULL;
  if (!from || from->size_bytes != promise->size_bytes)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT,
                                 "PJRT_Client_FulfillAliasBuffer: %zu bytes for an alias of %zu",
                                 from ? from->size_bytes : 0, promise->size_bytes));
  PJRT_Error *error = hsc__buffer_pin(from, &block);
  if (error)
    return error;
  memcpy(promise->block->data, block->data, promise->size_bytes);
  hsc__block_release(promise->client, block);
  return NULL;
}

HSC_ENTRY(PJRT_Client_FulfillAliasBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_FulfillAliasBuffer, fulfill_alias_buffer_cb);
  PJRT_FulfillAliasBufferCallback *promise = args->fulfill_alias_buffer_cb;
  if (args->status_code == PJRT_Error_Code_OK) {
    PJRT_Error *error = copy_contents(args->buffer, promise);
    if (error)
      return error;
  }
  hsc__event_set(promise->ready, args->status_code, args->error_message, args->error_message_size);
  hsc__event_release(promise->ready);
  hsc__block_release(promise->client, promise->block);
  hsc__client_release(promise->client);
  hsc_free(promise);
  return NULL;
}

// ---- donation to a buffer that waits ------------------------------------------------------------

static void dependency_ready(PJRT_Buffer_DonateWithControlDependency_Callback_Args *args) {
  PJRT_Event *event = args->callback_data;
  hsc__event_set(event, args->error_code, args->error_message, args->error_message_size);
  hsc__event_release(event);
}

HSC_ENTRY(PJRT_Buffer_DonateWithControlDependency) {
  HSC_CHECK_ARGS(PJRT_Buffer_DonateWithControlDependency, out_buffer);
  PJRT_Buffer *from = args->buffer;
  PJRT_Buffer *to;
  hsc__block *block = NULL;
  PJRT_Error *error = hsc__buffer_pin(from, &block);
  if (error)
    return error;
  PJRT_Event *event = hsc__event_create();
  to = event ? hsc__buffer_new(from->client) : NULL;
  if (!to || !hsc__buffer_set_shape(to, from->type, from->rank, from->dims, from->size_bytes)) {
    hsc__event_release(event);
    if (to)
      hsc__buffer_free(to);
    hsc__block_release(from->client, block);
    return hsc__error_of(hsc_status_out_of_memory());
  }
  to->device = from->device;
  to->layout = from->layout;
  to->block = block;
  to->ready = event;
  hsc__buffer_delete(from);
  args->callback_data = hsc__event_retain(event);
  args->dependency_ready_callback = dependency_ready;
  args->out_buffer = to;
  return NULL;
}
