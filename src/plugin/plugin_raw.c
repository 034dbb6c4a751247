// plugin_raw.c - the memory of an array as bytes that a host reads and fills: the extension
// RawBuffer, which jax.experimental.transfer pulls into.
//
// A raw buffer holds the block of its array. What is written there must be seen through that array
// alone, so one that shares its block, with another array or with the host, gets one of its own
// when the raw buffer is made.
#include "pjrt/abi_transfers.h"
#include "plugin/plugin_internal.h"

struct PJRT_RawBuffer {
  PJRT_Client *client;  // held
  PJRT_Memory *memory;
  hsc__block *block;  // referenced
  PJRT_Event *ready;  // of the array's first contents; NULL = they are there. Referenced
  size_t size_bytes;
};

// The array's block, referenced by whoever takes it, and by the array alone besides.
static PJRT_Error *take_own_block(PJRT_Buffer *buffer, hsc__block **out_block) {
  PJRT_Client *client = buffer->client;
  pthread_mutex_lock(&client->lock);
  hsc__block *block = buffer->block;
  bool is_own = block && block->references == 1 && block->size_class >= 0 && !block->read_only;
  if (is_own || (block && buffer->ready))  // what is still to come is no other array's yet
    block->references++;
  pthread_mutex_unlock(&client->lock);
  *out_block = block;
  if (is_own || (block && buffer->ready))
    return NULL;
  hsc__block *shared = NULL;
  PJRT_Error *error = hsc__buffer_pin(buffer, &shared);
  if (error)
    return error;
  hsc__block *own = hsc__block_take(client, buffer->size_bytes);
  hsc__free_blocks free_blocks = {0};
  if (!own) {
    hsc__block_release(client, shared);
    return hsc__error_of(hsc_status_out_of_memory());
  }
  if (buffer->size_bytes > 0)
    memcpy(own->data, shared->data, buffer->size_bytes);
  pthread_mutex_lock(&client->lock);
  hsc__block_release_locked(client, shared, &free_blocks);
  hsc__block_release_locked(client, buffer->block, &free_blocks);
  buffer->block = own;
  own->references++;
  pthread_mutex_unlock(&client->lock);
  hsc__blocks_finish(client, &free_blocks);
  *out_block = own;
  return NULL;
}

static PJRT_Error *create_alias(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args *args) {
  HSC_CHECK_ARGS(PJRT_RawBuffer_CreateRawAliasOfBuffer, raw_buffer);
  PJRT_Buffer *buffer = args->buffer;
  if (!buffer)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "CreateRawAliasOfBuffer: the buffer is NULL"));
  PJRT_RawBuffer *raw = hsc_alloc(sizeof *raw);
  if (!raw)
    return hsc__error_of(hsc_status_out_of_memory());
  PJRT_Error *error = take_own_block(buffer, &raw->block);
  if (error) {
    hsc_free(raw);
    return error;
  }
  hsc__client_retain(buffer->client);
  raw->client = buffer->client;
  raw->memory = buffer->device->memory;
  raw->ready = buffer->ready ? hsc__event_retain(buffer->ready) : NULL;
  raw->size_bytes = buffer->size_bytes;
  args->raw_buffer = raw;
  return NULL;
}

static PJRT_Error *destroy(PJRT_RawBuffer_Destroy_Args *args) {
  HSC_CHECK_ARGS(PJRT_RawBuffer_Destroy, buffer);
  PJRT_RawBuffer *raw = args->buffer;
  if (!raw)
    return NULL;
  hsc__block_release(raw->client, raw->block);
  hsc__event_release(raw->ready);
  hsc__client_release(raw->client);
  hsc_free(raw);
  return NULL;
}

// The rest begin alike: a struct that is long enough, with a buffer in it.
#define CHECK_RAW(function, last) \
  HSC_CHECK_ARGS(function, last); \
  if (!args->buffer) \
  return hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "%s: args->buffer is NULL", #function))

static PJRT_Error *host_pointer(PJRT_RawBuffer_GetHostPointer_Args *args) {
  CHECK_RAW(PJRT_RawBuffer_GetHostPointer, host_pointer);
  args->host_pointer = args->buffer->block->data;
  return NULL;
}

static PJRT_Error *size_of(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args *args) {
  CHECK_RAW(PJRT_RawBuffer_GetOnDeviceSizeInBytes, on_device_size_in_bytes);
  args->on_device_size_in_bytes = args->buffer->size_bytes;
  return NULL;
}

static PJRT_Error *memory_of(PJRT_RawBuffer_GetMemorySpace_Args *args) {
  CHECK_RAW(PJRT_RawBuffer_GetMemorySpace, memory_space);
  args->memory_space = args->buffer->memory;
  return NULL;
}

static hsc_status *check_range(const PJRT_RawBuffer *raw, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && (uint64_t)offset <= raw->size_bytes &&
      (uint64_t)bytes <= raw->size_bytes - (uint64_t)offset)
    return NULL;
  return HSC_ERR(OUT_OF_RANGE, "%lld bytes at offset %lld do not lie in a buffer of %zu",
                 (long long)bytes, (long long)offset, raw->size_bytes);
}

static PJRT_Error *to_host(PJRT_RawBuffer_CopyRawDeviceToHost_Args *args) {
  CHECK_RAW(PJRT_RawBuffer_CopyRawDeviceToHost, event);
  const PJRT_RawBuffer *raw = args->buffer;
  HSC_PJRT_TRY(check_range(raw, args->offset, args->transfer_size));
  PJRT_Error *error = raw->ready ? hsc__event_wait(raw->ready) : NULL;
  if (error)
    return error;
  if (args->transfer_size > 0)
    memcpy(args->dst, raw->block->data + args->offset, (size_t)args->transfer_size);
  args->event = hsc__event_ready();
  return NULL;
}

static PJRT_Error *to_device(PJRT_RawBuffer_CopyRawHostToDevice_Args *args) {
  CHECK_RAW(PJRT_RawBuffer_CopyRawHostToDevice, event);
  const PJRT_RawBuffer *raw = args->buffer;
  HSC_PJRT_TRY(check_range(raw, args->offset, args->transfer_size));
  if (args->transfer_size > 0)
    memcpy(raw->block->data + args->offset, args->src, (size_t)args->transfer_size);
  args->event = hsc__event_ready();
  return NULL;
}

PJRT_RawBuffer_Extension hsc__raw_buffer_extension = {
    .base = {.struct_size = PJRT_RawBuffer_Extension_STRUCT_SIZE,
             .type = PJRT_Extension_Type_RawBuffer},
    .PJRT_RawBuffer_CreateRawAliasOfBuffer = create_alias,
    .PJRT_RawBuffer_Destroy = destroy,
    .PJRT_RawBuffer_GetOnDeviceSizeInBytes = size_of,
    .PJRT_RawBuffer_GetMemorySpace = memory_of,
    .PJRT_RawBuffer_CopyRawHostToDevice = to_device,
    .PJRT_RawBuffer_CopyRawDeviceToHost = to_host,
    .PJRT_RawBuffer_GetHostPointer = host_pointer,
};
