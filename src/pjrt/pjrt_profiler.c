// pjrt_profiler.c - a session of the profiler extension: what the plugin recorded, as XSpace bytes.
//
// XLA's plugins answer the first CollectData with memory of their own and count a trailing NUL; the
// interface also allows a size first and a second call with the caller's memory. Both are handled.
#include "pjrt/pjrt_internal.h"

struct hsc_profiler {
  hsc_plugin *plugin;
  PLUGIN_Profiler_Api *api;
  PLUGIN_Profiler *profiler;
};

static hsc_status *profiler_error(const hsc_profiler *profiler,
                                  const char *step,
                                  PLUGIN_Profiler_Error *error) {
  if (!error)
    return NULL;
  PLUGIN_Profiler_Error_GetCode_Args code = {
      .struct_size = PLUGIN_Profiler_Error_GetCode_Args_STRUCT_SIZE, .error = error};
  PLUGIN_Profiler_Error_Message_Args message = {
      .struct_size = PLUGIN_Profiler_Error_Message_Args_STRUCT_SIZE, .error = error};
  PLUGIN_Profiler_Error_Destroy_Args destroy = {
      .struct_size = PLUGIN_Profiler_Error_Destroy_Args_STRUCT_SIZE, .error = error};
  if (profiler->api->error_get_code)
    profiler->api->error_get_code(&code);
  if (profiler->api->error_message)
    profiler->api->error_message(&message);
  if (code.code < PJRT_Error_Code_CANCELLED || code.code > PJRT_Error_Code_UNAUTHENTICATED)
    code.code = PJRT_Error_Code_UNKNOWN;
  hsc_status *status =
      hsc_status_make((hsc_code)code.code, __FILE__, __LINE__, "%s: %.*s", profiler->plugin->name,
                      (int)message.message_size, message.message ? message.message : "");
  if (profiler->api->error_destroy)
    profiler->api->error_destroy(&destroy);
  return hsc_status_note(status, "in the profiler's %s", step);
}

hsc_status *hsc_profiler_create(hsc_plugin *plugin, hsc_view options, hsc_profiler **out_profiler) {
  // ProfileOptions: version (field 5) 1, host_tracer_level (2) 3, device_tracer_level (3) 1
  static const char standard[] = {0x28, 1, 0x10, 3, 0x18, 1};
  *out_profiler = NULL;
  const PJRT_Profiler_Extension *extension =
      (const PJRT_Profiler_Extension *)hsc_plugin_extension(plugin, PJRT_Extension_Type_Profiler);
  if (!extension ||
      extension->base.struct_size < HSC_PJRT_SIZE_TO(PJRT_Profiler_Extension, profiler_api) ||
      !extension->profiler_api ||
      extension->profiler_api->struct_size < PLUGIN_Profiler_Api_STRUCT_SIZE)
    return HSC_ERR(UNIMPLEMENTED,
                   "the profiler extension is not supported by plugin %s (PJRT API 0.%d)",
                   plugin->name, plugin->minor);
  hsc_profiler *profiler = hsc_alloc(sizeof *profiler);
  if (!profiler)
    return hsc_status_out_of_memory();
  profiler->plugin = plugin;
  profiler->api = extension->profiler_api;
  PLUGIN_Profiler_Create_Args args = {
      .struct_size = PLUGIN_Profiler_Create_Args_STRUCT_SIZE,
      .options = options.size ? options.data : standard,
      .options_size = options.size ? options.size : sizeof standard};
  hsc_status *status = profiler_error(profiler, "create", profiler->api->create(&args));
  if (status) {
    hsc_free(profiler);
    return status;
  }
  profiler->profiler = args.profiler;
  *out_profiler = profiler;
  return NULL;
}

hsc_status *hsc_profiler_start(hsc_profiler *profiler) {
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, profiler->profiler};
  return profiler_error(profiler, "start", profiler->api->start(&args));
}

hsc_status *hsc_profiler_stop(hsc_profiler *profiler) {
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, profiler->profiler};
  return profiler_error(profiler, "stop", profiler->api->stop(&args));
}

hsc_status *hsc_profiler_collect(hsc_profiler *profiler, hsc_bytes *out_xspace) {
  PLUGIN_Profiler_CollectData_Args args = {
      .struct_size = PLUGIN_Profiler_CollectData_Args_STRUCT_SIZE, .profiler = profiler->profiler};
  HSC_TRY(profiler_error(profiler, "collect", profiler->api->collect_data(&args)));
  size_t size = args.buffer_size_in_bytes;
  size_t start = out_xspace->size;
  if (args.buffer) {
    hsc_bytes_append(out_xspace, args.buffer, size);
  } else if (size > 0) {
    args.buffer = hsc_bytes_extend(out_xspace, size);
    if (!args.buffer)
      return hsc_status_out_of_memory();
    HSC_TRY(profiler_error(profiler, "collect", profiler->api->collect_data(&args)));
  }
  HSC_TRY(hsc_bytes_status(out_xspace));
  // A protobuf message never ends in a stray zero tag; the NUL is the plugin's.
  if (size > 0 && out_xspace->data[start + size - 1] == '\0')
    out_xspace->size--;
  return NULL;
}

void hsc_profiler_destroy(hsc_profiler *profiler) {
  if (!profiler)
    return;
  PLUGIN_Profiler_Args args = {PLUGIN_Profiler_Args_STRUCT_SIZE, profiler->profiler};
  hsc__pjrt_ignore(profiler_error(profiler, "destroy", profiler->api->destroy(&args)));
  hsc_free(profiler);
}
