// plugin_transfer.c - between host memory and buffers: by a copy, in any arrangement
// (plugin_strides.c), or by none.
//
// A host array is used in place when the host allows it (zero copy), it is dense row-major and its
// address is a multiple of 64; else it is copied before the call returns. The event for the host
// memory is then ready at once, or when the block is given back.
#include "cpu/runtime/records.h"
#include "plugin/plugin_internal.h"

// ---- from the host ------------------------------------------------------------------------------

static bool may_borrow(const PJRT_Client_BufferFromHostBuffer_Args *args, bool dense) {
  bool allowed = args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
                 args->host_buffer_semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
  return allowed && dense && (uintptr_t)args->data % HSC_CPU_ALIGNMENT == 0;
}

// The host's memory as the buffer's block; its event is set when the block goes.
static hsc_status *borrow(PJRT_Client_BufferFromHostBuffer_Args *args, PJRT_Buffer *buffer) {
  PJRT_Event *event = hsc__event_create();
  hsc__block *block =
      event ? hsc__block_borrow(args->client, (void *)args->data, buffer->size_bytes) : NULL;
  if (!block) {
    hsc__event_release(event);
    return hsc_status_out_of_memory();
  }
  block->read_only = args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy;
  block->released = event;
  buffer->block = block;
  args->done_with_host_buffer = hsc__event_retain(event);
  return NULL;
}

static hsc_status *from_host(PJRT_Client_BufferFromHostBuffer_Args *args,
                             PJRT_Device *device,
                             PJRT_Buffer *buffer) {
  size_t bytes = 0;
  int64_t host[HSC_MAX_RANK], own[HSC_MAX_RANK];
  const PJRT_Layouts_MemoryLayout *layout;
  int semantics = (int)args->host_buffer_semantics;
  if (semantics < PJRT_HostBufferSemantics_kImmutableOnlyDuringCall ||
      semantics > PJRT_HostBufferSemantics_kMutableZeroCopy)
    return HSC_ERR(INVALID_ARGUMENT, "host_buffer_semantics is %d: not one of 0 to %d", semantics,
                   PJRT_HostBufferSemantics_kMutableZeroCopy);
  HSC_TRY(hsc__array_bytes(args->type, args->dims, args->num_dims, &bytes));
  HSC_TRY(hsc__device_layout(args->device_layout, args->dims, args->num_dims,
                             hsc_type_bytes(hsc__type_of_pjrt(args->type)), &layout));
  int rank = (int)args->num_dims;
  hsc_type type = hsc__type_of_pjrt(args->type);
  size_t element_bytes = hsc_type_bytes(type);
  if (args->byte_strides && args->num_byte_strides != 0 && args->num_byte_strides != args->num_dims)
    return HSC_ERR(INVALID_ARGUMENT, "%zu byte strides for an array of rank %d",
                   args->num_byte_strides, rank);
  if (args->byte_strides && args->num_byte_strides != 0)
    memcpy(host, args->byte_strides, (size_t)rank * sizeof *host);
  else
    HSC_TRY(hsc__host_strides(NULL, args->dims, rank, element_bytes, host));
  if (bytes > 0 && !args->data)
    return HSC_ERR(INVALID_ARGUMENT, "no host memory is given for an array of %zu bytes", bytes);
  buffer->device = device;
  if (!hsc__buffer_set_shape(buffer, type, rank, args->dims, bytes))
    return hsc_status_out_of_memory();
  buffer->layout = layout;
  hsc__layout_strides(layout, args->dims, rank, element_bytes, own);
  bool dense = hsc__strides_alike(host, own, args->dims, rank);
  bool narrow = hsc_type_is_integral(type) && type != HSC_TYPE_PRED && hsc_type_bits(type) < 8;
  if (bytes > 0 && !narrow && may_borrow(args, dense))
    return borrow(args, buffer);
  buffer->block = hsc__block_take(args->client, bytes);
  if (!buffer->block)
    return HSC_ERR(RESOURCE_EXHAUSTED, "no memory for an array of %zu bytes", bytes);
  if (dense && bytes > 0) {
    memcpy(buffer->block->data, args->data, bytes);
  } else if (bytes > 0) {
    hsc__host_copy_strided(buffer->block->data, own, args->data, host, args->dims, rank,
                           element_bytes);
  }
  if (narrow)
    hsc__extend_narrow(type, buffer->block->data, bytes);
  args->done_with_host_buffer = hsc__event_ready();
  return NULL;
}

HSC_ENTRY(PJRT_Client_BufferFromHostBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_BufferFromHostBuffer, buffer);
  PJRT_Device *device = NULL;
  HSC_PJRT_TRY(hsc__place(args->client, args->device, args->memory, &device));
  PJRT_Buffer *buffer = hsc__buffer_new(args->client);
  if (!buffer)
    return hsc__error_of(hsc_status_out_of_memory());
  uint64_t begin = hsc_cpu_span_begin();
  hsc_status *status = from_host(args, device, buffer);
  hsc_cpu_span_end(HSC_CPU_SPAN_TO_DEVICE, begin, (int64_t)buffer->size_bytes);
  if (status) {
    hsc__buffer_free(buffer);
    return hsc__error_of(status);
  }
  args->buffer = buffer;
  return NULL;
}

// A view of memory that somebody else owns; copied when it is not aligned well enough to be used in
// place.
static hsc_status *view(PJRT_Client_CreateViewOfDeviceBuffer_Args *args,
                        PJRT_Device *device,
                        PJRT_Buffer *buffer,
                        bool *out_borrowed) {
  size_t bytes = 0;
  const PJRT_Layouts_MemoryLayout *layout;
  HSC_TRY(hsc__array_bytes(args->element_type, args->dims, args->num_dims, &bytes));
  HSC_TRY(hsc__device_layout(args->layout, args->dims, args->num_dims,
                             hsc_type_bytes(hsc__type_of_pjrt(args->element_type)), &layout));
  buffer->device = device;
  if (!hsc__buffer_set_shape(buffer, hsc__type_of_pjrt(args->element_type), (int)args->num_dims,
                             args->dims, bytes))
    return hsc_status_out_of_memory();
  buffer->layout = layout;
  *out_borrowed = (uintptr_t)args->device_buffer_ptr % HSC_CPU_ALIGNMENT == 0 && bytes > 0;
  buffer->block = *out_borrowed ? hsc__block_borrow(args->client, args->device_buffer_ptr, bytes)
                                : hsc__block_take(args->client, bytes);
  if (!buffer->block)
    return hsc_status_out_of_memory();
  if (*out_borrowed) {
    buffer->block->read_only = true;
    buffer->block->on_release = args->on_delete_callback;
    buffer->block->user = args->on_delete_callback_arg;
  } else if (bytes > 0) {
    memcpy(buffer->block->data, args->device_buffer_ptr, bytes);
  }
  return NULL;
}

HSC_ENTRY(PJRT_Client_CreateViewOfDeviceBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_CreateViewOfDeviceBuffer, buffer);
  PJRT_Device *device = NULL;
  bool borrowed = false;
  HSC_PJRT_TRY(hsc__place(
      args->client, args->device,
      HSC_ARGS_HAVE(PJRT_Client_CreateViewOfDeviceBuffer, memory) ? args->memory : NULL, &device));
  PJRT_Buffer *buffer = hsc__buffer_new(args->client);
  if (!buffer)
    return hsc__error_of(hsc_status_out_of_memory());
  hsc_status *status = view(args, device, buffer, &borrowed);
  if (status) {
    hsc__buffer_free(buffer);
    return hsc__error_of(status);
  }
  if (!borrowed && args->on_delete_callback)
    args->on_delete_callback(args->device_buffer_ptr, args->on_delete_callback_arg);
  args->buffer = buffer;
  return NULL;
}

// ---- to the host --------------------------------------------------------------------------------

// Bytes that a strided arrangement spans; strides of a host layout are never negative.
static hsc_status *span_of(const int64_t *strides,
                           const int64_t *dims,
                           int rank,
                           size_t element_bytes,
                           size_t *out_bytes) {
  size_t span = element_bytes;
  for (int i = 0; i < rank; i++) {
    if (dims[i] == 0) {
      *out_bytes = 0;
      return NULL;
    }
    if (strides[i] < 0)
      return HSC_ERR(INVALID_ARGUMENT, "byte stride %lld of dimension %d is negative",
                     (long long)strides[i], i);
    span += (size_t)(dims[i] - 1) * (size_t)strides[i];
  }
  *out_bytes = span;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_ToHostBuffer) {
  HSC_CHECK_ARGS(PJRT_Buffer_ToHostBuffer, event);
  PJRT_Buffer *buffer = args->src;
  size_t element_bytes = hsc_type_bytes(buffer->type);
  size_t span = 0;
  int64_t host[HSC_MAX_RANK] = {0};
  int64_t own[HSC_MAX_RANK] = {0};
  hsc__layout_strides(buffer->layout, buffer->dims, buffer->rank, element_bytes, own);
  if (args->host_layout)
    HSC_PJRT_TRY(
        hsc__host_strides(args->host_layout, buffer->dims, buffer->rank, element_bytes, host));
  else
    memcpy(host, own, sizeof host);  // as it is on the device
  HSC_PJRT_TRY(span_of(host, buffer->dims, buffer->rank, element_bytes, &span));
  if (!args->dst) {
    args->dst_size = span;
    return NULL;
  }
  if (args->dst_size < span)
    return hsc__error_of(HSC_ERR(
        INVALID_ARGUMENT, "PJRT_Buffer_ToHostBuffer: the destination has %zu bytes, %zu are needed",
        args->dst_size, span));
  hsc__block *block = NULL;
  PJRT_Error *error = hsc__buffer_pin(buffer, &block);
  if (error)
    return error;
  uint64_t begin = hsc_cpu_span_begin();
  if (hsc__strides_alike(host, own, buffer->dims, buffer->rank)) {
    memcpy(args->dst, block->data, buffer->size_bytes);
  } else {
    hsc__host_copy_strided(args->dst, host, block->data, own, buffer->dims, buffer->rank,
                           element_bytes);
  }
  hsc_cpu_span_end(HSC_CPU_SPAN_TO_HOST, begin, (int64_t)buffer->size_bytes);
  hsc__block_release(buffer->client, block);
  args->event = hsc__event_ready();
  return NULL;
}

static hsc_status *check_range(const PJRT_Buffer *buffer, int64_t offset, int64_t size) {
  if (offset < 0 || size < 0 || (uint64_t)offset > buffer->size_bytes ||
      (uint64_t)size > buffer->size_bytes - (uint64_t)offset)
    return HSC_ERR(OUT_OF_RANGE, "%lld bytes from offset %lld do not lie in a buffer of %zu",
                   (long long)size, (long long)offset, buffer->size_bytes);
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_CopyRawToHost) {
  HSC_CHECK_ARGS(PJRT_Buffer_CopyRawToHost, event);
  hsc__block *block = NULL;
  HSC_PJRT_TRY(check_range(args->buffer, args->offset, args->transfer_size));
  PJRT_Error *error = hsc__buffer_pin(args->buffer, &block);
  if (error)
    return error;
  uint64_t begin = hsc_cpu_span_begin();
  memcpy(args->dst, block->data + args->offset, (size_t)args->transfer_size);
  hsc_cpu_span_end(HSC_CPU_SPAN_TO_HOST, begin, args->transfer_size);
  hsc__block_release(args->buffer->client, block);
  args->event = hsc__event_ready();
  return NULL;
}

typedef struct later_copy {
  PJRT_Client *client;  // held
  hsc__block *block;    // referenced
  size_t offset, size;
  PJRT_Event *event;
} later_copy;

// The destination is known now (or never will be).
static void finish_later_copy(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args) {
  later_copy *copy = args->callback_data;
  if (args->error_code == PJRT_Error_Code_OK)
    memcpy(args->dst, copy->block->data + copy->offset, copy->size);
  hsc__event_set(copy->event, args->error_code, args->error_message, args->error_message_size);
  hsc__event_release(copy->event);
  hsc__block_release(copy->client, copy->block);
  hsc__client_release(copy->client);
  hsc_free(copy);
}

HSC_ENTRY(PJRT_Buffer_CopyRawToHostFuture) {
  HSC_CHECK_ARGS(PJRT_Buffer_CopyRawToHostFuture, future_ready_callback);
  hsc__block *block = NULL;
  HSC_PJRT_TRY(check_range(args->buffer, args->offset, args->transfer_size));
  PJRT_Error *error = hsc__buffer_pin(args->buffer, &block);
  if (error)
    return error;
  later_copy *copy = hsc_alloc(sizeof *copy);
  PJRT_Event *event = copy ? hsc__event_create() : NULL;
  if (!event) {
    hsc_free(copy);
    hsc__block_release(args->buffer->client, block);
    return hsc__error_of(hsc_status_out_of_memory());
  }
  hsc__client_retain(args->buffer->client);
  *copy = (later_copy){args->buffer->client, block, (size_t)args->offset,
                       (size_t)args->transfer_size, hsc__event_retain(event)};
  args->event = event;
  args->callback_data = copy;
  args->future_ready_callback = finish_later_copy;
  return NULL;
}
