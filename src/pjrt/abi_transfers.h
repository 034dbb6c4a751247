// abi_transfers.h - the extension of the PJRT C API by which arrays go to devices of other
// processes (type 12).
//
// Source: xla/pjrt/extensions/cross_host_transfers/pjrt_c_api_cross_host_transfers_extension.h,
// versions 5 to 8. abi.h has the rules.
#pragma once

#include "pjrt/abi.h"

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
