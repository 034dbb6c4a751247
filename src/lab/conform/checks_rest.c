// checks_rest.c - what hosts call seldom: pointers, views, aliases, transfer managers piece by
// piece, contexts, topologies' bytes; and what answers must say of each other.
//
// How to read: each check is a function hsc__conform_<name>, a row of conform.def, in the sections'
// order. Answers that must agree come first: the same fact is asked for in two ways.
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/conform/conform_internal.h"

static PJRT_Memory *default_memory(hsc_conform *c) {
  PJRT_Device_DefaultMemory_Args args =
      ARGS_OF(PJRT_Device_DefaultMemory, .device = hsc__conform_device(c, 0));
  return args.device && OK(c, PJRT_Device_DefaultMemory, &args) ? args.memory : NULL;
}

// ---- answers that must agree --------------------------------------------------------------------

void hsc__conform_agree_process(hsc_conform *c, int number) {
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  PJRT_Client_ProcessIndex_Args of = ARGS_OF(PJRT_Client_ProcessIndex, .client = c->client);
  PJRT_Device_GetDescription_Args description =
      ARGS_OF(PJRT_Device_GetDescription, .device = device);
  if (!OK(c, PJRT_Client_ProcessIndex, &of) || !OK(c, PJRT_Device_GetDescription, &description))
    return;
  PJRT_DeviceDescription_ProcessIndex_Args own = ARGS_OF(
      PJRT_DeviceDescription_ProcessIndex, .device_description = description.device_description);
  if (!OK(c, PJRT_DeviceDescription_ProcessIndex, &own))
    return;
  EXPECT(c, own.process_index == of.process_index,
         "an addressable device is of process %d, the client of %d", own.process_index,
         of.process_index);
}

void hsc__conform_agree_memories(hsc_conform *c, int number) {
  PJRT_Device *device = hsc__conform_device(c, 0);
  if (!device)
    return;
  PJRT_Client_AddressableMemories_Args all =
      ARGS_OF(PJRT_Client_AddressableMemories, .client = c->client);
  PJRT_Device_AddressableMemories_Args own =
      ARGS_OF(PJRT_Device_AddressableMemories, .device = device);
  if (!OK(c, PJRT_Client_AddressableMemories, &all) ||
      !OK(c, PJRT_Device_AddressableMemories, &own))
    return;
  size_t found = 0;
  for (size_t i = 0; i < own.num_memories; i++)
    for (size_t j = 0; j < all.num_addressable_memories; j++)
      found += all.addressable_memories[j] == own.memories[i];
  EXPECT(c, found == own.num_memories, "%zu of the %zu memories of device 0 are the client's",
         found, own.num_memories);
  for (size_t i = 0; i < all.num_addressable_memories; i++)
    for (size_t j = 0; j < i; j++) {
      PJRT_Memory_Id_Args a = ARGS_OF(PJRT_Memory_Id, .memory = all.addressable_memories[i]);
      PJRT_Memory_Id_Args b = ARGS_OF(PJRT_Memory_Id, .memory = all.addressable_memories[j]);
      if (!OK(c, PJRT_Memory_Id, &a) || !OK(c, PJRT_Memory_Id, &b))
        return;
      EXPECT(c, a.id != b.id, "memories %zu and %zu both have id %d", j, i, a.id);
    }
  for (size_t i = 0; i < own.num_memories; i++) {
    PJRT_Memory_AddressableByDevices_Args by =
        ARGS_OF(PJRT_Memory_AddressableByDevices, .memory = own.memories[i]);
    if (!OK(c, PJRT_Memory_AddressableByDevices, &by))
      return;
    EXPECT(c, by.num_devices <= hsc__conform_device_count(c),
           "memory %zu names %zu devices, there are %zu", i, by.num_devices,
           hsc__conform_device_count(c));
  }
}

void hsc__conform_agree_executable(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Executable *executable = hsc__conform_executable(c, loaded);
  PJRT_Executable_NumPartitions_Args partitions =
      ARGS_OF(PJRT_Executable_NumPartitions, .executable = executable);
  PJRT_Executable_NumReplicas_Args replicas =
      ARGS_OF(PJRT_Executable_NumReplicas, .executable = executable);
  PJRT_LoadedExecutable_AddressableDevices_Args devices =
      ARGS_OF(PJRT_LoadedExecutable_AddressableDevices, .executable = loaded);
  if (!executable || !OK(c, PJRT_Executable_NumPartitions, &partitions) ||
      !OK(c, PJRT_Executable_NumReplicas, &replicas) ||
      !OK(c, PJRT_LoadedExecutable_AddressableDevices, &devices))
    return;
  EXPECT(c, partitions.num_partitions == 1 && replicas.num_replicas == 1,
         "a program for one device has %zu replicas and %zu partitions", replicas.num_replicas,
         partitions.num_partitions);
  EXPECT(c,
         devices.num_addressable_devices == 1 &&
             devices.addressable_devices[0] == hsc__conform_device(c, 0),
         "it does not run on device 0");
}

void hsc__conform_agree_logical_ids(hsc_conform *c, int number) {
  PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args args =
      ARGS_OF(PJRT_LoadedExecutable_AddressableDeviceLogicalIds,
              .executable = hsc__conform_compile(c, hsc__conform_doubles));
  if (!args.executable || !OK(c, PJRT_LoadedExecutable_AddressableDeviceLogicalIds, &args))
    return;
  EXPECT(c, args.num_addressable_device_logical_ids == 1,
         "a program for one device has %zu logical ids", args.num_addressable_device_logical_ids);
  const PJRT_LogicalDeviceIds *id = args.addressable_device_logical_ids;
  EXPECT(c, id && id->replica == 0 && id->partition == 0,
         "its logical id is not replica 0, partition 0");
}

static void expect_kinds(
    hsc_conform *c, const char *const *kinds, const size_t *sizes, size_t count, const char *what) {
  EXPECT(c, count == 1, "one %s has %zu memory kinds", what, count);
  EXPECT(c, kinds && kinds[0] && sizes && sizes[0] > 0, "the memory kind of the %s has no name",
         what);
}

void hsc__conform_agree_memory_kinds(hsc_conform *c, int number) {
  PJRT_Executable_OutputMemoryKinds_Args out =
      ARGS_OF(PJRT_Executable_OutputMemoryKinds,
              .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (out.executable && OK(c, PJRT_Executable_OutputMemoryKinds, &out))
    expect_kinds(c, out.memory_kinds, out.memory_kind_sizes, out.num_outputs, "output");
}

void hsc__conform_agree_parameter_kinds(hsc_conform *c, int number) {
  PJRT_Executable_ParameterMemoryKinds_Args in =
      ARGS_OF(PJRT_Executable_ParameterMemoryKinds,
              .executable = hsc__conform_executable_of(c, hsc__conform_doubles));
  if (in.executable && OK(c, PJRT_Executable_ParameterMemoryKinds, &in))
    expect_kinds(c, in.memory_kinds, in.memory_kind_sizes, in.num_parameters, "parameter");
}

void hsc__conform_agree_loaded_fingerprint(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_LoadedExecutable_Fingerprint_Args a =
      ARGS_OF(PJRT_LoadedExecutable_Fingerprint, .executable = loaded);
  PJRT_Executable_Fingerprint_Args b =
      ARGS_OF(PJRT_Executable_Fingerprint, .executable = hsc__conform_executable(c, loaded));
  if (!b.executable || !OK(c, PJRT_LoadedExecutable_Fingerprint, &a) ||
      !OK(c, PJRT_Executable_Fingerprint, &b))
    return;
  EXPECT(c,
         a.executable_fingerprint_size == b.executable_fingerprint_size &&
             !memcmp(a.executable_fingerprint, b.executable_fingerprint,
                     a.executable_fingerprint_size),
         "the loaded executable has another fingerprint than the executable");
}

void hsc__conform_agree_dimensions(hsc_conform *c, int number) {
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_UnpaddedDimensions_Args plain =
      ARGS_OF(PJRT_Buffer_UnpaddedDimensions, .buffer = buffer);
  PJRT_Buffer_DynamicDimensionIndices_Args dynamic =
      ARGS_OF(PJRT_Buffer_DynamicDimensionIndices, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_UnpaddedDimensions, &plain) ||
      !OK(c, PJRT_Buffer_DynamicDimensionIndices, &dynamic))
    return;
  EXPECT(c, plain.num_dims == 1 && plain.unpadded_dims && plain.unpadded_dims[0] == 4,
         "unpadded, hsc__conform_four floats have rank %zu", plain.num_dims);
  EXPECT(c, dynamic.num_dynamic_dims == 0, "hsc__conform_four floats have %zu dynamic dimensions",
         dynamic.num_dynamic_dims);
}

// ---- pointers and views -------------------------------------------------------------------------

void hsc__conform_pointer_unsafe(hsc_conform *c, int number) {
  PJRT_Buffer_UnsafePointer_Args first =
      ARGS_OF(PJRT_Buffer_UnsafePointer, .buffer = hsc__conform_some_floats(c));
  PJRT_Buffer_UnsafePointer_Args second =
      ARGS_OF(PJRT_Buffer_UnsafePointer, .buffer = first.buffer);
  if (!first.buffer || !OK(c, PJRT_Buffer_UnsafePointer, &first) ||
      !OK(c, PJRT_Buffer_UnsafePointer, &second))
    return;
  EXPECT(c, first.buffer_pointer != 0, "the pointer is 0");
  EXPECT(c, first.buffer_pointer == second.buffer_pointer, "two calls give two pointers");
}

void hsc__conform_pointer_opaque(hsc_conform *c, int number) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args =
      ARGS_OF(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, .buffer = hsc__conform_some_floats(c));
  if (args.buffer && OK(c, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, &args))
    EXPECT(c, args.device_memory_ptr, "the pointer is NULL");
}

static void count_deletes(void *pointer, void *user) {
  ++*(int *)user;
}

void hsc__conform_pointer_view(hsc_conform *c, int number) {
  static int deletes;
  PJRT_Buffer *buffer = hsc__conform_some_floats(c);
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args at =
      ARGS_OF(PJRT_Buffer_OpaqueDeviceMemoryDataPointer, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_Buffer_OpaqueDeviceMemoryDataPointer, &at))
    return;
  PJRT_Client_CreateViewOfDeviceBuffer_Args args =
      ARGS_OF(PJRT_Client_CreateViewOfDeviceBuffer, .client = c->client,
              .device_buffer_ptr = at.device_memory_ptr, .dims = hsc__conform_four, .num_dims = 1,
              .element_type = PJRT_Buffer_Type_F32, .device = hsc__conform_device(c, 0),
              .on_delete_callback = count_deletes, .on_delete_callback_arg = &deletes);
  if (!OK(c, PJRT_Client_CreateViewOfDeviceBuffer, &args))
    return;
  hsc__conform_expect_times(c, args.buffer, 1);
  hsc__conform_buffer_free(c, args.buffer);
  EXPECT(c, deletes == 1, "the callback of the view's end was called %d times", deletes);
}

void hsc__conform_pointer_bitcast(hsc_conform *c, int number) {
  PJRT_Buffer_Bitcast_Args args =
      ARGS_OF(PJRT_Buffer_Bitcast, .buffer = hsc__conform_some_floats(c),
              .element_type = PJRT_Buffer_Type_S32, .dims = hsc__conform_four, .num_dims = 1);
  int32_t out[4] = {0};
  if (!args.buffer || !OK(c, PJRT_Buffer_Bitcast, &args) ||
      !hsc__conform_download(c, args.out_buffer, 1, out, sizeof out))
    return;
  EXPECT(c, !memcmp(out, hsc__conform_one_to_four, sizeof out), "the bits changed: 1.0 became %08x",
         (unsigned)out[0]);
}

void hsc__conform_pointer_dma(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void *memory = aligned_alloc(page, page);
  PJRT_Client_DmaMap_Args map =
      ARGS_OF(PJRT_Client_DmaMap, .client = c->client, .data = memory, .size = page);
  PJRT_Client_DmaUnmap_Args unmap =
      ARGS_OF(PJRT_Client_DmaUnmap, .client = c->client, .data = memory);
  if (OK(c, PJRT_Client_DmaMap, &map))
    OK(c, PJRT_Client_DmaUnmap, &unmap);
  free(memory);
}

void hsc__conform_pointer_alias(hsc_conform *c, int number) {
  PJRT_Memory *memory = default_memory(c);
  PJRT_Buffer *buffer = memory ? hsc__conform_some_floats(c) : NULL;
  if (!buffer)
    return;
  PJRT_Client_CreateAliasBuffer_Args make =
      ARGS_OF(PJRT_Client_CreateAliasBuffer, .client = c->client, .memory = memory,
              .shape_dims = hsc__conform_four, .shape_num_dims = 1,
              .shape_element_type = PJRT_Buffer_Type_F32);
  if (!OK(c, PJRT_Client_CreateAliasBuffer, &make))
    return;
  EXPECT(c, make.alias_buffer && make.fulfill_alias_buffer_cb,
         "there is no buffer, or nothing to fulfil it with");
  PJRT_Client_FulfillAliasBuffer_Args fulfil =
      ARGS_OF(PJRT_Client_FulfillAliasBuffer, .client = c->client, .buffer = buffer,
              .fulfill_alias_buffer_cb = make.fulfill_alias_buffer_cb);
  if (OK(c, PJRT_Client_FulfillAliasBuffer, &fulfil))
    hsc__conform_expect_times(c, make.alias_buffer, 1);
}

void hsc__conform_pointer_raw_future(hsc_conform *c, int number) {
  PJRT_Buffer_CopyRawToHostFuture_Args args =
      ARGS_OF(PJRT_Buffer_CopyRawToHostFuture, .buffer = hsc__conform_some_floats(c), .offset = 4,
              .transfer_size = 8);
  float out[2] = {0};
  if (!args.buffer || !OK(c, PJRT_Buffer_CopyRawToHostFuture, &args))
    return;
  EXPECT(c, args.future_ready_callback && args.event, "there is no callback, or no event");
  PJRT_Buffer_CopyRawToHostFuture_Callback_Args ready = {
      .struct_size = PJRT_Buffer_CopyRawToHostFuture_Callback_Args_STRUCT_SIZE,
      .callback_data = args.callback_data,
      .dst = out};
  args.future_ready_callback(&ready);
  if (hsc__conform_await(c, args.event, "the event of PJRT_Buffer_CopyRawToHostFuture"))
    EXPECT(c, out[0] == 2 && out[1] == 3, "bytes 4 to 12 of 1, 2, 3, 4 read as %g, %g", out[0],
           out[1]);
}

// ---- transfer managers --------------------------------------------------------------------------

static PJRT_AsyncHostToDeviceTransferManager *manager_of(hsc_conform *c, size_t count) {
  PJRT_ShapeSpec specs[2];
  for (int i = 0; i < 2; i++)
    specs[i] = (PJRT_ShapeSpec){.struct_size = PJRT_ShapeSpec_STRUCT_SIZE,
                                .dims = hsc__conform_four,
                                .num_dims = 1,
                                .element_type = PJRT_Buffer_Type_F32};
  PJRT_Memory *memory = default_memory(c);
  PJRT_Client_CreateBuffersForAsyncHostToDevice_Args args =
      ARGS_OF(PJRT_Client_CreateBuffersForAsyncHostToDevice, .client = c->client,
              .shape_specs = specs, .num_shape_specs = count, .memory = memory);
  return memory && OK(c, PJRT_Client_CreateBuffersForAsyncHostToDevice, &args)
             ? args.transfer_manager
             : NULL;
}

static PJRT_Buffer *buffer_of(hsc_conform *c,
                              PJRT_AsyncHostToDeviceTransferManager *manager,
                              int index) {
  PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args args =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, .transfer_manager = manager,
              .buffer_index = index);
  return OK(c, PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, &args) ? args.buffer_out
                                                                            : NULL;
}

void hsc__conform_manager_facts(hsc_conform *c, int number) {
  PJRT_AsyncHostToDeviceTransferManager *manager = manager_of(c, 2);
  PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args count =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_BufferCount, .transfer_manager = manager);
  PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args size =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_BufferSize, .transfer_manager = manager,
              .buffer_index = 1);
  PJRT_AsyncHostToDeviceTransferManager_Device_Args device =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_Device, .transfer_manager = manager);
  PJRT_AsyncHostToDeviceTransferManager_Destroy_Args destroy =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_Destroy, .transfer_manager = manager);
  if (!manager || !OK(c, PJRT_AsyncHostToDeviceTransferManager_BufferCount, &count) ||
      !OK(c, PJRT_AsyncHostToDeviceTransferManager_BufferSize, &size) ||
      !OK(c, PJRT_AsyncHostToDeviceTransferManager_Device, &device))
    return;
  EXPECT(c, count.buffer_count == 2, "it has %zu buffers, not 2", count.buffer_count);
  EXPECT(c, size.buffer_size >= 16, "a buffer of hsc__conform_four floats has %zu bytes",
         size.buffer_size);
  EXPECT(c, device.device_out == hsc__conform_device(c, 0), "it is of another device");
  OK(c, PJRT_AsyncHostToDeviceTransferManager_Destroy, &destroy);
}

void hsc__conform_manager_literal(hsc_conform *c, int number) {
  PJRT_AsyncHostToDeviceTransferManager *manager = manager_of(c, 1);
  PJRT_Buffer *buffer = manager ? buffer_of(c, manager, 0) : NULL;
  PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args args =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, .transfer_manager = manager,
              .data = hsc__conform_one_to_four, .shape_dims = hsc__conform_four,
              .shape_num_dims = 1, .shape_element_type = PJRT_Buffer_Type_F32);
  if (!buffer || !OK(c, PJRT_AsyncHostToDeviceTransferManager_TransferLiteral, &args))
    return;
  EXPECT(c, args.done_with_h2d_transfer, "there is no event");
  if (hsc__conform_await(c, args.done_with_h2d_transfer, "a transfer"))
    hsc__conform_expect_times(c, buffer, 1);
}

void hsc__conform_manager_error(hsc_conform *c, int number) {
  static const char message[] = "set by the check";
  PJRT_AsyncHostToDeviceTransferManager *manager = manager_of(c, 1);
  PJRT_Buffer *buffer = manager ? buffer_of(c, manager, 0) : NULL;
  PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args args =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_SetBufferError, .transfer_manager = manager,
              .error_code = PJRT_Error_Code_ABORTED, .error_message = message,
              .error_message_size = sizeof message - 1);
  PJRT_Buffer_ReadyEvent_Args ready = ARGS_OF(PJRT_Buffer_ReadyEvent, .buffer = buffer);
  if (!buffer || !OK(c, PJRT_AsyncHostToDeviceTransferManager_SetBufferError, &args) ||
      !OK(c, PJRT_Buffer_ReadyEvent, &ready))
    return;
  PJRT_Event_Await_Args wait = ARGS_OF(PJRT_Event_Await, .event = ready.event);
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Event_Await, &wait, &called);
  EXPECT(c, error, "the buffer is fine though its error was set");
  hsc__conform_error_free(c, error);
}

void hsc__conform_manager_metadata(hsc_conform *c, int number) {
  PJRT_NamedValue value = {.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                           .name = "note",
                           .name_size = 4,
                           .type = PJRT_NamedValue_kInt64,
                           .int64_value = 7,
                           .value_size = 1};
  PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args args =
      ARGS_OF(PJRT_AsyncHostToDeviceTransferManager_AddMetadata,
              .transfer_manager = manager_of(c, 1), .transfer_metadata = &value, .num_metadata = 1);
  if (args.transfer_manager && OK(c, PJRT_AsyncHostToDeviceTransferManager_AddMetadata, &args))
    OK(c, PJRT_AsyncHostToDeviceTransferManager_AddMetadata, &args);
}

// ---- the rest of executing ----------------------------------------------------------------------

void hsc__conform_rest_context(hsc_conform *c, int number) {
  PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
  PJRT_Buffer *argument = loaded ? hsc__conform_some_floats(c) : NULL;
  PJRT_ExecuteContext_Create_Args make = ARGS_OF(PJRT_ExecuteContext_Create, .context = NULL);
  if (!argument || !OK(c, PJRT_ExecuteContext_Create, &make))
    return;
  EXPECT(c, make.context, "there is no context");
  PJRT_ExecuteOptions options = {.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE,
                                 .context = make.context};
  PJRT_Buffer *const *lists[1] = {&argument};
  PJRT_Buffer *outputs[1] = {NULL};
  PJRT_Buffer **const output_lists[1] = {outputs};
  PJRT_LoadedExecutable_Execute_Args args = ARGS_OF(
      PJRT_LoadedExecutable_Execute, .executable = loaded, .options = &options,
      .argument_lists = lists, .num_devices = 1, .num_args = 1, .output_lists = output_lists);
  PJRT_ExecuteContext_Destroy_Args destroy =
      ARGS_OF(PJRT_ExecuteContext_Destroy, .context = make.context);
  if (!OK(c, PJRT_LoadedExecutable_Execute, &args))
    return;
  hsc__conform_expect_times(c, outputs[0], 2);
  OK(c, PJRT_ExecuteContext_Destroy, &destroy);
}

void hsc__conform_rest_load(hsc_conform *c, int number) {
  if (!hsc__conform_client(c))
    return;
  PJRT_Client_TopologyDescription_Args of =
      ARGS_OF(PJRT_Client_TopologyDescription, .client = c->client);
  if (!OK(c, PJRT_Client_TopologyDescription, &of))
    return;
  EXPECT(c, of.topology, "the client has no topology");
  PJRT_Program program = {.struct_size = PJRT_Program_STRUCT_SIZE,
                          .code = (char *)hsc__conform_doubles,
                          .code_size = strlen(hsc__conform_doubles),
                          .format = "mlir",
                          .format_size = 4};
  hsc_view options = hsc__conform_options_proto(c);
  PJRT_Compile_Args compile = ARGS_OF(PJRT_Compile, .topology = of.topology, .program = &program,
                                      .compile_options = options.data,
                                      .compile_options_size = options.size, .client = c->client);
  if (!OK(c, PJRT_Compile, &compile))
    return;
  PJRT_Client_Load_Args load =
      ARGS_OF(PJRT_Client_Load, .client = c->client, .executable = compile.executable,
              .compile_options = options.data, .compile_options_size = options.size);
  if (!OK(c, PJRT_Client_Load, &load))
    return;
  EXPECT(c, load.loaded_executable, "it succeeded and gave no executable");
  PJRT_Buffer *argument = hsc__conform_some_floats(c);
  PJRT_Buffer *output = NULL;
  if (argument && hsc__conform_execute(c, load.loaded_executable, &argument, 1, &output, 1))
    hsc__conform_expect_times(c, output, 2);
}

void hsc__conform_rest_attributes(hsc_conform *c, int number) {
  PJRT_Device_GetAttributes_Args args =
      ARGS_OF(PJRT_Device_GetAttributes, .device = hsc__conform_device(c, 0));
  if (!args.device || !OK(c, PJRT_Device_GetAttributes, &args))
    return;
  EXPECT(c, args.num_attributes == 0 || args.attributes, "%zu attributes at NULL",
         args.num_attributes);
  EXPECT(c, args.attributes_deleter, "there is no deleter");
  args.attributes_deleter(args.device_attributes);
}

void hsc__conform_rest_clear_stats(hsc_conform *c, int number) {
  PJRT_Device_ClearMemoryStats_Args args =
      ARGS_OF(PJRT_Device_ClearMemoryStats, .device = hsc__conform_device(c, 0));
  PJRT_Device_MemoryStats_Args stats = ARGS_OF(PJRT_Device_MemoryStats, .device = args.device);
  if (!args.device || !OK(c, PJRT_Device_ClearMemoryStats, &args) ||
      !OK(c, PJRT_Device_MemoryStats, &stats))
    return;
  if (stats.peak_bytes_in_use_is_set)
    EXPECT(c, stats.peak_bytes_in_use >= stats.bytes_in_use,
           "after it the peak is below what is in use");
}

void hsc__conform_rest_tracking(hsc_conform *c, int number) {
  PJRT_Device_CreateAsyncTrackingEvent_Args make =
      ARGS_OF(PJRT_Device_CreateAsyncTrackingEvent, .device = hsc__conform_device(c, 0),
              .description = "check", .description_size = 5);
  if (!make.device || !OK(c, PJRT_Device_CreateAsyncTrackingEvent, &make))
    return;
  PJRT_AsyncTrackingEvent_Destroy_Args destroy =
      ARGS_OF(PJRT_AsyncTrackingEvent_Destroy, .event = make.event);
  OK(c, PJRT_AsyncTrackingEvent_Destroy, &destroy);
}

void hsc__conform_rest_poison(hsc_conform *c, int number) {
  static const char message[] = "poisoned by the check";
  PJRT_Device_PoisonExecution_Args args =
      ARGS_OF(PJRT_Device_PoisonExecution, .device = hsc__conform_device(c, 0),
              .launch_id = 987654321, .error_code = PJRT_Error_Code_ABORTED,
              .error_message = message, .error_message_size = sizeof message - 1);
  if (args.device && OK(c, PJRT_Device_PoisonExecution, &args))
    EXPECT(c, !args.poisoned, "it says that it poisoned an execution that is not under way");
}

static void no_payload(
    const char *key, size_t key_size, const char *value, size_t value_size, void *user) {
  ++*(int *)user;
}

void hsc__conform_rest_payload(hsc_conform *c, int number) {
  PJRT_Plugin_Attributes_Args bad = {.struct_size = sizeof(size_t)};
  bool called;
  PJRT_Error *error = hsc__conform_call(c, HSC_FN_PJRT_Plugin_Attributes, &bad, &called);
  EXPECT(c, error, "no error could be had");
  int payloads = 0;
  PJRT_Error_ForEachPayload_Args args = ARGS_OF(PJRT_Error_ForEachPayload, .error = error,
                                                .visitor = no_payload, .user_arg = &payloads);
  if (OK(c, PJRT_Error_ForEachPayload, &args))
    OK(c, PJRT_Error_ForEachPayload, &args);
  hsc__conform_error_free(c, error);
}

// ---- the rest of topologies ---------------------------------------------------------------------

void hsc__conform_rest_topology_attributes(hsc_conform *c, int number) {
  PJRT_TopologyDescription_Attributes_Args first =
      ARGS_OF(PJRT_TopologyDescription_Attributes, .topology = hsc__conform_topology(c));
  PJRT_TopologyDescription_Attributes_Args second =
      ARGS_OF(PJRT_TopologyDescription_Attributes, .topology = first.topology);
  if (!first.topology || !OK(c, PJRT_TopologyDescription_Attributes, &first) ||
      !OK(c, PJRT_TopologyDescription_Attributes, &second))
    return;
  EXPECT(c, first.num_attributes == second.num_attributes, "two calls give %zu and %zu attributes",
         first.num_attributes, second.num_attributes);
  for (size_t i = 0; i < first.num_attributes; i++)
    EXPECT(c, first.attributes[i].name && first.attributes[i].name_size > 0,
           "attribute %zu has no name", i);
}

void hsc__conform_rest_topology_fingerprint(hsc_conform *c, int number) {
  PJRT_TopologyDescription_Fingerprint_Args first =
      ARGS_OF(PJRT_TopologyDescription_Fingerprint, .topology = hsc__conform_topology(c));
  PJRT_TopologyDescription_Fingerprint_Args second =
      ARGS_OF(PJRT_TopologyDescription_Fingerprint, .topology = first.topology);
  if (!first.topology || !OK(c, PJRT_TopologyDescription_Fingerprint, &first) ||
      !OK(c, PJRT_TopologyDescription_Fingerprint, &second))
    return;
  EXPECT(c, first.fingerprint == second.fingerprint, "two calls give two fingerprints");
  EXPECT(c, first.fingerprint != 0, "the fingerprint is 0");
}

void hsc__conform_rest_topology_again(hsc_conform *c, int number) {
  PJRT_TopologyDescription_Serialize_Args bytes =
      ARGS_OF(PJRT_TopologyDescription_Serialize, .topology = hsc__conform_topology(c));
  if (!bytes.topology || !OK(c, PJRT_TopologyDescription_Serialize, &bytes))
    return;
  PJRT_TopologyDescription_Deserialize_Args load =
      ARGS_OF(PJRT_TopologyDescription_Deserialize, .serialized_topology = bytes.serialized_bytes,
              .serialized_topology_size = bytes.serialized_bytes_size);
  if (!OK(c, PJRT_TopologyDescription_Deserialize, &load))
    return;
  EXPECT(c, load.topology, "it succeeded and gave no topology");
  PJRT_TopologyDescription_GetDeviceDescriptions_Args a =
      ARGS_OF(PJRT_TopologyDescription_GetDeviceDescriptions, .topology = bytes.topology);
  PJRT_TopologyDescription_GetDeviceDescriptions_Args b =
      ARGS_OF(PJRT_TopologyDescription_GetDeviceDescriptions, .topology = load.topology);
  PJRT_TopologyDescription_Destroy_Args destroy =
      ARGS_OF(PJRT_TopologyDescription_Destroy, .topology = load.topology);
  if (!OK(c, PJRT_TopologyDescription_GetDeviceDescriptions, &a) ||
      !OK(c, PJRT_TopologyDescription_GetDeviceDescriptions, &b))
    return;
  EXPECT(c, a.num_descriptions == b.num_descriptions, "%zu devices became %zu", a.num_descriptions,
         b.num_descriptions);
  OK(c, PJRT_TopologyDescription_Destroy, &destroy);
}

void hsc__conform_rest_topology_kinds(hsc_conform *c, int number) {
  PJRT_TopologyDescription_GetMemorySpaceKindIds_Args args =
      ARGS_OF(PJRT_TopologyDescription_GetMemorySpaceKindIds, .topology = hsc__conform_topology(c));
  if (!args.topology || !OK(c, PJRT_TopologyDescription_GetMemorySpaceKindIds, &args))
    return;
  EXPECT(c, args.num_memory_space_kind_ids > 0 && args.memory_space_kind_ids,
         "there are no kinds of memory");
  PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args shape =
      ARGS_OF(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, .topology = args.topology,
              .memory_space_kind_id = args.memory_space_kind_ids[0], .dims = hsc__conform_four,
              .num_dims = 1, .element_type = PJRT_Buffer_Type_F32);
  if (!OK(c, PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace, &shape))
    return;
  EXPECT(
      c,
      shape.serialized_shape && shape.serialized_shape_size > 0 && shape.serialized_shape_deleter,
      "there are no bytes, or no deleter");
  shape.serialized_shape_deleter(shape.serialized_shape);
}
