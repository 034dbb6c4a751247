// ffi_abi.h - facts of XLA's FFI, version 0.3: the structs that cross between a runtime and a
// handler of custom calls (xla/ffi/api/c_api.h, of jaxlib).
//
// Every struct begins with its size as its writer knows it. Names are XLA's, so that handlers'
// sources and this file can be read side by side.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define XLA_FFI_SIZE_TO(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

enum { XLA_FFI_API_MAJOR = 0, XLA_FFI_API_MINOR = 3 };

typedef struct XLA_FFI_Extension_Base {
  size_t struct_size;
  int32_t type;
  struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;
#define XLA_FFI_HEAD \
  size_t struct_size; \
  XLA_FFI_Extension_Base *extension_start

typedef struct XLA_FFI_Api_Version {
  XLA_FFI_HEAD;
  int major_version, minor_version;
} XLA_FFI_Api_Version;

typedef struct XLA_FFI_Error XLA_FFI_Error;  // ours: plugin_ffi.c
typedef struct XLA_FFI_Future XLA_FFI_Future;
typedef struct XLA_FFI_ExecutionContext XLA_FFI_ExecutionContext;

typedef struct XLA_FFI_Error_Create_Args {
  XLA_FFI_HEAD;
  const char *message;
  int32_t errc;
} XLA_FFI_Error_Create_Args;
typedef struct XLA_FFI_Error_GetMessage_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error *error;
  const char *message;
} XLA_FFI_Error_GetMessage_Args;
typedef struct XLA_FFI_Error_Destroy_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Error *error;
} XLA_FFI_Error_Destroy_Args;

typedef struct XLA_FFI_ByteSpan {
  const char *ptr;
  size_t len;
} XLA_FFI_ByteSpan;
// dtype: PrimitiveType of xla_data.proto
typedef struct XLA_FFI_Scalar {
  int32_t dtype;
  void *value;
} XLA_FFI_Scalar;
typedef struct XLA_FFI_Array {
  int32_t dtype;
  size_t size;
  void *data;
} XLA_FFI_Array;
typedef struct XLA_FFI_Buffer {
  XLA_FFI_HEAD;
  int32_t dtype;
  void *data;
  int64_t rank;
  int64_t *dims;
} XLA_FFI_Buffer;

// kinds of arguments and of results
enum { XLA_FFI_BUFFER = 1 };
enum {
  XLA_FFI_ATTR_ARRAY = 1,
  XLA_FFI_ATTR_DICTIONARY = 2,
  XLA_FFI_ATTR_SCALAR = 3,
  XLA_FFI_ATTR_STRING = 4
};
enum {
  XLA_FFI_INSTANTIATE = 0,
  XLA_FFI_PREPARE = 1,
  XLA_FFI_INITIALIZE = 2,
  XLA_FFI_EXECUTE = 3,
  XLA_FFI_STAGES = 4
};

typedef struct XLA_FFI_Args {
  XLA_FFI_HEAD;
  int64_t size;
  int32_t *types;
  void **args;
} XLA_FFI_Args;
typedef struct XLA_FFI_Rets {
  XLA_FFI_HEAD;
  int64_t size;
  int32_t *types;
  void **rets;
} XLA_FFI_Rets;
// sorted by name
typedef struct XLA_FFI_Attrs {
  XLA_FFI_HEAD;
  int64_t size;
  int32_t *types;
  XLA_FFI_ByteSpan **names;
  void **attrs;
} XLA_FFI_Attrs;

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_CallFrame {
  XLA_FFI_HEAD;
  const XLA_FFI_Api *api;
  XLA_FFI_ExecutionContext *ctx;
  int32_t stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future *future;  // out; struct_size ends before it
} XLA_FFI_CallFrame;
typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *frame);

typedef struct XLA_FFI_TypeId {
  int64_t type_id;
} XLA_FFI_TypeId;
typedef struct XLA_FFI_TypeInfo {
  XLA_FFI_HEAD;
  void (*deleter)(void *object);
} XLA_FFI_TypeInfo;

typedef struct XLA_FFI_Type_Register_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId *type_id;
  const XLA_FFI_TypeInfo *type_info;
} XLA_FFI_Type_Register_Args;
typedef struct XLA_FFI_ExecutionContext_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *data;
} XLA_FFI_ExecutionContext_Get_Args;
// Set, Get
typedef struct XLA_FFI_State_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int32_t stage;
  XLA_FFI_TypeId *type_id;
  void *state;
} XLA_FFI_State_Args;
typedef struct XLA_FFI_Stream_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  void *stream;
} XLA_FFI_Stream_Get_Args;
typedef struct XLA_FFI_DeviceMemory_Allocate_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  size_t size, alignment;
  void *data;
} XLA_FFI_DeviceMemory_Allocate_Args;
typedef struct XLA_FFI_DeviceMemory_Free_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  size_t size;
  void *data;
} XLA_FFI_DeviceMemory_Free_Args;
typedef struct XLA_FFI_ThreadPool_Schedule_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  void (*task)(void *data);
  void *data;
} XLA_FFI_ThreadPool_Schedule_Args;
typedef struct XLA_FFI_ThreadPool_NumThreads_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int64_t *num_threads;
} XLA_FFI_ThreadPool_NumThreads_Args;
// Create, SetAvailable, SetError
typedef struct XLA_FFI_Future_Args {
  XLA_FFI_HEAD;
  XLA_FFI_Future *future;
  XLA_FFI_Error *error;
} XLA_FFI_Future_Args;
typedef struct XLA_FFI_RunId_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int64_t run_id;
} XLA_FFI_RunId_Get_Args;
typedef struct XLA_FFI_DeviceOrdinal_Get_Args {
  XLA_FFI_HEAD;
  XLA_FFI_ExecutionContext *ctx;
  int32_t device_ordinal;
} XLA_FFI_DeviceOrdinal_Get_Args;
typedef struct XLA_FFI_Any_Args {
  XLA_FFI_HEAD;
} XLA_FFI_Any_Args;

struct XLA_FFI_Api {
  XLA_FFI_HEAD;
  XLA_FFI_Api_Version api_version;
  // for handlers that are built into XLA; ours has none
  const void *internal_api;
  XLA_FFI_Error *(*Error_Create)(XLA_FFI_Error_Create_Args *args);
  void (*Error_GetMessage)(XLA_FFI_Error_GetMessage_Args *args);
  void (*Error_Destroy)(XLA_FFI_Error_Destroy_Args *args);
  XLA_FFI_Error *(*Handler_Register)(XLA_FFI_Any_Args *args);
  XLA_FFI_Error *(*Stream_Get)(XLA_FFI_Stream_Get_Args *args);
  XLA_FFI_Error *(*Type_Register)(XLA_FFI_Type_Register_Args *args);
  XLA_FFI_Error *(*ExecutionContext_Get)(XLA_FFI_ExecutionContext_Get_Args *args);
  XLA_FFI_Error *(*State_Set)(XLA_FFI_State_Args *args);
  XLA_FFI_Error *(*State_Get)(XLA_FFI_State_Args *args);
  XLA_FFI_Error *(*DeviceMemory_Allocate)(XLA_FFI_DeviceMemory_Allocate_Args *args);
  XLA_FFI_Error *(*DeviceMemory_Free)(XLA_FFI_DeviceMemory_Free_Args *args);
  XLA_FFI_Error *(*ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args *args);
  XLA_FFI_Error *(*ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args *args);
  XLA_FFI_Error *(*Future_Create)(XLA_FFI_Future_Args *args);
  XLA_FFI_Error *(*Future_SetAvailable)(XLA_FFI_Future_Args *args);
  XLA_FFI_Error *(*Future_SetError)(XLA_FFI_Future_Args *args);
  XLA_FFI_Error *(*RunId_Get)(XLA_FFI_RunId_Get_Args *args);
  XLA_FFI_Error *(*DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args *args);
};
