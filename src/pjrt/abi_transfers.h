// abi_transfers.h - two extensions of the PJRT C API about the bytes of buffers: arrays that go to
// devices of other processes (type 12), and memory that a host reads and fills itself (type 8).
//
// Source: xla/pjrt/extensions/cross_host_transfers/pjrt_c_api_cross_host_transfers_extension.h,
// version 5 to 8, and xla/pjrt/c/pjrt_c_api_raw_buffer_extension.h, version 3. abi.h has the rules.
#pragma once

#include "pjrt/abi.h"

// ---- arrays to other processes (type 12) --------------------------------------------------------
// JAX asks for it in jax.device_put from devices of one process to those of another: the process
// that has the array sends, the one that has the device receives, and both name the transfer by
// the same key.

typedef int32_t PJRT_Transfers_GlobalDeviceId;  // as PJRT_DeviceDescription_Id
typedef int64_t PJRT_Transfers_Key;

typedef struct PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  size_t num_buffers;  // of the next four
  PJRT_Buffer **buffers;
  const PJRT_Transfers_GlobalDeviceId *dst_global_device_ids;
  const PJRT_Transfers_Key *transfer_keys;
  PJRT_Event **send_events;  // out; the array is the caller's, as are the events
} PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args;
HSC_PJRT_SIZED(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, send_events);

typedef struct PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  size_t num_shapes;  // of all that follow
  size_t *shape_num_dims;
  const int64_t **num_dims;  // the extents, whatever its name says
  PJRT_Buffer_Type *element_types;
  PJRT_Buffer_MemoryLayout **layouts;  // NULL, or NULL for one: row-major
  PJRT_Device *device;                 // that receives
  const PJRT_Transfers_GlobalDeviceId *src_global_device_ids;
  const PJRT_Transfers_Key *transfer_keys;
  PJRT_Buffer **buffers;  // out; the array is the caller's
} PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args;
HSC_PJRT_SIZED(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args, buffers);

// The older way: the receiver describes its memory, the host carries the description to the sender.
// JAX goes it only where the functions above are UNIMPLEMENTED.
typedef void (*PJRT_Transfers_CrossHostRecvNotifier)(PJRT_Error *error,
                                                     const char **serialized_descriptors,
                                                     size_t *descriptors_sizes,
                                                     size_t num_descriptors,
                                                     void *user_arg,
                                                     void (*cancel_notifier)(void),
                                                     void *cancel_notifier_user_arg);

typedef struct PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  size_t num_shapes;
  size_t *shape_num_dims;
  const int64_t **num_dims;
  PJRT_Buffer_Type *element_types;
  PJRT_Buffer_MemoryLayout **layouts;
  PJRT_Device *device;
  struct {
    void *user_arg;
    PJRT_Transfers_CrossHostRecvNotifier notifier;
  } notifier;
  PJRT_Buffer **buffers;  // out
  size_t num_buffers;     // out
} PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args;

typedef struct PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Event *event;  // the callee's; the descriptor is there when it is ready
  char **serialized_descriptor;
  size_t *serialized_descriptor_size;
  struct {
    void *user_arg;
    void (*on_done)(PJRT_Error *error, bool sends_were_enqueued, void *user_arg);
  } on_done;
  // since version 6: called when the descriptor is not needed any more
  void (*descriptor_destructor)(char **descriptor, size_t *descriptor_size);
} PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args;

typedef struct PJRT_CrossHostTransfers_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers)(
      PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args *args);
  void (*PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice)(
      PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice_Args *args);
  PJRT_Error *(*PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers)(
      PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args *args);
  PJRT_Error *(*PJRT_Transfers_PJRT_Client_CrossHostSendBuffers)(
      PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args *args);
} PJRT_CrossHostTransfers_Extension;
HSC_PJRT_SIZED(PJRT_CrossHostTransfers_Extension, PJRT_Transfers_PJRT_Client_CrossHostSendBuffers);
_Static_assert(PJRT_CrossHostTransfers_Extension_STRUCT_SIZE == 56,
               "as the plugin for CUDA has it");

// ---- raw memory of buffers (type 8) -------------------------------------------------------------
// jax.experimental.transfer fills and reads parts of arrays through it.

typedef struct PJRT_RawBuffer PJRT_RawBuffer;

typedef struct PJRT_RawBuffer_CreateRawAliasOfBuffer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_RawBuffer *raw_buffer;  // out, the caller's
} PJRT_RawBuffer_CreateRawAliasOfBuffer_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_CreateRawAliasOfBuffer_Args, raw_buffer);

typedef struct PJRT_RawBuffer_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
} PJRT_RawBuffer_Destroy_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_Destroy_Args, buffer);

typedef struct PJRT_RawBuffer_GetHostPointer_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
  void *host_pointer;  // out; NULL where the host does not see the memory
} PJRT_RawBuffer_GetHostPointer_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_GetHostPointer_Args, host_pointer);

typedef struct PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
  size_t on_device_size_in_bytes;  // out
} PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args, on_device_size_in_bytes);

typedef struct PJRT_RawBuffer_GetMemorySpace_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
  PJRT_Memory *memory_space;  // out
} PJRT_RawBuffer_GetMemorySpace_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_GetMemorySpace_Args, memory_space);

typedef struct PJRT_RawBuffer_CopyRawDeviceToHost_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
  void *dst;
  int64_t offset, transfer_size;  // bytes
  PJRT_Event *event;              // out
} PJRT_RawBuffer_CopyRawDeviceToHost_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_CopyRawDeviceToHost_Args, event);

typedef struct PJRT_RawBuffer_CopyRawHostToDevice_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_RawBuffer *buffer;
  const void *src;
  int64_t offset, transfer_size;  // bytes
  PJRT_Event *event;              // out
} PJRT_RawBuffer_CopyRawHostToDevice_Args;
HSC_PJRT_SIZED(PJRT_RawBuffer_CopyRawHostToDevice_Args, event);

typedef struct PJRT_RawBuffer_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_RawBuffer_CreateRawAliasOfBuffer)(
      PJRT_RawBuffer_CreateRawAliasOfBuffer_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_Destroy)(PJRT_RawBuffer_Destroy_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_GetOnDeviceSizeInBytes)(
      PJRT_RawBuffer_GetOnDeviceSizeInBytes_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_GetMemorySpace)(PJRT_RawBuffer_GetMemorySpace_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_CopyRawHostToDevice)(PJRT_RawBuffer_CopyRawHostToDevice_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_CopyRawDeviceToHost)(PJRT_RawBuffer_CopyRawDeviceToHost_Args *args);
  PJRT_Error *(*PJRT_RawBuffer_GetHostPointer)(PJRT_RawBuffer_GetHostPointer_Args *args);
} PJRT_RawBuffer_Extension;
HSC_PJRT_SIZED(PJRT_RawBuffer_Extension, PJRT_RawBuffer_GetHostPointer);
_Static_assert(PJRT_RawBuffer_Extension_STRUCT_SIZE == 80, "as libtpu 0.0.51 has it");
