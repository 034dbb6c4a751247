// checks_profiler.c - the profiler extension: a session records, its bytes are an XSpace, sessions
// follow each other, and what is done out of turn is an error or nothing, never a crash.
#include <stdlib.h>

#include "base/wire/wire.h"
#include "lab/conform/conform_internal.h"

// ProfileOptions: version (field 5) 1, host_tracer_level (2) 2, device_tracer_level (3) 1
static const char profile_options[] = {0x28, 1, 0x10, 2, 0x18, 1};

static const PLUGIN_Profiler_Api *profiler_of(hsc_conform *c) {
  const PJRT_Profiler_Extension *extension =
      hsc__conform_extension(c, PJRT_Extension_Type_Profiler,
                             HSC_PJRT_SIZE_TO(PJRT_Profiler_Extension, profiler_api), "profiler");
  if (!extension)
    return NULL;
  const PLUGIN_Profiler_Api *api = extension->profiler_api;
  if (!api || api->struct_size < PLUGIN_Profiler_Api_STRUCT_SIZE || !api->create || !api->start ||
      !api->stop || !api->collect_data || !api->destroy || !api->error_destroy ||
      !api->error_message || !api->error_get_code) {
    hsc__conform_fail(c, "the profiler extension has no table, or an incomplete one");
    return NULL;
  }
  return api;
}

// Whether there was no error; the error's message is the check's failure, unless `may_fail`.
static bool is_fine(hsc_conform *c,
                    const PLUGIN_Profiler_Api *api,
                    const char *step,
                    PLUGIN_Profiler_Error *error,
                    bool may_fail) {
  if (!error)
    return true;
  PLUGIN_Profiler_Error_Message_Args message = {
      .struct_size = PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE, .error = error};
  PLUGIN_Profiler_Error_GetCode_Args code = {
      .struct_size = PLUGIN_Profiler_Error_GetCode_Args_STRUCT_SIZE, .error = error};
  PLUGIN_Profiler_Error_Destroy_Args destroy = {
      .struct_size = PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE, .error = error};
  api->error_message(&message);
  api->error_get_code(&code);
  if (!message.message || message.message_size == 0 || code.code <= PJRT_Error_Code_OK ||
      code.code > PJRT_Error_Code_UNAUTHENTICATED)
    hsc__conform_fail(c, "the error of %s has code %d and %zu bytes of text", step, code.code,
                      message.message_size);
  else if (!may_fail)
    hsc__conform_fail(c, "%s failed: %.*s", step, (int)message.message_size, message.message);
  api->error_destroy(&destroy);
  return false;
}

static PLUGIN_Profiler *session_new(hsc_conform *c, const PLUGIN_Profiler_Api *api) {
  PLUGIN_Profiler_Create_Args args = {.struct_size = PLUGIN_Profiler_Create_Args_STRUCT_SIZE,
                                      .options = profile_options,
                                      .options_size = sizeof profile_options};
  if (!is_fine(c, api, "create", api->create(&args), false))
    return NULL;
  if (!args.profiler)
    hsc__conform_fail(c, "create succeeded and gave no profiler");
  return args.profiler;
}

typedef PLUGIN_Profiler_Error *step_call(PLUGIN_Profiler_Args *args);
static bool step(hsc_conform *c,
                 const PLUGIN_Profiler_Api *api,
                 const char *name,
                 step_call *call,
                 PLUGIN_Profiler *profiler,
                 bool may_fail) {
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, profiler};
  return is_fine(c, api, name, call(&args), may_fail);
}

// Bytes of an XSpace: planes (field 1) and texts, nothing else but varints. Some plugins count a
// NUL behind them.
static int count_planes(const uint8_t *data, size_t size) {
  int planes = 0;
  if (size > 0 && data[size - 1] == 0)
    size--;
  hsc_wire wire = hsc_wire_of((hsc_view){(const char *)data, size});
  for (hsc_wire_field field; hsc_wire_next(&wire, &field);)
    planes += field.number == 1;
  hsc_status *status = hsc_wire_status(&wire, "XSpace");
  bool is_whole = status == NULL;
  hsc_status_free(status);
  return is_whole ? planes : -1;
}

// A session around a run of a program, or around nothing where there is no device.
static void record_once(hsc_conform *c, const PLUGIN_Profiler_Api *api) {
  PLUGIN_Profiler *profiler = session_new(c, api);
  if (!profiler || !step(c, api, "start", api->start, profiler, false))
    return;
  if (!c->topology_name && hsc__conform_client(c)) {
    PJRT_LoadedExecutable *loaded = hsc__conform_compile(c, hsc__conform_doubles);
    hsc__conform_expect_times(
        c, hsc__conform_run_one(c, loaded, loaded ? hsc__conform_some_floats(c) : NULL), 2);
  }
  if (!step(c, api, "stop", api->stop, profiler, false))
    return;
  PLUGIN_Profiler_CollectData_Args data = {
      .struct_size = PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE, .profiler = profiler};
  if (!is_fine(c, api, "collect_data", api->collect_data(&data), false))
    return;
  uint8_t *room = data.buffer ? NULL : malloc(data.buffer_size_in_bytes + 1);
  if (room) {  // it said the size only
    data.buffer = room;
    if (!is_fine(c, api, "collect_data", api->collect_data(&data), false))
      return;
  }
  int planes = count_planes(data.buffer, data.buffer_size_in_bytes);
  free(room);
  EXPECT(c, planes >= 0, "the %zu bytes of a session are no XSpace", data.buffer_size_in_bytes);
  EXPECT(c, planes > 0 || c->topology_name, "the XSpace of a run has no plane");
  step(c, api, "destroy", api->destroy, profiler, false);
}

void hsc__conform_profiler_session(hsc_conform *c, int number) {
  const PLUGIN_Profiler_Api *api = profiler_of(c);
  if (api)
    record_once(c, api);
}

void hsc__conform_profiler_again(hsc_conform *c, int number) {
  enum { SESSIONS = 5 };
  const PLUGIN_Profiler_Api *api = profiler_of(c);
  for (int i = 0; i < SESSIONS && api && c->outcome == HSC_CONFORM_PASS; i++)
    record_once(c, api);
}

void hsc__conform_profiler_unused(hsc_conform *c, int number) {
  const PLUGIN_Profiler_Api *api = profiler_of(c);
  PLUGIN_Profiler *profiler = api ? session_new(c, api) : NULL;
  if (profiler && step(c, api, "destroy", api->destroy, profiler, false))
    record_once(c, api);
}

void hsc__conform_profiler_order(hsc_conform *c, int number) {
  const PLUGIN_Profiler_Api *api = profiler_of(c);
  PLUGIN_Profiler *profiler = api ? session_new(c, api) : NULL;
  if (!profiler)
    return;
  step(c, api, "stop before start", api->stop, profiler, true);
  step(c, api, "destroy", api->destroy, profiler, true);
  if (c->outcome == HSC_CONFORM_PASS)
    record_once(c, api);
}
