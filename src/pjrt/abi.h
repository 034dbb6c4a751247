// abi.h - the PJRT C API as facts: what a plugin and a host must agree on, byte by byte. Up to
// version 0.112 (table of 138 functions).
//
// PJRT_ names are the interface's own, so they keep their spelling. Nothing here is code: the
// client of any plugin is client.h, our own plugin is src/plugin.
// Source: xla/pjrt/c/pjrt_c_api.h and its extension headers (openxla/xla), checked against the
// plugins of jaxlib 0.10.2 (0.112) and libtpu 0.0.51 (0.116).
//
// Rules of the interface:
//   - Each struct leads with struct_size, the number of bytes its writer knows about (up to the end
//   of the last field, without padding). A reader
//     touches a field only when struct_size covers it. That is how old and new versions live
//     together.
//   - extension_start is the head of a list of optional structs, distinguished by type; NULL when
//   there are none.
//   - Texts are pointer and length; a terminating NUL is not promised.
//   - A minor version adds at the end of structs and of the table; a major version may change
//   anything.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PJRT_API_MAJOR 0
#define PJRT_API_MINOR 112

// The oldest minor version that the client drives (the one JAX draws as well), and the one whose
// table has an order of its own.
#define HSC_PJRT_MINOR_OLDEST 29
#define HSC_PJRT_MINOR_REORDERED 56

// Size of a struct up to and including a field: what struct_size holds.
#define HSC_PJRT_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
#define HSC_PJRT_SIZED(type, last_field) \
  enum { type##_STRUCT_SIZE = HSC_PJRT_SIZE_TO(type, last_field) }

// ---- extensions ---------------------------------------------------------------------------------

typedef enum {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,
  PJRT_Extension_Type_AbiVersion = 20,
  PJRT_Extension_Type_Collectives = 21,
  PJRT_Extension_Type_MultiSlice = 22,
  PJRT_Extension_Type_HostMemoryAllocator = 23,
  PJRT_Extension_Type_XlaTransform = 24,
} PJRT_Extension_Type;

typedef struct PJRT_Extension_Base {
  size_t struct_size;  // of the whole extension
  PJRT_Extension_Type type;
  struct PJRT_Extension_Base *next;  // NULL ends the list
} PJRT_Extension_Base;
HSC_PJRT_SIZED(PJRT_Extension_Base, next);

typedef struct PJRT_Api_Version {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  int major_version;
  int minor_version;
} PJRT_Api_Version;
HSC_PJRT_SIZED(PJRT_Api_Version, minor_version);

// ---- enums --------------------------------------------------------------------------------------

// The numbers of absl::StatusCode; base/core/codes.def has the same.
typedef enum {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
} PJRT_Error_Code;

typedef enum {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
} PJRT_NamedValue_Type;

typedef enum {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
} PJRT_ProcessState;

// Element types. Not the numbers of xla::PrimitiveType.
typedef enum {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31,
} PJRT_Buffer_Type;

// What the host promises about the memory it gives to BufferFromHostBuffer.
typedef enum {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,  // copy before returning
  // until done_with_host_buffer is ready
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  // unchanged as long as the buffer lives: may be used in place, never written
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  // the buffer may use and write it in place
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
} PJRT_HostBufferSemantics;

typedef enum {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
} PJRT_Buffer_MemoryLayout_Type;

// ---- objects: opaque, but for the two that lead with a table of functions in new versions (errors
// and memories, between 0.104 and 0.112) -------

typedef struct PJRT_Error PJRT_Error;
typedef struct PJRT_Event PJRT_Event;
typedef struct PJRT_Client PJRT_Client;
typedef struct PJRT_Device PJRT_Device;
typedef struct PJRT_Memory PJRT_Memory;
typedef struct PJRT_DeviceDescription PJRT_DeviceDescription;
typedef struct PJRT_TopologyDescription PJRT_TopologyDescription;
typedef struct PJRT_Executable PJRT_Executable;
typedef struct PJRT_LoadedExecutable PJRT_LoadedExecutable;
typedef struct PJRT_Buffer PJRT_Buffer;
typedef struct PJRT_ExecuteContext PJRT_ExecuteContext;
typedef struct PJRT_FulfillAliasBufferCallback PJRT_FulfillAliasBufferCallback;
typedef struct PJRT_AsyncHostToDeviceTransferManager PJRT_AsyncHostToDeviceTransferManager;
typedef struct PJRT_AsyncTrackingEvent PJRT_AsyncTrackingEvent;
typedef struct PJRT_CopyToDeviceStream PJRT_CopyToDeviceStream;
typedef struct PJRT_Device_Attributes PJRT_Device_Attributes;
typedef struct PJRT_DeviceAssignmentSerialized PJRT_DeviceAssignmentSerialized;
typedef struct PJRT_SerializedExecutable PJRT_SerializedExecutable;
typedef struct PJRT_SerializedCompileOptions PJRT_SerializedCompileOptions;
typedef struct PJRT_SerializedTopology PJRT_SerializedTopology;
typedef struct PJRT_MultiSlice_Config PJRT_MultiSlice_Config;

typedef void (*PJRT_Error_PayloadVisitor)(
    const char *key, size_t key_size, const char *value, size_t value_size, void *user_arg);

typedef struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;  // of the error object
  PJRT_Extension_Base *extension_start;
  void (*destroy)(PJRT_Error *error);
  void (*message)(const PJRT_Error *error, const char **message, size_t *message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error *error);
  void (*for_each_payload)(const PJRT_Error *error,
                           PJRT_Error_PayloadVisitor visitor,
                           void *user_arg);
} PJRT_Error_FunctionTable;
HSC_PJRT_SIZED(PJRT_Error_FunctionTable, for_each_payload);

struct PJRT_Error {
  // only in plugins from about 0.105 on; read it never, use the functions of the table
  const PJRT_Error_FunctionTable *vtable;
};

typedef struct PJRT_Memory_FunctionTable {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  size_t instance_struct_size;  // of the memory object
  // NULL when nothing was set under the key
  void *(*get_user_data)(PJRT_Memory *memory, const void *key);
  void (*set_user_data)(PJRT_Memory *memory, const void *key, void *data, void (*dtor)(void *));
} PJRT_Memory_FunctionTable;
HSC_PJRT_SIZED(PJRT_Memory_FunctionTable, set_user_data);

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable *vtable;  // as for errors
};

// ---- structs that are not arguments of one function ---------------------------------------------

typedef struct PJRT_NamedValue {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char *string_value;
    int64_t int64_value;
    const int64_t *int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;  // characters of a string, elements of a list, else 1
} PJRT_NamedValue;
HSC_PJRT_SIZED(PJRT_NamedValue, value_size);

typedef struct PJRT_Program {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  char *code;
  size_t code_size;
  const char *format;  // "mlir", "hlo", "hlo_with_config"
  size_t format_size;
} PJRT_Program;
HSC_PJRT_SIZED(PJRT_Program, format_size);

typedef struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;  // with kError
  const char *error_message;
  size_t error_message_size;
} PJRT_ProcessInfo;
HSC_PJRT_SIZED(PJRT_ProcessInfo, error_message_size);

typedef struct PJRT_Buffer_MemoryLayout_Tiled {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *minor_to_major;  // dimension numbers, fastest first
  size_t minor_to_major_size;
  const int64_t *tile_dims;  // extents of all tiles, one after the other
  const size_t *tile_dim_sizes;
  size_t num_tiles;
} PJRT_Buffer_MemoryLayout_Tiled;
HSC_PJRT_SIZED(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

typedef struct PJRT_Buffer_MemoryLayout_Strides {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *byte_strides;  // one per dimension
  size_t num_byte_strides;
} PJRT_Buffer_MemoryLayout_Strides;
HSC_PJRT_SIZED(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

typedef struct PJRT_Buffer_MemoryLayout {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;  // which of the two
} PJRT_Buffer_MemoryLayout;
HSC_PJRT_SIZED(PJRT_Buffer_MemoryLayout, type);

typedef struct PJRT_ShapeSpec {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
} PJRT_ShapeSpec;
HSC_PJRT_SIZED(PJRT_ShapeSpec, element_type);

typedef struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
} PJRT_LogicalDeviceIds;

typedef struct PJRT_Chunk {
  void *data;
  size_t size;
  void (*deleter)(void *data, void *deleter_arg);
  void *deleter_arg;
} PJRT_Chunk;

// Callbacks that a host gives to a plugin. PJRT_CallbackError makes an error for the plugin to
// return; it copies the text.
typedef PJRT_Error *(*PJRT_CallbackError)(PJRT_Error_Code code,
                                          const char *message,
                                          size_t message_size);
typedef void (*PJRT_Event_OnReadyCallback)(PJRT_Error *error, void *user_arg);
typedef PJRT_Error *(*PJRT_SendCallback)(PJRT_Chunk *chunk,
                                         PJRT_CallbackError *callback_error,
                                         size_t total_size_in_bytes,
                                         bool done,
                                         void *user_arg);
typedef void (*PJRT_RecvCallback)(PJRT_CopyToDeviceStream *stream, void *user_arg);
typedef void (*PJRT_HloOutputCallback)(int64_t replica_id,
                                       int64_t partition_id,
                                       const void *data,
                                       const int64_t *shape_dims,
                                       size_t shape_num_dims,
                                       PJRT_Buffer_Type shape_element_type,
                                       int64_t operand_index,
                                       void *user_arg);
typedef void (*PJRT_KeyValueGetCallback_ValueDeleter)(char *value);
typedef void (*PJRT_KeyValueTryGetCallback_ValueDeleter)(char *value);

typedef struct PJRT_KeyValueGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;  // out
  size_t value_size;
  // out; the plugin copies the value, then calls it
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;
} PJRT_KeyValueGetCallback_Args;
HSC_PJRT_SIZED(PJRT_KeyValueGetCallback_Args, value_deleter_callback);
typedef PJRT_Error *(*PJRT_KeyValueGetCallback)(PJRT_KeyValueGetCallback_Args *args);

typedef struct PJRT_KeyValueTryGetCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
  char *value;  // out
  size_t value_size;
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;  // out
} PJRT_KeyValueTryGetCallback_Args;
HSC_PJRT_SIZED(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);
typedef PJRT_Error *(*PJRT_KeyValueTryGetCallback)(PJRT_KeyValueTryGetCallback_Args *args);

typedef struct PJRT_KeyValuePutCallback_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *key;
  size_t key_size;
  const char *value;
  size_t value_size;
  PJRT_CallbackError *callback_error;
  void *user_arg;
} PJRT_KeyValuePutCallback_Args;
HSC_PJRT_SIZED(PJRT_KeyValuePutCallback_Args, user_arg);
typedef PJRT_Error *(*PJRT_KeyValuePutCallback)(PJRT_KeyValuePutCallback_Args *args);

typedef struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_SendCallback send_callback;
} PJRT_SendCallbackInfo;

typedef struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void *user_arg;
  PJRT_RecvCallback recv_callback;
} PJRT_RecvCallbackInfo;

typedef struct PJRT_HloOutputCallbackInfo {
  void *user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
} PJRT_HloOutputCallbackInfo;

// Options of one execution. Up to recv counts and launch_id since 0.29; the minor version at which
// each later field came is beside it.
typedef struct PJRT_ExecuteOptions {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_SendCallbackInfo **send_callbacks;
  PJRT_RecvCallbackInfo **recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  // 39: inputs that stay the caller's even where the program may reuse them
  const int64_t *non_donatable_input_indices;
  size_t num_non_donatable_input_indices;             // 39
  PJRT_ExecuteContext *context;                       // 64
  const char *call_location;                          // 76
  size_t num_tasks;                                   // 78
  int *task_ids;                                      // 78
  int64_t *incarnation_ids;                           // 78
  PJRT_MultiSlice_Config *multi_slice_config;         // 97
  bool use_major_to_minor_data_layout_for_callbacks;  // after 104, as the next two
  PJRT_HloOutputCallbackInfo *hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
} PJRT_ExecuteOptions;
HSC_PJRT_SIZED(PJRT_ExecuteOptions, num_hlo_output_callbacks);

typedef struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t *computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config *multi_slice_config;
} PJRT_LoadOptions;
HSC_PJRT_SIZED(PJRT_LoadOptions, multi_slice_config);

typedef struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
  void *dst;
} PJRT_Buffer_CopyRawToHostFuture_Callback_Args;
HSC_PJRT_SIZED(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

typedef struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void *callback_data;
  PJRT_Error_Code error_code;
  const char *error_message;
  size_t error_message_size;
} PJRT_Buffer_DonateWithControlDependency_Callback_Args;
HSC_PJRT_SIZED(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

// ---- arguments of the functions -----------------------------------------------------------------

// One row makes: struct <function>_Args, <function>_Args_STRUCT_SIZE, and <function>_Fn, the type
// of the function (VOID_ARGS: without a result).
#define HSC_PJRT_ARGS_STRUCT(function, last_field, ...) \
  typedef struct function##_Args { \
    size_t struct_size; \
    PJRT_Extension_Base *extension_start; \
    __VA_ARGS__ \
  } function##_Args; \
  HSC_PJRT_SIZED(function##_Args, last_field);
#define ARGS(function, last_field, ...) \
  HSC_PJRT_ARGS_STRUCT(function, last_field, __VA_ARGS__) \
  typedef PJRT_Error *function##_Fn(function##_Args *args);
#define VOID_ARGS(function, last_field, ...) \
  HSC_PJRT_ARGS_STRUCT(function, last_field, __VA_ARGS__) \
  typedef void function##_Fn(function##_Args *args);
#include "pjrt/abi_args.def"
#undef ARGS
#undef VOID_ARGS

// ---- the table ----------------------------------------------------------------------------------

typedef struct PJRT_Api {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Api_Version pjrt_api_version;
#define FN(function, need, minor, doc) function##_Fn *function;
#include "pjrt/functions.def"
#undef FN
} PJRT_Api;
HSC_PJRT_SIZED(PJRT_Api, PJRT_TopologyDescription_GetMemorySpaceKindIds);

// The one symbol that a plugin exports. The table lives as long as the library is loaded.
typedef const PJRT_Api *GetPjrtApi_Fn(void);

// Measured facts about released tables: what any change to the rows must keep.
_Static_assert(sizeof(PJRT_Api_Version) == 24, "version struct");
_Static_assert(offsetof(PJRT_Api, PJRT_Error_Destroy) == 40,
               "the first function follows the header");
_Static_assert(HSC_PJRT_SIZE_TO(PJRT_Api, PJRT_Event_Set) == 1064, "0.90: 128 functions");
_Static_assert(PJRT_Api_STRUCT_SIZE == 1144, "0.112: 138 functions");
_Static_assert(HSC_PJRT_SIZE_TO(PJRT_Executable_GetCompiledMemoryStats_Args,
                                peak_memory_in_bytes) == 112,
               "memory statistics of 0.75");
_Static_assert(HSC_PJRT_SIZE_TO(PJRT_Executable_GetCompiledMemoryStats_Args, total_size_in_bytes) ==
                   120,
               "memory statistics of 0.90");
_Static_assert(sizeof(PJRT_NamedValue) == 56 && sizeof(PJRT_Program) == 48,
               "named values and programs are arrays and copies in other libraries");

// ---- extension: profiler (type 1) ---------------------------------------------------------------
// Source: xla/pjrt/c/pjrt_c_api_profiler_extension.h and
// xla/backends/profiler/plugin/profiler_c_api.h. The profiler has error objects of its own.

typedef struct PLUGIN_Profiler PLUGIN_Profiler;
typedef struct PLUGIN_Profiler_Error PLUGIN_Profiler_Error;

typedef struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void *priv;
  PLUGIN_Profiler_Error *error;
} PLUGIN_Profiler_Error_Destroy_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_Error_Destroy_Args, error);

typedef struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void *priv;
  const PLUGIN_Profiler_Error *error;
  const char *message;  // out; lives as long as the error
  size_t message_size;  // out
} PLUGIN_Profiler_Error_Message_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_Error_Message_Args, message_size);

typedef struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void *priv;
  const PLUGIN_Profiler_Error *error;
  int code;  // out
} PLUGIN_Profiler_Error_GetCode_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_Error_GetCode_Args, code);

typedef struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char *options;  // tensorflow.ProfileOptions bytes
  size_t options_size;
  PLUGIN_Profiler *profiler;  // out
} PLUGIN_Profiler_Create_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_Create_Args, profiler);

typedef struct PLUGIN_Profiler_Args {  // of Destroy, Start and Stop
  size_t struct_size;
  PLUGIN_Profiler *profiler;
} PLUGIN_Profiler_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_Args, profiler);

typedef struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler *profiler;
  // NULL: the plugin answers with memory of its own (XLA's plugins) or with the size only
  uint8_t *buffer;
  size_t buffer_size_in_bytes;  // out; XLA's plugins count a trailing NUL
} PLUGIN_Profiler_CollectData_Args;
HSC_PJRT_SIZED(PLUGIN_Profiler_CollectData_Args, buffer_size_in_bytes);

typedef struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void *priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args *args);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args *args);
  PLUGIN_Profiler_Error *(*error_get_code)(PLUGIN_Profiler_Error_GetCode_Args *args);
  PLUGIN_Profiler_Error *(*create)(PLUGIN_Profiler_Create_Args *args);
  PLUGIN_Profiler_Error *(*destroy)(PLUGIN_Profiler_Args *args);
  PLUGIN_Profiler_Error *(*start)(PLUGIN_Profiler_Args *args);
  PLUGIN_Profiler_Error *(*stop)(PLUGIN_Profiler_Args *args);
  PLUGIN_Profiler_Error *(*collect_data)(PLUGIN_Profiler_CollectData_Args *args);
} PLUGIN_Profiler_Api;
HSC_PJRT_SIZED(PLUGIN_Profiler_Api, collect_data);

typedef struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api *profiler_api;
  int64_t traceme_context_id;
} PJRT_Profiler_Extension;
HSC_PJRT_SIZED(PJRT_Profiler_Extension, traceme_context_id);
_Static_assert(PJRT_Profiler_Extension_STRUCT_SIZE == 40, "profiler extension of 0.112");

// ---- extension: layouts (type 4) ----------------------------------------------------------------
// Source: xla/pjrt/c/pjrt_c_api_layouts_extension.h, version 4. A serialized layout is the text
// that XLA prints: "{1,0}" or "{1,0:T(8,128)}".

typedef struct PJRT_Layouts_MemoryLayout PJRT_Layouts_MemoryLayout;
typedef struct PJRT_Layouts_SerializedLayout PJRT_Layouts_SerializedLayout;

typedef struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
} PJRT_Layouts_MemoryLayout_Destroy_Args;
HSC_PJRT_SIZED(PJRT_Layouts_MemoryLayout_Destroy_Args, layout);

typedef struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Layouts_MemoryLayout *layout;
  const char *serialized_bytes;  // out, as the next three; valid until the deleter
  size_t serialized_bytes_size;
  PJRT_Layouts_SerializedLayout *serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout *layout);
} PJRT_Layouts_MemoryLayout_Serialize_Args;
HSC_PJRT_SIZED(PJRT_Layouts_MemoryLayout_Serialize_Args, serialized_layout_deleter);

typedef struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Client *client;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout;  // out, the caller's
} PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args;
HSC_PJRT_SIZED(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Buffer *buffer;
  PJRT_Layouts_MemoryLayout *layout;  // out, the caller's
} PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args;
HSC_PJRT_SIZED(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_TopologyDescription *topology_description;
  PJRT_Buffer_Type type;
  const int64_t *dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout *layout;  // out, the caller's
} PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args;
HSC_PJRT_SIZED(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, layout);

typedef struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_outputs;                   // out
  PJRT_Layouts_MemoryLayout **layouts;  // out; the array belongs to the executable
} PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args;
HSC_PJRT_SIZED(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, layouts);

typedef struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_Executable *executable;
  size_t num_parameters;                // out
  PJRT_Layouts_MemoryLayout **layouts;  // out; the array belongs to the executable
} PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args;
HSC_PJRT_SIZED(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args, layouts);

// ---- FFI extension: custom calls with handlers of XLA's FFI -------------------------------------

typedef struct PJRT_FFI_Type_Info {
  void (*deleter)(void *object);
  void *serialize, *deserialize;
} PJRT_FFI_Type_Info;
typedef struct PJRT_FFI_Type_Register_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  const char *type_name;
  size_t type_name_size;
  int64_t type_id;  // in and out: 0 asks for a number
  const PJRT_FFI_Type_Info *type_info;
} PJRT_FFI_Type_Register_Args;
typedef struct PJRT_FFI_UserData {
  int64_t type_id;
  void *data;
} PJRT_FFI_UserData;
typedef struct PJRT_FFI_UserData_Add_Args {
  size_t struct_size;
  PJRT_Extension_Base *extension_start;
  PJRT_ExecuteContext *context;
  PJRT_FFI_UserData user_data;
} PJRT_FFI_UserData_Add_Args;
typedef struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char *target_name;
  size_t target_name_size;
  void *handler;  // XLA_FFI_Handler
  const char *platform_name;
  size_t platform_name_size;
  int traits;
} PJRT_FFI_Register_Handler_Args;
typedef struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*type_register)(PJRT_FFI_Type_Register_Args *args);
  PJRT_Error *(*user_data_add)(PJRT_FFI_UserData_Add_Args *args);
  PJRT_Error *(*register_handler)(PJRT_FFI_Register_Handler_Args *args);
} PJRT_FFI_Extension;
HSC_PJRT_SIZED(PJRT_FFI_Extension, register_handler);

typedef struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Destroy)(PJRT_Layouts_MemoryLayout_Destroy_Args *args);
  PJRT_Error *(*PJRT_Layouts_MemoryLayout_Serialize)(
      PJRT_Layouts_MemoryLayout_Serialize_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Client_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Buffer_MemoryLayout)(
      PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Topology_GetDefaultLayout)(
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetOutputLayouts)(
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args *args);
  PJRT_Error *(*PJRT_Layouts_PJRT_Executable_GetParameterLayouts)(
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args *args);
} PJRT_Layouts_Extension;
HSC_PJRT_SIZED(PJRT_Layouts_Extension, PJRT_Layouts_PJRT_Executable_GetParameterLayouts);
_Static_assert(PJRT_Layouts_Extension_STRUCT_SIZE == 80, "layouts extension of 0.112");
