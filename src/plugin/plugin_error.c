// plugin_error.c - PJRT errors: a status with the text that hosts show, led by the table of
// functions that hosts of new versions call.
#include "plugin/plugin_internal.h"

typedef struct plugin_error {
  PJRT_Error base;
  PJRT_Error_Code code;
  size_t size;
  char *text;  // NUL-terminated
  bool immortal;
} plugin_error;

static void destroy(PJRT_Error *error) {
  plugin_error *e = (plugin_error *)error;
  if (!e || e->immortal)
    return;
  hsc_free(e->text);
  hsc_free(e);
}

static void message(const PJRT_Error *error, const char **out_text, size_t *out_size) {
  *out_text = ((const plugin_error *)error)->text;
  *out_size = ((const plugin_error *)error)->size;
}

static PJRT_Error_Code get_code(const PJRT_Error *error) {
  return ((const plugin_error *)error)->code;
}

static void for_each_payload(const PJRT_Error *error,
                             PJRT_Error_PayloadVisitor visitor,
                             void *user) {}  // there are none

static const PJRT_Error_FunctionTable vtable = {
    .struct_size = PJRT_Error_FunctionTable_STRUCT_SIZE,
    .instance_size = sizeof(plugin_error),
    .destroy = destroy,
    .message = message,
    .get_code = get_code,
    .for_each_payload = for_each_payload,
};

static plugin_error out_of_memory = {{&vtable},
                                     PJRT_Error_Code_RESOURCE_EXHAUSTED,
                                     sizeof "out of memory" - 1,
                                     (char *)"out of memory",
                                     true};

PJRT_Error *hsc__error_of_code(int code, const char *text, size_t size) {
  if (code == PJRT_Error_Code_OK)
    return NULL;
  plugin_error *error = hsc_alloc(sizeof *error);
  char *copy = hsc_alloc(size + 1);
  if (!error || !copy) {
    hsc_free(error);
    hsc_free(copy);
    return &out_of_memory.base;
  }
  if (size)
    memcpy(copy, text, size);
  *error = (plugin_error){{&vtable}, (PJRT_Error_Code)code, size, copy, false};
  return &error->base;
}

// Message, then what the user needs to find the place: position in the input, notes, hint; a line
// each.
PJRT_Error *hsc__error_of(hsc_status *status) {
  if (!status)
    return NULL;
  hsc_bytes text = {0};
  hsc_bytes_append_text(&text, hsc_status_message(status));
  if (hsc_status_line(status) > 0) {
    const char *path = hsc_status_path(status);
    hsc_bytes_printf(&text, "\n  --> %s:%d:%d", path ? path : "program", hsc_status_line(status),
                     hsc_status_column(status));
    if (hsc_status_source_line(status))
      hsc_bytes_printf(&text, "   %s", hsc_status_source_line(status));
  }
  if (hsc_status_notes(status)[0])
    hsc_bytes_printf(&text, "\n  %s", hsc_status_notes(status));
  if (hsc_status_hint_text(status))
    hsc_bytes_printf(&text, "\n  hint: %s", hsc_status_hint_text(status));
  PJRT_Error *error = text.failed ? &out_of_memory.base
                                  : hsc__error_of_code((int)hsc_status_code(status),
                                                       hsc_bytes_text(&text), text.size);
  hsc_bytes_deinit(&text);
  hsc_status_free(status);
  return error;
}

PJRT_Error *hsc__error_struct_size(const char *function, size_t given, size_t needed) {
  return hsc__error_of(
      HSC_ERR(INVALID_ARGUMENT,
              "%s: struct_size is %zu, at least %zu is needed (hloscope speaks PJRT API 0.%d)",
              function, given, needed, PJRT_API_MINOR));
}

void hsc__PJRT_Error_Destroy(PJRT_Error_Destroy_Args *args) {
  if (args->struct_size >= HSC_PJRT_SIZE_TO(PJRT_Error_Destroy_Args, error))
    destroy(args->error);
}

void hsc__PJRT_Error_Message(PJRT_Error_Message_Args *args) {
  if (args->struct_size < HSC_PJRT_SIZE_TO(PJRT_Error_Message_Args, message_size))
    return;
  message(args->error, &args->message, &args->message_size);
}

HSC_ENTRY(PJRT_Error_GetCode) {
  HSC_CHECK_ARGS(PJRT_Error_GetCode, code);
  args->code = get_code(args->error);
  return NULL;
}

HSC_ENTRY(PJRT_Error_ForEachPayload) {
  HSC_CHECK_ARGS(PJRT_Error_ForEachPayload, user_arg);
  for_each_payload(args->error, args->visitor, args->user_arg);
  return NULL;
}
