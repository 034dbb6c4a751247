// plugin_ffi.c - handlers of XLA's FFI as custom calls: what jax.ffi.register_ffi_target(name,
// handler, platform="hloscope") brings.
//
// A call builds a frame of buffers and attributes and gives it to the handler's stages in turn.
// What instantiate makes lives as long as the program, what the other stages make as long as the
// call. Arrays are handed over in the layouts that the program names.
#include "plugin/ffi_abi.h"

#include <stdlib.h>

#include "hlo/ir/custom.h"
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
  int64_t types[XLA_FFI_STAGES];  // of the states; 0 = none
  void *states[XLA_FFI_STAGES];
};

typedef struct handler {
  XLA_FFI_Handler *stages[XLA_FFI_STAGES];  // NULL = the handler has none
} handler;

// ---- what handlers call -------------------------------------------------------------------------

static XLA_FFI_Error *make_error(int32_t code, const char *message) {
  size_t size = strlen(message ? message : "");
  XLA_FFI_Error *error = malloc(sizeof *error + size + 1);
  if (!error)
    return NULL;
  error->code = code;
  memcpy(error->message, message ? message : "", size);
  error->message[size] = '\0';
  return error;
}

static XLA_FFI_Error *Error_Create(XLA_FFI_Error_Create_Args *args) {
  return make_error(args->errc, args->message);
}
static void Error_GetMessage(XLA_FFI_Error_GetMessage_Args *args) {
  args->message = args->error->message;
}
static void Error_Destroy(XLA_FFI_Error_Destroy_Args *args) {
  free(args->error);
}

static XLA_FFI_Error *Handler_Register(XLA_FFI_Any_Args *args) {
  (void)args;
  return make_error(HSC_UNIMPLEMENTED,
                    "registering a handler from a handler: not supported by the hloscope device");
}

static XLA_FFI_Error *Stream_Get(XLA_FFI_Stream_Get_Args *args) {
  args->stream = NULL;
  return make_error(HSC_UNIMPLEMENTED, "the hloscope device is a CPU and has no stream");
}

// Types that handlers keep state in. Hosts that have numbers of their own for them (jaxlib has,
// from 1 on) keep those.
enum { MAX_TYPES = 256 };
static const int64_t first_type_id = 1 << 20;
static pthread_mutex_t types_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char name[128];
  int64_t id;
  void (*deleter)(void *object);
} types[MAX_TYPES];
static int type_count;

static XLA_FFI_Error *register_type(XLA_FFI_ByteSpan name,
                                    int64_t *type_id,
                                    void (*deleter)(void *object)) {
  XLA_FFI_Error *error = NULL;
  if (name.len >= sizeof types[0].name)
    return make_error(HSC_INVALID_ARGUMENT, "the name of a type is too long");
  pthread_mutex_lock(&types_lock);
  int at = 0;
  while (at < type_count &&
         (strlen(types[at].name) != name.len || memcmp(types[at].name, name.ptr, name.len) != 0))
    at++;
  if (at == MAX_TYPES) {
    error = make_error(HSC_RESOURCE_EXHAUSTED, "too many types");
  } else if (at < type_count && *type_id != 0 && *type_id != types[at].id) {
    error = make_error(HSC_INVALID_ARGUMENT, "the type is known under another number");
  } else {
    if (at == type_count) {
      memcpy(types[at].name, name.ptr, name.len);
      types[at].id = *type_id ? *type_id : first_type_id + at;
      type_count++;
    }
    if (deleter)
      types[at].deleter = deleter;
    *type_id = types[at].id;
  }
  pthread_mutex_unlock(&types_lock);
  return error;
}

static XLA_FFI_Error *Type_Register(XLA_FFI_Type_Register_Args *args) {
  bool has_deleter =
      args->type_info && args->type_info->struct_size >= XLA_FFI_SIZE_TO(XLA_FFI_TypeInfo, deleter);
  return register_type(args->name, &args->type_id->type_id,
                       has_deleter ? args->type_info->deleter : NULL);
}

static void delete_state(int64_t type, void *state) {
  void (*deleter)(void *) = NULL;
  pthread_mutex_lock(&types_lock);
  for (int t = 0; t < type_count; t++)
    if (types[t].id == type)
      deleter = types[t].deleter;
  pthread_mutex_unlock(&types_lock);
  if (state && deleter)
    deleter(state);
}

static XLA_FFI_Error *ExecutionContext_Get(XLA_FFI_ExecutionContext_Get_Args *args) {
  const PJRT_ExecuteContext *context = hsc__current.context;
  args->data = NULL;
  for (int i = 0; context && i < context->count; i++)
    if (context->values[i].type == args->type_id->type_id)
      args->data = context->values[i].data;
  return args->data ? NULL
                    : make_error(HSC_NOT_FOUND, "no data of this type was given to the execution");
}

static XLA_FFI_Error *State_Set(XLA_FFI_State_Args *args) {
  if (args->stage < 0 || args->stage >= XLA_FFI_STAGES)
    return make_error(HSC_INVALID_ARGUMENT, "a state of an unknown stage");
  if (args->ctx->states[args->stage])
    return make_error(HSC_FAILED_PRECONDITION, "the state is set already");
  args->ctx->types[args->stage] = args->type_id->type_id;
  args->ctx->states[args->stage] = args->state;
  return NULL;
}

static XLA_FFI_Error *State_Get(XLA_FFI_State_Args *args) {
  args->state = NULL;
  if (args->stage < 0 || args->stage >= XLA_FFI_STAGES || !args->ctx->states[args->stage])
    return make_error(HSC_NOT_FOUND, "the state is not set");
  if (args->ctx->types[args->stage] != args->type_id->type_id)
    return make_error(HSC_INVALID_ARGUMENT, "the state is of another type");
  args->state = args->ctx->states[args->stage];
  return NULL;
}

static XLA_FFI_Error *DeviceMemory_Allocate(XLA_FFI_DeviceMemory_Allocate_Args *args) {
  size_t alignment = args->alignment < sizeof(void *) ? sizeof(void *) : args->alignment;
  args->data = NULL;
  if (posix_memalign(&args->data, alignment, args->size ? args->size : 1) != 0)
    return make_error(HSC_RESOURCE_EXHAUSTED, "no memory for a handler");
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
  if (!args->future)
    return make_error(HSC_RESOURCE_EXHAUSTED, "no memory for a future");
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
  while (!future->done)
    pthread_cond_wait(&future->changed, &future->lock);
  XLA_FFI_Error *error = future->error;
  pthread_mutex_unlock(&future->lock);
  pthread_cond_destroy(&future->changed);
  pthread_mutex_destroy(&future->lock);
  free(future);
  return error;
}

static XLA_FFI_Error *RunId_Get(XLA_FFI_RunId_Get_Args *args) {
  args->run_id = hsc__current.run_id;
  return NULL;
}

static XLA_FFI_Error *DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args *args) {
  args->device_ordinal = hsc__current.device;
  return NULL;
}

static const XLA_FFI_Api api = {
    .struct_size = sizeof api,
    .api_version = {.struct_size = sizeof api.api_version,
                    .major_version = XLA_FFI_API_MAJOR,
                    .minor_version = XLA_FFI_API_MINOR},
#define FN(name) .name = name
    FN(Error_Create),
    FN(Error_GetMessage),
    FN(Error_Destroy),
    FN(Handler_Register),
    FN(Stream_Get),
    FN(Type_Register),
    FN(ExecutionContext_Get),
    FN(State_Set),
    FN(State_Get),
    FN(DeviceMemory_Allocate),
    FN(DeviceMemory_Free),
    FN(ThreadPool_Schedule),
    FN(ThreadPool_NumThreads),
    FN(Future_Create),
    FN(Future_SetAvailable),
    FN(Future_SetError),
    FN(RunId_Get),
    FN(DeviceOrdinal_Get),
#undef FN
};

// ---- the frame ----------------------------------------------------------------------------------

// Bytes of one number as its type stores it.
static void store_number(const hsc_config *value, unsigned char *to) {
  hsc_literal one = {.shape = hsc_shape_scalar(value->type), .data = to};
  if (value->kind == HSC_CONFIG_FLOAT)
    hsc_literal_set_double(&one, 0, value->number);
  else
    hsc_literal_set_int(&one, 0, value->integer);
}

static int by_name(const void *a, const void *b) {
  hsc_view x = (*(const hsc_config *const *)a)->name;
  hsc_view y = (*(const hsc_config *const *)b)->name;
  int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
  return order ? order : (x.size > y.size) - (x.size < y.size);
}

static hsc_status *fill_attributes(hsc_arena *arena, const hsc_config *dict, XLA_FFI_Attrs *out);

static hsc_status *fill_attribute(hsc_arena *arena,
                                  const hsc_config *value,
                                  int32_t *out_kind,
                                  void **out_attribute) {
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
        if (element->kind > HSC_CONFIG_FLOAT || element->type != type)
          return HSC_ERR(UNIMPLEMENTED,
                         "attribute: not built yet: an array of anything but numbers of one type");
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
  *out = (XLA_FFI_Attrs){.struct_size = sizeof *out,
                         .size = dict->count,
                         .types = HSC_NEW_ARRAY(arena, int32_t, count + 1),
                         .names = HSC_NEW_ARRAY(arena, XLA_FFI_ByteSpan *, count + 1),
                         .attrs = HSC_NEW_ARRAY(arena, void *, count + 1)};
  const hsc_config **sorted = HSC_NEW_ARRAY(arena, const hsc_config *, count + 1);
  XLA_FFI_ByteSpan *names = HSC_NEW_ARRAY(arena, XLA_FFI_ByteSpan, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (size_t i = 0; i < count; i++)
    sorted[i] = &dict->elements[i];
  qsort(sorted, count, sizeof *sorted, by_name);
  for (size_t i = 0; i < count; i++) {
    names[i] = (XLA_FFI_ByteSpan){sorted[i]->name.data, sorted[i]->name.size};
    out->names[i] = &names[i];
    HSC_TRY(fill_attribute(arena, sorted[i], &out->types[i], &out->attrs[i]));
  }
  return NULL;
}

static hsc_status *fill_buffers(hsc_arena *arena,
                                const hsc_literal *literals,
                                int count,
                                int32_t **out_types,
                                void ***out_buffers) {
  XLA_FFI_Buffer *buffers = HSC_NEW_ARRAY(arena, XLA_FFI_Buffer, count + 1);
  *out_types = HSC_NEW_ARRAY(arena, int32_t, count + 1);
  *out_buffers = HSC_NEW_ARRAY(arena, void *, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    const hsc_literal *x = &literals[i];
    buffers[i] = (XLA_FFI_Buffer){
        .struct_size = sizeof buffers[i],
        .dtype = hsc_type_proto(x->shape.type),
        .data = x->data,
        .rank = x->shape.rank,
        .dims = hsc_arena_copy(arena, x->shape.dims, (size_t)x->shape.rank * sizeof(int64_t))};
    (*out_types)[i] = XLA_FFI_BUFFER;
    (*out_buffers)[i] = &buffers[i];
  }
  return hsc_arena_status(arena);
}

// Arrays in the orders of dimensions that the program names for them; the same arrays where that is
// row-major.
static hsc_status *reordered(hsc_arena *arena,
                             const hsc_literal *literals,
                             int count,
                             const hsc_shape *layouts,
                             bool copy,
                             hsc_literal **out) {
  *out = HSC_NEW_ARRAY(arena, hsc_literal, count + 1);
  HSC_TRY(hsc_arena_status(arena));
  for (int i = 0; i < count; i++) {
    (*out)[i] = literals[i];
    if (!layouts || hsc_layout_is_default(&layouts[i]) || !literals[i].data)
      continue;
    (*out)[i].data = hsc_arena_alloc(arena, (size_t)hsc_shape_bytes(&literals[i].shape));
    HSC_TRY(hsc_arena_status(arena));
    if (copy)
      hsc_custom_to_layout(&literals[i], layouts[i].layout, (*out)[i].data);
  }
  return NULL;
}

static hsc_status *taken(XLA_FFI_Error *error, const char *target) {
  if (!error)
    return NULL;
  hsc_code code = error->code > 0 && error->code <= 16 ? (hsc_code)error->code : HSC_INTERNAL;
  hsc_status *status = hsc_status_make(code, __FILE__, __LINE__, "%s: %s", target, error->message);
  free(error);
  return status;
}

typedef struct hsc__ffi_state {
  const hsc_instr *instr;
  int64_t type;
  void *state;
  struct hsc__ffi_state *next;
} hsc__ffi_state;

void hsc__ffi_states_free(hsc__ffi_state *states) {
  for (hsc__ffi_state *s = states, *next; s; s = next) {
    next = s->next;
    delete_state(s->type, s->state);
    hsc_free(s);
  }
}

// The instance of the call in this program: made at its first execution, kept as long as the
// program.
static hsc_status *instance_of(const handler *h,
                               const hsc_custom_call *call,
                               const XLA_FFI_CallFrame *frame) {
  static pthread_mutex_t states_lock = PTHREAD_MUTEX_INITIALIZER;
  hsc__program *program = hsc__current.program;
  XLA_FFI_CallFrame stage = *frame;
  stage.stage = XLA_FFI_INSTANTIATE;
  stage.args.size = stage.rets.size = 0;  // there are no buffers yet
  pthread_mutex_lock(&states_lock);
  hsc__ffi_state *known = program ? program->ffi_states : NULL;
  while (known && known->instr != call->instr)
    known = known->next;
  hsc_status *status = known ? NULL : taken(h->stages[XLA_FFI_INSTANTIATE](&stage), call->target);
  if (!status && !known && stage.future)
    status = taken(wait_for(stage.future), call->target);
  if (!status && !known && program) {
    known = hsc_alloc(sizeof *known);
    if (!known)
      status = hsc_status_out_of_memory();
    else {
      *known = (hsc__ffi_state){call->instr, stage.ctx->types[XLA_FFI_INSTANTIATE],
                                stage.ctx->states[XLA_FFI_INSTANTIATE], program->ffi_states};
      program->ffi_states = known;
    }
  }
  pthread_mutex_unlock(&states_lock);
  if (status || !known)
    return status;
  stage.ctx->types[XLA_FFI_INSTANTIATE] = known->type;
  stage.ctx->states[XLA_FFI_INSTANTIATE] = known->state;
  return NULL;
}

static hsc_status *call_handler(void *user, const hsc_custom_call *call) {
  const handler *h = user;
  hsc_status *status = NULL;
  hsc_arena *arena = NULL;
  const hsc_config *config;
  struct XLA_FFI_ExecutionContext context = {0};
  XLA_FFI_CallFrame frame = {
      .struct_size = XLA_FFI_SIZE_TO(XLA_FFI_CallFrame, attrs), .api = &api, .ctx = &context};
  hsc_literal *operands, *results;
  HSC_GOTO(hsc_arena_create(&arena));
  HSC_GOTO(hsc_config_parse(call->config, arena, &config));
  const hsc_shape *operand_layouts =
      call->instr->attr.custom.operand_layout_count == call->operand_count
          ? call->instr->attr.custom.operand_layouts
          : NULL;
  hsc_shape *result_layouts = HSC_NEW_ARRAY(arena, hsc_shape, call->result_count + 1);
  HSC_GOTO(hsc_arena_status(arena));
  for (int i = 0; i < call->result_count; i++) {
    const hsc_shape *leaf = hsc_shape_leaf(&call->instr->shape, i);
    if (leaf)
      result_layouts[i] = *leaf;
  }
  HSC_GOTO(reordered(arena, call->operands, call->operand_count, operand_layouts, true, &operands));
  HSC_GOTO(reordered(arena, call->results, call->result_count, result_layouts, false, &results));
  frame.args = (XLA_FFI_Args){.struct_size = sizeof frame.args, .size = call->operand_count};
  frame.rets = (XLA_FFI_Rets){.struct_size = sizeof frame.rets, .size = call->result_count};
  HSC_GOTO(fill_buffers(arena, operands, call->operand_count, &frame.args.types, &frame.args.args));
  HSC_GOTO(fill_buffers(arena, results, call->result_count, &frame.rets.types, &frame.rets.rets));
  HSC_GOTO(fill_attributes(arena, config, &frame.attrs));
  if (h->stages[XLA_FFI_INSTANTIATE])
    HSC_GOTO(instance_of(h, call, &frame));
  for (frame.stage = XLA_FFI_INSTANTIATE + 1; frame.stage < XLA_FFI_STAGES; frame.stage++) {
    if (!h->stages[frame.stage])
      continue;
    XLA_FFI_CallFrame stage = frame;
    HSC_GOTO(taken(h->stages[frame.stage](&stage), call->target));
    if (stage.future)
      HSC_GOTO(taken(wait_for(stage.future), call->target));
  }
  for (int i = 0; i < call->result_count; i++)
    if (results[i].data != call->results[i].data)
      hsc_custom_from_layout(&call->results[i], result_layouts[i].layout, results[i].data);
done:
  for (int s = hsc__current.program ? XLA_FFI_PREPARE : XLA_FFI_INSTANTIATE; s < XLA_FFI_STAGES;
       s++)
    delete_state(context.types[s], context.states[s]);
  hsc_arena_destroy(arena);
  return status;
}

int32_t hsc__host_register_ffi(
    const char *target, void *instantiate, void *prepare, void *initialize, void *execute) {
  if (!execute)
    return HSC_INVALID_ARGUMENT;
  handler *h = hsc_alloc(sizeof *h);  // lives as long as the process, as the registration does
  if (!h)
    return HSC_RESOURCE_EXHAUSTED;
  void *stages[XLA_FFI_STAGES] = {instantiate, prepare, initialize, execute};
  memcpy(h->stages, stages, sizeof stages);
  hsc_status *status = hsc_custom_register(target, call_handler, h);
  int32_t code = status ? (int32_t)hsc_status_code(status) : 0;
  if (status)
    hsc_free(h);
  hsc_status_free(status);
  return code;
}

int32_t hsc__host_register_ffi_type(const char *name, int64_t *type_id, const void *type_info) {
  XLA_FFI_TypeId id = {*type_id};
  XLA_FFI_Type_Register_Args args = {.struct_size = sizeof args,
                                     .name = {name, strlen(name)},
                                     .type_id = &id,
                                     .type_info = type_info};
  XLA_FFI_Error *error = Type_Register(&args);
  int32_t code = error ? error->code : 0;
  free(error);
  if (!code)
    *type_id = id.type_id;
  return code;
}

// ---- the extension of the PJRT C API ------------------------------------------------------------

static PJRT_Error *error_of(XLA_FFI_Error *error) {
  hsc_status *status = NULL;
  if (error) {
    bool known = error->code > 0 && error->code <= 16;
    status = hsc_status_make(known ? (hsc_code)error->code : HSC_INTERNAL, __FILE__, __LINE__, "%s",
                             error->message);
  }
  free(error);
  return hsc__error_of(status);
}

static PJRT_Error *type_register(PJRT_FFI_Type_Register_Args *args) {
  bool has_info = args->struct_size >= HSC_PJRT_SIZE_TO(PJRT_FFI_Type_Register_Args, type_info) &&
                  args->type_info;
  return error_of(register_type((XLA_FFI_ByteSpan){args->type_name, args->type_name_size},
                                &args->type_id, has_info ? args->type_info->deleter : NULL));
}

static PJRT_Error *user_data_add(PJRT_FFI_UserData_Add_Args *args) {
  PJRT_ExecuteContext *context = args->context;
  if (!context)
    return hsc__error_of(
        HSC_ERR(INVALID_ARGUMENT, "user data for custom calls need an execute context"));
  for (int i = 0; i < context->count; i++)
    if (context->values[i].type == args->user_data.type_id)
      return hsc__error_of(HSC_ERR(ALREADY_EXISTS,
                                   "the execute context has data of type %lld already",
                                   (long long)args->user_data.type_id));
  if (!HSC_GROW(context->values, context->count, context->capacity))
    return hsc__error_of(hsc_status_out_of_memory());
  context->values[context->count++] =
      (struct hsc__user_value){args->user_data.type_id, args->user_data.data};
  return NULL;
}

static PJRT_Error *register_handler(PJRT_FFI_Register_Handler_Args *args) {
  char name[256];
  if (args->target_name_size >= sizeof name)
    return hsc__error_of(HSC_ERR(INVALID_ARGUMENT,
                                 "the name of a custom call has %zu bytes; %zu are possible",
                                 args->target_name_size, sizeof name - 1));
  memcpy(name, args->target_name, args->target_name_size);
  name[args->target_name_size] = '\0';
  int32_t code = hsc__host_register_ffi(name, NULL, NULL, NULL, args->handler);
  return code ? hsc__error_of(hsc_status_make((hsc_code)code, __FILE__, __LINE__,
                                              "custom call %s: the handler cannot be registered",
                                              name))
              : NULL;
}

PJRT_FFI_Extension hsc__ffi_extension = {
    .base = {.struct_size = PJRT_FFI_Extension_STRUCT_SIZE, .type = PJRT_Extension_Type_FFI},
    .type_register = type_register,
    .user_data_add = user_data_add,
    .register_handler = register_handler,
};
