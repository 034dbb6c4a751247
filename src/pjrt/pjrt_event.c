// pjrt_event.c - waiting for a plugin's work.
#include "pjrt/pjrt_internal.h"

void hsc__event_drop(hsc_plugin *plugin, PJRT_Event *event) {
  if (!event)
    return;
  PJRT_Event_Destroy_Args args = HSC_PJRT_ARGS(PJRT_Event_Destroy, .event = event);
  hsc__pjrt_ignore(HSC_PJRT_CALL(plugin, PJRT_Event_Destroy, &args));
}

hsc_status *hsc__event_finish(hsc_plugin *plugin, PJRT_Event *event) {
  if (!event)
    return NULL;
  PJRT_Event_Await_Args args = HSC_PJRT_ARGS(PJRT_Event_Await, .event = event);
  hsc_status *status = HSC_PJRT_CALL(plugin, PJRT_Event_Await, &args);
  hsc__event_drop(plugin, event);
  return status;
}

bool hsc_pjrt_event_is_ready(hsc_pjrt_event *event) {
  PJRT_Event_IsReady_Args args = HSC_PJRT_ARGS(PJRT_Event_IsReady, .event = event->event);
  hsc_status *status = HSC_PJRT_CALL(event->plugin, PJRT_Event_IsReady, &args);
  bool failed = status != NULL;
  hsc__pjrt_ignore(status);
  return failed || args.is_ready;
}

hsc_status *hsc_pjrt_event_await(hsc_pjrt_event *event) {
  PJRT_Event_Await_Args args = HSC_PJRT_ARGS(PJRT_Event_Await, .event = event->event);
  return HSC_PJRT_CALL(event->plugin, PJRT_Event_Await, &args);
}

typedef struct callback_state {
  hsc_plugin *plugin;
  hsc_pjrt_event_callback callback;
  void *user;
} callback_state;

static void on_ready(PJRT_Error *error, void *user) {
  callback_state *state = user;
  hsc_status *status =
      error ? hsc__pjrt_error(state->plugin, HSC_FN_PJRT_Event_OnReady, error) : NULL;
  state->callback(state->user, status);
  hsc_free(state);
}

hsc_status *hsc_pjrt_event_on_ready(hsc_pjrt_event *event,
                                    hsc_pjrt_event_callback callback,
                                    void *user) {
  callback_state *state = hsc_alloc(sizeof *state);
  if (!state)
    return hsc_status_out_of_memory();
  *state = (callback_state){event->plugin, callback, user};
  PJRT_Event_OnReady_Args args = HSC_PJRT_ARGS(PJRT_Event_OnReady, .event = event->event,
                                               .callback = on_ready, .user_arg = state);
  hsc_status *status = HSC_PJRT_CALL(event->plugin, PJRT_Event_OnReady, &args);
  if (status)
    hsc_free(state);  // not registered: it will not be called
  return status;
}

void hsc_pjrt_event_destroy(hsc_pjrt_event *event) {
  if (!event)
    return;
  hsc__event_drop(event->plugin, event->event);
  hsc_free(event);
}
