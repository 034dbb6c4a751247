// odd_rules.c - what a plugin gets wrong as a whole, and what it may do, one row a call that the
// mode changes. odd_plugin.c lists the modes; tests/conform/test_odd_plugins.py says what `hloscope
// conform` must see in each.
//
// Read from the table `rules` on: a rule does the call, by the real plugin, and changes what goes
// in or comes out.
#include "odd_rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 8, LEAK_BYTES = 16384, LATE_ASKS = 3 };

// ---- wrong --------------------------------------------------------------------------------------

// A donated argument is copied and stays.
static PJRT_Error *keep_donated(odd_call *real, hsc_pjrt_function f, void *args) {
  static const int64_t all[FEW] = {0, 1, 2, 3, 4, 5, 6, 7};
  PJRT_LoadedExecutable_Execute_Args own = *(PJRT_LoadedExecutable_Execute_Args *)args;
  PJRT_ExecuteOptions options = *own.options;
  options.non_donatable_input_indices = all;
  options.num_non_donatable_input_indices = own.num_args < FEW ? own.num_args : FEW;
  own.options = &options;
  return real(f, &own);
}

// The host never gets its memory back: the event for that is one that nobody sets.
static PJRT_Error *never_done(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Client_BufferFromHostBuffer_Args *own = args;
  PJRT_Event_Create_Args made = {.struct_size = sizeof made};
  PJRT_Error *error = real(f, args);
  if (error)
    return error;
  error = real(HSC_FN_PJRT_Event_Create, &made);
  own->done_with_host_buffer = made.event;
  return error;
}

static PJRT_Error *reverse_layout(odd_call *real, hsc_pjrt_function f, void *args) {
  static _Thread_local int64_t order[FEW];
  PJRT_Error *error = real(f, args);
  PJRT_Buffer_MemoryLayout_Tiled *tiled = &((PJRT_Buffer_GetMemoryLayout_Args *)args)->layout.tiled;
  size_t count = tiled->minor_to_major_size;
  if (error || count > FEW)
    return error;
  for (size_t i = 0; i < count; i++)
    order[i] = tiled->minor_to_major[count - 1 - i];
  tiled->minor_to_major = order;
  return NULL;
}

static PJRT_Error *copy_nowhere(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Buffer_CopyToMemory_Args *own = args;
  PJRT_Buffer_Memory_Args at = {.struct_size = sizeof at, .buffer = own->buffer};
  PJRT_Memory *asked = own->dst_memory;
  PJRT_Error *error = real(HSC_FN_PJRT_Buffer_Memory, &at);
  if (error)
    return error;
  own->dst_memory = at.memory;
  error = real(f, own);
  own->dst_memory = asked;
  return error;
}

static PJRT_Error *one_kind(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Memory_Kind_Args *own = args;
  PJRT_Error *error = real(f, args);
  own->kind = "device";
  own->kind_size = 6;
  return error;
}

static PJRT_Error *forget_offset(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *own = args;
  own->offset = 0;
  return real(f, own);
}

static PJRT_Error *forget_last(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_AsyncHostToDeviceTransferManager_TransferData_Args *own = args;
  own->is_last_transfer = false;
  return real(f, own);
}

// Another fingerprint for each executable: what a pointer or a clock in it makes.
static PJRT_Error *new_fingerprint(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Executable_Fingerprint_Args *own = args;
  PJRT_Error *error = real(f, args);
  char *text = malloc(64);
  snprintf(text, 64, "%p", (void *)own->executable);
  own->executable_fingerprint = text;
  own->executable_fingerprint_size = strlen(text);
  return error;
}

// The bytes of every executable are those of the first.
static PJRT_Error *first_bytes(odd_call *real, hsc_pjrt_function f, void *args) {
  static char *kept;
  static size_t size;
  PJRT_Executable_Serialize_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (!error && !kept && (kept = malloc(own->serialized_bytes_size + 1))) {
    size = own->serialized_bytes_size;
    memcpy(kept, own->serialized_bytes, size);
  }
  if (!error && kept) {
    own->serialized_bytes = kept;
    own->serialized_bytes_size = size;
  }
  return error;
}

// Two devices get each other's results.
static PJRT_Error *swap_devices(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_LoadedExecutable_Execute_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (error || own->num_devices != 2)
    return error;
  PJRT_Buffer *first = own->output_lists[0][0];
  own->output_lists[0][0] = own->output_lists[1][0];
  own->output_lists[1][0] = first;
  return NULL;
}

static PJRT_Error *leak(odd_call *real, hsc_pjrt_function f, void *args) {
  char *lost = malloc(LEAK_BYTES);
  if (lost)
    memset(lost, 1, LEAK_BYTES);
  __asm__ volatile("" : : "r"(lost) : "memory");  // the compiler may not see that nobody has it
  return real(f, args);
}

// What a cache does: it grows for a while after the first rounds, and then no more.
static PJRT_Error *fill(odd_call *real, hsc_pjrt_function f, void *args) {
  enum { ROOM = 700 };
  static int count;
  return count++ < ROOM ? leak(real, f, args) : real(f, args);
}

// One table for all answers: the next call overwrites what the last one gave.
static PJRT_Error *shared_extents(odd_call *real, hsc_pjrt_function f, void *args) {
  static int64_t dims[FEW];
  PJRT_Buffer_Dimensions_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (error || own->num_dims > FEW)
    return error;
  memcpy(dims, own->dims, own->num_dims * sizeof *dims);
  own->dims = dims;
  return NULL;
}

static PJRT_Error *shared_text(odd_call *real, hsc_pjrt_function f, void *args) {
  static char text[256];
  PJRT_Executable_Name_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (error || own->executable_name_size >= sizeof text)
    return error;
  memcpy(text, own->executable_name, own->executable_name_size);
  own->executable_name = text;
  return NULL;
}

// Every function of events takes one lock, and callbacks are called under it.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static PJRT_Error *under_lock(odd_call *real, hsc_pjrt_function f, void *args) {
  pthread_mutex_lock(&lock);
  PJRT_Error *error = real(f, args);
  pthread_mutex_unlock(&lock);
  return error;
}

typedef struct twice {
  PJRT_Event_OnReadyCallback call;
  void *user;
} twice;

static void call_twice(PJRT_Error *error, void *user) {
  twice *t = user;
  t->call(error, t->user);
  t->call(NULL, t->user);
}

static PJRT_Error *on_ready_twice(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_OnReady_Args own = *(PJRT_Event_OnReady_Args *)args;
  twice *t = malloc(sizeof *t);
  *t = (twice){own.callback, own.user_arg};
  own.callback = call_twice;
  own.user_arg = t;
  return real(f, &own);
}

// Calls back at once, ready or not; with `late`, IsReady says no then.
static PJRT_Error *on_ready_at_once(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_OnReady_Args *own = args;
  own->callback(NULL, own->user_arg);
  return NULL;
}

// Whatever is wrong has the code UNIMPLEMENTED.
static PJRT_Error *nothing_known(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Error *error = real(f, args);
  ((PJRT_Error_GetCode_Args *)args)->code = PJRT_Error_Code_UNIMPLEMENTED;
  return error;
}

static PJRT_Error *refuse(odd_call *real, hsc_pjrt_function f, void *args) {
  size_t short_size = sizeof short_size;
  return real(f, &short_size);
}

// ---- legal --------------------------------------------------------------------------------------

// An event is ready after it was asked a few times or awaited, and stays so.
static _Atomic(uintptr_t) ready_events[4096];

static _Atomic(uintptr_t) *place_of(const PJRT_Event *event) {
  return &ready_events[((uintptr_t)event >> 4) % 4096];
}

static PJRT_Error *late_is_ready(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_IsReady_Args *own = args;
  PJRT_Error *error = real(f, args);
  if (own->is_ready && atomic_fetch_add(place_of(own->event), 1) < LATE_ASKS)
    own->is_ready = false;
  return error;
}

static PJRT_Error *late_await(odd_call *real, hsc_pjrt_function f, void *args) {
  usleep(2000);
  PJRT_Error *error = real(f, args);
  atomic_store(place_of(((PJRT_Event_Await_Args *)args)->event), LATE_ASKS);
  return error;
}

static PJRT_Error *late_destroy(odd_call *real, hsc_pjrt_function f, void *args) {
  atomic_store(place_of(((PJRT_Event_Destroy_Args *)args)->event), 0);
  return real(f, args);
}

typedef struct late {
  PJRT_Event_OnReadyCallback call;
  void *user;
  PJRT_Event *event;
} late;

static void late_callback(PJRT_Error *error, void *user) {
  late *l = user;
  atomic_store(place_of(l->event), LATE_ASKS);
  l->call(error, l->user);
  free(l);
}

static PJRT_Error *late_on_ready(odd_call *real, hsc_pjrt_function f, void *args) {
  PJRT_Event_OnReady_Args own = *(PJRT_Event_OnReady_Args *)args;
  late *l = malloc(sizeof *l);
  *l = (late){own.callback, own.user_arg, own.event};
  own.callback = late_callback;
  own.user_arg = l;
  return real(f, &own);
}

// Compiling a program that is called sleep_ms_N takes N ms more.
static PJRT_Error *compile_asleep(odd_call *real, hsc_pjrt_function f, void *args) {
  static const char name[] = "sleep_ms_";
  const PJRT_Program *program = ((PJRT_Client_Compile_Args *)args)->program;
  const char *at = memmem(program->code, program->code_size, name, sizeof name - 1);
  if (at)
    usleep((useconds_t)atoi(at + sizeof name - 1) * 1000);
  return real(f, args);
}

// ---- which mode changes which call --------------------------------------------------------------

static const struct rule {
  const char *mode;
  hsc_pjrt_function function;
  PJRT_Error *(*call)(odd_call *real, hsc_pjrt_function function, void *args);
} rules[] = {
    {"donated-stays", HSC_FN_PJRT_LoadedExecutable_Execute, keep_donated},
    {"done-never", HSC_FN_PJRT_Client_BufferFromHostBuffer, never_done},
    {"layout-reversed", HSC_FN_PJRT_Buffer_GetMemoryLayout, reverse_layout},
    {"copies-nowhere", HSC_FN_PJRT_Buffer_CopyToMemory, copy_nowhere},
    {"one-kind", HSC_FN_PJRT_Memory_Kind, one_kind},
    {"offset-lost", HSC_FN_PJRT_AsyncHostToDeviceTransferManager_TransferData, forget_offset},
    {"last-lost", HSC_FN_PJRT_AsyncHostToDeviceTransferManager_TransferData, forget_last},
    {"fingerprint-new", HSC_FN_PJRT_Executable_Fingerprint, new_fingerprint},
    {"first-bytes", HSC_FN_PJRT_Executable_Serialize, first_bytes},
    {"devices-swapped", HSC_FN_PJRT_LoadedExecutable_Execute, swap_devices},
    {"leak", HSC_FN_PJRT_LoadedExecutable_Execute, leak},
    {"fills", HSC_FN_PJRT_LoadedExecutable_Execute, fill},
    {"shared-extents", HSC_FN_PJRT_Buffer_Dimensions, shared_extents},
    {"shared-text", HSC_FN_PJRT_Executable_Name, shared_text},
    {"locked", HSC_FN_PJRT_Event_OnReady, under_lock},
    {"locked", HSC_FN_PJRT_Event_IsReady, under_lock},
    {"locked", HSC_FN_PJRT_Event_Destroy, under_lock},
    {"twice", HSC_FN_PJRT_Event_OnReady, on_ready_twice},
    {"early", HSC_FN_PJRT_Event_OnReady, on_ready_at_once},
    {"early", HSC_FN_PJRT_Event_IsReady, late_is_ready},
    {"unimplemented", HSC_FN_PJRT_Error_GetCode, nothing_known},
    {"runs-nothing", HSC_FN_PJRT_LoadedExecutable_Execute, refuse},
    {"runs-nothing", HSC_FN_PJRT_Error_GetCode, nothing_known},
    {"sleeps", HSC_FN_PJRT_Client_Compile, compile_asleep},
    {"late", HSC_FN_PJRT_Event_IsReady, late_is_ready},
    {"late", HSC_FN_PJRT_Event_Await, late_await},
    {"late", HSC_FN_PJRT_Event_Destroy, late_destroy},
    {"late", HSC_FN_PJRT_Event_OnReady, late_on_ready},
};

PJRT_Error *odd_rule_call(const char *mode,
                          hsc_pjrt_function function,
                          void *args,
                          odd_call *real) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i].function == function && !strcmp(rules[i].mode, mode))
      return rules[i].call(real, function, args);
  return odd_fault_call(mode, function, args, real);
}

// ---- the table ----------------------------------------------------------------------------------

// What a plugin of an older version has: the table ends with the functions of that version.
static void be_older(PJRT_Api *api, int minor) {
  size_t end = offsetof(PJRT_Api, PJRT_Error_Destroy);
  for (int f = 0; f < HSC_PJRT_FUNCTION_COUNT; f++) {
    const hsc_pjrt_function_info *info = hsc_pjrt_function_get((hsc_pjrt_function)f);
    if (info->minor <= minor && info->offset + sizeof(void *) > end)
      end = info->offset + sizeof(void *);
  }
  api->struct_size = end;
  api->pjrt_api_version.minor_version = minor;
}

void odd_rule_table(const char *mode, PJRT_Api *api, PJRT_Extension_Base *add) {
  if (!strncmp(mode, "older-", 6))
    be_older(api, atoi(mode + 6));
  else if (!strcmp(mode, "bare"))
    api->extension_start = NULL;
  else if (!strcmp(mode, "short-table"))
    api->struct_size -= 2 * sizeof(void *);
  else if (!strcmp(mode, "no-on-ready"))
    api->PJRT_Event_OnReady = NULL;
  else if (!strcmp(mode, "no-execute"))
    api->PJRT_LoadedExecutable_Execute = NULL;
  if (!strcmp(mode, "extension-empty")) {
    add[0] = (PJRT_Extension_Base){.type = (PJRT_Extension_Type)50, .next = api->extension_start};
    api->extension_start = add;
  } else if (!strcmp(mode, "extension-small")) {
    // says that it is the layouts, and holds none of their functions
    add[0] = (PJRT_Extension_Base){.struct_size = PJRT_Extension_Base_STRUCT_SIZE,
                                   .type = PJRT_Extension_Type_Layouts};
    api->extension_start = add;
  } else if (!strcmp(mode, "extension-loop")) {
    add[0] = (PJRT_Extension_Base){.struct_size = PJRT_Extension_Base_STRUCT_SIZE,
                                   .type = (PJRT_Extension_Type)51};
    add[0].next = &add[1];
    add[1] = add[0];
    add[1].type = (PJRT_Extension_Type)52;
    add[1].next = &add[0];
    api->extension_start = add;
  }
}
