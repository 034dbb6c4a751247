// abi_args.h - the argument structs of all PJRT functions, one row each; included by abi.h only, where ARGS is explained.
//
//   ARGS(function, last field, fields after struct_size and extension_start)      VOID_ARGS: a function without a result
//   OUT: written by the plugin. INOUT: read and written. Everything else is read only, and borrowed for the call.
#define OUT
#define INOUT
// clang-format off

// ---- errors. A function returns NULL or a PJRT_Error that the caller frees. Since about 0.105 an error leads with a table of functions; hosts
// ---- may call either that or these.
VOID_ARGS(PJRT_Error_Destroy, error, PJRT_Error *error;)
VOID_ARGS(PJRT_Error_Message, message_size, const PJRT_Error *error; OUT const char *message; OUT size_t message_size;)
ARGS(PJRT_Error_GetCode, code, const PJRT_Error *error; OUT PJRT_Error_Code code;)
ARGS(PJRT_Error_ForEachPayload, user_arg, const PJRT_Error *error; PJRT_Error_PayloadVisitor visitor; void *user_arg;)

// ---- plugin. Attributes live as long as the process.
ARGS(PJRT_Plugin_Initialize, extension_start,)
ARGS(PJRT_Plugin_Attributes, num_attributes, OUT const PJRT_NamedValue *attributes; OUT size_t num_attributes;)

// ---- events. Every event handed out is destroyed by the one who got it. The callback of OnReady owns its error (NULL = fine) and may run on any
// ---- thread, also inside the call itself.
ARGS(PJRT_Event_Destroy, event, PJRT_Event *event;)
ARGS(PJRT_Event_IsReady, is_ready, PJRT_Event *event; OUT bool is_ready;)
ARGS(PJRT_Event_Error, event, PJRT_Event *event;)
ARGS(PJRT_Event_Await, event, PJRT_Event *event;)
ARGS(PJRT_Event_OnReady, user_arg, PJRT_Event *event; PJRT_Event_OnReadyCallback callback; void *user_arg;)
ARGS(PJRT_Event_Create, event, OUT PJRT_Event *event;)
ARGS(PJRT_Event_Set, error_message_size,
    PJRT_Event *event; PJRT_Error_Code error_code; const char *error_message; size_t error_message_size;)

// ---- client. Arrays and texts in OUT fields belong to the client. kv_try_get fields came with 0.61.
// ---- Compile: code and options are borrowed. BufferFromHostBuffer: byte_strides NULL = dense row-major; `memory` wins over `device`;
// ---- done_with_host_buffer is an event for the host memory's reuse. CreateErrorBuffer payload fields came with 0.103.
ARGS(PJRT_Client_Create, kv_try_get_user_arg,
    const PJRT_NamedValue *create_options; size_t num_options; PJRT_KeyValueGetCallback kv_get_callback; void *kv_get_user_arg;
    PJRT_KeyValuePutCallback kv_put_callback; void *kv_put_user_arg; OUT PJRT_Client *client;
    PJRT_KeyValueTryGetCallback kv_try_get_callback; void *kv_try_get_user_arg;)
ARGS(PJRT_Client_Destroy, client, PJRT_Client *client;)
ARGS(PJRT_Client_PlatformName, platform_name_size,
    PJRT_Client *client; OUT const char *platform_name; OUT size_t platform_name_size;)
ARGS(PJRT_Client_ProcessIndex, process_index, PJRT_Client *client; OUT int process_index;)
ARGS(PJRT_Client_PlatformVersion, platform_version_size,
    PJRT_Client *client; OUT const char *platform_version; OUT size_t platform_version_size;)
ARGS(PJRT_Client_Devices, num_devices, PJRT_Client *client; OUT PJRT_Device *const *devices; OUT size_t num_devices;)
ARGS(PJRT_Client_AddressableDevices, num_addressable_devices,
    PJRT_Client *client; OUT PJRT_Device *const *addressable_devices; OUT size_t num_addressable_devices;)
ARGS(PJRT_Client_LookupDevice, device, PJRT_Client *client; int id; OUT PJRT_Device *device;)
ARGS(PJRT_Client_LookupAddressableDevice, addressable_device,
    PJRT_Client *client; int local_hardware_id; OUT PJRT_Device *addressable_device;)
ARGS(PJRT_Client_AddressableMemories, num_addressable_memories,
    PJRT_Client *client; OUT PJRT_Memory *const *addressable_memories; OUT size_t num_addressable_memories;)
ARGS(PJRT_Client_Compile, executable,
    PJRT_Client *client; const PJRT_Program *program; const char *compile_options; size_t compile_options_size;
    OUT PJRT_LoadedExecutable *executable;)
ARGS(PJRT_Client_DefaultDeviceAssignment, default_assignment,
    PJRT_Client *client; int num_replicas; int num_partitions; size_t default_assignment_size; OUT int *default_assignment;)
ARGS(PJRT_Client_BufferFromHostBuffer, buffer,
    PJRT_Client *client; const void *data; PJRT_Buffer_Type type; const int64_t *dims; size_t num_dims;
    const int64_t *byte_strides; size_t num_byte_strides; PJRT_HostBufferSemantics host_buffer_semantics; PJRT_Device *device;
    PJRT_Memory *memory; PJRT_Buffer_MemoryLayout *device_layout; OUT PJRT_Event *done_with_host_buffer;
    OUT PJRT_Buffer *buffer;)
ARGS(PJRT_Client_CreateViewOfDeviceBuffer, memory,
    PJRT_Client *client; void *device_buffer_ptr; const int64_t *dims; size_t num_dims; PJRT_Buffer_Type element_type;
    PJRT_Buffer_MemoryLayout *layout; PJRT_Device *device; void (*on_delete_callback)(void *device_buffer_ptr, void *user_arg);
    void *on_delete_callback_arg; intptr_t stream; OUT PJRT_Buffer *buffer; PJRT_Memory *memory;)
ARGS(PJRT_Client_TopologyDescription, topology, PJRT_Client *client; OUT PJRT_TopologyDescription *topology;)
ARGS(PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer_manager,
    PJRT_Client *client; PJRT_ShapeSpec *shape_specs; size_t num_shape_specs; PJRT_Buffer_MemoryLayout **device_layouts;
    size_t num_device_layouts; PJRT_Memory *memory; OUT PJRT_AsyncHostToDeviceTransferManager *transfer_manager;)
ARGS(PJRT_Client_DmaMap, size, PJRT_Client *client; void *data; size_t size;)
ARGS(PJRT_Client_DmaUnmap, data, PJRT_Client *client; void *data;)
ARGS(PJRT_Client_CreateUninitializedBuffer, buffer,
    PJRT_Client *client; const int64_t *shape_dims; size_t shape_num_dims; PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout; PJRT_Device *device; PJRT_Memory *memory; OUT PJRT_Buffer *buffer;)
ARGS(PJRT_Client_UpdateGlobalProcessInfo, num_process_infos,
    PJRT_Client *client; PJRT_ProcessInfo *process_infos; size_t num_process_infos;)
ARGS(PJRT_Client_CreateAliasBuffer, fulfill_alias_buffer_cb,
    PJRT_Client *client; PJRT_Memory *memory; const int64_t *shape_dims; size_t shape_num_dims;
    PJRT_Buffer_Type shape_element_type; PJRT_Buffer_MemoryLayout *shape_layout; OUT PJRT_Buffer *alias_buffer;
    OUT PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;)
ARGS(PJRT_Client_FulfillAliasBuffer, fulfill_alias_buffer_cb,
    PJRT_Client *client; PJRT_Buffer *buffer; PJRT_Error_Code status_code; const char *error_message;
    size_t error_message_size; PJRT_FulfillAliasBufferCallback *fulfill_alias_buffer_cb;)
ARGS(PJRT_Client_CreateErrorBuffer, num_payload,
    PJRT_Client *client; PJRT_Error_Code error_code; const char *error_message; size_t error_message_size;
    const int64_t *shape_dims; size_t shape_num_dims; PJRT_Buffer_Type shape_element_type;
    PJRT_Buffer_MemoryLayout *shape_layout; PJRT_Memory *memory; OUT PJRT_Buffer *buffer; const PJRT_NamedValue *payload;
    size_t num_payload;)
ARGS(PJRT_Client_Load, loaded_executable,
    PJRT_Client *client; PJRT_Executable *executable; const char *compile_options; size_t compile_options_size;
    OUT PJRT_LoadedExecutable *loaded_executable;)

// ---- device descriptions: of devices of a client, or of a topology without hardware. Texts live as long as their owner.
ARGS(PJRT_DeviceDescription_Id, id, PJRT_DeviceDescription *device_description; OUT int id;)
ARGS(PJRT_DeviceDescription_ProcessIndex, process_index, PJRT_DeviceDescription *device_description; OUT int process_index;)
ARGS(PJRT_DeviceDescription_Attributes, attributes,
    PJRT_DeviceDescription *device_description; OUT size_t num_attributes; OUT const PJRT_NamedValue *attributes;)
ARGS(PJRT_DeviceDescription_Kind, device_kind_size,
    PJRT_DeviceDescription *device_description; OUT const char *device_kind; OUT size_t device_kind_size;)
ARGS(PJRT_DeviceDescription_DebugString, debug_string_size,
    PJRT_DeviceDescription *device_description; OUT const char *debug_string; OUT size_t debug_string_size;)
ARGS(PJRT_DeviceDescription_ToString, to_string_size,
    PJRT_DeviceDescription *device_description; OUT const char *to_string; OUT size_t to_string_size;)

// ---- devices. MemoryStats: each value but bytes_in_use is valid only with its _is_set. PoisonExecution payload fields came with 0.100.
ARGS(PJRT_Device_GetDescription, device_description, PJRT_Device *device; OUT PJRT_DeviceDescription *device_description;)
ARGS(PJRT_Device_IsAddressable, is_addressable, PJRT_Device *device; OUT bool is_addressable;)
ARGS(PJRT_Device_LocalHardwareId, local_hardware_id, PJRT_Device *device; OUT int local_hardware_id;)
ARGS(PJRT_Device_AddressableMemories, num_memories, PJRT_Device *device; OUT PJRT_Memory *const *memories; OUT size_t num_memories;)
ARGS(PJRT_Device_DefaultMemory, memory, PJRT_Device *device; OUT PJRT_Memory *memory;)
ARGS(PJRT_Device_MemoryStats, peak_pool_bytes_is_set,
    PJRT_Device *device; OUT int64_t bytes_in_use; OUT int64_t peak_bytes_in_use; OUT bool peak_bytes_in_use_is_set;
    OUT int64_t num_allocs; OUT bool num_allocs_is_set; OUT int64_t largest_alloc_size; OUT bool largest_alloc_size_is_set;
    OUT int64_t bytes_limit; OUT bool bytes_limit_is_set; OUT int64_t bytes_reserved; OUT bool bytes_reserved_is_set;
    OUT int64_t peak_bytes_reserved; OUT bool peak_bytes_reserved_is_set; OUT int64_t bytes_reservable_limit;
    OUT bool bytes_reservable_limit_is_set; OUT int64_t largest_free_block_bytes; OUT bool largest_free_block_bytes_is_set;
    OUT int64_t pool_bytes; OUT bool pool_bytes_is_set; OUT int64_t peak_pool_bytes; OUT bool peak_pool_bytes_is_set;)
ARGS(PJRT_Device_PoisonExecution, num_payload,
    PJRT_Device *device; int32_t launch_id; PJRT_Error_Code error_code; const char *error_message; size_t error_message_size;
    OUT bool poisoned; const PJRT_NamedValue *payload; size_t num_payload;)
ARGS(PJRT_Device_CreateAsyncTrackingEvent, event,
    PJRT_Device *device; const char *description; size_t description_size; OUT PJRT_AsyncTrackingEvent *event;)
ARGS(PJRT_AsyncTrackingEvent_Destroy, event, PJRT_AsyncTrackingEvent *event;)
ARGS(PJRT_Device_GetAttributes, attributes_deleter,
    PJRT_Device *device; OUT const PJRT_NamedValue *attributes; OUT size_t num_attributes;
    OUT PJRT_Device_Attributes *device_attributes; OUT void (*attributes_deleter)(PJRT_Device_Attributes *device_attributes);)
ARGS(PJRT_Device_ClearMemoryStats, device, PJRT_Device *device;)

// ---- memories.
ARGS(PJRT_Memory_Id, id, PJRT_Memory *memory; OUT int id;)
ARGS(PJRT_Memory_Kind, kind_size, PJRT_Memory *memory; OUT const char *kind; OUT size_t kind_size;)
ARGS(PJRT_Memory_DebugString, debug_string_size, PJRT_Memory *memory; OUT const char *debug_string; OUT size_t debug_string_size;)
ARGS(PJRT_Memory_ToString, to_string_size, PJRT_Memory *memory; OUT const char *to_string; OUT size_t to_string_size;)
ARGS(PJRT_Memory_AddressableByDevices, num_devices, PJRT_Memory *memory; OUT PJRT_Device *const *devices; OUT size_t num_devices;)
ARGS(PJRT_Memory_Kind_Id, kind_id, PJRT_Memory *memory; OUT int kind_id;)

// ---- executables. OutputDimensions: extents of all outputs in one array, split by dim_sizes (one rank per output). OptimizedProgram: the caller
// ---- gives a PJRT_Program; with code NULL only code_size and format are filled. Serialized bytes live until the deleter is called on their holder.
// ---- GetCompiledMemoryStats: up to host_temp since 0.43, peak_memory since 0.72, total_size since 0.90, the last three since 0.104:
// ---- write only what the caller's struct_size covers.
// ---- DeserializeAndLoad: overridden options since 0.71, load_options later.
ARGS(PJRT_Executable_Destroy, executable, PJRT_Executable *executable;)
ARGS(PJRT_Executable_Name, executable_name_size,
    PJRT_Executable *executable; OUT const char *executable_name; OUT size_t executable_name_size;)
ARGS(PJRT_Executable_NumReplicas, num_replicas, PJRT_Executable *executable; OUT size_t num_replicas;)
ARGS(PJRT_Executable_NumPartitions, num_partitions, PJRT_Executable *executable; OUT size_t num_partitions;)
ARGS(PJRT_Executable_NumOutputs, num_outputs, PJRT_Executable *executable; OUT size_t num_outputs;)
ARGS(PJRT_Executable_SizeOfGeneratedCodeInBytes, size_in_bytes, PJRT_Executable *executable; OUT int64_t size_in_bytes;)
ARGS(PJRT_Executable_GetCostAnalysis, properties,
    PJRT_Executable *executable; OUT size_t num_properties; OUT const PJRT_NamedValue *properties;)
ARGS(PJRT_Executable_OutputMemoryKinds, memory_kind_sizes,
    PJRT_Executable *executable; OUT size_t num_outputs; OUT const char *const *memory_kinds; OUT const size_t *memory_kind_sizes;)
ARGS(PJRT_Executable_OptimizedProgram, program, PJRT_Executable *executable; OUT PJRT_Program *program;)
ARGS(PJRT_Executable_Serialize, serialized_executable_deleter,
    const PJRT_Executable *executable; OUT const char *serialized_bytes; OUT size_t serialized_bytes_size;
    OUT PJRT_SerializedExecutable *serialized_executable;
    OUT void (*serialized_executable_deleter)(PJRT_SerializedExecutable *exec);)
ARGS(PJRT_Executable_DeserializeAndLoad, load_options,
    PJRT_Client *client; const char *serialized_executable; size_t serialized_executable_size;
    OUT PJRT_LoadedExecutable *loaded_executable; const char *overridden_serialized_compile_options;
    size_t overridden_serialized_compile_options_size; PJRT_LoadOptions *load_options;)
ARGS(PJRT_Executable_OutputElementTypes, num_output_types,
    PJRT_Executable *executable; OUT PJRT_Buffer_Type *output_types; OUT size_t num_output_types;)
ARGS(PJRT_Executable_OutputDimensions, dim_sizes,
    PJRT_Executable *executable; OUT size_t num_outputs; OUT const int64_t *dims; OUT const size_t *dim_sizes;)
ARGS(PJRT_Executable_Fingerprint, executable_fingerprint_size,
    PJRT_Executable *executable; OUT const char *executable_fingerprint; OUT size_t executable_fingerprint_size;)
ARGS(PJRT_Executable_GetCompiledMemoryStats, peak_unpadded_heap_bytes,
    PJRT_Executable *executable; OUT int64_t generated_code_size_in_bytes; OUT int64_t argument_size_in_bytes;
    OUT int64_t output_size_in_bytes; OUT int64_t alias_size_in_bytes; OUT int64_t temp_size_in_bytes;
    OUT int64_t host_generated_code_size_in_bytes; OUT int64_t host_argument_size_in_bytes;
    OUT int64_t host_output_size_in_bytes; OUT int64_t host_alias_size_in_bytes; OUT int64_t host_temp_size_in_bytes;
    OUT int64_t peak_memory_in_bytes; OUT int64_t total_size_in_bytes; OUT int64_t total_allocation_bytes;
    OUT int64_t indefinite_allocations; OUT int64_t peak_unpadded_heap_bytes;)
ARGS(PJRT_Executable_GetCompileOptions, serialized_compile_options_deleter,
    PJRT_Executable *executable; OUT const char *serialized_bytes; OUT size_t serialized_bytes_size;
    OUT PJRT_SerializedCompileOptions *serialized_compile_options;
    OUT void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions *options);)
ARGS(PJRT_Executable_ParameterMemoryKinds, memory_kind_sizes,
    PJRT_Executable *executable; OUT size_t num_parameters; OUT const char *const *memory_kinds;
    OUT const size_t *memory_kind_sizes;)

// ---- loaded executables. Execute: argument_lists[device][argument]; output_lists[device] has room for NumOutputs buffers, which the caller then owns;
// ---- device_complete_events is NULL or one slot per device for events that the caller owns; execute_device NULL = the devices it was compiled for.
// ---- GetDeviceAssignment: a DeviceAssignmentProto.
ARGS(PJRT_LoadedExecutable_Destroy, executable, PJRT_LoadedExecutable *executable;)
ARGS(PJRT_LoadedExecutable_GetExecutable, executable, PJRT_LoadedExecutable *loaded_executable; OUT PJRT_Executable *executable;)
ARGS(PJRT_LoadedExecutable_AddressableDevices, num_addressable_devices,
    PJRT_LoadedExecutable *executable; OUT PJRT_Device *const *addressable_devices; OUT size_t num_addressable_devices;)
ARGS(PJRT_LoadedExecutable_Delete, executable, PJRT_LoadedExecutable *executable;)
ARGS(PJRT_LoadedExecutable_IsDeleted, is_deleted, PJRT_LoadedExecutable *executable; OUT bool is_deleted;)
ARGS(PJRT_LoadedExecutable_Execute, execute_device,
    PJRT_LoadedExecutable *executable; PJRT_ExecuteOptions *options; PJRT_Buffer *const *const *argument_lists;
    size_t num_devices; size_t num_args; INOUT PJRT_Buffer **const *output_lists; INOUT PJRT_Event **device_complete_events;
    PJRT_Device *execute_device;)
ARGS(PJRT_LoadedExecutable_Fingerprint, executable_fingerprint_size,
    PJRT_LoadedExecutable *executable; OUT const char *executable_fingerprint; OUT size_t executable_fingerprint_size;)
ARGS(PJRT_ExecuteContext_Create, context, OUT PJRT_ExecuteContext *context;)
ARGS(PJRT_ExecuteContext_Destroy, context, PJRT_ExecuteContext *context;)
ARGS(PJRT_LoadedExecutable_GetDeviceAssignment, serialized_device_assignment_deleter,
    PJRT_LoadedExecutable *executable; OUT const char *serialized_bytes; OUT size_t serialized_bytes_size;
    OUT PJRT_DeviceAssignmentSerialized *serialized_device_assignment;
    OUT void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized *da);)
ARGS(PJRT_LoadedExecutable_AddressableDeviceLogicalIds, num_addressable_device_logical_ids,
    PJRT_LoadedExecutable *executable; OUT PJRT_LogicalDeviceIds *addressable_device_logical_ids;
    OUT size_t num_addressable_device_logical_ids;)

// ---- buffers. ToHostBuffer: dst NULL = only dst_size is filled; host_layout NULL = the buffer's own layout. Dimensions live as long as the buffer.
// ---- The pointer functions hand out memory that is valid while the buffer lives.
ARGS(PJRT_Buffer_Destroy, buffer, PJRT_Buffer *buffer;)
ARGS(PJRT_Buffer_ElementType, type, PJRT_Buffer *buffer; OUT PJRT_Buffer_Type type;)
ARGS(PJRT_Buffer_Dimensions, num_dims, PJRT_Buffer *buffer; OUT const int64_t *dims; OUT size_t num_dims;)
ARGS(PJRT_Buffer_UnpaddedDimensions, num_dims, PJRT_Buffer *buffer; OUT const int64_t *unpadded_dims; OUT size_t num_dims;)
ARGS(PJRT_Buffer_DynamicDimensionIndices, num_dynamic_dims,
    PJRT_Buffer *buffer; OUT const size_t *dynamic_dim_indices; OUT size_t num_dynamic_dims;)
ARGS(PJRT_Buffer_GetMemoryLayout, layout, PJRT_Buffer *buffer; OUT PJRT_Buffer_MemoryLayout layout;)
ARGS(PJRT_Buffer_OnDeviceSizeInBytes, on_device_size_in_bytes, PJRT_Buffer *buffer; OUT size_t on_device_size_in_bytes;)
ARGS(PJRT_Buffer_Device, device, PJRT_Buffer *buffer; OUT PJRT_Device *device;)
ARGS(PJRT_Buffer_Memory, memory, PJRT_Buffer *buffer; OUT PJRT_Memory *memory;)
ARGS(PJRT_Buffer_Delete, buffer, PJRT_Buffer *buffer;)
ARGS(PJRT_Buffer_IsDeleted, is_deleted, PJRT_Buffer *buffer; OUT bool is_deleted;)
ARGS(PJRT_Buffer_CopyToDevice, dst_buffer, PJRT_Buffer *buffer; PJRT_Device *dst_device; OUT PJRT_Buffer *dst_buffer;)
ARGS(PJRT_Buffer_ToHostBuffer, event,
    PJRT_Buffer *src; PJRT_Buffer_MemoryLayout *host_layout; INOUT void *dst; INOUT size_t dst_size; OUT PJRT_Event *event;)
ARGS(PJRT_Buffer_IsOnCpu, is_on_cpu, PJRT_Buffer *buffer; OUT bool is_on_cpu;)
ARGS(PJRT_Buffer_ReadyEvent, event, PJRT_Buffer *buffer; OUT PJRT_Event *event;)
ARGS(PJRT_Buffer_UnsafePointer, buffer_pointer, PJRT_Buffer *buffer; OUT uintptr_t buffer_pointer;)
ARGS(PJRT_Buffer_IncreaseExternalReferenceCount, buffer, PJRT_Buffer *buffer;)
ARGS(PJRT_Buffer_DecreaseExternalReferenceCount, buffer, PJRT_Buffer *buffer;)
ARGS(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, device_memory_ptr, PJRT_Buffer *buffer; OUT void *device_memory_ptr;)
ARGS(PJRT_Buffer_CopyToMemory, dst_buffer, PJRT_Buffer *buffer; PJRT_Memory *dst_memory; OUT PJRT_Buffer *dst_buffer;)
ARGS(PJRT_Buffer_CopyRawToHost, event,
    PJRT_Buffer *buffer; void *dst; int64_t offset; int64_t transfer_size; OUT PJRT_Event *event;)
ARGS(PJRT_Buffer_CopyRawToHostFuture, future_ready_callback,
    PJRT_Buffer *buffer; int64_t offset; int64_t transfer_size; OUT PJRT_Event *event; OUT void *callback_data;
    OUT void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *args);)
ARGS(PJRT_Buffer_DonateWithControlDependency, out_buffer,
    PJRT_Buffer *buffer; OUT void *callback_data;
    OUT void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args *args);
    OUT PJRT_Buffer *out_buffer;)
ARGS(PJRT_Buffer_Bitcast, out_buffer,
    PJRT_Buffer *buffer; PJRT_Buffer_Type element_type; const int64_t *dims; size_t num_dims;
    PJRT_Buffer_MemoryLayout *device_layout; OUT PJRT_Buffer *out_buffer;)

// ---- streams of host-callback transfers.
ARGS(PJRT_CopyToDeviceStream_Destroy, stream, PJRT_CopyToDeviceStream *stream;)
ARGS(PJRT_CopyToDeviceStream_AddChunk, transfer_complete,
    PJRT_CopyToDeviceStream *stream; PJRT_Chunk *chunk; OUT PJRT_Event *transfer_complete;)
ARGS(PJRT_CopyToDeviceStream_TotalBytes, total_bytes, PJRT_CopyToDeviceStream *stream; OUT int64_t total_bytes;)
ARGS(PJRT_CopyToDeviceStream_GranuleSize, granule_size_in_bytes,
    PJRT_CopyToDeviceStream *stream; OUT int64_t granule_size_in_bytes;)
ARGS(PJRT_CopyToDeviceStream_CurrentBytes, current_bytes, PJRT_CopyToDeviceStream *stream; OUT int64_t current_bytes;)

// ---- transfer managers: buffers that are filled piece by piece.
ARGS(PJRT_AsyncHostToDeviceTransferManager_Destroy, transfer_manager, PJRT_AsyncHostToDeviceTransferManager *transfer_manager;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferData, done_with_h2d_transfer,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; int buffer_index; const void *data; int64_t offset;
    int64_t transfer_size; bool is_last_transfer; OUT PJRT_Event *done_with_h2d_transfer;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, buffer_out,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; int buffer_index; OUT PJRT_Buffer *buffer_out;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_Device, device_out,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; OUT PJRT_Device *device_out;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferCount, buffer_count,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; OUT size_t buffer_count;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_BufferSize, buffer_size,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; int buffer_index; OUT size_t buffer_size;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error_message_size,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; int buffer_index; PJRT_Error_Code error_code;
    const char *error_message; size_t error_message_size;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_AddMetadata, num_metadata,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; const PJRT_NamedValue *transfer_metadata; size_t num_metadata;)
ARGS(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, done_with_h2d_transfer,
    PJRT_AsyncHostToDeviceTransferManager *transfer_manager; int buffer_index; const void *data; const int64_t *shape_dims;
    size_t shape_num_dims; PJRT_Buffer_Type shape_element_type; PJRT_Buffer_MemoryLayout *shape_layout;
    OUT PJRT_Event *done_with_h2d_transfer;)

// ---- topologies: devices without hardware, for ahead-of-time compiles. One from Client_TopologyDescription belongs to the client and is not destroyed;
// ---- one from Create or Deserialize is.
ARGS(PJRT_TopologyDescription_Create, topology,
    const char *topology_name; size_t topology_name_size; const PJRT_NamedValue *create_options; size_t num_options;
    OUT PJRT_TopologyDescription *topology;)
ARGS(PJRT_TopologyDescription_Destroy, topology, PJRT_TopologyDescription *topology;)
ARGS(PJRT_TopologyDescription_PlatformName, platform_name_size,
    const PJRT_TopologyDescription *topology; OUT const char *platform_name; OUT size_t platform_name_size;)
ARGS(PJRT_TopologyDescription_PlatformVersion, platform_version_size,
    PJRT_TopologyDescription *topology; OUT const char *platform_version; OUT size_t platform_version_size;)
ARGS(PJRT_TopologyDescription_GetDeviceDescriptions, num_descriptions,
    const PJRT_TopologyDescription *topology; OUT PJRT_DeviceDescription *const *descriptions; OUT size_t num_descriptions;)
ARGS(PJRT_TopologyDescription_Serialize, serialized_topology_deleter,
    PJRT_TopologyDescription *topology; OUT const char *serialized_bytes; OUT size_t serialized_bytes_size;
    OUT PJRT_SerializedTopology *serialized_topology;
    OUT void (*serialized_topology_deleter)(PJRT_SerializedTopology *serialized_topology);)
ARGS(PJRT_TopologyDescription_Attributes, num_attributes,
    PJRT_TopologyDescription *topology; OUT const PJRT_NamedValue *attributes; OUT size_t num_attributes;)
ARGS(PJRT_Compile, executable,
    const PJRT_TopologyDescription *topology; const PJRT_Program *program; const char *compile_options;
    size_t compile_options_size; PJRT_Client *client; OUT PJRT_Executable *executable;)
ARGS(PJRT_TopologyDescription_Deserialize, topology,
    const char *serialized_topology; size_t serialized_topology_size; OUT PJRT_TopologyDescription *topology;)
ARGS(PJRT_TopologyDescription_Fingerprint, fingerprint, const PJRT_TopologyDescription *topology; OUT uint64_t fingerprint;)
ARGS(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, serialized_shape_deleter,
    const PJRT_TopologyDescription *topology; int memory_space_kind_id; const int64_t *dims; size_t num_dims;
    PJRT_Buffer_Type element_type; const PJRT_Buffer_MemoryLayout *layout; OUT const char *serialized_shape;
    OUT size_t serialized_shape_size; OUT void (*serialized_shape_deleter)(const char *);)
ARGS(PJRT_TopologyDescription_GetMemorySpaceKindIds, num_memory_space_kind_ids,
    const PJRT_TopologyDescription *topology; OUT const int *memory_space_kind_ids; OUT size_t num_memory_space_kind_ids;)
// clang-format on
#undef OUT
#undef INOUT
