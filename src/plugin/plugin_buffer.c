// plugin_buffer.c - arrays: objects over counted blocks. Copies that nobody writes share a block; a
// donated or deleted array has none.
//
// How to read: the object and its block come first (create, pin, delete, share); entries of the C
// API follow in three sections: facts, pointers, copies. How bytes get in and out is
// plugin_transfer.c.
#include "plugin/plugin_internal.h"

// ---- types --------------------------------------------------------------------------------------

static const unsigned char pjrt_of_type[HSC_TYPE_COUNT] = {
#define SAME(id) [HSC_TYPE_##id] = PJRT_Buffer_Type_##id
    SAME(PRED),
    SAME(S1),
    SAME(S2),
    SAME(S4),
    SAME(S8),
    SAME(S16),
    SAME(S32),
    SAME(S64),
    SAME(U1),
    SAME(U2),
    SAME(U4),
    SAME(U8),
    SAME(U16),
    SAME(U32),
    SAME(U64),
    SAME(F4E2M1FN),
    SAME(F8E3M4),
    SAME(F8E4M3),
    SAME(F8E4M3B11FNUZ),
    SAME(F8E4M3FN),
    SAME(F8E4M3FNUZ),
    SAME(F8E5M2),
    SAME(F8E5M2FNUZ),
    SAME(F8E8M0FNU),
    SAME(F16),
    SAME(BF16),
    SAME(F32),
    SAME(F64),
    SAME(C64),
    SAME(C128),
    SAME(TOKEN),
#undef SAME
};

PJRT_Buffer_Type hsc__type_to_pjrt(hsc_type type) {
  return (PJRT_Buffer_Type)pjrt_of_type[type];
}

hsc_type hsc__type_of_pjrt(PJRT_Buffer_Type type) {
  for (int t = 1; t < HSC_TYPE_COUNT; t++)
    if (pjrt_of_type[t] == (unsigned)type && pjrt_of_type[t] != PJRT_Buffer_Type_INVALID)
      return (hsc_type)t;
  return HSC_TYPE_INVALID;
}

const int64_t *hsc__row_major(int rank) {
  static const int64_t descending[HSC_MAX_RANK] = {31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21,
                                                   20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10,
                                                   9,  8,  7,  6,  5,  4,  3,  2,  1,  0};
  return descending + HSC_MAX_RANK - rank;
}

hsc_status *hsc__array_bytes(PJRT_Buffer_Type pjrt_type,
                             const int64_t *dims,
                             size_t rank,
                             size_t *out_bytes) {
  hsc_type type = hsc__type_of_pjrt(pjrt_type);
  if (type == HSC_TYPE_INVALID)
    return HSC_ERR(INVALID_ARGUMENT, "element type %d is not one of PJRT's", (int)pjrt_type);
  if (rank > HSC_MAX_RANK)
    return HSC_ERR(INVALID_ARGUMENT, "rank %zu; at most %d is possible", rank, HSC_MAX_RANK);
  size_t bytes = hsc_type_bytes(type);
  for (size_t i = 0; i < rank; i++) {
    if (dims[i] < 0)
      return HSC_ERR(INVALID_ARGUMENT, "dimension %zu is %lld", i, (long long)dims[i]);
    if (!hsc_mul_size(bytes, (size_t)dims[i], &bytes))
      return HSC_ERR(RESOURCE_EXHAUSTED, "the array has more bytes than there are addresses");
  }
  *out_bytes = bytes;
  return NULL;
}

// Integers of a few bits come one in a byte, whose other bits hosts leave as they like; ours are
// extended to the byte.
void hsc__extend_narrow(hsc_type type, unsigned char *data, size_t count) {
  unsigned unused = 8u - (unsigned)hsc_type_bits(type);
  bool is_signed = hsc_type_class_of(type) == HSC_CLASS_SIGNED;
  for (size_t i = 0; i < count; i++) {
    unsigned char bits = (unsigned char)(data[i] << unused);
    data[i] = is_signed ? (unsigned char)((int8_t)bits >> unused) : (unsigned char)(bits >> unused);
  }
}

// How many bits of a byte of this type's storage say something.
static unsigned bits_in_byte(hsc_type type) {
  return hsc_type_bytes(type) == 1 ? (unsigned)hsc_type_bits(type) : 8;
}

// The same bits in a row, lowest first, where one of the types has less than a byte for each value.
static void repack(hsc_type from_type,
                   const unsigned char *from,
                   size_t from_count,
                   hsc_type to_type,
                   unsigned char *to,
                   size_t to_count) {
  unsigned in = bits_in_byte(from_type);
  unsigned out = bits_in_byte(to_type);
  unsigned held = 0;
  unsigned bits = 0;
  for (size_t i = 0, done = 0; i < from_count; i++) {
    bits |= (from[i] & ((1u << in) - 1)) << held;
    for (held += in; held >= out && done < to_count; held -= out, bits >>= out)
      to[done++] = (unsigned char)(bits & ((1u << out) - 1));
  }
  if (out < 8)
    hsc__extend_narrow(to_type, to, to_count);
}

// ---- objects ------------------------------------------------------------------------------------

PJRT_Buffer *hsc__buffer_pop_locked(PJRT_Client *client) {
  PJRT_Buffer *buffer = client->free_buffers;
  if (buffer)
    client->free_buffers = buffer->next;
  return buffer;
}

PJRT_Buffer *hsc__buffer_new(PJRT_Client *client) {
  pthread_mutex_lock(&client->lock);
  PJRT_Buffer *buffer = hsc__buffer_pop_locked(client);
  pthread_mutex_unlock(&client->lock);
  if (!buffer) {
    buffer = hsc_alloc(sizeof *buffer);
    if (!buffer)
      return NULL;
    buffer->dims = buffer->inline_dims;
    buffer->client = client;
  }
  hsc__client_retain(client);
  return buffer;
}

bool hsc__buffer_set_shape(
    PJRT_Buffer *buffer, hsc_type type, int rank, const int64_t *dims, size_t size_bytes) {
  int64_t *room = buffer->inline_dims;
  if (rank > HSC_BUFFER_INLINE_RANK) {
    room = hsc_alloc((size_t)rank * sizeof *room);
    if (!room)
      return false;
  }
  if (rank > 0)
    memcpy(room, dims, (size_t)rank * sizeof *room);
  buffer->type = type;
  buffer->rank = rank;
  buffer->dims = room;
  buffer->layout = NULL;
  buffer->size_bytes = size_bytes;
  return true;
}

void hsc__buffer_free(PJRT_Buffer *buffer) {
  PJRT_Client *client = buffer->client;
  hsc__free_blocks free_blocks = {0};
  if (buffer->dims != buffer->inline_dims)
    hsc_free((void *)buffer->dims);
  PJRT_Event *ready = buffer->ready;
  buffer->dims = buffer->inline_dims;
  buffer->rank = 0;
  buffer->ready = NULL;
  pthread_mutex_lock(&client->lock);
  hsc__block_release_locked(client, buffer->block, &free_blocks);
  hsc__block_release_locked(client, buffer->external_block, &free_blocks);
  buffer->block = buffer->external_block = NULL;
  buffer->external_count = 0;
  buffer->next = client->free_buffers;
  client->free_buffers = buffer;
  pthread_mutex_unlock(&client->lock);
  if (free_blocks.first)
    hsc__blocks_finish(client, &free_blocks);
  hsc__event_release(ready);
  hsc__client_release(client);
}

hsc_status *hsc__buffer_create(PJRT_Client *client,
                               PJRT_Device *device,
                               PJRT_Buffer_Type type,
                               const int64_t *dims,
                               size_t rank,
                               PJRT_Buffer **out_buffer) {
  size_t bytes = 0;
  HSC_TRY(hsc__array_bytes(type, dims, rank, &bytes));
  PJRT_Buffer *buffer = hsc__buffer_new(client);
  if (!buffer)
    return hsc_status_out_of_memory();
  buffer->device = device;
  buffer->block = hsc__block_take(client, bytes);
  if (!buffer->block ||
      !hsc__buffer_set_shape(buffer, hsc__type_of_pjrt(type), (int)rank, dims, bytes)) {
    hsc__buffer_free(buffer);
    return HSC_ERR(RESOURCE_EXHAUSTED, "no memory for an array of %zu bytes", bytes);
  }
  *out_buffer = buffer;
  return NULL;
}

PJRT_Error *hsc__buffer_pin(PJRT_Buffer *buffer, hsc__block **out_block) {
  if (buffer->ready) {
    PJRT_Error *error = hsc__event_wait(buffer->ready);
    if (error)
      return error;
  }
  pthread_mutex_lock(&buffer->client->lock);
  hsc__block *block = buffer->block;
  if (block)
    block->references++;
  pthread_mutex_unlock(&buffer->client->lock);
  *out_block = block;
  return block ? NULL
               : hsc__error_of(HSC_ERR(INVALID_ARGUMENT, "the buffer has been deleted or donated"));
}

void hsc__buffer_delete(PJRT_Buffer *buffer) {
  hsc__free_blocks free_blocks = {0};
  pthread_mutex_lock(&buffer->client->lock);
  hsc__block_release_locked(buffer->client, buffer->block, &free_blocks);
  buffer->block = NULL;
  pthread_mutex_unlock(&buffer->client->lock);
  if (free_blocks.first)
    hsc__blocks_finish(buffer->client, &free_blocks);
}

// Another buffer over the same block: nobody writes a block that has two references.
static hsc_status *share(PJRT_Buffer *from,
                         PJRT_Device *device,
                         hsc_type type,
                         int rank,
                         const int64_t *dims,
                         const PJRT_Layouts_MemoryLayout *layout,
                         PJRT_Buffer **out_buffer) {
  PJRT_Buffer *to = hsc__buffer_new(from->client);
  if (!to)
    return hsc_status_out_of_memory();
  to->device = device;
  if (!hsc__buffer_set_shape(to, type, rank, dims, from->size_bytes)) {
    hsc__buffer_free(to);
    return hsc_status_out_of_memory();
  }
  to->layout = layout;
  pthread_mutex_lock(&from->client->lock);
  to->block = from->block;
  if (to->block)
    to->block->references++;
  to->ready = from->ready ? hsc__event_retain(from->ready) : NULL;
  pthread_mutex_unlock(&from->client->lock);
  if (!to->block && !to->ready) {
    hsc__buffer_free(to);
    return HSC_ERR(INVALID_ARGUMENT, "the buffer has been deleted or donated");
  }
  *out_buffer = to;
  return NULL;
}

hsc_status *hsc__place(PJRT_Client *client,
                       PJRT_Device *device,
                       PJRT_Memory *memory,
                       PJRT_Device **out_device) {
  if (memory) {
    hsc__memory *m = (hsc__memory *)memory;
    if (m->client != client)
      return HSC_ERR(INVALID_ARGUMENT, "the memory belongs to another client");
    device = m->device;
  }
  if (!device)
    device = client->device_list[client->first_device];
  if (device->client != client)
    return HSC_ERR(INVALID_ARGUMENT, "the device belongs to another client");
  if (!hsc__device_is_own(device))
    return HSC_ERR(INVALID_ARGUMENT, "device %d belongs to process %d, this is process %d",
                   device->index, device->description->process, client->process);
  *out_device = device;
  return NULL;
}

// ---- entries: facts -----------------------------------------------------------------------------

HSC_ENTRY(PJRT_Buffer_Destroy) {
  HSC_CHECK_ARGS(PJRT_Buffer_Destroy, buffer);
  if (args->buffer)
    hsc__buffer_free(args->buffer);
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_ElementType) {
  HSC_CHECK_ARGS(PJRT_Buffer_ElementType, type);
  args->type = hsc__type_to_pjrt(args->buffer->type);
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_Dimensions) {
  HSC_CHECK_ARGS(PJRT_Buffer_Dimensions, num_dims);
  args->dims = args->buffer->dims;
  args->num_dims = (size_t)args->buffer->rank;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_UnpaddedDimensions) {
  HSC_CHECK_ARGS(PJRT_Buffer_UnpaddedDimensions, num_dims);
  args->unpadded_dims = args->buffer->dims;
  args->num_dims = (size_t)args->buffer->rank;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_DynamicDimensionIndices) {
  HSC_CHECK_ARGS(PJRT_Buffer_DynamicDimensionIndices, num_dynamic_dims);
  args->dynamic_dim_indices = NULL;
  args->num_dynamic_dims = 0;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_GetMemoryLayout) {
  HSC_CHECK_ARGS(PJRT_Buffer_GetMemoryLayout, layout);
  args->layout = (PJRT_Buffer_MemoryLayout){
      .struct_size = PJRT_Buffer_MemoryLayout_STRUCT_SIZE,
      .type = PJRT_Buffer_MemoryLayout_Type_Tiled,
      .tiled = {.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE,
                .minor_to_major = args->buffer->layout ? args->buffer->layout->minor_to_major
                                                       : hsc__row_major(args->buffer->rank),
                .minor_to_major_size = (size_t)args->buffer->rank},
  };
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_OnDeviceSizeInBytes) {
  HSC_CHECK_ARGS(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes);
  args->on_device_size_in_bytes = args->buffer->size_bytes;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_Device) {
  HSC_CHECK_ARGS(PJRT_Buffer_Device, device);
  args->device = args->buffer->device;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_Memory) {
  HSC_CHECK_ARGS(PJRT_Buffer_Memory, memory);
  args->memory = args->buffer->device->memory;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_IsOnCpu) {
  HSC_CHECK_ARGS(PJRT_Buffer_IsOnCpu, is_on_cpu);
  args->is_on_cpu = true;
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_ReadyEvent) {
  HSC_CHECK_ARGS(PJRT_Buffer_ReadyEvent, event);
  args->event = hsc__event_retain(args->buffer->ready ? args->buffer->ready : hsc__event_ready());
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_Delete) {
  HSC_CHECK_ARGS(PJRT_Buffer_Delete, buffer);
  hsc__buffer_delete(args->buffer);
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_IsDeleted) {
  HSC_CHECK_ARGS(PJRT_Buffer_IsDeleted, is_deleted);
  pthread_mutex_lock(&args->buffer->client->lock);
  args->is_deleted = args->buffer->block == NULL;
  pthread_mutex_unlock(&args->buffer->client->lock);
  return NULL;
}

// ---- entries: pointers --------------------------------------------------------------------------

static PJRT_Error *pointer_of(PJRT_Buffer *buffer, void **out_pointer) {
  hsc__block *block = NULL;
  PJRT_Error *error = hsc__buffer_pin(buffer, &block);
  if (error)
    return error;
  *out_pointer = block->data;
  // the buffer itself, or an external reference, keeps it
  hsc__block_release(buffer->client, block);
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_UnsafePointer) {
  HSC_CHECK_ARGS(PJRT_Buffer_UnsafePointer, buffer_pointer);
  void *pointer = NULL;
  PJRT_Error *error = pointer_of(args->buffer, &pointer);
  args->buffer_pointer = (uintptr_t)pointer;
  return error;
}

HSC_ENTRY(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) {
  HSC_CHECK_ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr);
  return pointer_of(args->buffer, &args->device_memory_ptr);
}

HSC_ENTRY(PJRT_Buffer_IncreaseExternalReferenceCount) {
  HSC_CHECK_ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, buffer);
  PJRT_Buffer *buffer = args->buffer;
  hsc__block *block = NULL;
  PJRT_Error *error = hsc__buffer_pin(buffer, &block);
  if (error)
    return error;
  pthread_mutex_lock(&buffer->client->lock);
  bool first = buffer->external_count++ == 0;
  if (first)
    buffer->external_block = block;
  pthread_mutex_unlock(&buffer->client->lock);
  if (!first)
    hsc__block_release(buffer->client, block);  // the first one holds it for all
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_DecreaseExternalReferenceCount) {
  HSC_CHECK_ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, buffer);
  PJRT_Buffer *buffer = args->buffer;
  hsc__block *block = NULL;
  pthread_mutex_lock(&buffer->client->lock);
  bool held = buffer->external_count > 0;
  if (held && --buffer->external_count == 0) {
    block = buffer->external_block;
    buffer->external_block = NULL;
  }
  pthread_mutex_unlock(&buffer->client->lock);
  if (!held)
    return hsc__error_of(HSC_ERR(
        FAILED_PRECONDITION, "PJRT_Buffer_DecreaseExternalReferenceCount: the count is 0 already"));
  if (block)
    hsc__block_release(buffer->client, block);
  return NULL;
}

// ---- entries: copies ----------------------------------------------------------------------------

HSC_ENTRY(PJRT_Buffer_CopyToDevice) {
  HSC_CHECK_ARGS(PJRT_Buffer_CopyToDevice, dst_buffer);
  PJRT_Buffer *from = args->buffer;
  PJRT_Device *device = NULL;
  HSC_PJRT_TRY(hsc__place(from->client, args->dst_device, NULL, &device));
  HSC_PJRT_TRY(
      share(from, device, from->type, from->rank, from->dims, from->layout, &args->dst_buffer));
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_CopyToMemory) {
  HSC_CHECK_ARGS(PJRT_Buffer_CopyToMemory, dst_buffer);
  PJRT_Buffer *from = args->buffer;
  PJRT_Device *device = NULL;
  HSC_PJRT_TRY(hsc__place(from->client, NULL, args->dst_memory, &device));
  HSC_PJRT_TRY(
      share(from, device, from->type, from->rank, from->dims, from->layout, &args->dst_buffer));
  return NULL;
}

HSC_ENTRY(PJRT_Buffer_Bitcast) {
  HSC_CHECK_ARGS(PJRT_Buffer_Bitcast, out_buffer);
  PJRT_Buffer *from = args->buffer;
  size_t bytes = 0;
  const PJRT_Layouts_MemoryLayout *layout;
  HSC_PJRT_TRY(hsc__array_bytes(args->element_type, args->dims, args->num_dims, &bytes));
  hsc_type type = hsc__type_of_pjrt(args->element_type);
  HSC_PJRT_TRY(hsc__device_layout(args->device_layout, args->dims, args->num_dims,
                                  hsc_type_bytes(type), &layout));
  unsigned from_bits = bits_in_byte(from->type);
  unsigned to_bits = bits_in_byte(type);
  if (from->size_bytes * from_bits != bytes * to_bits)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT,
                                 "PJRT_Buffer_Bitcast: %zu bits cannot be seen as an array of %zu",
                                 from->size_bytes * from_bits, bytes * to_bits));
  if (from_bits == to_bits) {
    HSC_PJRT_TRY(share(from, from->device, type, (int)args->num_dims, args->dims, layout,
                       &args->out_buffer));
    return NULL;
  }
  hsc__block *block = NULL;
  PJRT_Error *error = hsc__buffer_pin(from, &block);
  if (error)
    return error;
  hsc_status *status = hsc__buffer_create(from->client, from->device, args->element_type,
                                          args->dims, args->num_dims, &args->out_buffer);
  if (!status)
    repack(from->type, block->data, from->size_bytes, type, args->out_buffer->block->data, bytes);
  if (!status)
    args->out_buffer->layout = layout;
  hsc__block_release(from->client, block);
  return hsc__error_of(status);
}

HSC_ENTRY(PJRT_Client_CreateUninitializedBuffer) {
  HSC_CHECK_ARGS(PJRT_Client_CreateUninitializedBuffer, buffer);
  PJRT_Device *device = NULL;
  const PJRT_Layouts_MemoryLayout *layout;
  HSC_PJRT_TRY(hsc__device_layout(args->shape_layout, args->shape_dims, args->shape_num_dims,
                                  hsc_type_bytes(hsc__type_of_pjrt(args->shape_element_type)),
                                  &layout));
  HSC_PJRT_TRY(hsc__place(args->client, args->device, args->memory, &device));
  HSC_PJRT_TRY(hsc__buffer_create(args->client, device, args->shape_element_type, args->shape_dims,
                                  args->shape_num_dims, &args->buffer));
  args->buffer->layout = layout;
  return NULL;
}
