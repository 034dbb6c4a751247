// plugin_ffi.c - handlers of XLA's FFI as custom calls: what jax.ffi.register_ffi_target(name, handler, platform="hloscope") brings.
//
// A call builds a frame of buffers and attributes and gives it to the handler's stages in turn. A site has no instance that outlives a call: instantiate
// runs each time, and its state is freed after the execution. Arrays are handed over in the layouts that the program names.
#include "plugin/ffi_abi.h"

#include <stdlib.h>

#include "hlo/custom.h"
#include "plugin/plugin_host.h"
#include "plugin/plugin_internal.h"

struct XLA_FFI_Error {
  int32_t code;
  char message[];
};

struct XLA_FFI_Future {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool done;
  XLA_FFI_Error *error;
};

struct XLA_FFI_ExecutionContext {
  int64_t types[XLA_FFI_STAGES];   // of the states; 0 = none
  void *states[XLA_FFI_STAGES];
};

typedef struct handler {
  XLA_FFI_Handler *stages[XLA_FFI_STAGES];   // NULL = the handler has none
} handler;

// ---- what handlers call ---------------------------------------------------------------------------------------------------------

static XLA_FFI_Error *make_error(int32_t code, const char *message) {
  size_t size = strlen(message ? message : "");
  XLA_FFI_Error *error = malloc(sizeof *error + size + 1);
  if (!error) return NULL;
  error->code = code;
  memcpy(error->message, message ? message : "", size);
  error->message[size] = '\0';
  return error;
}

static XLA_FFI_Error *Error_Create(XLA_FFI_Error_Create_Args *args) { return make_error(args->errc, args->message); }
static void Error_GetMessage(XLA_FFI_Error_GetMessage_Args *args) { args->message = args->error->message; }
static void Error_Destroy(XLA_FFI_Error_Destroy_Args *args) { free(args->error); }

static XLA_FFI_Error *Handler_Register(XLA_FFI_Any_Args *args) {
  (void)args;
  return make_error(HSC_UNIMPLEMENTED, "registering a handler from a handler: not supported by the hloscope device");
}

static XLA_FFI_Error *Stream_Get(XLA_FFI_Stream_Get_Args *args) {
  args->stream = NULL;
  return make_error(HSC_UNIMPLEMENTED, "the hloscope device is a CPU and has no stream");
}

enum { MAX_TYPES = 256 };
static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char name[128];
  void (*deleter)(void *object);
} types[MAX_TYPES];
static int type_count;   // type ids are positions, from 1

static XLA_FFI_Error *Type_Register(XLA_FFI_Type_Register_Args *args) {
  XLA_FFI_Error *error = NULL;
  if (args->name.len >= sizeof types[0].name) return make_error(HSC_INVALID_ARGUMENT, "the name of a type is too long");
  pthread_mutex_lock(&types_lock);
  int at = 0;
  while (at < type_count && (strlen(types[at].name) != args->name.len || memcmp(types[at].name, args->name.ptr, args->name.len) != 0)) at++;
  if (at == MAX_TYPES) {
    error = make_error(HSC_RESOURCE_EXHAUSTED, "too many types");
  } else if (args->type_id->type_id != 0 && args->type_id->type_id != at + 1) {
    error = make_error(HSC_INVALID_ARGUMENT, "the type is known under another number");
  } else {
    if (at == type_count) {
      memcpy(types[at].name, args->name.ptr, args->name.len);
      type_count++;
    }
    if (args->type_info && args->type_info->struct_size >= XLA_FFI_SIZE_TO(XLA_FFI_TypeInfo, deleter)) types[at].deleter = args->type_info->deleter;
    args->type_id->type_id = at + 1;
  }
  pthread_mutex_unlock(&types_lock);
  return error;
}

static XLA_FFI_Error *ExecutionContext_Get(XLA_FFI_ExecutionContext_Get_Args *args) {
  args->data = NULL;
  return make_error(HSC_NOT_FOUND, "no data of this type was given to the execution");
}

static XLA_FFI_Error *State_Set(XLA_FFI_State_Args *args) {
  if (args->stage < 0 || args->stage >= XLA_FFI_STAGES) return make_error(HSC_INVALID_ARGUMENT, "a state of an unknown stage");
  if (args->ctx->states[args->stage]) return make_error(HSC_FAILED_PRECONDITION, "the state is set already");
  args->ctx->types[args->stage] = args->type_id->type_id;
  args->ctx->states[args->stage] = args->state;
  return NULL;
}

static XLA_FFI_Error *State_Get(XLA_FFI_State_Args *args) {
  args->state = NULL;
  if (args->stage < 0 || args->stage >= XLA_FFI_STAGES || !args->ctx->states[args->stage]) return make_error(HSC_NOT_FOUND, "the state is not set");
  if (args->ctx->types[args->stage] != args->type_id->type_id) return make_error(HSC_INVALID_ARGUMENT, "the state is of another type");
  args->state = args->ctx->states[args->stage];
  return NULL;
}

static XLA_FFI_Error *DeviceMemory_Allocate(XLA_FFI_DeviceMemory_Allocate_Args *args) {
  size_t alignment = args->alignment < sizeof(void *) ? sizeof(void *) : args->alignment;
  args->data = NULL;
  if (posix_memalign(&args->data, alignment, args->size ? args->size : 1) != 0) return make_error(HSC_RESOURCE_EXHAUSTED, "no memory for a handler");
  return NULL;
}

static XLA_FFI_Error *DeviceMemory_Free(XLA_FFI_DeviceMemory_Free_Args *args) {
  free(args->data);
  return NULL;
}

// Tasks run at once: a handler must not count on when or where.
static XLA_FFI_Error *ThreadPool_Schedule(XLA_FFI_ThreadPool_Schedule_Args *args) {
  args->task(args->data);
  return NULL;
}

static XLA_FFI_Error *ThreadPool_NumThreads(XLA_FFI_ThreadPool_NumThreads_Args *args) {
  *args->num_threads = 1;
  return NULL;
}

static XLA_FFI_Error *Future_Create(XLA_FFI_Future_Args *args) {
  args->future = calloc(1, sizeof *args->future);
  if (!args->future) return make_error(HSC_RESOURCE_EXHAUSTED, "no memory for a future");
  pthread_mutex_init(&args->future->lock, NULL);
  pthread_cond_init(&args->future->changed, NULL);
  return NULL;
}

static void finish_future(XLA_FFI_Future *future, XLA_FFI_Error *error) {
  pthread_mutex_lock(&future->lock);
  future->done = true;
  future->error = error;
  pthread_cond_broadcast(&future->changed);
  pthread_mutex_unlock(&future->lock);
}

static XLA_FFI_Error *Future_SetAvailable(XLA_FFI_Future_Args *args) {
  finish_future(args->future, NULL);
  return NULL;
}

static XLA_FFI_Error *Future_SetError(XLA_FFI_Future_Args *args) {
  finish_future(args->future, args->error);
  return NULL;
}

static XLA_FFI_Error *wait_for(XLA_FFI_Future *future) {
  pthread_mutex_lock(&future->lock);
  while (!future->done) pthread_cond_wait(&future->changed, &future->lock);
  XLA_FFI_Error *error = future->error;
  pthread_mutex_unlock(&future->lock);
  pthread_cond_destroy(&future->changed);
  pthread_mutex_destroy(&future->lock);
  free(future);
  return error;
}

static XLA_FFI_Error *RunId_Get(XLA_FFI_RunId_Get_Args *args) {
  args->run_id = 0;
  return NULL;
}

static XLA_FFI_Error *DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = 0;
  return NULL;
}

static const XLA_FFI_Api api = {
    .struct_size = sizeof api,
    .api_version = {.struct_size = sizeof api.api_version, .major_version = XLA_FFI_API_MAJOR, .minor_version = XLA_FFI_API_MINOR},
#define FN(name) .name = name
    FN(Error_Create), FN(Error_GetMessage), FN(Error_Destroy), FN(Handler_Register), FN(Stream_Get), FN(Type_Register), FN(ExecutionContext_Get), FN(State_Set),
    FN(State_Get), FN(DeviceMemory_Allocate), FN(DeviceMemory_Free), FN(ThreadPool_Schedule), FN(ThreadPool_NumThreads), FN(Future_Create), FN(Future_SetAvailable),
    FN(Future_SetError), FN(RunId_Get), FN(DeviceOrdinal_Get),
#undef FN
};

// ---- the frame ------------------------------------------------------------------------------------------------------------------

// Bytes of one number as its type stores it.
static void store_number(const hsc_config *value, unsigned char *to) {
  hsc_literal one = {.shape = hsc_shape_scalar(value->type), .data = to};
  if (value->kind == HSC_CONFIG_FLOAT) hsc_literal_set_double(&one, 0, value->number);
  else hsc_literal_set_int(&one, 0, value->integer);
}

static int by_name(const void *a, const void *b) {
  hsc_view x = (*(const hsc_config *const *)a)->name, y = (*(const hsc_config *const *)b)->name;
  int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

static hsc_status *fill_attributes(hsc_arena *arena, const hsc_config *dict, XLA_FFI_Attrs *out);

static hsc_status *fill_attribute(hsc_arena *arena, const hsc_config *value, int32_t *out_kind, void **out_attribute) {
  switch (value->kind) {
    case HSC_CONFIG_STRING: {
      XLA_FFI_ByteSpan *span = HSC_NEW(arena, XLA_FFI_ByteSpan);
      *span = (XLA_FFI_ByteSpan){value->text, value->text_bytes};
      *out_kind = XLA_FFI_ATTR_STRING;
      *out_attribute = span;
      break;
    }
    case HSC_CONFIG_DICT: {
      XLA_FFI_Attrs *attributes = HSC_NEW(arena, XLA_FFI_Attrs);
      HSC_TRY(hsc_arena_status(arena));
      HSC_TRY(fill_attributes(arena, value, attributes));
      *out_kind = XLA_FFI_ATTR_DICTIONARY;
      *out_attribute = attributes;
      break;
    }
    case HSC_CONFIG_ARRAY: {
      hsc_type type = value->type == HSC_TYPE_INVALID ? HSC_TYPE_S64 : value->type;
      size_t bytes = hsc_type_bytes(type);
      XLA_FFI_Array *array = HSC_NEW(arena, XLA_FFI_Array);
      unsigned char *data = hsc_arena_alloc(arena, bytes * (size_t)value->count + 1);
      HSC_TRY(hsc_arena_status(arena));
      for (int32_t i = 0; i < value->count; i++) {
        const hsc_config *element = &value->elements[i];
        if (element->kind > HSC_CONFIG_FLOAT || element->type != type) return HSC_ERR(UNIMPLEMENTED, "attribute: not built yet: an array of anything but numbers of one type");
        store_number(element, data + (size_t)i * bytes);
      }
      *array = (XLA_FFI_Array){hsc_type_proto(type), (size_t)value->count, data};
      *out_kind = XLA_FFI_ATTR_ARRAY;
      *out_attribute = array;
      break;
    }
    default: {
      XLA_FFI_Scalar *scalar = HSC_NEW(arena, XLA_FFI_Scalar);
      unsigned char *data = hsc_arena_alloc(arena, 16);
      HSC_TRY(hsc_arena_status(arena));
      store_number(value, data);
      *scalar = (XLA_FFI_Scalar){hsc_type_proto(value->type), data};
      *out_kind = XLA_FFI_ATTR_SCALAR;
      *out_attribute = scalar;
    }
  }
  return hsc_arena_status(arena);
}

static hsc_status *fill_attributes(hsc_arena *arena, const hsc_config *dict, XLA_FFI_Attrs *out) {
  size_t count = (size_t)dict->count;
  *out = (XLA_FFI_Attrs){.struct_size = sizeof *out, .size = dict->count, .types = HSC_NEW_ARRAY(arena, int32_t, count + 1), .names = HSC_NEW_ARRAY(arena, XLA_FFI_ByteSpan *, count + 1),
                         .attrs = HSC_NEW_ARRAY(arena, void *, count + 1)};
  const hsc_config **sorted = HSC_NEW_ARRAY(arena, const hsc_config *, count + 1);
  XLA_FFI_ByteSpan *names = HSC_NEW_ARRAY(arena, XLA_FFI_ByteSpan, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++) sorted[i] = &dict->elements[i];
  qsort(sorted, count, sizeof *sorted, by_name);
  for (size_t i = 0; i < count; i++) {
    names[i] = (XLA_FFI_ByteSpan){sorted[i]->name.data, sorted[i]->name.size};
    out->names[i] = &names[i];
    HSC_TRY(fill_attribute(arena, sorted[i], &out->types[i], &out->attrs[i]));
  }
  return NULL;
}

static hsc_status *fill_buffers(hsc_arena *arena, const hsc_literal *literals, int count, int32_t **out_types, void ***out_buffers) {
  XLA_FFI_Buffer *buffers = HSC_NEW_ARRAY(arena, XLA_FFI_Buffer, count + 1);
  *out_types = HSC_NEW_ARRAY(arena, int32_t, count + 1);
  *out_buffers = HSC_NEW_ARRAY(arena, void *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    const hsc_literal *x = &literals[i];
    buffers[i] = (XLA_FFI_Buffer){.struct_size = sizeof buffers[i], .dtype = hsc_type_proto(x->shape.type), .data = x->data, .rank = x->shape.rank,
                                  .dims = hsc_arena_copy(arena, x->shape.dims, (size_t)x->shape.rank * sizeof(int64_t))};
    (*out_types)[i] = XLA_FFI_BUFFER;
    (*out_buffers)[i] = &buffers[i];
  }
  return hsc_arena_status(arena);
}

// Arrays in the orders of dimensions that the program names for them; the same arrays where that is row-major.
static hsc_status *reordered(hsc_arena *arena, const hsc_literal *literals, int count, const hsc_shape *layouts, bool copy, hsc_literal **out) {
  *out = HSC_NEW_ARRAY(arena, hsc_literal, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    (*out)[i] = literals[i];
    if (!layouts || hsc_layout_is_default(&layouts[i]) || !literals[i].data) continue;
    (*out)[i].data = hsc_arena_alloc(arena, (size_t)hsc_shape_bytes(&literals[i].shape));
    HSC_TRY(hsc_arena_status(arena));
    if (copy) hsc_custom_to_layout(&literals[i], layouts[i].layout, (*out)[i].data);
  }
  return NULL;
}

static hsc_status *taken(XLA_FFI_Error *error, const char *target) {
  if (!error) return NULL;
  hsc_code code = error->code > 0 && error->code <= 16 ? (hsc_code)error->code : HSC_INTERNAL;
  hsc_status *status = hsc_status_make(code, __FILE__, __LINE__, "%s: %s", target, error->message);
  free(error);
  return status;
}

static hsc_status *call_handler(void *user, const hsc_custom_call *call) {
  const handler *h = user;
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  const hsc_config *config;
  struct XLA_FFI_ExecutionContext context = {0};
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_SIZE_TO(XLA_FFI_CallFrame, attrs), .api = &api, .ctx = &context};
  hsc_literal *operands, *results;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_config_parse(call->config, arena, &config));
  const hsc_shape *operand_layouts = call->instr->attr.custom.operand_layout_count == call->operand_count ? call->instr->attr.custom.operand_layouts : NULL;
  hsc_shape *result_layouts = HSC_NEW_ARRAY(arena, hsc_shape, call->result_count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < call->result_count; i++) {
    const hsc_shape *leaf = hsc_shape_leaf(&call->instr->shape, i);
    if (leaf) result_layouts[i] = *leaf;
  }
  HSC_GOTO(reordered(arena, call->operands, call->operand_count, operand_layouts, true, &operands));
  HSC_GOTO(reordered(arena, call->results, call->result_count, result_layouts, false, &results));
  frame.args = (XLA_FFI_Args){.struct_size = sizeof frame.args, .size = call->operand_count};
  frame.rets = (XLA_FFI_Rets){.struct_size = sizeof frame.rets, .size = call->result_count};
  HSC_GOTO(fill_buffers(arena, operands, call->operand_count, &frame.args.types, &frame.args.args));
  HSC_GOTO(fill_buffers(arena, results, call->result_count, &frame.rets.types, &frame.rets.rets));
  HSC_GOTO(fill_attributes(arena, config, &frame.attrs));
  for (frame.stage = XLA_FFI_INSTANTIATE; frame.stage < XLA_FFI_STAGES; frame.stage++) {
    if (!h->stages[frame.stage]) continue;
    XLA_FFI_CallFrame stage = frame;
    if (stage.stage == XLA_FFI_INSTANTIATE) stage.args.size = stage.rets.size = 0;   // there are no buffers yet
    HSC_GOTO(taken(h->stages[frame.stage](&stage), call->target));
    if (stage.future) HSC_GOTO(taken(wait_for(stage.future), call->target));
  }
  for (int i = 0; i < call->result_count; i++)
    if (results[i].data != call->results[i].data) hsc_custom_from_layout(&call->results[i], result_layouts[i].layout, results[i].data);
done:
  for (int s = 0; s < XLA_FFI_STAGES; s++) {
    int64_t type = context.types[s];
    if (context.states[s] && type > 0 && type <= MAX_TYPES && types[type - 1].deleter) types[type - 1].deleter(context.states[s]);
  }
  hsc_arena_destroy(arena);
  return status;
}

int32_t hsc__host_register_ffi(const char *target, void *instantiate, void *prepare, void *initialize, void *execute) {
  if (!execute) return HSC_INVALID_ARGUMENT;
  handler *h = hsc_alloc(sizeof *h);   // lives as long as the process, as the registration does
  if (!h) return HSC_RESOURCE_EXHAUSTED;
  void *stages[XLA_FFI_STAGES] = {instantiate, prepare, initialize, execute};
  memcpy(h->stages, stages, sizeof stages);
  hsc_status *status = hsc_custom_register(target, call_handler, h);
  int32_t code = status ? (int32_t)hsc_status_code(status) : 0;
  if (status) hsc_free(h);
  hsc_status_free(status);
  return code;
}

int32_t hsc__host_register_ffi_type(const char *name, int64_t *type_id, const void *type_info) {
  XLA_FFI_TypeId id = {*type_id};
  XLA_FFI_Type_Register_Args args = {.struct_size = sizeof args, .name = {name, strlen(name)}, .type_id = &id, .type_info = type_info};
  XLA_FFI_Error *error = Type_Register(&args);
  int32_t code = error ? error->code : 0;
  free(error);
  if (!code) *type_id = id.type_id;
  return code;
}
